package org.tilespark.arrow.store;

/**
 * Bytes of host memory that the stores of one executor may hold together. A request beyond the
 * limit first makes the stores evict, and is refused if that does not help. Thread-safe; its lock
 * guards only counters.
 */
public final class StoreBudget {
  private final long limitBytes;
  // The budget that this is a part of; null if none. The fields below are guarded by this.
  private final StoreBudget whole;
  private long usedBytes;
  private long peakBytes;
  private volatile Evictor evictor = missing -> false;

  /** Frees memory of a store, for example by writing it to a file. */
  public interface Evictor {
    /**
     * Evicts at least {@code missing} bytes, or as much as possible.
     *
     * @return false if nothing was evicted. Evicted memory may still be in use, and is then freed
     *     later
     */
    boolean evict(long missing);
  }

  /**
   * A budget, initially unused.
   *
   * @param limitBytes most bytes that may be held; 0 refuses every request
   * @throws IllegalArgumentException if {@code limitBytes} is negative
   */
  public StoreBudget(long limitBytes) {
    this(limitBytes, null);
  }

  private StoreBudget(long limitBytes, StoreBudget whole) {
    if (limitBytes < 0) {
      throw new IllegalArgumentException("Stores of " + limitBytes + " bytes; expected 0 or more");
    }
    this.limitBytes = limitBytes;
    this.whole = whole;
  }

  /**
   * A part of this budget for one kind of store. Bytes taken from the part are also taken from the
   * whole, which may evict other stores for them.
   *
   * @param mostBytes most bytes that the part may hold
   */
  public StoreBudget part(long mostBytes) {
    return new StoreBudget(mostBytes, this);
  }

  /** Sets the function that makes a store evict. */
  public void evictsWith(Evictor newEvictor) {
    evictor = newEvictor;
  }

  /** Takes {@code bytes} bytes; false if they are not available even after an eviction. */
  public boolean take(long bytes) {
    if (!takeOwn(bytes)) {
      return false;
    }
    if (whole != null && !whole.take(bytes)) {
      giveBackOwn(bytes);
      return false;
    }
    return true;
  }

  private boolean takeOwn(long bytes) {
    if (bytes > limitBytes) {
      return false;
    }
    long missing = missing(bytes);
    while (missing > 0) {
      if (!evictor.evict(missing)) {
        return missing(bytes) <= 0;
      }
      missing = missing(bytes);
    }
    return true;
  }

  /** Takes the bytes and returns 0 or less; or takes none and returns how many are missing. */
  private synchronized long missing(long bytes) {
    long missing = bytes - (limitBytes - usedBytes);
    if (missing <= 0) {
      usedBytes += bytes;
      peakBytes = Math.max(peakBytes, usedBytes);
    }
    return missing;
  }

  /**
   * Corrects an estimate for which bytes were taken.
   *
   * @param more bytes beyond the estimate; negative if there are fewer
   */
  public void settle(long more) {
    synchronized (this) {
      usedBytes += more;
      peakBytes = Math.max(peakBytes, usedBytes);
    }
    if (whole != null) {
      whole.settle(more);
    }
  }

  /** Gives back bytes that were taken. */
  public void giveBack(long bytes) {
    giveBackOwn(bytes);
    if (whole != null) {
      whole.giveBack(bytes);
    }
  }

  private synchronized void giveBackOwn(long bytes) {
    usedBytes -= bytes;
  }

  /** Most bytes that may be held together. */
  public long limitBytes() {
    return limitBytes;
  }

  /** Bytes taken and not given back. */
  public synchronized long usedBytes() {
    return usedBytes;
  }

  /** Bytes that were in use earlier and are not now: a pool may keep this many for reuse. */
  public synchronized long spareBytes() {
    return Math.max(0, Math.min(peakBytes, limitBytes) - usedBytes);
  }

  /** Most bytes that were ever taken together. */
  public synchronized long peakBytes() {
    return peakBytes;
  }
}
