package org.tilespark.spark.shuffle;

import java.io.IOException;
import java.util.zip.Checksum;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.network.shuffle.checksum.ShuffleChecksumHelper;
import org.apache.spark.storage.BlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.shuffle.TileShuffleReader.Block;

/**
 * Asks Spark where the bytes of a partition were corrupted: Spark compares the checksum of the
 * received bytes with that of the current file and with that from when the file was written.
 */
final class CorruptionDiagnosis {
  private static final Logger LOG = LoggerFactory.getLogger(CorruptionDiagnosis.class);

  /** The settings of checksums in Spark's files: whether there are any, and their algorithm. */
  record Settings(boolean enabled, String algorithm) {
    static final String ALGORITHM = "spark.shuffle.checksum.algorithm";
    private static final String ENABLED = "spark.shuffle.checksum.enabled";

    static Settings of(SparkConf conf) {
      return new Settings(conf.getBoolean(ENABLED, true), conf.get(ALGORITHM, "ADLER32"));
    }

    /** A checksum of no bytes. */
    Checksum newChecksum() {
      return ShuffleChecksumHelper.getChecksumByAlgorithm(algorithm);
    }
  }

  /** The bytes that a reader received. */
  interface Bytes {
    /** Adds the bytes to a checksum, in their order. */
    void addTo(Checksum checksum) throws IOException;
  }

  private CorruptionDiagnosis() {}

  /** Text to add to the message of a failure; empty if there is none. */
  static String of(Block block, Bytes bytes) {
    Settings settings = Settings.of(SparkEnv.get().conf());
    if (!settings.enabled) {
      return "";
    }
    try {
      Checksum checksum = settings.newChecksum();
      bytes.addTo(checksum);
      return ". Spark's diagnosis: " + cause(block, checksum.getValue(), settings.algorithm);
    } catch (IOException | RuntimeException e) {
      LOG.warn("No diagnosis of {}", block.id(), e);
      return "";
    }
  }

  private static Cause cause(Block block, long checksum, String algorithm) {
    BlockManager manager = SparkEnv.get().blockManager();
    if (block.at().executorId().equals(manager.blockManagerId().executorId())) {
      return manager.diagnoseShuffleBlockCorruption(block.id(), checksum, algorithm);
    }
    return RemoteBlocks.client(manager, block.at())
        .diagnoseCorruption(
            block.at().host(),
            block.at().port(),
            block.at().executorId(),
            block.id().shuffleId(),
            block.id().mapId(),
            block.id().reduceId(),
            checksum,
            algorithm);
  }
}
