package org.tilespark.spark.permute;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Errors of transpose and permute about wrong blocks. */
class BadBlocksTest extends SparkTest {
  private static final TestArray MATRIX = TestArray.matrix(ElementType.FLOAT32, 8, 12, 4, 6);

  /** One defect in the block at row 4, col 6; all others stay good. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          values | slice(values, 1, 10) | values has 10 elements; expected rows x cols = 4 x 6 = 24
          values | CAST(NULL AS ARRAY<FLOAT>) | values is null; expected 24 elements
          values | transform(values, (v, i) -> IF(i = 5, NULL, v)) | values has a null at element 5
          rows | CAST(NULL AS INT) | rows is null; expected a count of elements
          rows | 0 | rows is 0; expected 1 or more
          cols | -6 | cols is -6; expected 1 or more
          rows | 5 | values has 24 elements; expected rows x cols = 5 x 6 = 30
          """)
  void aBlockIsNamedWithWhatWasFound(String column, String value, String message) {
    for (Dataset<Row> df : rowsAndBatches(column, value)) {
      assertFails(
          () -> MatrixBlocks.transpose(df).collectAsList(),
          "block at row 4, col 6: " + message,
          "matrix_transpose");
    }
  }

  @Test
  void badPlaces() {
    assertFails(
        () -> MatrixBlocks.transpose(broken("row", "-4L")).collectAsList(),
        "block at row -4, col 6: row is -4; expected 0 or more");
    assertFails(
        () -> MatrixBlocks.transpose(broken("col", "9223372036854775807L")).collectAsList(),
        "the block would end beyond 2^63 - 1");
    assertFails(
        () -> MatrixBlocks.transpose(broken("col", "CAST(NULL AS BIGINT)")).collectAsList(),
        "a matrix block has a null col",
        "Found row 4 col null");
  }

  @Test
  void staleExtentsAreNamedWithTheWayOut() {
    Dataset<Row> stale = MatrixBlocks.withExtents(MATRIX.toDataFrame(spark, 2), 8, 10);
    assertFails(
        () -> MatrixBlocks.transpose(stale).collectAsList(),
        "it ends at col 12, the column metadata tilespark.extents says [8, 10]",
        "withExtents(df, ...)");
    MATRIX.assertPermuted(
        org.tilespark.layout.Permutation.of(1, 0),
        MatrixBlocks.transpose(MatrixBlocks.withoutExtents(stale)));
    stale.createOrReplaceTempView("stale");
    assertFails(
        () -> spark.sql("SELECT * FROM matrix_transpose(TABLE(stale))").collectAsList(), "[8, 10]");
    for (String extents : new String[] {"unknown", "8,12"}) {
      MATRIX.assertPermuted(
          org.tilespark.layout.Permutation.of(1, 0),
          spark.sql("SELECT * FROM matrix_transpose(TABLE(stale), extents => '" + extents + "')"));
    }
    assertFails(
        () -> spark.sql("SELECT * FROM matrix_transpose(TABLE(stale), '8 by 12')"),
        "matrix_transpose: extents is '8 by 12'; expected 2 whole numbers");
  }

  @Test
  void badSchemas() {
    Dataset<Row> df = MATRIX.toDataFrame(spark, 1);
    assertFails(
        () -> MatrixBlocks.transpose(df.drop("cols")),
        "MatrixBlocks.transpose: the input has no column cols",
        "row BIGINT, col BIGINT, rows INT, cols INT, values ARRAY<T>",
        "found (row BIGINT, col BIGINT, rows INT, values ARRAY<FLOAT>, tag STRING)");
    assertFails(
        () -> MatrixBlocks.transpose(spark.sql("SELECT 'a' AS id, array(1f) AS v")),
        "found (id STRING, v ARRAY<FLOAT>); fromRows, matrix_from_rows in SQL, makes matrix"
            + " blocks");
    assertFails(
        () -> MatrixBlocks.transpose(df.withColumn("row", col("row").cast("int"))),
        "column row is INT; expected BIGINT (CAST it)");
    assertFails(
        () -> MatrixBlocks.transpose(df.withColumn("values", col("values").cast("array<string>"))),
        "column values is ARRAY<STRING>; expected an ARRAY of TINYINT, SMALLINT");
    assertFails(
        () ->
            MatrixBlocks.transpose(
                df.withColumn("values", col("values").cast("array<decimal(9,2)>"))),
        "column values is ARRAY<DECIMAL(9,2)>");
    assertFails(
        () -> MatrixBlocks.transpose(df.withColumn("values", lit(1.5))), "column values is DOUBLE");
    assertFails(
        () -> MatrixBlocks.transpose(df.withColumn("imag", col("values").cast("array<double>"))),
        "column imag is ARRAY<DOUBLE>, values is ARRAY<FLOAT>");
    assertFails(
        () -> MatrixBlocks.transpose(df.select(col("*"), col("row").as("ROW"))),
        "the input has two columns row");
    assertFails(
        () -> VolumeBlocks.permute(df, "yzx"), "the input has no column x; volume blocks are");
    assertFails(
        () -> VolumeBlocks.permute(df, "yzz"),
        "VolumeBlocks.permute: axes is 'yzz'; expected each of x, y, z once, by letter or number");
  }

  @Test
  void namesThatDifferInCaseWhereSparkTellsThem() {
    Dataset<Row> df = MATRIX.toDataFrame(spark, 1);
    with(
        Map.of("spark.sql.caseSensitive", "true"),
        () -> {
          Dataset<Row> both = df.select(lit("Row").as("Row"), lit("VALUES").as("VALUES"), col("*"));
          assertEquals(
              MatrixBlocks.transpose(df).orderBy("row", "col").collectAsList(),
              MatrixBlocks.transpose(both)
                  .drop("Row", "VALUES")
                  .orderBy("row", "col")
                  .collectAsList());
          assertEquals(MatrixBlocks.validate(df).count(), MatrixBlocks.validate(both).count());
          Dataset<Row> upper = df.withColumnRenamed("row", "ROW");
          assertEquals(df.count(), MatrixBlocks.transpose(upper).count());
        });
  }

  @Test
  void badArgumentsInSql() {
    makeViews();
    assertSqlFails(
        "matrix_transpose()",
        "matrix_transpose: argument input is missing; expected matrix_transpose(TABLE(input) [,"
            + " extents])");
    assertSqlFails("matrix_transpose(1)", "input is 1; expected a table, as TABLE(name)");
    assertSqlFails("matrix_transpose(TABLE(v))", "the input has no column row");
    assertSqlFails("volume_permute(TABLE(v))", "argument axes is missing");
    assertSqlFails(
        "volume_permute(TABLE(v), NULL)", "axes is NULL; expected constant axes, as 'yzx'");
    assertSqlFails(
        "volume_permute(TABLE(v), 'abc')", "volume_permute: axes is 'abc'; expected each");
    assertSqlFails(
        "volume_permute(TABLE(v), 'yzx', '4,4,4', 1)", "found 4 arguments; expected at most 3");
    assertSqlFails(
        "volume_permute(TABLE(v), order => 'yzx')",
        "there is no parameter order; expected input, axes, extents");
    assertSqlFails(
        "volume_permute(TABLE(v), 'yzx', axes => 'yzx')", "parameter axes is given twice");
    assertSqlFails("volume_permute(axes => 'yzx', Axes => 'yzx')", "parameter axes is given twice");
    assertSqlFails(
        "volume_permute(TABLE(v), axis => 'yzx')",
        "there is no parameter axis; expected input, axes, extents; did you mean 'axes'?");
    assertSqlFails(
        "volume_fft(TABLE(v), pad_to => '8')", "expected input, axes", "did you mean 'padTo'?");
  }

  private static void makeViews() {
    MATRIX.toDataFrame(spark, 1).createOrReplaceTempView("m");
    TestArray.volume(ElementType.INT32, 4, 4, 4, 2, 2, 2)
        .toDataFrame(spark, 1)
        .createOrReplaceTempView("v");
  }

  @Test
  void argumentsOfWrongTypes() {
    makeViews();
    assertSqlFails(
        "volume_permute(TABLE(v), TABLE(v))",
        "volume_permute: axes is a table; expected tables for input only");
    assertSqlFails(
        "matrix_multiply(TABLE(v), TABLE(v), TABLE(v))",
        "transposeA is a table; expected tables for a and b only");
    assertSqlFails("matrix_multiply(TABLE(v))", "argument b is missing");
    assertSqlFails("matrix_gram(TABLE(v), blockShape => TABLE(v))", "blockShape is a table");
    assertSqlFails("matrix_multiply(TABLE(v), 'x')", "expected a table, as TABLE(name)");
    assertSqlFails(
        "volume_permute(TABLE(v), array(array(0)))", "axes is array(array(0)); expected constant");
    assertSqlFails(
        "volume_permute(TABLE(v), map('yzx', 1))", "axes is map('yzx', 1); expected constant axes");
    assertSqlFails("volume_reblock(TABLE(v), 2.5, 1, 1)", "nx is 2.5BD; expected a constant whole");
    assertSqlFails(
        "volume_reblock(TABLE(v), 1, true, 1)", "ny is true; expected a constant whole number");
    assertSqlFails(
        "volume_low_pass(TABLE(v), 'far')", "cutoff is 'far'; expected a constant number");
    assertSqlFails(
        "volume_low_pass(TABLE(v), array(1))", "cutoff is array(1); expected a constant");
  }

  private static void assertSqlFails(String call, String... parts) {
    assertFails(() -> spark.sql("SELECT * FROM " + call), parts);
  }

  private static Dataset<Row> broken(String column, String value) {
    Column defect = expr("row = 4 AND col = 6");
    return MATRIX
        .toDataFrame(spark, 2)
        .withColumn(
            column,
            org.apache.spark.sql.functions.when(defect, expr(value)).otherwise(col(column)));
  }

  /** The broken frame as rows, and as Parquet's columnar batches. */
  private static Iterable<Dataset<Row>> rowsAndBatches(String column, String value) {
    Dataset<Row> rows = broken(column, value);
    String path =
        java.nio.file.Path.of(System.getProperty("java.io.tmpdir"), "bad.parquet").toString();
    rows.write().mode("overwrite").parquet(path);
    return java.util.List.of(rows, spark.read().parquet(path));
  }
}
