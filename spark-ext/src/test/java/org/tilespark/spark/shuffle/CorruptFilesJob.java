package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.TestArray;

/**
 * An application whose files of shuffles and of cached blocks are changed between the task that
 * wrote them and those that read them, from their own executor and from another one. Arguments: the
 * directory with all files, a seed, and a count of cases.
 */
public final class CorruptFilesJob {
  private static final int PARTITIONS = 6;
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15);
  private static final TestArray TARGET = TestArray.matrix(ElementType.FLOAT32, 120, 90, 50, 35);

  private final SparkSession spark;
  private final Path files;
  private final SplittableRandom random;

  private CorruptFilesJob(SparkSession spark, Path files, long seed) {
    this.spark = spark;
    this.files = files;
    this.random = new SplittableRandom(seed);
  }

  /** Throws where rows are wrong. */
  public static void main(String[] args) throws IOException {
    int changed = 0;
    int failed = 0;
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      CorruptFilesJob job = new CorruptFilesJob(spark, Path.of(args[0]), Long.parseLong(args[1]));
      int cases = Integer.parseInt(args[2]);
      for (int i = 0; i < cases; i++) {
        String what = "seed " + args[1] + ", case " + i;
        boolean isShuffle = i % 3 != 0;
        try {
          changed += isShuffle ? job.shuffle() : job.cache();
        } catch (AssertionError e) {
          throw new AssertionError(what, e);
        } catch (Exception e) { // Spark has tried four times
          failed++;
          System.out.println(what + " failed: " + e);
        }
      }
      System.out.printf(
          "corruption: %d of %d cases changed a file that was read, %d ended in an error%n",
          changed, cases, failed);
      assertTrue(changed > cases / 2);
      assertEquals(0, failed);
    }
  }

  /** 1 if a file was changed. */
  private int shuffle() throws IOException {
    Dataset<Row> reblocked =
        MatrixBlocks.reblock(ARRAY.toDataFrame(spark, PARTITIONS).drop("tag"), 50, 35);
    RDD<InternalRow> rows = reblocked.queryExecution().toRdd();
    assertEquals(TARGET.blockCount(), rows.count());
    int changed = change("shuffle_" + TileShuffleManager.served().get(0).shuffleId() + "_");
    TARGET.assertPermuted(
        Permutation.of(0, 1),
        ((org.apache.spark.sql.classic.SparkSession) spark)
            .internalCreateDataFrame(rows, reblocked.schema(), false)
            .selectExpr("*", "cast(null AS STRING) AS tag"));
    return changed;
  }

  private int cache() throws IOException {
    Dataset<Row> frame = ARRAY.toDataFrame(spark, PARTITIONS).persist(StorageLevel.DISK_ONLY());
    assertEquals(ARRAY.blockCount(), frame.count());
    int rdd =
        Arrays.stream(spark.sparkContext().getRDDStorageInfo())
            .max(Comparator.comparingInt(each -> each.id()))
            .orElseThrow()
            .id();
    int changed = change("rdd_" + rdd + "_");
    ARRAY.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(frame));
    frame.unpersist(true);
    return changed;
  }

  /** Changes one of the files whose names begin so. */
  private int change(String name) throws IOException {
    List<Path> found;
    try (Stream<Path> all = Files.walk(files)) {
      found =
          all.filter(path -> path.getFileName().toString().startsWith(name))
              .filter(path -> !path.toString().contains(".checksum."))
              .filter(path -> path.toFile().length() > 0)
              .sorted()
              .toList();
    }
    assertTrue(!found.isEmpty(), name);
    Path file = found.get(random.nextInt(found.size()));
    byte[] bytes = Files.readAllBytes(file);
    byte[] changed = bytes.clone();
    int at = random.nextInt(bytes.length);
    switch (random.nextInt(4)) {
      case 0 -> changed[at] ^= (byte) (1 << random.nextInt(8));
      case 1 -> changed[random.nextInt(Math.min(48, bytes.length))] ^= (byte) 0x80;
      case 2 -> Arrays.fill(changed, at, Math.min(bytes.length, at + 512), (byte) 0);
      default -> changed = Arrays.copyOf(bytes, at);
    }
    Files.write(file, changed);
    return Arrays.equals(bytes, changed) ? 0 : 1;
  }
}
