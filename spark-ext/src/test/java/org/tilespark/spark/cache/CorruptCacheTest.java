package org.tilespark.spark.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.RDDInfo;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/**
 * Files of cached blocks that are changed give an error and are made anew, and never other rows.
 */
class CorruptCacheTest extends SparkTest {
  private static final int PARTITIONS = 3;
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT32, 60, 45, 20, 15);

  @AfterEach
  void nothingIsCached() {
    spark.catalog().clearCache();
  }

  private static Dataset<Row> cached(StorageLevel level) {
    Dataset<Row> frame = ARRAY.toDataFrame(spark, PARTITIONS).persist(level);
    assertEquals(ARRAY.blockCount(), frame.count());
    return frame;
  }

  /** The file of a block of the frame that was cached last. */
  private static File file(int partition) {
    int rdd =
        Arrays.stream(spark.sparkContext().getRDDStorageInfo())
            .mapToInt(RDDInfo::id)
            .max()
            .orElseThrow();
    return SparkEnv.get()
        .blockManager()
        .diskBlockManager()
        .getFile(new RDDBlockId(rdd, partition).name());
  }

  private static byte[] changed(byte[] bytes, SplittableRandom random) {
    byte[] changed = bytes.clone();
    int at = random.nextInt(bytes.length);
    switch (random.nextInt(4)) {
      case 0 -> changed[at] ^= (byte) (1 << random.nextInt(8));
      case 1 -> Arrays.fill(changed, at, Math.min(bytes.length, at + 512), (byte) 0);
      case 2 -> changed = Arrays.copyOf(bytes, at);
      default -> changed[at] = (byte) random.nextInt();
    }
    return changed;
  }

  private static void assertRight(Dataset<Row> frame) {
    ARRAY.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(frame));
  }

  /** In local mode Spark tries a task once, so that an error reaches the user. */
  @Test
  void changedFilesAreNeverReadAsOtherRows() throws IOException, InterruptedException {
    SplittableRandom random = new SplittableRandom(40);
    int failed = 0;
    int cases = Sampling.FULL ? 100 : 8;
    for (int i = 0; i < cases; i++) {
      Dataset<Row> frame =
          cached(
              random.nextBoolean()
                  ? StorageLevel.DISK_ONLY()
                  : StorageLevel.fromString("DISK_ONLY_2"));
      File file = file(random.nextInt(PARTITIONS));
      byte[] bytes = Files.readAllBytes(file.toPath());
      byte[] changed = changed(bytes, random);
      Files.write(file.toPath(), changed);
      String what =
          "case " + i + ", " + bytes.length + " bytes, " + changed.length + " of them left";
      try {
        assertRight(frame);
      } catch (AssertionError e) {
        throw new AssertionError(what, e);
      } catch (Exception e) {
        failed++;
        awaitDropped(file);
        assertRight(frame);
      }
      frame.unpersist(true);
    }
    assertTrue(failed > cases / 2, failed + " of " + cases);
  }

  private static void awaitDropped(File file) throws InterruptedException {
    for (int i = 0; i < 500 && file.exists(); i++) {
      Thread.sleep(10);
    }
    assertTrue(!file.exists(), "the block is dropped");
  }

  private static ImageBatch batch(int number, boolean isLast) {
    return new ImageBatch(new ImageBatch.Place(number, isLast), 1, List.of(new byte[16]));
  }

  private static long read(ImageBatch... batches) {
    RDD<CachedBatch> stored =
        new JavaSparkContext(spark.sparkContext())
            .<CachedBatch>parallelize(List.of(batches), 1)
            .rdd();
    return new StoredBatches(stored, stored).count();
  }

  /** Spark takes the end of the file for the end of the partition, wherever it is. */
  @Test
  void lostBatchesAreMissed() {
    assertEquals(3, read(batch(0, false), batch(1, false), batch(2, true)));
    for (ImageBatch[] wrong :
        new ImageBatch[][] {
          {},
          {batch(0, false), batch(1, false)},
          {batch(1, false), batch(2, true)},
          {batch(0, false), batch(2, true)},
          {batch(0, false), batch(0, false), batch(1, true)},
          {batch(0, true), batch(1, true)}
        }) {
      Exception thrown = assertThrows(Exception.class, () -> read(wrong));
      assertTrue(thrown.getMessage().contains("has lost batches"), thrown::getMessage);
    }
  }

  @Test
  void partitionsWithoutRowsAreWhole() {
    Dataset<Row> frame =
        ARRAY.toDataFrame(spark, PARTITIONS).where("row < 20").persist(StorageLevel.DISK_ONLY());
    assertEquals(3, frame.count());
    assertEquals(3, MatrixBlocks.transpose(frame).count());
    assertEquals(3, frame.select("col").collectAsList().size());
    frame.unpersist(true);
    Dataset<Row> none =
        ARRAY.toDataFrame(spark, PARTITIONS).where("row < 0").persist(StorageLevel.MEMORY_ONLY());
    assertEquals(0, none.count());
    assertEquals(0, MatrixBlocks.transpose(none).count());
  }
}
