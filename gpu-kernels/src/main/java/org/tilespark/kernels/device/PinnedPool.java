package org.tilespark.kernels.device;

import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.tilespark.kernels.FreeList;

/**
 * Page-locked host memory, kept for reuse since pinning is slow. Buffers come in the size classes
 * of {@link FreeList}.
 *
 * <p>Safe for several threads. Whoever made the pool closes it; buffers still taken then are freed
 * when they are closed.
 */
public final class PinnedPool extends Owned {
  private final FreeList free;
  private final AtomicLong liveBytes = new AtomicLong();

  PinnedPool(CudaDevice device, long maxBytes) {
    super(device);
    this.free = new FreeList(maxBytes);
    device.register(this);
  }

  /**
   * A buffer of {@code bytes} bytes with undefined content; closing it returns it.
   *
   * @throws DeviceOutOfMemoryException if the machine cannot pin as much, even after the pool freed
   *     what it keeps; the message says how much that was
   */
  public PinnedBuffer take(long bytes) {
    requireOpen();
    if (bytes < 0) {
      throw new IllegalArgumentException(
          "Pinned buffer of " + bytes + " bytes; expected 0 or more");
    }
    long classBytes = FreeList.sizeClass(bytes);
    OptionalLong kept = free.take(classBytes);
    long address = kept.isPresent() ? kept.getAsLong() : pin(classBytes);
    liveBytes.addAndGet(classBytes);
    return new PinnedBuffer(device, this, address, bytes);
  }

  /** Bytes handed out and not returned, in whole size classes. */
  public long liveBytes() {
    return liveBytes.get();
  }

  /** Bytes kept for the next request. */
  public long cachedBytes() {
    return free.cachedBytes();
  }

  /** Frees what is kept unused. */
  public void trim() {
    unpin(free.drain());
  }

  private long pin(long classBytes) {
    try {
      return device.pin(classBytes);
    } catch (DeviceOutOfMemoryException e) {
      long freed = cachedBytes();
      trim();
      try {
        return device.pin(classBytes);
      } catch (DeviceOutOfMemoryException again) {
        throw new DeviceOutOfMemoryException(
            again.getMessage()
                + "; the pool had freed the "
                + freed
                + " bytes it kept, "
                + liveBytes()
                + " bytes are handed out",
            classBytes,
            -1);
      }
    }
  }

  /** Called by a buffer's close. */
  void giveBack(long address, long bytes) {
    long classBytes = FreeList.sizeClass(bytes);
    liveBytes.addAndGet(-classBytes);
    if (!free.offer(address, classBytes)) {
      device.unpin(address, classBytes);
    }
  }

  private void unpin(List<FreeList.Block> blocks) {
    for (FreeList.Block block : blocks) {
      device.unpin(block.address(), block.classBytes());
    }
  }

  @Override
  void release() {
    unpin(free.shut());
  }

  @Override
  int closingOrder() {
    return 4;
  }

  @Override
  public String toString() {
    return "pinned pool with "
        + liveBytes()
        + " bytes handed out and "
        + cachedBytes()
        + " bytes kept on "
        + device.where();
  }
}
