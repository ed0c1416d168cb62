package org.tilespark.spark.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.source.npy.NpyFixture;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;

class LongRunsTest extends SparkTest {
  @TempDir Path dir;

  @ParameterizedTest
  @CsvSource({
    "zyx, '1000,8,1000'", // rows of both files in a slab
    "yzx, '1000,8,1000'",
    "zxy, '8,1000,1000'",
    "xzy, '8,1000,1000'",
    "xyz, '8,1000,1000'",
    "yxz, '65,128,1000'",
  })
  void blocksOfFloats(String axes, String expected) {
    assertEquals(
        Optional.of(Shape.of(numbers(expected))),
        LongRuns.shape(
            Shape.of(1000, 1000, 1000), Permutation.parse(axes), Shape.of(256, 128, 256), 4),
        axes);
  }

  @Test
  void longRunsStay() {
    Shape cube = Shape.of(1000, 1000, 1000);
    Permutation zyx = Permutation.parse("zyx");
    assertEquals(Optional.empty(), LongRuns.shape(cube, zyx, Shape.of(1000, 17, 1000), 4));
    assertTrue(LongRuns.shape(cube, zyx, Shape.of(1000, 16, 1000), 4).isEmpty(), "hardly longer");
    assertEquals(
        Optional.empty(),
        LongRuns.shape(Shape.of(3, 5, 2), zyx, Shape.of(9, 9, 9), 4),
        "one block already");
  }

  /** Nothing is exchanged, and no row is copied by a projection. */
  @Test
  void thePlanReadsTheseBlocks() throws IOException {
    Shape shape = Shape.of(40, 30, 50);
    Path path = dir.resolve("a.npy");
    Files.write(path, new NpyFixture("f4", shape.toArray()).canonical());
    Dataset<Row> stored =
        spark.read().format("npy").option("blockShape", "16,8,16").load(path.toString());
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            assertBlocks("[1, 30, 50]", stored, shape);
            Dataset<Row> turned = VolumeBlocks.permute(VolumeBlocks.map(stored, "2 * v"), "zyx");
            assertBlocks("[40, 1, 50]", turned, Shape.of(50, 30, 40));
            Dataset<Row> some = VolumeBlocks.permute(stored.where("x >= 16"), "zyx");
            assertTrue(plan(some, Shape.of(50, 30, 24)).contains("[16, 8, 16]"), "a filter stays");
          });
    }
  }

  private void assertBlocks(String blockShape, Dataset<Row> data, Shape extents) {
    String plan = plan(data, extents);
    assertTrue(plan.contains("blockShape " + blockShape), plan);
    assertEquals(List.of(), PlanNodes.all(query(data, extents), Exchange.class));
    assertTrue(!plan.contains("Project"), plan);
  }

  private static String plan(Dataset<Row> data, Shape extents) {
    return query(data, extents).executedPlan().toString();
  }

  private static QueryExecution query(Dataset<Row> data, Shape extents) {
    return WriteQuery.of(
        data, BlockSchema.find(data.schema(), BlockKind.VOLUME, "a test"), extents);
  }

  private static long[] numbers(String shape) {
    return Arrays.stream(shape.split(",")).mapToLong(Long::parseLong).toArray();
  }
}
