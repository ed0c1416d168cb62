package org.tilespark.kernels.device;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.device.library.LibraryStatuses;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;

/**
 * One CUDA device, opened by this process: the owner of its streams, its memory and its kernels.
 *
 * <p>It uses the device's primary context, as CUDA's runtime and libraries do. Every operation
 * makes that context current for the calling thread, so any thread may call; several threads may
 * call at once. Whoever opens it closes it, after closing what it gave out.
 *
 * <p>Failed calls throw {@link CudaFailure}; allocations that do not fit throw {@link
 * DeviceOutOfMemoryException}; use after {@link #close} throws {@link IllegalStateException}.
 */
public final class CudaDevice implements AutoCloseable {
  /**
   * Name of a system property: if it is true, each buffer remembers where it was allocated, and the
   * leak report says so.
   */
  public static final String TRACE_PROPERTY = "org.tilespark.kernels.traceAllocations";

  private static final Logger LOG = LoggerFactory.getLogger(CudaDevice.class);

  /**
   * The largest number of idle streams that are kept: two for each task that a large executor runs
   * at once.
   */
  private static final int MOST_IDLE_STREAMS = 64;

  private static final int MOST_IDLE_EVENTS = 1024;

  private final int ordinal;
  private final CUdevice device;
  private final CUcontext context;
  private final String name;
  private final String description;
  private final DeviceLimits limits;
  private final long maxPitchBytes;
  private final DriverMemory memory;
  private final KernelModule kernels;
  private final IdleHandles<CudaStream.Handle> idleStreams = new IdleHandles<>(MOST_IDLE_STREAMS);
  private final IdleHandles<CUevent> idleEvents = new IdleHandles<>(MOST_IDLE_EVENTS);
  private final UploadTurns uploadTurns = new UploadTurns();
  // Objects that were given out and not closed.
  private final Set<Owned> live = Collections.synchronizedSet(new HashSet<>());
  private boolean closing;
  private volatile boolean closed;

  private CudaDevice(int ordinal, CUdevice device, CUcontext context, KernelIndex index) {
    this.ordinal = ordinal;
    this.device = device;
    this.context = context;
    this.name = DeviceProbe.name(device);
    this.limits = readLimits();
    this.maxPitchBytes = attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    int[] version = new int[1];
    check(JCudaDriver.cuDriverGetVersion(version), "cuDriverGetVersion", "");
    this.description =
        DeviceProbe.describe(name, limits.computeMajor(), limits.computeMinor(), version[0]);
    this.memory =
        new DriverMemory(
            this, attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0);
    this.kernels = new KernelModule(this, index);
  }

  /**
   * Opens device {@code ordinal}, in the driver's numbering (which {@code CUDA_VISIBLE_DEVICES}
   * restricts).
   *
   * @throws CudaUnavailableException if this process has no CUDA device, with the reason in its
   *     message
   * @throws IllegalArgumentException if there is no device of that number
   */
  public static CudaDevice open(int ordinal) {
    return open(ordinal, KernelIndex.ofThisJar());
  }

  /** As {@link #open(int)}, with the kernels of {@code index}. */
  public static CudaDevice open(int ordinal, KernelIndex index) {
    Availability<DeviceProbe> probe = DeviceProbe.run();
    if (!probe.isPresent()) {
      throw new CudaUnavailableException("No CUDA device: " + probe.whyNot());
    }
    if (ordinal < 0 || ordinal >= probe.get().count()) {
      throw new IllegalArgumentException(
          "Device %s asked for; the driver shows devices 0..%s"
              .formatted(ordinal, probe.get().count() - 1));
    }
    CUdevice device = new CUdevice();
    CUcontext context = new CUcontext();
    requireSuccess(JCudaDriver.cuDeviceGet(device, ordinal), "cuDeviceGet", ordinal);
    int code = JCudaDriver.cuDevicePrimaryCtxRetain(context, device);
    if (code == CUresult.CUDA_ERROR_OUT_OF_MEMORY
        || code == CUresult.CUDA_ERROR_DEVICE_UNAVAILABLE) {
      throw new CudaUnavailableException(
          ("No context on device %s (%s): %s; other processes may fill it or hold it in"
                  + " exclusive mode")
              .formatted(ordinal, DeviceProbe.name(device), CUresult.stringFor(code)));
    }
    requireSuccess(code, "cuDevicePrimaryCtxRetain", ordinal);
    try {
      requireSuccess(JCudaDriver.cuCtxSetCurrent(context), "cuCtxSetCurrent", ordinal);
      return new CudaDevice(ordinal, device, context, index);
    } catch (RuntimeException | Error e) {
      JCudaDriver.cuDevicePrimaryCtxRelease(device);
      throw e;
    }
  }

  /** Throws the failure of a call that needs no context, unless {@code code} is success. */
  static void requireSuccess(int code, String call, int ordinal) {
    if (code != CUresult.CUDA_SUCCESS) {
      throw CudaFailure.of(call, code, "", "device " + ordinal);
    }
  }

  /** Number of the device, as given to {@link #open}. */
  public int ordinal() {
    return ordinal;
  }

  /** Name of the device as the driver gives it, such as {@code NVIDIA H200}. */
  public String name() {
    return name;
  }

  /** Name and architecture of the device, and version of the driver. */
  public String description() {
    return description;
  }

  /** Limits of the device, for planners. */
  public DeviceLimits limits() {
    return limits;
  }

  /** The kernels of the index on this device; fatbins are loaded at first use. */
  public KernelModule kernels() {
    return kernels;
  }

  /** The turns in which threads queue large copies to this device. */
  public UploadTurns uploadTurns() {
    return uploadTurns;
  }

  /** A new stream, which the caller closes. It does not wait for the legacy default stream. */
  public CudaStream newStream() {
    enter();
    return new CudaStream(this);
  }

  /**
   * Device memory for work on {@code stream}, which the caller closes. Its content is undefined.
   *
   * <p>Where the device supports it, memory comes from the driver's stream-ordered pool: it may be
   * used on {@code stream} at once, on another stream after that one waited for an event recorded
   * on {@code stream}, and closing it waits for nothing. Freed memory stays with the pool for the
   * next allocation; {@link #trim} gives it back.
   *
   * @param bytes 0 or more
   * @throws DeviceOutOfMemoryException if it does not fit, even after the pool gave back what it
   *     holds unused
   */
  public DeviceBuffer allocate(long bytes, CudaStream stream) {
    if (bytes < 0) {
      throw new IllegalArgumentException(
          "Device buffer of " + bytes + " bytes; expected 0 or more");
    }
    stream.requireDevice(this);
    return new DeviceBuffer(this, stream, memory.allocate(bytes, stream), bytes);
  }

  /**
   * Page-locked host memory, which the caller closes. Its content is undefined. Pinning is slow;
   * {@link PinnedPool} keeps buffers for reuse.
   *
   * @param bytes 0 or more
   * @throws DeviceOutOfMemoryException if the machine cannot pin that much
   */
  public PinnedBuffer allocatePinned(long bytes) {
    return new PinnedBuffer(this, null, memory.pin(bytes), bytes);
  }

  /**
   * A pool of page-locked host memory, which the caller closes.
   *
   * @param maxBytes most unused bytes that the pool keeps for the next request; beyond that, slabs
   *     stay only while a part of them is in use
   */
  public PinnedPool newPinnedPool(long maxBytes) {
    enter();
    return new PinnedPool(this, maxBytes);
  }

  /** Bytes of device buffers that are not closed. */
  public long liveDeviceBytes() {
    return memory.liveDeviceBytes();
  }

  /** Bytes of pinned host memory that are not freed, including those that pools keep. */
  public long livePinnedBytes() {
    return memory.livePinnedBytes();
  }

  /**
   * Objects of this device that are not closed yet: the number of each class, by its simple name.
   */
  public Map<String, Integer> liveObjects() {
    Map<String, Integer> counts = new TreeMap<>();
    synchronized (live) {
      live.forEach(owned -> counts.merge(owned.getClass().getSimpleName(), 1, Integer::sum));
    }
    return counts;
  }

  /**
   * Device memory as the driver sees it, over all processes.
   *
   * @param freeBytes unused memory; memory that our pool holds for reuse does not count as free
   * @param totalBytes all of the device's memory
   */
  public record MemoryInfo(long freeBytes, long totalBytes) {}

  /** Free and total memory of the device now. */
  public MemoryInfo memoryInfo() {
    enter();
    long[] free = new long[1];
    long[] total = new long[1];
    check(JCudaDriver.cuMemGetInfo(free, total), "cuMemGetInfo", "");
    return new MemoryInfo(free[0], total[0]);
  }

  /** Gives the memory that the driver's pool keeps unused back to the device. */
  public void trim() {
    memory.trim();
  }

  /**
   * Destroys the context; may be called twice. Objects that are still open are named in the log and
   * closed.
   */
  @Override
  public void close() {
    synchronized (this) {
      if (closing) {
        return;
      }
      closing = true;
    }
    uploadTurns.close();
    closeLeaks();
    try {
      enter();
      for (CudaStream.Handle stream : idleStreams.shut()) {
        check(stream.destroy(), "cuStreamDestroy", "");
      }
      for (CUevent event : idleEvents.shut()) {
        check(JCudaDriver.cuEventDestroy(event), "cuEventDestroy", "");
      }
      kernels.unload();
      trim();
    } catch (RuntimeException e) {
      // After a sticky fault every call fails, but the device must still be closed.
      LOG.warn("Closing {}: {}", where(), e.getMessage());
    }
    closed = true;
    int code = JCudaDriver.cuDevicePrimaryCtxRelease(device);
    if (code != CUresult.CUDA_SUCCESS) {
      LOG.warn(
          "Closing {}: cuDevicePrimaryCtxRelease failed with {}",
          where(),
          CUresult.stringFor(code));
    }
  }

  private void closeLeaks() {
    List<Owned> leaks;
    synchronized (live) {
      leaks = new ArrayList<>(live);
    }
    if (leaks.isEmpty()) {
      return;
    }
    LOG.warn(
        "{} is closed with {} device bytes and {} pinned bytes alive in {} objects{}",
        where(),
        liveDeviceBytes(),
        livePinnedBytes(),
        leaks.size(),
        Owned.TRACE ? "" : " (-D" + TRACE_PROPERTY + "=true says where they were made)");
    // Streams first, so that no copy is under way when its memory goes.
    leaks.sort(Comparator.comparingInt(Owned::closingOrder));
    for (Owned leak : leaks) {
      LOG.warn("Not closed: {}", leak, leak.madeAt());
      try {
        leak.close();
      } catch (RuntimeException e) {
        LOG.warn("Closing it failed: {}", e.getMessage());
      }
    }
  }

  /** Handles of closed streams, for streams opened next. */
  IdleHandles<CudaStream.Handle> idleStreams() {
    return idleStreams;
  }

  /** Handles of closed events, for events recorded next. */
  IdleHandles<CUevent> idleEvents() {
    return idleEvents;
  }

  /** The greatest distance in bytes between the rows of one copy. */
  long maxPitchBytes() {
    return maxPitchBytes;
  }

  /**
   * Adds an object to those that are not closed; each object of this device calls it when it is
   * made.
   */
  void register(Owned owned) {
    live.add(owned);
  }

  /** Removes an object from those that are not closed. */
  void forget(Owned owned) {
    live.remove(owned);
  }

  /** This project's kernels that the device can run. */
  public DeviceKernels ownKernels() {
    return new DeviceKernels(limits, kernels.index());
  }

  /** The memory that buffers of this device are allocated from and freed to. */
  DriverMemory memory() {
    return memory;
  }

  private DeviceLimits readLimits() {
    long[] free = new long[1];
    long[] total = new long[1];
    check(JCudaDriver.cuMemGetInfo(free, total), "cuMemGetInfo", "");
    return new DeviceLimits(
        attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
        attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        total[0]);
  }

  private int attribute(int which) {
    return DeviceProbe.attribute(device, which);
  }

  /** Makes the device's context current for this thread. */
  void enter() {
    if (closed) {
      throw new IllegalStateException("The device is closed: " + where());
    }
    check(JCudaDriver.cuCtxSetCurrent(context), "cuCtxSetCurrent", "");
  }

  /**
   * Throws the failure of {@code call} unless {@code code} is success; {@code launch} describes a
   * kernel's launch for the message, or is empty.
   */
  void check(int code, String call, String launch) {
    if (code != CUresult.CUDA_SUCCESS) {
      throw CudaFailure.of(call, code, launch, where());
    }
  }

  /**
   * Throws the failure of a library's call unless {@code status} is success; throws the device's
   * failure if the device itself is at fault.
   *
   * @param detail gives details of the request for the message, or an empty text
   */
  void check(LibraryStatuses library, int status, String call, Supplier<String> detail) {
    if (status == LibraryStatuses.SUCCESS) {
      return;
    }
    String name = library.names().apply(status);
    if (status == library.allocFailed()) {
      MemoryInfo memory = memoryInfo();
      String of = detail.get();
      throw new DeviceOutOfMemoryException(
          "%s failed with %s%s: %s got no memory for itself, %s of %s bytes free on %s"
              .formatted(
                  call,
                  name,
                  of.isEmpty() ? "" : " for " + of,
                  library.library(),
                  memory.freeBytes,
                  memory.totalBytes,
                  where()),
          0,
          memory.freeBytes);
    }
    check(JCudaDriver.cuCtxSynchronize(), "cuCtxSynchronize", "after " + call);
    throw CudaFailure.ofLibrary(call, status, name, detail.get(), where());
  }

  /** The device's number and name, for messages. */
  String where() {
    return "device " + ordinal + " (" + name + ")";
  }
}
