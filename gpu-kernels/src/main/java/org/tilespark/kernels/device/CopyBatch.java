package org.tilespark.kernels.device;

import java.util.ArrayList;
import java.util.List;
import jcuda.driver.CUresult;
import org.tilespark.kernels.device.driver.LibCudaCopies;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Copies between pinned host memory and one device that one call of the driver queues. The device
 * pauses after each copy that was queued alone: copies of 1 MiB then reach 40 GB/s each way at once
 * where those of a batch reach 48, as one large copy does; copies of 128 KiB reach 12 and 47 (H200,
 * driver 580.159.04). Older drivers than CUDA 12.8 get one call for each copy.
 *
 * <p>The copies of a batch may run in any order, so none may write what another one reads or
 * writes. Not thread-safe; after {@link #queue} a batch is empty and can be used again.
 */
public final class CopyBatch {
  private static volatile boolean isSupported = isSupported();

  private final CudaStream stream;
  private final List<Copy> copies = new ArrayList<>();

  /** A copy between two addresses. */
  private record Copy(long target, long source, long bytes) {}

  /** An empty batch; {@code stream} is borrowed. */
  public CopyBatch(CudaStream stream) {
    this.stream = stream;
  }

  private static boolean isSupported() {
    try {
      LibCudaCopies.load();
      return true;
    } catch (UnsatisfiedLinkError e) {
      return false;
    }
  }

  /**
   * Adds a copy of all of {@code from} to the device; parameters as in {@link CudaStream#upload},
   * except that {@code from} must be pinned.
   */
  public void upload(HostMemory from, DeviceBuffer to, long toOffset) {
    CudaStream.requireOffHeap(from);
    add(to.address(stream.device, toOffset, from.bytes()), from.offset(), from.bytes());
  }

  /**
   * Adds a copy from the device that fills all of {@code to}; parameters as in {@link
   * CudaStream#download}, except that {@code to} must be pinned.
   */
  public void download(DeviceBuffer from, long fromOffset, HostMemory to) {
    CudaStream.requireOffHeap(to);
    add(to.offset(), from.address(stream.device, fromOffset, to.bytes()), to.bytes());
  }

  /**
   * Adds a copy of rows, or queues it at once if there are gaps between them; parameters as in
   * {@link CudaStream#uploadRows(HostMemory, long, long, long, DeviceBuffer, long, long)}, except
   * that {@code from} must be pinned.
   */
  public void uploadRows(
      HostMemory from,
      long pitchBytes,
      long rowBytes,
      long rows,
      DeviceBuffer to,
      long toOffset,
      long toPitchBytes) {
    if (rows == 1 || (pitchBytes == rowBytes && toPitchBytes == rowBytes)) {
      upload(from, to, toOffset);
    } else {
      stream.uploadRows(from, pitchBytes, rowBytes, rows, to, toOffset, toPitchBytes);
    }
  }

  /**
   * Adds a copy to rows, or queues it at once if there are gaps between them; parameters as in
   * {@link CudaStream#downloadRows(DeviceBuffer, long, HostMemory, long, long, long)}, except that
   * {@code to} must be pinned.
   */
  public void downloadRows(
      DeviceBuffer from,
      long fromOffset,
      HostMemory to,
      long pitchBytes,
      long rowBytes,
      long rows) {
    if (rows == 1 || pitchBytes == rowBytes) {
      download(from, fromOffset, to);
    } else {
      stream.downloadRows(from, fromOffset, to, pitchBytes, rowBytes, rows);
    }
  }

  private void add(long target, long source, long bytes) {
    if (bytes > 0) {
      copies.add(new Copy(target, source, bytes));
    }
  }

  /** Queues all copies on the stream; their memory is borrowed until they are done. */
  public void queue() {
    queue(isSupported);
  }

  /**
   * Queues all copies.
   *
   * @param inOneCall false to queue them one by one
   */
  void queue(boolean inOneCall) {
    if (inOneCall && copies.size() > 1) {
      long[] targets = copies.stream().mapToLong(Copy::target).toArray();
      long[] sources = copies.stream().mapToLong(Copy::source).toArray();
      long[] sizes = copies.stream().mapToLong(Copy::bytes).toArray();
      int code = stream.queueCopies(targets, sources, sizes);
      if (code == CUresult.CUDA_SUCCESS) {
        copies.clear();
        return;
      }
      isSupported = false; // a virtual device, perhaps
    }
    copies.forEach(copy -> stream.copy(copy.source(), copy.target(), copy.bytes()));
    copies.clear();
  }
}
