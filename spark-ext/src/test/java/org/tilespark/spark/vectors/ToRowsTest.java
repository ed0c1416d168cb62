package org.tilespark.spark.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.RowOptions;

/** Blocks that become rows again. */
class ToRowsTest extends VectorTestBase {
  private static final RowOptions SMALL = RowOptions.defaults().withBlockRows(3);

  static List<Map<String, String>> modes() {
    return sampledModes();
  }

  private static List<String> vectors(Dataset<Row> rows) {
    return rows.sort("row").select("features").collectAsList().stream()
        .map(row -> row.getList(0).toString())
        .toList();
  }

  @ParameterizedTest
  @ValueSource(strings = {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"})
  void rowsOfEachTypeComeBack(String type) {
    for (RowOptions options : List.of(SMALL, SMALL.withId("name"))) {
      Dataset<Row> table = table(20, 3, type);
      Dataset<Row> rows =
          MatrixBlocks.toRows(MatrixBlocks.fromRows(table, "features", options), "features");
      assertFalse(explained(rows).contains("Exchange"), () -> explained(rows));
      assertEquals(expected(IntStream.range(0, 20), type), vectors(rows));
      assertEquals(
          options.id().isPresent() ? "[row, name, features]" : "[row, features]",
          List.of(rows.columns()).toString());
      if (options.id().isPresent()) {
        assertEquals(
            List.of(),
            rows.join(table.withColumnRenamed("features", "expected"), "name")
                .where("features <> expected")
                .collectAsList());
      }
      assertEquals(
          expected(IntStream.range(0, 20), type),
          rows(MatrixBlocks.fromRows(rows, "features", SMALL.withOrderBy("row"))),
          "and blocks again");
    }
  }

  /** A table would promise the ids to its readers. */
  @Test
  void filesLeaveIdsOut(@TempDir Path dir) {
    Dataset<Row> blocks =
        MatrixBlocks.fromRows(table(20, 3, "FLOAT"), "features", SMALL.withId("id"));
    String path = dir.resolve("rows.npy").toString();
    blocks.write().format("npy").save(path);
    assertEquals(
        expected(IntStream.range(0, 20), "FLOAT"), rows(spark.read().format("npy").load(path)));
    blocks.createOrReplaceTempView("blocks_with_ids");
    String table =
        "CREATE TABLE ids_in_a_file USING npy LOCATION '%s' AS SELECT * FROM blocks_with_ids";
    assertFails(
        () -> spark.sql(table.formatted(dir.resolve("table.npy"))),
        "further columns [ids]",
        "drop");
  }

  @ParameterizedTest
  @MethodSource("modes")
  void operatorsBetweenRows(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Dataset<Row> table = table(20, 3, "DOUBLE");
          Dataset<Row> blocks = MatrixBlocks.fromRows(table, "features", SMALL.withId("id"));
          Dataset<Row> doubled = MatrixBlocks.toRows(MatrixBlocks.scale(blocks, 2), "features");
          Dataset<Row> named = doubled.join(MatrixBlocks.rowIds(blocks), "row");
          assertEquals(20, named.count());
          assertEquals(
              0,
              named
                  .join(table.withColumnRenamed("features", "single"), "id")
                  .where("features[3] <> 2 * single[3] OR size(features) <> 5")
                  .count());
          Dataset<Row> product =
              MatrixBlocks.toRows(
                  MatrixBlocks.multiply(blocks, MatrixBlocks.gram(blocks)), "features");
          assertEquals(20, product.count());
        });
  }

  /** The example of docs/rows.md. */
  @Test
  void idsComeBackByAJoin() {
    Dataset<Row> table = table(20, 3, "DOUBLE");
    Dataset<Row> x = MatrixBlocks.fromRows(table, "features", SMALL.withId("name"));
    Dataset<Row> ids = MatrixBlocks.rowIds(x);
    Dataset<Row> mapped =
        MatrixBlocks.toRows(MatrixBlocks.map(x, "v * 2"), "features").join(ids, "row");
    Dataset<Row> sliced =
        MatrixBlocks.toRows(MatrixBlocks.slice(x, "4:15:2"), "features")
            .withColumn("row", functions.expr("4 + 2 * row"))
            .join(ids, "row");
    assertEquals("[row, features, name]", List.of(mapped.columns()).toString());
    assertEquals(
        IntStream.range(0, 20).mapToObj(i -> "r%d %.1f".formatted(i, 10.0 * i)).toList(),
        firsts(mapped));
    assertEquals(
        IntStream.of(4, 6, 8, 10, 12, 14).mapToObj(i -> "r%d %.1f".formatted(i, 5.0 * i)).toList(),
        firsts(sliced));
  }

  private static List<String> firsts(Dataset<Row> rows) {
    return rows.sort("row").selectExpr("name || ' ' || features[0]").collectAsList().stream()
        .map(row -> row.getString(0))
        .toList();
  }

  @ParameterizedTest
  @MethodSource("modes")
  void blocksThatAreNotWhole(Map<String, String> mode) {
    with(
        mode,
        () -> {
          List<String> expected = expected(IntStream.range(0, 20), "FLOAT");
          Dataset<Row> blocks = MatrixBlocks.fromRows(table(20, 3, "FLOAT"), "features", SMALL);
          Dataset<Row> tiles = MatrixBlocks.reblock(blocks, 4, 2);
          assertEquals(expected, vectors(MatrixBlocks.toRows(tiles, "features")));
          Dataset<Row> stored = tiles.localCheckpoint();
          for (Dataset<Row> each :
              List.of(
                  MatrixBlocks.withoutExtents(stored),
                  MatrixBlocks.withExtents(MatrixBlocks.withoutExtents(stored), 20, 5))) {
            assertEquals(expected, vectors(MatrixBlocks.toRows(each, "features")));
          }
          assertFails(
              MatrixBlocks.toRows(
                      MatrixBlocks.withExtents(
                          MatrixBlocks.withoutExtents(stored).distinct(), 20, 5),
                      "features")
                  ::collectAsList,
              "whole along the columns",
              "matrix_reblock");
        });
  }

  @Test
  void severalMatrices() {
    Dataset<Row> blocks =
        MatrixBlocks.fromRows(table(20, 3, "DOUBLE"), "features", SMALL)
            .withColumn("sample", functions.lit("a"));
    Dataset<Row> both =
        blocks.union(MatrixBlocks.scale(blocks, 2).withColumn("sample", functions.lit("b")));
    Dataset<Row> rows = MatrixBlocks.toRows(both, "features");
    assertEquals("[row, sample, features]", List.of(rows.columns()).toString());
    assertEquals(
        vectors(rows.where("sample = 'a'")),
        vectors(
            rows.where("sample = 'b'")
                .withColumn("features", functions.expr("transform(features, v -> v / 2)"))));
    assertEquals(200, MatrixBlocks.toCells(both).groupBy("sample", "row", "col").count().count());
  }

  @Test
  void namesThatAreThereAlready() {
    Dataset<Row> blocks = MatrixBlocks.fromRows(table(20, 3, "DOUBLE"), "features", SMALL);
    assertTrue(reasonOf(() -> MatrixBlocks.toRows(blocks, "row")).contains("two columns"));
    assertTrue(reasonOf(() -> MatrixBlocks.rowIds(blocks)).contains("have no ids"));
    Dataset<Row> named = table(20, 3, "DOUBLE").withColumnRenamed("id", "row");
    Dataset<Row> withIds = MatrixBlocks.fromRows(named, "features", SMALL.withId("row"));
    assertTrue(reasonOf(() -> MatrixBlocks.rowIds(withIds)).contains("two columns"));
    assertTrue(
        reasonOf(
                () ->
                    MatrixBlocks.toRows(
                        blocks.withColumn("imag", new Column("values")), "features"))
            .contains("complex"));
  }

  // ---- elements

  @ParameterizedTest
  @ValueSource(strings = {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"})
  void elementsThereAndBack(String type) {
    Dataset<Row> blocks = MatrixBlocks.fromRows(table(20, 3, type), "features", SMALL);
    Dataset<Row> cells = MatrixBlocks.toCells(blocks);
    assertEquals(100, cells.count());
    assertEquals(0, cells.where("value <> CAST(row * 5 + col AS " + type + ")").count());
    List<String> expected = expected(IntStream.range(0, 20), type);
    assertEquals(expected, rows(MatrixBlocks.fromCells(cells, 7, 2)));
    Dataset<Row> sparse = cells.where("value <> 0");
    assertEquals(expected, rows(MatrixBlocks.fromCells(sparse, 7, 2)));
    assertFails(MatrixBlocks.fromCells(sparse, 7, 2, Missing.ERROR)::collectAsList, "row 0, col 0");
    assertFails(MatrixBlocks.fromCells(cells.union(cells), 7, 2)::collectAsList, "row");
  }

  @Test
  void elementsThatAreWrong() {
    Dataset<Row> cells = spark.sql("SELECT 0 AS row, 0 AS col, 1.5D AS value");
    assertEquals(List.of("[1.5]"), rows(MatrixBlocks.fromCells(cells, 2, 2)));
    assertTrue(
        reasonOf(() -> MatrixBlocks.fromCells(cells.selectExpr("'0' AS row", "col", "value"), 2, 2))
            .contains("column row is STRING"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.fromCells(cells.selectExpr("row", "col", "'x' AS value"), 2, 2))
            .contains("column value is STRING"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.fromCells(cells.drop("col"), 2, 2)).contains("no column col"));
    assertFails(
        MatrixBlocks.fromCells(cells.selectExpr("row - 1 AS row", "col", "value"), 2, 2)
            ::collectAsList,
        "row is -1");
  }
}
