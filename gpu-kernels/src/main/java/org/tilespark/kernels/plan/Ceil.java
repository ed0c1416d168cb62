package org.tilespark.kernels.plan;

/** Divisions that round up; extents are not negative. */
final class Ceil {
  private Ceil() {}

  /** Pieces of {@code of} that cover {@code extent}. */
  static long div(long extent, long of) {
    return extent / of + (extent % of == 0 ? 0 : 1);
  }

  /** The multiple of {@code of} at or above {@code extent}. */
  static long to(long extent, long of) {
    return Math.multiplyExact(div(extent, of), of);
  }
}
