package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.FactorizerContract;
import org.tilespark.kernels.factor.LargeFactorizer;
import org.tilespark.kernels.factor.NetlibFactorizer;
import org.tilespark.kernels.factor.NotPositiveDefiniteException;
import org.tilespark.kernels.factor.RefusedException;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;

/**
 * cuSOLVER keeps the contract, with LAPACK in Java for the matrices that it refuses; what it may
 * refuse is named.
 */
@RequiresGpu
class DeviceFactorizerIT extends FactorizerContract {
  private static final double EPS = Math.ulp(1.0);

  private CudaDevice device;
  private DeviceTransposer transposer;
  private DeviceFactorizer onDevice;
  private final NetlibFactorizer onHost = new NetlibFactorizer(new HostMultiplier());
  private final List<String> refusals = Collections.synchronizedList(new ArrayList<>());
  private Factorizer factorizer;

  @BeforeAll
  void openDevice() {
    device = CudaDevice.open(0);
    transposer = new DeviceTransposer(device);
    Availability<DeviceFactorizer> found = DeviceFactorizer.find(device, transposer, List.of());
    assumeTrue(found.isPresent(), found::whyNot);
    onDevice = found.get();
    factorizer =
        new LargeFactorizer(
            onHost, 0, () -> Optional.of(onDevice), e -> refusals.add(e.getMessage()));
  }

  @AfterAll
  void closeDevice() {
    if (onDevice != null) {
      System.out.println("cuSOLVER " + onDevice.version() + " refused: " + refusals);
      assertEquals(0, device.liveDeviceBytes());
      onDevice.close();
    }
    onHost.close();
    if (device != null) {
      transposer.close();
      device.close();
    }
  }

  @Override
  protected Factorizer factorizer() {
    return factorizer;
  }

  private static HostMemory memory(double[] values) {
    return HostMemory.ofArray(values);
  }

  private static double[] numbers(int rows, int cols) {
    return new SplittableRandom(31L * rows + cols).doubles((long) rows * cols, -1, 1).toArray();
  }

  private static double norm(double[] values) {
    double squares = 0;
    for (double value : values) {
      squares += value * value;
    }
    return Math.sqrt(squares);
  }

  /** A B - C, by products on the CPU. */
  private static double distance(double[] a, double[] b, double[] c, int m, int k, int n) {
    double[] product = new double[m * n];
    try (HostMultiplier multiplier = new HostMultiplier()) {
      multiplier.multiply(
          MultiplyProblem.dense(m, k, n, ElementType.FLOAT64, false, false),
          memory(a),
          memory(b),
          memory(product));
    }
    for (int i = 0; i < product.length; i++) {
      product[i] -= c[i];
    }
    return norm(product);
  }

  private static double[] transposed(double[] a, int rows, int cols) {
    double[] t = new double[a.length];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        t[j * rows + i] = a[i * cols + j];
      }
    }
    return t;
  }

  private static void assertOrthonormal(double[] q, int rows, int cols) {
    double[] unit = new double[cols * cols];
    for (int i = 0; i < cols; i++) {
      unit[i * cols + i] = 1;
    }
    double error = distance(transposed(q, rows, cols), q, unit, cols, rows, cols);
    assertTrue(error <= 10 * Math.max(rows, cols) * EPS, () -> "Q^T Q - I is " + error);
  }

  @Test
  void hasAVersion() {
    assertTrue(onDevice.version().matches("1[1-9]\\.\\d+\\.\\d+"), onDevice.version());
  }

  /** Without a refusal: the shapes that are sent to a device. */
  @ParameterizedTest
  @CsvSource({"512, 512", "700, 513", "513, 700", "1024, 1024", "4099, 517", "517, 4099"})
  void theDeviceFactorizesLargeMatrices(int m, int n) {
    int k = Math.min(m, n);
    int longer = Math.max(m, n);
    double[] a = numbers(m, n);
    double[] q = new double[m * k];
    double[] r = new double[k * n];
    onDevice.qr(m, n, memory(a), memory(q), memory(r));
    assertArrayEquals(numbers(m, n), a, "the operand is not changed");
    assertOrthonormal(q, m, k);
    assertTrue(distance(q, r, a, m, k, n) <= 10 * longer * EPS * norm(a), "Q R is A");
    double[] alone = new double[k * n];
    onDevice.qrR(m, n, memory(a), memory(alone));
    assertArrayEquals(r, alone);

    double[] u = new double[m * k];
    double[] s = new double[k];
    double[] vt = new double[k * n];
    onDevice.svd(m, n, memory(a), memory(u), memory(s), memory(vt));
    assertArrayEquals(numbers(m, n), a, "the operand is not changed");
    assertOrthonormal(u, m, k);
    assertOrthonormal(transposed(vt, k, n), n, k);
    double[] us = u.clone();
    for (int i = 0; i < us.length; i++) {
      us[i] *= s[i % k];
    }
    assertTrue(distance(us, vt, a, m, k, n) <= 10 * longer * EPS * norm(a), "U S Vt is A");
    double[] values = new double[k];
    onDevice.svdvals(m, n, memory(a), memory(values));
    double[] expected = new double[k];
    onHost.svdvals(m, n, memory(a), memory(expected));
    for (int i = 0; i < k; i++) {
      assertEquals(expected[i], values[i], 10 * longer * EPS * expected[0]);
      assertEquals(expected[i], s[i], 10 * longer * EPS * expected[0]);
    }
  }

  @ParameterizedTest
  @CsvSource({"512, 512", "513, 1", "640, 320", "1025, 1024", "1500, 1500"})
  void theDeviceFindsEigenvalues(int n, int k) {
    double[] a = numbers(n, n);
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < i; j++) {
        a[j * n + i] = a[i * n + j];
      }
    }
    double[] values = new double[k];
    double[] vectors = new double[n * k];
    onDevice.eigh(n, k, memory(a), memory(values), memory(vectors));
    assertOrthonormal(vectors, n, k);
    double[] multiples = vectors.clone();
    for (int i = 0; i < multiples.length; i++) {
      multiples[i] *= values[i % k];
    }
    double most = 10 * n * EPS * norm(a);
    assertTrue(distance(a, vectors, multiples, n, n, k) <= most, "A V is V D");
    double[] all = new double[n];
    onDevice.eigvalsh(n, memory(a), memory(all));
    for (int i = 0; i < k; i++) {
      assertTrue(i == 0 || values[i - 1] <= values[i], "ascending");
      assertEquals(all[n - k + i], values[i], most);
    }
  }

  /** The other triangle is not read: it may hold anything. */
  @Test
  void oneTriangleIsRead() {
    int n = 600;
    double[] a = numbers(n, n);
    for (int i = 0; i < n; i++) {
      a[i * n + i] += n;
      for (int j = i + 1; j < n; j++) {
        a[i * n + j] = Double.NaN;
      }
    }
    double[] values = new double[n];
    onDevice.eigvalsh(n, memory(a), memory(values));
    onDevice.eigh(n, n, memory(a), memory(values), memory(new double[n * n]));
    onDevice.eigh(n, 9, memory(a), memory(new double[9]), memory(new double[n * 9]));
    onDevice.cholesky(n, memory(a));
    for (double each : a) {
      assertTrue(Double.isFinite(each));
    }
  }

  @ParameterizedTest
  @CsvSource({"512, 512", "1031, 700"})
  void theDeviceSolves(int n, int sides) {
    double[] a = numbers(n, n);
    double[] x = numbers(n, sides);
    double[] b = new double[n * sides];
    try (HostMultiplier multiplier = new HostMultiplier()) {
      multiplier.multiply(
          MultiplyProblem.dense(n, n, sides, ElementType.FLOAT64, false, false),
          memory(a),
          memory(x),
          memory(b));
    }
    double[] lu = a.clone();
    int[] pivots = new int[n];
    onDevice.lu(n, memory(lu), pivots);
    double[] found = b.clone();
    onDevice.solveLu(n, sides, memory(lu), pivots, memory(found));
    double most = 10 * n * EPS * norm(a) * norm(found);
    assertTrue(distance(a, found, b, n, n, sides) <= most, "A X is B");
    // Either solves with the other one's factors.
    double[] again = b.clone();
    onHost.solveLu(n, sides, memory(lu), pivots, memory(again));
    assertTrue(distance(a, again, b, n, n, sides) <= most, "A X is B");

    double[] positive = new double[n * n];
    for (int i = 0; i < n; i++) {
      for (int j = 0; j <= i; j++) {
        positive[i * n + j] = a[i * n + j] / n + (i == j ? 2 : 0);
        positive[j * n + i] = positive[i * n + j];
      }
    }
    double[] lower = positive.clone();
    onDevice.cholesky(n, memory(lower));
    assertTrue(
        distance(lower, transposed(lower, n, n), positive, n, n, n)
            <= 10 * n * EPS * norm(positive),
        "L L^T is A");
    double[] solved = b.clone();
    onDevice.solvePositiveDefinite(n, sides, memory(lower), memory(solved));
    assertTrue(
        distance(positive, solved, b, n, n, sides) <= 10 * n * EPS * norm(positive) * norm(solved),
        "A X is B");
  }

  @Test
  void theMinorThatIsNotPositiveIsNamed() {
    int n = 700;
    double[] a = new double[n * n];
    for (int i = 0; i < n; i++) {
      a[i * n + i] = i == 543 ? -1 : 1;
    }
    NotPositiveDefiniteException thrown =
        assertThrows(
            NotPositiveDefiniteException.class, () -> onDevice.cholesky(n, memory(a.clone())));
    assertEquals(544, thrown.order());
  }

  @Test
  void aSingularMatrixHasFactors() {
    int n = 520;
    double[] lu = new double[n * n];
    int[] pivots = new int[n];
    onDevice.lu(n, memory(lu), pivots);
    assertEquals(0, Factorizer.slogdet(n, memory(lu), pivots).sign());
  }

  /** Squares of these overflow or vanish, so LAPACK does them. */
  @Test
  void extremeMatricesAreRefused() {
    int n = 520;
    for (double scale : new double[] {1e300, 1e-300}) {
      double[] a = numbers(n, n);
      for (int i = 0; i < a.length; i++) {
        a[i] *= scale;
      }
      String why =
          assertThrows(
                  RefusedException.class,
                  () -> onDevice.svdvals(n, n, memory(a), memory(new double[n])))
              .getMessage();
      assertTrue(why.contains("2^400"), why);
    }
  }

  /** Rank 1, where what remains after a few columns falls by epsilon in each. */
  @Test
  void matricesOfLowRankAreRightOrRefused() {
    int n = 600;
    double[] ones = new double[n * n];
    Arrays.fill(ones, 1);
    double[] q = new double[n * n];
    double[] r = new double[n * n];
    factorizer.qr(n, n, memory(ones), memory(q), memory(r));
    assertOrthonormal(q, n, n);
    double[] u = new double[n * n];
    double[] s = new double[n];
    factorizer.svd(n, n, memory(ones), memory(u), memory(s), memory(q));
    assertOrthonormal(u, n, n);
    assertEquals(n, s[0], 10 * n * EPS * n);
    assertEquals(0, s[1], 10 * n * EPS * n);
  }

  /** Memory that a room does not give is a refusal, and the operand is as it was. */
  @Test
  void theRoomDecides() {
    int n = 512;
    List<Long> asked = new ArrayList<>();
    DeviceFactorizer without =
        onDevice.within(
            (bytes, work) -> {
              asked.add(bytes);
              throw new ResourceException("no memory");
            });
    double[] a = numbers(n, n);
    RefusedException thrown =
        assertThrows(RefusedException.class, () -> without.lu(n, memory(a), new int[n]));
    assertEquals("no memory", thrown.getMessage());
    assertArrayEquals(numbers(n, n), a);
    assertTrue(asked.get(0) >= 8L * n * n, asked::toString);
    // It asks for no less than it holds at a time.
    long[] most = new long[1];
    DeviceFactorizer watched =
        onDevice.within(
            (bytes, work) -> {
              most[0] = bytes;
              work.run();
              assertEquals(0, device.liveDeviceBytes());
            });
    watched.svd(
        n,
        n,
        memory(a),
        memory(new double[n * n]),
        memory(new double[n]),
        memory(new double[n * n]));
    assertTrue(most[0] >= 8L * 3 * n * n, () -> "asked for " + most[0]);
  }

  /** As many threads as tasks may use a device; the bits of all are one's. */
  @Test
  void resultsAreTheSameInEachThread() throws Exception {
    int n = 530;
    double[] a = numbers(n, n);
    Callable<double[]> work =
        () -> {
          double[] q = new double[n * n];
          double[] r = new double[n * n];
          double[] s = new double[n];
          onDevice.qr(n, n, memory(a), memory(q), memory(r));
          onDevice.svd(n, n, memory(a), memory(q), memory(s), memory(r));
          return q;
        };
    double[] expected = work.call();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      for (Future<double[]> found : threads.invokeAll(Collections.nCopies(8, work))) {
        assertArrayEquals(expected, found.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
