package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;

/**
 * Writes of one array of Zarr in several layouts, by processes that are killed, and their checks.
 */
final class ZarrWrites {
  /** The blocks of a matrix of 120 x 90: no layout has them as its chunks or shards. */
  private static final String SMALL =
      "SELECT 20L * (id div 6) AS row, 15L * (id % 6) AS col, 20 AS rows, 15 AS cols,"
          + " transform(sequence(1, 300), i -> float(i + 300 * id)) AS values"
          + " FROM range(0, 36, 1, 6)";

  /** Those of one of 4096 x 1024. */
  private static final String BIG =
      "SELECT 512L * (id div 2) AS row, 512L * (id % 2) AS col, 512 AS rows, 512 AS cols,"
          + " array_repeat(float(id + 1), 262144) AS values"
          + " FROM range(0, 16, 1, 4)";

  /** Options for chunks, shards and scales. */
  enum Layout {
    /** Chunks of other keys than those of the others, some of which are none of theirs. */
    OLD(SMALL, Map.of("chunks", "7,18", "shards", "21,18")),
    SHARDS(SMALL, Map.of("chunks", "10,15", "shards", "40,30")),
    IMAGE(SMALL, Map.of("chunks", "20,15", "downsample", "2,2")),
    SHARDED_IMAGE(SMALL, Map.of("chunks", "10,15", "shards", "20,30", "downsample", "2,2")),
    /** One of large files, so that a process can be met while it writes one. */
    LARGE(BIG, Map.of("chunks", "256,256", "shards", "1024,1024", "compressor", "none")),
    LARGE_IMAGE(
        BIG,
        Map.of(
            "chunks", "128,128", "shards", "1024,1024", "downsample", "2,2", "compressor", "none"));

    private final String array;
    private final Map<String, String> options;

    Layout(String array, Map<String, String> options) {
      this.array = array;
      this.options = options;
    }

    /** Shape of the blocks that come to the write. */
    String blockShape() {
      return array.equals(SMALL) ? "20,15" : "512,512";
    }

    /** The directory of the finest array. */
    Path finest(Path target) {
      return options.containsKey("downsample") ? target.resolve("0") : target;
    }
  }

  private final SparkSession spark;

  ZarrWrites(SparkSession spark) {
    this.spark = spark;
  }

  /** The blocks of the array of a layout. */
  Dataset<Row> blocks(Layout layout) {
    return spark.sql(layout.array);
  }

  /** Other values for the array that is overwritten: no part of it may be taken for the new one. */
  Dataset<Row> oldBlocks() {
    return blocks(Layout.OLD)
        .withColumn("values", functions.expr("transform(values, v -> float(-1))"));
  }

  static void write(Dataset<Row> blocks, Layout layout, String target) {
    blocks
        .write()
        .format("zarr")
        .options(layout.options)
        .option("extents", layout.array.equals(SMALL) ? "120,90" : "4096,1024")
        .mode(SaveMode.Overwrite)
        .save(target);
  }

  /** Sets where a process is killed that changes an object of {@link KillingFileSystem}. */
  static void killAt(SparkSession spark, String at, Path mark, long pid) {
    Configuration conf = spark.sparkContext().hadoopConfiguration();
    conf.set(KillingFileSystem.AT, at);
    conf.set(KillingFileSystem.MARK, mark.toString());
    conf.setLong(KillingFileSystem.PID, pid);
  }

  /** The path of a target in {@link KillingFileSystem}. */
  static String killing(Path target) {
    return KillingFileSystem.SCHEME + "://" + target;
  }

  private static String digest(Path file) throws IOException {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Digests of the bytes of all that is below a path, by name; hidden files and hidden directories
   * too, but no others.
   */
  static Map<String, String> everything(Path target) throws IOException {
    Map<String, String> contents = new TreeMap<>();
    if (!Files.exists(target)) {
      return contents;
    }
    try (Stream<Path> files = Files.walk(target)) {
      for (Path file : files.toList()) {
        if (Files.isRegularFile(file)) {
          contents.put(target.relativize(file).toString(), digest(file));
        } else if (file.getFileName().toString().startsWith(".")) {
          contents.put(target.relativize(file) + "/", "");
        }
      }
    }
    return contents;
  }

  /** Asserts that a target is what an undisturbed write of the same array left. */
  void assertSame(Map<String, String> right, Path target, Layout layout) throws IOException {
    Map<String, String> found = everything(target);
    assertEquals(List.copyOf(right.keySet()), List.copyOf(found.keySet()), "names of objects");
    assertEquals(right, found);
    Dataset<Row> back =
        spark
            .read()
            .format("zarr")
            .options(Map.of("missing", "error", "blockShape", layout.blockShape()))
            .load(layout.finest(target).toString());
    assertEquals(rows(blocks(layout)), rows(back));
  }

  private static List<Row> rows(Dataset<Row> blocks) {
    return blocks
        .selectExpr("row", "col", "rows", "cols", "size(values)", "xxhash64(values)")
        .orderBy("row", "col")
        .collectAsList();
  }

  /** Asserts that no reader finds an array or an image. */
  void assertNone(Path target) {
    assertTrue(!Files.exists(target.resolve("zarr.json")), "metadata at " + target);
    assertThrows(Exception.class, () -> spark.read().format("zarr").load(target.toString()));
  }

  /** Asserts that a reader finds the old values. */
  void assertOld(Path target, Layout layout) {
    Dataset<Row> found =
        spark
            .read()
            .format("zarr")
            .options(Map.of("missing", "error", "blockShape", layout.blockShape()))
            .load(target.toString());
    assertEquals(rows(oldBlocks()), rows(found));
  }
}
