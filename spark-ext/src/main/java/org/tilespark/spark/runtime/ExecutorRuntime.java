package org.tilespark.spark.runtime;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntUnaryOperator;
import java.util.function.UnaryOperator;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.resource.ResourceInformation;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.arrays.DeviceFourierPipeline;
import org.tilespark.arrow.arrays.FourierPipeline;
import org.tilespark.arrow.arrays.HostFourierPipeline;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.FaultyMemorySource;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.PinnedMemorySource;
import org.tilespark.arrow.panels.DevicePanels;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaFailure;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.MemoryInfo;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.transpose.TilingTable;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.kernels.tune.Autotuner;
import org.tilespark.kernels.tune.TilingStore;
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

  /** Spark's name for the resource. */
  private static final String GPU = "gpu";

  /** What an application asks Spark for GPUs with. */
  private static final String SCHEDULED = "spark.executor.resource.gpu.amount";

  /** The executor's id in local mode, where it shares the driver's process. */
  public static final String LOCAL_EXECUTOR = "driver";

  /** Injected faults fall in the same places in every run. */
  private static final long FAULT_SEED = 20260101;

  private static final Object LOCK = new Object();
  private static ExecutorRuntime current;

  private final SparkEnv env;
  private final Optional<List<String>> gpuAddresses;
  private final long pinnedPoolBytes;
  private final long hostPoolBytes;
  private final GpuTurns turns;
  private final PipelineTotals hostTotals = new PipelineTotals();
  private final Map<Integer, PipelineTotals> deviceTotals = new ConcurrentSkipListMap<>();
  private final HostTransposer hostTransposer = new HostTransposer();
  private final Multiplier hostMultiplier = new HostMultiplier();
  private final NativeMemorySource nativeSource;
  private final ArrowMemory nativeMemory;
  private final Map<Integer, Slot> slots = new ConcurrentSkipListMap<>(); // by device number
  private final Object pinnedLock = new Object();
  private final AtomicBoolean saidWhyNoFourier = new AtomicBoolean();
  private final AtomicBoolean saidWhyCpu = new AtomicBoolean();
  private final AtomicReference<String> whyCpu = new AtomicReference<>("");
  private final AtomicReference<CudaFailure> lost = new AtomicReference<>();
  private TaskDevices taskDevices; // made at first use, since it may look for devices
  private PinnedPool pinnedPool;
  private ArrowMemory pinnedMemory;
  private volatile boolean closed;

  private ExecutorRuntime(SparkEnv env, Optional<List<String>> gpuAddresses) {
    this.env = env;
    this.gpuAddresses = gpuAddresses;
    SparkConf conf = conf();
    this.hostPoolBytes = TileSparkConf.HOST_POOL_SIZE.read(TileSparkConf.application(conf));
    this.nativeSource = new NativeMemorySource(hostPoolBytes);
    this.nativeMemory = new ArrowMemory(FaultyMemorySource.of(nativeSource, hostFaults()));
    this.pinnedPoolBytes = TileSparkConf.PINNED_POOL_SIZE.read(TileSparkConf.application(conf));
    this.turns =
        new GpuTurns(
            TileSparkConf.CONCURRENT_TASKS.read(TileSparkConf.application(conf)),
            this::deviceNumber);
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

  /**
   * One device with what belongs to it.
   *
   * @param panels that tasks of this executor share, in memory of {@code governor}
   * @param totalBytes all of its memory
   */
  public record Gpu(
      CudaDevice device,
      DeviceTransposer transposer,
      DeviceMultiplier multiplier,
      MemoryGovernor governor,
      DevicePanels panels,
      long totalBytes) {}

  /** Where a device is, once it is open. Opening takes long; other devices need not wait for it. */
  private static final class Slot {
    private volatile Gpu gpu; // set under the lock of this, as is the other
    private DeviceFourier.Found fourier; // null until first asked for

    /** Forgets what was opened, and closes it if {@code frees}; users before used. */
    synchronized void close(boolean frees) {
      if (frees && fourier != null) {
        fourier.fourier().ifPresent(DeviceFourier::close);
      }
      Gpu open = gpu;
      if (frees && open != null) {
        open.panels().close();
        open.transposer().close();
        open.multiplier().close();
        open.device().close();
      }
      fourier = null;
      gpu = null;
    }
  }

  /**
   * The device a task is to use, or empty for the CPU.
   *
   * <p>It is the one of {@link #deviceNumber}.
   *
   * @param task the task, or null outside one
   * @throws ResourceException if {@code backend} is {@link Backend#GPU} and there is none; says
   *     why, and what helps
   */
  public Optional<Gpu> gpu(Backend backend, TaskContext task) {
    return gpu(backend, task, devices -> -1);
  }

  /**
   * As {@link #gpu(Backend, TaskContext)} for a task that does better on one of several devices.
   *
   * @param wish the one, from 0, of as many as it is given; less than 0 if it is all the same.
   *     Where Spark assigned a device, that is taken
   */
  public Optional<Gpu> gpu(Backend backend, TaskContext task, IntUnaryOperator wish) {
    String reason = whyNoDevice(backend);
    if (reason.isEmpty()) {
      return Optional.of(open(deviceNumber(task, wish)));
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
    whyCpu.set(reason);
    if (backend == Backend.AUTO && saidWhyCpu.compareAndSet(false, true)) {
      LOG.info(
          "{}=auto: executor {} computes on the CPU, since {}",
          TileSparkConf.BACKEND.name(),
          executorId(),
          reason);
    }
    return Optional.empty();
  }

  /** Why no task can use a device; empty if tasks can. */
  public String whyNoDevice(Backend backend) {
    if (backend == Backend.CPU) {
      return TileSparkConf.BACKEND.name() + "=cpu";
    }
    if (lost.get() != null) {
      return "it was lost: " + lost.get().getMessage();
    }
    String none = devices().whyNone();
    return none.isEmpty() ? DeviceProbe.run().reason() : none;
  }

  private TaskDevices devices() {
    synchronized (slots) {
      if (taskDevices == null) {
        boolean local = env == null || env.executorId().equals(LOCAL_EXECUTOR);
        boolean scheduled = conf().getInt(SCHEDULED, 0) > 0;
        taskDevices =
            TaskDevices.of(gpuAddresses, scheduled, local, DeviceProbe.run().deviceCount());
      }
      return taskDevices;
    }
  }

  /**
   * The number of the device that a task is to use if it uses one: the address that Spark's
   * scheduler assigned to the task; else, of those that it assigned to the executor, or in local
   * mode of all, the one that fewest tasks use; else 0. It stays the same for a task attempt.
   *
   * @param task the task, or null outside one
   * @throws IllegalArgumentException if Spark's address is no number
   * @throws IllegalStateException if Spark gave the executor no device
   */
  public int deviceNumber(TaskContext task) {
    return deviceNumber(task, devices -> -1);
  }

  private int deviceNumber(TaskContext task, IntUnaryOperator wish) {
    TaskDevices devices = devices();
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

  /** Devices that this executor can use now: those that are its own to choose from. */
  public int usableDevices() {
    return whyNoDevice(Backend.AUTO).isEmpty() ? devices().count() : 0;
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
    synchronized (pinnedLock) {
      requireOpen();
      if (pinnedMemory == null) {
        // Pinned memory is portable: every device of this process can use it.
        pinnedPool = gpu.get().device().newPinnedPool(pinnedPoolBytes);
        pinnedMemory =
            new ArrowMemory(
                FaultyMemorySource.of(new PinnedMemorySource(pinnedPool), hostFaults()));
      }
      return pinnedMemory;
    }
  }

  /** Each task's part of the pool of pinned memory, when as many use a device as may. */
  public long pinnedShareBytes() {
    return pinnedPoolBytes / TileSparkConf.CONCURRENT_TASKS.read(TileSparkConf.application(conf()));
  }

  /** Plain Arrow memory, for what no device will read. */
  public ArrowMemory memory() {
    return nativeMemory;
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
   * Where a task transforms: memory, and pipelines in it.
   *
   * @param gpu the device; empty on the CPU
   * @param fourier what transforms on it; empty on the CPU
   * @param memory for blocks
   */
  public record FourierPlace(
      ExecutorRuntime runtime,
      Optional<Gpu> gpu,
      Optional<DeviceFourier> fourier,
      ArrowMemory memory) {
    /**
     * A pipeline for {@code task}.
     *
     * @param allocator of {@link #memory}; closed after the pipeline
     * @param aheadBytes of pinned memory for parts that come down before they are asked for
     */
    public FourierPipeline open(
        TaskContext task, BufferAllocator allocator, long aheadBytes, PipelineListener listener) {
      return fourier.isEmpty()
          ? new HostFourierPipeline(runtime.hostTransposer, allocator, listener)
          : new DeviceFourierPipeline(
              gpu.get().device(),
              fourier.get(),
              gpu.get().transposer(),
              memory,
              gpu.get().governor(),
              allocator,
              aheadBytes,
              runtime.turns.of(task),
              listener);
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
      return new FourierPlace(this, gpu, Optional.empty(), memory());
    }
    DeviceFourier.Found found = fourier(gpu.get().device());
    if (found.fourier().isPresent()) {
      return new FourierPlace(this, gpu, found.fourier(), memory(gpu));
    }
    if (backend == Backend.GPU) {
      throw new ResourceException(
          TileSparkConf.BACKEND.name()
              + "=gpu, but executor "
              + executorId()
              + " cannot transform on its GPU: "
              + found.reason()
              + ". Set it to auto or cpu to transform on the CPU");
    }
    if (saidWhyNoFourier.compareAndSet(false, true)) {
      LOG.info(
          "{}=auto: executor {} transforms on the CPU, since {}",
          TileSparkConf.BACKEND.name(),
          executorId(),
          found.reason());
    }
    return new FourierPlace(this, Optional.empty(), Optional.empty(), memory());
  }

  private DeviceFourier.Found fourier(CudaDevice device) {
    Slot slot = slots.get(device.ordinal());
    synchronized (slot) {
      requireOpen();
      if (slot.fourier == null) {
        slot.fourier =
            DeviceFourier.find(
                device, TileSparkConf.LIBRARY_PATH.read(TileSparkConf.application(conf())));
      }
      return slot.fourier;
    }
  }

  /** Who may use the device now. */
  public GpuTurns turns() {
    return turns;
  }

  /** What this executor's tasks did on {@code gpu}, or on the CPU; they report to it. */
  public PipelineTotals pipelineTotals(Optional<Gpu> gpu) {
    return gpu.map(g -> deviceTotals.get(g.device().ordinal())).orElse(hostTotals);
  }

  /** What tasks did on all devices together. */
  public PipelineTotals.Snapshot deviceWork() {
    return deviceTotals.values().stream()
        .map(PipelineTotals::snapshot)
        .reduce(PipelineTotals.Snapshot.ZERO, PipelineTotals.Snapshot::plus);
  }

  /** What tasks computed on the CPU. */
  public PipelineTotals.Snapshot hostWork() {
    return hostTotals.snapshot();
  }

  /** This executor now, for the driver. */
  public ExecutorStatus status() {
    Backend backend = TileSparkConf.BACKEND.read(TileSparkConf.application(conf()));
    return new ExecutorStatus(
        executorId(),
        whyCpu.get().isEmpty() ? whyNoDevice(backend) : whyCpu.get(),
        lostDevice().map(CudaFailure::getMessage).orElse(""),
        gpus().stream().map(this::status).toList(),
        hostStatus());
  }

  /** The devices that are open. */
  public List<Gpu> gpus() {
    return slots.values().stream().map(slot -> slot.gpu).filter(Objects::nonNull).toList();
  }

  private DeviceStatus status(Gpu gpu) {
    CudaDevice device = gpu.device();
    return new DeviceStatus(
        device.ordinal(),
        device.description(),
        gpu.totalBytes(),
        lost.get() == null ? inUseBytes(device) : -1,
        gpu.governor().limitBytes(),
        gpu.governor().usedBytes(),
        gpu.governor().peakBytes(),
        deviceTotals.get(device.ordinal()).snapshot());
  }

  private static long inUseBytes(CudaDevice device) {
    try {
      MemoryInfo memory = device.memoryInfo();
      return memory.totalBytes() - memory.freeBytes();
    } catch (CudaFailure e) { // a task will meet it too, and say so
      return -1;
    }
  }

  /** Host memory now. */
  public HostStatus hostStatus() {
    ArrowMemory pinned;
    long pinnedKept;
    synchronized (pinnedLock) {
      pinned = pinnedMemory;
      pinnedKept = pinnedPool == null ? 0 : pinnedPool.cachedBytes();
    }
    return new HostStatus(
        pinned == null ? 0 : pinned.allocatedBytes(),
        pinned == null ? 0 : pinned.peakBytes(),
        pinnedKept,
        pinnedPoolBytes,
        nativeMemory.allocatedBytes(),
        nativeMemory.peakBytes(),
        nativeSource.keptBytes(),
        hostPoolBytes,
        hostWork());
  }

  /** Bytes of Arrow buffers alive in this executor, pinned and plain; 0 when nothing runs. */
  public long liveArrowBytes() {
    synchronized (pinnedLock) {
      return nativeMemory.allocatedBytes()
          + (pinnedMemory == null ? 0 : pinnedMemory.allocatedBytes());
    }
  }

  /** Bytes of host memory kept for reuse, pinned and plain. */
  public long keptHostBytes() {
    synchronized (pinnedLock) {
      return nativeSource.keptBytes() + (pinnedPool == null ? 0 : pinnedPool.cachedBytes());
    }
  }

  /** Bytes of device memory alive in this executor; 0 when nothing runs. */
  public long liveDeviceBytes() {
    return gpus().stream().mapToLong(gpu -> gpu.device().liveDeviceBytes()).sum();
  }

  /** Frees everything, users before used; logs what was still alive. May be called twice. */
  @Override
  public void close() {
    synchronized (pinnedLock) {
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
    }
    // Nothing of a lost device can be freed but by the end of the process.
    boolean frees = lost.get() == null;
    slots.values().forEach(slot -> slot.close(frees));
    hostTransposer.close();
    hostMultiplier.close();
  }

  private static void closeMemory(ArrowMemory memory) {
    try {
      memory.close();
    } catch (IllegalStateException leak) {
      LOG.warn("Arrow buffers were alive when the executor ended: {}", leak.getMessage());
    }
  }

  private Gpu open(int number) {
    Slot slot = slots.computeIfAbsent(number, key -> new Slot());
    synchronized (slot) {
      requireOpen(); // close sets its mark before it looks at the slots
      if (slot.gpu == null) {
        slot.gpu = opened(number);
      }
      return slot.gpu;
    }
  }

  private Gpu opened(int number) {
    CudaDevice device = CudaDevice.open(number);
    LOG.info("Executor {} uses device {}: {}", executorId(), number, device.description());
    if (devices().leavesOthers()) {
      LOG.info(
          "The driver shows {} devices to executor {}; without {} only the first is used",
          DeviceProbe.run().deviceCount(),
          executorId(),
          SCHEDULED);
    }
    deviceTotals.putIfAbsent(number, new PipelineTotals());
    long totalBytes = device.memoryInfo().totalBytes();
    MemoryGovernor governor = governor(totalBytes);
    return new Gpu(
        device,
        new DeviceTransposer(device, autotuner(device)),
        multiplier(device),
        governor,
        new DevicePanels(device, governor),
        totalBytes);
  }

  private DeviceMultiplier multiplier(CudaDevice device) {
    UnaryOperator<String> conf = TileSparkConf.application(conf());
    return new DeviceMultiplier(
        device,
        TileSparkConf.MULTIPLY_ENGINE.read(conf),
        TileSparkConf.LIBRARY_PATH.read(conf),
        new DeviceMultiplier.Tuning(
            TileSparkConf.AUTOTUNE_BUDGET.read(conf),
            Optional.of(cacheDirectory(TileSparkConf.AUTOTUNE_CACHE_DIR.read(conf)))));
  }

  private Autotuner autotuner(CudaDevice device) {
    UnaryOperator<String> conf = TileSparkConf.application(conf());
    Duration budget = TileSparkConf.AUTOTUNE_BUDGET.read(conf);
    KernelIndex kernels = device.kernels().index();
    TilingStore.Origin origin = new TilingStore.Origin(device.description(), kernels.hash());
    return new Autotuner(
        device.limits(),
        kernels,
        TilingTable.bundled(),
        budget.isZero()
            ? Optional.empty()
            : Optional.of(
                new TilingStore(
                    cacheDirectory(TileSparkConf.AUTOTUNE_CACHE_DIR.read(conf)), origin)),
        budget);
  }

  /** Where the XDG Base Directory Specification has caches, unless {@code configured} is a path. */
  private static Path cacheDirectory(String configured) {
    if (!configured.isEmpty()) {
      return Path.of(configured);
    }
    String base = System.getenv("XDG_CACHE_HOME");
    return (base == null || base.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(base))
        .resolve("tilespark");
  }

  private MemoryGovernor governor(long totalBytes) {
    UnaryOperator<String> conf = TileSparkConf.application(conf());
    long reserve = TileSparkConf.DEVICE_RESERVE.read(conf);
    double share = TileSparkConf.DEVICE_FRACTION.read(conf) * (totalBytes - reserve);
    if (share < 1) {
      throw new ResourceException(
          "The device has "
              + totalBytes
              + " bytes of memory, and "
              + TileSparkConf.DEVICE_RESERVE.name()
              + " takes "
              + reserve
              + " of them: nothing is left for tasks. Lower it");
    }
    return new MemoryGovernor(
        (long) share,
        new AllocationFaults(TileSparkConf.FAIL_EVERY_NTH_ALLOCATION.read(conf), FAULT_SEED),
        "Use smaller blocks, or raise "
            + TileSparkConf.DEVICE_FRACTION.name()
            + ", or lower "
            + TileSparkConf.CONCURRENT_TASKS.name());
  }

  private AllocationFaults hostFaults() {
    return new AllocationFaults(
        TileSparkConf.FAIL_EVERY_NTH_HOST_ALLOCATION.read(TileSparkConf.application(conf())),
        FAULT_SEED);
  }

  private SparkConf conf() {
    return env == null ? new SparkConf(false) : env.conf();
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
