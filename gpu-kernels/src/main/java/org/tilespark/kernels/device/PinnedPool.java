package org.tilespark.kernels.device;

import java.util.function.LongSupplier;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.memory.SlabPool;

/**
 * Page-locked host memory, pinned in slabs and kept for reuse since pinning is slow: the driver
 * maps every page. Buffers are carved out of the slabs; in the steady state no new memory is
 * pinned.
 *
 * <p>Safe for several threads. Whoever made the pool closes it; buffers still taken then are freed
 * when they are closed.
 */
public final class PinnedPool extends Owned {
  /**
   * Bytes of a slab in pools that keep many slabs; pinning one takes a fraction of a second. Slabs
   * are large, since free ranges of different slabs never join for a large request.
   */
  private static final long SLAB_BYTES = 1L << 30;

  private final SlabPool slabs;

  PinnedPool(CudaDevice device, long maxBytes) {
    super(device);
    this.slabs = new SlabPool(maxBytes, SLAB_BYTES, new Pinned());
    device.register(this);
  }

  /** Pins and unpins slabs for the pool. */
  private final class Pinned implements SlabPool.Memory {
    @Override
    public long make(long bytes) {
      return device.memory().pin(bytes);
    }

    @Override
    public void free(long address, long bytes) {
      device.memory().unpin(address, bytes);
    }

    @Override
    public RuntimeException exhausted(ResourceException refusal, long bytes, long freedBytes) {
      return new DeviceOutOfMemoryException(
          "%s; the pool had freed the %s bytes it kept, %s bytes are handed out"
              .formatted(refusal.getMessage(), freedBytes, liveBytes()),
          bytes,
          -1);
    }
  }

  /**
   * A buffer of {@code bytes} bytes with undefined content; closing the buffer returns it to the
   * pool.
   *
   * @throws DeviceOutOfMemoryException if the machine cannot pin as much, even after the pool freed
   *     its unused slabs; the message says how many bytes they were
   */
  public PinnedBuffer take(long bytes) {
    requireOpen();
    if (bytes < 0) {
      throw new IllegalArgumentException(
          "Pinned buffer of " + bytes + " bytes; expected 0 or more");
    }
    return new PinnedBuffer(device, this, bytes == 0 ? 0 : slabs.take(bytes), bytes);
  }

  /**
   * Pins a slab ahead of need, if with it no more than {@code bytes} bytes are pinned.
   *
   * @return true if a slab was pinned and kept
   * @throws ResourceException if the machine cannot pin as much
   */
  public boolean pinAhead(long bytes) {
    requireOpen();
    return slabs.makeAhead(bytes);
  }

  /** True if the whole range is in this pool's memory. */
  public boolean holds(long address, long bytes) {
    return slabs.holds(address, bytes);
  }

  /** Bytes of the buffers that are handed out and not returned, in whole pages. */
  public long liveBytes() {
    return slabs.liveBytes();
  }

  /** Unused bytes that are kept for the next request. */
  public long cachedBytes() {
    return slabs.freeBytes();
  }

  /**
   * Lets the pool keep more unused bytes: {@code bytes}, which is asked each time a buffer is
   * returned and gives at most {@code most}.
   */
  public void keepsMore(LongSupplier bytes, long most) {
    slabs.keepsMore(bytes, most);
  }

  /** Frees the slabs of which nothing is handed out. */
  public void trim() {
    slabs.trim();
  }

  /** Takes back a buffer's memory; called when the buffer is closed. */
  void giveBack(long address, long bytes) {
    if (bytes > 0) {
      slabs.giveBack(address, bytes);
    }
  }

  @Override
  void release() {
    slabs.shut();
  }

  @Override
  int closingOrder() {
    return 4;
  }

  @Override
  public String toString() {
    return "pinned pool with %s bytes handed out and %s bytes kept on %s"
        .formatted(liveBytes(), cachedBytes(), device.where());
  }
}
