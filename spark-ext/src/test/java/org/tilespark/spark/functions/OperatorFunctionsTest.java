package org.tilespark.spark.functions;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.testing.SparkTest;

/** The functions that compute block by block or add blocks, validate, and state extents, in SQL. */
class OperatorFunctionsTest extends SparkTest {
  /**
   * Two samples in two blocks each. Views with the suffix {@code _complex} have {@code imag} too;
   * {@code none_...} have no rows.
   */
  @BeforeAll
  static void views() {
    String values = "array(CAST('NaN' AS DOUBLE), 2D, -3D, 4D + part) AS values";
    String samples = " FROM range(2) a(part) CROSS JOIN VALUES ('one'), (NULL) AS s(sample)";
    view(
        "m",
        "SELECT sample, 2L * part AS row, 0L AS col, 2 AS rows, 2 AS cols, " + values + samples);
    view(
        "v",
        "SELECT 2L * part AS x, 0L AS y, 0L AS z, 2 AS nx, 1 AS ny, 2 AS nz, "
            + values
            + ", sample"
            + samples);
    for (String of : List.of("m", "v")) {
      view(of + "_complex", "SELECT *, transform(values, e -> 10 * e) AS imag FROM " + of);
      view(of + "_none", "SELECT * FROM " + of + " WHERE values[1] > 2");
      view(of + "_some", "SELECT * FROM " + of + " WHERE values[3] > 4");
      view(
          of + "_ints",
          "SELECT * EXCEPT (values), transform(values, e -> int(nanvl(e, 1))) AS values FROM "
              + of);
    }
    view(
        "spectrum",
        "SELECT * FROM volume_fft(TABLE(SELECT x, y, z, nx, ny, nz, transform(values, e -> nanvl(e,"
            + " 1)) AS values FROM v WHERE sample = 'one'), output => 'natural')");
  }

  private static void view(String name, String query) {
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW " + name + " AS " + query);
  }

  @ParameterizedTest
  @CsvSource({"matrix, m, row", "volume, v, x"})
  void scaleAndAdd(String kind, String view, String place) {
    Dataset<Row> scaled = sql(kind + "_scale(TABLE(" + view + "), -0.5)");
    assertEquals(List.of(spark.table(view).columns()), List.of(scaled.columns()));
    assertEquals(4, scaled.count());
    assertBlocks(
        scaled, place, new double[][] {{Double.NaN, -1, 1.5, -2}, {Double.NaN, -1, 1.5, -2.5}});
    Dataset<Row> sum = sql(kind + "_add(TABLE(" + view + "), TABLE(" + view + "))");
    assertEquals(List.of(spark.table(view).columns()), List.of(sum.columns()));
    assertEquals(4, sum.count());
    assertBlocks(sum, place, new double[][] {{Double.NaN, 4, -6, 8}, {Double.NaN, 4, -6, 10}});
    Dataset<Row> complex =
        sql(
            kind
                + "_add(TABLE("
                + view
                + "_complex), TABLE(SELECT * FROM "
                + kind
                + "_scale(TABLE("
                + view
                + "_complex), alpha => 2)))");
    assertBlocks(complex, place, new double[][] {{Double.NaN, 6, -9, 12}, {Double.NaN, 6, -9, 15}});
    assertBlocks(
        complex.drop("values").withColumnRenamed("imag", "values"),
        place,
        new double[][] {{Double.NaN, 60, -90, 120}, {Double.NaN, 60, -90, 150}});
    String partial = kind + "_add(TABLE(" + view + "), TABLE(" + view + "_some)";
    assertFails(
        () -> sql(partial + ")").collectAsList(),
        "block at " + place + " 0",
        "no block of the input holds the",
        kind + "_add, second " + kind);
    assertBlocks(
        sql(partial + ", missing => 'zero')"),
        place,
        new double[][] {{Double.NaN, 2, -3, 4}, {Double.NaN, 4, -6, 10}});
  }

  private static void assertBlocks(Dataset<Row> df, String place, double[][] expected) {
    for (String sample : List.of("sample = 'one'", "sample IS NULL")) {
      double[][] found =
          df.where(sample).orderBy(place).collectAsList().stream()
              .map(row -> row.<Double>getList(row.fieldIndex("values")))
              .map(list -> list.stream().mapToDouble(Double::doubleValue).toArray())
              .toArray(double[][]::new);
      assertArrayEquals(expected, found, sample);
    }
  }

  @Test
  void center() {
    assertBlocks(
        sql("matrix_center(TABLE(m))"),
        "row",
        new double[][] {
          {Double.NaN, -1.25, Double.NaN, 0.75}, {Double.NaN, -1.25, Double.NaN, 1.75}
        });
    assertFails(
        () -> sql("matrix_center(TABLE(m_some), extents => '4,2')").collectAsList(),
        "no block at row 0, col 0",
        "matrix_center");
  }

  @ParameterizedTest
  @CsvSource({"matrix, m", "volume, v"})
  void nothingGivesNothing(String kind, String view) {
    String none = "TABLE(" + view + "_none)";
    assertEquals(List.of(), sql(kind + "_scale(" + none + ", 2)").collectAsList());
    assertEquals(List.of(), sql(kind + "_add(" + none + ", " + none + ")").collectAsList());
    assertEquals(List.of(), sql(kind + "_validate(" + none + ")").collectAsList());
    assertEquals(0, sql(kind + "_with_extents(" + none + ", 'unknown')").count());
    assertEquals(List.of(), sql("matrix_center(TABLE(m_none))").collectAsList());
  }

  /** SQL finds the rows of the Java facade. */
  @Test
  void validateFindsWhatJavaFinds() {
    assertEquals(List.of(), sql("matrix_validate(TABLE(m))").collectAsList());
    assertEquals(List.of(), sql("volume_validate(input => TABLE(v_complex))").collectAsList());
    view("m_bad", "SELECT * EXCEPT (rows), 3 AS rows FROM m");
    view("v_bad", "SELECT * EXCEPT (nz), 3 AS nz FROM v");
    assertEquals(
        texts(MatrixBlocks.validate(spark.table("m_bad"))),
        texts(sql("matrix_validate(TABLE(m_bad))")));
    List<String> ofVolume = texts(sql("volume_validate(TABLE(v_bad))"));
    assertEquals(texts(VolumeBlocks.validate(spark.table("v_bad"))), ofVolume);
    assertEquals(
        "wrongLength|block at x 0, y 0, z 0 (sample null)|values has 4 elements|nx 2 * ny 1 * nz 3"
            + " = 6",
        ofVolume.get(0));
    assertEquals(
        List.of(
            "hole|block at row 0, col 2 (sample null)|no block holds the 4 x 1 elements from there|"
                + "each element in one block",
            "hole|block at row 0, col 2 (sample one)|no block holds the 4 x 1 elements from there|"
                + "each element in one block"),
        texts(sql("matrix_validate(TABLE(m), extents => array(4, 3))")));
    // Stale metadata is put aside.
    view("m_stale", "SELECT * FROM matrix_with_extents(TABLE(m), '4,3')");
    assertEquals(2, sql("matrix_validate(TABLE(m_stale))").count());
    assertEquals(0, sql("matrix_validate(TABLE(m_stale), 'unknown')").count());
    // Of other columns nothing can be stated.
    assertEquals(
        List.of("missingColumn", "columnType"),
        sql("volume_validate(TABLE(SELECT * EXCEPT (x, nx), '2' AS nx FROM v), extents => '1,1,1')")
            .collectAsList()
            .stream()
            .map(row -> row.getString(0))
            .toList());
    assertFails(() -> sql("matrix_validate(TABLE(m), '4')"), "matrix_validate: extents is '4'");
  }

  private static List<String> texts(Dataset<Row> defects) {
    assertEquals(List.of("code", "block", "found", "expected"), List.of(defects.columns()));
    return defects.orderBy("code", "block").collectAsList().stream()
        .map(row -> row.toSeq().mkString("|"))
        .collect(Collectors.toList());
  }

  @Test
  void extentsAreStatedAndForgotten() {
    Dataset<Row> stated = sql("volume_with_extents(TABLE(v), array(4, 1, 2))");
    assertEquals("(4, 1, 2)", metadata(stated).extents(3).orElseThrow().toString());
    stated.createOrReplaceTempView("v_stated");
    for (String call :
        List.of(
            "volume_scale(TABLE(v_stated), 2)", "volume_add(TABLE(v_stated), TABLE(v_stated))")) {
      assertEquals("(4, 1, 2)", metadata(sql(call)).extents(3).orElseThrow().toString(), call);
    }
    assertEquals(
        "(4, 1, 2)",
        metadata(sql("volume_add(TABLE(v), TABLE(v), extentsB => '4,1,2')"))
            .extents(3)
            .orElseThrow()
            .toString());
    assertEquals(
        Optional.empty(),
        metadata(sql("volume_with_extents(TABLE(v_stated), 'unknown')")).extents(3));
    assertEquals(
        "(4, 2)",
        metadata(sql("matrix_center(TABLE(m), extents => '4,2')"))
            .extents(2)
            .orElseThrow()
            .toString());
    assertFails(
        () -> sql("matrix_scale(TABLE(m), 2, '3,2')").collectAsList(),
        "it ends at row 4, the column metadata tilespark.extents says [3, 2]");
    assertFails(
        () -> sql("matrix_add(TABLE(m), TABLE(m), extentsA => '4,2', extentsB => '4,3')"),
        "matrix_add: the extents of the first matrix are (4, 2), of the second (4, 3)");
    assertFails(
        () -> sql("volume_add(TABLE(v), TABLE(v), extentsB => '4,3')"),
        "volume_add: extentsB is '4,3'; expected 3 whole numbers");
  }

  @Test
  void spectraAreScaledAndAdded() {
    view("scaled", "SELECT * FROM volume_scale(TABLE(spectrum), alpha => 2)");
    assertEquals(
        metadata(spark.table("spectrum")).spectrum(), metadata(spark.table("scaled")).spectrum());
    List<Row> back =
        sql("volume_ifft(TABLE(SELECT * FROM volume_add(TABLE(spectrum), TABLE(scaled))))")
            .orderBy("x")
            .selectExpr("transform(values, e -> CAST(round(e, 9) AS INT))")
            .collectAsList();
    assertEquals(
        List.of(3, 6, -9, 12, 3, 6, -9, 15),
        back.stream().flatMap(row -> row.<Integer>getList(0).stream()).toList());
    assertEquals(
        VolumeBlocks.frequencies(spark.table("spectrum")).orderBy("axis", "index").collectAsList(),
        sql("volume_frequencies(TABLE(scaled))").orderBy("axis", "index").collectAsList());
    assertFails(
        () ->
            sql(
                "volume_add(TABLE(spectrum), TABLE(SELECT * FROM volume_permute(TABLE(spectrum),"
                    + " 0)))"),
        "axes is '0'");
    view(
        "shifted",
        "SELECT * FROM volume_fft(TABLE(SELECT * FROM volume_ifft(TABLE(spectrum))),"
            + " output => 'natural', shift => true)");
    assertFails(
        () -> sql("volume_add(TABLE(spectrum), TABLE(shifted))"),
        "volume_add: the two spectra differ in shift: 'none' of the first, 'spectrum' of the"
            + " second");
    assertFails(
        () -> sql("volume_frequencies(TABLE(v))"),
        "volume_frequencies: the column metadata does not say that this is a spectrum");
  }

  /** A table of the other kind, of integers, or without what blocks have. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "matrix_center(TABLE(v))",
        "matrix_scale(TABLE(v), 2)",
        "matrix_add(TABLE(m), TABLE(v))",
        "matrix_with_extents(TABLE(v), '1,1')",
        "volume_scale(TABLE(m), 2)",
        "volume_add(TABLE(v), TABLE(m))",
        "volume_with_extents(TABLE(m), '1,1,1')",
        "volume_frequencies(TABLE(m))",
      })
  void tablesOfTheOtherKind(String call) {
    String function = call.substring(0, call.indexOf('('));
    assertFails(
        () -> sql(call),
        function,
        function.startsWith("matrix")
            ? "the input has no column row; matrix blocks are (row BIGINT"
            : "the input has no column x; volume blocks are (x BIGINT");
  }

  @Test
  void integersAreRefusedByName() {
    for (String call :
        List.of(
            "matrix_center(TABLE(m_ints))",
            "matrix_scale(TABLE(m_ints), 2)",
            "matrix_add(TABLE(m_ints), TABLE(m_ints))",
            "volume_scale(TABLE(v_ints), 2)",
            "volume_add(TABLE(v_ints), TABLE(v_ints))")) {
      String function = call.substring(0, call.indexOf('('));
      assertFails(
          () -> sql(call), function, ": column values is ARRAY<INT>; expected ARRAY<FLOAT>");
    }
  }

  /** Every function without its arguments says which one it misses first, and how it is called. */
  @ParameterizedTest
  @EnumSource(TableFunctions.class)
  void missingArguments(TableFunctions function) {
    String first = function.parameters().get(0).name();
    assertFails(
        () -> sql(function.sqlName() + "()"),
        function.sqlName() + ": argument " + first + " is missing; expected " + function.usage());
  }

  @Tag("versions")
  @Test
  void streamsAreRefused() {
    spark
        .readStream()
        .format("rate")
        .load()
        .selectExpr("value AS row", "0L AS col", "1 AS rows", "1 AS cols", "array(1D) AS values")
        .createOrReplaceTempView("stream");
    for (String call :
        List.of(
            "matrix_center(TABLE(stream))",
            "matrix_add(TABLE(stream), TABLE(stream))",
            "matrix_validate(TABLE(stream))")) {
      assertFails(
          () -> sql(call), call.substring(0, call.indexOf('(')) + " of a streaming DataFrame");
    }
  }

  /** As PySpark and Connect call them: the tables and the numbers are parameters. */
  @Tag("versions")
  @Test
  void parametersOfStatements() {
    assertEquals(
        List.of(10.0),
        spark
            .sql(
                "SELECT values[3] FROM matrix_scale(TABLE(SELECT * FROM m WHERE row = :row), :by)"
                    + " WHERE sample = 'one'",
                Map.of("row", 2, "by", 2.0))
            .collectAsList()
            .stream()
            .map(row -> row.getDouble(0))
            .toList());
  }

  private static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }

  private static Dataset<Row> sql(String call) {
    return spark.sql("SELECT * FROM " + call);
  }
}
