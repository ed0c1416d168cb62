package org.tilespark.kernels.memory;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Memory that is kept for the next request, by size class, up to a bound. It holds addresses and
 * frees nothing itself: its owner allocates what {@link #take} does not have, and frees what {@link
 * #offer} refuses and what {@link #drain} gives. Safe for several threads.
 */
public final class FreeList {
  /** One page: the smallest class. */
  public static final long SMALLEST_CLASS = 4096;

  private final long maxBytes;
  // Guarded by this.
  private final TreeMap<Long, Deque<Long>> cached = new TreeMap<>(); // class bytes -> addresses
  private long cachedBytes;
  private boolean shut;

  /** A memory block of some size class. */
  public record Block(long address, long classBytes) {}

  /**
   * An empty list that keeps at most {@code maxBytes} bytes.
   *
   * @throws IllegalArgumentException if {@code maxBytes} is negative
   */
  public FreeList(long maxBytes) {
    if (maxBytes < 0) {
      throw new IllegalArgumentException(
          "A pool that keeps " + maxBytes + " bytes; expected 0 or more");
    }
    this.maxBytes = maxBytes;
  }

  /**
   * The least size class that holds {@code bytes}; 0 for 0. There are four classes to each power of
   * two, so that at most a fifth of a block is unused (below 4 KiB: one page).
   */
  public static long sizeClass(long bytes) {
    if (bytes <= SMALLEST_CLASS) {
      return bytes == 0 ? 0 : SMALLEST_CLASS;
    }
    long power = Long.highestOneBit(bytes - 1); // power < bytes <= 2 * power
    long step = Math.max(SMALLEST_CLASS, power / 4);
    long steps = (bytes - power + step - 1) / step;
    return Math.addExact(power, steps * step);
  }

  /** Address of a kept block of exactly this size class, which is the caller's from now on. */
  public synchronized OptionalLong take(long classBytes) {
    Deque<Long> addresses = cached.get(classBytes);
    if (addresses == null || addresses.isEmpty()) {
      return OptionalLong.empty();
    }
    cachedBytes -= classBytes;
    return OptionalLong.of(addresses.pop());
  }

  /** Keeps a block; false if the caller has to free it, since the list is full or shut. */
  public synchronized boolean offer(long address, long classBytes) {
    if (shut || cachedBytes + classBytes > maxBytes) {
      return false;
    }
    cached.computeIfAbsent(classBytes, size -> new ArrayDeque<>()).push(address);
    cachedBytes += classBytes;
    return true;
  }

  /** Everything that is kept, which the caller has to free. */
  public synchronized List<Block> drain() {
    List<Block> blocks = new ArrayList<>();
    for (Map.Entry<Long, Deque<Long>> entry : cached.entrySet()) {
      entry.getValue().forEach(address -> blocks.add(new Block(address, entry.getKey())));
    }
    cached.clear();
    cachedBytes = 0;
    return blocks;
  }

  /** As {@link #drain}, and from now on nothing is kept. */
  public synchronized List<Block> shut() {
    shut = true;
    return drain();
  }

  /** Bytes kept for the next request. */
  public synchronized long cachedBytes() {
    return cachedBytes;
  }
}
