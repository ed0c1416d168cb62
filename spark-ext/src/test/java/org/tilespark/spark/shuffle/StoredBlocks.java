package org.tilespark.spark.shuffle;

import org.apache.spark.SparkEnv;
import org.tilespark.arrow.store.StoredOutputs;

/** The outputs of shuffles that this process keeps in memory, for tests of other packages. */
public final class StoredBlocks {
  private StoredBlocks() {}

  private static boolean isOurs() {
    return SparkEnv.get().shuffleManager() instanceof TileShuffleManager;
  }

  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  /** The store of the outputs of map tasks. */
  public static StoredOutputs store() {
    return outputs().store();
  }

  /** Bytes of outputs of map tasks, and of what tasks have fetched. */
  public static long usedBytes() {
    return isOurs() ? outputs().budget().usedBytes() : 0;
  }

  /** Outputs in memory now. */
  public static int inMemory() {
    return isOurs() ? outputs().inMemory() : 0;
  }

  /** Outputs that were put into memory, up to now. */
  public static long committed() {
    return isOurs() ? outputs().committed() : 0;
  }

  /** Sends what is longer in several Netty buffers from now on, as partitions above 2 GiB are. */
  public static void limitBuffers(int bytes) {
    outputs().limitBuffers(bytes);
  }

  /** Partitions below 2 GiB are sent in one buffer again. */
  public static void unlimitBuffers() {
    limitBuffers(OutputBuffer.MAX_BUFFER_BYTES);
  }
}
