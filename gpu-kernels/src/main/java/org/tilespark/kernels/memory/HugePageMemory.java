package org.tilespark.kernels.memory;

import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.LongStream;
import sun.misc.Unsafe;

/**
 * Memory that begins at multiples of a huge page and asks for huge pages ({@link HugePages}).
 * Whoever takes a range frees it. Thread-safe.
 *
 * <p>On Linux each range is its own mapping, since the C library may keep freed memory: after a
 * range of up to 32 MiB was freed, it allocates ranges of that size from its arenas.
 */
public final class HugePageMemory {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /** Bytes that one thread touches in one task: enough to be worth a thread. */
  private static final long PART_BYTES = 16L << 20;

  private static final long SMALL_PAGE_BYTES = 4096;

  private final Map<Long, Raw> taken = new ConcurrentHashMap<>(); // by aligned address

  /** A range from the operating system or the C library, before it was aligned. */
  private record Raw(long address, long bytes) {}

  /**
   * The address of {@code bytes} bytes with undefined content; empty if the operating system
   * refuses the memory. The system provides the pages at the first touch.
   */
  public OptionalLong take(long bytes) {
    long rawBytes = Math.addExact(bytes, HugePages.BYTES);
    long raw = takeRaw(rawBytes);
    if (raw == 0) {
      return OptionalLong.empty();
    }
    long address = (raw + HugePages.BYTES - 1) & -HugePages.BYTES;
    HugePages.advise(address, bytes);
    taken.put(address, new Raw(raw, rawBytes));
    return OptionalLong.of(address);
  }

  /** The address of {@code bytes} bytes, not aligned; 0 if there is no memory. */
  private static long takeRaw(long bytes) {
    if (HugePages.canMap()) {
      return HugePages.map(bytes);
    }
    try {
      return UNSAFE.allocateMemory(bytes);
    } catch (OutOfMemoryError e) {
      return 0;
    }
  }

  /** Frees the range at an address that {@link #take} returned; false if no range begins there. */
  public boolean free(long address) {
    Raw raw = taken.remove(address);
    if (raw == null) {
      return false;
    }
    if (HugePages.canMap()) {
      HugePages.unmap(raw.address(), raw.bytes());
    } else {
      UNSAFE.freeMemory(raw.address());
    }
    return true;
  }

  /** True if {@link #take} returned this address and its range was not freed. */
  public boolean holds(long address) {
    return taken.containsKey(address);
  }

  /**
   * Touches all pages of a range with the threads of the common pool: the operating system clears
   * each page on the thread that touches it first. The range's content is lost.
   */
  public static void touch(long address, long bytes) {
    LongStream.range(0, (bytes + PART_BYTES - 1) / PART_BYTES)
        .parallel()
        .forEach(
            part -> {
              long end = Math.min(bytes, (part + 1) * PART_BYTES);
              for (long at = part * PART_BYTES; at < end; at += SMALL_PAGE_BYTES) {
                UNSAFE.putByte(address + at, (byte) 0);
              }
            });
  }
}
