package org.tilespark.spark.error;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.SparkThrowable;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.SparkTest;

/**
 * Queries that fail throw an exception of ours itself, with nothing of Spark around it: its clients
 * then show the reason first.
 */
class QueryErrorsTest extends SparkTest {
  @TempDir static Path directory;

  /** Two blocks of 2 x 2 below each other. */
  private static Dataset<Row> matrix() {
    return spark.sql(
        "SELECT 2 * id AS row, 0L AS col, 2 AS rows, 2 AS cols, array(1f, 2f, 3f, 4f) AS values"
            + " FROM range(0, 2, 1, 2)");
  }

  /** A matrix whose second block has too few values. */
  private static Dataset<Row> badMatrix() {
    return matrix().selectExpr("row", "col", "rows", "cols", "slice(values, 1, 4 - row) AS values");
  }

  private static Dataset<Row> badVolume() {
    return spark.sql(
        "SELECT id AS x, 0L AS y, 0L AS z, 1 AS nx, 2 AS ny, 2 AS nz,"
            + " slice(array(1f, 2f, 3f, 4f), 1, 4 - id) AS values FROM range(0, 2, 1, 2)");
  }

  @Test
  void planning() {
    assertRefuses(
        "VolumeBlocks.permute: axes is 'xxz'; expected each of x, y, z once, by letter or number,"
            + " as 'yzx' or '1,2,0'",
        () -> VolumeBlocks.permute(badVolume(), "xxz"));
    badVolume().createOrReplaceTempView("errors_v");
    matrix().createOrReplaceTempView("errors_m");
    assertThrowsOurs(
        "TILESPARK_INVALID_ARGUMENT",
        "22023",
        "volume_permute: axes is 'xxz'; expected each of x, y, z once, by letter or number, as"
            + " 'yzx' or '1,2,0'",
        () -> spark.sql("SELECT * FROM volume_permute(TABLE(errors_v), 'xxz')"));
    assertThrowsOurs(
        "TILESPARK_INVALID_ARGUMENT",
        "22023",
        "matrix_multiply: Strategy cuboid(9,1,1) was asked for; expected 1 to 4 parts of M, 1 to 2"
            + " of N and 1 to 2 of K",
        () ->
            spark
                .sql(
                    "SELECT * FROM matrix_multiply(TABLE(errors_m), TABLE(SELECT * FROM errors_m"
                        + " WHERE row = 0), strategy => 'cuboid(9,1,1)')")
                .collectAsList());
    assertRefuses(
        "MatrixBlocks.transpose: argument df is null; expected a value",
        () -> MatrixBlocks.transpose(null));
    assertThrowsOurs(
        "TILESPARK_INVALID_ARGUMENT",
        "22023",
        "spark.tilespark.memory.batchSize is 'much'; expected size in bytes, with unit (b, k, m, g)"
            + " (default 64m)",
        () -> spark.conf().set(TileSparkConf.BATCH_SIZE.name(), "much"));
    assertRefuses(
        "The two DataFrames belong to different Spark sessions; expected one",
        () -> MatrixBlocks.add(matrix(), inAnotherSession()));
  }

  private static Dataset<Row> inAnotherSession() {
    return spark
        .newSession()
        .sql("SELECT 0L AS row, 0L AS col, 2 AS rows, 2 AS cols, array(1f, 2f, 3f, 4f) AS values");
  }

  @Test
  void blocksOfMatricesAndVolumes() {
    String few = "block at row 2, col 0: values has 2 elements; expected rows x cols = 2 x 2 = 4";
    Map<String, Dataset<Row>> matrices = new LinkedHashMap<>();
    Dataset<Row> bad = badMatrix();
    matrices.put("transpose", MatrixBlocks.transpose(bad));
    matrices.put("twice", MatrixBlocks.scale(MatrixBlocks.transpose(bad), 2));
    matrices.put("scale", MatrixBlocks.scale(bad, 2));
    matrices.put("add", MatrixBlocks.add(matrix(), bad, Missing.ZERO));
    matrices.put("center", MatrixBlocks.center(bad));
    matrices.put("reblock", MatrixBlocks.reblock(bad, 3, 3));
    matrices.put("gram", MatrixBlocks.gram(bad));
    for (String strategy : List.of("cuboid(1,1,1)", "broadcast")) {
      MultiplyOptions options =
          MultiplyOptions.of(Map.of("transposeA", "true", "strategy", strategy));
      matrices.put("multiply, " + strategy, MatrixBlocks.multiply(matrix(), bad, options));
      matrices.put(
          "multiply the bad one, " + strategy, MatrixBlocks.multiply(bad, matrix(), options));
    }
    Map<String, Dataset<Row>> volumes = new LinkedHashMap<>();
    Dataset<Row> volume = badVolume();
    volumes.put("permute", VolumeBlocks.permute(volume, "yzx"));
    volumes.put("reblock", VolumeBlocks.reblock(volume, 1, 1, 1));
    volumes.put("slabs", VolumeBlocks.slabs(volume, "y", 1));
    volumes.put("fft", VolumeBlocks.fft(volume, FftOptions.defaults()));
    Dataset<Row> complex = volume.selectExpr("*", "values AS imag");
    volumes.put("pointwise", VolumeBlocks.multiplyPointwise(complex, complex));
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            matrices.forEach((what, df) -> assertBlockNamed(what, few, df));
            volumes.forEach(
                (what, df) ->
                    assertBlockNamed(
                        what, "block at x 1, y 0, z 0: values has 3 elements; expected", df));
          });
    }
  }

  private static void assertBlockNamed(String what, String reason, Dataset<Row> df) {
    // A frame plans itself once.
    Dataset<Row> again =
        org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
            (org.apache.spark.sql.classic.SparkSession) spark, plan(df).logical());
    Exception thrown =
        assertThrows(
            Exception.class,
            // The means that center takes off come by a broadcast of Spark's own.
            what.equals("center")
                ? () -> ErrorBoundary.await(again::collectAsList)
                : again::collectAsList,
            what);
    assertInstanceOf(TileSparkException.class, thrown, () -> what + ": " + thrown);
    TileSparkException ours = (TileSparkException) thrown;
    assertEquals(ErrorCondition.INVALID_BLOCK, ours.condition(), what);
    assertTrue(ours.reason().startsWith(reason), () -> what + ": " + ours.reason());
    assertEquals("[TILESPARK_INVALID_BLOCK] " + ours.reason() + " SQLSTATE: 22000", text(ours));
  }

  @Test
  void aggregatesNameHolesAndBlocks() {
    Dataset<Row> spectrum =
        VolumeBlocks.fft(
            spark.sql(
                "SELECT 0L AS x, 0L AS y, 0L AS z, 2 AS nx, 2 AS ny, 2 AS nz,"
                    + " array(1f, 2f, 3f, 4f, 5f, 6f, 7f, 8f) AS values"),
            FftOptions.defaults());
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> holes = VolumeBlocks.withExtents(spectrum.where("x + y + z < 0"), 2, 2, 2);
            Exception hole =
                assertThrows(
                    TileSparkException.class,
                    () -> VolumeBlocks.radialAverage(holes, 1).collectAsList());
            assertTrue(text(hole).startsWith("[TILESPARK_INVALID_BLOCK] "), () -> text(hole));
            // The means are two stages of Spark's, of which both may fail, and a broadcast.
            Exception centred =
                assertThrows(
                    TileSparkException.class,
                    () ->
                        ErrorBoundary.await(
                            MatrixBlocks.center(MatrixBlocks.withExtents(matrix(), 6, 2))
                                ::collectAsList));
            assertTrue(text(centred).startsWith("[TILESPARK_INVALID_BLOCK] "), () -> text(centred));
          });
    }
  }

  @Test
  void writingTellsTheBlockAndThatNothingWasWritten() {
    Path target = directory.resolve("bad.npy");
    String few =
        "block at row 2, col 0: values has 2 elements; expected rows 2 * cols 2 = 4. Nothing was"
            + " written";
    assertThrowsOurs(
        "TILESPARK_INVALID_BLOCK",
        "22000",
        few,
        () -> badMatrix().write().format("npy").save(target.toString()));
    assertThrowsOurs(
        "TILESPARK_INVALID_BLOCK",
        "22000",
        "block at row 2, col 0: values has 2 elements; expected rows x cols = 2 x 2 = 4 (in"
            + " matrix_transpose). Nothing was written",
        () ->
            MatrixBlocks.transpose(badMatrix())
                .write()
                .format("npy")
                .option("extents", "2,4")
                .save(target.toString()));
    assertFalse(Files.exists(target));
    assertThrowsOurs(
        "TILESPARK_INVALID_ARGUMENT",
        "22023",
        "format npy cannot append to "
            + target
            + ": a .npy file holds one array, and its blocks are written at once. Use mode"
            + " overwrite (INSERT OVERWRITE) or another path",
        () -> matrix().write().format("npy").mode("append").save(target.toString()));
  }

  @Test
  void files() throws Exception {
    assertThrowsOurs(
        "TILESPARK_INVALID_FILE",
        "KD000",
        "Path does not exist: /nowhere/a.npy",
        () -> spark.read().format("npy").load("/nowhere/a.npy"));
    Path broken = Files.writeString(directory.resolve("broken.npy"), "no array");
    Exception thrown =
        assertThrows(
            TileSparkException.class, () -> spark.read().format("npy").load(broken.toString()));
    assertTrue(
        text(thrown)
            .startsWith("[TILESPARK_INVALID_FILE] " + broken.toUri().toString().substring(0, 5)),
        () -> text(thrown));
    assertThrowsOurs(
        "TILESPARK_INVALID_FILE",
        "KD000",
        "Path does not exist: /nowhere/a.npy",
        () -> {
          spark.sql(
              "CREATE OR REPLACE TEMPORARY VIEW errors_gone USING npy OPTIONS (path"
                  + " '/nowhere/a.npy')");
          spark.sql("SELECT * FROM errors_gone").collectAsList();
        });
    Path deleted = directory.resolve("deleted.npy");
    matrix().write().format("npy").save(deleted.toString());
    Dataset<Row> df = spark.read().format("npy").load(deleted.toString());
    Files.delete(deleted);
    assertThrowsOurs(
        "TILESPARK_IO",
        "58030",
        "file:"
            + deleted
            + " was deleted since the DataFrame was made, or this executor does not see it: a"
            + " local path must be one that the driver and all executors share",
        df::collectAsList);
    Exception option =
        assertThrows(
            TileSparkException.class,
            () -> spark.read().format("npy").option("bolckShape", "1,1").load("/nowhere/a.npy"));
    assertTrue(text(option).startsWith("[TILESPARK_INVALID_ARGUMENT] "), () -> text(option));
  }

  @Test
  void aGpuThatIsNotThere() {
    Availability<DeviceProbe> probe = DeviceProbe.run();
    Assumptions.assumeFalse(probe.isPresent(), "this machine has a GPU");
    with(
        Map.of(TileSparkConf.BACKEND.name(), "gpu"),
        () ->
            assertThrowsOurs(
                "TILESPARK_DEVICE",
                "58000",
                "spark.tilespark.backend=gpu, but executor driver has no usable GPU: "
                    + probe.whyNot()
                    + ". Set it to auto or cpu to compute on the CPU",
                () -> MatrixBlocks.transpose(matrix()).collectAsList()));
  }

  /**
   * Spark's own wrapping of what a broadcast or a scalar subquery throws is the caller's to read.
   */
  @Test
  void whatSparkWrapsIsInTheTrace() {
    MatrixBlocks.transpose(badMatrix()).createOrReplaceTempView("errors_bad");
    Throwable wrapped =
        assertThrows(
            Exception.class,
            () ->
                spark
                    .sql("SELECT (SELECT sum(size(values)) FROM errors_bad) AS s FROM range(1)")
                    .collectAsList());
    java.io.StringWriter trace = new java.io.StringWriter();
    wrapped.printStackTrace(new java.io.PrintWriter(trace));
    var found = ErrorBoundaryTest.TEXT.matcher(trace.toString());
    assertTrue(found.find(), trace::toString);
    assertEquals(
        "block at row 2, col 0: values has 2 elements; expected rows x cols = 2 x 2 = 4 (in"
            + " matrix_transpose)",
        found.group(2));
  }

  @Test
  void failuresOfAUsersFunctionAreNotOurs() {
    Dataset<Row> input =
        matrix()
            .map(
                (MapFunction<Row, Row>)
                    row -> {
                      throw new IllegalArgumentException("the user's own");
                    },
                org.apache.spark.sql.Encoders.row(matrix().schema()));
    for (Executable query :
        List.<Executable>of(
            () -> MatrixBlocks.transpose(input).collectAsList(),
            () -> MatrixBlocks.reblock(input, 3, 3).collectAsList(),
            () ->
                MatrixBlocks.multiply(
                        MatrixBlocks.withExtents(input, 4, 2),
                        matrix(),
                        MultiplyOptions.defaults().withTransposeA(true))
                    .collectAsList(),
            () ->
                input
                    .write()
                    .format("npy")
                    .option("extents", "4,2")
                    .save(directory.resolve("users.npy").toString()))) {
      Throwable thrown = assertThrows(Exception.class, query);
      StringBuilder all = new StringBuilder();
      for (Throwable t = thrown; t != null; t = t.getCause()) {
        assertFalse(t instanceof TileSparkThrowable, thrown::toString);
        all.append(t).append('\n');
      }
      assertTrue(all.toString().contains("the user's own"), all::toString);
      assertFalse(Pattern.compile("TILESPARK_").matcher(all).find(), all::toString);
    }
  }

  private static String text(Exception e) {
    return String.valueOf(e.getMessage());
  }

  /** Of a method of ours: an exception of the JDK's class that its documentation names. */
  private static void assertRefuses(String reason, Executable body) {
    assertThrows(IllegalArgumentException.class, body);
    assertThrowsOurs("TILESPARK_INVALID_ARGUMENT", "22023", reason, body);
  }

  private static void assertThrowsOurs(
      String condition, String sqlState, String reason, Executable body) {
    Exception thrown = assertThrows(Exception.class, body);
    assertEquals("[" + condition + "] " + reason + " SQLSTATE: " + sqlState, text(thrown));
    SparkThrowable spark = assertInstanceOf(SparkThrowable.class, thrown);
    assertEquals(condition, spark.getCondition());
    assertEquals(sqlState, spark.getSqlState());
    assertEquals(Map.of("reason", reason), spark.getMessageParameters());
  }
}
