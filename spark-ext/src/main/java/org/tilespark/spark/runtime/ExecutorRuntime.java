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
 * and turns, and what is {@link #kept} between tasks. Made at first use (or by the plugin when the
 * executor starts), belonging to the executor's {@link SparkEnv}, closed with it. Thread-safe.
 *
 * <p>Tasks of Spark reach nothing but statics, so one reference is static. An executor that has
 * stopped gets no runtime again: tasks that still run then fail with a {@link StoppedException} as
 * soon as they ask for more, and what they use stays until the last of them has ended. A new {@code
 * SparkContext} in the same process has a new {@link SparkEnv}, and a runtime of its own.
 */
public final class ExecutorRuntime implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorRuntime.class);

  /** The executor's id in local mode, where it shares the driver's process. */
  public static final String LOCAL_EXECUTOR = "driver";

  /** Injected faults fall in the same places in every run. */
  static final long FAULT_SEED = 20260101;

  private static final Object LOCK = new Object(); // nothing is closed while it is held
  // Guarded by LOCK.
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
  private final Uses uses; // by this runtime until it is closed, by tasks and by allocations
  private final Object memoryLock = new Object();
  private HostMemoryPools hostMemory; // null until asked for; guarded by memoryLock
  // Guarded by this.
  private final Map<Object, AutoCloseable> kept = new LinkedHashMap<>(); // by what it belongs to
  private boolean closed; // guarded by kept

  private ExecutorRuntime(SparkEnv env, Optional<List<String>> gpuAddresses) {
    this.env = env;
    SparkConf conf = env.conf();
    boolean local = env.executorId().equals(LOCAL_EXECUTOR);
    UnaryOperator<String> settings = TileSparkConf.application(conf);
    TileSparkConf.all().stream()
        .filter(key -> key.reach() == ConfigKey.Reach.EXECUTOR)
        .forEach(key -> key.read(settings)); // a wrong one fails here, not in each task
    this.hostProducts = new HostProducts(settings);
    this.uses = new Uses("The runtime of executor " + env.executorId(), this::free);
    this.devices = new DeviceRegistry(env.executorId(), conf, local, gpuAddresses);
    this.factorizers = new TaskFactorizers(this, devices);
    this.turns = new GpuTurns(TileSparkConf.CONCURRENT_TASKS.read(settings), devices::deviceNumber);
  }

  /**
   * The runtime of the executor this thread runs in; made at first use.
   *
   * @throws StoppedException if the application has stopped
   */
  public static ExecutorRuntime current() {
    return start(Optional.empty());
  }

  /**
   * As {@link #current}, and if that makes it, with these device addresses, which Spark assigned to
   * the executor.
   *
   * @param gpuAddresses none if they are not known, an empty list if Spark assigned none
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
   * Closes the runtime of this process, if there is one. Its application gets none from now on; the
   * next application of this process does.
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

  /** The bytes that tasks may hold of the first device together; 0 without one. Opens none. */
  public long deviceBytes() {
    return devices.limitBytes();
  }

  /**
   * Begins to open what the first tasks would wait for, on a thread of its own: the first device,
   * pinned memory, cuBLAS and cuFFT; on the CPU it only looks for a device. A task that needs one
   * of them meanwhile waits until it is open, or opens it. What fails is left to tasks, and their
   * job says why: an executor that failed would be started again without end.
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
   * Notes that the device is lost to this process: from now on {@link #gpu} does not give it.
   *
   * @param failure the CUDA error of a task; {@link CudaFailure#isSticky() sticky}
   */
  public void deviceLost(CudaFailure failure) {
    devices.deviceLost(failure);
  }

  /** The CUDA error that cost this process its device, if it lost it. */
  public Optional<CudaFailure> lostDevice() {
    return devices.lostDevice();
  }

  /** The devices that are open. */
  public List<Gpu> gpus() {
    return devices.open();
  }

  /**
   * Host memory, shared out when it is first asked for: how depends on whether there is a device,
   * and to look for one takes a while.
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

  /** Plain Arrow memory, for what no device will read. */
  public ArrowMemory memory() {
    return hostMemory().plain();
  }

  /** Each task's part of the pool of pinned memory, when as many use a device as may. */
  public long pinnedShareBytes() {
    return hostMemory().pinnedShareBytes();
  }

  /** The host twin. */
  public Transposer hostTransposer() {
    return hostTransposer;
  }

  /**
   * The host twin of products.
   *
   * @throws UnsupportedRequestException if the engine that is asked for is not there
   */
  public Multiplier hostMultiplier() {
    return hostProducts.multiplier();
  }

  /**
   * The factorizer of the CPU: OpenBLAS's or plain Java's, as {@code multiply.cpuEngine} asks.
   *
   * @throws UnsupportedRequestException if the engine that is asked for is not there
   */
  public Factorizer hostFactorizer() {
    return hostProducts.factorizer();
  }

  /**
   * The result of work with a factorizer, which is not closed before the work ends, also if the
   * application stops meanwhile. Large matrices are factorised on the task's device where it has
   * one with cuSOLVER, others by {@link #hostFactorizer}.
   *
   * @param backend {@link Backend#CPU} for {@link #hostFactorizer} alone
   * @param task null outside a task, which is the CPU's
   */
  public <T> T factorized(Backend backend, TaskContext task, Function<Factorizer, T> work) {
    try (TaskScope scope = new TaskScope()) {
      scope.own(use());
      return DeviceWatch.during(() -> work.apply(factorizers.of(backend, task)), this);
    }
  }

  /**
   * The backend of a task's programs on blocks.
   *
   * @param gpu the device; empty on the CPU
   * @param fourier transforms on it; empty on the CPU, and if nothing is to be transformed
   */
  public record BlockPlace(Optional<Gpu> gpu, Optional<DeviceFourier> fourier) {
    /**
     * A pipeline for a task that was started on {@link #gpu}.
     *
     * @param batchBytes bytes of values that make a batch
     * @param batchesAhead most batches in pinned memory before they are asked for
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
   * The backend of a task's programs on blocks: the device that {@link #gpu} gives, if cuFFT is
   * installed or nothing is transformed.
   *
   * @param transforms true if a program transforms
   * @throws ResourceException if {@code backend} is {@link Backend#GPU} and there is no device, or
   *     no cuFFT that it needs; says why, and what helps
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

  /** The tasks' turns on the device. */
  public GpuTurns turns() {
    return turns;
  }

  /** Totals of this executor's tasks on {@code gpu}, or on the CPU; they report to it. */
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

  /** Totals of the tasks' exchanges in memory; they report to it. */
  public ExchangeTotals exchangeTotals() {
    return telemetry.exchange();
  }

  /** The exchange and its memory now. */
  public ExchangeStatus exchangeStatus() {
    return telemetry.exchange().status(storeBudget());
  }

  /** This executor now, for the driver. */
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

  /** Host memory now. */
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
   * store of blocks: made at first use, and closed before the memory that it uses.
   *
   * @param owner whose it is; a class if there is one for the executor
   * @param making makes the resource, without effects on others; called while no lock is held
   * @throws StoppedException if the application has stopped
   */
  @SuppressWarnings("unchecked") // an owner has things of one type
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
   * Keeps memory and devices until the result is closed, also if the application stops meanwhile.
   *
   * @throws StoppedException if it has stopped
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
   * Ends what is kept between tasks, and gives out no memory from now on. Memory that is in use,
   * and the devices, are freed by their last user: at once if no task runs. May be called twice.
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

  /** Closes what tasks and buffers used; nobody does any more. */
  private void free() {
    Closing.all(List.of(devices, hostTransposer, hostProducts));
  }

  private String executorId() {
    return env.executorId();
  }
}
