package org.tilespark.spark.multiply;

/**
 * How large a tile of a product may be, so that as many tasks as may use a device at a time fit it
 * together: otherwise they wait for each other, one for all of another's work. A pure function.
 */
final class TileBudget {
  /** A task fills one pair of panels while another is multiplied; a pair is about a batch. */
  private static final long BATCHES = 2;

  /** Bytes that cuBLAS is given in addition to the matrices, on the devices where it wants most. */
  private static final long WORKSPACE_BYTES = 32L << 20;

  /** A pair of panels as own kernels pack it, at most, where that is more. */
  private static final long PACKED_BATCHES = 2;

  private TileBudget() {}

  /**
   * Bytes of a tile.
   *
   * @param configured configured bytes of a tile, if there is memory
   * @param batchBytes bytes of a batch; a tile gets that much even if then fewer tasks fit, since a
   *     smaller one would be all transfers
   * @param deviceBytes bytes that tasks may hold of a device together; 0 if it is not known
   * @param tasks tasks that may use it at a time
   */
  static long bytes(long configured, long batchBytes, long deviceBytes, int tasks) {
    if (deviceBytes == 0) {
      return configured;
    }
    long share =
        deviceBytes / tasks
            - BATCHES * batchBytes
            - Math.max(WORKSPACE_BYTES, PACKED_BATCHES * batchBytes);
    // One task alone must fit: the tile, once more where sums are long, and its other memory where
    // nothing is packed.
    long alone = Math.max(1, (deviceBytes - BATCHES * batchBytes - WORKSPACE_BYTES) / 2);
    long most = Math.min(Math.max(share, batchBytes), alone);
    return Math.min(configured, most);
  }
}
