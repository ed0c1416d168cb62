package org.tilespark.spark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.apache.spark.sql.Row;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.testing.SparkTest;

/**
 * Operators over common tables whose extents nothing states: they are found while it is analysed.
 */
class CommonTablesTest extends SparkTest {
  private static final String M =
      "m AS (SELECT * FROM VALUES (0L, 0L, 1, 2, array(1D, 2D)) AS v(row, col, rows, cols, values)"
          + " UNION ALL SELECT 1L, 0L, 1, 2, array(3D, 4D))";

  @ParameterizedTest
  @ValueSource(
      strings = {
        "WITH " + M + " SELECT * FROM matrix_multiply(TABLE(m), TABLE(m))",
        "WITH "
            + M
            + ", n AS (SELECT * FROM m WHERE row >= 0)"
            + " SELECT * FROM matrix_multiply(TABLE(SELECT * FROM n), TABLE(m))",
        "WITH n AS (WITH "
            + M
            + " SELECT * FROM m)"
            + " SELECT * FROM matrix_multiply(TABLE(n), TABLE(n))",
        "WITH " + M + ", c AS (SELECT * FROM matrix_multiply(TABLE(m), TABLE(m))) SELECT * FROM c",
        "SELECT * FROM (WITH " + M + " SELECT * FROM matrix_multiply(TABLE(m), TABLE(m)))",
      })
  void extentsAreFound(String query) {
    List<Row> product =
        spark.sql("SELECT explode(values) AS v FROM (" + query + ") ORDER BY v").collectAsList();
    assertEquals(
        List.of(7.0, 10.0, 15.0, 22.0), product.stream().map(row -> row.getDouble(0)).toList());
  }
}
