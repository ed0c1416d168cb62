package org.tilespark.spark.source.raw;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.testing.SparkTest;

/** A format takes its own package and one line in {@code META-INF/services}, nothing else. */
class RawFormatTest extends SparkTest {
  @TempDir Path dir;

  /** A file of 0, 1, 2, ... */
  private Path counting(String name, int elements) throws IOException {
    ByteBuffer bytes =
        ByteBuffer.allocate(RawFormat.MARK.length + elements * RawFormat.WIDTH)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(RawFormat.MARK);
    for (int i = 0; i < elements; i++) {
      bytes.putDouble(i);
    }
    return Files.write(dir.resolve(name), bytes.array());
  }

  private static Dataset<Row> load(Path path, String shape, String blockShape) {
    return spark
        .read()
        .format(RawFormat.NAME)
        .option("shape", shape)
        .option("blockShape", blockShape)
        .load(path.toString());
  }

  private static void save(Dataset<Row> df, Path path) {
    df.write().format(RawFormat.NAME).mode(SaveMode.Overwrite).save(path.toString());
  }

  private long hiddenFiles() throws IOException {
    try (Stream<Path> files = Files.list(dir)) {
      return files.filter(file -> file.getFileName().toString().startsWith(".")).count();
    }
  }

  @Tag("versions")
  @Test
  void aMatrixIsReadTransposedAndWritten() throws IOException {
    Path out = dir.resolve("out.raw");
    Dataset<Row> matrix = load(counting("in.raw", 30 * 41), "30,41", "7,16");
    save(MatrixBlocks.transpose(matrix), out);
    save(MatrixBlocks.transpose(load(out, "41,30", "16,16")), dir.resolve("back.raw"));
    assertArrayEquals(
        Files.readAllBytes(dir.resolve("in.raw")), Files.readAllBytes(dir.resolve("back.raw")));
    assertEquals(0, hiddenFiles());
  }

  @Test
  void aVolumeComesBackAfterThreePermutations() throws IOException {
    Dataset<Row> volume = load(counting("v.raw", 5 * 6 * 7), "5,6,7", "2,3,7");
    Dataset<Row> permuted = volume;
    for (int i = 0; i < 3; i++) {
      permuted = VolumeBlocks.permute(permuted, "yzx");
    }
    save(permuted, dir.resolve("back.raw"));
    assertArrayEquals(
        Files.readAllBytes(dir.resolve("v.raw")), Files.readAllBytes(dir.resolve("back.raw")));
  }

  @Test
  void filtersOnPlacesLeaveBlocksUnread() throws IOException {
    Path path = counting("f.raw", 4 * 4);
    Dataset<Row> block = load(path, "4,4", "2,2").where("row = 2 and col = 0");
    assertEquals(List.of(8.0, 9.0, 12.0, 13.0), block.head().getList(4));
    assertEquals(1, block.count());
    String plan = plan(block).executedPlan().toString();
    assertTrue(plan.contains("raw-test file:"), plan);
    assertTrue(plan.contains("PushedFilters: [EqualTo(row,2), EqualTo(col,0)]"), plan);
    assertEquals(1, plan(block).toRdd().getNumPartitions());
  }

  @Test
  void equalReadsShareACachedDataFrame() throws IOException {
    Path path = counting("c.raw", 4);
    Dataset<Row> cached = load(path, "2,2", "1,2").cache();
    try {
      String plan = plan(load(path, "2,2", "1,2")).executedPlan().toString();
      assertTrue(plan.contains("InMemoryTableScan"), plan);
    } finally {
      cached.unpersist(true);
    }
  }

  @Test
  void aFileOfAnotherLengthIsRefused() throws IOException {
    Path path = counting("short.raw", 5);
    assertTrue(
        reasonOf(() -> load(path, "2,3", "2,3")).contains("expected 52 bytes, found 44"),
        () -> reasonOf(() -> load(path, "2,3", "2,3")));
    var noShape = spark.read().format(RawFormat.NAME);
    assertTrue(
        reasonOf(() -> noShape.load(path.toString())).contains("needs the option shape"),
        () -> reasonOf(() -> noShape.load(path.toString())));
  }

  @Test
  void blocksWithAHoleLeaveNothingBehind() throws IOException {
    Dataset<Row> holed = load(counting("h.raw", 16), "4,4", "2,2").where("row + col > 0");
    Path out = dir.resolve("holed.raw");
    String reason = reasonOf(() -> save(holed, out));
    assertTrue(reason.contains("Nothing was written"), reason);
    assertFalse(Files.exists(out));
    assertEquals(0, hiddenFiles());
    String append =
        reasonOf(
            () -> holed.write().format(RawFormat.NAME).mode(SaveMode.Append).save(out.toString()));
    assertTrue(append.contains("a raw file holds one array"), append);
  }
}
