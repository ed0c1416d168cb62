package org.tilespark.kernels.launch;

/** Divisions that round up; extents are not negative. */
public final class Ceil {
  private Ceil() {}

  /** The number of pieces of length {@code of} that cover {@code extent}. */
  public static long div(long extent, long of) {
    return extent / of + (extent % of == 0 ? 0 : 1);
  }

  /** The least multiple of {@code of} that is at least {@code extent}. */
  public static long to(long extent, long of) {
    return Math.multiplyExact(div(extent, of), of);
  }
}
