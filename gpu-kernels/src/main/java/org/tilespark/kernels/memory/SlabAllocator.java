package org.tilespark.kernels.memory;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * Allocates ranges within slabs, by address arithmetic only. It neither allocates nor frees slabs:
 * its owner {@link #add adds} a slab when {@link #allocate} finds no room, and gives back the slabs
 * that {@link #free}, {@link #trim} and {@link #shut} return. A slab is returned only when no range
 * of it is in use.
 *
 * <p>Ranges are whole pages. A request takes the smallest free range that holds it, the lowest of
 * equal ones, and a freed range joins its free neighbours in the slab. Small requests have slabs of
 * their own, so that a small range never splits the room for a large one. Safe for several threads;
 * calls take logarithmic time.
 */
public final class SlabAllocator {
  /** Bytes of a page; addresses and lengths of ranges are multiples of this. */
  public static final long PAGE_BYTES = 4096;

  /**
   * A slab has at most one part in this number of the bytes that its pool may keep, so that the
   * pool can keep several slabs.
   */
  private static final int SLABS_KEPT = 16;

  /** Requests of at most one part in this number of a large slab are small... */
  private static final int SMALL_REQUEST_PART = 256;

  /** ... and slabs for them have one part in this number of a large slab's bytes. */
  private static final int SMALL_SLAB_PART = 32;

  private final long maxFreeBytes;
  private final long mostSlabBytes;
  private final Arena large = new Arena();
  private final Arena small = new Arena();
  // Guarded by this.
  private final TreeMap<Long, Use> slabs = new TreeMap<>(); // by address
  private final TreeMap<Long, Use> unused = new TreeMap<>(); // the slabs of which nothing is in use
  private long liveBytes;
  private long slabBytes;
  private LongSupplier more = () -> 0; // free bytes to keep beyond maxFreeBytes
  private boolean shut;

  /** Memory in one piece, from {@code address} on. */
  public record Slab(long address, long bytes) {}

  /** A slab, and how much of it is in use. */
  private static final class Use {
    private final Slab slab;
    private final Arena arena;
    private long liveBytes;

    private Use(Slab slab, Arena arena) {
      this.slab = slab;
      this.arena = arena;
    }

    private long end() {
      return slab.address() + slab.bytes();
    }
  }

  /** The free ranges of the slabs for requests of one kind. */
  private static final class Arena {
    private long slabBytes; // of the next slab
    private final TreeMap<Long, Long> byAddress = new TreeMap<>(); // address -> bytes
    private final TreeSet<Slab> bySize =
        new TreeSet<>(Comparator.comparingLong(Slab::bytes).thenComparingLong(Slab::address));

    void put(long address, long bytes) {
      if (bytes > 0) {
        byAddress.put(address, bytes);
        bySize.add(new Slab(address, bytes));
      }
    }

    void remove(long address, long bytes) {
      byAddress.remove(address);
      bySize.remove(new Slab(address, bytes));
    }
  }

  /**
   * An allocator without slabs.
   *
   * @param maxFreeBytes free bytes above which unused slabs are returned to the owner
   * @param mostSlabBytes most bytes of a slab, unless one request is larger
   * @throws IllegalArgumentException if {@code maxFreeBytes} is negative or {@code mostSlabBytes}
   *     not positive
   */
  public SlabAllocator(long maxFreeBytes, long mostSlabBytes) {
    if (maxFreeBytes < 0) {
      throw new IllegalArgumentException(
          "A pool that keeps " + maxFreeBytes + " bytes; expected 0 or more");
    }
    if (mostSlabBytes <= 0) {
      throw new IllegalArgumentException("Slabs of " + mostSlabBytes + " bytes; expected some");
    }
    this.maxFreeBytes = maxFreeBytes;
    this.mostSlabBytes = mostSlabBytes;
    sizeSlabs(maxFreeBytes);
  }

  private void sizeSlabs(long keptBytes) {
    long bytes = Math.max(PAGE_BYTES, Math.min(mostSlabBytes, keptBytes / SLABS_KEPT));
    large.slabBytes = bytes / PAGE_BYTES * PAGE_BYTES;
    small.slabBytes = Math.max(PAGE_BYTES, pages(bytes / SMALL_SLAB_PART));
  }

  /** The length of the range that a request of {@code bytes} bytes takes: whole pages. */
  public static long pages(long bytes) {
    return Math.addExact(bytes, PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  }

  /**
   * The address of a range of {@code bytes} bytes, which is the caller's from now on; empty if no
   * slab has room.
   *
   * @param bytes more than 0
   */
  public synchronized OptionalLong allocate(long bytes) {
    long wanted = pages(bytes);
    Arena arena = arena(wanted);
    Slab best = arena.bySize.ceiling(new Slab(0, wanted));
    if (best == null) {
      return OptionalLong.empty();
    }
    carve(slabs.floorEntry(best.address()).getValue(), best, wanted);
    return OptionalLong.of(best.address());
  }

  /**
   * The size of the slab to {@link #add} for a request of {@code bytes} bytes: for a large request
   * a multiple of its size, so that a slab of equal ranges has no unused rest.
   */
  public synchronized long slabBytesFor(long bytes) {
    long wanted = pages(bytes);
    long slab = arena(wanted).slabBytes;
    return wanted < slab / SMALL_SLAB_PART ? slab : wanted * Math.max(1, slab / wanted);
  }

  /** The size of the next slab for large requests. */
  public synchronized long nextSlabBytes() {
    return large.slabBytes;
  }

  /**
   * Takes over a slab, and allocates {@code bytes} bytes from its start.
   *
   * @param address the slab's address, a multiple of a page; the slab overlaps no other of this
   *     allocator
   * @param slabBytes the slab's bytes: whole pages, at least {@code bytes}
   */
  public synchronized void add(long address, long slabBytes, long bytes) {
    long wanted = pages(bytes);
    if (address % PAGE_BYTES != 0 || slabBytes % PAGE_BYTES != 0 || slabBytes < wanted) {
      throw new IllegalArgumentException(
          "A slab of " + slabBytes + " bytes at " + address + " for " + bytes + " bytes");
    }
    Arena arena = arena(wanted);
    Use use = new Use(new Slab(address, slabBytes), arena);
    slabs.put(address, use);
    this.slabBytes += slabBytes;
    arena.put(address, slabBytes);
    carve(use, use.slab, wanted);
  }

  private void carve(Use use, Slab from, long wanted) {
    use.arena.remove(from.address(), from.bytes());
    use.arena.put(from.address() + wanted, from.bytes() - wanted);
    use.liveBytes += wanted;
    liveBytes += wanted;
    unused.remove(use.slab.address());
  }

  /**
   * Takes a range back.
   *
   * @param address the range's address: as {@link #allocate} returned it, or the slab's as {@link
   *     #add} took it
   * @param bytes the range's bytes as requested there
   * @return slabs that leave this allocator; the caller frees them
   * @throws IllegalArgumentException if this is no range in use
   */
  public synchronized List<Slab> free(long address, long bytes) {
    long length = pages(bytes);
    Map.Entry<Long, Use> found = slabs.floorEntry(address);
    if (found == null || address + length > found.getValue().end()) {
      throw notInUse(address, bytes);
    }
    Use use = found.getValue();
    Arena arena = use.arena;
    long start = address;
    long end = address + length;
    Map.Entry<Long, Long> before = arena.byAddress.floorEntry(address);
    Map.Entry<Long, Long> after = arena.byAddress.ceilingEntry(address);
    if ((before != null && before.getKey() + before.getValue() > address)
        || (after != null && after.getKey() < end)) {
      throw notInUse(address, bytes);
    }
    // The range joins neighbours in the same slab only: slabs may be adjacent, and are freed
    // separately.
    if (before != null
        && before.getKey() + before.getValue() == address
        && before.getKey() >= use.slab.address()) {
      start = before.getKey();
      arena.remove(before.getKey(), before.getValue());
    }
    if (after != null && after.getKey() == end && end < use.end()) {
      end += after.getValue();
      arena.remove(after.getKey(), after.getValue());
    }
    arena.put(start, end - start);
    use.liveBytes -= length;
    liveBytes -= length;
    if (use.liveBytes == 0) {
      unused.put(use.slab.address(), use);
    }
    return giveBack(shut ? 0 : maxFreeBytes + more.getAsLong());
  }

  /**
   * Keeps {@code bytes} more free bytes than the constructor said; {@code bytes} is called whenever
   * a range is freed, by a thread that holds this allocator's lock. New slabs become larger
   * accordingly.
   *
   * @param most largest value of {@code bytes}
   */
  public synchronized void keepsMore(LongSupplier bytes, long most) {
    more = bytes;
    sizeSlabs(maxFreeBytes + most);
  }

  /** Returns all unused slabs, which the caller frees. */
  public synchronized List<Slab> trim() {
    return giveBack(0);
  }

  /**
   * Returns all unused slabs as {@link #trim} does; from now on each slab is returned once it is
   * unused.
   */
  public synchronized List<Slab> shut() {
    shut = true;
    return giveBack(0);
  }

  /**
   * Removes unused slabs and returns them, the highest first, until at most {@code mostFree} bytes
   * are free.
   */
  private List<Slab> giveBack(long mostFree) {
    List<Slab> gone = new ArrayList<>();
    while (freeBytes() > mostFree && !unused.isEmpty()) {
      Use use = unused.pollLastEntry().getValue();
      slabs.remove(use.slab.address());
      use.arena.remove(use.slab.address(), use.slab.bytes());
      slabBytes -= use.slab.bytes();
      gone.add(use.slab);
    }
    return gone;
  }

  /** True if {@code bytes} bytes at {@code address} are in one of the slabs. */
  synchronized boolean holds(long address, long bytes) {
    Map.Entry<Long, Use> found = slabs.floorEntry(address);
    return found != null && bytes <= found.getValue().end() - address;
  }

  /** Bytes of the ranges in use, in whole pages. */
  public synchronized long liveBytes() {
    return liveBytes;
  }

  /** Bytes of the slabs that are not in use. */
  public synchronized long freeBytes() {
    return slabBytes - liveBytes;
  }

  /** Bytes of all slabs. */
  public synchronized long slabBytes() {
    return slabBytes;
  }

  /** The number of free ranges, for tests. */
  synchronized int freeRanges() {
    return large.byAddress.size() + small.byAddress.size();
  }

  private Arena arena(long wanted) {
    return wanted <= large.slabBytes / SMALL_REQUEST_PART ? small : large;
  }

  private static IllegalArgumentException notInUse(long address, long bytes) {
    return new IllegalArgumentException(
        "No range of " + bytes + " bytes at " + address + " is in use");
  }
}
