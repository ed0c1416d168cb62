package org.tilespark.spark.nearest;

/**
 * The side of a join that every task has, while the other one stays in its partitions. An exchange
 * balances the partitions of a side; a side that stays may be in a single partition. So a side is
 * sent only if one task could do all the work before an exchange of the other side would end.
 */
public enum SentSide {
  /** Both sides are shuffled. */
  NEITHER,
  /** The left side; the winners of tasks are merged. */
  LEFT,
  /** The right side; each task has all winners of its left rows. */
  RIGHT;

  private static final int ELEMENTS = 128; // of a vector, if its length is unknown
  private static final double NANOS_PER_PRODUCT = 0.02; // two operations at 100 GFLOP/s
  private static final double EXCHANGE_NANOS = 30e6; // additional time of one more stage
  private static final double EXCHANGE_NANOS_PER_BYTE = 2;

  /**
   * The side that is sent.
   *
   * @param left estimated bytes of the left side
   * @param right estimated bytes of the right side
   * @param most most bytes of a side that is sent
   */
  static SentSide of(long left, long right, long most) {
    double products = (double) left / Float.BYTES * right / Float.BYTES / ELEMENTS;
    double nanos = products * NANOS_PER_PRODUCT;
    if (right <= most
        && left <= NearestGrid.MOST_LEFT_BYTES
        && nanos <= EXCHANGE_NANOS + EXCHANGE_NANOS_PER_BYTE * left) {
      return RIGHT;
    }
    return left <= most && nanos <= EXCHANGE_NANOS + EXCHANGE_NANOS_PER_BYTE * right
        ? LEFT
        : NEITHER;
  }
}
