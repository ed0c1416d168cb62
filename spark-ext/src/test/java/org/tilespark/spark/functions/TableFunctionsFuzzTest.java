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
            "0TABLE(m)",
            "0TABLE(m), '2,2'",
            "0input => TABLE(m), extents => '3,2'",
            "0TABLE(m), extents => '9223372036854775807,9223372036854775807'",
            "0TABLE(m), TABLE(m)",
            "0TABLE(m), NULL",
            "0TABLE(m), array('2,2')",
            "0TABLE(m), extents => rand()",
            "0TABLE(m), extents => (SELECT '2,2')",
            "0TABLE(SELECT * FROM matrix_transpose(TABLE(m)))",
            "01, 2",
            "0TABLE(v)",
            "0TABLE(m) PARTITION BY row",
            "0TABLE(nosuchview)",
            "1TABLE(m), TABLE(m), '2,2', '2,2'",
            "1TABLE(m), TABLE(m), strategy => 'cuboid(1,2,1)', extentsA => '2,2', extentsB => '2,2'",
            "1a => TABLE(m), b => TABLE(m), precision => CAST(NULL AS STRING)",
            "1TABLE(m), TABLE(m), extentsA => '2,2', extentsB => '3,3', missing => 'zero'",
            "1TABLE(m), TABLE(m), transposeA => true, extentsA => '2,2', extentsB => '2,2'",
            "2TABLE(m), strategy => 'broadcast', extents => '2,2'",
            "2TABLE(m), extents => '-1,2'",
            "3TABLE(m), 1, 1",
            "3TABLE(m), 0, 1",
            "3TABLE(m), 9223372036854775807, 9223372036854775807",
            "3TABLE(m), -2147483648, '1'",
            "3TABLE(m), 1 + 1, 3 / 2",
            "3TABLE(m), 1, 1, 'maybe', '2,2'",
            "3TABLE(m), 1, 1, extents => '0,0'",
            "4TABLE(v), 'yzx'",
            "4TABLE(v), axes => 'zyx', extents => '1,1,1'",
            "4TABLE(v), 'xxy'",
            "4TABLE(v), 1",
            "4'yzx', TABLE(v)")
        .map(text -> Arguments.of((Object) text.getBytes(StandardCharsets.UTF_8)));
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
