package org.tilespark.spark.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.TestArray;
import scala.Tuple2;

/**
 * An application whose blocks are cached by two executors: each reads what the other one holds, and
 * one dies. Its argument is a directory that all processes share.
 */
public final class CacheClusterJob {
  private static final int PARTITIONS = 8;
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT32, 240, 180, 20, 15);

  private CacheClusterJob() {}

  /** Throws where something is wrong. */
  public static void main(String[] arguments) throws InterruptedException {
    SparkSession spark = SparkSession.builder().getOrCreate();
    try {
      for (StorageLevel level :
          new StorageLevel[] {StorageLevel.MEMORY_ONLY(), StorageLevel.MEMORY_ONLY_2()}) {
        othersBlocksAreRead(spark, level);
      }
      executorDies(spark, Path.of(arguments[0]).resolve("died"));
    } finally {
      spark.stop();
    }
  }

  private static Dataset<Row> cached(SparkSession spark, StorageLevel level)
      throws InterruptedException {
    Dataset<Row> frame = ARRAY.toDataFrame(spark, PARTITIONS).persist(level);
    assertEquals(ARRAY.blockCount(), frame.count());
    Map<String, Long> used = usedBytes(spark);
    assertEquals(2, used.size(), used::toString);
    assertTrue(used.values().stream().allMatch(bytes -> bytes > 0), used::toString);
    return frame;
  }

  private static void assertRight(Dataset<Row> frame) {
    // One task reads all partitions, those of the other executor too.
    Dataset<Row> together = frame.coalesce(1);
    assertEquals(
        ARRAY.blockCount(), new HashSet<>(together.select("row", "col").collectAsList()).size());
    ARRAY.assertPermuted(Permutation.of(0, 1), together);
    ARRAY.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(together));
    TestArray.matrix(ElementType.FLOAT32, 240, 180, 50, 70)
        .assertPermuted(
            Permutation.of(0, 1),
            MatrixBlocks.reblock(frame.drop("tag"), 50, 70)
                .selectExpr("*", "CAST(null AS STRING) AS tag"));
  }

  private static void othersBlocksAreRead(SparkSession spark, StorageLevel level)
      throws InterruptedException {
    Dataset<Row> frame = cached(spark, level);
    assertRight(frame);
    frame.unpersist(true);
    Map<String, Long> used = usedBytes(spark);
    assertTrue(used.values().stream().allMatch(bytes -> bytes == 0), used::toString);
  }

  private static void executorDies(SparkSession spark, Path died) throws InterruptedException {
    Dataset<Row> frame = cached(spark, StorageLevel.MEMORY_ONLY());
    String path = died.toString();
    new JavaSparkContext(spark.sparkContext())
        .parallelize(Collections.nCopies(PARTITIONS, path), PARTITIONS)
        .foreach(CacheClusterJob::dieOnce);
    assertTrue(Files.exists(died));
    assertRight(frame);
    frame.unpersist(true);
  }

  private static void dieOnce(String path) {
    try {
      Files.createFile(Path.of(path));
    } catch (FileAlreadyExistsException e) {
      return;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Runtime.getRuntime().halt(1);
  }

  /** Of each executor, once both were asked. */
  private static Map<String, Long> usedBytes(SparkSession spark) throws InterruptedException {
    Map<String, Long> used = new TreeMap<>();
    for (int round = 0; round < 100 && used.size() < 2; round++) {
      List<Tuple2<String, Long>> seen =
          new JavaSparkContext(spark.sparkContext())
              .parallelize(Collections.nCopies(PARTITIONS, 0), PARTITIONS)
              .map(
                  each -> {
                    Thread.sleep(50); // long enough for both to get some
                    return new Tuple2<>(
                        SparkEnv.get().executorId(), CacheStore.current().budget().usedBytes());
                  })
              .collect();
      seen.forEach(entry -> used.put(entry._1(), entry._2()));
    }
    return used;
  }
}
