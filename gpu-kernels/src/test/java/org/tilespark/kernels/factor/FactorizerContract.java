package org.tilespark.kernels.factor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.tilespark.kernels.memory.HostMemory;

/** What each {@link Factorizer} does, by the definitions of the factors. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class FactorizerContract {
  static final double EPS = Math.ulp(1.0);

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

  @Test
  void qrGivesBackTheMatrix() {
    int[][] shapes = {{1, 1}, {5, 3}, {3, 5}, {7, 7}, {101, 13}, {13, 101}, {1, 9}, {9, 1}};
    for (int[] shape : shapes) {
      int m = shape[0];
      int n = shape[1];
      int k = Math.min(m, n);
      double[] a = random(m, n, 1);
      double[] q = new double[m * k];
      double[] r = new double[k * n];
      factorizer().qr(m, n, memory(a), memory(q), memory(r));
      assertOrthonormalColumns(q, m, k);
      assertNear(a, product(q, r, m, k, n), Math.max(m, n));
      for (int i = 0; i < k; i++) {
        for (int j = 0; j < i; j++) {
          assertEquals(0, r[i * n + j]);
        }
      }
      double[] alone = new double[k * n];
      factorizer().qrR(m, n, memory(a), memory(alone));
      assertNear(r, alone, Math.max(m, n));
    }
  }

  @Test
  void svdGivesBackTheMatrix() {
    int[][] shapes = {{1, 1}, {5, 3}, {3, 5}, {7, 7}, {101, 13}, {13, 101}, {1, 9}, {9, 1}};
    for (int[] shape : shapes) {
      int m = shape[0];
      int n = shape[1];
      int k = Math.min(m, n);
      double[] a = random(m, n, 2);
      double[] u = new double[m * k];
      double[] s = new double[k];
      double[] vt = new double[k * n];
      factorizer().svd(m, n, memory(a), memory(u), memory(s), memory(vt));
      assertOrthonormalColumns(u, m, k);
      assertOrthonormalColumns(transposed(vt, k, n), n, k);
      double[] scaled = u.clone();
      for (int i = 0; i < scaled.length; i++) {
        scaled[i] *= s[i % k];
      }
      assertNear(a, product(scaled, vt, m, k, n), Math.max(m, n));
      double[] alone = new double[k];
      factorizer().svdvals(m, n, memory(a), memory(alone));
      assertNear(s, alone, Math.max(m, n));
      for (int i = 1; i < k; i++) {
        assertTrue(s[i - 1] >= s[i] && s[i] >= 0);
      }
    }
  }

  @Test
  void eighGivesBackTheMatrix() {
    for (int n : new int[] {1, 2, 7, 50}) {
      double[] full = random(n, n, 3);
      for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
          full[j * n + i] = full[i * n + j];
        }
      }
      double[] a = full.clone();
      for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
          a[i * n + j] = 99; // not read
        }
      }
      for (int k : new int[] {n, (n + 1) / 2, 0}) {
        double[] values = new double[k];
        double[] vectors = new double[n * k];
        factorizer().eigh(n, k, memory(a), memory(values), memory(vectors));
        assertOrthonormalColumns(vectors, n, k);
        double[] scaled = vectors.clone();
        for (int i = 0; i < scaled.length; i++) {
          scaled[i] *= values[i % k];
        }
        double error = distance(product(full, vectors, n, n, k), scaled);
        assertTrue(error <= 10 * n * EPS * norm(full), () -> "A V - V D is " + error);
        double[] alone = new double[n];
        factorizer().eigvalsh(n, memory(a), memory(alone));
        for (int i = 0; i < k; i++) {
          assertEquals(alone[n - k + i], values[i], 10 * n * EPS * norm(full));
        }
      }
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
