package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;

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
            "SELECT * FROM volume_permute(TABLE(SELECT * FROM volume_permute(TABLE(v), 'yzx')), 'yzx')"));
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

  @Test
  void describedToTheUser() {
    String text = sql("DESCRIBE FUNCTION volume_permute").collectAsList().toString();
    assertTrue(text.contains("volume_permute(TABLE(v), axes [, extents])"), text);
    assertTrue(text.contains("Y(j,k,i) = X(i,j,k)"), text);
  }

  private static Dataset<Row> sql(String text) {
    return spark.sql(text);
  }
}
