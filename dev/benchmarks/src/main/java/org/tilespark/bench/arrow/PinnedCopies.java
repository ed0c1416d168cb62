package org.tilespark.bench.arrow;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Plain pinned copies, up and down concurrently: the upper bound with which pipelines to and from a
 * device are compared. Copies are large, and rotate over more pinned memory than the CPU's caches
 * hold. For one thread.
 */
public final class PinnedCopies implements AutoCloseable {
  private static final long COPY_BYTES = 256L << 20;
  private static final int BUFFERS = 4; // in each direction

  private final List<AutoCloseable> owned = new ArrayList<>();
  private final List<ArrowBuf> sources = new ArrayList<>();
  private final List<ArrowBuf> targets = new ArrayList<>();
  private final CudaStream up;
  private final CudaStream down;
  private final DeviceBuffer in;
  private final DeviceBuffer out;

  /**
   * Allocates 2 GiB of pinned memory and 512 MiB of device memory.
   *
   * @param device borrowed
   * @param memory pinned; borrowed
   * @throws IllegalArgumentException if {@code memory} is not pinned
   */
  public PinnedCopies(CudaDevice device, ArrowMemory memory) {
    if (!memory.isPinned()) {
      throw new IllegalArgumentException("Pinned copies need pinned memory");
    }
    try {
      up = owned(device.newStream());
      down = owned(device.newStream());
      in = owned(device.allocate(COPY_BYTES, up));
      out = owned(device.allocate(COPY_BYTES, down));
      BufferAllocator allocator = owned(memory.newChild("pinned copies"));
      for (int i = 0; i < BUFFERS; i++) {
        sources.add(owned(allocator.buffer(COPY_BYTES)));
        targets.add(owned(allocator.buffer(COPY_BYTES)));
        // Writes every page, so that no page fault is measured.
        memory(sources.get(i), COPY_BYTES).fill((byte) i);
        memory(targets.get(i), COPY_BYTES).fill((byte) i);
      }
      down.fill(out, (byte) 1);
      down.synchronize();
    } catch (Throwable t) {
      close();
      throw t;
    }
  }

  /** Nanoseconds until {@code bytes} bytes are uploaded and, concurrently, as many downloaded. */
  public long nanos(long bytes) {
    long start = System.nanoTime();
    int next = 0;
    for (long done = 0; done < bytes; done += COPY_BYTES) {
      long part = Math.min(COPY_BYTES, bytes - done);
      up.upload(memory(sources.get(next), part), in, 0);
      down.download(out, 0, memory(targets.get(next), part));
      next = (next + 1) % BUFFERS;
    }
    try (CudaEvent sent = up.record();
        CudaEvent fetched = down.record()) {
      sent.synchronize();
      fetched.synchronize();
    }
    return System.nanoTime() - start;
  }

  /** Nanoseconds until {@code bytes} bytes are uploaded, without downloads. */
  public long uploadNanos(long bytes) {
    long start = System.nanoTime();
    int next = 0;
    for (long done = 0; done < bytes; done += COPY_BYTES) {
      up.upload(memory(sources.get(next), Math.min(COPY_BYTES, bytes - done)), in, 0);
      next = (next + 1) % BUFFERS;
    }
    up.synchronize();
    return System.nanoTime() - start;
  }

  @Override
  public void close() {
    // Reverse order of creation: buffers before their allocator, and streams last.
    for (int i = owned.size() - 1; i >= 0; i--) {
      try {
        owned.get(i).close();
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
    owned.clear();
  }

  private <T extends AutoCloseable> T owned(T made) {
    owned.add(made);
    return made;
  }

  private static HostMemory memory(ArrowBuf buffer, long bytes) {
    return HostMemory.ofAddress(buffer.memoryAddress(), bytes);
  }
}
