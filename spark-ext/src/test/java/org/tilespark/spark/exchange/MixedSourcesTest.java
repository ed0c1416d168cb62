package org.tilespark.spark.exchange;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Partitions that mix rows that can be retained, rows of files, and rows of several exchanges. */
@Tag("versions")
class MixedSourcesTest extends SparkTest {
  private static final TestArray VOLUME =
      TestArray.volume(ElementType.FLOAT64, 16, 16, 16, 4, 4, 4);
  private static final TestArray MATRIX = TestArray.matrix(ElementType.FLOAT64, 64, 48, 8, 8);

  @TempDir Path directory;

  private Dataset<Row> volume;
  private Dataset<Row> matrix;

  @BeforeEach
  void writeFiles() {
    volume = inFiles(VOLUME, "volume");
    matrix = inFiles(MATRIX, "matrix");
  }

  private Dataset<Row> inFiles(TestArray array, String name) {
    String path = directory.resolve(name).toString();
    array.toDataFrame(spark, 4).drop("tag").write().parquet(path);
    return spark.read().parquet(path);
  }

  @AfterEach
  void nothingIsCached() {
    spark.catalog().clearCache();
  }

  /** Cached blocks, then blocks of a file, in one partition. */
  private static Dataset<Row> mixed(Dataset<Row> blocks, String some) {
    Dataset<Row> cached = blocks.where(some).cache();
    assertTrue(cached.count() > 0);
    return cached.union(blocks.where("not (" + some + ")")).coalesce(1);
  }

  private static Dataset<Row> square(Dataset<Row> blocks) {
    return blocks.withColumn("values", expr("transform(values, v -> v * v)"));
  }

  private static void assertSame(Dataset<Row> expected, Dataset<Row> found) {
    assertEquals(expected.count(), found.count());
    String[] columns = expected.columns();
    Dataset<Row> ordered =
        found.select(columns[0], java.util.Arrays.copyOfRange(columns, 1, columns.length));
    assertEquals(0, expected.except(ordered).count());
  }

  @Test
  void pointwiseProductsReadMixedPartitions() {
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () ->
              assertSame(
                  square(volume),
                  VolumeBlocks.multiplyPointwise(mixed(volume, "x < 8"), volume.coalesce(1))));
    }
  }

  @Test
  void sumsReadMixedPartitions() {
    Dataset<Row> twice = matrix.withColumn("values", expr("transform(values, v -> v + v)"));
    assertSame(twice, MatrixBlocks.add(mixed(matrix, "row < 32"), matrix.coalesce(1)));
  }

  @Test
  void productsReadMixedPartitions() {
    assertSame(
        MatrixBlocks.multiply(MatrixBlocks.transpose(matrix), matrix),
        MatrixBlocks.multiply(
            MatrixBlocks.transpose(mixed(matrix, "row < 32")), matrix.coalesce(1)));
  }

  /** Spark 4.1 lets one task read two exchanges with the same partitioning. */
  @Test
  void unionsOfTwoExchangesInOneTask() {
    with(
        Map.of("spark.sql.adaptive.enabled", "false", "spark.sql.shuffle.partitions", "4"),
        () -> {
          String path = directory.resolve("zyx").toString();
          VolumeBlocks.permute(volume, "zyx").write().parquet(path);
          Dataset<Row> zyx = spark.read().parquet(path);
          Dataset<Row> low = exchanged(VolumeBlocks.permute(zyx.where("z < 8"), "zyx"));
          for (Dataset<Row> high :
              new Dataset[] {
                exchanged(VolumeBlocks.permute(zyx.where("z >= 8"), "zyx")),
                exchanged(volume.where("x >= 8"))
              }) {
            assertSame(
                square(volume), VolumeBlocks.multiplyPointwise(low.union(high), exchanged(volume)));
          }
        });
  }

  private static Dataset<Row> exchanged(Dataset<Row> blocks) {
    return blocks.repartition(4, col("x"), col("y"), col("z"));
  }
}
