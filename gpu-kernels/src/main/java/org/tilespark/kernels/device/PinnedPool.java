package org.tilespark.kernels.device;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Page-locked host memory, kept for reuse since pinning is slow. Buffers come in size classes, four
 * to each power of two, so that at most a fifth of one is unused (below 4 KiB: one page).
 *
 * <p>Safe for several threads. Whoever made the pool closes it; buffers still taken then are freed
 * when they are closed.
 */
public final class PinnedPool extends Owned {
  static final long SMALLEST_CLASS = 4096;

  private final long maxBytes;
  // Guarded by this.
  private final TreeMap<Long, Deque<Long>> cached = new TreeMap<>(); // class bytes -> addresses
  private long cachedBytes;
  private long liveBytes;
  private boolean shut;

  PinnedPool(CudaDevice device, long maxBytes) {
    super(device);
    if (maxBytes < 0) {
      throw new IllegalArgumentException(
          "Pinned pool that keeps " + maxBytes + " bytes; expected 0 or more");
    }
    this.maxBytes = maxBytes;
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
    long classBytes = sizeClass(bytes);
    Long address = takeCached(classBytes);
    if (address == null) {
      address = pin(classBytes);
    }
    synchronized (this) {
      liveBytes += classBytes;
    }
    return new PinnedBuffer(device, this, address, bytes);
  }

  /** Bytes handed out and not returned, in whole size classes. */
  public synchronized long liveBytes() {
    return liveBytes;
  }

  /** Bytes kept for the next request. */
  public synchronized long cachedBytes() {
    return cachedBytes;
  }

  /** Frees what is kept unused. */
  public void trim() {
    for (Map.Entry<Long, Long> buffer : drain()) {
      device.unpin(buffer.getKey(), buffer.getValue());
    }
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

  private synchronized Long takeCached(long classBytes) {
    Deque<Long> addresses = cached.get(classBytes);
    if (addresses == null || addresses.isEmpty()) {
      return null;
    }
    cachedBytes -= classBytes;
    return addresses.pop();
  }

  /** Called by a buffer's close. */
  void giveBack(long address, long bytes) {
    long classBytes = sizeClass(bytes);
    synchronized (this) {
      liveBytes -= classBytes;
      if (!shut && cachedBytes + classBytes <= maxBytes) {
        cached.computeIfAbsent(classBytes, size -> new ArrayDeque<>()).push(address);
        cachedBytes += classBytes;
        return;
      }
    }
    device.unpin(address, classBytes);
  }

  private synchronized List<Map.Entry<Long, Long>> drain() {
    List<Map.Entry<Long, Long>> buffers = new ArrayList<>();
    cached.forEach(
        (classBytes, addresses) ->
            addresses.forEach(address -> buffers.add(Map.entry(address, classBytes))));
    cached.clear();
    cachedBytes = 0;
    return buffers;
  }

  /** The least size class that holds {@code bytes}; 0 for 0. */
  static long sizeClass(long bytes) {
    if (bytes <= SMALLEST_CLASS) {
      return bytes == 0 ? 0 : SMALLEST_CLASS;
    }
    long power = Long.highestOneBit(bytes - 1); // power < bytes <= 2 * power
    long step = Math.max(SMALLEST_CLASS, power / 4);
    long steps = (bytes - power + step - 1) / step;
    return Math.addExact(power, steps * step);
  }

  @Override
  void release() {
    synchronized (this) {
      shut = true;
    }
    trim();
  }

  @Override
  int closingOrder() {
    return 4;
  }

  @Override
  public synchronized String toString() {
    return "pinned pool with "
        + liveBytes
        + " bytes handed out and "
        + cachedBytes
        + " bytes kept on "
        + device.where();
  }
}
