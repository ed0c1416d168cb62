package org.tilespark.spark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** The operators as SQL users reach them. */
@Tag("versions")
class TableFunctionsTest extends SparkTest {
  private static final TestArray MATRIX = TestArray.matrix(ElementType.INT64, 14, 9, 4, 4);
  private static final TestArray VOLUME = TestArray.volume(ElementType.INT8, 5, 7, 6, 2, 4, 3);

  @BeforeAll
  static void views() {
    MATRIX.toDataFrame(spark, 2).createOrReplaceTempView("m");
    VOLUME.toDataFrame(spark, 2).createOrReplaceTempView("v");
  }

  @Test
  void positionalAndNamedArguments() {
    Permutation yzx = Permutation.parse("yzx");
    MATRIX.assertPermuted(Permutation.of(1, 0), sql("SELECT * FROM matrix_transpose(TABLE(m))"));
    MATRIX.assertPermuted(
        Permutation.of(1, 0), sql("SELECT * FROM matrix_transpose(input => TABLE(m))"));
    VOLUME.assertPermuted(yzx, sql("SELECT * FROM volume_permute(TABLE(v), 'yzx')"));
    VOLUME.assertPermuted(
        yzx, sql("SELECT * FROM volume_permute(axes => lower('YZX'), input => TABLE(v))"));
    VOLUME.assertPermuted(
        yzx,
        sql("SELECT * FROM volume_permute(TABLE(SELECT * FROM v WHERE x >= 0), 'yzx', '5,7,6')"));
  }

  @Test
  void nestedAndInCommonTableExpressions() {
    Dataset<Row> twice =
        sql(
            "WITH t AS (SELECT * FROM matrix_transpose(TABLE(m)))"
                + " SELECT * FROM matrix_transpose(TABLE(t)) WHERE row IN (SELECT row FROM m)");
    MATRIX.assertPermuted(Permutation.identity(2), twice);
    VOLUME.assertPermuted(
        Permutation.parse("zxy"),
        sql(
            "SELECT * FROM volume_permute(TABLE(SELECT * FROM volume_permute(TABLE(v), 'yzx')),"
                + " 'yzx')"));
  }

  @Test
  void dataFramesAsParametersAndViews() {
    MATRIX.assertPermuted(
        Permutation.of(1, 0),
        spark.sql(
            "SELECT * FROM matrix_transpose(TABLE(SELECT * FROM m WHERE row >= :least))",
            Map.of("least", 0)));
    sql("CREATE OR REPLACE TEMPORARY VIEW mt AS SELECT * FROM matrix_transpose(TABLE(m))");
    assertEquals(MATRIX.blockCount(), sql("SELECT * FROM mt a JOIN mt b USING (row, col)").count());
    assertEquals(
        9L * 14, sql("SELECT sum(rows * cols) FROM mt").first().getLong(0), "elements of the view");
  }

  /**
   * As the Thrift/JDBC server serves a connection: in a session and a thread of its own, all in SQL
   * text, the rows of one partition after the other.
   */
  @Test
  void sessionsOfConnections() throws Exception {
    ExecutorService connections = Executors.newFixedThreadPool(2);
    try {
      List<Future<?>> done = new ArrayList<>();
      for (int c = 1; c <= 2; c++) {
        int scale = c;
        done.add(connections.submit(() -> connection(spark.newSession(), scale)));
      }
      for (Future<?> connection : done) {
        connection.get();
      }
    } finally {
      connections.shutdownNow();
    }
    assertFails(() -> sql("SELECT * FROM served"), "TABLE_OR_VIEW_NOT_FOUND");
  }

  /** Views of the same names as in the other connection, with other values. */
  private static void connection(SparkSession session, int scale) {
    session.sql(
        "CREATE TEMPORARY VIEW served AS SELECT 0L AS row, 0L AS col, 2 AS rows, 3 AS cols,"
            + " transform(array(1D, 2D, 3D, 4D, 5D, 6D), e -> e * "
            + scale
            + ") AS values");
    session.sql(
        "CREATE TEMPORARY VIEW cube AS SELECT 0L AS x, 0L AS y, 0L AS z, 2 AS nx, 1 AS ny, 3 AS nz,"
            + " transform(array(1D, 2D, 3D, 4D, 5D, 6D), e -> e * "
            + scale
            + ") AS values");
    assertEquals(
        values(scale, 1, 4, 2, 5, 3, 6), fetched(session, "matrix_transpose(TABLE(served))"));
    assertEquals(
        values(scale * scale, 14, 32, 32, 77),
        fetched(session, "matrix_multiply(TABLE(served), TABLE(served), transposeB => true)"));
    assertEquals(
        values(scale, 1, 4, 2, 5, 3, 6), fetched(session, "volume_permute(TABLE(cube), 'zyx')"));
    assertEquals(
        values(scale, 5, 7, 9, -3, -3, -3), fetched(session, "volume_fft(TABLE(cube), 'x')"));
    assertFails(
        () -> fetched(session, "volume_fft(TABLE(cube), 'xw')"), "axes is 'xw'; expected some of");
  }

  private static List<Double> values(int scale, int... values) {
    return Arrays.stream(values).mapToObj(value -> (double) scale * value).toList();
  }

  private static List<Double> fetched(SparkSession session, String function) {
    List<Double> values = new ArrayList<>();
    session
        .sql("SELECT values FROM " + function)
        .toLocalIterator()
        .forEachRemaining(block -> values.addAll(block.getList(0)));
    return values.stream().map(value -> Math.rint(value * 1e9) / 1e9).toList(); // of transforms
  }

  /** In each function with a table, and each of its tables. */
  @Test
  void clausesThatDealRowsOutAreRefused() {
    for (TableFunctions function : TableFunctions.values()) {
      for (Parameter<?> table : function.parameters()) {
        if (Tables.isTable(table)) {
          String call =
              "SELECT * FROM " + function.sqlName() + "(" + table.name() + " => TABLE(m) ";
          String text =
              reasonOf(() -> sql(call + "PARTITION BY (row % 2, col) ORDER BY col DESC)"));
          assertTrue(
              text.startsWith(
                  function.sqlName() + ": table " + table.name() + " has PARTITION BY (row % 2)"),
              text);
          assertTrue(text.contains("ORDER BY col DESC"), text);
          assertTrue(text.contains("expected the table alone"), text);
        }
      }
    }
    assertFails(
        () -> sql("SELECT * FROM matrix_gram(TABLE(m) PARTITION BY nosuch)"),
        "TILESPARK_INVALID_ARGUMENT",
        "matrix_gram: table a has PARTITION BY nosuch",
        "TABLE(SELECT *, nosuch AS part FROM ...)");
    assertFails(
        () -> sql("SELECT * FROM matrix_gram(TABLE(m) WITH SINGLE PARTITION ORDER BY row)"),
        "matrix_gram: table a has WITH SINGLE PARTITION ORDER BY row");
  }

  @Test
  void describedToTheUser() {
    String text = sql("DESCRIBE FUNCTION volume_permute").collectAsList().toString();
    assertTrue(text.contains("volume_permute(TABLE(input), axes [, extents])"), text);
    assertTrue(text.contains("Y(j,k,i) = X(i,j,k)"), text);
  }

  private static Dataset<Row> sql(String text) {
    return spark.sql(text);
  }
}
