package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.source.BlockSink;
import org.tilespark.spark.source.HiddenFiles;
import org.tilespark.spark.source.MappedWriters;
import org.tilespark.spark.source.PosixTarget;
import org.tilespark.spark.source.WrittenBlocks;
import org.tilespark.spark.testing.SparkTest;

class NpySinkTest extends SparkTest {
  @TempDir Path dir;
  private Path target;

  @BeforeAll
  static void registerFileSystem() {
    spark
        .sparkContext()
        .hadoopConfiguration()
        .set("fs.plain.impl", PlainTestFileSystem.class.getName());
  }

  @BeforeEach
  void target() {
    target = dir.resolve("out.npy");
  }

  @AfterEach
  void leavesNoHiddenFiles() throws IOException {
    try (Stream<Path> files = Files.list(dir)) {
      assertEquals(
          List.of(), files.filter(file -> file.getFileName().toString().startsWith(".")).toList());
    }
  }

  private Dataset<Row> load(String name, byte[] file, String blockShape) {
    return spark
        .read()
        .format("npy")
        .option("blockShape", blockShape)
        .load(NpyFixture.write(dir.resolve(name), file));
  }

  private void save(Dataset<Row> data, String... options) {
    DataFrameWriter<Row> writer = data.write().format("npy").mode("overwrite");
    for (int i = 0; i < options.length; i += 2) {
      writer = writer.option(options[i], options[i + 1]);
    }
    writer.save(target.toString());
  }

  private String refusal(Dataset<Row> data, String... options) {
    boolean before = Files.exists(target);
    String message = reasonOf(() -> save(data, options));
    assertEquals(before, Files.exists(target));
    return message;
  }

  /** Matrix blocks given as SQL rows {@code (row, col, rows, cols, values)}. */
  private static Dataset<Row> blocks(String type, String... rows) {
    return spark.sql(
        "SELECT cast(row AS BIGINT) row, cast(col AS BIGINT) col, cast(rows AS INT) rows,"
            + " cast(cols AS INT) cols, cast(values AS ARRAY<"
            + type
            + ">) values FROM VALUES "
            + String.join(", ", rows)
            + " AS t(row, col, rows, cols, values)");
  }

  @ParameterizedTest
  @EnumSource(NpyType.class)
  void thereAndBack(NpyType type) throws IOException {
    String code = type.descr().substring(1);
    NpyFixture matrix = new NpyFixture(code, 13, 17);
    NpyFixture volume = new NpyFixture(code, 5, 7, 11);
    save(load("m.npy", matrix.file('<', false, 1), "5,4"));
    assertArrayEquals(matrix.canonical(), Files.readAllBytes(target));
    save(load("m.npy", matrix.file('>', true, 2), "4,30"));
    assertArrayEquals(matrix.canonical(), Files.readAllBytes(target));
    save(load("v.npy", volume.file('>', false, 3), "2,3,4"));
    assertArrayEquals(volume.canonical(), Files.readAllBytes(target));
    save(load("v.npy", volume.file('<', true, 1), "3,7,5").repartition(3));
    assertArrayEquals(volume.canonical(), Files.readAllBytes(target));
  }

  /** The way of many processors, on any machine. */
  @ParameterizedTest
  @EnumSource(NpyType.class)
  void blocksAreStoredIntoMappings(NpyType type) throws IOException {
    NpyFixture fixture = new NpyFixture(type.descr().substring(1), 130, 170);
    Dataset<Row> data = load("m.npy", fixture.canonical(), "50,40");
    var schema = WrittenBlocks.of(data.schema(), options());
    NpyHeader header = NpyHeader.forWriting(type, org.tilespark.layout.Shape.of(130, 170));
    try (PosixTarget.Pending pending =
            NpySink.begin(new PosixTarget(target), header, HiddenFiles.BEAT);
        var allocator = new org.apache.arrow.memory.RootAllocator()) {
      NpyTarget plan =
          new NpyTarget(pending.file().toString(), header, true, "the blocks", true, schema);
      try (BlockSink.Writer writer =
          new NpyBlockWriter(
              plan, MappedWriters.open(pending.file(), header.fileBytes(), allocator))) {
        BlockCursor blocks =
            BlockCursor.overRows(
                plan(data).toRdd().toJavaRDD().map(InternalRow::copy).collect().iterator());
        while (blocks.advance()) {
          writer.write(blocks, new long[4], 0);
        }
        writer.finish();
      }
      pending.commit(false, true);
    }
    assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
  }

  @Test
  void writesWithoutWaitingForTheDisk() throws IOException {
    NpyFixture fixture = new NpyFixture("f4", 13, 17);
    Dataset<Row> blocks = load("m.npy", fixture.canonical(), "5,4");
    save(blocks, "durable", "false");
    assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
    assertTrue(
        refusal(blocks, "durable", "maybe")
            .contains("Option durable is 'maybe'; expected 'true' or 'false'"));
  }

  @Test
  void axesBeforeAVolumeAreColumns() throws IOException {
    NpyFixture fixture = new NpyFixture("f4", 3, 4, 5, 6);
    Dataset<Row> blocks = load("m.npy", fixture.canonical(), "2,5,4");
    assertEquals("axis0", blocks.columns()[0]);
    assertEquals(3, blocks.schema().apply("axis0").metadata().getLong(ArrayAxes.EXTENT));
    save(blocks.repartition(5));
    assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
    save(blocks.where("axis0 = 1").drop("axis0"));
    int volume = 4 * 5 * 6 * 4;
    int header = fixture.canonical().length - 3 * volume;
    assertArrayEquals(
        Arrays.copyOfRange(fixture.canonical(), header + volume, header + 2 * volume),
        Arrays.copyOfRange(Files.readAllBytes(target), header, header + volume));
    String plan = plan(blocks.where("axis0 = 1")).executedPlan().toString();
    assertTrue(plan.contains("EqualTo(axis0,1)"), plan);
    assertTrue(
        refusal(blocks.where("axis0 <> 1"))
            .contains("no block at axis0 1, x 0, y 0, z 0: expected blocks to hold"));
    save(
        blocks.selectExpr(
            "CAST(axis0 AS TINYINT) AS i", "x", "y", "z", "nx", "ny", "nz", "values"));
    assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
  }

  @Tag("versions")
  @Test
  void thereAndBackInterpretedAndStatic() throws IOException {
    NpyFixture fixture = new NpyFixture("u2", 40, 30);
    for (String key : List.of("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled")) {
      spark.conf().set(key, false);
      try {
        save(load("m.npy", fixture.canonical(), "7,9").repartition(5));
        assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
      } finally {
        spark.conf().unset(key);
      }
    }
  }

  @Test
  void largeBlocksPassTheBufferInPieces() throws IOException {
    NpyFixture fixture = new NpyFixture("u2", 1500, 2000);
    save(load("m.npy", fixture.canonical(), "1500,2000"));
    assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
    save(load("m.npy", fixture.file('<', true, 1), "1500,1999"));
    assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
  }

  @Tag("versions")
  @Test
  void blocksOfAnyShapeMadeInSql() throws IOException {
    save(
        blocks(
            "INT",
            "(0, 2, 2, 1, array(3, 6))",
            "(0, 0, 1, 2, array(1, 2))",
            "(1, 0, 1, 2, array(4, 5))"));
    byte[] expected =
        java.nio.ByteBuffer.allocate(152)
            .order(java.nio.ByteOrder.LITTLE_ENDIAN)
            .put(NpyHeader.forWriting(NpyType.INT32, org.tilespark.layout.Shape.of(2, 3)).encode())
            .putInt(1)
            .putInt(2)
            .putInt(3)
            .putInt(4)
            .putInt(5)
            .putInt(6)
            .array();
    assertArrayEquals(expected, Files.readAllBytes(target));
  }

  /** In Spark's UI one row under the user's own words, and below it what it ran. */
  @Test
  void aWriteIsOneExecution() throws Exception {
    List<SparkListenerSQLExecutionStart> started = new CopyOnWriteArrayList<>();
    SparkListener listener =
        new SparkListener() {
          @Override
          public void onOtherEvent(SparkListenerEvent event) {
            if (event instanceof SparkListenerSQLExecutionStart start) {
              started.add(start);
            }
          }
        };
    spark.sparkContext().listenerBus().waitUntilEmpty(60_000);
    spark.sparkContext().addSparkListener(listener);
    spark.sparkContext().setJobDescription("nightly");
    try {
      save(blocks("INT", "(0, 0, 1, 2, array(1, 2))"));
      spark.sparkContext().listenerBus().waitUntilEmpty(60_000);
    } finally {
      spark.sparkContext().setJobDescription(null);
      spark.sparkContext().removeSparkListener(listener);
    }
    assertEquals(
        1,
        started.stream().map(SparkListenerSQLExecutionStart::rootExecutionId).distinct().count(),
        started::toString);
    assertEquals(
        List.of(
            "nightly",
            "nightly: write of "
                + target
                + " finds the extents, which no metadata states (the option extents does)",
            "nightly"),
        started.stream().map(SparkListenerSQLExecutionStart::description).toList());
  }

  @Test
  void arraysWithoutElements() throws IOException {
    NpyFixture empty = new NpyFixture("f4", 0, 5);
    save(load("e.npy", empty.canonical(), "5,5"));
    assertArrayEquals(empty.canonical(), Files.readAllBytes(target));
    Dataset<Row> none = blocks("FLOAT", "(0, 0, 1, 1, array(1))").where("row > 0");
    save(none, "extents", "0,5");
    assertArrayEquals(empty.canonical(), Files.readAllBytes(target));
    assertTrue(refusal(none).contains("no blocks"), refusal(none));
    assertTrue(refusal(none, "extents", "2,5").contains("no block at row 0, col 0"));
  }

  @Tag("versions")
  @Test
  void modesFromJava() throws IOException {
    Dataset<Row> one = blocks("INT", "(0, 0, 1, 1, array(1))");
    Dataset<Row> two = blocks("INT", "(0, 0, 1, 1, array(2))");
    String path = target.toString();
    one.write().format("npy").save(path);
    byte[] first = Files.readAllBytes(target);
    AnalysisException exists =
        assertThrows(AnalysisException.class, () -> two.write().format("npy").save(path));
    assertTrue(exists.getMessage().contains("already exists"), exists.getMessage());
    two.write().format("npy").mode("ignore").save(path);
    assertArrayEquals(first, Files.readAllBytes(target));
    String append = reasonOf(() -> two.write().format("npy").mode("append").save(path));
    assertTrue(append.contains("cannot append"), append);
    two.write().format("npy").mode("overwrite").save(path);
    assertEquals(2, Files.readAllBytes(target)[128]);
    target = dir.resolve("made/on/the/way.npy");
    one.write().format("npy").mode("ignore").save("file:" + target);
    assertArrayEquals(first, Files.readAllBytes(target));
    String partitioned =
        reasonOf(() -> one.write().format("npy").partitionBy("row").mode("overwrite").save(path));
    assertTrue(partitioned.contains("takes no partition columns"), partitioned);
  }

  @Tag("versions")
  @Test
  void overwritesTheFileItReads() throws IOException {
    NpyFixture fixture = new NpyFixture("i4", 20, 30);
    NpyFixture.write(target, fixture.file('>', true, 1));
    save(spark.read().format("npy").option("blockShape", "7,7").load(target.toString()));
    assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
  }

  @Tag("versions")
  @Test
  void tablesInSql() throws IOException {
    NpyFixture fixture = new NpyFixture("u1", 20, 30);
    load("in.npy", fixture.canonical(), "7,11").createOrReplaceTempView("source");
    NpyFixture other = new NpyFixture("u1", 4, 5);
    load("in2.npy", other.canonical(), "3,3").createOrReplaceTempView("source2");
    spark.sql("DROP TABLE IF EXISTS t");
    String create =
        "CREATE TABLE t USING npy OPTIONS (blockShape '6,6') LOCATION '" + target + "' ";
    try {
      spark.sql(create + "AS SELECT * FROM source");
      assertArrayEquals(fixture.canonical(), Files.readAllBytes(target));
      assertEquals(20, spark.table("t").count());
      assertEquals(600, spark.sql("SELECT explode(values) FROM t").count());
      String insert = reasonOf(() -> spark.sql("INSERT INTO t SELECT * FROM source"));
      assertTrue(insert.contains("cannot append"), insert);
      spark.sql("INSERT OVERWRITE TABLE t SELECT * FROM source2");
      assertArrayEquals(other.canonical(), Files.readAllBytes(target));
      assertEquals(1, spark.table("t").where("row = 0").count());
      String type =
          reasonOf(
              () ->
                  spark.sql(
                      "INSERT OVERWRITE t SELECT row, col, rows, cols, cast(values AS ARRAY<INT>)"
                          + " values FROM source2"));
      assertTrue(type.contains("CAST"), type);
      assertThrows(AnalysisException.class, () -> spark.sql(create + "AS SELECT * FROM source"));
      spark.sql(create.replace("TABLE t", "TABLE IF NOT EXISTS t") + "AS SELECT * FROM source");
      assertArrayEquals(other.canonical(), Files.readAllBytes(target));
      spark.sql("DROP TABLE t");
      assertTrue(Files.exists(target));
      String there = reasonOf(() -> spark.sql(create + "AS SELECT * FROM source"));
      assertTrue(there.contains("cannot append"), there);
      assertFalse(spark.catalog().tableExists("t"));
      spark.sql(create);
      assertEquals(1, spark.table("t").count());
      assertEquals(
          "4,5",
          spark.table("t").schema().apply("values").metadata().getString("tilespark.extents"));
    } finally {
      spark.sql("DROP TABLE IF EXISTS t");
    }
  }

  @Tag("versions")
  @Test
  void tablesNeedALocation() {
    load("in.npy", new NpyFixture("c8", 20, 30).canonical(), "7,11")
        .createOrReplaceTempView("source");
    String message =
        reasonOf(() -> spark.sql("CREATE TABLE managed USING npy AS SELECT * FROM source"));
    assertTrue(message.contains("LOCATION"), message);
    assertFalse(spark.catalog().tableExists("managed"));
  }

  @Tag("versions")
  @Test
  void restoresTheFilesTypeOrTakesTheColumns() throws IOException {
    Dataset<Row> u1 = load("u1.npy", new NpyFixture("u1", 4, 5).canonical(), "3,3");
    save(u1);
    assertEquals("|u1", descr());
    save(u1, "dtype", "int32");
    assertEquals("<i4", descr());
    save(u1, "dtype", "float16");
    assertEquals("<f2", descr());
    // Values that became FLOAT on the way are no uint8 any more, whatever the metadata says.
    var known = u1.schema().apply("values").metadata();
    save(u1.withColumn("values", u1.col("values").cast("array<float>").as("values", known)));
    assertEquals("<f4", descr());
    save(
        u1.withColumn("imag", u1.col("values").cast("array<float>"))
            .withColumn("values", u1.col("values").cast("array<float>").as("values", known)));
    assertEquals("<c8", descr());
    save(load("be.npy", new NpyFixture("f8", 4, 5).file('>', false, 1), "3,3"));
    assertEquals("<f8", descr());
  }

  private String descr() throws IOException {
    String header =
        new String(
            Files.readAllBytes(target), 10, 60, java.nio.charset.StandardCharsets.ISO_8859_1);
    return header.replaceAll(".*'descr': '([^']*)'.*", "$1");
  }

  private static Dataset<Row> withFileType(Dataset<Row> data, String descr, String extents) {
    var metadata = new MetadataBuilder();
    if (descr != null) {
      metadata.putString("tilespark.fileType", descr);
    }
    if (extents != null) {
      metadata.putString("tilespark.extents", extents);
    }
    return data.withColumn("values", data.col("values").as("values", metadata.build()));
  }

  @Test
  void refusesValuesOutsideTheType() {
    Dataset<Row> data = blocks("SMALLINT", "(0, 0, 2, 2, array(1, 2, 3, 300))");
    String message = refusal(withFileType(data, "|u1", null));
    assertTrue(message.contains("block at row 0, col 0: values has 300 at (1, 1)"), message);
    assertTrue(message.contains("uint8 (the type of the file that was read)"), message);
    assertTrue(message.contains("0 to 255"), message);
    assertTrue(message.contains("option dtype with another type, such as int16"), message);
    assertTrue(
        refusal(data, "dtype", "bool").contains("has 2 at (0, 1), which bool does not hold"));
    Dataset<Row> bytes = blocks("TINYINT", "(0, 0, 1, 2, array(1, -1))");
    assertTrue(refusal(withFileType(bytes, "|b1", null)).contains("-1 at (0, 1), which bool (the"));
    save(withFileType(bytes.where("row < 0"), "|b1", "0,2"));
    assertTrue(refusal(data, "dtype", "i1").contains("-128 to 127"));
    Dataset<Row> doubles = blocks("DOUBLE", "(0, 0, 1, 2, array(1, 1e300))");
    assertTrue(refusal(doubles, "dtype", "f4").contains("1.0E300"));
    Dataset<Row> floats = blocks("FLOAT", "(0, 0, 1, 2, array(1, 0.1))");
    assertTrue(refusal(withFileType(floats, "<f2", null)).contains("exactly"));
    save(floats, "dtype", "float16");
    assertTrue(refusal(floats, "dtype", "float8").contains("expected one of int8"));
    assertTrue(refusal(floats, "dtype", "c8").contains("no column imag"));
    Dataset<Row> complex = floats.withColumn("imag", floats.col("values"));
    assertTrue(refusal(complex, "dtype", "f4").contains("expected complex64"));
    Dataset<Row> ints = data.withColumn("imag", data.col("values"));
    assertTrue(refusal(ints).contains("expected complex64 or complex128, or columns of FLOAT"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '#',
      quoteCharacter = '`',
      value = {
        "(0, 0, 2, 2, array(1, 2, 3))#block at row 0, col 0: values has 3 elements; expected rows 2"
            + " * cols 2 = 4",
        "(0, 0, 1, 2, array(1, null))#block at row 0, col 0: values has a null at element 1",
        "(0, 0, 1, 2, null)#block at row 0, col 0: column values is null",
        "(0, null, 1, 1, array(1))#block at row 0, col null: column col is null",
        "(0, 0, null, 1, array(1))#column rows is null",
        "(0, 0, 0, 1, array())#block at row 0, col 0: rows is 0; expected 1 or more",
        "(0, 0, -1, 1, array(1))#rows is -1",
        "(-1, 0, 1, 1, array(1))#block at row -1, col 0: row -1 with rows 1 lies outside",
      })
  void refusesBlocksThatAreNone(String row, String expected) {
    String message = refusal(blocks("INT", row, "(0, 2, 1, 1, array(1))"));
    assertTrue(message.contains(expected), message);
    assertTrue(message.contains("Nothing was written"), message);
  }

  @Test
  void refusesHolesOverlapsAndStrays() {
    Dataset<Row> hole = blocks("INT", "(0, 0, 1, 1, array(1))", "(4096, 0, 1, 1, array(1))");
    assertTrue(refusal(hole).contains("no block at row 1, col 0"), refusal(hole));
    Dataset<Row> overlap = blocks("INT", "(0, 0, 1, 2, array(1, 2))", "(0, 1, 1, 1, array(1))");
    assertTrue(refusal(overlap).contains("overlap: both hold the element at row 0, col 1"));
    Dataset<Row> stale = withFileType(overlap, null, "1,1");
    String message = refusal(stale);
    assertTrue(message.contains("column metadata tilespark.extents"), message);
    assertTrue(message.contains("option extents overrides"), message);
    Dataset<Row> good = withFileType(blocks("INT", "(0, 0, 1, 1, array(1))"), null, "5,5");
    assertTrue(refusal(good).contains("tilespark.extents"), refusal(good));
    save(good, "extents", "1,1");
    assertTrue(refusal(good, "extents", "1").contains("Option extents is '1'"));
  }

  @Test
  void refusesColumnsThatAreNoBlocks() {
    Dataset<Row> good = blocks("INT", "(0, 0, 1, 1, array(1))");
    String further = refusal(good.selectExpr("*", "'1' AS sample", "2 AS step"));
    assertTrue(further.contains("further columns [sample, step]"), further);
    assertTrue(further.contains("df.drop(\"sample\", \"step\")"), further);
    assertTrue(refusal(good.selectExpr("*", "0L AS x")).contains("at once"));
    assertTrue(refusal(good.select("values")).contains("no blocks"));
    assertTrue(refusal(good.drop("cols")).contains("no column cols"));
    assertTrue(
        refusal(good.withColumn("row", good.col("row").cast(DataTypes.IntegerType)))
            .contains("column row is INT; expected BIGINT"));
    assertTrue(
        refusal(good.selectExpr("row", "col", "rows", "cols", "array('a') AS values"))
            .contains("ARRAY<STRING>"));
  }

  @Test
  void refusesPlacesItCannotWriteTo() {
    Dataset<Row> good = blocks("INT", "(0, 0, 1, 1, array(1))");
    String remote = reasonOf(() -> good.write().format("npy").save("plain:" + target));
    assertTrue(remote.contains("Write format zarr there"), remote);
    String directory =
        reasonOf(() -> good.write().format("npy").mode("overwrite").save(dir.toString()));
    assertTrue(directory.contains("is a directory"), directory);
  }

  @Tag("versions")
  @Test
  void failedJobsLeaveWhatWasThere() throws IOException {
    NpyFixture fixture = new NpyFixture("i4", 20, 30);
    Dataset<Row> data = load("in.npy", fixture.canonical(), "7,7");
    Dataset<Row> failing =
        data.selectExpr(
            "row",
            "col",
            "rows",
            "cols",
            "if(row = 14 and col = 28, raise_error('no'), values) AS values");
    assertThrows(Exception.class, () -> save(failing));
    assertFalse(Files.exists(target));
    NpyFixture.write(target, new byte[] {1});
    assertThrows(Exception.class, () -> save(failing));
    assertArrayEquals(new byte[] {1}, Files.readAllBytes(target));
  }

  @Test
  void cancelledJobsLeaveNothing() throws Exception {
    Dataset<Row> slow =
        load("in.npy", new NpyFixture("i4", 20, 30).canonical(), "7,7")
            .selectExpr(
                "row",
                "col",
                "rows",
                "cols",
                "if(java_method('java.lang.Thread', 'sleep', row + 20000L) = 'x',"
                    + " array(1), values) AS values");
    Thread writer =
        new Thread(
            () -> {
              spark.sparkContext().setJobGroup("slow", "a write to be cancelled", true);
              assertThrows(Exception.class, () -> save(slow));
            });
    writer.start();
    // The first tasks may be those of the aggregate that finds the extents, before there is a file.
    for (int i = 0; i < 600 && (hiddenFiles() == 0 || runningTasks() == 0); i++) {
      Thread.sleep(50);
    }
    assertEquals(1, hiddenFiles());
    for (int i = 0; i < 600 && writer.isAlive(); i++) {
      spark.sparkContext().cancelJobGroup("slow"); // also a job that began only now
      writer.join(100);
    }
    assertFalse(writer.isAlive());
    assertFalse(Files.exists(target));
    assertEquals(0, hiddenFiles());
  }

  private static int runningTasks() {
    var tracker = spark.sparkContext().statusTracker();
    int running = 0;
    for (int stage : tracker.getActiveStageIds()) {
      running += tracker.getStageInfo(stage).get().numActiveTasks();
    }
    return running;
  }

  private long hiddenFiles() throws IOException {
    try (Stream<Path> files = Files.list(dir)) {
      return files.filter(file -> file.getFileName().toString().startsWith(".")).count();
    }
  }

  @Test
  void lateAttemptsFindNoFile() throws IOException {
    NpyHeader header = NpyHeader.forWriting(NpyType.INT32, org.tilespark.layout.Shape.of(2, 2));
    PosixTarget place = new PosixTarget(target);
    Path file;
    try (PosixTarget.Pending pending = NpySink.begin(place, header, HiddenFiles.BEAT)) {
      file = pending.file();
      assertEquals(header.fileBytes(), Files.size(file));
      assertFalse(place.exists());
      pending.commit(false, true);
    }
    assertTrue(place.exists());
    assertFalse(Files.exists(file));
    try (PosixTarget.Pending second = NpySink.begin(place, header, HiddenFiles.BEAT)) {
      assertThrows(
          java.nio.file.FileAlreadyExistsException.class, () -> second.commit(false, true));
    }
    var schema = WrittenBlocks.of(blocks("INT", "(0, 0, 1, 1, array(1))").schema(), options());
    NpyTarget plan = new NpyTarget(file.toString(), header, true, "the blocks", true, schema);
    try (var allocator = new org.apache.arrow.memory.RootAllocator()) {
      String message =
          assertThrows(IOException.class, () -> plan.open(allocator).close()).getMessage();
      assertTrue(message.contains("does not see"), message);
    }
    assertFalse(Files.exists(file));
  }

  /**
   * A killed driver leaves its hidden file; {@link org.tilespark.spark.source.HiddenFiles
   * HiddenFiles} says how it is known.
   */
  @Test
  void removesWhatKilledDriversLeft() throws IOException {
    NpyHeader header = NpyHeader.forWriting(NpyType.INT32, org.tilespark.layout.Shape.of(2, 2));
    PosixTarget place = new PosixTarget(target);
    String uuid = "0f4e6b1c-5a3d-4c7e-9b21-8d6f0a1c2e3b";
    Path abandoned = leftBehind(".out.npy." + uuid + ".tmp", 5);
    Path recent = leftBehind(".out.npy." + uuid.replace('0', '1') + ".tmp", 1);
    Path anothers = leftBehind(".out.npy.npy." + uuid + ".tmp", 5);
    Path noneOfOurs = leftBehind(".out.npy.tmp", 5);
    NpySink.begin(place, header, HiddenFiles.BEAT).close();
    assertFalse(Files.exists(abandoned));
    for (Path kept : List.of(recent, anothers, noneOfOurs)) {
      assertTrue(Files.exists(kept), kept::toString);
      Files.delete(kept);
    }
  }

  private Path leftBehind(String name, int minutesAgo) throws IOException {
    Path file = Files.write(dir.resolve(name), new byte[10]);
    return Files.setLastModifiedTime(
        file, FileTime.from(Instant.now().minus(Duration.ofMinutes(minutesAgo))));
  }

  @Test
  void aLivingDriverRenewsTheTimeOfItsFile() throws Exception {
    NpyHeader header = NpyHeader.forWriting(NpyType.INT32, org.tilespark.layout.Shape.of(2, 2));
    PosixTarget place = new PosixTarget(target);
    try (PosixTarget.Pending slow = NpySink.begin(place, header, Duration.ofMillis(20))) {
      Instant longAgo = Instant.now().minus(Duration.ofMinutes(5)).truncatedTo(ChronoUnit.MILLIS);
      Files.setLastModifiedTime(slow.file(), FileTime.from(longAgo));
      for (int i = 0; i < 500 && modified(slow.file()).equals(longAgo); i++) {
        Thread.sleep(20);
      }
      NpySink.begin(place, header, HiddenFiles.BEAT).close();
      assertTrue(Files.exists(slow.file()), "another write took a living one for abandoned");
      slow.commit(false, true);
    }
    byte[] expected = java.util.Arrays.copyOf(header.encode(), (int) header.fileBytes());
    assertArrayEquals(expected, Files.readAllBytes(target));
  }

  @Test
  void theTimeIsNotRenewedWhenTheApplicationHasEnded() throws Exception {
    Path file = Files.write(target.resolveSibling("beaten"), new byte[] {1, 2});
    AtomicBoolean hasEnded = new AtomicBoolean();
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
        var beat =
            new HiddenFiles.Heartbeat(channel, (byte) 1, Duration.ofMillis(20), hasEnded::get)) {
      List<Thread> threads =
          Thread.getAllStackTraces().keySet().stream()
              .filter(each -> each.getName().equals("tilespark-heartbeat"))
              .filter(each -> !before.contains(each))
              .toList();
      assertEquals(1, threads.size());
      assertTrue(threads.get(0).isAlive());
      hasEnded.set(true);
      threads.get(0).join(10_000);
      assertFalse(threads.get(0).isAlive(), "its thread lives on");
    }
  }

  private NpyOptions options() {
    return NpyOptions.of(new CaseInsensitiveStringMap(Map.of("path", target.toString())));
  }

  private static Instant modified(Path file) throws IOException {
    return Files.getLastModifiedTime(file).toInstant().truncatedTo(ChronoUnit.MILLIS);
  }

  /** The device that is always full stands for any disk that is. */
  @Test
  void aFullDiskIsNamedWithItsFigures() throws IOException {
    Assumptions.assumeTrue(Files.isWritable(Path.of("/dev/full")), "there is no /dev/full");
    var schema = WrittenBlocks.of(blocks("INT", "(0, 0, 1, 1, array(1))").schema(), options());
    NpyHeader header = NpyHeader.forWriting(NpyType.INT32, org.tilespark.layout.Shape.of(1, 1));
    NpyTarget plan = new NpyTarget("/dev/full", header, true, "the blocks", true, schema);
    InternalRow row = plan(blocks("INT", "(0, 0, 1, 1, array(1))")).toRdd().toJavaRDD().first();
    try (var allocator = new org.apache.arrow.memory.RootAllocator();
        BlockSink.Writer writer = plan.open(allocator)) {
      BlockCursor blocks = BlockCursor.overRows(List.of(row).iterator());
      assertTrue(blocks.advance());
      writer.write(blocks, new long[4], 0);
      String message = assertThrows(IOException.class, writer::finish).getMessage();
      assertTrue(message.startsWith("Cannot write 4 bytes at 128 of /dev/full: "), message);
      assertTrue(message.contains("No space left on device"), message);
      assertTrue(message.contains("the whole file takes 132 bytes"), message);
    }
  }
}
