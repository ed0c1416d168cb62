package org.tilespark.kernels.device;

import java.util.function.LongToIntFunction;
import java.util.function.ToIntFunction;
import jcuda.driver.CUDA_MEMCPY2D;
import jcuda.driver.CUevent;
import jcuda.driver.CUmemorytype;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.device.driver.DevicePointer;
import org.tilespark.kernels.device.driver.HostPointer;
import org.tilespark.kernels.device.driver.LibCudaCopies;
import org.tilespark.kernels.device.driver.StreamHandle;
import org.tilespark.kernels.memory.HostMemory;

/**
 * A queue of device work; queued work runs in order, after the call that queued it has returned.
 * Closing waits for the work, so memory may be freed after it.
 *
 * <p>Safe for several threads, but they must arrange the order of their work among themselves.
 */
public final class CudaStream extends Owned {
  /** Result of {@link #callIfOpen} for a closed stream; no CUDA code is negative. */
  static final int CLOSED = -1;

  private final Handle made;
  private final CUstream handle;
  // Guards `made` and `launchArea` against close, and `launchArea` against other launches.
  private final Object lock = new Object();
  private final LaunchArea launchArea;
  private boolean destroyed;

  /** The parts of a closed stream that the next stream reuses. */
  record Handle(StreamHandle stream, LaunchArea launchArea) {
    static Handle create(CudaDevice device) {
      StreamHandle stream = new StreamHandle();
      device.check(
          JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING),
          "cuStreamCreate",
          "");
      return new Handle(stream, new LaunchArea());
    }

    int destroy() {
      launchArea.free();
      return JCudaDriver.cuStreamDestroy(stream);
    }
  }

  CudaStream(CudaDevice device) {
    super(device);
    made = device.idleStreams().take().orElseGet(() -> Handle.create(device));
    handle = made.stream();
    launchArea = made.launchArea();
    device.register(this);
  }

  /**
   * Queues a copy of all of {@code from} to the device.
   *
   * @param from memory outside the heap; borrowed until the copy is done, pinned for full speed
   * @param to borrowed until the copy is done
   * @param toOffset first byte written
   * @throws IllegalArgumentException if {@code from} is on the heap
   * @throws IndexOutOfBoundsException if {@code from} does not fit into {@code to}
   */
  public void upload(HostMemory from, DeviceBuffer to, long toOffset) {
    requireOffHeap(from);
    long address = to.address(device, toOffset, from.bytes());
    if (from.bytes() == 0) {
      return;
    }
    queue(
        "cuMemcpyHtoDAsync",
        from.bytes() + " bytes",
        stream ->
            JCudaDriver.cuMemcpyHtoDAsync(
                new DevicePointer(address), new HostPointer(from.offset()), from.bytes(), stream));
  }

  /**
   * Queues a copy from the device that fills all of {@code to}.
   *
   * @param from borrowed until the copy is done
   * @param fromOffset first byte read
   * @param to memory outside the heap; borrowed until the copy is done, pinned for full speed
   * @throws IllegalArgumentException if {@code to} is on the heap
   * @throws IndexOutOfBoundsException if {@code from} is too short
   */
  public void download(DeviceBuffer from, long fromOffset, HostMemory to) {
    requireOffHeap(to);
    long address = from.address(device, fromOffset, to.bytes());
    if (to.bytes() == 0) {
      return;
    }
    queue(
        "cuMemcpyDtoHAsync",
        to.bytes() + " bytes",
        stream ->
            JCudaDriver.cuMemcpyDtoHAsync(
                new HostPointer(to.offset()), new DevicePointer(address), to.bytes(), stream));
  }

  /**
   * Queues a copy of rows with gaps in host memory to dense rows on the device.
   *
   * @param from memory outside the heap, from the first row's first byte to the last row's last;
   *     borrowed until the copy is done, pinned for full speed
   * @param pitchBytes from one row's first byte to the next one's; ignored for a single row
   * @param rowBytes length of each row
   * @param rows 1 or more
   * @param to borrowed until the copy is done
   * @param toOffset first byte written
   * @throws IllegalArgumentException if {@code from} is on the heap or has another length, or rows
   *     overlap
   * @throws IndexOutOfBoundsException if the rows do not fit into {@code to}
   */
  public void uploadRows(
      HostMemory from, long pitchBytes, long rowBytes, long rows, DeviceBuffer to, long toOffset) {
    uploadRows(from, pitchBytes, rowBytes, rows, to, toOffset, rowBytes);
  }

  /**
   * Queues a copy as the other method does, to rows with gaps on the device too; the gaps are left
   * alone.
   *
   * @param toPitchBytes from one row's first byte to the next one's on the device
   */
  public void uploadRows(
      HostMemory from,
      long pitchBytes,
      long rowBytes,
      long rows,
      DeviceBuffer to,
      long toOffset,
      long toPitchBytes) {
    requireRows(from, pitchBytes, rowBytes, rows);
    if (rows > 1 && pitchBytes == rowBytes && toPitchBytes == rowBytes) {
      upload(from, to, toOffset);
      return;
    }
    if (rows == 1 || Math.max(pitchBytes, toPitchBytes) > device.maxPitchBytes()) {
      for (long row = 0; row < rows; row++) {
        upload(from.slice(row * pitchBytes, rowBytes), to, toOffset + row * toPitchBytes);
      }
      return;
    }
    CUDA_MEMCPY2D copy = copyOfRows(rowBytes, rows);
    copy.srcMemoryType = CUmemorytype.CU_MEMORYTYPE_HOST;
    copy.srcHost = new HostPointer(from.offset());
    copy.srcPitch = pitchBytes;
    copy.dstMemoryType = CUmemorytype.CU_MEMORYTYPE_DEVICE;
    copy.dstDevice =
        new DevicePointer(to.address(device, toOffset, (rows - 1) * toPitchBytes + rowBytes));
    copy.dstPitch = toPitchBytes;
    copyRows(copy);
  }

  /**
   * Queues a copy of dense rows on the device to rows with gaps in host memory; the gaps are left
   * alone. Parameters as in {@link #uploadRows}.
   *
   * @param from borrowed until the copy is done
   * @param fromOffset first byte read
   * @param to memory outside the heap, from the first row's first byte to the last row's last;
   *     borrowed until the copy is done, pinned for full speed
   * @throws IllegalArgumentException if {@code to} is on the heap or has another length, or rows
   *     overlap
   * @throws IndexOutOfBoundsException if {@code from} is too short
   */
  public void downloadRows(
      DeviceBuffer from,
      long fromOffset,
      HostMemory to,
      long pitchBytes,
      long rowBytes,
      long rows) {
    downloadRows(from, fromOffset, rowBytes, to, pitchBytes, rowBytes, rows);
  }

  /**
   * Queues a copy as the other method does, but of rows with gaps on the device too.
   *
   * @param fromPitchBytes from one row's first byte to the next one's on the device, at least
   *     {@code rowBytes}
   */
  public void downloadRows(
      DeviceBuffer from,
      long fromOffset,
      long fromPitchBytes,
      HostMemory to,
      long pitchBytes,
      long rowBytes,
      long rows) {
    requireRows(to, pitchBytes, rowBytes, rows);
    if (rows > 1 && pitchBytes == rowBytes && fromPitchBytes == rowBytes) {
      download(from, fromOffset, to);
      return;
    }
    if (rows == 1 || Math.max(pitchBytes, fromPitchBytes) > device.maxPitchBytes()) {
      for (long row = 0; row < rows; row++) {
        download(from, fromOffset + row * fromPitchBytes, to.slice(row * pitchBytes, rowBytes));
      }
      return;
    }
    CUDA_MEMCPY2D copy = copyOfRows(rowBytes, rows);
    copy.srcMemoryType = CUmemorytype.CU_MEMORYTYPE_DEVICE;
    copy.srcDevice =
        new DevicePointer(from.address(device, fromOffset, (rows - 1) * fromPitchBytes + rowBytes));
    copy.srcPitch = fromPitchBytes;
    copy.dstMemoryType = CUmemorytype.CU_MEMORYTYPE_HOST;
    copy.dstHost = new HostPointer(to.offset());
    copy.dstPitch = pitchBytes;
    copyRows(copy);
  }

  private static CUDA_MEMCPY2D copyOfRows(long rowBytes, long rows) {
    CUDA_MEMCPY2D copy = new CUDA_MEMCPY2D();
    copy.srcHost = new HostPointer(0);
    copy.srcDevice = new DevicePointer();
    copy.dstHost = new HostPointer(0);
    copy.dstDevice = new DevicePointer();
    copy.WidthInBytes = rowBytes;
    copy.Height = rows;
    return copy;
  }

  private void copyRows(CUDA_MEMCPY2D copy) {
    queue(
        "cuMemcpy2DAsync",
        copy.Height + " rows of " + copy.WidthInBytes + " bytes",
        stream -> JCudaDriver.cuMemcpy2DAsync(copy, stream));
  }

  private static void requireRows(HostMemory host, long pitchBytes, long rowBytes, long rows) {
    requireOffHeap(host);
    if (rowBytes < 1 || rows < 1 || (rows > 1 && pitchBytes < rowBytes)) {
      throw new IllegalArgumentException(
          ("%s rows of %s bytes with a pitch of %s; expected rows that hold something"
                  + " and do not overlap")
              .formatted(rows, rowBytes, pitchBytes));
    }
    long span = Math.addExact(Math.multiplyExact(rows - 1, pitchBytes), rowBytes);
    if (host.bytes() != span) {
      throw new IllegalArgumentException(
          "%s rows of %s bytes with a pitch of %s span %s bytes, the host memory has %s"
              .formatted(rows, rowBytes, pitchBytes, span, host.bytes()));
    }
  }

  /**
   * Queues a copy within the device.
   *
   * @param from borrowed until the copy is done
   * @param fromOffset first byte read
   * @param to borrowed until the copy is done; the ranges must not overlap
   * @param toOffset first byte written
   * @param bytes length of both ranges
   * @throws IndexOutOfBoundsException if a range does not fit its buffer
   */
  public void copy(DeviceBuffer from, long fromOffset, DeviceBuffer to, long toOffset, long bytes) {
    long source = from.address(device, fromOffset, bytes);
    long target = to.address(device, toOffset, bytes);
    if (bytes == 0) {
      return;
    }
    queue(
        "cuMemcpyDtoDAsync",
        bytes + " bytes",
        stream ->
            JCudaDriver.cuMemcpyDtoDAsync(
                new DevicePointer(target), new DevicePointer(source), bytes, stream));
  }

  /** Queues a copy between two addresses, of pinned host memory or of the device. */
  void copy(long source, long target, long bytes) {
    queue(
        "cuMemcpyAsync",
        bytes + " bytes",
        stream ->
            JCudaDriver.cuMemcpyAsync(
                new DevicePointer(target), new DevicePointer(source), bytes, stream));
  }

  /**
   * Queues copies as {@link LibCudaCopies#queue} does; returns the driver's code if the driver
   * cannot queue them together.
   */
  int queueCopies(long[] targets, long[] sources, long[] sizes) {
    device.enter();
    int code = callByAddress(address -> LibCudaCopies.queue(targets, sources, sizes, address));
    if (code != CUresult.CUDA_ERROR_NOT_SUPPORTED) {
      device.check(code, "cuMemcpyBatchAsync", sizes.length + " copies");
    }
    return code;
  }

  /**
   * Queues work that sets every byte of a buffer to {@code value}.
   *
   * @param to borrowed until that work is done
   */
  public void fill(DeviceBuffer to, byte value) {
    fill(to, 0, to.bytes(), value);
  }

  /**
   * Queues work that sets {@code bytes} bytes of a buffer, from {@code offset} on, to {@code
   * value}.
   */
  void fill(DeviceBuffer to, long offset, long bytes, byte value) {
    long address = to.address(device, offset, bytes);
    if (bytes == 0) {
      return;
    }
    queue(
        "cuMemsetD8Async",
        bytes + " bytes",
        stream -> JCudaDriver.cuMemsetD8Async(new DevicePointer(address), value, bytes, stream));
  }

  /** An event that is done when all work queued so far is done; the caller closes it. */
  public CudaEvent record() {
    requireOpen();
    device.enter();
    CudaEvent event = new CudaEvent(device);
    try {
      device.check(
          call(stream -> JCudaDriver.cuEventRecord(event.handle(), stream)), "cuEventRecord", "");
      return event;
    } catch (RuntimeException e) {
      event.close();
      throw e;
    }
  }

  /** Makes work queued from now on wait for {@code event}, without holding up the caller. */
  public void waitFor(CudaEvent event) {
    event.requireDevice(device);
    CUevent other = event.handle();
    queue("cuStreamWaitEvent", "", stream -> JCudaDriver.cuStreamWaitEvent(stream, other, 0));
  }

  /** Waits until all work queued so far is done. */
  public void synchronize() {
    requireOpen();
    device.enter();
    // Not under the lock: others may go on queueing.
    device.check(JCudaDriver.cuStreamSynchronize(handle), "cuStreamSynchronize", "");
  }

  /** Queues launches on a stream; {@code area} takes the arguments of one launch at a time. */
  interface Launcher {
    void launch(StreamHandle stream, LaunchArea area);
  }

  /** Lets {@code launcher} queue launches, with no other launch between them. */
  void launch(Launcher launcher) {
    synchronized (lock) {
      requireOpen();
      launcher.launch(made.stream(), launchArea);
    }
  }

  /**
   * Makes one call of a library that takes the address of this stream's handle; returns the call's
   * result.
   */
  int callByAddress(LongToIntFunction call) {
    return call(stream -> call.applyAsInt(made.stream().address()));
  }

  /** Makes one driver call that takes this stream; throws if the call fails. */
  private void queue(String name, String detail, ToIntFunction<CUstream> call) {
    device.enter();
    device.check(call(call), name, detail);
  }

  /** Makes one driver call that takes this stream; returns the driver's code. */
  int call(ToIntFunction<CUstream> call) {
    int code = callIfOpen(call);
    if (code == CLOSED) {
      requireOpen();
    }
    return code;
  }

  /** Makes the call and returns its result; {@link #CLOSED} if this stream is closed. */
  int callIfOpen(ToIntFunction<CUstream> call) {
    synchronized (lock) {
      return destroyed ? CLOSED : call.applyAsInt(handle);
    }
  }

  @Override
  void release() {
    device.enter();
    int waited = JCudaDriver.cuStreamSynchronize(handle);
    int code = CUresult.CUDA_SUCCESS;
    synchronized (lock) {
      destroyed = true;
      if (waited != CUresult.CUDA_SUCCESS || !device.idleStreams().offer(made)) {
        code = made.destroy();
      }
    }
    device.check(waited, "cuStreamSynchronize", "");
    device.check(code, "cuStreamDestroy", "");
  }

  @Override
  int closingOrder() {
    return 0;
  }

  static void requireOffHeap(HostMemory memory) {
    if (!memory.isOffHeap()) {
      throw new IllegalArgumentException(
          "Asynchronous copies need memory outside the Java heap, found "
              + memory.base().getClass().getTypeName()
              + "; copy it to a pinned buffer first");
    }
  }

  @Override
  public String toString() {
    return "stream of " + device.where();
  }
}
