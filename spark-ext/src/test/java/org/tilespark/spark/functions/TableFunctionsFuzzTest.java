package org.tilespark.spark.functions;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.code_intelligence.jazzer.junit.DictionaryEntries;
import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.error.TileSparkThrowable;

/**
 * Any text as the arguments of the SQL functions: a plan, Spark's own error, or ours that names the
 * function. The first byte chooses the function.
 */
class TableFunctionsFuzzTest {
  /** Views with stated extents, so that no query runs while arguments are read. */
  private static final String M =
      "SELECT 0L AS row, 0L AS col, 2 AS rows, 2 AS cols, array(1f, 2f, 3f, 4f) AS values";

  private static final String V =
      "SELECT 0L AS x, 0L AS y, 0L AS z, 1 AS nx, 1 AS ny, 1 AS nz, array(1Y) AS values";

  private static SparkSession spark;

  static Stream<Arguments> seeds() {
    return Stream.of(
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(m)"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(m), '2,2'"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "input => TABLE(m), extents => '3,2'"),
            seed(
                TableFunctions.MATRIX_TRANSPOSE,
                "TABLE(m), extents => '9223372036854775807,9223372036854775807'"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(m), TABLE(m)"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(m), NULL"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(m), array('2,2')"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(m), extents => rand()"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(m), extents => (SELECT '2,2')"),
            seed(
                TableFunctions.MATRIX_TRANSPOSE, "TABLE(SELECT * FROM matrix_transpose(TABLE(m)))"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "1, 2"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(v)"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(m) PARTITION BY row"),
            seed(TableFunctions.MATRIX_TRANSPOSE, "TABLE(nosuchview)"),
            seed(TableFunctions.MATRIX_MULTIPLY, "TABLE(m), TABLE(m), '2,2', '2,2'"),
            seed(
                TableFunctions.MATRIX_MULTIPLY,
                "TABLE(m), TABLE(m), strategy => 'cuboid(1,2,1)', extentsA => '2,2', extentsB => '2,2'"),
            seed(
                TableFunctions.MATRIX_MULTIPLY,
                "a => TABLE(m), b => TABLE(m), precision => CAST(NULL AS STRING)"),
            seed(
                TableFunctions.MATRIX_MULTIPLY,
                "TABLE(m), TABLE(m), extentsA => '2,2', extentsB => '3,3', missing => 'zero'"),
            seed(
                TableFunctions.MATRIX_MULTIPLY,
                "TABLE(m), TABLE(m), transposeA => true, extentsA => '2,2', extentsB => '2,2'"),
            seed(TableFunctions.MATRIX_GRAM, "TABLE(m), strategy => 'broadcast', extents => '2,2'"),
            seed(TableFunctions.MATRIX_GRAM, "TABLE(m), extents => '-1,2'"),
            seed(TableFunctions.MATRIX_REBLOCK, "TABLE(m), 1, 1"),
            seed(TableFunctions.MATRIX_REBLOCK, "TABLE(m), 0, 1"),
            seed(
                TableFunctions.MATRIX_REBLOCK,
                "TABLE(m), 9223372036854775807, 9223372036854775807"),
            seed(TableFunctions.MATRIX_REBLOCK, "TABLE(m), -2147483648, '1'"),
            seed(TableFunctions.MATRIX_REBLOCK, "TABLE(m), 1 + 1, 3 / 2"),
            seed(TableFunctions.MATRIX_REBLOCK, "TABLE(m), 1, 1, 'maybe', '2,2'"),
            seed(TableFunctions.MATRIX_REBLOCK, "TABLE(m), 1, 1, extents => '0,0'"),
            seed(TableFunctions.VOLUME_PERMUTE, "TABLE(v), 'yzx'"),
            seed(TableFunctions.VOLUME_PERMUTE, "TABLE(v), axes => 'zyx', extents => '1,1,1'"),
            seed(TableFunctions.VOLUME_PERMUTE, "TABLE(v), 'xxy'"),
            seed(TableFunctions.VOLUME_PERMUTE, "TABLE(v), 1"),
            seed(TableFunctions.VOLUME_PERMUTE, "'yzx', TABLE(v)"),
            seed(TableFunctions.VOLUME_PERMUTE, "TABLE(v), array(-1, 0, 1)"),
            seed(TableFunctions.VOLUME_PERMUTE, "TABLE(v), '1,2,0'"),
            seed(
                TableFunctions.VOLUME_SLABS,
                "TABLE(v), -1, thickness => '1', extents => array(1, 1, 1)"),
            seed(
                TableFunctions.VOLUME_FFT,
                "TABLE(v), axes => array('z'), padTo => 4, real => 'true'"),
            seed(TableFunctions.MATRIX_SCALE, "TABLE(m), alpha => 1e400"),
            seed(TableFunctions.MATRIX_SCALE, "TABLE(m), X'00'"),
            seed(TableFunctions.MATRIX_ADD, "TABLE(m), TABLE(m), missing => nvl(NULL, 'zero')"),
            seed(TableFunctions.MATRIX_CENTER, "TABLE(m), array()"),
            seed(TableFunctions.VOLUME_VALIDATE, "TABLE(m), extents => array(array(1))"),
            seed(TableFunctions.MATRIX_WITH_EXTENTS, "TABLE(m), array(2, CAST(NULL AS INT))"))
        .map(text -> Arguments.of((Object) text.getBytes(StandardCharsets.UTF_8)));
  }

  private static String seed(TableFunctions function, String arguments) {
    return (char) ('0' + function.ordinal()) + arguments;
  }

  @DictionaryEntries({
    "TABLE(m)",
    "TABLE(v)",
    "extents => '2,2'",
    ", '2,2'",
    "extentsA => '",
    "extentsB => '",
    "NULL",
    "strategy => '",
    "transposeB => '",
    "missing => '",
    "precision => '",
    "blockShape => '",
    "array(",
    "axes => ",
    "=>"
  })
  @MethodSource("seeds")
  @FuzzTest
  void anyArgumentsAreAPlanOrRefused(byte[] bytes) {
    if (bytes.length == 0) {
      return;
    }
    TableFunctions[] functions = TableFunctions.values();
    TableFunctions function = functions[Math.floorMod(bytes[0] - '0', functions.length)];
    String arguments = new String(bytes, 1, bytes.length - 1, StandardCharsets.UTF_8);
    try {
      spark().sql("SELECT * FROM " + function.sqlName() + "(" + arguments + ")");
    } catch (Throwable t) {
      requireClear(t, function, arguments);
    }
  }

  private static void requireClear(Throwable thrown, TableFunctions function, String arguments) {
    if (thrown instanceof TileSparkThrowable ours && ours.condition().isWrongInput()) {
      // Options are named in the words in which they were given; arguments may call any function.
      assertTrue(!ours.reason().isBlank(), arguments);
      return;
    }
    if (!(thrown instanceof TileSparkThrowable)
        && thrown instanceof SparkThrowable spark
        && !"INTERNAL_ERROR".equals(spark.getCondition())) {
      return; // the parser, the analyzer, or a constant that fails
    }
    fail("arguments '" + arguments + "' of " + function, thrown);
  }

  private static SparkSession spark() {
    if (spark == null) {
      spark =
          SparkSession.builder()
              .master("local[1]")
              .config("spark.ui.enabled", "false")
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.driver.host", "127.0.0.1")
              .config("spark.sql.extensions", TileSparkExtensions.class.getName())
              .config("spark.sql.shuffle.partitions", "1")
              .getOrCreate();
      spark.sql(M).createOrReplaceTempView("m");
      spark.sql(V).createOrReplaceTempView("v");
    }
    return spark;
  }

  @AfterAll
  static void stop() {
    if (spark != null) {
      spark.stop();
      spark = null;
    }
  }
}
