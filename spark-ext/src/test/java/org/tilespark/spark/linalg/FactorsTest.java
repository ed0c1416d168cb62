package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.Eigh;
import org.tilespark.spark.Lstsq;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.Qr;
import org.tilespark.spark.Svd;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.Assume;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/** Factorisations by what defines them: products of the factors, orthogonality, order and signs. */
class FactorsTest extends SparkTest {
  private static final ElementType DOUBLE = ElementType.FLOAT64;

  /** Matrices by what is special about them, of numbers of a type. */
  private static Map<String, TestProduct> matrices(ElementType type) {
    Map<String, TestProduct> all = new LinkedHashMap<>();
    all.put("one element", TestProduct.random(type, 1, 1, 1));
    all.put("one row", TestProduct.random(type, 1, 5, 2));
    all.put("one column", TestProduct.random(type, 7, 1, 3));
    all.put("tall", TestProduct.random(type, 13, 5, 4));
    all.put("wide", TestProduct.random(type, 5, 11, 5));
    all.put("square", TestProduct.random(type, 9, 9, 6));
    all.put("zeros", new TestProduct(type, 6, 4, new double[24]));
    all.put(
        "rank 2", product(TestProduct.random(type, 8, 2, 7), TestProduct.random(type, 2, 6, 8)));
    all.put("graded", scaledColumns(TestProduct.random(type, 8, 6, 9), graded(type, 6)));
    all.put("large", scaledColumns(TestProduct.random(type, 6, 4, 10), constant(4, large(type))));
    all.put("small", scaledColumns(TestProduct.random(type, 6, 4, 11), constant(4, small(type))));
    all.put("clustered", orthogonal(type, 8));
    return all;
  }

  private static double large(ElementType type) {
    return type == DOUBLE ? 1e300 : 1e37;
  }

  private static double small(ElementType type) {
    return type == DOUBLE ? 1e-300 : 1e-36;
  }

  private static double[] constant(int count, double value) {
    double[] all = new double[count];
    Arrays.fill(all, value);
    return all;
  }

  private static double[] graded(ElementType type, int count) {
    double[] scales = new double[count];
    for (int i = 0; i < count; i++) {
      double share = (double) i / (count - 1);
      scales[i] = Math.pow(large(type), 1 - share) * Math.pow(small(type), share);
    }
    return scales;
  }

  private static TestProduct scaledColumns(TestProduct a, double[] scales) {
    double[] values = a.values().clone();
    for (int i = 0; i < values.length; i++) {
      values[i] = rounded(a.type(), values[i] * scales[i % a.cols()]);
    }
    return new TestProduct(a.type(), a.rows(), a.cols(), values);
  }

  private static double rounded(ElementType type, double value) {
    return type == ElementType.FLOAT32 ? (float) value : value;
  }

  /** A reflection, all of whose singular values are 1. */
  private static TestProduct orthogonal(ElementType type, int n) {
    TestProduct v = TestProduct.random(type, n, 1, 12);
    double norm = 0;
    for (double each : v.values()) {
      norm += each * each;
    }
    double[] values = new double[n * n];
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        double own = (i == j ? 1 : 0) - 2 * v.at(i, 0) * v.at(j, 0) / norm;
        values[i * n + j] = rounded(type, own);
      }
    }
    return new TestProduct(type, n, n, values);
  }

  // ---- plain arithmetic

  private static TestProduct product(TestProduct a, TestProduct b) {
    double[] values = new double[a.rows() * b.cols()];
    for (int i = 0; i < a.rows(); i++) {
      for (int j = 0; j < b.cols(); j++) {
        for (int k = 0; k < a.cols(); k++) {
          values[i * b.cols() + j] += a.at(i, k) * b.at(k, j);
        }
        values[i * b.cols() + j] = rounded(a.type(), values[i * b.cols() + j]);
      }
    }
    return new TestProduct(a.type(), a.rows(), b.cols(), values);
  }

  /** As doubles, so that sums are not rounded to float. */
  private static TestProduct wide(TestProduct a) {
    return new TestProduct(DOUBLE, a.rows(), a.cols(), a.values());
  }

  private static double largest(TestProduct a) {
    double largest = 0;
    for (double value : a.values()) {
      largest = Math.max(largest, Math.abs(value));
    }
    return largest;
  }

  /** Half the distance of 1 to its neighbour, with room for the sums of small matrices. */
  private static double accuracy(ElementType type) {
    return type == DOUBLE ? 100 * 0x1p-53 : 20 * 0x1p-24;
  }

  private static void assertNear(
      TestProduct expected, TestProduct found, double most, String what) {
    assertEquals(expected.rows(), found.rows(), what);
    assertEquals(expected.cols(), found.cols(), what);
    for (int i = 0; i < expected.values().length; i++) {
      assertEquals(expected.values()[i], found.values()[i], most, what + ", element " + i);
    }
  }

  private static void assertOrthonormalColumns(TestProduct q, String what) {
    TestProduct gram = product(wide(q).transposed(), wide(q));
    assertNear(TestProduct.identity(DOUBLE, q.cols()), gram, accuracy(q.type()), what);
  }

  private static TestProduct diagonal(TestProduct column) {
    TestProduct all =
        new TestProduct(
            DOUBLE, column.rows(), column.rows(), new double[column.rows() * column.rows()]);
    for (int i = 0; i < column.rows(); i++) {
      all = all.with(i, i, column.at(i, 0));
    }
    return all;
  }

  private static void assertDescending(TestProduct s, String what) {
    for (int i = 0; i < s.rows(); i++) {
      assertTrue(s.at(i, 0) >= 0, what);
      assertTrue(i == 0 || s.at(i - 1, 0) >= s.at(i, 0), what);
    }
  }

  // ---- frames

  /** In several tilings: one block, a grid, and ragged blocks; with and without metadata. */
  private static List<Dataset<Row>> tilings(TestProduct a) {
    List<Dataset<Row>> all = new ArrayList<>();
    all.add(a.stated(a.frame(spark, a.rows(), a.cols()), a.rows(), a.cols()));
    all.add(a.frame(spark, 3, 2));
    all.add(a.stated(a.frame(spark, 2, 3), 2, 3));
    all.add(a.frame(spark, a.raggedBlocks(4, 1), 2));
    return all;
  }

  /** One of the tilings. */
  private static Dataset<Row> one(TestProduct a, int which) {
    List<Dataset<Row>> all = tilings(a);
    return all.get(Math.floorMod(which, all.size()));
  }

  /** All matrices of DOUBLE, some of FLOAT, each in one tiling. */
  private static void ofAll(ElementType type, BiConsumer<TestProduct, Dataset<Row>> check) {
    Map<String, TestProduct> all = matrices(type);
    if (type != DOUBLE) {
      all.keySet().retainAll(List.of("wide", "rank 2", "graded", "large", "small"));
    }
    all.forEach((name, matrix) -> check.accept(matrix, one(matrix, name.hashCode())));
  }

  /** The elements of several results, which one query collects. */
  private static List<TestProduct> together(
      ElementType type, List<Dataset<Row>> results, List<Shape> extents) {
    Dataset<Row> all = null;
    for (int i = 0; i < results.size(); i++) {
      assertKnown(results.get(i), type, extents.get(i));
      Dataset<Row> next =
          results
              .get(i)
              .select("row", "col", "rows", "cols", "values")
              .withColumn("result", functions.lit(i));
      all = all == null ? next : all.unionAll(next);
    }
    List<Row> rows = all.collectAsList();
    List<TestProduct> found = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      int result = i;
      found.add(
          TestProduct.collect(
              rows.stream().filter(row -> row.<Integer>getAs("result") == result).toList(),
              type,
              (int) extents.get(i).extent(0),
              (int) extents.get(i).extent(1)));
    }
    return found;
  }

  /** The elements, of a result that states the extents and is of the type of the matrix. */
  private static TestProduct collected(Dataset<Row> df, ElementType type, int rows, int cols) {
    assertKnown(df, type, Shape.of(rows, cols));
    return TestProduct.collect(df.collectAsList(), type, rows, cols);
  }

  private static void assertKnown(Dataset<Row> df, ElementType type, Shape extents) {
    ArrayMetadata known = ArrayMetadata.of(df.schema().apply("values").metadata());
    assertEquals(Optional.of(extents), known.extents(2));
    assertEquals(
        type == DOUBLE ? "array<double>" : "array<float>",
        df.schema().apply("values").dataType().simpleString());
  }

  private static TestProduct symmetric(TestProduct a) {
    double[] values = new double[a.rows() * a.rows()];
    for (int i = 0; i < a.rows(); i++) {
      for (int j = 0; j < a.rows(); j++) {
        values[i * a.rows() + j] = rounded(a.type(), a.at(i, j) + a.at(j, i));
      }
    }
    return new TestProduct(a.type(), a.rows(), a.rows(), values);
  }

  /** A gram, and the identity. */
  private static TestProduct positive(ElementType type, int n, long seed) {
    TestProduct a = TestProduct.random(type, n, n, seed);
    TestProduct gram = product(wide(a.transposed()), wide(a));
    double[] values = gram.values();
    for (int i = 0; i < values.length; i++) {
      values[i] = rounded(type, values[i] + (i % (n + 1) == 0 ? 1 : 0));
    }
    return new TestProduct(type, n, n, values);
  }

  /** The matrix with NaN above its diagonal. */
  private static TestProduct lowerOnly(TestProduct a) {
    TestProduct changed = a;
    for (int i = 0; i < a.rows(); i++) {
      for (int j = i + 1; j < a.cols(); j++) {
        changed = changed.with(i, j, Double.NaN);
      }
    }
    return changed;
  }

  // ---- tests

  @ParameterizedTest
  @EnumSource(names = {"FLOAT32", "FLOAT64"})
  void cholesky(ElementType type) {
    for (int n : new int[] {1, 2, 7}) {
      TestProduct a = positive(type, n, n);
      for (Dataset<Row> df : n == 7 ? tilings(lowerOnly(a)) : List.of(one(lowerOnly(a), n))) {
        TestProduct l = collected(MatrixBlocks.cholesky(df), type, n, n);
        assertNear(a, product(wide(l), wide(l).transposed()), accuracy(type) * largest(a), "L L^T");
        for (int i = 0; i < n; i++) {
          assertTrue(l.at(i, i) > 0);
          for (int j = i + 1; j < n; j++) {
            assertEquals(0.0, l.at(i, j));
          }
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT32", "FLOAT64"})
  void eigh(ElementType type) {
    for (String name : List.of("one element", "square", "clustered")) {
      TestProduct a = symmetric(matrices(type).get(name));
      int n = a.rows();
      for (Dataset<Row> df : List.of(one(lowerOnly(a), name.hashCode()))) {
        Eigh eigh = MatrixBlocks.eigh(df);
        List<TestProduct> all =
            together(
                type,
                List.of(eigh.values(), eigh.vectors(), MatrixBlocks.eigvalsh(df)),
                List.of(Shape.of(n, 1), Shape.of(n, n), Shape.of(n, 1)));
        TestProduct values = all.get(0);
        TestProduct vectors = all.get(1);
        double most = accuracy(type) * Math.max(1, largest(a)) * n;
        assertOrthonormalColumns(vectors, name);
        assertNear(
            product(wide(a), wide(vectors)), product(wide(vectors), diagonal(values)), most, name);
        for (int i = 1; i < n; i++) {
          assertTrue(values.at(i - 1, 0) <= values.at(i, 0));
        }
        assertNear(values, all.get(2), most, name);
      }
    }
  }

  @Test
  void theLargestEigenvalues() {
    TestProduct a = symmetric(TestProduct.random(DOUBLE, 9, 9, 20));
    Dataset<Row> df = a.frame(spark, 4, 4);
    TestProduct all = collected(MatrixBlocks.eigh(df).values(), DOUBLE, 9, 1);
    for (int k : new int[] {1, 4, 9}) {
      Eigh some = MatrixBlocks.eigh(df, k);
      TestProduct values = collected(some.values(), DOUBLE, k, 1);
      TestProduct vectors = collected(some.vectors(), DOUBLE, 9, k);
      assertOrthonormalColumns(vectors, "vectors");
      for (int i = 0; i < k; i++) {
        assertEquals(all.at(9 - k + i, 0), values.at(i, 0), 1e-13);
      }
      assertNear(product(a, vectors), product(vectors, diagonal(values)), 1e-13, "A V");
    }
    assertFails(() -> MatrixBlocks.eigh(df, 10), "k is 10; expected 1 to 9");
    assertFails(() -> MatrixBlocks.eigh(df, 0), "k is 0; expected 1 to 9");
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT32", "FLOAT64"})
  void qr(ElementType type) {
    ofAll(
        type,
        (a, df) -> {
          int k = Math.min(a.rows(), a.cols());
          Qr qr = MatrixBlocks.qr(df);
          List<TestProduct> both =
              together(
                  type,
                  List.of(qr.q(), qr.r()),
                  List.of(Shape.of(a.rows(), k), Shape.of(k, a.cols())));
          TestProduct q = both.get(0);
          TestProduct r = both.get(1);
          assertOrthonormalColumns(q, a.toString());
          for (int i = 0; i < k; i++) {
            for (int j = 0; j < i; j++) {
              assertEquals(0.0, r.at(i, j));
            }
          }
          TestProduct again = product(wide(q), wide(r));
          for (int j = 0; j < a.cols(); j++) { // columns of their own size each
            double size = 0;
            for (int i = 0; i < a.rows(); i++) {
              size = Math.max(size, Math.abs(a.at(i, j)));
            }
            for (int i = 0; i < a.rows(); i++) {
              assertEquals(a.at(i, j), again.at(i, j), accuracy(type) * size, a.toString());
            }
          }
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT32", "FLOAT64"})
  void svd(ElementType type) {
    ofAll(
        type,
        (a, df) -> {
          int k = Math.min(a.rows(), a.cols());
          Svd svd = MatrixBlocks.svd(df);
          List<TestProduct> all =
              together(
                  type,
                  List.of(svd.u(), svd.s(), svd.vt(), MatrixBlocks.svdvals(df)),
                  List.of(
                      Shape.of(a.rows(), k),
                      Shape.of(k, 1),
                      Shape.of(k, a.cols()),
                      Shape.of(k, 1)));
          TestProduct u = all.get(0);
          TestProduct s = all.get(1);
          TestProduct vt = all.get(2);
          assertOrthonormalColumns(u, a.toString());
          assertOrthonormalColumns(vt.transposed(), a.toString());
          assertDescending(s, a.toString());
          double most = accuracy(type) * largest(a);
          assertNear(a, product(product(wide(u), diagonal(s)), wide(vt)), most, a.toString());
          assertNear(s, all.get(3), most, a.toString());
        });
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT32", "FLOAT64"})
  void solve(ElementType type) {
    for (int n : type == DOUBLE ? new int[] {1, 2, 9} : new int[] {9}) {
      for (int p : n == 9 ? new int[] {1, 4} : new int[] {n}) {
        for (Assume assume : Assume.values()) {
          TestProduct b = TestProduct.random(type, n, p, 30);
          boolean isGeneral = assume == Assume.GENERAL;
          TestProduct a = isGeneral ? TestProduct.random(type, n, n, 31) : positive(type, n, 32);
          Dataset<Row> df = one(isGeneral ? a : lowerOnly(a), n + p);
          Dataset<Row> solution = MatrixBlocks.solve(df, b.frame(spark, 2, 3), assume);
          TestProduct x = collected(solution, type, n, p);
          double most = 10 * accuracy(type) * largest(a) * Math.max(1, largest(x)) * n;
          assertNear(b, product(wide(a), wide(x)), most, a.toString());
        }
      }
    }
  }

  /** B is cut into strips, to which A's factor goes: of one A and several B, and the reverse. */
  @Test
  void solveOfStrips() {
    int n = 7;
    for (Assume assume : Assume.values()) {
      List<TestProduct> as = List.of(positive(DOUBLE, n, 40), positive(DOUBLE, n, 41));
      List<TestProduct> bs =
          List.of(TestProduct.random(DOUBLE, n, 5, 42), TestProduct.random(DOUBLE, n, 5, 43));
      Dataset<Row> oneA = MatrixBlocks.solve(as.get(0).frame(spark, 3, 3), batch(bs), assume);
      Dataset<Row> oneB = MatrixBlocks.solve(batch(as), bs.get(0).frame(spark, 2, 2), assume);
      Dataset<Row> pairs = MatrixBlocks.solve(batch(as), batch(bs), assume);
      for (int i = 0; i < 2; i++) {
        assertNear(bs.get(i), product(as.get(0), of(oneA, i, n, 5)), 1e-12, "one A");
        assertNear(bs.get(0), product(as.get(i), of(oneB, i, n, 5)), 1e-12, "one B");
        assertNear(bs.get(i), product(as.get(i), of(pairs, i, n, 5)), 1e-12, "pairs");
      }
      for (Dataset<Row> solved : List.of(oneA, oneB)) {
        String plan = explained(solved);
        assertTrue(plan.contains("CartesianProduct"), plan);
        assertTrue(plan.contains("factor of"), plan);
        assertTrue(plan.contains("(8, 7) doubles"), plan);
      }
    }
  }

  private static Dataset<Row> batch(List<TestProduct> all) {
    Dataset<Row> frame = null;
    for (int i = 0; i < all.size(); i++) {
      Dataset<Row> next =
          all.get(i)
              .frame(spark, 2 + i, 3)
              .withColumn("sample", functions.lit(i))
              .withColumn("Group", functions.lit(i % 2 == 0 ? "even" : null));
      frame = frame == null ? next : frame.unionAll(next);
    }
    return frame;
  }

  private static TestProduct of(Dataset<Row> batch, int sample, int rows, int cols) {
    Dataset<Row> one =
        batch.where(
            new Column("sample")
                .equalTo(sample)
                .and(new Column("Group").eqNullSafe(sample % 2 == 0 ? "even" : null)));
    return TestProduct.collect(one.collectAsList(), DOUBLE, rows, cols);
  }

  /** Two further columns, one with nulls, distinguish matrices. */
  @Test
  void batches() {
    List<TestProduct> all =
        List.of(
            TestProduct.random(DOUBLE, 6, 4, 50),
            TestProduct.random(DOUBLE, 6, 4, 51),
            TestProduct.random(DOUBLE, 6, 4, 52));
    Dataset<Row> batch = batch(all);
    Svd svd = MatrixBlocks.svd(batch);
    Dataset<Row> pinv = MatrixBlocks.pinv(batch);
    Map<Integer, Long> ranks = new LinkedHashMap<>();
    MatrixBlocks.rank(batch)
        .collectAsList()
        .forEach(row -> ranks.put(row.getAs("sample"), row.getAs("value")));
    for (int i = 0; i < all.size(); i++) {
      TestProduct us = product(of(svd.u(), i, 6, 4), diagonal(of(svd.s(), i, 4, 1)));
      assertNear(all.get(i), product(us, of(svd.vt(), i, 4, 4)), 1e-13, "matrix " + i);
      assertNear(
          TestProduct.identity(DOUBLE, 4),
          product(of(pinv, i, 4, 6), all.get(i)),
          1e-12,
          "matrix " + i);
      assertEquals(4L, ranks.get(i));
    }
    List<String> columns = List.of(svd.u().columns());
    assertEquals(List.of("row", "col", "rows", "cols", "values", "sample", "Group"), columns);
    assertFails(
        () -> MatrixBlocks.svd(batch.withColumnRenamed("sample", "factor")),
        "two columns",
        "factor");
  }

  /** Each matrix meets its own right side, and a matrix without a partner is an error. */
  @Test
  void batchesOfEquations() {
    List<TestProduct> as =
        List.of(TestProduct.random(DOUBLE, 6, 4, 60), TestProduct.random(DOUBLE, 6, 4, 61));
    List<TestProduct> bs =
        List.of(TestProduct.random(DOUBLE, 6, 3, 62), TestProduct.random(DOUBLE, 6, 3, 63));
    Lstsq lstsq = MatrixBlocks.lstsq(batch(as), batch(bs));
    for (int i = 0; i < 2; i++) {
      assertLeastSquares(as.get(i), bs.get(i), of(lstsq.x(), i, 4, 3), 1e-12);
    }
    Dataset<Row> fewer = batch(bs).where("sample = 0");
    assertFails(() -> MatrixBlocks.lstsq(batch(as), fewer).x().collectAsList(), "sample");
  }

  /** The residual is orthogonal to the columns of A. */
  private static void assertLeastSquares(TestProduct a, TestProduct b, TestProduct x, double most) {
    TestProduct left = product(wide(a).transposed(), product(wide(a), wide(x)));
    assertNear(product(wide(a).transposed(), wide(b)), left, most, "normal equations");
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT32", "FLOAT64"})
  void lstsq(ElementType type) {
    List<String> names = List.of("tall", "rank 2", "square", "wide", "one row", "one column");
    for (String name : type == DOUBLE ? names : names.subList(0, 2)) {
      TestProduct a = matrices(type).get(name);
      TestProduct b = TestProduct.random(type, a.rows(), 3, 70);
      int k = Math.min(a.rows(), a.cols());
      Lstsq lstsq = MatrixBlocks.lstsq(a.frame(spark, 3, 2), b.frame(spark, 4, 2));
      List<TestProduct> all =
          together(
              type,
              List.of(
                  lstsq.x(),
                  lstsq.residuals(),
                  lstsq.rank(),
                  lstsq.s(),
                  MatrixBlocks.pinv(a.frame(spark, 3, 3))),
              List.of(
                  Shape.of(a.cols(), 3),
                  Shape.of(3, 1),
                  Shape.of(1, 1),
                  Shape.of(k, 1),
                  Shape.of(a.cols(), a.rows())));
      TestProduct x = all.get(0);
      double most = 30 * accuracy(type) * Math.pow(Math.max(1, largest(a)), 2) * a.rows();
      most *= Math.max(1, largest(x));
      assertLeastSquares(a, b, x, most);
      TestProduct rest = product(wide(a), wide(x));
      TestProduct residuals = all.get(1);
      for (int j = 0; j < 3; j++) {
        double sum = 0;
        for (int i = 0; i < a.rows(); i++) {
          sum += Math.pow(b.at(i, j) - rest.at(i, j), 2);
        }
        assertEquals(sum, residuals.at(j, 0), most, name);
      }
      int rank = name.equals("rank 2") ? 2 : k;
      assertEquals(rank, all.get(2).at(0, 0));
      assertDescending(all.get(3), name);
      // Of least norm: X is in the span of A's rows, which the projection pinv(A) A keeps.
      TestProduct projection = product(wide(all.get(4)), wide(a));
      assertNear(x, product(projection, wide(x)), most, name);
    }
  }

  /** Small singular values count as zero up to a ratio. */
  @Test
  void rcond() {
    TestProduct a = new TestProduct(DOUBLE, 3, 2, new double[] {1, 0, 0, 1e-3, 0, 0});
    TestProduct b = new TestProduct(DOUBLE, 3, 1, new double[] {2, 3, 4});
    Dataset<Row> left = a.frame(spark, 2, 2);
    Dataset<Row> right = b.frame(spark, 2, 2);
    assertArrayEquals(
        new double[] {2, 3000},
        collected(MatrixBlocks.lstsq(left, right).x(), DOUBLE, 2, 1).values(),
        1e-9);
    Lstsq cut = MatrixBlocks.lstsq(left, right, 1e-2);
    assertArrayEquals(new double[] {2, 0}, collected(cut.x(), DOUBLE, 2, 1).values(), 1e-15);
    assertArrayEquals(new double[] {25}, collected(cut.residuals(), DOUBLE, 1, 1).values(), 1e-14);
    assertArrayEquals(
        new double[] {1, 0, 0, 0, 0, 0},
        collected(MatrixBlocks.pinv(left, 1e-2), DOUBLE, 2, 3).values(),
        1e-15);
    assertEquals(2L, MatrixBlocks.rank(left).first().getLong(0));
    assertEquals(1L, MatrixBlocks.rank(left, 1e-2).first().getLong(0));
    assertEquals(0L, MatrixBlocks.rank(left, 2).first().getLong(0));
    assertFails(() -> MatrixBlocks.pinv(left, -1), "the tolerance is -1.0; expected 0 or more");
    assertFails(() -> MatrixBlocks.pinv(left, Double.NaN), "the tolerance is NaN");
  }

  /** The four conditions of Penrose. */
  @ParameterizedTest
  @EnumSource(names = {"FLOAT32", "FLOAT64"})
  void pinv(ElementType type) {
    List<String> names =
        List.of("tall", "rank 2", "one element", "one row", "one column", "wide", "zeros");
    for (String name : type == DOUBLE ? names : names.subList(0, 2)) {
      TestProduct a = matrices(type).get(name);
      Dataset<Row> df = a.frame(spark, 3, 2);
      TestProduct p = collected(MatrixBlocks.pinv(df), type, a.cols(), a.rows());
      TestProduct ap = product(wide(a), wide(p));
      TestProduct pa = product(wide(p), wide(a));
      double most = 40 * accuracy(type) * Math.max(1, largest(a)) * Math.max(1, largest(p));
      assertNear(wide(a), product(ap, wide(a)), most * Math.max(1, largest(a)), name);
      assertNear(wide(p), product(pa, wide(p)), most * Math.max(1, largest(p)), name);
      assertNear(ap.transposed(), ap, most, name);
      assertNear(pa.transposed(), pa, most, name);
    }
  }

  @Test
  void signAndLogarithmOfTheDeterminant() {
    // A permutation of three rows, times a triangle: the determinant is 1 * 2e200 * -3e200 * 5.
    double[] values = {0, 2e200, 1, 7, 0, 0, -3e200, 1, 1, 4, 2, 8, 0, 0, 0, 5};
    TestProduct a = new TestProduct(DOUBLE, 4, 4, values);
    Row found = MatrixBlocks.slogdet(a.frame(spark, 3, 2)).first();
    assertEquals(-1.0, found.<Double>getAs("sign"));
    assertEquals(Math.log(30) + 400 * Math.log(10), found.<Double>getAs("logabsdet"), 1e-12 * 1000);
    Row singular =
        MatrixBlocks.slogdet(
                new TestProduct(DOUBLE, 2, 2, new double[] {1, 2, 2, 4}).frame(spark, 2, 2))
            .first();
    assertEquals(0.0, singular.<Double>getAs("sign"));
    assertEquals(Double.NEGATIVE_INFINITY, singular.<Double>getAs("logabsdet"));
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT32", "FLOAT64"})
  void ranksAndNorms(ElementType type) {
    for (String name : List.of("wide", "graded", "zeros")) {
      TestProduct a = matrices(type).get(name);
      Dataset<Row> df = one(a, name.hashCode());
      TestProduct s = collected(MatrixBlocks.svdvals(df), type, Math.min(a.rows(), a.cols()), 1);
      double sum = 0;
      for (double value : s.values()) {
        sum += value;
      }
      assertEquals(s.at(0, 0), first(MatrixBlocks.norm(df, "row,col", "2")).doubleValue());
      assertEquals(
          sum, first(MatrixBlocks.norm(df, "row,col", "nuc")).doubleValue(), accuracy(type) * sum);
    }
    assertEquals(
        2L, MatrixBlocks.rank(matrices(type).get("rank 2").frame(spark, 3, 3)).first().getLong(0));
    assertEquals(
        0L, MatrixBlocks.rank(matrices(type).get("zeros").frame(spark, 3, 3)).first().getLong(0));
  }

  private static Number first(Dataset<Row> oneElement) {
    Row row = oneElement.first();
    return row.<Number>getList(row.fieldIndex("values")).get(0);
  }

  @Test
  void integersAreComputedInDouble() {
    for (String type : List.of("TINYINT", "SMALLINT", "INT", "BIGINT")) {
      Dataset<Row> whole =
          spark.sql(
              "SELECT 0L AS row, 0L AS col, 2 AS rows, 2 AS cols, array(CAST(4 AS %1$s),"
                      .formatted(type)
                  + "CAST(2 AS %1$s), CAST(2 AS %1$s), CAST(5 AS %1$s)) AS values".formatted(type));
      assertArrayEquals(
          new double[] {2, 0, 1, 2},
          collected(MatrixBlocks.cholesky(whole), DOUBLE, 2, 2).values());
      Dataset<Row> mixed = MatrixBlocks.solve(whole, MatrixBlocks.map(whole, "CAST(v AS FLOAT)"));
      assertArrayEquals(new double[] {1, 0, 0, 1}, collected(mixed, DOUBLE, 2, 2).values(), 1e-15);
    }
  }

  // ---- what does not fit

  @Test
  void elementsThatAreNotFiniteAreNamed() {
    for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY}) {
      TestProduct a = positive(DOUBLE, 5, 80).with(3, 2, bad);
      Dataset<Row> df = a.frame(spark, 2, 2);
      String place = "the element at row 3, col 2 is " + bad + "; expected finite numbers";
      assertFails(() -> MatrixBlocks.cholesky(df).collectAsList(), "block at row 0, col 0", place);
      assertFails(() -> MatrixBlocks.eigvalsh(df).collectAsList(), place);
      assertFails(() -> MatrixBlocks.svdvals(df).collectAsList(), place);
      assertFails(() -> MatrixBlocks.slogdet(df).collectAsList(), place);
      assertFails(() -> MatrixBlocks.qr(df).r().collectAsList(), place);
      TestProduct good = positive(DOUBLE, 5, 81);
      String ofB = "the element at row 3, col 2 of b is " + bad;
      assertFails(() -> MatrixBlocks.solve(good.frame(spark, 5, 5), df).collectAsList(), ofB);
      assertFails(
          () ->
              MatrixBlocks.solve(good.frame(spark, 5, 5), df.withColumn("sample", functions.lit(1)))
                  .collectAsList(),
          ofB);
      assertFails(
          () -> MatrixBlocks.lstsq(df, good.frame(spark, 5, 5)).x().collectAsList(),
          "the element at row 3, col 2 of a is " + bad);
    }
  }

  @Test
  void matricesThatCannotBeFactorised() {
    Dataset<Row> wide = TestProduct.random(DOUBLE, 3, 4, 90).frame(spark, 2, 2);
    assertFails(() -> MatrixBlocks.cholesky(wide), "3 x 4", "as many rows as columns");
    assertFails(() -> MatrixBlocks.eigh(wide), "3 x 4");
    assertFails(() -> MatrixBlocks.slogdet(wide), "3 x 4");
    assertFails(() -> MatrixBlocks.solve(wide, wide), "3 x 4");
    Dataset<Row> singular =
        new TestProduct(DOUBLE, 2, 2, new double[] {1, 2, 2, 4}).frame(spark, 2, 2);
    assertFails(() -> MatrixBlocks.solve(singular, singular).collectAsList(), "singular", "lstsq");
    Dataset<Row> indefinite =
        new TestProduct(DOUBLE, 2, 2, new double[] {1, 2, 2, 1}).frame(spark, 2, 2);
    assertFails(
        () -> MatrixBlocks.cholesky(indefinite).collectAsList(),
        "leading minor of order 2",
        "is not positive");
    assertFails(
        () -> MatrixBlocks.solve(indefinite, indefinite, Assume.POSITIVE_DEFINITE).collectAsList(),
        "is not positive");
    Dataset<Row> three = TestProduct.random(DOUBLE, 3, 1, 91).frame(spark, 2, 2);
    assertFails(() -> MatrixBlocks.solve(singular, three), "A is 2 x 2, B is 3 x 1");
    assertFails(() -> MatrixBlocks.lstsq(singular, three), "A is 2 x 2, B is 3 x 1");
    Dataset<Row> complex = singular.withColumn("imag", new Column("values"));
    assertFails(() -> MatrixBlocks.svd(complex), "complex", "not supported yet");
    Dataset<Row> huge = MatrixBlocks.withExtents(singular, 20000, 20000);
    assertFails(() -> MatrixBlocks.svd(huge), "20000 x 20000", "in one block");
    assertFails(() -> MatrixBlocks.factor(MatrixBlocks.transpose(singular), "u"), "column factor");
  }

  @Test
  void matricesWithoutElements() {
    Dataset<Row> none = TestProduct.random(DOUBLE, 2, 2, 1).frame(spark, 2, 2).where("false");
    Dataset<Row> tall = MatrixBlocks.withExtents(none, 3, 0);
    Dataset<Row> empty = MatrixBlocks.withExtents(none, 0, 0);
    assertEquals(0, collected(MatrixBlocks.svd(tall).u(), DOUBLE, 3, 0).values().length);
    assertEquals(0, collected(MatrixBlocks.svdvals(tall), DOUBLE, 0, 1).values().length);
    assertEquals(0, collected(MatrixBlocks.qr(tall).q(), DOUBLE, 3, 0).values().length);
    assertEquals(0, collected(MatrixBlocks.pinv(tall), DOUBLE, 0, 3).values().length);
    assertEquals(0, collected(MatrixBlocks.cholesky(empty), DOUBLE, 0, 0).values().length);
    assertEquals(0, collected(MatrixBlocks.eigh(empty).vectors(), DOUBLE, 0, 0).values().length);
    Dataset<Row> right = MatrixBlocks.withExtents(none, 0, 4);
    assertEquals(0, collected(MatrixBlocks.solve(empty, right), DOUBLE, 0, 4).values().length);
    assertFails(() -> MatrixBlocks.rank(tall), "at least one element");
    assertFails(() -> MatrixBlocks.norm(tall, "row,col", "2"), "at least one element");
  }

  @Test
  void inEveryModeOfExecution() {
    TestProduct a = positive(DOUBLE, 5, 97);
    TestProduct b = TestProduct.random(DOUBLE, 5, 3, 98);
    Dataset<Row> right = b.frame(spark, 2, 2).withColumn("sample", functions.lit(1));
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> x = MatrixBlocks.solve(a.frame(spark, 2, 2), right);
            assertNear(b, product(a, collected(x, DOUBLE, 5, 3)), 1e-12, mode.toString());
            x.createOrReplaceTempView("factors_test_x");
            Dataset<Row> s =
                spark.sql("SELECT * FROM matrix_svd(TABLE(factors_test_x)) WHERE factor = 's'");
            assertEquals(3, s.first().<Integer>getAs("rows"));
            spark.catalog().dropTempView("factors_test_x"); // it holds rows that solve has kept
          });
    }
  }

  @Test
  void missingBlocksAreErrors() {
    Dataset<Row> df = TestProduct.random(DOUBLE, 6, 6, 95).frame(spark, 3, 3);
    Dataset<Row> hole = MatrixBlocks.withExtents(df.where("row = 0 OR col = 0"), 6, 6);
    assertFails(() -> MatrixBlocks.svdvals(hole).collectAsList(), "block at row 3, col 3");
  }
}
