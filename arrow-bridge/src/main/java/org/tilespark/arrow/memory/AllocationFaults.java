package org.tilespark.arrow.memory;

import java.util.SplittableRandom;

/**
 * Makes allocations fail on purpose, so that tests cover the handling of short memory: one of every
 * {@code n} attempts fails, and a seed decides which one of each {@code n} consecutive attempts.
 * Safe for several threads.
 */
public final class AllocationFaults {
  /** No attempt fails. */
  public static final AllocationFaults NONE = new AllocationFaults(0, 0);

  private final int everyNth;
  private final SplittableRandom random;
  // Guarded by this.
  private int position;
  private int victim;

  /**
   * One failure in every {@code everyNth} attempts; 0 for no failures, 1 for all attempts.
   *
   * @throws IllegalArgumentException if {@code everyNth} is negative
   */
  public AllocationFaults(int everyNth, long seed) {
    if (everyNth < 0) {
      throw new IllegalArgumentException(
          "Every " + everyNth + "-th allocation fails; expected 0 (none) or more");
    }
    this.everyNth = everyNth;
    this.random = new SplittableRandom(seed);
  }

  /** True if no attempt is to fail, ever. */
  boolean none() {
    return everyNth == 0;
  }

  /** True if this attempt is to fail. */
  public synchronized boolean strikes() {
    if (everyNth == 0) {
      return false;
    }
    if (position == 0) {
      victim = random.nextInt(everyNth);
    }
    boolean strikes = position == victim;
    position = (position + 1) % everyNth;
    return strikes;
  }
}
