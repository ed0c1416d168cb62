package org.tilespark.spark.runtime;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.resource.ResourceInformation;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaFailure;
import org.tilespark.kernels.device.DeviceFactorizer;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * The devices of one executor: it assigns them to tasks, opens them and their libraries, and knows
 * whether they were lost. A device is opened when a task first needs it. Thread-safe.
 */
final class DeviceRegistry implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DeviceRegistry.class);

  /** Spark's name for GPUs as a resource. */
  private static final String GPU = "gpu";

  /** The key by which an application asks Spark for GPUs. */
  private static final String SCHEDULED = "spark.executor.resource.gpu.amount";

  private final String executorId;
  private final SparkConf conf;
  private final boolean local;
  private final Optional<List<String>> gpuAddresses;
  private final Map<Integer, Slot> slots = new ConcurrentSkipListMap<>(); // by device number
  private final AtomicBoolean saidWhyCpu = new AtomicBoolean();
  private final AtomicReference<Optional<String>> whyCpu = new AtomicReference<>(Optional.empty());
  private final AtomicReference<CudaFailure> lost = new AtomicReference<>();
  // Created at first use, since it may search for devices
  private Availability<TaskDevices> taskDevices;
  private volatile boolean closed;

  /**
   * The devices of an executor; opens none.
   *
   * @param local true in local mode
   * @param gpuAddresses addresses that Spark assigned to the executor; empty if unknown
   */
  DeviceRegistry(
      String executorId, SparkConf conf, boolean local, Optional<List<String>> gpuAddresses) {
    this.executorId = executorId;
    this.conf = conf;
    this.local = local;
    this.gpuAddresses = gpuAddresses;
  }

  /** Holds a device once it is open. Each device has its own lock, since opening one takes long. */
  private static final class Slot {
    private volatile Gpu gpu; // fourier and factorizer too: written under the lock of this
    private Availability<DeviceFourier> fourier; // the device's transforms; null until requested
    // The device's factorizer; null until requested
    private Availability<DeviceFactorizer> factorizer;

    /**
     * Drops the opened objects, and closes them if {@code frees}, users before the objects that
     * they use.
     */
    synchronized void close(boolean frees) {
      List<AutoCloseable> owned = new ArrayList<>();
      if (fourier != null) {
        fourier.thing().ifPresent(owned::add);
      }
      if (factorizer != null) {
        factorizer.thing().ifPresent(owned::add);
      }
      if (gpu != null) {
        owned.add(gpu);
      }
      fourier = null;
      factorizer = null;
      gpu = null;
      if (frees) {
        Closing.all(owned);
      }
    }
  }

  /**
   * The device for a task, or empty for the CPU.
   *
   * <p>The device has the number that {@link #deviceNumber} gives.
   *
   * @param task the task, or null outside one
   * @throws ResourceException if {@code backend} is {@link Backend#GPU} and there is none; the
   *     message says why, and what helps
   */
  public Optional<Gpu> gpu(Backend backend, TaskContext task) {
    return gpu(backend, task, devices -> OptionalInt.empty());
  }

  /**
   * As {@link #gpu(Backend, TaskContext)} for a task with a preferred device.
   *
   * @param wish takes the number of devices, and gives the number of the preferred one, from 0;
   *     empty for no preference. A device that Spark assigned takes precedence
   */
  public Optional<Gpu> gpu(Backend backend, TaskContext task, IntFunction<OptionalInt> wish) {
    Availability<TaskDevices> usable = usable(backend);
    if (usable.isPresent()) {
      return Optional.of(open(deviceNumber(task, wish)));
    }
    String reason = usable.whyNot();
    if (backend == Backend.GPU) {
      throw new ResourceException(
          ("%s=gpu, but executor %s has no usable GPU: %s. Set it to auto or cpu to"
                  + " compute on the CPU")
              .formatted(TileSparkConf.BACKEND.name(), executorId, reason));
    }
    whyCpu.set(Optional.of(reason));
    if (backend == Backend.AUTO && saidWhyCpu.compareAndSet(false, true)) {
      LOG.info(
          "{}=auto: executor {} computes on the CPU, since {}",
          TileSparkConf.BACKEND.name(),
          executorId,
          reason);
    }
    return Optional.empty();
  }

  /** The devices that tasks can use, or why there are none. */
  private Availability<TaskDevices> usable(Backend backend) {
    if (backend == Backend.CPU) {
      return Availability.not(TileSparkConf.BACKEND.name() + "=cpu");
    }
    if (lost.get() != null) {
      return Availability.not("it was lost: " + lost.get().getMessage());
    }
    Availability<DeviceProbe> probe = DeviceProbe.run();
    return devices().isPresent() && !probe.isPresent()
        ? Availability.not(probe.whyNot())
        : devices();
  }

  private Availability<TaskDevices> devices() {
    synchronized (slots) {
      if (taskDevices == null) {
        boolean scheduled = conf.getInt(SCHEDULED, 0) > 0;
        taskDevices = TaskDevices.of(gpuAddresses, scheduled, local, DeviceProbe.deviceCount());
      }
      return taskDevices;
    }
  }

  /**
   * The number of the device for a task: the address that Spark's scheduler assigned to the task;
   * otherwise the least used of the executor's devices, or in local mode of all devices; otherwise
   * 0. It stays the same for a task attempt.
   *
   * @param task the task, or null outside one
   * @throws IllegalArgumentException if Spark's address is no number
   * @throws IllegalStateException if Spark gave the executor no device
   */
  public int deviceNumber(TaskContext task) {
    return deviceNumber(task, devices -> OptionalInt.empty());
  }

  private int deviceNumber(TaskContext task, IntFunction<OptionalInt> wish) {
    TaskDevices devices = devices().get();
    if (task == null) {
      return devices.first();
    }
    ResourceInformation assigned = task.resourcesJMap().get(GPU);
    if (assigned != null && assigned.addresses().length > 0) {
      return devices.of(task.taskAttemptId(), List.of(assigned.addresses()));
    }
    long attempt = task.taskAttemptId();
    if (devices.isNew(attempt)) {
      task.addTaskCompletionListener(
          new TaskCompletionListener() {
            @Override
            public void onTaskCompletion(TaskContext context) {
              devices.ended(attempt);
            }
          });
    }
    return devices.of(attempt, List.of(), wish);
  }

  /** The number of devices among which this executor can choose now, or why there are none. */
  Availability<Integer> usableDevices() {
    return usable(Backend.AUTO).map(TaskDevices::count);
  }

  /**
   * Bytes of the first device that all tasks together may hold; 0 without a device. Opens no
   * device.
   */
  long limitBytes() {
    UnaryOperator<String> settings = TileSparkConf.application(conf);
    return usable(Backend.AUTO)
        .thing()
        .map(usable -> Gpu.limitBytes(DeviceProbe.totalBytes(usable.first()), settings))
        .orElse(0L);
  }

  /**
   * Records that this process lost the device: from now on {@link #gpu} does not return it.
   *
   * @param failure the CUDA error of a task; {@link CudaFailure#isSticky() sticky}
   */
  public void deviceLost(CudaFailure failure) {
    if (lost.compareAndSet(null, failure)) {
      LOG.error("Executor {} lost its device and cannot use one any more", executorId, failure);
    }
  }

  /** The CUDA error by which this process lost its device, if it did. */
  public Optional<CudaFailure> lostDevice() {
    return Optional.ofNullable(lost.get());
  }

  /**
   * The reason why a task computed on the CPU; if none did, why tasks of {@code backend} would;
   * empty if they can use a device.
   */
  Optional<String> whyCpu(Backend backend) {
    return whyCpu
        .get()
        .or(() -> Optional.of(usable(backend).whyNot()).filter(why -> !why.isEmpty()));
  }

  /** The devices that are open. */
  List<Gpu> open() {
    return slots.values().stream().map(slot -> slot.gpu).filter(Objects::nonNull).toList();
  }

  /** The transforms of an open device, or why there are none. */
  Availability<DeviceFourier> fourier(CudaDevice device) {
    Slot slot = slots.get(device.ordinal());
    synchronized (slot) {
      requireOpen();
      if (slot.fourier == null) {
        slot.fourier =
            DeviceFourier.find(
                device, TileSparkConf.LIBRARY_PATH.read(TileSparkConf.application(conf)));
      }
      return slot.fourier;
    }
  }

  /** The factorizer of an open device, or why there is none. */
  Availability<DeviceFactorizer> factorizer(Gpu gpu) {
    Slot slot = slots.get(gpu.device().ordinal());
    synchronized (slot) {
      requireOpen();
      if (slot.factorizer == null) {
        slot.factorizer =
            DeviceFactorizer.find(
                gpu.device(),
                gpu.transposer(),
                TileSparkConf.LIBRARY_PATH.read(TileSparkConf.application(conf)));
      }
      return slot.factorizer;
    }
  }

  private Gpu open(int number) {
    Slot slot = slots.computeIfAbsent(number, key -> new Slot());
    Gpu known = slot.gpu;
    if (known != null) {
      requireOpen();
      return known; // without the lock, since another thread may hold it while it loads cuFFT
    }
    synchronized (slot) {
      requireOpen(); // close sets its flag before it visits the slots
      if (slot.gpu == null) {
        slot.gpu = opened(number);
      }
      return slot.gpu;
    }
  }

  private Gpu opened(int number) {
    Gpu gpu = Gpu.open(number, TileSparkConf.application(conf));
    LOG.info("Executor {} uses device {}: {}", executorId, number, gpu.device().description());
    if (devices().get().leavesOthers()) {
      LOG.info(
          "The driver shows {} devices to executor {}; without {} only the first is used",
          DeviceProbe.deviceCount(),
          executorId,
          SCHEDULED);
    }
    return gpu;
  }

  /** Closes all devices; a lost device's resources are only freed when the process ends. */
  @Override
  public void close() {
    closed = true;
    boolean frees = lost.get() == null;
    Closing.all(
        slots.values().stream().<AutoCloseable>map(slot -> () -> slot.close(frees)).toList());
  }

  private void requireOpen() {
    if (closed) {
      throw ExecutorRuntime.hasStopped();
    }
  }
}
