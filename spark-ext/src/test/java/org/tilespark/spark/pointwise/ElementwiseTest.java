package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.DoubleBinaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.Sampling;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.testing.SparkTest;

/** Sums, multiples and centred columns, compared with loops over plain arrays. */
class ElementwiseTest extends SparkTest {
  private static final double[] SPECIAL = {
    Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, -0.0, 0.0, 1e-45, 3e38
  };

  // --- scale

  @Test
  void scalesEveryElementInEveryMode() {
    Random random = new Random(1);
    double[][] values = TestMatrix.randomFloats(37, 53, 0, random);
    sprinkle(values, random);
    TestMatrix matrix = TestMatrix.cutAnywhere(values, 10, 21, random);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            assertElements(
                values,
                values,
                (x, unused) -> -0.1 * x,
                MatrixBlocks.scale(matrix.toDataFrame(spark, DataTypes.DoubleType, 3), -0.1));
            assertElements(
                values,
                values,
                (x, unused) -> (float) (-0.1 * x),
                MatrixBlocks.scale(matrix.toDataFrame(spark, DataTypes.FloatType, 3), -0.1));
          });
    }
  }

  /** Longer than a chunk, and not a whole number of them. */
  @Test
  void largeBlocksAreWhole() {
    Random random = new Random(2);
    double[][] values = TestMatrix.randomFloats(101, 131, 3, random);
    TestMatrix one = TestMatrix.cut(values, 101, 131);
    for (DataType type : List.of(DataTypes.FloatType, DataTypes.DoubleType)) {
      Dataset<Row> df = one.toDataFrame(spark, type, 1);
      assertElements(values, values, (x, unused) -> 2 * x, MatrixBlocks.scale(df, 2));
      assertElements(
          values,
          values,
          (x, y) -> type == DataTypes.FloatType ? (float) x + (float) y : x + y,
          MatrixBlocks.add(df, df));
      assertCentred(values, MatrixBlocks.center(df), type == DataTypes.FloatType ? 1e-6 : 1e-15);
    }
  }

  @Test
  void scalesBothPartsOfComplexBlocks() {
    Dataset<Row> complex = complex();
    Row block = MatrixBlocks.scale(complex, 3).first();
    assertEquals(List.of(3.0, 6.0), block.getList(4));
    assertEquals(List.of(30.0, 60.0), block.getList(5));
  }

  // --- add

  @Test
  void addsBlockByBlockInEveryMode() {
    Random random = new Random(3);
    double[][] first = TestMatrix.randomFloats(31, 47, 0, random);
    double[][] second = TestMatrix.randomFloats(31, 47, 5, random);
    sprinkle(first, random);
    sprinkle(second, random);
    TestMatrix a = TestMatrix.cutAnywhere(first, 7, 13, random);
    TestMatrix b = new TestMatrix(second, a.boxes());
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            assertElements(
                first,
                second,
                Double::sum,
                MatrixBlocks.add(
                    a.toDataFrame(spark, DataTypes.DoubleType, 3),
                    b.toDataFrame(spark, DataTypes.DoubleType, 2)));
            assertElements(
                first,
                second,
                (x, y) -> (float) x + (float) y,
                MatrixBlocks.add(
                    a.toDataFrame(spark, DataTypes.FloatType, 3),
                    b.toDataFrame(spark, DataTypes.FloatType, 2)));
          });
    }
  }

  @Test
  void aMatrixCanBeAddedToItself() {
    double[][] values = TestMatrix.random(9, 8, 0, new Random(4));
    Dataset<Row> df = TestMatrix.cut(values, 4, 5).toDataFrame(spark, DataTypes.DoubleType, 2);
    Dataset<Row> twice = MatrixBlocks.add(df, df);
    assertElements(values, values, Double::sum, twice);
    assertElements(values, values, (x, y) -> 4 * x, MatrixBlocks.add(twice, twice));
    assertElements(values, values, (x, y) -> -x, MatrixBlocks.add(df, MatrixBlocks.scale(df, -2)));
  }

  @Test
  void furtherColumnsTellMatricesApart() {
    Random random = new Random(5);
    double[][] x = TestMatrix.random(6, 6, 0, random);
    double[][] y = TestMatrix.random(6, 6, 0, random);
    Dataset<Row> a = samples(x, y, "one", null);
    Dataset<Row> b =
        samples(y, y, "one", null).select("values", "sample", "cols", "rows", "col", "row");
    Dataset<Row> sum = MatrixBlocks.add(a, b);
    assertEquals(List.of(a.columns()), List.of(sum.columns()));
    assertElements(x, y, Double::sum, sum.where("sample = 'one'"));
    assertElements(y, y, Double::sum, sum.where("sample IS NULL"));
  }

  @Test
  void addsComplexBlocks() {
    Row block = MatrixBlocks.add(complex(), complex()).first();
    assertEquals(List.of(2.0, 4.0), block.getList(4));
    assertEquals(List.of(20.0, 40.0), block.getList(5));
  }

  @Test
  void blocksWithoutPartnersAreNamed() {
    double[][] values = TestMatrix.random(8, 8, 0, new Random(6));
    Dataset<Row> whole = TestMatrix.cut(values, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 2);
    Dataset<Row> hole = whole.where("NOT (row = 4 AND col = 0)");
    assertFails(
        () -> MatrixBlocks.add(whole, hole).collectAsList(),
        "block at row 4, col 0: no block of the input holds the 4 x 4 elements from there",
        "MatrixBlocks.add, second matrix");
    assertFails(
        () -> MatrixBlocks.add(hole, whole).collectAsList(),
        "block at row 4, col 0: no block of the input holds the 4 x 4 elements from there",
        "MatrixBlocks.add, first matrix");
    Dataset<Row> other = TestMatrix.cut(values, 4, 8).toDataFrame(spark, DataTypes.DoubleType, 2);
    assertFails(
        () -> MatrixBlocks.add(whole.where("col = 0"), other).collectAsList(),
        "block at row 0, col 4: no block of the input holds the 4 x 4 elements from there",
        "MatrixBlocks.add, first matrix");
  }

  /** Spark moves no condition below the sum, where it would hide blocks. */
  @Test
  void blocksWithoutPartnersAreNamedUnderFiltersAndJoins() {
    double[][] values = TestMatrix.random(8, 8, 0, new Random(21));
    Dataset<Row> whole =
        TestMatrix.cut(values, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 2, "one");
    Dataset<Row> hole = whole.where("NOT (row = 4 AND col = 0)");
    for (String condition :
        List.of("row >= 0", "col = 0", "rows = 4", "cols < 5", "sample = 'one'", "row + col > 0")) {
      assertFails(
          () -> MatrixBlocks.add(hole, whole).where(condition).collectAsList(),
          "block at row 4, col 0: no block of the input",
          "first matrix");
      assertFails(
          () -> MatrixBlocks.add(whole, hole).where(condition).collectAsList(),
          "block at row 4, col 0: no block of the input",
          "second matrix");
    }
    for (String column : List.of("row", "col", "rows", "sample")) {
      Dataset<Row> keys = whole.select(column).distinct();
      for (String type : List.of("inner", "leftsemi", "left")) {
        if (Sampling.skips(column.length() + type.length(), 2)) {
          continue;
        }
        assertFails(
            () -> MatrixBlocks.add(hole, whole).join(keys, using(column), type).collectAsList(),
            "block at row 4, col 0: no block of the input",
            "first matrix");
      }
      assertEquals(
          4, MatrixBlocks.add(hole, whole, Missing.ZERO).join(keys, column).collectAsList().size());
    }
  }

  private static scala.collection.immutable.Seq<String> using(String column) {
    return ScalaInterop.seq(column);
  }

  @Test
  void theSecondIsCutAsTheFirstWhereBothStateTheirShapes(@TempDir Path directory) {
    Random random = new Random(16);
    double[][] first = TestMatrix.random(23, 19, 0, random);
    double[][] second = TestMatrix.random(23, 19, 0, random);
    String a = directory.resolve("a.npy").toString();
    String b = directory.resolve("b.npy").toString();
    write(first, a);
    write(second, b);
    Dataset<Row> sum = MatrixBlocks.add(read(a, "5,8"), read(b, "7,6"));
    assertEquals("(5, 8)", metadata(sum).blockShape(2).orElseThrow().toString());
    assertElements(first, second, Double::sum, sum);
  }

  /**
   * The second moves once, to where its pieces are assembled; the first follows it there. A file is
   * read in the blocks that it is to have.
   */
  @Test
  void theSecondMovesOnceToBeCutAndAdded(@TempDir Path directory) {
    double[][] first = TestMatrix.random(23, 19, 0, new Random(17));
    double[][] second = TestMatrix.random(23, 19, 0, new Random(18));
    String a = directory.resolve("a.npy").toString();
    String b = directory.resolve("b.npy").toString();
    write(first, a);
    write(second, b);
    for (String adaptive : List.of("false", "true")) {
      for (String broadcast : List.of("-1", "10m")) {
        with(
            Map.of(
                "spark.sql.adaptive.enabled",
                adaptive,
                "spark.sql.autoBroadcastJoinThreshold",
                broadcast),
            () -> {
              Dataset<Row> moved = read(b, "7,6").where("row < 100"); // no file in any blocks
              Dataset<Row> sum = MatrixBlocks.add(read(a, "5,8"), moved);
              String plan = explained(sum); // while it has no final form next to the first
              assertElements(first, second, Double::sum, sum);
              assertEquals(2, plan.split("Exchange hashpartitioning", -1).length - 1, plan);

              Dataset<Row> ofFiles = MatrixBlocks.add(read(a, "5,8"), read(b, "7,6"));
              assertFalse(explained(ofFiles).contains("Exchange"), "read in the first's blocks");
              assertElements(first, second, Double::sum, ofFiles);
            });
      }
    }
  }

  @Test
  void whatOneMatrixLacksCountsAsZeros() {
    Random random = new Random(19);
    double[][] first = TestMatrix.random(9, 7, 0, random);
    double[][] second = TestMatrix.random(9, 7, 0, random);
    first[0][0] = -0.0;
    second[8][6] = -0.0;
    Dataset<Row> a = samples(first, second, "one", null);
    Dataset<Row> b = samples(second, first, "one", null);
    // Of "one", a lacks the last row of blocks, b the first column but for its last block.
    Dataset<Row> sum =
        MatrixBlocks.add(
            a.where("NOT (sample <=> 'one' AND row = 8)"),
            b.where("NOT (sample <=> 'one' AND col = 0 AND row < 8)"),
            Missing.ZERO);
    double[][] found = TestMatrix.collect(sum.where("sample = 'one'"), 9, 7);
    for (int i = 0; i < 9; i++) {
      for (int j = 0; j < 7; j++) {
        double expected = (i < 8 ? first[i][j] : 0.0) + (i == 8 || j >= 4 ? second[i][j] : 0.0);
        assertEquals(expected, found[i][j], i + ", " + j);
      }
    }
    assertEquals(0.0, found[0][0], "no negative zero");
    assertEquals(0.0, found[8][6], "no negative zero");
    assertElements(first, second, Double::sum, sum.where("sample IS NULL"));
    assertFails(() -> MatrixBlocks.add(a.where("row < 8"), b).collectAsList(), "missing=zero");
  }

  @Test
  void whatOneLacksIsZeroAlsoWhereTheSecondIsCut(@TempDir Path directory) {
    double[][] first = TestMatrix.random(12, 12, 0, new Random(20));
    String file = directory.resolve("a.npy").toString();
    write(first, file);
    Dataset<Row> a = read(file, "4,4");
    Dataset<Row> b = read(file, "6,6").where("row = 0");
    double[][] second = new double[12][];
    for (int i = 0; i < 12; i++) {
      second[i] = i < 6 ? first[i] : new double[12];
    }
    assertElements(first, second, Double::sum, MatrixBlocks.add(a, b, Missing.ZERO));
  }

  private static void write(double[][] values, String file) {
    TestMatrix.cut(values, 10, 10)
        .toDataFrame(spark, DataTypes.DoubleType, 2)
        .write()
        .format("npy")
        .save(file);
  }

  private static Dataset<Row> read(String file, String blockShape) {
    return spark.read().format("npy").option("blockShape", blockShape).load(file);
  }

  @Test
  void matricesThatDoNotFitAreRefused() {
    double[][] values = TestMatrix.random(4, 4, 0, new Random(7));
    TestMatrix matrix = TestMatrix.cut(values, 2, 2);
    Dataset<Row> doubles = matrix.toDataFrame(spark, DataTypes.DoubleType, 1);
    Dataset<Row> floats = matrix.toDataFrame(spark, DataTypes.FloatType, 1);
    assertRefused(() -> MatrixBlocks.add(doubles, floats), "ARRAY<DOUBLE>", "ARRAY<FLOAT>");
    assertRefused(
        () -> MatrixBlocks.add(doubles, doubles.withColumn("sample", functions.lit(1))),
        "further columns tell several matrices apart",
        "the first has (), the second (sample INT)");
    assertRefused(
        () ->
            MatrixBlocks.add(
                doubles.withColumn("sample", functions.lit("1")),
                doubles.withColumn("sample", functions.lit(1))),
        "the first has (sample STRING), the second (sample INT)");
    assertRefused(
        () ->
            MatrixBlocks.add(
                MatrixBlocks.withExtents(doubles, 4, 4), MatrixBlocks.withExtents(doubles, 4, 5)),
        "(4, 4)",
        "(4, 5)",
        "withExtents");
  }

  @Test
  void typesOtherThanFloatAndDoubleAreRefusedByName() {
    Dataset<Row> ints =
        spark.sql("SELECT 0L AS row, 0L AS col, 1 AS rows, 2 AS cols, array(1, 2) AS values");
    assertRefused(() -> MatrixBlocks.scale(ints, 2), "MatrixBlocks.scale", "ARRAY<INT>", "FLOAT");
    assertRefused(() -> MatrixBlocks.add(ints, ints), "MatrixBlocks.add", "ARRAY<INT>");
    assertRefused(() -> MatrixBlocks.center(ints), "MatrixBlocks.center", "ARRAY<INT>");
  }

  @Tag("versions")
  @Test
  void whatIsPartitionedAlikeIsNotShuffledAgain() {
    double[][] values = TestMatrix.random(16, 16, 0, new Random(8));
    TestMatrix matrix = TestMatrix.cut(values, 4, 4);
    var row = functions.col("row");
    var col = functions.col("col");
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () -> {
          Dataset<Row> a =
              matrix.toDataFrame(spark, DataTypes.DoubleType, 2).repartition(4, row, col).cache();
          Dataset<Row> b =
              matrix.toDataFrame(spark, DataTypes.DoubleType, 3).repartition(4, row, col).cache();
          Dataset<Row> plain = matrix.toDataFrame(spark, DataTypes.DoubleType, 3).cache();
          try {
            Dataset<Row> sum = MatrixBlocks.add(a, b);
            assertEquals(0, exchanges(sum), () -> explained(sum));
            assertElements(values, values, Double::sum, sum);
            Dataset<Row> mixed = MatrixBlocks.add(a, plain);
            assertEquals(0, exchanges(mixed), () -> explained(mixed)); // both are read in place
            assertElements(values, values, Double::sum, mixed);
            assertEquals(2, exchanges(MatrixBlocks.add(plain, plain.where("row >= 0"))));
            assertEquals(0, exchanges(MatrixBlocks.scale(plain, 2)));
          } finally {
            a.unpersist(true);
            b.unpersist(true);
            plain.unpersist(true);
          }
        });
  }

  // --- center

  @Test
  void centresAnyTilingInEveryMode() {
    Random random = new Random(9);
    double[][] values = TestMatrix.randomFloats(41, 29, 2, random);
    for (TestMatrix matrix :
        List.of(
            TestMatrix.cut(values, 41, 29),
            TestMatrix.cut(values, 7, 5),
            TestMatrix.cut(values, 1, 29),
            TestMatrix.cut(values, 41, 1),
            TestMatrix.cutAnywhere(values, 6, 11, random))) {
      for (Map<String, String> mode : sampledModes()) {
        with(
            mode,
            () -> {
              assertCentred(
                  values,
                  MatrixBlocks.center(matrix.toDataFrame(spark, DataTypes.DoubleType, 3)),
                  1e-15);
              assertCentred(
                  values,
                  MatrixBlocks.center(matrix.toDataFrame(spark, DataTypes.FloatType, 3)),
                  1e-7);
            });
      }
    }
  }

  /** The blocks stay where they are: the only exchange is of means. */
  @Test
  void blocksAreNotShuffledToBeCentred() {
    double[][] values = TestMatrix.random(16, 16, 0, new Random(10));
    Dataset<Row> df = TestMatrix.cut(values, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 3);
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () -> {
          Dataset<Row> cached = df.cache();
          Dataset<Row> centred = MatrixBlocks.center(cached);
          SparkPlan plan = plan(centred).executedPlan();
          assertEquals(1, exchanges(centred), plan::toString);
          assertTrue(plan.toString().contains("Exchange SinglePartition"), plan::toString);
          assertEquals(1, nodes(plan, BroadcastHashJoinExec.class), plan::toString);
          assertCentred(values, centred, 1e-15);
          cached.unpersist(true);
        });
  }

  /**
   * A mean of 2^40 with a spread of 1: sums in plain double would be off by far more than the last
   * place of the results.
   */
  @Test
  void largeOffsetsCostNoAccuracy() {
    Random random = new Random(11);
    double[][] values = TestMatrix.random(3000, 3, 0x1p40, random);
    for (double[] row : values) {
      row[2] = 1e300 * random.nextGaussian();
      row[1] = 1e17 + 64 * random.nextInt(5);
    }
    Dataset<Row> df = TestMatrix.cut(values, 100, 2).toDataFrame(spark, DataTypes.DoubleType, 4);
    assertCentred(values, MatrixBlocks.center(df), 2e-16);
  }

  @Test
  void nanAndInfinitySpreadOverTheirColumn() {
    double[][] values = {
      {1, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 7},
      {2, 1, 1, Double.POSITIVE_INFINITY, 8},
      {6, 1, Double.POSITIVE_INFINITY, 3, 9}
    };
    double nan = Double.NaN;
    double[][] expected = {
      {-2, nan, nan, nan, -1},
      {-1, nan, Double.NEGATIVE_INFINITY, nan, 0},
      {3, nan, nan, nan, 1}
    };
    for (DataType type : List.of(DataTypes.FloatType, DataTypes.DoubleType)) {
      Dataset<Row> df = TestMatrix.cut(values, 2, 2).toDataFrame(spark, type, 2);
      double[][] found = TestMatrix.collect(MatrixBlocks.center(df), 3, 5);
      for (int i = 0; i < 3; i++) {
        assertArrayEquals(expected[i], found[i], "row " + i);
      }
    }
  }

  @Test
  void everyMatrixHasItsOwnMeans() {
    Random random = new Random(12);
    double[][] x = TestMatrix.random(6, 6, 100, random);
    double[][] y = TestMatrix.random(6, 6, -7, random);
    Dataset<Row> centred = MatrixBlocks.center(samples(x, y, "one", null));
    assertCentred(x, centred.where("sample = 'one'"), 1e-15);
    assertCentred(y, centred.where("sample IS NULL"), 1e-15);
  }

  /** Above 128 groups Spark's aggregate sorts its input: sums of blocks, not the blocks. */
  @Test
  void centresManyMatrices() {
    int matrices = 300;
    Dataset<Row> all =
        spark
            .range(0, matrices, 1, 2)
            .selectExpr(
                "id AS sample",
                "explode(array(0L, 2L)) AS row",
                "0L AS col",
                "2 AS rows",
                "2 AS cols",
                "transform(sequence(0, 3), i -> CAST(id * 10 + i AS DOUBLE)) AS values");
    for (String threshold : List.of("128", "1")) {
      with(
          Map.of("spark.sql.objectHashAggregate.sortBased.fallbackThreshold", threshold),
          () -> {
            Dataset<Row> centred = MatrixBlocks.center(all);
            List<Row> rows = centred.collectAsList();
            assertEquals(2 * matrices, rows.size());
            for (Row row : rows) {
              assertEquals(List.of(-1.0, -1.0, 1.0, 1.0), row.getList(row.fieldIndex("values")));
            }
          });
    }
    SparkPlan aggregate =
        find(plan(MatrixBlocks.center(all)).sparkPlan(), ObjectHashAggregateExec.class);
    while (find(aggregate.children().head(), ObjectHashAggregateExec.class) != null) {
      aggregate = find(aggregate.children().head(), ObjectHashAggregateExec.class);
    }
    String below = aggregate.children().head().output().toString();
    assertTrue(below.contains("sums") && !below.contains("values"), below);
  }

  private static SparkPlan find(SparkPlan plan, Class<? extends SparkPlan> type) {
    if (type.isInstance(plan)) {
      return plan;
    }
    for (SparkPlan child : ScalaInterop.<SparkPlan>list(plan.children())) {
      SparkPlan found = find(child, type);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  @Test
  void centresComplexBlocks() {
    Row block = MatrixBlocks.center(complex()).first();
    assertEquals(List.of(-0.5, 0.5), block.getList(4));
    assertEquals(List.of(-5.0, 5.0), block.getList(5));
  }

  @Test
  void holesAndOverlapsAreNamed() {
    double[][] values = TestMatrix.random(8, 8, 0, new Random(13));
    Dataset<Row> whole = TestMatrix.cut(values, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 2);
    assertFails(
        () -> MatrixBlocks.center(whole.where("NOT (row = 4 AND col = 0)")).collectAsList(),
        "no block at row 4, col 0",
        "MatrixBlocks.center");
    assertFails(
        () -> MatrixBlocks.center(whole.union(whole.where("row = 4"))).collectAsList(),
        "block at row 4, col",
        "overlap");
    assertFails(
        () -> MatrixBlocks.center(MatrixBlocks.withExtents(whole, 8, 9)).collectAsList(),
        "no block at row 0, col 8");
  }

  /** Also where the optimizer sees that there are no blocks. */
  @Test
  void centringNothingOfAStatedMatrixIsAHole() {
    double[][] values = TestMatrix.random(8, 8, 0, new Random(22));
    Dataset<Row> whole = TestMatrix.cut(values, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 2);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            for (String nothing : List.of("row < 0", "false")) {
              Dataset<Row> none = MatrixBlocks.withExtents(whole.where(nothing), 8, 8);
              assertFails(
                  () -> MatrixBlocks.center(none).collectAsList(),
                  "no block at row 0, col 0",
                  "MatrixBlocks.center");
              // Of several matrices, there is none that could have a hole.
              Dataset<Row> several = none.withColumn("sample", functions.lit(1));
              assertEquals(0, MatrixBlocks.center(several).collectAsList().size());
            }
            Dataset<Row> empty = MatrixBlocks.withExtents(whole.where("row < 0"), 0, 8);
            assertEquals(0, MatrixBlocks.center(empty).collectAsList().size());
          });
    }
  }

  // --- all of them

  @Test
  void wrongBlocksAreNamed() {
    Dataset<Row> wrong =
        spark.sql("SELECT 4L AS row, 0L AS col, 2 AS rows, 2 AS cols, array(1D, 2D, 3D) AS values");
    for (Dataset<Row> df :
        List.of(
            MatrixBlocks.scale(wrong, 2),
            MatrixBlocks.add(wrong, wrong),
            MatrixBlocks.center(wrong))) {
      assertFails(
          df::collectAsList, "block at row 4, col 0: values has 3 elements", "rows x cols = 2 x 2");
    }
    Dataset<Row> holdsNull =
        spark.sql(
            "SELECT 4L AS row, 0L AS col, 1 AS rows, 2 AS cols,"
                + " array(1F, CAST(NULL AS FLOAT)) AS values");
    for (Dataset<Row> df :
        List.of(
            MatrixBlocks.scale(holdsNull, 2),
            MatrixBlocks.add(holdsNull, holdsNull),
            MatrixBlocks.center(holdsNull))) {
      assertFails(df::collectAsList, "block at row 4, col 0: values has a null at element 1");
    }
    Dataset<Row> outside =
        MatrixBlocks.withExtents(
            wrong.selectExpr("row", "col", "1 AS rows", "3 AS cols", "values"), 4, 4);
    assertFails(
        () -> MatrixBlocks.scale(outside, 2).collectAsList(),
        "block at row 4, col 0: it ends at row 5",
        ArrayMetadata.EXTENTS);
  }

  /** The join takes the wrong block away before anybody computes with it. */
  @Test
  void aConditionOnValuesIsNotCheckedBelowAJoin() {
    Dataset<Row> wrong =
        spark.sql(
            "SELECT * FROM VALUES (0L, 0L, 1, 2, array(1D, 2D)), (1L, 0L, 1, 2, array(3D))"
                + " AS m (row, col, rows, cols, values)");
    Dataset<Row> joined = wrong.join(spark.sql("SELECT 0L AS row"), "row");
    assertEquals(1, MatrixBlocks.scale(joined, 2).where("values[0] = 2D").collectAsList().size());
  }

  @Test
  void metadataIsKept(@TempDir Path directory) {
    String file = directory.resolve("m.npy").toString();
    double[][] values = TestMatrix.random(10, 6, 5, new Random(14));
    TestMatrix.cut(values, 4, 4)
        .toDataFrame(spark, DataTypes.DoubleType, 2)
        .write()
        .format("npy")
        .option("dtype", "float16")
        .save(file);
    Dataset<Row> read = spark.read().format("npy").option("blockShape", "4,4").load(file);
    assertEquals("<f2", metadata(read).fileType().orElseThrow());
    for (Dataset<Row> df :
        List.of(
            MatrixBlocks.scale(read, 0.1),
            MatrixBlocks.add(read, read),
            MatrixBlocks.center(read))) {
      assertEquals("(10, 6)", metadata(df).extents(2).orElseThrow().toString());
      assertEquals("(4, 4)", metadata(df).blockShape(2).orElseThrow().toString());
      assertEquals("xy", metadata(df).axes().orElseThrow());
      // What was computed is more than the file's float16 holds.
      assertEquals("<f4", metadata(df).fileType().orElseThrow());
      String out = directory.resolve("out.npy").toString();
      df.write().format("npy").mode("overwrite").save(out);
      Dataset<Row> back = spark.read().format("npy").load(out);
      assertEquals("<f4", metadata(back).fileType().orElseThrow());
      assertArrayEquals(TestMatrix.collect(df, 10, 6)[9], TestMatrix.collect(back, 10, 6)[9]);
    }
  }

  @Test
  void unusedValuesAreNotComputed() {
    double[][] values = TestMatrix.random(8, 8, 0, new Random(15));
    Dataset<Row> df = TestMatrix.cut(values, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 2);
    String plan = optimized(MatrixBlocks.scale(df, 2).select("row"));
    assertFalse(plan.contains("ProgramBlocks"), plan);
  }

  @Test
  void emptyFramesGiveEmptyFrames() {
    Dataset<Row> none =
        spark.createDataFrame(List.<Row>of(), TestMatrix.schema(DataTypes.FloatType));
    assertEquals(0, MatrixBlocks.scale(none, 2).count());
    assertEquals(0, MatrixBlocks.add(none, none).collectAsList().size());
    assertEquals(0, MatrixBlocks.center(none).collectAsList().size());
  }

  // --- helpers

  private static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }

  /** Shuffles of a query, not counting what a cached input did. */
  private static int exchanges(Dataset<Row> df) {
    return nodes(plan(df).executedPlan(), ShuffleExchangeExec.class);
  }

  private static int nodes(SparkPlan plan, Class<? extends SparkPlan> type) {
    int count = type.isInstance(plan) ? 1 : 0;
    for (SparkPlan child : ScalaInterop.<SparkPlan>list(plan.children())) {
      count += nodes(child, type);
    }
    return count;
  }

  private static Dataset<Row> samples(double[][] x, double[][] y, String first, String second) {
    return TestMatrix.cut(x, 4, 4)
        .toDataFrame(spark, DataTypes.DoubleType, 2, first)
        .union(TestMatrix.cut(y, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 1, second));
  }

  private static Dataset<Row> complex() {
    return spark.sql(
        "SELECT 0L AS row, 0L AS col, 2 AS rows, 1 AS cols, array(1D, 2D) AS values,"
            + " array(10D, 20D) AS imag");
  }

  private static void sprinkle(double[][] values, Random random) {
    for (double special : SPECIAL) {
      values[random.nextInt(values.length)][random.nextInt(values[0].length)] = special;
    }
  }

  private static void assertRefused(Runnable body, String... parts) {
    String reason = reasonOf(body::run);
    for (String part : parts) {
      assertTrue(reason.contains(part), reason);
    }
  }

  private static void assertElements(
      double[][] a, double[][] b, DoubleBinaryOperator expected, Dataset<Row> df) {
    double[][] found = TestMatrix.collect(df, a.length, a[0].length);
    for (int i = 0; i < a.length; i++) {
      for (int j = 0; j < a[i].length; j++) {
        assertEquals(expected.applyAsDouble(a[i][j], b[i][j]), found[i][j], i + ", " + j);
      }
    }
  }

  /**
   * @param tolerance relative to the largest magnitude that the column has without its mean
   */
  private static void assertCentred(double[][] values, Dataset<Row> df, double tolerance) {
    double[][] found = TestMatrix.collect(df, values.length, values[0].length);
    for (int j = 0; j < values[0].length; j++) {
      BigDecimal sum = BigDecimal.ZERO;
      for (double[] row : values) {
        sum = sum.add(new BigDecimal(row[j]));
      }
      BigDecimal mean = sum.divide(BigDecimal.valueOf(values.length), MathContext.DECIMAL128);
      double largest = 0;
      double[] expected = new double[values.length];
      for (int i = 0; i < values.length; i++) {
        expected[i] = new BigDecimal(values[i][j]).subtract(mean).doubleValue();
        largest = Math.max(largest, Math.abs(expected[i]));
      }
      for (int i = 0; i < values.length; i++) {
        assertEquals(expected[i], found[i][j], tolerance * largest, i + ", " + j);
      }
    }
  }
}
