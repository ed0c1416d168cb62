package org.tilespark.kernels.host;

/**
 * The sizes of the parts of C that are computed together; results do not depend on these sizes.
 *
 * @param tileRows rows of a tile, whose sums stay in the last-level cache for all steps of K
 * @param tileCols columns of a tile
 * @param blockRows rows of A whose panels take half of the second-level cache; the other half is
 *     for sums and panels of B
 */
record Blocking(int tileRows, int tileCols, int blockRows) {
  /** Bytes that panels and sums of one call may take even if the caches are smaller. */
  private static final long LEAST_BYTES = 8L << 20;

  /**
   * Columns of a tile for each of its rows. Tiles are wide, since packing B again for each row of
   * tiles is cheaper than packing A again.
   */
  private static final double WIDTH = 1.25;

  /**
   * The blocking of C of m rows and n columns, both one or more.
   *
   * @param group steps of K that are packed together
   */
  static Blocking of(HostProfile profile, PackedPanels panels, long m, long n, int group) {
    int bytes = panels.bytes;
    long budget = Math.max(profile.l3Bytes(), LEAST_BYTES) * 3 / 4;
    long elements = budget / (2L * bytes); // of a tile: for each, a sum and its error
    int tileCols = part(n, (long) (WIDTH * Math.sqrt((double) elements)), panels.cols);
    // The packed rows take at most as much memory as the sums, however few columns there are.
    long packed = budget / ((long) group * bytes);
    int tileRows = part(m, Math.min(elements / tileCols, packed), panels.rows);
    long inBlock = profile.l2Bytes() / 2 / ((long) group * bytes);
    return new Blocking(tileRows, tileCols, part(tileRows, inBlock, panels.rows));
  }

  /**
   * Steps of K, in whole chains, of which a panel of B takes half of the first-level cache; the
   * other half is for panels of A and sums.
   */
  static int near(HostProfile profile, PackedPanels panels, int chain) {
    long steps = profile.l1Bytes() / 2 / ((long) panels.cols * panels.bytes);
    return chain * (int) Math.max(1, steps / chain);
  }

  /**
   * The extent of the parts if {@code extent} is cut into about equal parts: whole micro tiles, not
   * much more than {@code most}.
   */
  private static int part(long extent, long most, int unit) {
    long parts = (extent + most - 1) / Math.max(1, most);
    long each = (extent + parts - 1) / parts;
    return Math.toIntExact((each + unit - 1) / unit * unit);
  }
}
