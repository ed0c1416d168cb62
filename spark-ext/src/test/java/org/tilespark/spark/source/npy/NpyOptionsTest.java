package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.testing.SparkTest;

/** Options of format npy from every place that passes some, and Spark's own among them. */
class NpyOptionsTest extends SparkTest {
  private static final NpyFixture FIXTURE = new NpyFixture("i4", 7, 5);

  @TempDir Path dir;
  private Path source;

  @BeforeEach
  void source() {
    source = Path.of(NpyFixture.write(dir.resolve("source.npy"), FIXTURE.canonical()));
    read().createOrReplaceTempView("source");
  }

  @AfterEach
  void dropTables() {
    spark.sql("DROP TABLE IF EXISTS t");
    spark.catalog().dropTempView("v");
    spark.catalog().dropTempView("source");
  }

  private Dataset<Row> read() {
    return spark.read().format("npy").option("blockShape", "3,3").load(source.toString());
  }

  private static String refusal(Executable action) {
    return reasonOf(action);
  }

  private static void refusesShape(Executable action) {
    assertEquals(
        "format npy has no option blockshap, it has path, blockShape, as, dtype, extents, durable;"
            + " did you mean 'blockShape'?",
        refusal(action).replaceAll("(?i)blockshap,", "blockshap,"));
  }

  @Test
  void readersRefuseUnknownOptions() {
    String path = source.toString();
    refusesShape(() -> spark.read().format("npy").option("blockShap", "3,3").load(path));
    refusesShape(
        () -> spark.read().format("npy").schema(read().schema()).option("BlockShap", 1).load(path));
    refusesShape(
        () -> spark.read().format("npy").options(Map.of("path", path, "blockShap", "1")).load());
  }

  @Test
  void writersRefuseUnknownOptions() {
    String path = dir.resolve("out.npy").toString();
    String message =
        refusal(() -> read().write().format("npy").option("dtypes", "float32").save(path));
    assertTrue(message.contains("no option dtypes, it has path"), message);
    assertTrue(message.endsWith("; did you mean 'dtype'?"), message);
    assertFalse(Files.exists(Path.of(path)));
    // What only the other direction uses is no mistake: one map of options may serve both.
    read().write().format("npy").option("blockShape", "2,2").option("dtype", "int64").save(path);
    assertEquals(1, spark.read().format("npy").option("dtype", "int64").load(path).count());
  }

  @Test
  void viewsRefuseUnknownOptions() {
    String view = "CREATE OR REPLACE TEMPORARY VIEW v USING npy OPTIONS (path '" + source + "'";
    refusesShape(() -> spark.sql(view + ", blockShap '3,3')"));
    spark.sql(view + ", 'blockShape' '3,3')");
    assertEquals(6, spark.table("v").count());
    assertEquals(6, spark.sql("SELECT /*+ REPARTITION(2) */ * FROM v").collectAsList().size());
    assertEquals(
        6,
        spark
            .sql("SELECT /*+ BROADCAST(a) */ a.row FROM v a JOIN v b USING (row, col)")
            .collectAsList()
            .size());
  }

  @Test
  void tablesRefuseUnknownOptions() {
    refusesShape(
        () ->
            spark.sql(
                "CREATE TABLE t USING npy OPTIONS (blockShap '3,3') LOCATION '" + source + "'"));
    assertFalse(spark.catalog().tableExists("t"));
  }

  @Tag("versions")
  @Test
  void tablesKeepSparksProperties() throws IOException {
    Path path = dir.resolve("out.npy");
    spark.sql(
        "CREATE TABLE t USING npy OPTIONS (blockShape '3,3') COMMENT 'blocks'"
            + " TBLPROPERTIES ('made.by' = 'a test', blockShap = 'no option of ours') LOCATION '"
            + path
            + "' AS SELECT * FROM source");
    assertArrayEquals(FIXTURE.canonical(), Files.readAllBytes(path));
    assertEquals(6, spark.table("t").count());
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('reviewed' = 'yes')");
    spark.sql("REFRESH TABLE t");
    spark.sql("DESCRIBE TABLE EXTENDED t").collectAsList();
    spark.sql("SHOW CREATE TABLE t").collectAsList();
    assertEquals(6, spark.read().table("t").count());
    spark.sql("INSERT OVERWRITE t SELECT * FROM source");
    assertArrayEquals(FIXTURE.canonical(), Files.readAllBytes(path));
    spark.table("source").write().mode("overwrite").insertInto("t");
    assertArrayEquals(FIXTURE.canonical(), Files.readAllBytes(path));
    spark.sql("DROP TABLE t");
    spark.sql("CREATE EXTERNAL TABLE t USING npy LOCATION '" + path + "'");
    assertEquals(1, spark.table("t").count());
    spark.sql("DROP TABLE t");
    spark.sql("CREATE TABLE t USING npy OPTIONS (path '" + path + "', blockShape '3,3')");
    assertEquals(6, spark.table("t").count());
    spark.sql("DROP TABLE t");
    spark
        .table("source")
        .write()
        .format("npy")
        .mode("overwrite")
        .option("path", dir.resolve("saved.npy").toString())
        .option("blockShape", "3,3")
        .option("dtype", "int32")
        .saveAsTable("t");
    // saveAsTable hands options to the write and keeps none with the table.
    assertEquals(1, spark.table("t").count());
    spark.sql("DROP TABLE t");
    spark.catalog().createTable("t", "npy", Map.of("path", path.toString(), "blockShape", "3,3"));
    assertEquals(6, spark.table("t").count());
  }

  @Tag("versions")
  @Test
  void optionsOfOneQuery() {
    spark.sql("CREATE TABLE t USING npy OPTIONS (blockShape '3,3') LOCATION '" + source + "'");
    assertEquals(6, spark.sql("SELECT * FROM t WITH ('blockShape' = '3,3')").count());
    refusesShape(() -> spark.sql("SELECT * FROM t WITH ('blockShap' = '3,3')").count());
    String message =
        refusal(() -> spark.sql("SELECT * FROM t WITH ('blockShape' = '4,4')").count());
    assertTrue(message.contains("asks for blockShape 4,4, the table has blockShape 3,3"), message);
    assertTrue(message.contains("CREATE TABLE"), message);
    message = refusal(() -> spark.sql("SELECT * FROM t WITH ('as' = 'double')").count());
    assertTrue(message.contains("the table has no as"), message);
    // A copy: the view would read the file that the first of these replaces.
    spark.table("source").localCheckpoint().createOrReplaceTempView("v");
    spark.sql("INSERT OVERWRITE t WITH ('extents' = '7,5') SELECT * FROM v");
    message =
        refusal(() -> spark.sql("INSERT OVERWRITE t WITH ('extents' = '8,5') SELECT * FROM v"));
    assertTrue(message.contains("option extents"), message);
    message =
        refusal(() -> spark.sql("INSERT OVERWRITE t WITH ('dtype' = 'int64') SELECT * FROM v"));
    assertTrue(message.contains("int64, which reads back as ARRAY<BIGINT>"), message);
    message =
        refusal(() -> spark.sql("INSERT OVERWRITE t WITH ('extends' = '7,5') SELECT * FROM v"));
    assertTrue(message.endsWith("; did you mean 'extents'?"), message);
  }

  @Tag("versions")
  @Test
  void streamsAreRefusedByName() {
    assertFails(
        () -> spark.readStream().format("npy").load(source.toString()),
        "npy does not support streamed reading");
    assertFails(
        () ->
            spark
                .readStream()
                .format("rate")
                .load()
                .writeStream()
                .format("npy")
                .option("checkpointLocation", dir.resolve("checkpoint").toString())
                .start(dir.resolve("out.npy").toString()),
        "npy does not support streamed writing");
    spark.sql("CREATE TABLE t USING npy LOCATION '" + source + "'");
    assertFails(
        () -> spark.readStream().table("t").schema(),
        "npy",
        "does not support either micro-batch or continuous scan");
  }
}
