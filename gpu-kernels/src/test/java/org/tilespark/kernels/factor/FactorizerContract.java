package org.tilespark.kernels.factor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.tilespark.kernels.memory.HostMemory;

/** The contract of each {@link Factorizer}, by the definitions of the factors. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class FactorizerContract {
  static final double EPS = Math.ulp(1.0);

  private static final ByteBuffer BUFFER = ByteBuffer.allocateDirect(25 * 8 + 8);

  /** The one to test; closed by the class that made it. */
  protected abstract Factorizer factorizer();

  private static HostMemory memory(double[] values) {
    return HostMemory.ofArray(values);
  }

  static double[] random(int rows, int cols, long seed) {
    return new SplittableRandom(seed).doubles((long) rows * cols, -1, 1).toArray();
  }

  /** A B, where A is (m, k) and B is (k, n). */
  static double[] product(double[] a, double[] b, int m, int k, int n) {
    double[] c = new double[m * n];
    for (int i = 0; i < m; i++) {
      for (int l = 0; l < k; l++) {
        for (int j = 0; j < n; j++) {
          c[i * n + j] += a[i * k + l] * b[l * n + j];
        }
      }
    }
    return c;
  }

  static double[] transposed(double[] a, int rows, int cols) {
    double[] t = new double[a.length];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        t[j * rows + i] = a[i * cols + j];
      }
    }
    return t;
  }

  static double largest(double[] values) {
    double largest = 0;
    for (double value : values) {
      largest = Math.max(largest, Math.abs(value));
    }
    return largest;
  }

  static double norm(double[] values) {
    double largest = largest(values);
    double sum = 0;
    for (double value : values) {
      sum += largest == 0 ? 0 : (value / largest) * (value / largest);
    }
    return largest * Math.sqrt(sum);
  }

  static double distance(double[] a, double[] b) {
    double[] difference = new double[a.length];
    for (int i = 0; i < a.length; i++) {
      difference[i] = a[i] - b[i];
    }
    return norm(difference);
  }

  static void assertOrthonormalColumns(double[] q, int rows, int cols) {
    double[] gram = product(transposed(q, rows, cols), q, cols, rows, cols);
    for (int i = 0; i < cols; i++) {
      gram[i * cols + i] -= 1;
    }
    double error = norm(gram);
    assertTrue(error <= 10 * Math.max(rows, cols) * EPS, () -> "Q^T Q - I is " + error);
  }

  static void assertNear(double[] expected, double[] found, int longer) {
    double error = distance(expected, found);
    double most = 10 * longer * EPS * norm(expected);
    assertTrue(error <= most, () -> "error %.3g, expected up to %.3g".formatted(error, most));
  }

  /**
   * Shapes of one element, odd ones, single rows and columns, empty ones, and those that are read
   * in several chunks of rows.
   */
  private static final int[][] SHAPES = {
    {1, 1},
    {5, 3},
    {3, 5},
    {7, 7},
    {101, 13},
    {13, 101},
    {1, 9},
    {9, 1},
    {0, 3},
    {3, 0},
    {0, 0},
    {67, 64},
    {700, 20},
    {1537, 5},
    {5003, 33},
    {40, 3001}
  };

  /** A matrix and the name of its kind. */
  record Case(String name, int rows, int cols, double[] values) {
    @Override
    public String toString() {
      return "%s %dx%d".formatted(name, rows, cols);
    }
  }

  /** Matrices on which a method may fail that does random ones well. */
  static List<Case> cases() {
    List<Case> cases = new ArrayList<>();
    for (int[] shape : SHAPES) {
      int m = shape[0];
      int n = shape[1];
      cases.add(new Case("random", m, n, random(m, n, 31L * m + n)));
      if (m * n > 20_000) {
        continue;
      }
      cases.add(new Case("zero", m, n, new double[m * n]));
      double[] ones = new double[m * n];
      Arrays.fill(ones, 1);
      cases.add(new Case("rank 1", m, n, ones));
      int rank = Math.min(2, Math.min(m, n));
      cases.add(
          new Case("rank 2", m, n, product(random(m, rank, 3), random(rank, n, 4), m, rank, n)));
      double[] gradedRows = random(m, n, 5);
      double[] gradedColumns = random(m, n, 6);
      for (int i = 0; i < m * n; i++) {
        int row = i / n;
        int col = i % n;
        gradedRows[i] *= Math.pow(10, -300 + 600.0 * row / Math.max(1, m - 1));
        gradedColumns[i] *= Math.pow(10, -300 + 600.0 * col / Math.max(1, n - 1));
      }
      cases.add(new Case("graded rows", m, n, gradedRows));
      cases.add(new Case("graded columns", m, n, gradedColumns));
      cases.add(new Case("tiny", m, n, scaled(random(m, n, 7), 1e-300)));
      cases.add(new Case("huge", m, n, scaled(random(m, n, 8), 1e300)));
      double[] clustered = scaled(random(m, n, 9), 1e-13); // singular values at 1
      for (int i = 0; i < Math.min(m, n); i++) {
        clustered[i * n + i] += 1;
      }
      cases.add(new Case("clustered", m, n, clustered));
      for (int digits = 4; digits <= 16; digits += 2) {
        double[] near = random(m, n, 10);
        double[] apart = random(m, 1, 11);
        for (int i = 0; i < m && n > 0; i++) {
          near[i * n + n - 1] = near[i * n] + apart[i] * Math.pow(10, -digits);
        }
        cases.add(new Case("dependent to " + digits + " digits", m, n, near));
      }
    }
    return cases;
  }

  /** Symmetric matrices of these kinds. */
  static List<Case> symmetricCases() {
    List<Case> cases = new ArrayList<>();
    for (Case each : cases()) {
      int n = each.rows();
      if (n == each.cols()) {
        double[] values = each.values().clone();
        for (int i = 0; i < n; i++) {
          for (int j = 0; j < i; j++) {
            values[j * n + i] = values[i * n + j];
          }
        }
        cases.add(new Case(each.name(), n, n, values));
      }
    }
    int n = 60;
    double[] wilkinson = new double[n * n]; // pairs of eigenvalues that are nearly equal
    for (int i = 0; i < n; i++) {
      wilkinson[i * n + i] = Math.abs(i - n / 2);
      if (i > 0) {
        wilkinson[i * n + i - 1] = 1;
        wilkinson[(i - 1) * n + i] = 1;
      }
    }
    cases.add(new Case("Wilkinson", n, n, wilkinson));
    return cases;
  }

  static double[] scaled(double[] values, double factor) {
    return Arrays.stream(values).map(value -> value * factor).toArray();
  }

  /** To about 1 by a power of two, so that sums of squares neither overflow nor vanish. */
  private static double scaleOf(double... values) {
    double largest = largest(values);
    return largest == 0 ? 1 : Math.scalb(1.0, -Math.max(-1000, Math.getExponent(largest)));
  }

  @TestFactory
  Stream<DynamicTest> qrOfAllKinds() {
    return cases().stream()
        .map(each -> DynamicTest.dynamicTest("qr of " + each, () -> assertQr(each)));
  }

  private void assertQr(Case each) {
    int m = each.rows();
    int n = each.cols();
    int k = Math.min(m, n);
    double[] a = each.values().clone();
    double[] q = new double[m * k];
    double[] r = new double[k * n];
    factorizer().qr(m, n, memory(a), memory(q), memory(r));
    assertArrayEquals(each.values(), a, "the operand is not changed");
    assertOrthonormalColumns(q, m, k);
    double scale = scaleOf(a);
    assertColumnsNear(a, product(q, r, m, k, n), m, n);
    double[] alone = new double[k * n];
    factorizer().qrR(m, n, memory(a), memory(alone));
    for (double[] upper : List.of(r, alone)) {
      for (int i = 0; i < k; i++) {
        for (int j = 0; j < Math.min(i, n); j++) {
          assertEquals(0, upper[i * n + j]);
        }
      }
      // Whatever the signs: R^T R = A^T A.
      double[] s = scaled(upper, scale);
      double[] b = scaled(a, scale);
      double[] gram = product(transposed(b, m, n), b, n, m, n);
      assertNear(gram, product(transposed(s, k, n), s, n, k, n), Math.max(m, n));
    }
  }

  /** Householder's QR errs in each column by its own length, not the matrix's. */
  private static void assertColumnsNear(double[] expected, double[] found, int rows, int cols) {
    double[] columns = transposed(expected, rows, cols);
    double[] foundColumns = transposed(found, rows, cols);
    for (int j = 0; j < cols; j++) {
      assertNear(
          Arrays.copyOfRange(columns, j * rows, (j + 1) * rows),
          Arrays.copyOfRange(foundColumns, j * rows, (j + 1) * rows),
          Math.max(rows, cols));
    }
  }

  @TestFactory
  Stream<DynamicTest> svdOfAllKinds() {
    return cases().stream()
        .map(each -> DynamicTest.dynamicTest("svd of " + each, () -> assertSvd(each)));
  }

  private void assertSvd(Case each) {
    int m = each.rows();
    int n = each.cols();
    int k = Math.min(m, n);
    double[] a = each.values().clone();
    double[] u = new double[m * k];
    double[] s = new double[k];
    double[] vt = new double[k * n];
    factorizer().svd(m, n, memory(a), memory(u), memory(s), memory(vt));
    assertArrayEquals(each.values(), a, "the operand is not changed");
    assertOrthonormalColumns(u, m, k);
    assertOrthonormalColumns(transposed(vt, k, n), n, k);
    double scale = scaleOf(a);
    double[] us = u.clone();
    for (int i = 0; i < us.length; i++) {
      us[i] *= s[i % k] * scale;
    }
    assertNear(scaled(a, scale), product(us, vt, m, k, n), Math.max(m, n));
    double[] alone = new double[k];
    factorizer().svdvals(m, n, memory(a), memory(alone));
    for (int i = 0; i < k; i++) {
      assertTrue(s[i] >= 0 && (i == 0 || s[i - 1] >= s[i]), "descending");
      assertEquals(s[i] * scale, alone[i] * scale, 10 * Math.max(m, n) * EPS * s[0] * scale);
    }
  }

  @TestFactory
  Stream<DynamicTest> eighOfAllKinds() {
    return symmetricCases().stream()
        .map(each -> DynamicTest.dynamicTest("eigh of " + each, () -> assertEigh(each)));
  }

  private void assertEigh(Case each) {
    int n = each.rows();
    double[] full = each.values();
    double[] a = full.clone();
    for (int i = 0; i < n; i++) {
      for (int j = i + 1; j < n; j++) {
        a[i * n + j] = Double.NaN; // not read
      }
    }
    double scale = scaleOf(full);
    double[] b = scaled(full, scale);
    double[] alone = new double[n];
    factorizer().eigvalsh(n, memory(a), memory(alone));
    for (int k : new int[] {n, (n + 1) / 2, Math.min(1, n), 0}) {
      double[] values = new double[k];
      double[] vectors = new double[n * k];
      factorizer().eigh(n, k, memory(a), memory(values), memory(vectors));
      assertOrthonormalColumns(vectors, n, k);
      double[] multiples = vectors.clone();
      for (int i = 0; i < multiples.length; i++) {
        multiples[i] *= values[i % k] * scale;
      }
      double error = distance(product(b, vectors, n, n, k), multiples);
      double most = 10 * n * EPS * norm(b);
      assertTrue(error <= most, () -> "A V - V D is %.3g of %.3g".formatted(error, most));
      for (int i = 0; i < k; i++) {
        assertTrue(i == 0 || values[i - 1] <= values[i], "ascending");
        assertEquals(alone[n - k + i] * scale, values[i] * scale, most);
      }
    }
  }

  @Test
  void wrongLengthsAreNamed() {
    HostMemory four = memory(new double[4]);
    HostMemory three = memory(new double[3]);
    String message =
        assertThrows(IllegalArgumentException.class, () -> factorizer().qrR(2, 2, three, four))
            .getMessage();
    assertEquals("A holds 24 bytes; a matrix of 2 x 2 doubles needs 32", message);
    assertThrows(
        IllegalArgumentException.class,
        () -> factorizer().eigh(2, 3, four, three, memory(new double[6])));
    assertThrows(IllegalArgumentException.class, () -> factorizer().lu(2, four, new int[3]));
  }

  @Test
  void severalThreadsShareOne() throws Exception {
    int n = 60;
    double[] a = random(n, n, 10);
    double[] b = product(a, transposed(a, n, n), n, n, n);
    Callable<List<Double>> all =
        () -> {
          double[] u = new double[n * n];
          double[] s = new double[n];
          double[] v = new double[n * n];
          List<Double> found = new ArrayList<>();
          factorizer().svd(n, n, memory(a), memory(u), memory(s), memory(v));
          Arrays.stream(s).forEach(found::add);
          Arrays.stream(u).forEach(found::add);
          factorizer().eigh(n, 20, memory(b), memory(s).slice(0, 160), memory(v).slice(0, 9600));
          Arrays.stream(v).forEach(found::add);
          factorizer().qr(n, n, memory(a), memory(u), memory(v));
          Arrays.stream(v).forEach(found::add);
          return found;
        };
    List<Double> expected = all.call();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      for (Future<List<Double>> found : threads.invokeAll(Collections.nCopies(24, all))) {
        assertEquals(expected, found.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** Blocks lie outside the heap, or in arrays of bytes. */
  @Test
  void memoryOfAnyKindServes() {
    int n = 5;
    double[] a = random(n, n, 11);
    double[] expected = new double[n * n];
    factorizer().qrR(n, n, memory(a), memory(expected));
    HostMemory bytes = HostMemory.ofArray(new byte[n * n * 8]);
    HostMemory direct = HostMemory.ofDirectBuffer(BUFFER).slice(8, 8L * n * n);
    for (HostMemory place : List.of(bytes, direct)) {
      memory(a).copyTo(place);
      double[] r = new double[n * n];
      factorizer().qrR(n, n, place, memory(r));
      assertArrayEquals(expected, r);
      int[] pivots = new int[n];
      factorizer().lu(n, place, pivots);
      double[] found = new double[n * n];
      place.copyTo(memory(found));
      double[] lu = a.clone();
      factorizer().lu(n, memory(lu), pivots);
      assertArrayEquals(lu, found);
    }
  }

  @Test
  void choleskyGivesBackTheMatrix() {
    for (int n : new int[] {1, 2, 7, 100}) {
      double[] b = random(n, n, 4);
      double[] a = product(b, transposed(b, n, n), n, n, n);
      for (int i = 0; i < n; i++) {
        a[i * n + i] += 1;
      }
      double[] lower = a.clone();
      factorizer().cholesky(n, memory(lower));
      for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
          assertEquals(0, lower[i * n + j]);
        }
      }
      assertNear(a, product(lower, transposed(lower, n, n), n, n, n), n);
      double[] x = random(n, 3, 5);
      double[] sides = product(a, x, n, n, 3);
      double[] found = sides.clone();
      factorizer().solvePositiveDefinite(n, 3, memory(lower), memory(found));
      assertNear(sides, product(a, found, n, n, 3), n);
    }
  }

  @Test
  void choleskyNamesTheMinorThatIsNotPositive() {
    double[] a = {4, 0, 0, 0, 1, 0, 0, 3, 2};
    NotPositiveDefiniteException thrown =
        assertThrows(NotPositiveDefiniteException.class, () -> factorizer().cholesky(3, memory(a)));
    assertEquals(3, thrown.order());
  }

  @Test
  void luSolves() {
    for (int n : new int[] {1, 2, 7, 100}) {
      for (int sides : new int[] {0, 1, 5}) {
        double[] a = random(n, n, 6);
        double[] x = random(n, sides, 7);
        double[] b = product(a, x, n, n, sides);
        double[] lu = a.clone();
        int[] pivots = new int[n];
        factorizer().lu(n, memory(lu), pivots);
        double[] found = b.clone();
        factorizer().solveLu(n, sides, memory(lu), pivots, memory(found));
        double error = distance(b, product(a, found, n, n, sides));
        double most = 10 * n * EPS * norm(a) * norm(found);
        assertTrue(error <= most, () -> "A X - B is " + error);
      }
    }
  }

  @Test
  void slogdetIsTheDeterminant() {
    double[] a = {0, 2, 0, 3, 0, 0, 0, 0, 5}; // one exchange: -30
    int[] pivots = new int[3];
    factorizer().lu(3, memory(a), pivots);
    SignLogDet found = Factorizer.slogdet(3, memory(a), pivots);
    assertEquals(-1, found.sign());
    assertEquals(Math.log(30), found.logAbsDet(), 1e-14);
    double[] singular = {1, 2, 2, 4};
    int[] two = new int[2];
    factorizer().lu(2, memory(singular), two);
    assertEquals(
        new SignLogDet(0, Double.NEGATIVE_INFINITY), Factorizer.slogdet(2, memory(singular), two));
    double[] b = {1, 2};
    assertThrows(
        SingularMatrixException.class,
        () -> factorizer().solveLu(2, 1, memory(singular), two, memory(b)));
  }

  /** Q is made of a matrix whose R was made before, maybe in another task. */
  @Test
  void rHasTheSameBitsWithQAndWithout() {
    for (int[] extents : new int[][] {{5, 3}, {3, 5}, {600, 7}, {5003, 33}, {20_000, 30}}) {
      int m = extents[0];
      int n = extents[1];
      int small = Math.min(m, n);
      double[] a = random(m, n, 11);
      double[] q = new double[m * small];
      double[] r = new double[small * n];
      double[] alone = new double[small * n];
      factorizer().qr(m, n, memory(a), memory(q), memory(r));
      factorizer().qrR(m, n, memory(a), memory(alone));
      assertArrayEquals(r, alone, () -> m + " x " + n);
    }
  }

  @Test
  void trianglesAreSolved() {
    int n = 9;
    for (Triangle triangle : Triangle.values()) {
      double[] t = random(n, n, 8); // the other triangle holds what must not be read
      for (int i = 0; i < n; i++) {
        t[i * n + i] += 3;
      }
      double[] system = new double[n * n];
      for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
          boolean read = triangle.isLower() ? j <= i : j >= i;
          double value = i == j && triangle.hasUnitDiagonal() ? 1 : read ? t[i * n + j] : 0;
          system[triangle.isTransposed() ? j * n + i : i * n + j] = value;
        }
      }
      double[] x = random(n, 4, 9);
      double[] b = product(system, x, n, n, 4);
      factorizer().solveTriangular(triangle, n, 4, memory(t), memory(b));
      assertTrue(distance(x, b) <= 1e-12 * norm(x), triangle::name);
    }
  }
}
