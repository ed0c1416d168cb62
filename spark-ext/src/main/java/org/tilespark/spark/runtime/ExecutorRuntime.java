package org.tilespark.spark.runtime;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.arrays.DeviceFourierPipeline;
import org.tilespark.arrow.arrays.FourierPipeline;
import org.tilespark.arrow.arrays.HostFourierPipeline;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.CudaFailure;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;

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

  /** The executor's id in local mode, where it shares the driver's process. */
  public static final String LOCAL_EXECUTOR = "driver";

  /** Injected faults fall in the same places in every run. */
  static final long FAULT_SEED = 20260101;

  private static final Object LOCK = new Object();
  private static ExecutorRuntime current;

  private final SparkEnv env;
  private final HostMemoryPools hostMemory;
  private final DeviceRegistry devices;
  private final GpuTurns turns;
  private final ExecutorTelemetry telemetry = new ExecutorTelemetry();
  private final HostTransposer hostTransposer = new HostTransposer();
  private final Multiplier hostMultiplier = new HostMultiplier();
  private final List<AutoCloseable> users = new CopyOnWriteArrayList<>();
  private final AtomicBoolean saidWhyNoFourier = new AtomicBoolean();
  private final StoreBudget storeBudget;

  private ExecutorRuntime(SparkEnv env, Optional<List<String>> gpuAddresses) {
    this.env = env;
    boolean local = env == null || env.executorId().equals(LOCAL_EXECUTOR);
    SparkConf conf = env == null ? new SparkConf(false) : env.conf();
    UnaryOperator<String> settings = TileSparkConf.application(conf);
    this.devices = new DeviceRegistry(executorId(), conf, local, gpuAddresses);
    boolean usesDevice =
        TileSparkConf.BACKEND.read(settings) != Backend.CPU && usableDevices().isPresent();
    HostBudget budget = HostBudget.of(conf, usesDevice, HostBudget.Machine.here());
    budget.log();
    this.storeBudget = new StoreBudget(budget.storeBytes());
    this.hostMemory =
        new HostMemoryPools(
            settings,
            budget,
            storeBudget::spareBytes,
            () ->
                usesDevice
                    ? devices.gpu(Backend.AUTO, TaskContext.get()).map(Gpu::device)
                    : Optional.empty());
    this.turns = new GpuTurns(TileSparkConf.CONCURRENT_TASKS.read(settings), devices::deviceNumber);
  }

  /** The runtime of the executor this thread runs in; made at first use. */
  public static ExecutorRuntime current() {
    return start(Optional.empty());
  }

  /**
   * As {@link #current}, and if that makes it, with these device addresses, which Spark assigned to
   * the executor.
   *
   * @param gpuAddresses none if they are not known, an empty list if Spark assigned none
   */
  public static ExecutorRuntime start(Optional<List<String>> gpuAddresses) {
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

  /** What tasks of this process may hold of a device together; 0 if none is open. */
  public static long openDeviceBytes() {
    ExecutorRuntime runtime;
    synchronized (LOCK) {
      runtime = current;
    }
    return runtime == null
        ? 0
        : runtime.gpus().stream().mapToLong(gpu -> gpu.governor().limitBytes()).min().orElse(0);
  }

  /** Closes the runtime of this process, if there is one. */
  public static void stop() {
    synchronized (LOCK) {
      if (current != null) {
        current.close();
        current = null;
      }
    }
  }

  /** As {@link #gpu(Backend, TaskContext, IntFunction)} without a wish. */
  public Optional<Gpu> gpu(Backend backend, TaskContext task) {
    return devices.gpu(backend, task);
  }

  /**
   * The device a task is to use, or empty for the CPU.
   *
   * @param task the task, or null outside one
   * @param wish the one, from 0, of as many as it is given, on which the task does better; empty if
   *     it is all the same. Where Spark assigned a device, that is taken
   * @throws ResourceException if {@code backend} is {@link Backend#GPU} and there is none; says
   *     why, and what helps
   */
  public Optional<Gpu> gpu(Backend backend, TaskContext task, IntFunction<OptionalInt> wish) {
    return devices.gpu(backend, task, wish);
  }

  /** The number of the device that a task is to use if it uses one. */
  public int deviceNumber(TaskContext task) {
    return devices.deviceNumber(task);
  }

  /** How many devices this executor can use now, its own to choose from; or why none. */
  public Availability<Integer> usableDevices() {
    return devices.usableDevices();
  }

  /**
   * Says that the device is lost to this process: from now on {@link #gpu} does not give it.
   *
   * @param failure what a task met; {@link CudaFailure#isSticky() sticky}
   */
  public void deviceLost(CudaFailure failure) {
    devices.deviceLost(failure);
  }

  /** What cost this process its device, if it lost it. */
  public Optional<CudaFailure> lostDevice() {
    return devices.lostDevice();
  }

  /** The devices that are open. */
  public List<Gpu> gpus() {
    return devices.open();
  }

  /** Arrow memory for blocks: pinned if {@code gpu} is present, else plain. */
  public ArrowMemory memory(Optional<Gpu> gpu) {
    return gpu.map(each -> hostMemory.pinned(each.device())).orElseGet(hostMemory::plain);
  }

  /** Plain Arrow memory, for what no device will read. */
  public ArrowMemory memory() {
    return hostMemory.plain();
  }

  /** Each task's part of the pool of pinned memory, when as many use a device as may. */
  public long pinnedShareBytes() {
    return hostMemory.pinnedShareBytes();
  }

  /** The host twin. */
  public Transposer hostTransposer() {
    return hostTransposer;
  }

  /** The host twin of products. */
  public Multiplier hostMultiplier() {
    return hostMultiplier;
  }

  /**
   * Where a task transforms.
   *
   * @param gpu the device; empty on the CPU
   * @param fourier what transforms on it; empty on the CPU
   */
  public record FourierPlace(Optional<Gpu> gpu, Optional<DeviceFourier> fourier) {
    /**
     * A pipeline for a task that was started on {@link #gpu}.
     *
     * @param aheadBytes of pinned memory for parts that come down before they are asked for
     */
    public FourierPipeline open(TaskRun run, long aheadBytes, PipelineListener listener) {
      return fourier.isEmpty()
          ? new HostFourierPipeline(run.runtime().hostTransposer, run.allocator(), listener)
          : new DeviceFourierPipeline(
              run.place(listener), fourier.get(), gpu.get().transposer(), aheadBytes);
    }
  }

  /**
   * Where a task is to transform: on the device that {@link #gpu} gives, if cuFFT is installed.
   *
   * @throws ResourceException if {@code backend} is {@link Backend#GPU} and there is no device, or
   *     no cuFFT; says why, and what helps
   */
  public FourierPlace fourier(Backend backend, TaskContext task) {
    Optional<Gpu> gpu = gpu(backend, task);
    if (gpu.isEmpty()) {
      return new FourierPlace(gpu, Optional.empty());
    }
    Availability<DeviceFourier> found = devices.fourier(gpu.get().device());
    if (found.isPresent()) {
      return new FourierPlace(gpu, found.thing());
    }
    if (backend == Backend.GPU) {
      throw new ResourceException(
          ("%s=gpu, but executor %s cannot transform on its GPU: %s. Set it to auto or"
                  + " cpu to transform on the CPU")
              .formatted(TileSparkConf.BACKEND.name(), executorId(), found.whyNot()));
    }
    if (saidWhyNoFourier.compareAndSet(false, true)) {
      LOG.info(
          "{}=auto: executor {} transforms on the CPU, since {}",
          TileSparkConf.BACKEND.name(),
          executorId(),
          found.whyNot());
    }
    return new FourierPlace(Optional.empty(), Optional.empty());
  }

  /** Who may use the device now. */
  public GpuTurns turns() {
    return turns;
  }

  /** What this executor's tasks did on {@code gpu}, or on the CPU; they report to it. */
  public PipelineTotals pipelineTotals(Optional<Gpu> gpu) {
    return telemetry.totals(gpu);
  }

  /** What tasks did on all devices together. */
  public PipelineTotals.Snapshot deviceWork() {
    return telemetry.deviceWork();
  }

  /** What tasks computed on the CPU. */
  public PipelineTotals.Snapshot hostWork() {
    return telemetry.hostWork();
  }

  /** What tasks moved through exchanges in memory; they report to it. */
  public ExchangeTotals exchangeTotals() {
    return telemetry.exchange();
  }

  /** The exchange and its memory now. */
  public ExchangeStatus exchangeStatus() {
    return telemetry.exchange().status(storeBudget());
  }

  /** This executor now, for the driver. */
  public ExecutorStatus status() {
    Backend backend =
        TileSparkConf.BACKEND.read(
            TileSparkConf.application(env == null ? new SparkConf(false) : env.conf()));
    boolean lost = lostDevice().isPresent();
    return new ExecutorStatus(
        executorId(),
        devices.whyCpu(backend).orElse(""),
        lostDevice().map(CudaFailure::getMessage).orElse(""),
        gpus().stream().map(gpu -> telemetry.status(gpu, lost)).toList(),
        hostStatus(),
        exchangeStatus());
  }

  /** Host memory now. */
  public HostStatus hostStatus() {
    return hostMemory.status(hostWork());
  }

  /** Bytes of Arrow buffers alive in this executor, pinned and plain; 0 when nothing runs. */
  public long liveArrowBytes() {
    return hostMemory.liveBytes();
  }

  /** Bytes of host memory kept for reuse, pinned and plain. */
  public long keptHostBytes() {
    return hostMemory.keptBytes();
  }

  /** Bytes of device memory alive in this executor; 0 when nothing runs. */
  public long liveDeviceBytes() {
    return gpus().stream().mapToLong(gpu -> gpu.device().liveDeviceBytes()).sum();
  }

  /** Memory for blocks that outlive a task: pinned where a device is used, else plain. */
  public HostMemorySource storeMemory() {
    return hostMemory.stores();
  }

  /** What limits it: for outputs of map tasks and cached blocks together. */
  public StoreBudget storeBudget() {
    return storeBudget;
  }

  /** Memory whose buffers a device can copy from; empty until a device is used. */
  public Optional<ArrowMemory> pinnedMemory() {
    return hostMemory.pinned();
  }

  /** Closes {@code user} before the memory and the devices that it uses. */
  public void closesFirst(AutoCloseable user) {
    users.add(user);
  }

  /** Frees everything, users before used; logs what was still alive. May be called twice. */
  @Override
  public void close() {
    boolean lost = lostDevice().isPresent();
    List<AutoCloseable> owned = new ArrayList<>(users);
    owned.addAll(List.of(() -> hostMemory.close(lost), devices, hostTransposer, hostMultiplier));
    Closing.all(owned);
  }

  private String executorId() {
    return env == null ? "(none)" : env.executorId();
  }
}
