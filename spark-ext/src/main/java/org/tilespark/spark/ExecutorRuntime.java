package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.resource.ResourceInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.AllocationFaults;
import org.tilespark.arrow.ArrowMemory;
import org.tilespark.arrow.MemoryGovernor;
import org.tilespark.arrow.NativeMemorySource;
import org.tilespark.arrow.PinnedMemorySource;
import org.tilespark.kernels.HostTransposer;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.Transposer;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaFailure;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.spark.planner.Backend;

/**
 * What one executor owns: its Arrow memory, and its devices with pinned memory and turns. Made at
 * first use (or by the plugin when the executor starts), belonging to the executor's {@link
 * SparkEnv}, closed with it. Thread-safe.
 *
 * <p>Tasks of Spark reach nothing but statics, so one reference is static; a runtime of an executor
 * that has ended is closed and replaced, and holds no device in between.
 */
public final class ExecutorRuntime implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorRuntime.class);

  /** Spark's name for the resource. */
  private static final String GPU = "gpu";

  /** Injected faults fall in the same places in every run. */
  private static final long FAULT_SEED = 20260101;

  private static final Object LOCK = new Object();
  private static ExecutorRuntime current;

  private final SparkEnv env;
  private final List<String> gpuAddresses;
  private final long pinnedPoolBytes;
  private final GpuTurns turns;
  private final Transposer hostTransposer = new HostTransposer();
  private final NativeMemorySource nativeSource;
  private final ArrowMemory nativeMemory;
  private final Map<Integer, Gpu> gpus = new TreeMap<>();
  private final AtomicBoolean saidWhyCpu = new AtomicBoolean();
  private final AtomicReference<CudaFailure> lost = new AtomicReference<>();
  private PinnedPool pinnedPool;
  private ArrowMemory pinnedMemory;
  private boolean closed;

  private ExecutorRuntime(SparkEnv env, List<String> gpuAddresses) {
    this.env = env;
    this.gpuAddresses = gpuAddresses;
    SparkConf conf = conf();
    this.nativeSource =
        new NativeMemorySource(TileSparkConf.HOST_POOL_SIZE.read(TileSparkConf.application(conf)));
    this.nativeMemory = new ArrowMemory(nativeSource);
    this.pinnedPoolBytes = TileSparkConf.PINNED_POOL_SIZE.read(TileSparkConf.application(conf));
    this.turns = new GpuTurns(TileSparkConf.CONCURRENT_TASKS.read(TileSparkConf.application(conf)));
  }

  /** The runtime of the executor this thread runs in; made at first use. */
  public static ExecutorRuntime current() {
    return start(List.of());
  }

  /**
   * As {@link #current}, and if that makes it, with these device addresses, which Spark assigned to
   * the executor.
   */
  static ExecutorRuntime start(List<String> gpuAddresses) {
    synchronized (LOCK) {
      SparkEnv env = SparkEnv.get();
      if (current == null || current.env != env) {
        if (current != null) {
          current.close();
        }
        current = new ExecutorRuntime(env, gpuAddresses);
      }
      return current;
    }
  }

  /** Closes the runtime of this process, if there is one. */
  static void stop() {
    synchronized (LOCK) {
      if (current != null) {
        current.close();
        current = null;
      }
    }
  }

  /** One device with what belongs to it. */
  public record Gpu(CudaDevice device, DeviceTransposer transposer, MemoryGovernor governor) {}

  /**
   * The device a task is to use, or empty for the CPU.
   *
   * <p>Its number is the address that Spark's scheduler assigned to the task, else the first that
   * it assigned to the executor, else 0.
   *
   * @param task the task, or null outside one
   * @throws ResourceException if {@code backend} is {@link Backend#GPU} and there is none; says
   *     why, and what helps
   */
  public Optional<Gpu> gpu(Backend backend, TaskContext task) {
    if (backend == Backend.CPU) {
      return Optional.empty();
    }
    DeviceProbe probe = DeviceProbe.run();
    String reason = probe.reason();
    if (lost.get() != null) {
      reason = "it was lost: " + lost.get().getMessage();
    } else if (probe.available()) {
      return Optional.of(open(address(task)));
    }
    if (backend == Backend.GPU) {
      throw new ResourceException(
          TileSparkConf.BACKEND.name()
              + "=gpu, but executor "
              + executorId()
              + " has no usable"
              + " GPU: "
              + reason
              + ". Set it to auto or cpu to compute on the CPU");
    }
    if (saidWhyCpu.compareAndSet(false, true)) {
      LOG.info(
          "{}=auto: executor {} computes on the CPU, since {}",
          TileSparkConf.BACKEND.name(),
          executorId(),
          reason);
    }
    return Optional.empty();
  }

  /**
   * Says that the device is lost to this process: from now on {@link #gpu} does not give it.
   *
   * @param failure what a task met; {@link CudaFailure#isSticky() sticky}
   */
  public void deviceLost(CudaFailure failure) {
    if (lost.compareAndSet(null, failure)) {
      LOG.error("Executor {} lost its device and cannot use one any more", executorId(), failure);
    }
  }

  /** What cost this process its device, if it lost it. */
  public Optional<CudaFailure> lostDevice() {
    return Optional.ofNullable(lost.get());
  }

  /** Arrow memory for blocks: pinned if {@code gpu} is present, else plain. */
  public ArrowMemory memory(Optional<Gpu> gpu) {
    if (gpu.isEmpty()) {
      return nativeMemory;
    }
    synchronized (gpus) {
      requireOpen();
      if (pinnedMemory == null) {
        // Pinned memory is portable: every device of this process can use it.
        pinnedPool = gpu.get().device().newPinnedPool(pinnedPoolBytes);
        pinnedMemory = new ArrowMemory(new PinnedMemorySource(pinnedPool));
      }
      return pinnedMemory;
    }
  }

  /** Plain Arrow memory, for what no device will read. */
  public ArrowMemory memory() {
    return nativeMemory;
  }

  /** The host twin. */
  public Transposer hostTransposer() {
    return hostTransposer;
  }

  /** Who may use the device now. */
  public GpuTurns turns() {
    return turns;
  }

  /** Bytes of Arrow buffers alive in this executor, pinned and plain; 0 when nothing runs. */
  public long liveArrowBytes() {
    synchronized (gpus) {
      return nativeMemory.allocatedBytes()
          + (pinnedMemory == null ? 0 : pinnedMemory.allocatedBytes());
    }
  }

  /** Bytes of host memory kept for reuse, pinned and plain. */
  public long keptHostBytes() {
    synchronized (gpus) {
      return nativeSource.keptBytes() + (pinnedPool == null ? 0 : pinnedPool.cachedBytes());
    }
  }

  /** Bytes of device memory alive in this executor; 0 when nothing runs. */
  public long liveDeviceBytes() {
    synchronized (gpus) {
      return gpus.values().stream().mapToLong(gpu -> gpu.device().liveDeviceBytes()).sum();
    }
  }

  /** Frees everything, users before used; logs what was still alive. May be called twice. */
  @Override
  public void close() {
    synchronized (gpus) {
      if (closed) {
        return;
      }
      closed = true;
      closeMemory(nativeMemory);
      nativeSource.close();
      if (pinnedMemory != null) {
        closeMemory(pinnedMemory);
        if (lost.get() == null) {
          pinnedPool.close();
        }
      }
      if (lost.get()
          == null) { // nothing of a lost device can be freed but by the end of the process
        gpus.values().forEach(gpu -> gpu.transposer().close());
        gpus.values().forEach(gpu -> gpu.device().close());
      }
      gpus.clear();
      hostTransposer.close();
    }
  }

  private static void closeMemory(ArrowMemory memory) {
    try {
      memory.close();
    } catch (IllegalStateException leak) {
      LOG.warn("Arrow buffers were alive when the executor ended: {}", leak.getMessage());
    }
  }

  private Gpu open(int ordinal) {
    synchronized (gpus) {
      requireOpen();
      return gpus.computeIfAbsent(
          ordinal,
          number -> {
            CudaDevice device = CudaDevice.open(number);
            LOG.info("Executor {} uses {}", executorId(), device.description());
            return new Gpu(device, new DeviceTransposer(device), governor(device));
          });
    }
  }

  private MemoryGovernor governor(CudaDevice device) {
    UnaryOperator<String> conf = TileSparkConf.application(conf());
    double share =
        TileSparkConf.DEVICE_FRACTION.read(conf)
            * (device.memoryInfo().totalBytes() - TileSparkConf.DEVICE_RESERVE.read(conf));
    return new MemoryGovernor(
        (long) share,
        new AllocationFaults(TileSparkConf.FAIL_EVERY_NTH_ALLOCATION.read(conf), FAULT_SEED),
        "Use smaller blocks, or raise "
            + TileSparkConf.DEVICE_FRACTION.name()
            + ", or lower "
            + TileSparkConf.CONCURRENT_TASKS.name());
  }

  private SparkConf conf() {
    return env == null ? new SparkConf(false) : env.conf();
  }

  private int address(TaskContext task) {
    ResourceInformation assigned = task == null ? null : task.resourcesJMap().get(GPU);
    String address;
    if (assigned != null && assigned.addresses().length > 0) {
      address = assigned.addresses()[0];
    } else {
      address = gpuAddresses.isEmpty() ? "0" : gpuAddresses.get(0);
    }
    try {
      return Integer.parseInt(address);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "Spark assigned the GPU address '"
              + address
              + "'; expected a device number, as"
              + " nvidia-smi -L counts them. Check spark.executor.resource.gpu.discoveryScript",
          e);
    }
  }

  private String executorId() {
    return env == null ? "(none)" : env.executorId();
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("The executor's runtime is closed");
    }
  }
}
