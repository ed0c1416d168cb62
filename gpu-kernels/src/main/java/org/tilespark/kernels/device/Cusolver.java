package org.tilespark.kernels.device;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.file.Path;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.LongToIntFunction;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.library.LibCublas;
import org.tilespark.kernels.device.library.LibCusolver;
import org.tilespark.kernels.launch.Availability;

/**
 * cuSOLVER's dense routines on one device, which is borrowed. A {@link Session} has a handle, which
 * is not thread-safe, and which stays with the session until its work is done, since the handle
 * owns work areas. Results are deterministic: the same matrix has the same factors on one device.
 * Safe for several threads.
 */
final class Cusolver implements AutoCloseable {
  /** Most handles kept for reuse: only few tasks factorise large matrices at one moment. */
  private static final int MOST_IDLE_HANDLES = 4;

  private static final int TYPE = LibCusolver.CUDA_R_64F;

  private final CudaDevice device;
  private final IdleHandles<Handle> idle = new IdleHandles<>(MOST_IDLE_HANDLES);

  private record Handle(Pointer library, Pointer params) {
    void destroy() {
      LibCusolver.cusolverDnDestroyParams(params);
      LibCusolver.cusolverDnDestroy(library);
    }
  }

  private Cusolver(CudaDevice device) {
    this.device = device;
  }

  /**
   * Finds the library.
   *
   * @param libraryPath directories where to look when the system's loader does not know it
   */
  static Availability<Cusolver> open(CudaDevice device, List<Path> libraryPath) {
    device.enter();
    return LibCusolver.load(libraryPath).map(file -> new Cusolver(device));
  }

  /** Its version, such as 11.7.5. */
  String version() {
    IntByReference version = new IntByReference();
    check(LibCusolver.cusolverGetVersion(version), "cusolverGetVersion", "");
    int number = version.getValue();
    return number / 1000 + "." + number / 100 % 10 + "." + number % 100;
  }

  /**
   * Bytes of a routine's work areas.
   *
   * @param host memory outside the heap
   */
  record Areas(long device, long host) {
    static final Areas NONE = new Areas(0, 0);

    Areas {
      if (device < 0 || host < 0) {
        throw new IllegalStateException("Work areas of %s and %s bytes".formatted(device, host));
      }
    }

    /** Areas for one routine after the other. */
    Areas max(Areas other) {
      return new Areas(Math.max(device, other.device), Math.max(host, other.host));
    }
  }

  /** A session, which the caller closes once the work that it queued is done. */
  Session session() {
    device.enter();
    return new Session(idle.take().orElseGet(this::create));
  }

  private Handle create() {
    PointerByReference made = new PointerByReference();
    check(LibCusolver.cusolverDnCreate(made), "cusolverDnCreate", "");
    Pointer library = made.getValue();
    boolean sound = false;
    try {
      check(
          LibCusolver.cusolverDnSetDeterministicMode(
              library, LibCusolver.CUSOLVER_DETERMINISTIC_RESULTS),
          "cusolverDnSetDeterministicMode",
          "");
      PointerByReference params = new PointerByReference();
      check(LibCusolver.cusolverDnCreateParams(params), "cusolverDnCreateParams", "");
      sound = true;
      return new Handle(library, params.getValue());
    } finally {
      if (!sound) {
        LibCusolver.cusolverDnDestroy(library);
      }
    }
  }

  /**
   * Routines on column-major matrices of type double without gaps between columns, by one thread.
   * First the caller asks how many bytes of work areas a routine needs, then {@link #begin} passes
   * them.
   */
  final class Session implements AutoCloseable {
    private final Handle handle;
    private boolean sound = true;
    private CudaStream stream;
    private DeviceBuffer area;
    private Memory hostArea;
    private Areas given = Areas.NONE;

    private Session(Handle handle) {
      this.handle = handle;
    }

    /**
     * Sets the stream and the work areas of the routines that follow.
     *
     * @param newArea borrowed until the work is done; of {@code areas.device()} bytes, and after
     *     them a place for {@code info}
     */
    void begin(CudaStream newStream, DeviceBuffer newArea, Areas areas) {
      device.enter();
      newArea.address(device, 0, infoPlace(areas) + Integer.BYTES);
      stream = newStream;
      area = newArea;
      given = areas;
      hostArea = allocate(Math.max(Double.BYTES, areas.host()));
      queue(
          "cusolverDnSetStream",
          "",
          address -> LibCusolver.cusolverDnSetStream(handle.library(), address));
    }

    private static Memory allocate(long bytes) {
      try {
        return new Memory(bytes);
      } catch (OutOfMemoryError e) { // thrown by JNA where malloc gives none
        throw new ResourceException(
            "No memory for %d bytes outside the heap, which cuSOLVER works in".formatted(bytes), e);
      }
    }

    /** The first byte of the int that routines write their {@code info} to. */
    private static long infoPlace(Areas areas) {
      return Math.addExact(areas.device(), 255) / 256 * 256;
    }

    /** Bytes of the device's part of {@link #begin}. */
    static long deviceBytes(Areas areas) {
      return infoPlace(areas) + 256;
    }

    /** The place of a routine's {@code info} in the area, of 4 bytes. */
    long infoPlace() {
      return infoPlace(given);
    }

    private long infoAddress() {
      return area.address(device, infoPlace(), Integer.BYTES);
    }

    private long areaAddress() {
      return area.address(device, 0, given.device());
    }

    /** geqrf of (m, n). */
    Areas geqrf(int m, int n) {
      return asked(
          "cusolverDnXgeqrf_bufferSize",
          m,
          n,
          (onDevice, onHost) ->
              LibCusolver.cusolverDnXgeqrf_bufferSize(
                  handle.library(),
                  handle.params(),
                  m,
                  n,
                  TYPE,
                  0,
                  m,
                  TYPE,
                  0,
                  TYPE,
                  onDevice,
                  onHost));
    }

    /**
     * Queues geqrf.
     *
     * @param a (m, n)
     * @param tau min(m, n) doubles
     */
    void geqrf(int m, int n, DeviceBuffer a, DeviceBuffer tau) {
      long matrix = address(a, m, n);
      long scales = address(tau, Math.min(m, n), 1);
      queue(
          "cusolverDnXgeqrf",
          of(m, n),
          ignored ->
              LibCusolver.cusolverDnXgeqrf(
                  handle.library(),
                  handle.params(),
                  m,
                  n,
                  TYPE,
                  matrix,
                  m,
                  TYPE,
                  scales,
                  TYPE,
                  areaAddress(),
                  given.device(),
                  hostArea,
                  given.host(),
                  infoAddress()));
    }

    /** orgqr of the first k columns of m rows. */
    Areas orgqr(int m, int k) {
      IntByReference doubles = new IntByReference();
      check(
          LibCusolver.cusolverDnDorgqr_bufferSize(handle.library(), m, k, k, 0, m, 0, doubles),
          "cusolverDnDorgqr_bufferSize",
          of(m, k));
      return new Areas((long) doubles.getValue() * Double.BYTES, 0);
    }

    /** Queues orgqr: the first k columns of {@code a} (m, k or more) become those of Q. */
    void orgqr(int m, int k, DeviceBuffer a, DeviceBuffer tau) {
      long matrix = address(a, m, k);
      long scales = address(tau, k, 1);
      int doubles = (int) Math.min(Integer.MAX_VALUE, given.device() / Double.BYTES);
      queue(
          "cusolverDnDorgqr",
          of(m, k),
          ignored ->
              LibCusolver.cusolverDnDorgqr(
                  handle.library(),
                  m,
                  k,
                  k,
                  matrix,
                  m,
                  scales,
                  areaAddress(),
                  doubles,
                  infoAddress()));
    }

    /**
     * gesvd of (m, n), where m is at least n.
     *
     * @param job 'S' or 'N'
     */
    Areas gesvd(char job, int m, int n) {
      requireTall(m, n);
      return asked(
          "cusolverDnXgesvd_bufferSize",
          m,
          n,
          (onDevice, onHost) ->
              LibCusolver.cusolverDnXgesvd_bufferSize(
                  handle.library(),
                  handle.params(),
                  (byte) job,
                  (byte) job,
                  m,
                  n,
                  TYPE,
                  0,
                  m,
                  TYPE,
                  0,
                  TYPE,
                  0,
                  m,
                  TYPE,
                  0,
                  n,
                  TYPE,
                  onDevice,
                  onHost));
    }

    /**
     * Queues gesvd, which overwrites {@code a}.
     *
     * @param a (m, n)
     * @param s n doubles
     * @param u gets (m, n), if the job is 'S'
     * @param vt gets (n, n), likewise
     */
    void gesvd(
        char job, int m, int n, DeviceBuffer a, DeviceBuffer s, DeviceBuffer u, DeviceBuffer vt) {
      requireTall(m, n);
      boolean vectors = job == 'S';
      long matrix = address(a, m, n);
      long values = address(s, n, 1);
      long left = vectors ? address(u, m, n) : 0;
      long right = vectors ? address(vt, n, n) : 0;
      queue(
          "cusolverDnXgesvd",
          of(m, n),
          ignored ->
              LibCusolver.cusolverDnXgesvd(
                  handle.library(),
                  handle.params(),
                  (byte) job,
                  (byte) job,
                  m,
                  n,
                  TYPE,
                  matrix,
                  m,
                  TYPE,
                  values,
                  TYPE,
                  left,
                  m,
                  TYPE,
                  right,
                  n,
                  TYPE,
                  areaAddress(),
                  given.device(),
                  hostArea,
                  given.host(),
                  infoAddress()));
    }

    private void requireTall(int m, int n) {
      if (m < n) {
        throw new IllegalArgumentException("gesvd of %s x %s; expected m >= n".formatted(m, n));
      }
    }

    /** syevd of the upper triangle of (n, n). */
    Areas syevd(int job, int n) {
      return asked(
          "cusolverDnXsyevd_bufferSize",
          n,
          n,
          (onDevice, onHost) ->
              LibCusolver.cusolverDnXsyevd_bufferSize(
                  handle.library(),
                  handle.params(),
                  job,
                  LibCublas.CUBLAS_FILL_MODE_UPPER,
                  n,
                  TYPE,
                  0,
                  n,
                  TYPE,
                  0,
                  TYPE,
                  onDevice,
                  onHost));
    }

    /**
     * Queues syevd; vectors get to the columns of {@code a}.
     *
     * @param values n doubles
     */
    void syevd(int job, int n, DeviceBuffer a, DeviceBuffer values) {
      long matrix = address(a, n, n);
      long w = address(values, n, 1);
      queue(
          "cusolverDnXsyevd",
          of(n, n),
          ignored ->
              LibCusolver.cusolverDnXsyevd(
                  handle.library(),
                  handle.params(),
                  job,
                  LibCublas.CUBLAS_FILL_MODE_UPPER,
                  n,
                  TYPE,
                  matrix,
                  n,
                  TYPE,
                  w,
                  TYPE,
                  areaAddress(),
                  given.device(),
                  hostArea,
                  given.host(),
                  infoAddress()));
    }

    /** syevdx of the upper triangle of (n, n) for the k largest values, with vectors. */
    Areas syevdx(int n, int k) {
      try (Memory bounds = zeros()) {
        return asked(
            "cusolverDnXsyevdx_bufferSize",
            n,
            k,
            (onDevice, onHost) ->
                LibCusolver.cusolverDnXsyevdx_bufferSize(
                    handle.library(),
                    handle.params(),
                    LibCusolver.CUSOLVER_EIG_MODE_VECTOR,
                    LibCusolver.CUSOLVER_EIG_RANGE_I,
                    LibCublas.CUBLAS_FILL_MODE_UPPER,
                    n,
                    TYPE,
                    0,
                    n,
                    bounds,
                    bounds,
                    n - k + 1L,
                    n,
                    new LongByReference(),
                    TYPE,
                    0,
                    TYPE,
                    onDevice,
                    onHost));
      }
    }

    /**
     * Runs syevdx, done on return; vectors get to the first k columns of {@code a}.
     *
     * @param values n doubles, of which the first k are written
     * @return count of values that were found
     */
    long syevdx(int n, int k, DeviceBuffer a, DeviceBuffer values) {
      long matrix = address(a, n, n);
      long w = address(values, n, 1);
      try (Memory bounds = zeros();
          Memory found = zeros()) {
        queue(
            "cusolverDnXsyevdx",
            of(n, k),
            ignored ->
                LibCusolver.cusolverDnXsyevdx(
                    handle.library(),
                    handle.params(),
                    LibCusolver.CUSOLVER_EIG_MODE_VECTOR,
                    LibCusolver.CUSOLVER_EIG_RANGE_I,
                    LibCublas.CUBLAS_FILL_MODE_UPPER,
                    n,
                    TYPE,
                    matrix,
                    n,
                    bounds,
                    bounds,
                    n - k + 1L,
                    n,
                    found,
                    TYPE,
                    w,
                    TYPE,
                    areaAddress(),
                    given.device(),
                    hostArea,
                    given.host(),
                    infoAddress()));
        stream.synchronize();
        return found.getLong(0);
      }
    }

    private Memory zeros() {
      Memory zeros = new Memory(Long.BYTES);
      zeros.clear();
      return zeros;
    }

    /** potrf of the upper triangle of (n, n). */
    Areas potrf(int n) {
      return asked(
          "cusolverDnXpotrf_bufferSize",
          n,
          n,
          (onDevice, onHost) ->
              LibCusolver.cusolverDnXpotrf_bufferSize(
                  handle.library(),
                  handle.params(),
                  LibCublas.CUBLAS_FILL_MODE_UPPER,
                  n,
                  TYPE,
                  0,
                  n,
                  TYPE,
                  onDevice,
                  onHost));
    }

    /** Queues potrf. */
    void potrf(int n, DeviceBuffer a) {
      long matrix = address(a, n, n);
      queue(
          "cusolverDnXpotrf",
          of(n, n),
          ignored ->
              LibCusolver.cusolverDnXpotrf(
                  handle.library(),
                  handle.params(),
                  LibCublas.CUBLAS_FILL_MODE_UPPER,
                  n,
                  TYPE,
                  matrix,
                  n,
                  TYPE,
                  areaAddress(),
                  given.device(),
                  hostArea,
                  given.host(),
                  infoAddress()));
    }

    /** getrf of (n, n). */
    Areas getrf(int n) {
      return asked(
          "cusolverDnXgetrf_bufferSize",
          n,
          n,
          (onDevice, onHost) ->
              LibCusolver.cusolverDnXgetrf_bufferSize(
                  handle.library(), handle.params(), n, n, TYPE, 0, n, TYPE, onDevice, onHost));
    }

    /**
     * Queues getrf.
     *
     * @param pivots gets n longs
     */
    void getrf(int n, DeviceBuffer a, DeviceBuffer pivots) {
      long matrix = address(a, n, n);
      long places = address(pivots, n, 1);
      queue(
          "cusolverDnXgetrf",
          of(n, n),
          ignored ->
              LibCusolver.cusolverDnXgetrf(
                  handle.library(),
                  handle.params(),
                  n,
                  n,
                  TYPE,
                  matrix,
                  n,
                  places,
                  TYPE,
                  areaAddress(),
                  given.device(),
                  hostArea,
                  given.host(),
                  infoAddress()));
    }

    private Areas asked(String call, int rows, int cols, Question question) {
      LongByReference onDevice = new LongByReference();
      LongByReference onHost = new LongByReference();
      check(question.ask(onDevice, onHost), call, of(rows, cols));
      return new Areas(onDevice.getValue(), onHost.getValue());
    }

    private void queue(String call, String detail, LongToIntFunction made) {
      boolean done = false;
      try {
        check(stream.callByAddress(made), call, detail);
        done = true;
      } finally {
        sound &= done;
      }
    }

    /** The address of rows x cols numbers of 8 bytes, which must fit the buffer. */
    private long address(DeviceBuffer buffer, int rows, int cols) {
      return buffer.address(device, 0, (long) rows * cols * Double.BYTES);
    }

    /** Keeps the handle for others, unless a routine failed. */
    @Override
    public void close() {
      if (hostArea != null) {
        hostArea.close();
      }
      if (!sound || !idle.offer(handle)) {
        device.enter();
        handle.destroy();
      }
    }
  }

  /** Asks for the bytes of work areas. */
  @FunctionalInterface
  private interface Question {
    int ask(LongByReference onDevice, LongByReference onHost);
  }

  private static String of(int rows, int cols) {
    return rows + " x " + cols;
  }

  private void check(int status, String call, String detail) {
    if (status == LibCusolver.CUSOLVER_STATUS_SUCCESS) {
      return;
    }
    if (status == LibCusolver.CUSOLVER_STATUS_ALLOC_FAILED) {
      MemoryInfo memory = device.memoryInfo();
      throw new DeviceOutOfMemoryException(
          ("%s failed with CUSOLVER_STATUS_ALLOC_FAILED: cuSOLVER got no memory for itself,"
                  + " %s of %s bytes free on %s")
              .formatted(call, memory.freeBytes(), memory.totalBytes(), device.where()),
          0,
          memory.freeBytes());
    }
    // If the device itself failed, the caller must get that error instead.
    IntSupplier waited = JCudaDriver::cuCtxSynchronize;
    device.check(waited.getAsInt(), "cuCtxSynchronize", "after " + call);
    throw CudaFailure.ofLibrary(
        call, status, LibCusolver.statusName(status), detail, device.where());
  }

  /** Destroys the handles; nothing may be queued any more. */
  @Override
  public void close() {
    for (Handle handle : idle.shut()) {
      device.enter();
      handle.destroy();
    }
  }
}
