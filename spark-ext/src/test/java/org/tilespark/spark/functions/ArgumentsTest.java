package org.tilespark.spark.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestField;

/** Numbers, booleans, texts and arrays as arguments of the SQL functions. */
class ArgumentsTest extends SparkTest {
  private static final TestField FIELD = TestField.random(1, false, 4, 6, 5);

  @BeforeAll
  static void views() {
    FIELD.blocks(spark, ElementType.FLOAT64, false, 2, 6, 5).createOrReplaceTempView("v");
    spark
        .sql(
            "SELECT 0L AS row, 2L * id AS col, 2 AS rows, 2 AS cols,"
                + " array(1D, 2D, 3D, 4D + id) AS values FROM range(2)")
        .createOrReplaceTempView("m");
  }

  /** Every way to say yzx, and some other orders with numbers from the end. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "yzx | 'yzx'",
        "yzx | 'YZX'",
        "yzx | ' y z x '",
        "yzx | 'y,z,x'",
        "yzx | '1,2,0'",
        "yzx | ' 1, 2, 0 '",
        "yzx | array(1, 2, 0)",
        "yzx | array(1L, 2L, 0L)",
        "yzx | array('y', 'z', 'x')",
        "yzx | array('1', '-1', 'x')",
        "zyx | '-1,-2,-3'",
        "zxy | array(-1, 0, 1)",
        "zxy | concat('z', 'xy')",
        "xzy | nvl('xzy', 'x')",
        "xzy | IF(1 > 0, lower('XZY'), 'x')",
      })
  void axesAreLettersOrNumbers(String order, String argument) {
    assertEquals(
        elements(FIELD.permuted(Permutation.parse(order).toArray())),
        elements(
            TestField.of(
                sql("volume_permute(TABLE(v), axes => " + argument + ")"),
                FIELD.permuted(Permutation.parse(order).toArray()).shape())));
  }

  private static List<Double> elements(TestField field) {
    List<Double> elements = new ArrayList<>();
    for (double element : field.re()) {
      elements.add(element);
    }
    return elements;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "'xxy'",
        "'xy'",
        "'abc'",
        "'0,1,3'",
        "'0,1,-4'",
        "'0,1,1'",
        "'0,-1,2'",
        "'x,,y,z'",
        "'x,y,z,'",
        "''",
        "120",
        "array()",
        "array(0, 1)",
        "array(0, 1, 2, 0)",
        "array(0.5, 1, 2)",
      })
  void ordersThatAreNone(String argument) {
    assertFails(
        () -> sql("volume_permute(TABLE(v), axes => " + argument + ")"),
        "volume_permute: axes is ",
        "expected each of x, y, z once, by letter or number, as 'yzx' or '1,2,0'");
  }

  @Test
  void oneAxis() {
    for (String axis : List.of("'y'", "'Y'", "1", "'1'", "-2", "'-2'", "1L", "1Y")) {
      List<Row> slabs =
          sql("volume_slabs(TABLE(v), axis => " + axis + ", thickness => '4')")
              .orderBy("y")
              .collectAsList();
      assertEquals(2, slabs.size(), axis);
      assertEquals(4, slabs.get(0).<Integer>getAs("ny"), axis);
      assertEquals(4, slabs.get(0).<Integer>getAs("nx"), axis);
    }
    assertEquals(4, sql("volume_pencils(TABLE(v), axis => -1, first => 2, second => '5')").count());
  }

  @Test
  void axesOfTransforms() {
    for (String axes : List.of("'yz'", "'1,2'", "array(1, 2)", "array('y', '-1')", "'-2,-1'")) {
      TestField.of(sql("volume_fft(TABLE(v), axes => " + axes + ", real => true)"), 4, 6, 3)
          .assertNear(FIELD.fft("yz").half(2), ElementType.FLOAT64, axes);
    }
    for (String axis : List.of("2", "'z'", "-1", "array(2)")) {
      Dataset<Row> spectrum = sql("volume_fft(TABLE(v), axes => " + axis + ")");
      TestField.of(spectrum, 4, 6, 5).assertNear(FIELD.fft("z"), ElementType.FLOAT64, axis);
      spectrum.createOrReplaceTempView("spectrum_of_z");
      TestField.of(sql("volume_ifft(TABLE(spectrum_of_z), axes => " + axis + ")"), 4, 6, 5)
          .assertNear(FIELD, ElementType.FLOAT64, axis);
    }
    for (String axes : List.of("'xw'", "'3'", "array(0, 0)", "array(0, -3)", "4", "'x,'")) {
      assertFails(
          () -> sql("volume_fft(TABLE(v), axes => " + axes + ")"),
          "volume_fft: axes is '",
          "expected some of x, y and z, each once, by letter or number, as 'yz' or '1,2'");
    }
  }

  @Test
  void listsAreTextsOrArrays() {
    for (String shape : List.of("'1,3'", "' 1, 3 '", "array(1, 3)", "array('1', '3')")) {
      List<Row> product =
          sql("matrix_multiply(TABLE(m), TABLE(m), transposeA => true, blockShape => "
                  + shape
                  + ")")
              .orderBy("row", "col")
              .collectAsList();
      assertEquals(8, product.size(), shape);
      assertEquals(3, product.get(0).<Integer>getAs("cols"), shape);
    }
    for (String extents :
        List.of("'2,4'", "array(2, 4)", "array(2L, 4L)", "'unknown'", "'UNKNOWN'")) {
      assertEquals(2, sql("matrix_transpose(TABLE(m), extents => " + extents + ")").count());
    }
    assertFails(
        () -> sql("matrix_transpose(TABLE(m), array(2, 3))").collectAsList(),
        "the column metadata tilespark.extents says [2, 3]");
    Dataset<Row> padded =
        sql(
            "volume_fft(TABLE(v), axes => array(0, 1), padTo => array('none', '8'), window =>"
                + " array('none', 'hann'), spacing => array(0.5, 2))");
    assertEquals(8, padded.first().<Integer>getAs("ny"));
    padded.createOrReplaceTempView("padded");
    assertEquals(
        List.of(0.5, 0.0625),
        sql("volume_frequencies(TABLE(padded))")
            .where("index = 1")
            .orderBy("axis")
            .selectExpr("frequency")
            .collectAsList()
            .stream()
            .map(row -> row.getDouble(0))
            .toList());
    assertEquals(
        9,
        sql("volume_fft(TABLE(v), 'z', padTo => 9, spacing => 0.1)").first().<Integer>getAs("nz"));
  }

  @Test
  void numbersAndBooleans() {
    for (String alpha :
        List.of("0.5", "' 0.5 '", "5e-1", "0.5D", "0.5F", "CAST(0.5 AS DECIMAL(3,2))")) {
      assertEquals(
          List.of(0.5, 1.0, 1.5, 2.0),
          sql("matrix_scale(TABLE(m), alpha => " + alpha + ")").where("col = 0").first().getList(4),
          alpha);
    }
    for (String flag : List.of("true", "'true'", "' TRUE '", "1 = 1")) {
      assertEquals(
          4, sql("matrix_multiply(TABLE(m), TABLE(m), transposeA => " + flag + ")").count(), flag);
    }
    for (String rows : List.of("1", "' 1 '", "1L", "1S", "1Y", "2 - 1")) {
      assertEquals(
          2, sql("matrix_reblock(TABLE(m), rows => " + rows + ", cols => 4)").count(), rows);
    }
    spark.sql("DECLARE OR REPLACE VARIABLE factor DOUBLE DEFAULT 3");
    assertEquals(
        List.of(3.0, 6.0, 9.0, 12.0),
        sql("matrix_scale(TABLE(m), factor)").where("col = 0").first().getList(4));
    spark.sql("DROP TEMPORARY VARIABLE factor");
    assertEquals(
        List.of(-1.0, -2.0, -3.0, -4.0),
        spark
            .sql("SELECT * FROM matrix_scale(TABLE(m), :alpha)", Map.of("alpha", -1))
            .where("col = 0")
            .first()
            .getList(4));
  }

  /** The message names the function, the parameter, what was found and what is expected. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "matrix_scale(TABLE(m), 'a lot') | alpha is 'a lot'; expected a constant number, as 0.5",
        "matrix_scale(TABLE(m), true) | alpha is true; expected a constant number",
        "matrix_scale(TABLE(m), array(1)) | alpha is array(1); expected a constant number",
        "matrix_scale(TABLE(m), NULL) | alpha is NULL; expected a constant number",
        "matrix_scale(TABLE(m), (SELECT 1)) | alpha is scalarsubquery(); expected a constant number",
        "matrix_scale(TABLE(m), rand()) | alpha is rand(); expected a constant number",
        "matrix_scale(TABLE(m), DATE'2020-01-01') | alpha is DATE '2020-01-01'; expected a constant",
        "matrix_scale(TABLE(m), X'01') | alpha is X'01'; expected a constant number",
        "matrix_scale(TABLE(m)) | argument alpha is missing; expected matrix_scale(TABLE(a), alpha [,",
        "matrix_scale(1, 1) | a is 1; expected a table, as TABLE(name) or TABLE(SELECT ...)",
        "matrix_reblock(TABLE(m), 2.5, 1) | rows is 2.5BD; expected a constant whole number, as 4",
        "matrix_reblock(TABLE(m), 1, '1.0') | cols is '1.0'; expected a constant whole number",
        "matrix_reblock(TABLE(m), 1, 9223372036854775808) | cols is 9223372036854775808BD; expected",
        "matrix_multiply(TABLE(m), TABLE(m), 1) | transposeA is 1; expected true or false",
        "matrix_multiply(TABLE(m), TABLE(m), 'yes') | transposeA is 'yes'; expected true or false",
        "matrix_gram(TABLE(m), blockShape => map(1, 2)) | blockShape is map(1, 2); expected a constant",
        "matrix_gram(TABLE(m), blockShape => array(1, NULL)) | blockShape is array(1, CAST(NULL AS INT)); expected",
        "matrix_gram(TABLE(m), blockShape => array(1, 2, 3)) | matrix_gram: blockShape is '1,2,3'; expected 2 whole",
        "matrix_gram(TABLE(m), precision => array('full')) | precision is array('full'); expected a",
        "matrix_center(TABLE(m), extents => DATE'2020-01-01') | extents is DATE '2020-01-01'; expected",
        "matrix_center(TABLE(m), extents => '1,b') | extents is '1,b'; expected 2 whole numbers",
        "matrix_with_extents(TABLE(m)) | argument extents is missing; expected matrix_with_extents(",
        "volume_slabs(TABLE(v), 3) | volume_slabs: axis is '3'; expected one of x, y, z, or a number",
        "volume_slabs(TABLE(v), array(1)) | axis is array(1); expected a constant axis, as 'y' or 1",
        "volume_slabs(TABLE(v), 'xy') | axis is 'xy'; expected one of x, y, z, or a number from -3 to 2",
        "volume_slabs(TABLE(v), 'x', true) | thickness is true; expected a constant whole number",
      })
  void wrongTypesNameTheParameter(String call, String message) {
    assertFails(() -> sql(call), message);
  }

  private static Dataset<Row> sql(String call) {
    return spark.sql("SELECT * FROM " + call);
  }
}
