package org.tilespark.kernels.host;

/**
 * How a sum over K is made: in groups of chains. It depends on K alone, so that all machines, tiles
 * and widths of vectors make the same bits.
 *
 * <p>A chain of multiply-adds is short; the chains of a group are added plainly, and groups with
 * their rounding errors carried along. No more than {@code chain + ceil(group / chain)} roundings
 * meet in an element, which is at most {@code 2 sqrt(K)}, and 45 for any K.
 *
 * @param group steps of K that are packed and summed together
 * @param chain steps of a chain
 */
record SumOrder(int group, int chain) {
  /**
   * Most steps of a group: a panel of B of 16 columns of doubles and a panel of A of 8 rows are 72
   * KiB, which a second-level cache holds. With groups of 256 steps products were 3 to 6 % slower.
   */
  static final int MOST_GROUP = 384;

  /** Longer ones are no faster. */
  private static final int MOST_CHAIN = 32;

  /** That of sums over {@code k} steps, one or more; groups are about equal. */
  static SumOrder of(long k) {
    long groups = (k + MOST_GROUP - 1) / MOST_GROUP;
    int group = (int) ((k + groups - 1) / groups);
    int chain = (int) Math.min(MOST_CHAIN, Math.ceil(Math.sqrt((double) k)));
    return new SumOrder(group, chain);
  }
}
