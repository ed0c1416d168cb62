package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.tilespark.spark.linalg.Matrices.as;
import static org.tilespark.spark.linalg.Matrices.blocks;
import static org.tilespark.spark.linalg.Matrices.column;
import static org.tilespark.spark.linalg.Matrices.less;
import static org.tilespark.spark.linalg.Matrices.norm;
import static org.tilespark.spark.linalg.Matrices.product;
import static org.tilespark.spark.linalg.Matrices.random;
import static org.tilespark.spark.linalg.Matrices.scaled;
import static org.tilespark.spark.linalg.Matrices.strips;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.netlib.lapack.Dgelsd;
import org.netlib.util.intW;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Factors of strips and of batches, against one call of LAPACK with the whole of a matrix. */
class AgainstLapackTest extends SparkTest {
  /** As many strips as there can be, whose left factors are broadcast. */
  private static final StripSizes SMALL = new StripSizes(1, 1, 1 << 20, 1 << 20);

  private static final double EPSILON = Math.ulp(1.0);

  private static Dataset<Row> frame(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) spark, plan);
  }

  private static FactorPlans plans(Dataset<Row> a) {
    return new FactorPlans(plan(a).analyzed(), SMALL, AgainstLapackTest::frame, "test");
  }

  // ---- LAPACK

  /** Least squares of the whole by dgelsd. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Whole(double[][] x, int rank, double[] s) {
    static Whole of(double[][] a, double[][] b, double rcond) {
      int m = a.length;
      int n = a[0].length;
      int longer = Math.max(m, n);
      double[] left = flat(transposed(a, n)); // column-major
      double[] right = flat(transposed(Arrays.copyOf(b, longer), b[0].length));
      double[] s = new double[Math.min(m, n)];
      double[] work = new double[200 * (longer + b[0].length + 20)];
      intW rank = new intW(0);
      intW info = new intW(0);
      Dgelsd.dgelsd(
          m,
          n,
          b[0].length,
          left,
          0,
          m,
          right,
          0,
          longer,
          s,
          0,
          rcond,
          rank,
          work,
          0,
          work.length,
          new int[1000],
          0,
          info);
      assertEquals(0, info.val);
      double[][] x = new double[n][b[0].length];
      for (int i = 0; i < n; i++) {
        for (int j = 0; j < x[0].length; j++) {
          x[i][j] = right[j * longer + i];
        }
      }
      return new Whole(x, rank.val, s);
    }

    /** The transpose of rows, some of which are null and stand for zeros. */
    private static double[][] transposed(double[][] rows, int cols) {
      double[][] t = new double[cols][rows.length];
      for (int i = 0; i < rows.length && rows[i] != null; i++) {
        for (int j = 0; j < cols; j++) {
          t[j][i] = rows[i][j];
        }
      }
      return t;
    }

    private static double[] flat(double[][] rows) {
      return Arrays.stream(rows).flatMapToDouble(Arrays::stream).toArray();
    }
  }

  private static double[] singularValues(double[][] a) {
    return Whole.of(a, new double[a.length][1], 0).s();
  }

  // ---- tables of factors

  /** A factor of one of the matrices that a column {@code sample} distinguishes. */
  private static double[][] factor(List<Row> table, int sample, String name) {
    Row block =
        table.stream()
            .filter(row -> row.getAs("factor").equals(name))
            .filter(
                row ->
                    !row.schema().getFieldIndex("sample").isDefined()
                        || row.<Integer>getAs("sample") == sample)
            .findFirst()
            .orElseThrow();
    int cols = block.<Integer>getAs("cols");
    double[][] rows = new double[block.<Integer>getAs("rows")][cols];
    List<? extends Number> values = block.getList(block.fieldIndex("values"));
    for (int i = 0; i < values.size(); i++) {
      rows[i / cols][i % cols] = values.get(i).doubleValue();
    }
    return rows;
  }

  /** An error relative to a size, which may be zero. */
  private static double of(double error, double size) {
    return Math.max(Double.MIN_VALUE, error * size);
  }

  private static void assertNear(double[][] expected, double[][] found, double error, String what) {
    assertEquals(0, norm(less(expected, found)), error, what);
  }

  private static void checkLeastSquares(
      double[][] a, double[][] b, List<Row> table, int sample, double error, String what) {
    Whole whole = Whole.of(a, b, Math.max(a.length, a[0].length) * EPSILON);
    double[] s = column(factor(table, sample, "s"));
    for (int i = 0; i < s.length; i++) {
      assertEquals(whole.s()[i], s[i], of(error, whole.s()[0]), what);
    }
    assertEquals(whole.rank(), factor(table, sample, "rank")[0][0], what);
    double[][] x = factor(table, sample, "x");
    assertNear(whole.x(), x, of(error, norm(whole.x())), what);
    double[][] left = less(b, product(a, whole.x()));
    double[] sums = column(factor(table, sample, "residuals"));
    for (int j = 0; j < sums.length; j++) {
      double sum = 0;
      double most = 0;
      for (int i = 0; i < b.length; i++) {
        sum += left[i][j] * left[i][j];
        most += b[i][j] * b[i][j];
      }
      assertEquals(sum, sums[j], error * most, what);
    }
  }

  // ---- tests

  @Test
  void leastSquaresOfStrips() {
    double[][] deficient = random(61, 4);
    for (double[] row : deficient) {
      row[2] = row[0] - 2 * row[1];
    }
    Map<String, double[][]> all = new LinkedHashMap<>();
    all.put("odd", random(61, 3));
    all.put("one column", random(47, 1));
    all.put("rank 3 of 4", deficient);
    all.put("zeros", new double[40][2]);
    all.put("columns of several sizes", scaled(random(61, 3), new double[] {1e3, 1, 1e-3}));
    all.put("graded", scaled(random(61, 3), new double[] {1e300, 1, 1e-300}));
    all.put("large", scaled(random(50, 2), new double[] {1e290, 1e290}));
    all.put("small", scaled(random(50, 2), new double[] {1e-290, 1e-290}));
    int seed = 0;
    for (Map.Entry<String, double[][]> each : all.entrySet()) {
      double[][] a = each.getValue();
      double[][] b = random(a.length, 2);
      seed++;
      Dataset<Row> blocks = blocks(spark, a, ElementType.FLOAT64, ragged(a, seed));
      Dataset<Row> right = blocks(spark, b, ElementType.FLOAT64, ragged(b, -seed));
      LogicalPlan found = plans(blocks).lstsq(plan(right).analyzed(), Optional.empty());
      double error = each.getKey().equals("columns of several sizes") ? 1e-8 : 1e-11;
      checkLeastSquares(a, b, frame(found).collectAsList(), 0, error, each.getKey());
    }
  }

  @Test
  void leastSquaresOfStripsOfFloats() {
    double[][] a = as(ElementType.FLOAT32, random(53, 3));
    double[][] b = as(ElementType.FLOAT32, random(53, 1));
    LogicalPlan found =
        plans(blocks(spark, a, ElementType.FLOAT32, ragged(a, 3)))
            .lstsq(
                plan(blocks(spark, b, ElementType.FLOAT32, strips(53, 1, 10))).analyzed(),
                Optional.empty());
    checkLeastSquares(a, b, frame(found).collectAsList(), 0, 1e-5, "floats");
  }

  private static List<Box> ragged(double[][] a, int seed) {
    return TestArray.matrix(ElementType.FLOAT64, a.length, a[0].length, 1, 1)
        .randomTiling(new Random(seed));
  }

  /** Matrices of one shape, ordinary and special. */
  private static List<double[][]> special(int rows, int cols) {
    double[][] ones = new double[rows][cols];
    double[][] unit = new double[rows][cols];
    double[][] twice = random(rows, cols);
    for (int i = 0; i < rows; i++) {
      Arrays.fill(ones[i], 1);
      unit[i][Math.min(i, cols - 1)] = i < cols ? 1 : 0;
      twice[i][cols - 1] = twice[i][0];
    }
    double[] grades = new double[cols];
    Arrays.setAll(grades, j -> Math.pow(10, -40.0 * j));
    double[] large = new double[cols];
    Arrays.fill(large, 1e290);
    double[] small = new double[cols];
    Arrays.fill(small, 1e-290);
    return List.of(
        random(rows, cols),
        new double[rows][cols],
        ones,
        unit,
        twice,
        scaled(random(rows, cols), grades),
        scaled(random(rows, cols), large),
        scaled(random(rows, cols), small));
  }

  private static Dataset<Row> batch(List<double[][]> all) {
    int rows = all.get(0).length;
    int cols = all.get(0)[0].length;
    return MatrixBlocks.withExtents(
        IntStream.range(0, all.size())
            .mapToObj(
                i ->
                    blocks(spark, all.get(i), ElementType.FLOAT64, ragged(all.get(i), i))
                        .withColumn("sample", functions.lit(i)))
            .reduce(Dataset::unionAll)
            .orElseThrow(),
        rows,
        cols);
  }

  @Test
  void singularValuesOfBatches() {
    int[][] shapes = {{1, 1}, {1, 4}, {5, 1}, {3, 5}, {6, 3}, {4, 4}};
    for (int[] shape : shapes) {
      List<double[][]> all = special(shape[0], shape[1]);
      List<Row> table = frame(plans(batch(all)).svd()).collectAsList();
      for (int i = 0; i < all.size(); i++) {
        String what = "matrix %d of %s".formatted(i, Arrays.toString(shape));
        double[] expected = singularValues(all.get(i));
        double error = of(50 * EPSILON, expected[0]);
        double[] s = column(factor(table, i, "s"));
        assertEquals(expected.length, s.length, what);
        for (int j = 0; j < s.length; j++) {
          assertEquals(expected[j], s[j], error, what);
        }
        double[][] us = scaled(factor(table, i, "u"), s);
        assertNear(all.get(i), product(us, factor(table, i, "vt")), error, what);
      }
    }
  }

  @Test
  void leastSquaresOfBatches() {
    int[][] shapes = {{1, 1}, {2, 5}, {7, 3}};
    for (int[] shape : shapes) {
      List<double[][]> all = special(shape[0], shape[1]);
      List<double[][]> sides =
          IntStream.range(0, all.size()).mapToObj(i -> random(shape[0], 2)).toList();
      LogicalPlan found = plans(batch(all)).lstsq(plan(batch(sides)).analyzed(), Optional.empty());
      List<Row> table = frame(found).collectAsList();
      for (int i = 0; i < all.size(); i++) {
        String what = "matrix %d of %s".formatted(i, Arrays.toString(shape));
        checkLeastSquares(all.get(i), sides.get(i), table, i, 1e-10, what);
      }
    }
  }
}
