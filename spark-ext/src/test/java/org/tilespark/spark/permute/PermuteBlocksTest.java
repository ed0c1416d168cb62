package org.tilespark.spark.permute;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Results of transpose and permute, through rows and batches, in every mode of execution. */
class PermuteBlocksTest extends SparkTest {
  private static final Permutation TRANSPOSE = Permutation.of(1, 0);

  @ParameterizedTest
  @EnumSource
  void transposesEveryType(ElementType type) {
    TestArray array = TestArray.matrix(type, 37, 53, 16, 10);
    array.assertPermuted(TRANSPOSE, MatrixBlocks.transpose(array.toDataFrame(spark, 3)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"})
  void permutesAllAxisOrdersInEveryMode(String axes) {
    TestArray array = TestArray.volume(ElementType.FLOAT32, 9, 7, 11, 4, 3, 5).withImag();
    Dataset<Row> df = array.toDataFrame(spark, 3);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> array.assertPermuted(Permutation.parse(axes), VolumeBlocks.permute(df, axes)));
    }
  }

  @ParameterizedTest
  @EnumSource
  void permutesComplexVolumesOfEveryType(ElementType type) {
    TestArray array = TestArray.volume(type, 5, 6, 7, 5, 4, 2).withImag();
    array.assertPermuted(
        Permutation.parse("yzx"), VolumeBlocks.permute(array.toDataFrame(spark, 2), "YZX"));
  }

  @Test
  void manySmallBatchesInsideOnePartition() {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 64, 64, 8, 8);
    with(
        Map.of(TileSparkConf.BATCH_SIZE.name(), "1k"),
        () -> array.assertPermuted(TRANSPOSE, MatrixBlocks.transpose(array.toDataFrame(spark, 1))));
  }

  @Test
  void oneBlockLargerThanABatch() {
    TestArray array = TestArray.matrix(ElementType.INT32, 50, 40, 50, 40);
    with(
        Map.of(TileSparkConf.BATCH_SIZE.name(), "16b"),
        () -> array.assertPermuted(TRANSPOSE, MatrixBlocks.transpose(array.toDataFrame(spark, 1))));
  }

  @Test
  void chainsThatNoRuleCanShorten() {
    TestArray array = TestArray.volume(ElementType.INT16, 6, 5, 4, 3, 3, 3);
    Dataset<Row> once = VolumeBlocks.permute(array.toDataFrame(spark, 2), "yzx");
    with(
        Map.of(
            "spark.sql.optimizer.excludedRules", "org.tilespark.spark.permute.ComposePermutations"),
        () -> {
          Dataset<Row> twice = VolumeBlocks.permute(once, "zyx");
          assertTrue(explained(twice).contains(": permute zyx"), explained(twice));
          assertTrue(explained(twice).contains(": permute yzx"));
          array.assertPermuted(Permutation.parse("yzx").then(Permutation.parse("zyx")), twice);
        });
  }

  @Test
  void cachedUnionedJoinedAndLimited() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 40, 30, 7, 8);
    Dataset<Row> df = array.toDataFrame(spark, 3);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> cached = df.cache();
            Dataset<Row> transposed = MatrixBlocks.transpose(cached).cache();
            array.assertPermuted(TRANSPOSE, transposed);
            assertTrue(
                explained(MatrixBlocks.transpose(cached)).contains("InMemoryRelation"),
                "an equal plan is answered from the cache");
            transposed.unpersist(true);
            cached.unpersist(true);
          });
      with(
          mode,
          () -> {
            Dataset<Row> transposed = MatrixBlocks.transpose(df);
            assertEquals(2L * array.blockCount(), transposed.union(transposed).count());
            Dataset<Row> joined =
                transposed
                    .as("a")
                    .join(
                        transposed.as("b"),
                        col("a.row").equalTo(col("b.row")).and(col("a.col").equalTo(col("b.col"))))
                    .where(col("a.values").equalTo(col("b.values")));
            assertEquals(array.blockCount(), joined.count());
            assertEquals(3, transposed.limit(3).collectAsList().size());
            assertEquals(
                array.blockCount(),
                transposed
                    .filter(
                        functions.size(col("values")).equalTo(col("rows").multiply(col("cols"))))
                    .count());
          });
    }
  }

  @Test
  void throughParquetAndCheckpoint(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 33, 20, 8, 8);
    Dataset<Row> df = array.toDataFrame(spark, 2);
    String first = dir.resolve("in.parquet").toString();
    String second = dir.resolve("out.parquet").toString();
    for (String vectorized : List.of("true", "false")) {
      with(
          Map.of("spark.sql.parquet.enableNestedColumnVectorizedReader", vectorized),
          () -> {
            df.write().mode("overwrite").parquet(first);
            MatrixBlocks.transpose(spark.read().parquet(first))
                .write()
                .mode("overwrite")
                .parquet(second);
            array.assertPermuted(TRANSPOSE, spark.read().parquet(second));
          });
    }
    array.assertPermuted(TRANSPOSE, MatrixBlocks.transpose(df).localCheckpoint());
  }

  @Tag("versions")
  @Test
  void carriesFurtherColumnsOfAllKinds() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 12, 12, 5, 5);
    Dataset<Row> df =
        array
            .toDataFrame(spark, 2)
            .selectExpr(
                "CAST(row + col AS DECIMAL(25,3)) AS dec",
                "struct(row, tag) AS s",
                "row",
                "values",
                "map('k', col) AS m",
                "col",
                "date '2026-01-02' AS d",
                "cols",
                "array(tag) AS list",
                "rows",
                "CAST(tag AS BINARY) AS bin",
                "array(CAST(row AS DOUBLE)) AS numbers",
                "timestamp '2026-01-02 03:04:05' AS t",
                "tag",
                "row % 2 = 0 AS even",
                "CAST(NULL AS INT) AS nothing");
    Dataset<Row> back = MatrixBlocks.transpose(df);
    assertEquals(List.of(df.columns()), List.of(back.columns()));
    array.assertPermuted(TRANSPOSE, back);
    String keys = "dec, s, d, list, bin, numbers, t, even, nothing, map_entries(m) AS m";
    List<String> before = df.selectExpr(keys.split(", ")).orderBy("s").toJSON().collectAsList();
    assertEquals(before, back.selectExpr(keys.split(", ")).orderBy("s").toJSON().collectAsList());
  }

  @Test
  void keepsAndPermutesMetadata() {
    TestArray array = TestArray.volume(ElementType.FLOAT32, 4, 6, 8, 2, 3, 4);
    Dataset<Row> stated = VolumeBlocks.withExtents(array.toDataFrame(spark, 1), 4, 6, 8);
    Dataset<Row> out = VolumeBlocks.permute(stated, "yzx");
    ArrayMetadata metadata = ArrayMetadata.of(out.schema().apply("values").metadata());
    assertEquals("(6, 8, 4)", metadata.extents(3).orElseThrow().toString());
    array.assertPermuted(Permutation.parse("yzx"), out);
    Dataset<Row> twice = VolumeBlocks.permute(out, "yzx");
    assertEquals(
        "(8, 4, 6)",
        ArrayMetadata.of(twice.schema().apply("values").metadata())
            .extents(3)
            .orElseThrow()
            .toString());
  }

  @Tag("versions")
  @Test
  void abandonedAndFailedQueriesFreeTheirMemory(@TempDir Path dir) throws InterruptedException {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 256, 256, 8, 8);
    String file = dir.resolve("m.npy").toString();
    array.toDataFrame(spark, 4).drop("tag").write().format("npy").save(file);
    Dataset<Row> read = spark.read().format("npy").option("blockShape", "8,8").load(file);
    with(
        Map.of(TileSparkConf.BATCH_SIZE.name(), "2k"),
        () -> {
          Dataset<Row> transposed = MatrixBlocks.transpose(read);
          assertEquals(1, transposed.limit(1).collectAsList().size());
          assertFails(
              () ->
                  transposed
                      .where("IF(row = 64, raise_error('downstream'), size(values)) > 0")
                      .collectAsList(),
              "downstream");
        });
    nothingIsAlive();
  }

  @Test
  void emptyFramesGiveEmptyFrames() {
    Dataset<Row> none =
        spark.createDataFrame(List.of(), TestArray.matrix(ElementType.INT8, 1, 1, 1, 1).schema());
    assertEquals(0, MatrixBlocks.transpose(none).collectAsList().size());
    assertEquals(
        0,
        MatrixBlocks.transpose(
                TestArray.matrix(ElementType.INT8, 9, 9, 3, 3)
                    .toDataFrame(spark, 2)
                    .where("row < 0"))
            .collectAsList()
            .size());
  }
}
