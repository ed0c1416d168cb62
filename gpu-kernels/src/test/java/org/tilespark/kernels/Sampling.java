package org.tilespark.kernels;

/** How much of a large family of cases a test tries: all with {@code -Pfull}, else a sample. */
public final class Sampling {
  /** True with {@code -Pfull}. */
  public static final boolean FULL = Boolean.getBoolean("tilespark.test.full");

  private Sampling() {}

  /**
   * True if a case is left to {@code -Pfull}.
   *
   * @param number number of the case; a sum of indices of nested loops samples along diagonals, so
   *     that each value of each loop is still tried
   * @param oneIn how many cases stand for one
   */
  public static boolean skips(int number, int oneIn) {
    return !FULL && number % oneIn != 0;
  }
}
