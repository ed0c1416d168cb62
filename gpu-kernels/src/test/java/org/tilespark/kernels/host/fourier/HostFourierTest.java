package org.tilespark.kernels.host.fourier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Cases that are not in the contract of the pipelines, which runs every form on every kind of
 * shape.
 */
class HostFourierTest {
  private final HostFourier fourier = new HostFourier();

  @Test
  void aLineAgreesWithTheSum() {
    double[] re = {1, 2, 3, 4, 5};
    double[] im = {0, -1, 1, -2, 2};
    double[] line = {1, 0, 2, -1, 3, 1, 4, -2, 5, 2};
    double[] expected = sum(line, 0, 5, true);
    List<HostMemory> planes = List.of(HostMemory.ofArray(re), HostMemory.ofArray(im));
    FourierProblem problem =
        new FourierProblem(Shape.of(5), ElementType.FLOAT64, List.of(0), Kind.INVERSE, 0);
    fourier.transform(problem, 0.5, planes, planes);
    for (int i = 0; i < 5; i++) {
      assertEquals(expected[2 * i] / 2, re[i], 1e-14);
      assertEquals(expected[2 * i + 1] / 2, im[i], 1e-14);
    }
  }

  /** As numpy does, and as a sum of real values must be. */
  @Test
  void theImaginaryPartsOfFrequenciesThatHaveNoneAreIgnored() {
    FourierProblem problem =
        new FourierProblem(Shape.of(3), ElementType.FLOAT64, List.of(0), Kind.HALF_TO_REAL, 4);
    double[] clean = new double[4];
    double[] ignored = new double[4];
    fourier.transform(
        problem, 1, planes(new double[] {1, 2, 3}, new double[] {0, 5, 0}), planes(clean));
    fourier.transform(
        problem, 1, planes(new double[] {1, 2, 3}, new double[] {7, 5, 8}), planes(ignored));
    for (int i = 0; i < 4; i++) {
      assertEquals(clean[i], ignored[i]);
    }
  }

  @Test
  void aNaNStaysInItsLine() {
    double[] re = {1, 2, 3, Double.NaN, 5, 6};
    double[] im = new double[6];
    FourierProblem problem =
        new FourierProblem(Shape.of(2, 3), ElementType.FLOAT64, List.of(1), Kind.FORWARD, 0);
    fourier.transform(problem, 1, planes(re, im), planes(re, im));
    assertEquals(6, re[0], 1e-14);
    assertTrue(Double.isNaN(re[4]), "the other line");
  }

  @Test
  void planesThatDoNotFit() {
    FourierProblem problem =
        new FourierProblem(Shape.of(4), ElementType.FLOAT64, List.of(0), Kind.REAL_TO_HALF, 0);
    IllegalArgumentException one =
        assertThrows(
            IllegalArgumentException.class,
            () -> fourier.transform(problem, 1, planes(new double[4]), planes(new double[3])));
    assertTrue(
        one.getMessage().contains("output of [24] bytes; expected 2 planes of 24"),
        one.getMessage());
    assertThrows(
        IllegalArgumentException.class,
        () ->
            fourier.transform(
                problem, 1, planes(new double[5]), planes(new double[3], new double[3])));
  }

  @Test
  void problemsThatMakeNoSense() {
    Shape shape = Shape.of(4, 5);
    assertRefused(ElementType.INT32, shape, List.of(0), Kind.FORWARD, 0);
    assertRefused(ElementType.FLOAT32, Shape.of(4, 0), List.of(0), Kind.FORWARD, 0);
    assertRefused(ElementType.FLOAT32, shape, List.of(), Kind.FORWARD, 0);
    assertRefused(ElementType.FLOAT32, shape, List.of(0, 0), Kind.FORWARD, 0);
    assertRefused(ElementType.FLOAT32, shape, List.of(2), Kind.FORWARD, 0);
    assertRefused(ElementType.FLOAT32, shape, List.of(1), Kind.FORWARD, 5);
    assertRefused(ElementType.FLOAT32, shape, List.of(1), Kind.HALF_TO_REAL, 5);
    assertRefused(ElementType.FLOAT32, shape, List.of(1), Kind.HALF_TO_REAL, 10);
  }

  private static void assertRefused(
      ElementType type, Shape shape, List<Integer> axes, Kind kind, long realExtent) {
    assertThrows(
        IllegalArgumentException.class,
        () -> new FourierProblem(shape, type, axes, kind, realExtent));
  }

  /** More than 2^31 elements: a minute, and 24 GB of memory. */
  @Test
  @Tag("full")
  void moreElementsThanAnIntCounts() {
    long memory =
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
    assumeTrue(memory >= 32L << 30, "needs a machine with 32 GiB of memory");
    long cols = (1L << 30) + 5;
    Shape shape = Shape.of(2, cols);
    long bytes = shape.elements() * Float.BYTES;
    long re = HostMemory.unsafe().allocateMemory(bytes);
    long im = HostMemory.unsafe().allocateMemory(bytes);
    try {
      List<HostMemory> planes =
          List.of(HostMemory.ofAddress(re, bytes), HostMemory.ofAddress(im, bytes));
      planes.forEach(plane -> plane.fill((byte) 0));
      for (long i = 0; i < shape.elements(); i += 999_983) {
        HostMemory.unsafe().putFloat(re + i * Float.BYTES, i % 1000);
      }
      fourier.transform(
          new FourierProblem(shape, ElementType.FLOAT32, List.of(0), Kind.FORWARD, 0),
          1,
          planes,
          planes);
      for (long i = 0; i < cols; i += 999_983) {
        float below = value(i + cols);
        float sum = HostMemory.unsafe().getFloat(re + i * Float.BYTES);
        assertEquals(value(i) + below, sum, "sum at " + i);
        float difference = HostMemory.unsafe().getFloat(re + (i + cols) * Float.BYTES);
        assertEquals(value(i) - below, difference, "difference at " + i);
      }
    } finally {
      HostMemory.unsafe().freeMemory(re);
      HostMemory.unsafe().freeMemory(im);
    }
  }

  /** The sum itself, as it is written down; parts interleaved. */
  private static double[] sum(double[] line, int start, int n, boolean inverse) {
    double[] out = new double[2 * n];
    for (int k = 0; k < n; k++) {
      for (int j = 0; j < n; j++) {
        double angle = 2 * Math.PI * (j * k % n) / n;
        double cos = Math.cos(angle);
        double sin = (inverse ? 1 : -1) * Math.sin(angle);
        out[2 * k] += line[start + 2 * j] * cos - line[start + 2 * j + 1] * sin;
        out[2 * k + 1] += line[start + 2 * j] * sin + line[start + 2 * j + 1] * cos;
      }
    }
    return out;
  }

  private static float value(long i) {
    return i % 999_983 == 0 ? i % 1000 : 0;
  }

  private static List<HostMemory> planes(double[]... planes) {
    return java.util.Arrays.stream(planes).map(HostMemory::ofArray).toList();
  }
}
