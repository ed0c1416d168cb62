package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.junit.jupiter.api.Test;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.testing.SparkTest;

/** Calls of operators by name. */
class PythonCallsTest extends SparkTest {
  private static Dataset<Row> matrix() {
    return spark.sql(
        "SELECT 0L AS row, 2L * id AS col, 2 AS rows, 2 AS cols,"
            + " array(1D, 2D, 3D, 4D + id) AS values FROM range(2)");
  }

  private static List<Row> rows(Dataset<Row> blocks) {
    return blocks.sort("row", "col").collectAsList();
  }

  @Test
  void equalTheFunctionsOfSql() {
    matrix().createOrReplaceTempView("m");
    assertEquals(
        rows(spark.sql("SELECT * FROM matrix_scale(TABLE(m), alpha => 2.5)")),
        rows(PythonCalls.call("matrix_scale", List.of(matrix()), Map.of("alpha", 2.5))));
    assertEquals(
        rows(spark.sql("SELECT * FROM matrix_zip(TABLE(m), TABLE(m), 'a * b + s', s => 3)")),
        rows(
            PythonCalls.call(
                "matrix_zip",
                List.of(matrix(), matrix()),
                Map.of("expression", "a * b + s", "s", 3))));
  }

  @Test
  void errorsNameTheFunctionAsInSql() {
    Exception error =
        assertThrows(
            Exception.class,
            () -> PythonCalls.call("matrix_scale", List.of(matrix()), Map.of("alpha", "x")));
    assertTrue(error.getMessage().contains("matrix_scale: alpha"), error.getMessage());
  }

  /** Both operands are one DataFrame, whose blocks a projection made from those of a volume. */
  @Test
  void blocksBelowMayBeOfAnotherRank() {
    Dataset<Row> volume =
        spark
            .sql(
                "SELECT id AS x, 0L AS y, 0L AS z, 1 AS nx, 2 AS ny, 2 AS nz,"
                    + " array(1D, 2D, 3D, 4D) AS values FROM range(1)")
            .withMetadata("values", stated("1,2,2"));
    Dataset<Row> matrix =
        volume
            .selectExpr("y AS row", "z AS col", "ny AS rows", "nz AS cols", "values")
            .withMetadata("values", stated("2,2"));
    Dataset<Row> sum =
        PythonCalls.call("matrix_zip", List.of(matrix, matrix), Map.of("expression", "a + b"));
    assertEquals(List.of(2.0, 4.0, 6.0, 8.0), rows(sum).get(0).getList(4));
  }

  private static Metadata stated(String shape) {
    return new MetadataBuilder()
        .putString(ArrayMetadata.EXTENTS, shape)
        .putString(ArrayMetadata.BLOCK_SHAPE, shape)
        .build();
  }
}
