package org.tilespark.kernels.memory;

import com.sun.jna.Native;
import com.sun.jna.Platform;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pages of 2 MiB for large memory outside the heap: copies and transposes run faster on them
 * ({@code docs/decisions/memory-in-slabs.md}). Linux gives huge pages if {@code
 * /sys/kernel/mm/transparent_hugepage/enabled} is {@code madvise} or {@code always}; elsewhere
 * nothing changes.
 */
public final class HugePages {
  /** Bytes of a huge page; a range must be aligned to this to begin with one. */
  public static final long BYTES = 2 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(HugePages.class);

  // Constant of linux/mman.h.
  private static final int MADV_HUGEPAGE = 14;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x22;

  private static final boolean AVAILABLE = load();

  private HugePages() {}

  /**
   * Asks the operating system to back a range, which is mapped and not used yet, by huge pages
   * where whole ones fit.
   *
   * @param address address of the range's first byte
   */
  public static void advise(long address, long bytes) {
    long start = Math.addExact(address, BYTES - 1) & -BYTES;
    long end = Math.addExact(address, bytes) & -BYTES;
    if (AVAILABLE && start < end && madvise(start, end - start, MADV_HUGEPAGE) != 0) {
      LOG.debug("madvise(MADV_HUGEPAGE) failed with errno {}", Native.getLastError());
    }
  }

  /** True if {@link #map} works in this process. */
  static boolean canMap() {
    return AVAILABLE;
  }

  /**
   * The address of {@code bytes} bytes in a new mapping; 0 if the operating system refuses the
   * mapping.
   */
  static long map(long bytes) {
    long address = mmap(0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
    return address == -1 ? 0 : address;
  }

  /** Gives a mapping back to the operating system. */
  static void unmap(long address, long bytes) {
    if (munmap(address, bytes) != 0) {
      throw new IllegalStateException(
          "%s bytes at %s cannot be given back, errno %s"
              .formatted(bytes, address, Native.getLastError()));
    }
  }

  private static boolean load() {
    if (!Platform.isLinux() || !Platform.is64Bit()) {
      return false;
    }
    try {
      Native.register(HugePages.class, Platform.C_LIBRARY_NAME);
      return true;
    } catch (LinkageError e) {
      LOG.info("Memory outside the heap has no huge pages, since JNA cannot be loaded: {}", e);
      return false;
    }
  }

  /** The function {@code int madvise(void *addr, size_t length, int advice)} of 64-bit Linux. */
  private static native int madvise(long address, long length, int advice);

  private static native long mmap(
      long address, long length, int protection, int flags, int file, long offset);

  private static native int munmap(long address, long length);
}
