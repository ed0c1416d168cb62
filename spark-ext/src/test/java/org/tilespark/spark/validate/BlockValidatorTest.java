package org.tilespark.spark.validate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.MetadataBuilder;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.testing.SparkTest;

class BlockValidatorTest extends SparkTest {
  /** Matrix blocks given as SQL rows {@code (row, col, rows, cols, values)}. */
  private static Dataset<Row> blocks(String... rows) {
    return spark.sql(
        "SELECT cast(row AS BIGINT) row, cast(col AS BIGINT) col, cast(rows AS INT) rows,"
            + " cast(cols AS INT) cols, cast(values AS ARRAY<INT>) values FROM VALUES "
            + String.join(", ", rows)
            + " AS t(row, col, rows, cols, values)");
  }

  private static Dataset<Row> withExtents(Dataset<Row> data, String extents) {
    var metadata = new MetadataBuilder().putString("tilespark.extents", extents).build();
    return data.withColumn("values", data.col("values").as("values", metadata));
  }

  private static List<String> defects(Dataset<Row> data, BlockKind kind) {
    Dataset<Row> result =
        kind == BlockKind.MATRIX ? MatrixBlocks.validate(data) : VolumeBlocks.validate(data);
    assertEquals("[code, block, found, expected]", List.of(result.columns()).toString());
    List<String> defects = new ArrayList<>();
    for (Row row : result.orderBy("code", "block", "found").collectAsList()) {
      defects.add(
          row.getString(0)
              + "|"
              + row.getString(1)
              + "|"
              + row.getString(2)
              + "|"
              + row.getString(3));
    }
    return defects;
  }

  private static List<String> matrix(Dataset<Row> data) {
    return defects(data, BlockKind.MATRIX);
  }

  private static List<String> codes(List<String> defects) {
    return defects.stream().map(text -> text.substring(0, text.indexOf('|'))).toList();
  }

  private static final String GOOD = "(0, 0, 1, 2, array(1, 2))";

  @Test
  void goodBlocksHaveNoDefects() {
    assertEquals(List.of(), matrix(blocks(GOOD)));
    assertEquals(
        List.of(),
        matrix(
            withExtents(blocks(GOOD, "(1, 1, 1, 1, array(1))", "(1, 0, 1, 1, array(1))"), "2,2")));
    assertEquals(List.of(), matrix(blocks(GOOD).where("row > 0")));
    assertEquals(List.of(), matrix(withExtents(blocks(GOOD).where("row > 0"), "0,7")));
  }

  @Test
  void tellsWhatOneRowShows() {
    Dataset<Row> bad =
        blocks(
            "(1, 0, 1, 2, array(1, 2, 3))",
            "(2, 0, 1, 2, array(1, null))",
            "(3, 0, 1, 2, null)",
            "(null, 0, 1, 2, array(1, 2))",
            "(4, 0, 1, null, array(1))",
            "(5, 0, 0, 2, array())",
            "(6, -3, 1, 1, array(1))",
            "(9223372036854775807L, 0, 1, 1, array(1))");
    assertEquals(
        List.of(
            "negativeOffset|block at row 6, col -3|col -3|0 or more",
            "nonPositiveSize|block at row 5, col 0|rows 0|1 or more",
            "nullCoordinate|block at row 4, col 0|cols is null|a size",
            "nullCoordinate|block at row null, col 0|row is null|a place",
            "nullElement|block at row 2, col 0|values has a null at element 1|numbers only",
            "nullValues|block at row 3, col 0|values is null|an array",
            "outsideExtents|block at row 9223372036854775807, col 0|row 9223372036854775807 with"
                + " rows 1|an end below 2^63",
            "wrongLength|block at row 1, col 0|values has 3 elements|rows 1 * cols 2 = 2"),
        matrix(bad).stream().filter(text -> !text.startsWith("hole")).toList());
  }

  @Test
  void tellsAllDefectsOfARow() {
    assertEquals(
        List.of("negativeOffset", "nonPositiveSize", "nullElement"),
        codes(matrix(blocks(GOOD, "(-1, 0, 0, 2, array(null, 2))"))));
  }

  @Test
  void tellsWhatLiesOutsideTheStatedExtents() {
    assertEquals(
        List.of(
            "hole|block at row 1, col 0|no block holds the 2 x 2 elements from there|each element"
                + " in one block",
            "outsideExtents|block at row 5, col 0|row 5 with rows 1|an end of at most 3 (column"
                + " metadata tilespark.extents)"),
        matrix(withExtents(blocks(GOOD, "(5, 0, 1, 1, array(1))"), "3,2")));
  }

  @Test
  void tellsHolesAndOverlaps() {
    List<String> found =
        matrix(
            blocks(
                "(0, 0, 2, 2, array(1, 2, 3, 4))",
                "(1, 1, 2, 2, array(1, 2, 3, 4))",
                "(1, 1, 2, 2, array(1, 2, 3, 4))",
                "(0, 4, 3, 1, array(1, 2, 3))"));
    assertEquals(
        3, found.stream().filter(text -> text.startsWith("overlap")).count(), found.toString());
    assertTrue(
        found.contains(
            "overlap|block at row 1, col 1 (2 x 2)|shares elements with block at row 0, col 0"
                + " (2 x 2), the first at row 1, col 1|each element in one block"),
        found.toString());
    // Holes: elements (0, 2), (2, 0) and the column 3; told in whatever pieces.
    long missing = 0;
    for (String text : found) {
      if (text.startsWith("hole")) {
        String[] size = text.replaceAll(".*holds the (\\d+) x (\\d+) .*", "$1,$2").split(",", 2);
        missing += Long.parseLong(size[0]) * Long.parseLong(size[1]);
      }
    }
    assertEquals(5, missing, found.toString());
  }

  @Test
  void largeTilingsAreCheckedByCells() {
    Dataset<Row> tiling =
        spark
            .range(0, 40_000)
            .selectExpr(
                "id div 200 * 3 AS row",
                "id % 200 * 2 AS col",
                "3 AS rows",
                "2 AS cols",
                "array(1, 2, 3, 4, 5, 6) AS values");
    assertEquals(List.of(), matrix(tiling));
    List<String> found = matrix(tiling.where("row <> 300 or col not between 100 and 120"));
    assertTrue(found.stream().allMatch(text -> text.startsWith("hole|block at row 300, col 1")));
    Dataset<Row> doubled = tiling.union(tiling.where("row = 300 and col = 120"));
    assertEquals(
        List.of(
            "overlap|block at row 300, col 120 (3 x 2)|shares elements with block at row 300, col"
                + " 120 (3 x 2), the first at row 300, col 120|each element in one block"),
        matrix(doubled));
  }

  @Test
  void furtherColumnsTellArraysApart() {
    Dataset<Row> two =
        blocks(GOOD, "(0, 0, 1, 1, array(1))")
            .selectExpr("*", "if(cols = 2, 'a', null) AS sample", "1 AS `odd name`");
    assertEquals(List.of(), matrix(two));
    List<String> found = matrix(two.union(two.where("sample = 'a'")));
    assertEquals(List.of("overlap"), codes(found));
    assertTrue(found.get(0).contains("block at row 0, col 0 (1 x 2) (sample a, odd name 1)"));
    Dataset<Row> shifted = two.selectExpr("*").withColumn("row", functions("row + 1"));
    assertEquals(List.of("hole", "hole"), codes(matrix(shifted)));
  }

  private static org.apache.spark.sql.Column functions(String sql) {
    return org.apache.spark.sql.functions.expr(sql);
  }

  @Test
  void volumesAndComplexBlocks() {
    Dataset<Row> volume =
        spark
            .range(0, 8)
            .selectExpr(
                "id div 4 AS x",
                "id div 2 % 2 AS y",
                "id % 2 AS z",
                "1 AS nx",
                "1 AS ny",
                "1 AS nz",
                "array(1f) AS values",
                "if(id = 5, array(1f, 2f), array(1f)) AS imag");
    assertEquals(
        List.of("wrongLength|block at x 1, y 0, z 1|imag has 2 elements|nx 1 * ny 1 * nz 1 = 1"),
        defects(volume, BlockKind.VOLUME));
    List<String> holes = defects(volume.where("x + y + z <> 0").drop("imag"), BlockKind.VOLUME);
    assertEquals(List.of("hole"), codes(holes));
  }

  @Test
  void tellsWhatIsWrongWithTheColumns() {
    Dataset<Row> good = blocks(GOOD);
    assertEquals(
        List.of("missingColumn|all blocks|no column cols among row, col, rows, values|cols INT"),
        matrix(good.drop("cols")));
    assertEquals(
        List.of("columnType|all blocks|column row is STRING|BIGINT"),
        matrix(good.withColumn("row", good.col("row").cast("string"))));
    assertEquals(
        List.of("columnType", "doubledColumn"),
        codes(matrix(good.selectExpr("*", "row AS ROW", "array('a') AS imag"))));
    assertEquals(
        List.of("columnType|all blocks|column imag is ARRAY<FLOAT>|ARRAY<INT>, as values"),
        matrix(good.selectExpr("*", "array(1f) AS imag")));
    assertEquals(7, defects(good.drop("values"), BlockKind.VOLUME).size());
  }

  @Test
  void valuesStayWhereTheyAre() {
    Dataset<Row> tiling = blocks(GOOD, "(1, 0, 1, 2, array(1, null))").repartition(2);
    String plan = explained(MatrixBlocks.validate(tiling));
    String tiling2 = plan.substring(plan.indexOf("== Optimized"), plan.indexOf("== Physical"));
    String shuffled =
        tiling2.lines().filter(line -> line.contains("Aggregate")).collect(Collectors.joining());
    assertFalse(shuffled.contains("values"), shuffled);
  }

  @Test
  void interpretedAndStatic() {
    with(
        Map.of(
            "spark.sql.adaptive.enabled", "false",
            "spark.sql.codegen.wholeStage", "false",
            "spark.sql.codegen.factoryMode", "NO_CODEGEN"),
        () ->
            assertEquals(
                List.of("nullElement", "overlap"),
                codes(matrix(blocks(GOOD, "(0, 1, 1, 1, array(null))")))));
  }
}
