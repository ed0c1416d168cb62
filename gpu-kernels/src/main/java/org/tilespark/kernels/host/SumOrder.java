package org.tilespark.kernels.host;

/**
 * How a sum over K is made: in groups of spans of chains. It depends on K alone, so that all
 * machines, tiles and widths of vectors make the same bits.
 *
 * <p>A chain is a short sequence of multiply-adds; the chains of a span are added plainly, and so
 * are the spans of a group; groups are added with their rounding errors carried along. An element
 * is rounded in a chain, over the chains of a span and over the spans of a group: at most {@code 2
 * sqrt(K)}, and at most 76 for K up to nine million. Beyond, errors of the carried errors add up.
 *
 * @param group steps of K that are packed and summed together
 * @param chain steps of a chain
 */
record SumOrder(int group, int chain) {
  /** The number of chains of a span. */
  static final int SPAN = 6;

  /**
   * The largest number of steps of a chain. Adding chains takes time: products with chains of 32
   * steps are 7 % slower, those with chains of 128 steps 2 % faster.
   */
  private static final int MOST_CHAIN = 64;

  /**
   * The largest number of steps of a group. With larger groups, the sums are read from the
   * last-level cache less often, but panels of A and B must still fit the second-level cache.
   */
  private static final int MOST_GROUP = 1152;

  /**
   * The order of the sum of {@code k} steps, one or more; the groups of steps have about equal
   * size.
   */
  static SumOrder of(long k) {
    long groups = (k + MOST_GROUP - 1) / MOST_GROUP;
    int group = (int) ((k + groups - 1) / groups);
    double root = Math.sqrt((double) k);
    double chain = Math.max(Math.ceil(root), Math.floor(2 * root) - 2 * SPAN);
    return new SumOrder(group, (int) Math.min(MOST_CHAIN, chain));
  }
}
