package org.tilespark.spark.runtime;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;

/**
 * Assigns a device, by number, to each task of an executor. Spark's assignment wins. Otherwise a
 * task attempt takes the least used device (ties: the one with fewest tasks ever) and keeps it. At
 * most as many devices are opened as tasks ever ran at once, since opening is slow. Thread-safe.
 */
final class TaskDevices {
  /**
   * A preferred device is refused if it has more tasks than twice those of the least used device
   * plus this number.
   */
  private static final int MOST_AHEAD = 4;

  private final List<String> addresses;
  private final boolean leavesOthers;
  // Guarded by this.
  private final int[] tasks; // number of running tasks of each address
  private final long[] everTasks; // number of tasks that each address ever had
  private int used = 1; // number of addresses in use: the first ones
  private final Map<Long, Integer> chosen = new HashMap<>(); // index of each task attempt's address

  private TaskDevices(List<String> addresses, boolean leavesOthers) {
    this.addresses = List.copyOf(addresses);
    this.leavesOthers = leavesOthers;
    this.tasks = new int[addresses.size()];
    this.everTasks = new long[addresses.size()];
  }

  /**
   * The devices that an executor may use: those that Spark assigned to it; in local mode, where
   * Spark assigns none, all; and on a cluster without GPU scheduling only the first, since other
   * executors may use the others.
   *
   * @param assigned addresses that Spark assigned to the executor; empty if unknown
   * @param scheduled true if the application asks Spark for GPUs
   * @param local true in local mode
   * @param visible devices that the driver shows to this process
   */
  static Availability<TaskDevices> of(
      Optional<List<String>> assigned, boolean scheduled, boolean local, int visible) {
    List<String> given = assigned.orElse(List.of());
    if (!given.isEmpty()) {
      return Availability.of(new TaskDevices(given, false));
    }
    if (local) {
      return Availability.of(
          new TaskDevices(
              IntStream.range(0, Math.max(1, visible)).mapToObj(Integer::toString).toList(),
              false));
    }
    if (scheduled && assigned.isPresent()) {
      return Availability.not(
          "Spark assigned no GPU to this executor, though the application asks for some");
    }
    return Availability.of(new TaskDevices(List.of("0"), visible > 1));
  }

  /** Count of devices that the executor may use. */
  int count() {
    return addresses.size();
  }

  /**
   * True if there are further devices that Spark did not assign and that the executor does not use.
   */
  boolean leavesOthers() {
    return leavesOthers;
  }

  /** The device for work outside of tasks. */
  int first() {
    return number(addresses.get(0));
  }

  /**
   * The device of a task attempt; the same one until {@link #ended}.
   *
   * @param assigned the addresses that Spark assigned to the task; if there are several, the first
   *     is used
   * @throws IllegalArgumentException if an address is no number
   */
  int of(long taskAttempt, List<String> assigned) {
    return of(taskAttempt, assigned, devices -> OptionalInt.empty());
  }

  /**
   * As {@link #of(long, List)} for a task with a preferred device.
   *
   * @param wish takes the number of devices, and gives the number of the preferred one, from 0;
   *     empty for no preference. It is used unless it has far more tasks than another
   */
  int of(long taskAttempt, List<String> assigned, IntFunction<OptionalInt> wish) {
    if (!assigned.isEmpty()) {
      return number(assigned.get(0));
    }
    return number(addresses.get(choose(taskAttempt, wish)));
  }

  private synchronized int choose(long taskAttempt, IntFunction<OptionalInt> wish) {
    Integer before = chosen.get(taskAttempt);
    if (before != null) {
      return before;
    }
    used = Math.min(tasks.length, Math.max(used, chosen.size() + 1));
    int least = 0;
    for (int i = 1; i < used; i++) {
      if (tasks[i] < tasks[least] || tasks[i] == tasks[least] && everTasks[i] < everTasks[least]) {
        least = i;
      }
    }
    int wished = wish.apply(used).orElse(least);
    int device = tasks[wished] <= 2 * tasks[least] + MOST_AHEAD ? wished : least;
    tasks[device]++;
    everTasks[device]++;
    chosen.put(taskAttempt, device);
    return device;
  }

  /** True if the task attempt has not chosen a device. */
  synchronized boolean isNew(long taskAttempt) {
    return !chosen.containsKey(taskAttempt);
  }

  /** Ends a task attempt's use of its device, if it had one. */
  synchronized void ended(long taskAttempt) {
    Integer device = chosen.remove(taskAttempt);
    if (device != null) {
      tasks[device]--;
    }
  }

  /** The number of task attempts that have a device. */
  synchronized int choosers() {
    return Arrays.stream(tasks).sum();
  }

  private static int number(String address) {
    try {
      return Integer.parseInt(address);
    } catch (NumberFormatException e) {
      throw new InvalidInputException(
          ErrorCondition.INVALID_ARGUMENT,
          "Spark assigned the GPU address '"
              + address
              + "'; expected a device number, as nvidia-smi -L counts them. Check"
              + " spark.executor.resource.gpu.discoveryScript");
    }
  }
}
