package org.tilespark.kernels.device;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongToIntFunction;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.library.CusolverRoutine;
import org.tilespark.kernels.device.library.CusolverRoutine.Handle;
import org.tilespark.kernels.device.library.CusolverRoutine.Work;
import org.tilespark.kernels.device.library.LibCusolver;
import org.tilespark.kernels.launch.Availability;

/**
 * cuSOLVER's dense routines on one device, which is borrowed. A {@link Session} has a handle, which
 * is not thread-safe, and which stays with the session until its work is done, since the handle
 * owns work areas. Results are deterministic: the same matrix has the same factors on one device.
 * Safe for several threads.
 */
final class Cusolver implements AutoCloseable {
  /**
   * The largest number of idle handles that are kept: only few tasks factorise large matrices at
   * one moment.
   */
  private static final int MOST_IDLE_HANDLES = 4;

  private final CudaDevice device;
  private final IdleHandles<Handle> idle = new IdleHandles<>(MOST_IDLE_HANDLES);

  private Cusolver(CudaDevice device) {
    this.device = device;
  }

  /**
   * Finds the library.
   *
   * @param libraryPath directories where to look when the system's loader does not know the library
   */
  static Availability<Cusolver> open(CudaDevice device, List<Path> libraryPath) {
    device.enter();
    return LibCusolver.load(libraryPath).map(file -> new Cusolver(device));
  }

  /** The version of cuSOLVER, such as 11.7.5. */
  String version() {
    IntByReference version = new IntByReference();
    check(LibCusolver.cusolverGetVersion(version), "cusolverGetVersion", "");
    int number = version.getValue();
    return number / 1000 + "." + number / 100 % 10 + "." + number % 100;
  }

  /**
   * Sizes of a routine's two work areas.
   *
   * @param device bytes of device memory
   * @param host bytes of host memory outside the heap
   */
  record Areas(long device, long host) {
    static final Areas NONE = new Areas(0, 0);

    Areas {
      if (device < 0 || host < 0) {
        throw new IllegalStateException("Work areas of %s and %s bytes".formatted(device, host));
      }
    }

    /** Work areas that are large enough for both routines, one after the other. */
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
   * Queues routines for one thread. The caller first asks for their work areas, then gives the
   * memory for them to {@link #begin}.
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
     * @param newArea {@link #deviceBytes} bytes: the work area, then the place of {@code info};
     *     borrowed until the work is done
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
      } catch (OutOfMemoryError e) { // thrown by JNA if malloc fails
        throw new ResourceException(
            "No memory for %d bytes outside the heap, which cuSOLVER works in".formatted(bytes), e);
      }
    }

    /** The offset in the device's area of the int that routines write their {@code info} to. */
    private static long infoPlace(Areas areas) {
      return Math.addExact(areas.device(), 255) / 256 * 256;
    }

    /** Bytes of the buffer on the device that {@link #begin} takes. */
    static long deviceBytes(Areas areas) {
      return infoPlace(areas) + 256;
    }

    /** The offset in the device's area of the int of a routine's {@code info}. */
    long infoPlace() {
      return infoPlace(given);
    }

    /** The sizes of a routine's work areas. */
    Areas areas(CusolverRoutine routine) {
      LongByReference onDevice = new LongByReference();
      LongByReference onHost = new LongByReference();
      check(
          routine.question().ask(handle, onDevice, onHost),
          routine.name() + "_bufferSize",
          routine.size());
      return new Areas(onDevice.getValue(), onHost.getValue());
    }

    /**
     * Queues a routine.
     *
     * @param operands the routine's operands in its order, each of the routine's size or larger
     */
    void queue(CusolverRoutine routine, DeviceBuffer... operands) {
      List<Long> at = new ArrayList<>();
      for (int i = 0; i < routine.operands().size(); i++) {
        at.add(operands[i].address(device, 0, routine.operands().get(i) * Double.BYTES));
      }
      Work work =
          new Work(
              area.address(device, 0, given.device()),
              given.device(),
              hostArea,
              given.host(),
              area.address(device, infoPlace(), Integer.BYTES));
      queue(routine.name(), routine.size(), ignored -> routine.call().queue(handle, at, work));
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

    /** Keeps the handle for other sessions, unless a call failed. */
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

  private void check(int status, String call, String detail) {
    device.check(LibCusolver.STATUSES, status, call, () -> detail);
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
