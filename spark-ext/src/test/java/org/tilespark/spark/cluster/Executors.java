package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongPredicate;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.spark.FetchFailed;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.shuffle.StoredBlocks;

/** The executors of an application: who they are, what became of them, and what they hold. */
final class Executors extends SparkListener {
  private static final long LIMIT_MILLIS = 300_000;

  private final SparkContext context;
  private final int count;
  private final List<SparkListenerTaskEnd> ends = Collections.synchronizedList(new ArrayList<>());
  private final List<SparkListenerExecutorRemoved> removals =
      Collections.synchronizedList(new ArrayList<>());
  private final List<StageInfo> stages = Collections.synchronizedList(new ArrayList<>());
  private volatile int lastStage = -1;
  private volatile int forgotten = -1;

  /**
   * Begins to listen.
   *
   * @param count how many there are when none is dead
   */
  Executors(SparkContext context, int count) {
    this.context = context;
    this.count = count;
    context.addSparkListener(this);
  }

  /**
   * One executor, as seen from within.
   *
   * @param pid number of its process
   * @param device number of the device that a task there would use
   * @param addresses addresses of the GPUs that Spark assigned to the task
   * @param arrowBytes bytes of buffers outside the heap
   * @param deviceBytes bytes of device memory
   * @param turns tasks that may use the device
   * @param store outputs of shuffles that it keeps
   */
  record Seen(
      String executorId,
      long pid,
      int device,
      List<String> addresses,
      long arrowBytes,
      long deviceBytes,
      int turns,
      Store store)
      implements Serializable {
    static Seen here() {
      ExecutorRuntime runtime = ExecutorRuntime.current();
      TaskContext task = TaskContext.get();
      var gpus = task.resourcesJMap().get("gpu");
      return new Seen(
          SparkEnv.get().executorId(),
          ProcessHandle.current().pid(),
          runtime.deviceNumber(task),
          gpus == null ? List.of() : List.of(gpus.addresses()),
          runtime.liveArrowBytes(),
          runtime.liveDeviceBytes(),
          runtime.turns().held(),
          new Store(StoredBlocks.usedBytes(), StoredBlocks.inMemory(), StoredBlocks.committed()));
    }

    long heldBytes() {
      return arrowBytes + deviceBytes + store.bytes;
    }
  }

  /**
   * The memory outside the heap that an executor keeps for shuffles.
   *
   * @param bytes bytes of memory, those that tasks have fetched included
   * @param outputs outputs of map tasks, in memory
   * @param committed outputs that were put into memory since it started
   */
  record Store(long bytes, int outputs, long committed) implements Serializable {}

  /** Runs as many tasks at the same time as there are cores, and returns what each saw. */
  List<Seen> look() {
    return onTasks(context.defaultParallelism(), 500, Seen::here);
  }

  /** Does it in each executor, in some several times. */
  void onEach(Action action) {
    any(
        () -> {
          action.run();
          return false;
        });
  }

  /** True if it holds in an executor; asks each, some several times. */
  boolean any(Look<Boolean> check) {
    return onTasks(2 * context.defaultParallelism(), 50, check).contains(true);
  }

  /** Results of tasks that each take long enough that others take the other cores. */
  private <T> List<T> onTasks(int tasks, long millis, Look<T> look) {
    return new JavaSparkContext(context)
        .parallelize(Collections.nCopies(tasks, 0), tasks)
        .map(
            number -> {
              T seen = look.look();
              TimeUnit.MILLISECONDS.sleep(millis);
              return seen;
            })
        .collect();
  }

  /** A look of a task at its executor. */
  @FunctionalInterface
  interface Look<T> extends Serializable {
    T look();
  }

  /** An action of a task. */
  @FunctionalInterface
  interface Action extends Serializable {
    void run();
  }

  /** Process numbers by executor. */
  Map<String, Long> pids() {
    Map<String, Long> pids = new TreeMap<>();
    look().forEach(seen -> pids.put(seen.executorId(), seen.pid()));
    return pids;
  }

  /** Waits until all live and run tasks: those that registered do when their plugins are up. */
  void awaitAll() throws InterruptedException {
    awaitEvents();
    int driver = 1; // the tracker counts it too
    await(
        "executors besides the driver",
        count + driver,
        () -> context.statusTracker().getExecutorInfos().length);
    await("executors that run tasks", count, () -> pids().size());
  }

  /** Waits until all is told that happened so far. */
  private void awaitEvents() {
    try {
      context.listenerBus().waitUntilEmpty(LIMIT_MILLIS);
    } catch (TimeoutException e) {
      throw new IllegalStateException("Spark's listeners are far behind", e);
    }
  }

  /** Waits until {@code wanted} have ended since the beginning. */
  void awaitRemoved(int wanted) throws InterruptedException {
    await("executors that ended", wanted, removals::size);
  }

  /** Waits likewise, and lets Spark know by collections of garbage which shuffles nobody needs. */
  void awaitRemovedCollecting(int wanted) throws InterruptedException {
    await(
        "executors that ended",
        wanted,
        () -> {
          System.gc();
          return removals.size();
        });
  }

  /** Asserts that all live and, a while after the last task, none holds memory or a turn. */
  void assertNothingAlive() throws InterruptedException {
    awaitAll();
    assertNothingHeld();
  }

  /**
   * Asserts that, a while after the last task, no executor holds memory or a turn. Of shuffles
   * Spark lets go once the driver has collected what refers to them.
   */
  void assertNothingHeld() throws InterruptedException {
    List<Seen> last = new ArrayList<>();
    await(
        "bytes and turns held by executors",
        0,
        () -> {
          System.gc();
          last.clear();
          last.addAll(look());
          return last.stream().mapToLong(seen -> seen.heldBytes() + seen.turns()).sum();
        },
        () -> ": " + last);
  }

  /** Outputs of map tasks that each executor has put into memory since it started. */
  Map<String, Long> committed() {
    Map<String, Long> committed = new TreeMap<>();
    look().forEach(seen -> committed.put(seen.executorId(), seen.store().committed()));
    return committed;
  }

  /** Waits until no executor holds blocks between tasks: those of queries that have ended. */
  void awaitNoStoredBytes() throws InterruptedException {
    awaitAll();
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < 4 * context.defaultParallelism(); i++) {
      numbers.add(i);
    }
    await(
        "bytes of blocks between tasks",
        0,
        () ->
            new JavaSparkContext(context)
                .parallelize(numbers, numbers.size())
                .map(number -> ExecutorRuntime.current().storeBudget().usedBytes())
                .reduce(Long::max));
  }

  int removed() {
    return removals.size();
  }

  /** From now on, only tasks of stages that begin later count. */
  void forgetTasks() {
    awaitEvents();
    forgotten = lastStage;
  }

  /** Outputs of map tasks in the memory of all executors. */
  int outputsInMemory() {
    Map<String, Integer> outputs = new TreeMap<>();
    look().forEach(seen -> outputs.put(seen.executorId(), seen.store().outputs()));
    return outputs.values().stream().mapToInt(Integer::intValue).sum();
  }

  /** Task attempts whose end says {@code words} as the reason. */
  long failures(String words) {
    awaitEvents();
    return count(end -> saysWhy(end, words));
  }

  /**
   * Waits until an attempt at a partition of a job's last stage has ended so; Spark's events come
   * late.
   */
  void awaitFailure(int partition, int attempt, String words) throws InterruptedException {
    await(
        "1 if attempt " + attempt + " at partition " + partition + " ended with " + words,
        1,
        () ->
            count(
                end ->
                    end.taskType().equals("ResultTask")
                        && end.taskInfo().index() == partition
                        && end.taskInfo().attemptNumber() == attempt
                        && saysWhy(end, words)));
  }

  private long count(Predicate<SparkListenerTaskEnd> wanted) {
    synchronized (ends) {
      return ends.stream().filter(end -> end.stageId() > forgotten && wanted.test(end)).count();
    }
  }

  private static boolean saysWhy(SparkListenerTaskEnd end, String words) {
    return end.reason() instanceof TaskFailedReason failed
        && failed.toErrorString().contains(words);
  }

  /** Attempts at tasks that write a shuffle, since tasks were forgotten. */
  long mapTasks() {
    awaitEvents();
    return count(end -> end.taskType().equals("ShuffleMapTask"));
  }

  /** The longest attempt at a stage that ended before, or after, a time since the epoch. */
  StageInfo longestStage(LongPredicate endedMillis) {
    awaitEvents();
    synchronized (stages) {
      return stages.stream()
          .filter(stage -> endedMillis.test((Long) stage.completionTime().get()))
          .max(Comparator.comparingLong(Executors::millis))
          .orElseThrow();
    }
  }

  /** How long an attempt at a stage took. */
  static long millis(StageInfo stage) {
    return (Long) stage.completionTime().get() - (Long) stage.submissionTime().get();
  }

  /** When the first task ended that could not fetch, in milliseconds since the epoch. */
  OptionalLong firstFetchFailed() {
    awaitEvents();
    synchronized (ends) {
      return ends.stream()
          .filter(end -> end.reason() instanceof FetchFailed)
          .mapToLong(end -> end.taskInfo().finishTime())
          .min();
    }
  }

  /** Attempts that were started since others ran long, and have ended. */
  long speculative() {
    return count(end -> end.taskInfo().speculative());
  }

  @Override
  public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
    lastStage = Math.max(lastStage, submitted.stageInfo().stageId());
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted completed) {
    stages.add(completed.stageInfo());
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd end) {
    ends.add(end);
  }

  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved removed) {
    removals.add(removed);
  }

  /** Ends a process as {@code kill -9} does. */
  static void kill(long pid) throws IOException, InterruptedException {
    int status = new ProcessBuilder("kill", "-9", Long.toString(pid)).start().waitFor();
    assertEquals(0, status, "kill -9 " + pid);
  }

  private interface Figure {
    long now();
  }

  private static void await(String what, long wanted, Figure figure) throws InterruptedException {
    await(what, wanted, figure, () -> "");
  }

  private static void await(String what, long wanted, Figure figure, Supplier<String> seen)
      throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LIMIT_MILLIS);
    long now = figure.now();
    while (now != wanted && System.nanoTime() < deadline) {
      TimeUnit.MILLISECONDS.sleep(50);
      now = figure.now();
    }
    assertEquals(wanted, now, () -> what + seen.get());
  }
}
