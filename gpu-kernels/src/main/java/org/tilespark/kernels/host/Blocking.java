package org.tilespark.kernels.host;

/**
 * How large the parts of C are that are worked on together; results do not depend on it.
 *
 * @param tileRows rows of a tile, whose sums stay in the last-level cache over all of K
 * @param tileCols columns of a tile
 * @param blockRows rows of A whose panels take a quarter of the second-level cache: sums and panels
 *     of B pass through it
 * @param groups groups of steps that are packed together, so that sums come from the last-level
 *     cache once for all of them
 */
record Blocking(int tileRows, int tileCols, int blockRows, int groups) {
  /** Panels and sums of one call may take this, also where caches are smaller. */
  private static final long LEAST_BYTES = 8L << 20;

  /** More would take the last-level cache from sums. */
  private static final int MOST_GROUPS = 2;

  /** Tiles are wide: panels of B are packed anew for each row of tiles, which is the cheaper. */
  private static final double WIDTH = 1.25;

  /**
   * That of C of m rows and n columns, both one or more.
   *
   * @param bytes of an element
   */
  static Blocking of(HostProfile profile, PackedPanels panels, int bytes, long m, long n) {
    long budget = Math.max(profile.l3Bytes(), LEAST_BYTES) * 3 / 4;
    long elements = budget / (2L * bytes); // of a tile: a sum and its error each
    int tileCols = part(n, (long) (WIDTH * Math.sqrt((double) elements)), panels.cols);
    long step = profile.l2Bytes() / 4 / ((long) SumOrder.MOST_GROUP * bytes);
    int groups = (int) Math.max(1, Math.min(MOST_GROUPS, step / panels.cols));
    // Packed rows take no more than sums, however few columns there are.
    long packed = budget / ((long) groups * SumOrder.MOST_GROUP * bytes);
    int tileRows = part(m, Math.min(elements / tileCols, packed), panels.rows);
    return new Blocking(tileRows, tileCols, part(tileRows, step / groups, panels.rows), groups);
  }

  /** The extent of equal parts, whole micro tiles, none much larger than {@code most}. */
  private static int part(long extent, long most, int unit) {
    long parts = (extent + most - 1) / Math.max(1, most);
    long each = (extent + parts - 1) / parts;
    return Math.toIntExact((each + unit - 1) / unit * unit);
  }
}
