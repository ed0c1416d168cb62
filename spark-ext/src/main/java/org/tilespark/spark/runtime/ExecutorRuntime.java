package org.tilespark.spark.runtime;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.blocks.DeviceBlockPipeline;
import org.tilespark.arrow.blocks.HostBlockPipeline;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.memory.Uses;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.CudaFailure;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.ConfigKey;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.StoppedException;

/**
 * The resources of one executor outside the heap: its Arrow memory, its devices with pinned memory
 * and the turns ({@link GpuTurns}) in which tasks use them, and resources {@link #kept} between
 * tasks. It is created at first use (or by the plugin when the executor starts), belongs to the
 * executor's {@link SparkEnv}, and is closed with it. Thread-safe.
 *
 * <p>Spark's tasks can reach only static references, so one is static. A stopped executor gets no
 * new runtime: tasks that still run fail with a {@link StoppedException} at their next request, and
 * their resources stay until the last of them has ended. A new {@code SparkContext} in the same
 * process has a new {@link SparkEnv} and a separate runtime.
 */
public final class ExecutorRuntime implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorRuntime.class);

  /** The executor's id in local mode, where it shares the driver's process. */
  public static final String LOCAL_EXECUTOR = "driver";

  /** Seed of injected faults, so that these are in the same places in every run. */
  static final long FAULT_SEED = 20260101;

  private static final Object LOCK =
      new Object(); // no resource is closed while this lock is held. Below: guarded by LOCK.
  private static ExecutorRuntime current; // null before the first use and after a stop
  private static WeakReference<SparkEnv> stopped = new WeakReference<>(null);

  private final SparkEnv env;
  private final DeviceRegistry devices;
  private final GpuTurns turns;
  private final ExecutorTelemetry telemetry = new ExecutorTelemetry();
  private final HostTransposer hostTransposer = new HostTransposer();
  private final HostProducts hostProducts;
  private final TaskFactorizers factorizers;
  private final AtomicBoolean saidWhyNoFourier = new AtomicBoolean();
  private final Uses uses; // users: this runtime until it is closed, tasks, and allocations
  private final Object memoryLock = new Object();
  private HostMemoryPools hostMemory; // null until requested; guarded by memoryLock
  // Resources by their owners; guarded by kept.
  private final Map<Object, AutoCloseable> kept = new LinkedHashMap<>();
  private boolean closed; // guarded by kept

  private ExecutorRuntime(SparkEnv env, Optional<List<String>> gpuAddresses) {
    this.env = env;
    SparkConf conf = env.conf();
    boolean local = env.executorId().equals(LOCAL_EXECUTOR);
    UnaryOperator<String> settings = TileSparkConf.application(conf);
    TileSparkConf.all().stream()
        .filter(key -> key.reach() == ConfigKey.Reach.EXECUTOR)
        .forEach(key -> key.read(settings)); // a wrong setting fails here, not in each task
    this.hostProducts = new HostProducts(settings);
    this.uses = new Uses("The runtime of executor " + env.executorId(), this::free);
    this.devices = new DeviceRegistry(env.executorId(), conf, local, gpuAddresses);
    this.factorizers = new TaskFactorizers(this, devices);
    this.turns = new GpuTurns(TileSparkConf.CONCURRENT_TASKS.read(settings), devices::deviceNumber);
  }

  /**
   * The runtime of this thread's executor; created at first use.
   *
   * @throws StoppedException if the application has stopped
   */
  public static ExecutorRuntime current() {
    return start(Optional.empty());
  }

  /**
   * As {@link #current}, with the device addresses that Spark assigned to the executor, used if
   * this call creates the runtime.
   *
   * @param gpuAddresses empty optional if unknown, an empty list if Spark assigned none
   * @throws StoppedException if the application has stopped
   */
  public static ExecutorRuntime start(Optional<List<String>> gpuAddresses) {
    ExecutorRuntime found;
    ExecutorRuntime replaced; // of an application that ended without our plugin
    synchronized (LOCK) {
      SparkEnv env = SparkEnv.get();
      if (env == null || env == stopped.get()) {
        throw hasStopped();
      }
      if (current != null && current.env == env) {
        return current;
      }
      replaced = current;
      found = new ExecutorRuntime(env, gpuAddresses);
      current = found;
    }
    if (replaced != null) {
      replaced.close();
    }
    return found;
  }

  static StoppedException hasStopped() {
    return new StoppedException(
        "The Spark application of this task has stopped, so there is no memory and no device for"
            + " it any more. Start a new SparkContext to go on");
  }

  /**
   * Closes the runtime of this process, if there is one. Its application gets no new one; the next
   * application in this process does.
   */
  public static void stop() {
    ExecutorRuntime ended;
    synchronized (LOCK) {
      ended = current;
      current = null;
      SparkEnv env = ended == null ? SparkEnv.get() : ended.env;
      if (env != null) {
        stopped = new WeakReference<>(env);
      }
    }
    if (ended != null) {
      ended.close();
    }
  }

  /** As {@link #gpu(Backend, TaskContext, IntFunction)} without a preferred device. */
  public Optional<Gpu> gpu(Backend backend, TaskContext task) {
    return devices.gpu(backend, task);
  }

  /**
   * The device for a task, or empty for the CPU.
   *
   * @param task the task, or null outside one
   * @param wish takes the number of devices, and gives the number of the preferred one, from 0;
   *     empty for no preference. A device that Spark assigned takes precedence
   * @throws ResourceException if {@code backend} is {@link Backend#GPU} and there is none; the
   *     message says why, and what helps
   */
  public Optional<Gpu> gpu(Backend backend, TaskContext task, IntFunction<OptionalInt> wish) {
    return devices.gpu(backend, task, wish);
  }

  /** The number of the device that a task uses if it uses any. */
  public int deviceNumber(TaskContext task) {
    return devices.deviceNumber(task);
  }

  /** The number of devices among which this executor can choose now, or why there are none. */
  public Availability<Integer> usableDevices() {
    return devices.usableDevices();
  }

  /** The first usable device and its driver, or why there is none. */
  public String deviceDescription() {
    Availability<Integer> usable = usableDevices();
    return usable.isPresent() ? DeviceProbe.run().get().description() : usable.whyNot();
  }

  private String deviceCount() {
    return usableDevices().thing().map(String::valueOf).orElse("none")
        + " ("
        + deviceDescription()
        + ")";
  }

  /**
   * Bytes of the first device that all tasks together may hold; 0 without a device. Opens no
   * device.
   */
  public long deviceBytes() {
    return devices.limitBytes();
  }

  /**
   * Starts opening, on a separate thread, the resources for which the first tasks would wait: the
   * first device, pinned memory, cuBLAS and cuFFT; on the CPU it only looks for a device. A task
   * that needs one meanwhile waits until it is open, or opens it. Failures are left to tasks, whose
   * job reports them: an executor that failed would be restarted endlessly.
   *
   * @throws StoppedException if the application has stopped
   */
  public void openAhead() {
    var ignored =
        kept(
            Ahead.class,
            runtime ->
                Ahead.begin(
                    List.of(
                        Ahead.Step.once("host memory", runtime::hostMemory),
                        Ahead.Step.once("the device", runtime::openFirst),
                        Ahead.Step.once(
                            "cuBLAS", () -> gpus().forEach(gpu -> gpu.multiplier().cublas())),
                        Ahead.Step.once(
                            "cuFFT", () -> gpus().forEach(gpu -> devices.fourier(gpu.device()))),
                        new Ahead.Step(
                            "pinned memory",
                            () ->
                                gpus().stream()
                                    .anyMatch(gpu -> hostMemory().pinAhead(gpu.device()))))));
  }

  private void openFirst() {
    Backend backend = TileSparkConf.BACKEND.read(TileSparkConf.application(env.conf()));
    if (backend != Backend.CPU && usableDevices().isPresent()) {
      devices.gpu(backend, null);
    }
  }

  /**
   * Records that this process lost the device: from now on {@link #gpu} does not return it.
   *
   * @param failure the CUDA error of a task; {@link CudaFailure#isSticky() sticky}
   */
  public void deviceLost(CudaFailure failure) {
    devices.deviceLost(failure);
  }

  /** The CUDA error by which this process lost its device, if it did. */
  public Optional<CudaFailure> lostDevice() {
    return devices.lostDevice();
  }

  /** The devices that are open. */
  public List<Gpu> gpus() {
    return devices.open();
  }

  /**
   * Host memory, divided at the first request: the division depends on whether there is a device,
   * and looking for one takes a while.
   */
  private HostMemoryPools hostMemory() {
    synchronized (memoryLock) {
      if (hostMemory == null) {
        UnaryOperator<String> settings = TileSparkConf.application(env.conf());
        boolean wantsDevice = TileSparkConf.BACKEND.read(settings) != Backend.CPU;
        boolean usesDevice = wantsDevice && usableDevices().isPresent();
        HostBudget budget = HostBudget.of(env.conf(), usesDevice, HostBudget.Machine.here());
        LOG.info(
            SessionLine.of(
                env.conf(), wantsDevice ? deviceCount() : "not looked for", budget.summary()));
        hostMemory =
            new HostMemoryPools(
                settings,
                budget,
                uses,
                () ->
                    usesDevice
                        ? devices.gpu(Backend.AUTO, TaskContext.get()).map(Gpu::device)
                        : Optional.empty());
      }
      return hostMemory;
    }
  }

  /** Arrow memory for blocks: pinned if {@code gpu} is present, else plain. */
  public ArrowMemory memory(Optional<Gpu> gpu) {
    HostMemoryPools pools = hostMemory();
    return gpu.map(each -> pools.pinned(each.device())).orElseGet(pools::plain);
  }

  /** Plain Arrow memory, for data that no device reads. */
  public ArrowMemory memory() {
    return hostMemory().plain();
  }

  /** Each task's share of the pinned memory pool, if the maximum number of tasks use a device. */
  public long pinnedShareBytes() {
    return hostMemory().pinnedShareBytes();
  }

  /** The transposer of the CPU. */
  public Transposer hostTransposer() {
    return hostTransposer;
  }

  /**
   * The multiplier on the CPU.
   *
   * @throws UnsupportedRequestException if the requested engine is not available
   */
  public Multiplier hostMultiplier() {
    return hostProducts.multiplier();
  }

  /**
   * The factorizer of the CPU: OpenBLAS's or plain Java's, as {@code multiply.cpuEngine} says.
   *
   * @throws UnsupportedRequestException if the requested engine is not available
   */
  public Factorizer hostFactorizer() {
    return hostProducts.factorizer();
  }

  /**
   * Runs work with a factorizer, which stays open until the work ends, even if the application
   * stops meanwhile. Large matrices are factorised on the task's device if it has one with
   * cuSOLVER, others by {@link #hostFactorizer}.
   *
   * @param backend {@link Backend#CPU} to use only {@link #hostFactorizer}
   * @param task the task; null outside one, where the CPU is used
   */
  public <T> T factorized(Backend backend, TaskContext task, Function<Factorizer, T> work) {
    try (TaskScope scope = new TaskScope()) {
      scope.own(use());
      return DeviceWatch.during(() -> work.apply(factorizers.of(backend, task)), this);
    }
  }

  /**
   * The place where a task's programs on blocks run.
   *
   * @param gpu the device; empty for the CPU
   * @param fourier transforms on the device; empty for the CPU, and if the programs have no
   *     transform
   */
  public record BlockPlace(Optional<Gpu> gpu, Optional<DeviceFourier> fourier) {
    /**
     * A pipeline for a task that was started on {@link #gpu}.
     *
     * @param batchBytes bytes of values that make a batch
     * @param batchesAhead most batches of results that are downloaded to pinned memory ahead of
     *     need
     */
    public BlockPipeline open(
        TaskRun run, long batchBytes, int batchesAhead, PipelineListener listener) {
      return gpu.isEmpty()
          ? new HostBlockPipeline(run.runtime().hostTransposer, run.allocator(), listener)
          : new DeviceBlockPipeline(
              run.place(listener),
              new DevicePasses(gpu.get().device()),
              gpu.get().transposer(),
              gpu.get().elementwise(),
              fourier,
              batchesAhead * batchBytes,
              batchBytes);
    }
  }

  /**
   * The place where a task's programs on blocks run: the device that {@link #gpu} gives, if cuFFT
   * is installed or nothing is transformed.
   *
   * @param transforms true if a program transforms
   * @throws ResourceException if {@code backend} is {@link Backend#GPU} and there is no device, or
   *     a needed cuFFT is missing; the message says why, and what helps
   */
  public BlockPlace place(Backend backend, boolean transforms, TaskContext task) {
    Optional<Gpu> gpu = gpu(backend, task);
    if (gpu.isEmpty() || !transforms) {
      return new BlockPlace(gpu, Optional.empty());
    }
    Availability<DeviceFourier> found = devices.fourier(gpu.get().device());
    if (found.isPresent()) {
      return new BlockPlace(gpu, found.thing());
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
    return new BlockPlace(Optional.empty(), Optional.empty());
  }

  /** The turns in which tasks use the devices. */
  public GpuTurns turns() {
    return turns;
  }

  /** The totals to which this executor's tasks on {@code gpu}, or on the CPU, report. */
  public PipelineTotals pipelineTotals(Optional<Gpu> gpu) {
    return telemetry.totals(gpu);
  }

  /** Totals of the tasks on all devices together. */
  public PipelineTotals.Snapshot deviceWork() {
    return telemetry.deviceWork();
  }

  /** Totals of the tasks on the CPU. */
  public PipelineTotals.Snapshot hostWork() {
    return telemetry.hostWork();
  }

  /** The totals to which exchanges in memory report. */
  public ExchangeTotals exchangeTotals() {
    return telemetry.exchange();
  }

  /**
   * The current state of exchanges in memory, and of the memory that they share with cached blocks.
   */
  public ExchangeStatus exchangeStatus() {
    return telemetry.exchange().status(storeBudget());
  }

  /** The current state of this executor, for the driver. */
  public ExecutorStatus status() {
    Backend backend = TileSparkConf.BACKEND.read(TileSparkConf.application(env.conf()));
    boolean lost = lostDevice().isPresent();
    return new ExecutorStatus(
        executorId(),
        devices.whyCpu(backend).orElse(""),
        lostDevice().map(CudaFailure::getMessage).orElse(""),
        gpus().stream().map(gpu -> telemetry.status(gpu, lost)).toList(),
        hostStatus(),
        exchangeStatus());
  }

  /** The current state of host memory. */
  public HostStatus hostStatus() {
    return hostMemory().status(hostWork());
  }

  /** Bytes of Arrow buffers alive in this executor, pinned and plain; 0 when nothing runs. */
  public long liveArrowBytes() {
    return hostMemory().liveBytes();
  }

  /** Bytes of host memory kept for reuse, pinned and plain. */
  public long keptHostBytes() {
    return hostMemory().keptBytes();
  }

  /** Bytes of device memory alive in this executor; 0 when nothing runs. */
  public long liveDeviceBytes() {
    return gpus().stream().mapToLong(gpu -> gpu.device().liveDeviceBytes()).sum();
  }

  /** Memory for blocks that outlive a task: pinned where a device is used, else plain. */
  public HostMemorySource storeMemory() {
    return hostMemory().stores();
  }

  /** The budget of outputs of map tasks and cached blocks together. */
  public StoreBudget storeBudget() {
    return hostMemory().storeBudget();
  }

  /** Memory whose buffers a device can copy from; empty until a device is used. */
  public Optional<ArrowMemory> pinnedMemory() {
    return hostMemory().pinned();
  }

  /**
   * A resource that lives as long as this runtime and belongs to {@code owner}, for instance a
   * store of blocks: created at first use, and closed before the memory that it uses.
   *
   * @param owner key of the resource; a class if the executor has only one
   * @param making makes the resource, without effects on others; called while no lock is held
   * @throws StoppedException if the application has stopped
   */
  @SuppressWarnings("unchecked") // all resources of an owner have one type
  public <T extends AutoCloseable> T kept(Object owner, Function<ExecutorRuntime, T> making) {
    synchronized (kept) {
      requireOpen();
      if (kept.containsKey(owner)) {
        return (T) kept.get(owner);
      }
    }
    T made = making.apply(this);
    synchronized (kept) {
      requireOpen();
      AutoCloseable first = kept.putIfAbsent(owner, made);
      return first == null ? made : (T) first;
    }
  }

  private void requireOpen() {
    if (closed) {
      throw hasStopped();
    }
  }

  /**
   * Keeps memory and devices open until the result is closed, even if the application stops
   * meanwhile.
   *
   * @throws StoppedException if the application has stopped
   */
  AutoCloseable use() {
    synchronized (kept) {
      requireOpen();
      if (!uses.retain()) {
        throw hasStopped();
      }
    }
    return uses::release;
  }

  /**
   * Closes resources kept between tasks, and provides no memory from now on. Memory in use, and the
   * devices, are freed by their last user: at once if no task runs. May be called twice.
   */
  @Override
  public void close() {
    List<AutoCloseable> owned;
    synchronized (kept) {
      if (closed) {
        return;
      }
      closed = true;
      owned = new ArrayList<>(kept.values());
      kept.clear();
    }
    owned.add(() -> hostMemory().shut(lostDevice().isPresent()));
    owned.add(uses::release);
    Closing.all(owned);
    if (liveArrowBytes() > 0) {
      LOG.info(
          "{} bytes outside the heap are in use when executor {} stops; the tasks that use them"
              + " free them",
          liveArrowBytes(),
          executorId());
    }
  }

  /** Closes the devices and the CPU's operators, once no task and no buffer uses them. */
  private void free() {
    Closing.all(List.of(devices, hostTransposer, hostProducts));
  }

  private String executorId() {
    return env.executorId();
  }
}
