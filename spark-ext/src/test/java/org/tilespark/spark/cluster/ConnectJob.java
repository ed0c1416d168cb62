package org.tilespark.spark.cluster;

import java.io.IOException;
import java.lang.module.ModuleDescriptor.Version;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;

/**
 * A program of Spark Connect's JVM client: a process that has the client and our jar, and none of
 * Spark's other classes. Prints {@code right} at the end, or throws.
 */
public final class ConnectJob {
  /** A matrix of 6 x 4 in blocks of 3 x 2; element (i, j) is 10 i + j. */
  private static final String MATRIX =
      "SELECT 3L * r AS row, 2L * c AS col, 3 AS rows, 2 AS cols, transform(sequence(0, 5),"
          + " e -> CAST(10 * (3 * r + e div 2) + 2 * c + e % 2 AS DOUBLE)) AS values"
          + " FROM VALUES (0, 0), (0, 1), (1, 0), (1, 1) AS t(r, c)";

  /** A volume of one block of 2 x 1 x 3; its elements are 0 to 5. */
  private static final String VOLUME =
      "SELECT 0L AS x, 0L AS y, 0L AS z, 2 AS nx, 1 AS ny, 3 AS nz,"
          + " array(0f, 1f, 2f, 3f, 4f, 5f) AS values";

  /** The first Spark with NEAREST BY. */
  private static final Version WITH_NEAREST = Version.parse("4.2");

  private ConnectJob() {}

  /** Spark's own syntax, which the server plans. */
  private static void nearest(SparkSession spark) {
    String query =
        "SELECT a, b FROM VALUES (1, array(1f, 0f)), (2, array(0f, 1f)) AS l(a, v)"
            + " JOIN VALUES (3, array(0f, 9f)), (4, array(2f, 0f)) AS r(b, w)"
            + " EXACT NEAREST 1 BY SIMILARITY vector_inner_product(v, w) ORDER BY a";
    String plan = spark.sql("EXPLAIN " + query).head().getString(0);
    equal("plan of NEAREST BY: " + plan, true, plan.contains("NearestRows"));
    List<Row> rows = spark.sql(query).collectAsList();
    equal("NEAREST BY", List.of(4, 3), List.of(rows.get(0).get(1), rows.get(1).get(1)));
  }

  /** The address of the server, {@code sc://host:port}. */
  public static void main(String[] args) throws IOException {
    try (SparkSession spark = SparkSession.builder().remote(args[0]).getOrCreate()) {
      Dataset<Row> m = spark.sql(MATRIX);
      same("transpose", 4, 6, (i, j) -> 10 * j + i, MatrixBlocks.transpose(m));
      same("twice", 6, 4, (i, j) -> 10 * i + j, MatrixBlocks.transpose(MatrixBlocks.transpose(m)));
      same("reblock", 6, 4, (i, j) -> 10 * i + j, MatrixBlocks.reblock(m, 4, 4));
      same(
          "reblock with holes",
          6,
          4,
          (i, j) -> i < 3 && j < 2 ? 0 : 10 * i + j,
          MatrixBlocks.reblock(m.where("row + col > 0"), 2, 3, Missing.ZERO));
      same(
          "pad",
          7,
          6,
          (i, j) -> 10 * Math.max(0, i - 1) + Math.max(0, Math.min(3, j - 1)),
          MatrixBlocks.pad(m, "1,0; 1", "edge"));
      same("roll", 6, 4, (i, j) -> 10 * ((i + 5) % 6) + j, MatrixBlocks.roll(m, "1,0"));
      same(
          "halo and trim",
          6,
          4,
          (i, j) -> 20 * i + 2 * j,
          MatrixBlocks.trim(MatrixBlocks.scale(MatrixBlocks.halo(m, "1", "wrap"), 2)));
      same(
          "reshape",
          12,
          2,
          (i, j) -> 10 * (i / 2) + 2 * (i % 2) + j,
          VolumeBlocks.reshape(MatrixBlocks.reshape(m, "2,3,4"), "12,2"));
      same("gram", 4, 4, (i, j) -> sum(6, k -> (10 * k + i) * (10 * k + j)), MatrixBlocks.gram(m));
      same(
          "multiply",
          6,
          6,
          (i, j) -> sum(4, k -> (10 * i + k) * (10 * j + k)),
          MatrixBlocks.multiply(
              MatrixBlocks.withExtents(m, 6, 4),
              m,
              MultiplyOptions.defaults().withTransposeB(true).withBlockShape(4, 5)));

      Row nearest = MatrixBlocks.knn(m, m, 1, Metric.INNER).where("query = 2").head();
      equal("knn", 5L, nearest.getLong(1));
      equal("knn", sum(4, k -> (20 + k) * (50 + k)), nearest.getDouble(3));
      equal("pairsAbove", 6L, MatrixBlocks.pairsAbove(m, m, 0, Metric.EUCLIDEAN).count());
      equal("rowArgmax", 6L, MatrixBlocks.rowArgmax(m, m).where("neighbour = 5").count());

      if (Version.parse(spark.version()).compareTo(WITH_NEAREST) >= 0) {
        nearest(spark);
      }

      same("map", 6, 4, (i, j) -> 20 * i + 2 * j + 1, MatrixBlocks.map(m, "v * 2 + 1"));
      Map<String, Number> scalars = new LinkedHashMap<>();
      scalars.put("two", 2);
      scalars.put("none", Double.NEGATIVE_INFINITY);
      same(
          "map with scalars",
          6,
          4,
          (i, j) -> 20 * i + 2 * j,
          MatrixBlocks.map(m, "greatest(v * two, none)", scalars));
      same(
          "zip",
          6,
          4,
          (i, j) -> i,
          MatrixBlocks.zip(m, MatrixBlocks.slice(m, "0:1"), "(a - b) / 10"));
      same(
          "zip with scalars",
          6,
          4,
          (i, j) -> 21 * (10 * i + j),
          MatrixBlocks.zip(m, m, "a + b * s", Missing.ZERO, Map.of("s", 20.0)));
      same("sum along rows", 1, 4, (i, j) -> 150 + 6 * j, MatrixBlocks.sum(m, "row"));
      equal("mean", 26.5, MatrixBlocks.mean(m).head().getDouble(0));
      same("std", 1, 4, (i, j) -> Math.sqrt(350), MatrixBlocks.std(m, "0", 1));
      same("norm", 6, 1, (i, j) -> 10 * i + 3, MatrixBlocks.norm(m, "1", "inf"));
      equal("trace", 66.0, MatrixBlocks.trace(m).head().getDouble(0));
      same("diag", 4, 1, (i, j) -> 11 * i, MatrixBlocks.diag(m));
      equal("corrcoef", 1L, MatrixBlocks.corrcoef(m).where("row + col = 0").count());
      same("slice", 2, 4, (i, j) -> 10 * i + 10 + j, MatrixBlocks.slice(m, "1:3"));
      same("flip", 6, 4, (i, j) -> 10 * i + 3 - j, MatrixBlocks.flip(m, "col"));
      same(
          "withOrigin",
          3,
          4,
          (i, j) -> 30 + 10 * i + j,
          MatrixBlocks.withOrigin(m.where("row = 3")));
      same("concat", 12, 4, (i, j) -> 10 * (i % 6) + j, MatrixBlocks.concat("row", m, m));
      equal("stack", 8L, MatrixBlocks.stack(m, m).count());

      m.createOrReplaceTempView("m");
      same(
          "sql",
          4,
          6,
          (i, j) -> 10 * j + i,
          spark.sql("SELECT * FROM matrix_transpose(TABLE(m), extents => '6,4')"));

      Dataset<Row> table =
          spark.sql("SELECT 'r' || id AS name, array(id, 10L * id) AS v FROM range(0, 6, 1, 2)");
      Dataset<Row> made =
          MatrixBlocks.fromRows(
              table, "v", RowOptions.defaults().withId("name").withNulls(RowPolicy.ZERO));
      Row last = MatrixBlocks.toRows(made, "w").where("name = 'r5'").collectAsList().get(0);
      equal("fromRows, toRows", List.of(5L, 50L), last.getList(2));
      equal("rowIds", 6L, MatrixBlocks.rowIds(made).where("name = 'r' || row").count());
      equal(
          "several columns",
          6L,
          MatrixBlocks.toRows(
                  MatrixBlocks.fromRows(
                      table.selectExpr("v[0] AS a", "v[1] AS b"), List.of("a", "b")),
                  "w")
              .where("w[1] = 10 * w[0]")
              .count());
      same(
          "fromCells, toCells",
          6,
          4,
          (i, j) -> 10 * i + j,
          MatrixBlocks.fromCells(MatrixBlocks.toCells(m), 4, 4));

      Row permuted = VolumeBlocks.permute(spark.sql(VOLUME), "zyx").collectAsList().get(0);
      equal("permute", List.of(0f, 3f, 1f, 4f, 2f, 5f), permuted.getList(6));
      equal("permute", 3, permuted.getInt(3));

      Dataset<Row> v = spark.sql(VOLUME);
      equal("slabs", 3L, VolumeBlocks.slabs(v, "z", 1).count());
      equal("pencils", 2L, VolumeBlocks.pencils(v, "z", 1, 1).count());
      Row bricks = VolumeBlocks.reblock(v, 2, 1, 2).where("z = 2").collectAsList().get(0);
      equal("volume_reblock", List.of(2f, 5f), bricks.getList(6));
      Dataset<Row> spectrum = VolumeBlocks.fft(v, FftOptions.defaults().withReal(true));
      Row back = VolumeBlocks.ifft(VolumeBlocks.lowPass(spectrum, 2)).collectAsList().get(0);
      List<Float> values = back.getList(back.fieldIndex("values"));
      for (int i = 0; i < 6; i++) {
        equal("fft and back", i, Math.round(values.get(i) * 1e6f) / 1_000_000);
      }
      Row ring =
          VolumeBlocks.radialAverage(spectrum, 2).orderBy("frequency").collectAsList().get(0);
      equal("rings", 6L, ring.getAs("count"));
      equal("frequencies", 5L, VolumeBlocks.frequencies(spectrum).count());
      Row scaled = VolumeBlocks.add(VolumeBlocks.scale(v, 0.5), v).collectAsList().get(0);
      equal("volume_scale, volume_add", List.of(0f, 1.5f, 3f, 4.5f, 6f, 7.5f), scaled.getList(6));
      equal("volume_validate", 0L, VolumeBlocks.validate(v).count());

      refused(
          "block at row 3, col 2: values has 5 elements",
          () ->
              MatrixBlocks.transpose(
                      m.selectExpr(
                          "row",
                          "col",
                          "rows",
                          "cols",
                          "IF(row = 3 AND col = 2, slice(values, 1, 5), values) AS values"))
                  .collectAsList());
      refused(
          "block at row 3, col 2: no block of the input holds",
          () -> MatrixBlocks.reblock(m.where("row + col < 5"), 6, 4).collectAsList());
      refused("the input has no column x", () -> VolumeBlocks.permute(m, "yzx").collectAsList());
      refused(
          "the column metadata tilespark.extents says [5, 4]",
          () -> MatrixBlocks.transpose(MatrixBlocks.withExtents(m, 5, 4)).collectAsList());
      same("scale", 6, 4, (i, j) -> -2.5 * (10 * i + j), MatrixBlocks.scale(m, -2.5));
      same("add", 6, 4, (i, j) -> 20 * i + 2 * j, MatrixBlocks.add(m, m));
      same(
          "add with holes",
          6,
          4,
          (i, j) -> (i < 3 && j < 2 ? 1 : 2) * (10 * i + j),
          MatrixBlocks.add(m, m.where("row + col > 0"), Missing.ZERO));
      same("center", 6, 4, (i, j) -> 10 * i - 25, MatrixBlocks.center(m));
      equal("infinity", true, isInfinite(MatrixBlocks.scale(m, Double.POSITIVE_INFINITY)));
      Row defect = MatrixBlocks.validate(m.where("row + col < 5")).collectAsList().get(0);
      equal("validate", "hole", defect.getString(0));
      same(
          "extents forgotten",
          4,
          6,
          (i, j) -> 10 * j + i,
          MatrixBlocks.transpose(MatrixBlocks.withoutExtents(MatrixBlocks.withExtents(m, 5, 4))));
      refusedAs(
          "TILESPARK_INVALID_ARGUMENT",
          "volume_permute: axes is 'zzz'; expected each of x, y, z once, by letter or number, as"
              + " 'yzx' or '1,2,0' SQLSTATE: 22023",
          () -> VolumeBlocks.permute(v, "zzz").collectAsList());
      refusedAs(
          "TILESPARK_INVALID_BLOCK",
          "block at row 0, col 0: values has 6 elements; expected rows x cols = 4 x 2 = 8 (in"
              + " matrix_transpose) SQLSTATE: 22000",
          () ->
              MatrixBlocks.transpose(
                      m.where("row + col = 0")
                          .selectExpr("row", "col", "4 AS rows", "cols", "values"))
                  .collectAsList());
      refusedAs(
          "TILESPARK_INVALID_FILE",
          "Path does not exist: /nowhere/a.npy SQLSTATE: KD000",
          () -> spark.read().format("npy").load("/nowhere/a.npy").collectAsList());
      String longText = "a reason that a status of gRPC would cut ".repeat(200).trim();
      refusedAs(
          "TILESPARK_INVALID_ARGUMENT",
          "volume_permute: axes is '"
              + longText
              + "'; expected each of x, y, z once, by letter or number, as 'yzx' or '1,2,0'"
              + " SQLSTATE: 22023",
          () -> VolumeBlocks.permute(v, longText).collectAsList());
      System.out.println("right");
    }
  }

  private interface Element {
    double at(int i, int j);
  }

  private interface Term {
    double at(int k);
  }

  private static double sum(int count, Term term) {
    double sum = 0;
    for (int k = 0; k < count; k++) {
      sum += term.at(k);
    }
    return sum;
  }

  private static boolean isInfinite(Dataset<Row> df) {
    return Double.isInfinite(df.where("row = 3").collectAsList().get(0).<Double>getList(4).get(0));
  }

  /** Checks every element, and that there is each. */
  private static void same(String what, int rows, int cols, Element expected, Dataset<Row> df) {
    int seen = 0;
    for (Row block : df.collectAsList()) {
      List<Double> values = block.getList(block.fieldIndex("values"));
      int width = block.<Integer>getAs("cols");
      equal(what, width * block.<Integer>getAs("rows"), values.size());
      for (int e = 0; e < values.size(); e++) {
        int i = Math.toIntExact(block.<Long>getAs("row") + e / width);
        int j = Math.toIntExact(block.<Long>getAs("col") + e % width);
        equal(what + " at " + i + ", " + j, expected.at(i, j), values.get(e));
        seen++;
      }
    }
    equal(what + ": elements", rows * cols, seen);
  }

  private static void equal(String what, Object expected, Object found) {
    if (!Objects.equals(expected, found)) {
      throw new IllegalStateException(what + ": expected " + expected + ", found " + found);
    }
  }

  /** Checks the condition and the whole message of what the client throws. */
  private static void refusedAs(String condition, String text, Runnable call) {
    Throwable thrown = null;
    try {
      call.run();
    } catch (Exception e) {
      thrown = e;
    }
    if (!(thrown instanceof SparkThrowable spark)) {
      throw new IllegalStateException("expected " + condition + ", found " + thrown, thrown);
    }
    equal("condition", condition, spark.getCondition());
    String message = "[" + condition + "] " + text;
    if (!thrown.getMessage().endsWith(message)) { // the client puts the server's class before it
      throw new IllegalStateException("expected '" + message + "', found " + thrown, thrown);
    }
  }

  private static void refused(String message, Runnable call) {
    List<String> said = new ArrayList<>();
    try {
      call.run();
    } catch (Exception e) { // Spark's own are checked, and Scala does not declare them
      for (Throwable t = e; t != null; t = t.getCause()) {
        said.add(t.toString());
      }
    }
    if (said.stream().noneMatch(text -> text.contains(message))) {
      throw new IllegalStateException("expected '" + message + "', found " + said);
    }
  }
}
