package org.tilespark.spark.multiply;

/**
 * Computes the size of a product's tile with which all tasks that may use a device at the same time
 * fit on it: otherwise one task would wait for all of another's work. A pure function.
 */
final class TileBudget {
  /** A task fills one pair of panels while another is multiplied; a pair is about a batch. */
  private static final long BATCHES = 2;

  /** Bytes of cuBLAS's workspace on the devices where it is largest. */
  private static final long WORKSPACE_BYTES = 32L << 20;

  /**
   * Most batches that a pair of panels takes after our kernels packed it, if that is more than
   * cuBLAS's workspace.
   */
  private static final long PACKED_BATCHES = 2;

  private TileBudget() {}

  /**
   * Bytes of a tile.
   *
   * @param configured configured bytes of a tile, used if there is memory
   * @param batchBytes bytes of a batch; a tile has at least as many even if fewer tasks fit then,
   *     since for smaller tiles transfers dominate
   * @param deviceBytes bytes of a device that all tasks together may hold; 0 if unknown
   * @param tasks number of tasks that may use the device at the same time
   */
  static long bytes(long configured, long batchBytes, long deviceBytes, int tasks) {
    if (deviceBytes == 0) {
      return configured;
    }
    long share =
        deviceBytes / tasks
            - BATCHES * batchBytes
            - Math.max(WORKSPACE_BYTES, PACKED_BATCHES * batchBytes);
    // A single task must fit: the tile, a second one if sums are long, and its other memory without
    // packing.
    long alone = Math.max(1, (deviceBytes - BATCHES * batchBytes - WORKSPACE_BYTES) / 2);
    long most = Math.min(Math.max(share, batchBytes), alone);
    return Math.min(configured, most);
  }
}
