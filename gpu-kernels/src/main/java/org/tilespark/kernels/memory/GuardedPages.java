package org.tilespark.kernels.memory;

import com.sun.jna.Native;
import com.sun.jna.Platform;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.tilespark.kernels.ResourceException;
import sun.misc.Unsafe;

/**
 * Memory for tests that detect wrong accesses. Each range has pages of its own and ends before a
 * page without access rights; it is filled with {@link #POISON} in every byte, and once it is freed
 * its pages can be neither read nor written, and are never given out again. So a use after the
 * free, or beyond the end, ends the process at that instruction. Linux with 64 bits only.
 * Thread-safe.
 */
public final class GuardedPages {
  /** The value of every byte of a new range. */
  public static final byte POISON = (byte) 0xA5;

  /** Alignment of ranges in bytes; a range ends fewer bytes than this before the guarding page. */
  private static final long ALIGNMENT_BYTES = 64;

  private static final long PAGE_BYTES = 4096;

  // Constants of linux/mman.h.
  private static final int PROT_NONE = 0;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
  private static final int MAP_FIXED = 0x10;
  private static final int MAP_NORESERVE = 0x4000;

  private final Map<Long, Long> live = new ConcurrentHashMap<>(); // bytes of each range by address

  static {
    if (!Platform.isLinux() || !Platform.is64Bit()) {
      throw new ResourceException("Guarded memory is asked for; it needs Linux with 64 bits");
    }
    Native.register(GuardedPages.class, Platform.C_LIBRARY_NAME);
  }

  /**
   * The address of a new range of {@code bytes} bytes.
   *
   * @throws ResourceException if the operating system refuses the memory
   */
  public long take(long bytes) {
    long data = pages(bytes);
    long start =
        mmap(0, data + PAGE_BYTES, PROT_NONE, MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == -1 || (data > 0 && mprotect(start, data, PROT_READ_WRITE) != 0)) {
      throw new ResourceException(
          "The operating system refused %s bytes of guarded memory, errno %s; /proc/sys/vm has its limits"
              .formatted(bytes, Native.getLastError()));
    }
    long address = start + data - rounded(bytes);
    Unsafe unsafe = HostMemory.unsafe();
    unsafe.setMemory(start, data, POISON);
    live.put(address, bytes);
    return address;
  }

  /**
   * Frees the range at an address that {@link #take} returned.
   *
   * @throws IllegalStateException if no range at this address is in use
   */
  public void free(long address) {
    Long bytes = live.remove(address);
    if (bytes == null) {
      throw new IllegalStateException("Memory that is not in use is freed, at " + address);
    }
    long data = pages(bytes);
    long start = address + rounded(bytes) - data;
    int flags = MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (data > 0 && mmap(start, data, PROT_NONE, flags, -1, 0) != start) {
      throw new IllegalStateException("Cannot guard freed memory, errno " + Native.getLastError());
    }
  }

  /** Bytes of all ranges in use. */
  public long liveBytes() {
    return live.values().stream().mapToLong(Long::longValue).sum();
  }

  private static long rounded(long bytes) {
    return Math.addExact(bytes, ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES;
  }

  private static long pages(long bytes) {
    return (rounded(bytes) + PAGE_BYTES - 1) & -PAGE_BYTES;
  }

  private static native long mmap(
      long address, long length, int protection, int flags, int file, long offset);

  private static native int mprotect(long address, long length, int protection);
}
