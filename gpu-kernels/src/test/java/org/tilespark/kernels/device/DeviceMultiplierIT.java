package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.Multiplier;
import org.tilespark.kernels.MultiplierContract;
import org.tilespark.kernels.RequiresGpu;
import org.tilespark.kernels.plan.MultiplyEngine;
import org.tilespark.kernels.plan.MultiplyPlan;
import org.tilespark.kernels.plan.MultiplyProblem;
import org.tilespark.kernels.plan.MultiplyStrategy;
import org.tilespark.kernels.plan.MultiplyWay;
import org.tilespark.kernels.plan.Precision;
import org.tilespark.layout.ElementType;

@RequiresGpu
class DeviceMultiplierIT extends MultiplierContract {
  /** What matrices hold and how exactly they are multiplied. */
  private enum Kind {
    FLOAT(ElementType.FLOAT32, Precision.FULL),
    TF32(ElementType.FLOAT32, Precision.TF32),
    BFLOAT16(ElementType.FLOAT32, Precision.BFLOAT16),
    FLOAT16(ElementType.FLOAT32, Precision.FLOAT16),
    DOUBLE(ElementType.FLOAT64, Precision.FULL);

    private final ElementType type;
    private final Precision precision;

    Kind(ElementType type, Precision precision) {
      this.type = type;
      this.precision = precision;
    }
  }

  private CudaDevice device;
  private DeviceMultiplier multiplier;

  @BeforeAll
  void open() {
    device = CudaDevice.open(0);
    multiplier = new DeviceMultiplier(device);
    System.out.println(
        multiplier + ", cuBLAS: " + multiplier.cublas() + multiplier.cublasVersion());
  }

  @AfterAll
  void close() {
    if (device == null) {
      return;
    }
    multiplier.close();
    multiplier.close();
    long deviceBytes = device.liveDeviceBytes();
    long pinnedBytes = device.livePinnedBytes();
    device.close();
    assertEquals(0, deviceBytes, "device bytes alive");
    assertEquals(0, pinnedBytes, "pinned bytes alive");
  }

  @Override
  protected Multiplier multiplier() {
    return multiplier;
  }

  @Override
  protected boolean refuses(MultiplyProblem problem) {
    return !multiplier.plan(problem).isSupported();
  }

  @Override
  protected boolean roundsInputs() {
    return false;
  }

  /**
   * One of the ways that the planner may choose, on buffers that hold what lies between the rows
   * too, at offsets of their own.
   */
  private final class OneWay implements Multiplier {
    private final String name;
    private final int shift; // elements before A; before B and C one and two more, unless 0

    OneWay(MultiplyPlan plan) {
      this(plan, 3);
    }

    OneWay(MultiplyPlan plan, int shift) {
      this.name = name(plan);
      this.shift = shift;
    }

    private OneWay(String name, int shift) {
      this.name = name;
      this.shift = shift;
    }

    /** The same from so many elements after the start. */
    OneWay at(int elements) {
      return new OneWay(name, elements);
    }

    /** The kernel, whichever way operands are stored. */
    private String name(MultiplyPlan plan) {
      return plan.strategy()
          .way()
          .orElseThrow()
          .name()
          .replaceFirst("_[nt]{2}_w8_", "_w8_")
          .replaceFirst("_split_across_", "_split_")
          .replaceFirst("multiply_skinny_.*", "multiply_skinny");
    }

    @Override
    public void multiply(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c) {
      long width = problem.type().bytes();
      long atA = shift * width;
      long atB = atA + (shift == 0 ? 0 : width);
      long atC = atB + (shift == 0 ? 0 : width);
      try (CudaStream stream = device.newStream();
          PinnedBuffer hostA = device.allocatePinned(a.bytes());
          PinnedBuffer hostB = device.allocatePinned(b.bytes());
          PinnedBuffer hostC = device.allocatePinned(c.bytes());
          DeviceBuffer deviceA = device.allocate(a.bytes() + atA, stream);
          DeviceBuffer deviceB = device.allocate(b.bytes() + atB, stream);
          DeviceBuffer deviceC = device.allocate(c.bytes() + atC, stream)) {
        a.copyTo(hostA.memory());
        b.copyTo(hostB.memory());
        c.copyTo(hostC.memory());
        stream.upload(hostA.memory(), deviceA, atA);
        stream.upload(hostB.memory(), deviceB, atB);
        stream.upload(hostC.memory(), deviceC, atC);
        multiplier.enqueue(plan(problem), deviceA, atA, deviceB, atB, deviceC, atC, stream);
        stream.download(deviceC, atC, hostC.memory());
        stream.synchronize();
        hostC.memory().copyTo(c);
      }
    }

    /** By this way; what it cannot do goes by rule. */
    MultiplyPlan plan(MultiplyProblem problem) {
      return multiplier.candidates(problem).stream()
          .filter(plan -> name(plan).equals(name))
          .findFirst()
          .orElseGet(() -> multiplier.plan(problem).orElseThrow());
    }

    boolean isOwn(MultiplyProblem problem) {
      return !(plan(problem).strategy() instanceof MultiplyStrategy.Cublas);
    }

    @Override
    public void close() {}

    @Override
    public String toString() {
      return name;
    }
  }

  private static MultiplyProblem any(ElementType type, Precision precision) {
    return MultiplyProblem.dense(64, 64, 64, type, false, false).withPrecision(precision);
  }

  private List<OneWay> ways(ElementType type) {
    return ways(type, Precision.FULL);
  }

  private List<OneWay> ways(ElementType type, Precision precision) {
    List<OneWay> ways = new ArrayList<>();
    Set<String> names = new HashSet<>();
    // Some are for rows that begin unevenly alone.
    MultiplyProblem uneven = MultiplyProblem.dense(63, 63, 63, type, false, false);
    for (MultiplyProblem each : List.of(any(type, precision), uneven.withPrecision(precision))) {
      for (MultiplyPlan plan : multiplier.candidates(each)) {
        OneWay way = new OneWay(plan);
        if (names.add(way.name)) {
          System.out.println(type + ", " + precision + ": " + plan.describe());
          ways.add(way);
        }
      }
    }
    if (precision == Precision.FULL) {
      ways.add(skinny(type, 3));
    }
    return ways;
  }

  /** The kernels for products with a small extent; other products go by rule. */
  private OneWay skinny(ElementType type, int shift) {
    MultiplyPlan plan =
        multiplier.candidates(MultiplyProblem.dense(64, 64, 1, type, false, false)).stream()
            .filter(each -> each.strategy() instanceof MultiplyStrategy.Skinny)
            .findFirst()
            .orElseThrow();
    return new OneWay(plan, shift);
  }

  /**
   * Each small extent and its neighbours, on both sides of all limits of a thread block or part.
   */
  @Test
  void narrowProductsByTheirKernels() {
    long[] large = {17, 31, 32, 33, 65, 511, 513, 1025};
    long[] depths = {1, 2, 7, 8, 31, 33, 255, 256, 257, 513, 700, 20_000};
    SplittableRandom random = new SplittableRandom(24);
    for (ElementType type : TYPES) {
      OneWay way = skinny(type, 3);
      for (long small = 1; small <= 17; small++) {
        for (int which = 0; which < 16; which++) {
          boolean transposeA = (which & 1) != 0;
          boolean transposeB = (which & 2) != 0;
          long x = large[random.nextInt(large.length)];
          long y = large[random.nextInt(large.length)];
          long k = depths[random.nextInt(depths.length)];
          boolean dense = random.nextBoolean();
          Inputs inputs = Inputs.values()[which / 4];
          for (long[] shape : new long[][] {{x, k, small}, {small, k, x}, {x, small, y}}) {
            MultiplyProblem problem =
                problem(shape[0], shape[1], shape[2], type, transposeA, transposeB, dense, random);
            checkExact(way, problem, random.nextLong());
            checkOne(way, problem, inputs, random.nextLong());
          }
        }
      }
    }
  }

  /** Long sums along and across the large operand, one thread block's or many. */
  @Test
  void narrowProductsWithALongInnerDimension() {
    SplittableRandom random = new SplittableRandom(25);
    for (ElementType type : TYPES) {
      OneWay way = skinny(type, 3);
      for (Inputs inputs : Inputs.values()) {
        for (int which = 0; which < 4; which++) {
          boolean transposeA = (which & 1) != 0;
          boolean transposeB = (which & 2) != 0;
          long[][] shapes = {{1, 1_000_000, 1}, {16, 1_000_003, 3}, {4, 100_003, 16}};
          for (long[] shape : shapes) {
            MultiplyProblem problem =
                problem(shape[0], shape[1], shape[2], type, transposeA, transposeB, true, random);
            checkOne(way, problem, inputs, random.nextLong());
          }
        }
      }
    }
  }

  /** Where operands begin does not change a bit. */
  @Test
  void narrowProductsHaveTheSameBitsAnywhere() {
    SplittableRandom random = new SplittableRandom(26);
    float[] a = floats(3000 * 1001, random);
    float[] b = floats(1001 * 5, random);
    for (int which = 0; which < 4; which++) {
      MultiplyProblem problem =
          MultiplyProblem.dense(
              3000, 1001, 5, ElementType.FLOAT32, (which & 1) != 0, (which & 2) != 0);
      float[] expected = null;
      for (int shift = 0; shift < 4; shift++) {
        float[] c = new float[3000 * 5];
        skinny(ElementType.FLOAT32, shift)
            .multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
        expected = expected == null ? c : expected;
        assertArrayEquals(expected, c, problem + " from element " + shift);
      }
    }
  }

  /** Where doubles begin, an odd number to a row, does not change a bit. */
  @Test
  void doublesHaveTheSameBitsAnywhere() {
    int m = 301;
    int k = 259;
    int n = 131;
    SplittableRandom random = new SplittableRandom(28);
    double[] a = random.doubles((long) m * k, -1, 1).toArray();
    double[] b = random.doubles((long) k * n, -1, 1).toArray();
    for (OneWay way : ways(ElementType.FLOAT64)) {
      for (int which = 0; which < 4; which++) {
        MultiplyProblem problem =
            MultiplyProblem.dense(m, k, n, ElementType.FLOAT64, (which & 1) != 0, (which & 2) != 0);
        double[] expected = null;
        for (int shift = 0; shift < 4; shift++) {
          double[] c = new double[m * n];
          way.at(shift)
              .multiply(
                  problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
          expected = expected == null ? c : expected;
          assertArrayEquals(expected, c, way + ", " + problem + " from element " + shift);
        }
      }
    }
  }

  /**
   * Extents up to two of the largest tiles and 3 more, any storage; whole numbers, so that nothing
   * may differ, and others.
   */
  @Test
  void randomExtentsInEveryWay() {
    long seed = System.nanoTime();
    System.out.println("random extents, seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    for (Kind kind : Kind.values()) {
      ElementType type = kind.type;
      Precision precision = kind.precision;
      for (OneWay way : ways(type, precision)) {
        for (int round = 0; round < 24; round++) {
          MultiplyProblem problem =
              problem(
                      random.nextInt(1, 260),
                      round == 0 ? 1 : random.nextInt(1, 260),
                      random.nextInt(1, 516),
                      type,
                      (round & 1) != 0,
                      (round & 2) != 0,
                      random.nextBoolean(),
                      random)
                  .withPrecision(precision);
          checkExact(way, problem, random.nextLong());
          if (round < 8 && precision != Precision.FULL) {
            checkRounded(
                way, problem, Inputs.values()[round / 4], random.nextLong()); // signed, positive
          } else if (round < 8) {
            checkOne(way, problem, Inputs.values()[round / 4], random.nextLong());
          }
        }
      }
    }
  }

  /** More than one chunk of K, and more tiles than multiprocessors. */
  @Test
  void largeProblemsInEveryWay() {
    SplittableRandom random = new SplittableRandom(23);
    for (Kind kind : Kind.values()) {
      ElementType type = kind.type;
      Precision precision = kind.precision;
      for (OneWay way : ways(type, precision)) {
        for (int which = 0; which < 4; which += 3) {
          boolean transposeA = (which & 1) != 0;
          boolean transposeB = (which & 2) != 0;
          checkExact(
              way,
              problem(40, 17_000, 140, type, transposeA, transposeB, which == 0, random)
                  .withPrecision(precision),
              random.nextLong());
          checkExact(
              way,
              problem(1530, 65, 1540, type, transposeA, transposeB, which == 0, random)
                  .withPrecision(precision),
              random.nextLong());
        }
      }
    }
  }

  /**
   * Large products of doubles, where stages, tiles and thread blocks meet in many orders: of whole
   * numbers, so every way and every run makes the same bits.
   */
  @Test
  void largeDoublesAgainAndAgain() {
    int n = 1536;
    SplittableRandom random = new SplittableRandom(24);
    double[] a = random.ints((long) n * n, -8, 9).asDoubleStream().toArray();
    double[] b = random.ints((long) n * n, -8, 9).asDoubleStream().toArray();
    for (int which = 0; which < 4; which++) {
      MultiplyProblem problem =
          MultiplyProblem.dense(n, n, n, ElementType.FLOAT64, (which & 1) != 0, (which & 2) != 0);
      double[] first = null;
      for (OneWay way : ways(ElementType.FLOAT64)) {
        for (int run = 0; run < 4; run++) {
          double[] c = new double[n * n];
          way.multiply(
              problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
          if (first == null) {
            first = c;
          }
          assertEquals(-1, Arrays.mismatch(first, c), way + ", run " + run + ", " + problem);
        }
      }
    }
  }

  /** However products of a batch lie, in one launch or several; whole numbers and others. */
  @Test
  void batchesInEveryWay() {
    SplittableRandom random = new SplittableRandom(27);
    long[][] shapes = {{5, 7, 3}, {64, 64, 64}, {130, 70, 140}, {33, 257, 300}, {256, 96, 256}};
    for (Kind kind : Kind.values()) {
      ElementType type = kind.type;
      Precision precision = kind.precision;
      for (OneWay way : ways(type, precision)) {
        for (Lie lie : Lie.values()) {
          for (long[] shape : shapes) {
            int which = random.nextInt(4);
            // From an even first element, rows and products may lie as the copy engine wants it.
            boolean dense = random.nextBoolean();
            MultiplyProblem problem =
                batch(
                    problem(
                            shape[0],
                            shape[1],
                            shape[2],
                            type,
                            (which & 1) != 0,
                            (which & 2) != 0,
                            dense,
                            random)
                        .withPrecision(precision),
                    random.nextInt(2, 7),
                    lie);
            OneWay placed = dense ? way.at(0) : way;
            checkExact(placed, problem, random.nextLong());
            if (precision == Precision.FULL) {
              checkOne(placed, problem, Inputs.SIGNED, random.nextLong());
            }
          }
        }
        // More tiles than thread blocks.
        MultiplyProblem small =
            problem(40, 64, 72, type, false, true, true, random).withPrecision(precision);
        checkExact(way.at(0), batch(small, 700, Lie.BEHIND), random.nextLong());
      }
    }
  }

  /** Too few tiles for the device, so K is cut; the bar holds, and so do the bits. */
  @Test
  void fewTilesAndALongInnerDimensionInEveryWay() {
    SplittableRandom random = new SplittableRandom(28);
    for (Kind kind : Kind.values()) {
      ElementType type = kind.type;
      Precision precision = kind.precision;
      for (OneWay way : ways(type, precision)) {
        for (int which = 0; which < 4; which++) {
          boolean dense = which % 2 == 0;
          for (long[] shape : new long[][] {{40, 3000, 70}, {140, 5003, 130}, {3, 140_000, 5}}) {
            MultiplyProblem problem =
                problem(
                        shape[0],
                        shape[1],
                        shape[2],
                        type,
                        (which & 1) != 0,
                        (which & 2) != 0,
                        dense,
                        random)
                    .withPrecision(precision);
            OneWay placed = dense ? way.at(0) : way;
            checkExact(placed, problem, random.nextLong());
            checkExact(placed, batch(problem, 2, Lie.APART), random.nextLong());
            if (precision == Precision.FULL) {
              checkOne(placed, problem, Inputs.SIGNED, random.nextLong());
              checkOne(placed, problem, Inputs.POSITIVE, random.nextLong());
            }
          }
        }
      }
    }
  }

  /** NaN, infinity and what is too small to be cut, in one product of a batch and in one part. */
  @Test
  void valuesThatHaveNoPartsInABatchAndInParts() {
    int m = 140;
    int k = 2048;
    int n = 150;
    float[] values = {Float.NaN, Float.POSITIVE_INFINITY, 0x1p-130f};
    for (OneWay way : ways(ElementType.FLOAT32)) {
      for (int which = 0; which < 4; which++) {
        boolean transposeA = (which & 1) != 0;
        boolean transposeB = (which & 2) != 0;
        MultiplyProblem one =
            MultiplyProblem.dense(m, k, n, ElementType.FLOAT32, transposeA, transposeB);
        for (float value : values) {
          for (MultiplyProblem problem : List.of(one, batch(one, 3, Lie.BEHIND))) {
            int count = (int) problem.batch().count();
            int last = count - 1;
            float[] a = new float[count * m * k];
            float[] b = new float[count * k * n];
            Arrays.fill(a, 1);
            Arrays.fill(b, 2);
            // Row 7 of A, late in K, of the last product.
            a[last * m * k + (transposeA ? 1999 * m + 7 : 7 * k + 1999)] = value;
            float[] c = new float[count * m * n];
            way.at(0)
                .multiply(
                    problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
            for (int at = 0; at < c.length; at++) {
              boolean meets = at / n == last * m + 7;
              float expected = meets ? 2 * (k - 1) + 2 * value : 2 * k;
              assertEquals(expected, c[at], way + ", " + problem + ": element " + at);
            }
          }
        }
      }
    }
  }

  /** Where a split has no parts, or parts' products overflow, results are as without it. */
  @Test
  void valuesThatHaveNoPartsInEveryWay() {
    float[][] pairs = {
      {0x1p-130f, 0x1p100f},
      {0x1.8p-149f, 0x1p120f},
      {0x1.23456p-120f, 0x1.fedcbap119f},
      {Float.MAX_VALUE, 0x1p-10f},
      {0x1p100f, 0x1.001ffep100f},
      {0x1.000ffep100f, -0x1.000ffep100f},
    };
    int n = 300;
    int k = 256;
    for (OneWay way : ways(ElementType.FLOAT32)) {
      for (float[] pair : pairs) {
        float[] a = new float[n * k];
        float[] b = new float[k * n];
        for (int i = 0; i < n; i++) {
          a[i * k + i % k] = 1; // row i of C is row i % k of B
        }
        Arrays.fill(b, 3);
        a[7 * k + 5] = pair[0]; // C[7, 9] alone sees both
        b[5 * n + 9] = pair[1];
        MultiplyProblem problem = MultiplyProblem.dense(n, k, n, ElementType.FLOAT32, false, false);
        float[] c = new float[n * n];
        way.multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
        for (int i = 0; i < n; i++) {
          for (int j = 0; j < n; j++) {
            double expected = b[i % k * n + j];
            if (i == 7) {
              expected += (double) pair[0] * b[5 * n + j];
            }
            float found = c[i * n + j];
            float rounded = (float) expected;
            assertTrue(
                found == rounded || Math.abs(found - expected) <= 0x1p-21 * Math.abs(expected),
                way + ": C[" + i + "," + j + "] is " + found + ", expected " + expected);
          }
        }
      }
    }
  }

  /** Each kernel, and cuBLAS, whatever the planner would choose. */
  @Test
  void everyWay() {
    long[][] shapes = {
      {1, 1, 1},
      {33, 17, 65},
      {64, 64, 64},
      {131, 129, 127},
      {128, 256, 128},
      {257, 100, 300},
      {5, 1000, 3},
      {1, 500, 260},
      {270, 31, 1},
      {1100, 40, 140},
      {4, 20_000, 6},
    };
    for (ElementType type : TYPES) {
      for (OneWay way : ways(type)) {
        SplittableRandom random = new SplittableRandom(21);
        for (long[] shape : shapes) {
          for (int which = 0; which < 4; which++) {
            MultiplyProblem problem =
                problem(
                    shape[0],
                    shape[1],
                    shape[2],
                    type,
                    (which & 1) != 0,
                    (which & 2) != 0,
                    random.nextBoolean(),
                    random);
            Inputs inputs = Inputs.values()[random.nextInt(Inputs.values().length)];
            if (inputs == Inputs.CONSTANT && !way.isOwn(problem)) {
              inputs = Inputs.POSITIVE; // the chains of cuBLAS are its own
            }
            checkOne(way, problem, inputs, random.nextLong());
          }
        }
      }
    }
  }

  /** The bar holds for long sums too. */
  @Test
  void everyWayWithALongInnerDimension() {
    for (ElementType type : TYPES) {
      for (OneWay way : ways(type)) {
        SplittableRandom random = new SplittableRandom(22);
        MultiplyProblem problem = problem(5, 1_000_000, 3, type, true, false, true, random);
        checkOne(way, problem, Inputs.SIGNED, 22);
        checkOne(way, problem, Inputs.POSITIVE, 23);
        checkOne(way, problem, Inputs.CONSTANT, 24); // of cuBLAS too, whose chunks are short enough
      }
    }
  }

  @Test
  void nanAndInfinityPropagateInEveryWay() {
    for (ElementType type : TYPES) {
      for (OneWay way : ways(type)) {
        checkNanAndInfinity(way, type);
      }
    }
  }

  /** Offsets beyond 2^31 elements in each operand, in every way. */
  @Test
  void rowsFarApartOnTheDevice() {
    long lead = (1L << 30) + 8;
    long bytes = (2 * lead + 3) * Float.BYTES;
    Assumptions.assumeTrue(device.memoryInfo().freeBytes() > 2 * bytes, "too little device memory");
    float[] unit = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    float[] values = {1, 2, 3, 4, 5, 6, 7, 8, 10};
    for (OneWay way : ways(ElementType.FLOAT32)) {
      for (boolean transposed : new boolean[] {false, true}) {
        float[] expected = transposed ? new float[] {1, 4, 7, 2, 5, 8, 3, 6, 10} : values;
        assertArrayEquals(expected, far(way, transposed, false, lead, 3, 3, values, unit));
        assertArrayEquals(expected, far(way, false, transposed, 3, lead, 3, unit, values));
      }
      assertArrayEquals(values, far(way, false, false, 3, 3, lead, unit, values));
    }
  }

  /** A product of 3 x 3 matrices whose rows lie as far apart as asked. */
  private float[] far(
      OneWay way,
      boolean transposeA,
      boolean transposeB,
      long leadA,
      long leadB,
      long leadC,
      float[] a,
      float[] b) {
    MultiplyProblem problem =
        new MultiplyProblem(
            3,
            3,
            3,
            ElementType.FLOAT32,
            Precision.FULL,
            transposeA,
            transposeB,
            leadA,
            leadB,
            leadC,
            false);
    try (PinnedBuffer pinned = device.allocatePinned(3 * 9 * Float.BYTES);
        CudaStream stream = device.newStream();
        DeviceBuffer deviceA = device.allocate(problem.bytesA(), stream);
        DeviceBuffer deviceB = device.allocate(problem.bytesB(), stream);
        DeviceBuffer deviceC = device.allocate(problem.bytesC(), stream)) {
      long block = 9 * Float.BYTES;
      HostMemory.ofArray(a).copyTo(pinned.memory().slice(0, block));
      HostMemory.ofArray(b).copyTo(pinned.memory().slice(block, block));
      long row = 3 * Float.BYTES;
      for (int i = 0; i < 3; i++) {
        stream.upload(pinned.memory().slice(i * row, row), deviceA, i * leadA * Float.BYTES);
        stream.upload(
            pinned.memory().slice(block + i * row, row), deviceB, i * leadB * Float.BYTES);
      }
      multiplier.enqueue(way.plan(problem), deviceA, 0, deviceB, 0, deviceC, 0, stream);
      for (int i = 0; i < 3; i++) {
        stream.download(
            deviceC, i * leadC * Float.BYTES, pinned.memory().slice(2 * block + i * row, row));
      }
      stream.synchronize();
      float[] c = new float[9];
      pinned.memory().slice(2 * block, block).copyTo(HostMemory.ofArray(c));
      return c;
    }
  }

  /** Tasks share one multiplier; each result has the same bits, whatever runs beside it. */
  @Test
  void severalThreadsShareOneDevice() throws Exception {
    MultiplyProblem problem =
        MultiplyProblem.dense(700, 900, 600, ElementType.FLOAT32, false, true);
    SplittableRandom random = new SplittableRandom(7);
    float[] a = floats(700 * 900, random);
    float[] b = floats(900 * 600, random);
    float[] expected = product(problem, a, b);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<float[]>> results = new ArrayList<>();
      for (int i = 0; i < 48; i++) {
        results.add(threads.submit(() -> product(problem, a, b)));
      }
      for (Future<float[]> result : results) {
        assertArrayEquals(expected, result.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /**
   * One plan, many times on several streams and threads, wherever matrices begin: always the same
   * bits.
   */
  @Test
  void onePlanOnSeveralStreamsAndThreads() throws Exception {
    long seed = System.nanoTime();
    System.out.println("one plan on several streams, seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      for (Kind kind : Kind.values()) {
        // In parts, of many tiles, and with a small extent.
        for (long[] shape : new long[][] {{200, 2100, 150}, {700, 100, 600}, {300, 1001, 5}}) {
          MultiplyProblem one =
              MultiplyProblem.dense(
                  shape[0],
                  shape[1],
                  shape[2],
                  kind.type,
                  random.nextBoolean(),
                  random.nextBoolean());
          MultiplyProblem problem = batch(one.withPrecision(kind.precision), 2, Lie.BEHIND);
          for (MultiplyPlan plan : multiplier.candidates(problem)) {
            if (!(plan.strategy() instanceof MultiplyStrategy.Cublas)) {
              checkSameBits(plan, threads, random);
            }
          }
        }
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private void checkSameBits(MultiplyPlan plan, ExecutorService threads, SplittableRandom random)
      throws Exception {
    MultiplyProblem problem = plan.problem();
    try (PinnedBuffer a = device.allocatePinned(problem.bytesA());
        PinnedBuffer b = device.allocatePinned(problem.bytesB());
        PinnedBuffer expected = device.allocatePinned(problem.bytesC());
        CudaStream stream = device.newStream()) {
      for (PinnedBuffer matrix : List.of(a, b)) {
        fillRandom(matrix.memory(), problem.type(), random);
      }
      queue(plan, a, b, expected, 0, stream);
      stream.synchronize();
      List<Future<?>> results = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        SplittableRandom shifts = random.split();
        results.add(
            threads.submit(
                () -> {
                  checkRounds(plan, a, b, expected, shifts);
                  return null;
                }));
      }
      for (Future<?> result : results) {
        result.get();
      }
    }
  }

  /** On two streams by turns, each round from another element on. */
  private void checkRounds(
      MultiplyPlan plan,
      PinnedBuffer a,
      PinnedBuffer b,
      PinnedBuffer expected,
      SplittableRandom shifts) {
    long bytes = expected.memory().bytes();
    try (PinnedBuffer even = device.allocatePinned(bytes);
        PinnedBuffer odd = device.allocatePinned(bytes);
        CudaStream evenStream = device.newStream();
        CudaStream oddStream = device.newStream()) {
      for (int round = 0; round < 12; round++) {
        PinnedBuffer found = round % 2 == 0 ? even : odd;
        CudaStream stream = round % 2 == 0 ? evenStream : oddStream;
        stream.synchronize(); // the round before the last
        if (round > 1) {
          requireSame(expected, found, plan);
        }
        found.memory().fill((byte) 0xff);
        queue(plan, a, b, found, shifts.nextInt(9), stream);
      }
      evenStream.synchronize();
      oddStream.synchronize();
      requireSame(expected, even, plan);
      requireSame(expected, odd, plan);
    }
  }

  /** Queues a plan twice, of matrices that begin at element {@code shift}. */
  private void queue(
      MultiplyPlan plan,
      PinnedBuffer a,
      PinnedBuffer b,
      PinnedBuffer c,
      int shift,
      CudaStream stream) {
    long at = (long) shift * plan.problem().type().bytes();
    try (DeviceBuffer deviceA = device.allocate(at + a.memory().bytes(), stream);
        DeviceBuffer deviceB = device.allocate(at + b.memory().bytes(), stream);
        DeviceBuffer deviceC = device.allocate(at + c.memory().bytes(), stream);
        DeviceBuffer workspace = device.allocate(plan.workspaceBytes(), stream)) {
      stream.upload(a.memory(), deviceA, at);
      stream.upload(b.memory(), deviceB, at);
      for (int run = 0; run < 2; run++) {
        stream.fill(deviceC, (byte) 0xff); // NaN
        multiplier.enqueue(plan, deviceA, at, deviceB, at, deviceC, at, workspace, stream);
      }
      stream.download(deviceC, at, c.memory());
    }
  }

  private static void requireSame(PinnedBuffer expected, PinnedBuffer found, MultiplyPlan plan) {
    int width = plan.problem().type().bytes();
    for (long at = 0; at < expected.memory().bytes(); at += width) {
      long wanted = bits(expected.memory(), at, width);
      if (wanted != bits(found.memory(), at, width)) {
        throw new AssertionError(
            plan.describe() + " of " + plan.problem() + " differs at element " + at / width);
      }
    }
  }

  private static long bits(HostMemory memory, long at, int width) {
    return width == Float.BYTES
        ? HostMemory.unsafe().getInt(memory.offset() + at)
        : HostMemory.unsafe().getLong(memory.offset() + at);
  }

  private static void fillRandom(HostMemory memory, ElementType type, SplittableRandom random) {
    for (long at = memory.offset(); at < memory.offset() + memory.bytes(); at += type.bytes()) {
      double value = 2 * random.nextDouble() - 1;
      if (type == ElementType.FLOAT32) {
        HostMemory.unsafe().putFloat(at, (float) value);
      } else {
        HostMemory.unsafe().putDouble(at, value);
      }
    }
  }

  private static float[] floats(int count, SplittableRandom random) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextDouble() - 0.5f;
    }
    return values;
  }

  private float[] product(MultiplyProblem problem, float[] a, float[] b) {
    float[] c = new float[Math.toIntExact(problem.m() * problem.n())];
    multiplier.multiply(
        problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    return c;
  }

  /** Totals take the partial sums, which are cleared; what lies behind them stays. */
  @Test
  void additionsOfTiles() {
    for (int elements : new int[] {1, 2, 3, 4, 5, 1023, 1024, 1025, 3_000_001}) {
      double[] doubles = new double[elements + 1];
      float[] floats = new float[elements + 1];
      for (int at = 0; at <= elements; at++) {
        doubles[at] = 3 * at + 1;
        floats[at] = at % 1000 + 1;
      }
      checkAddition(ElementType.FLOAT64, HostMemory.ofArray(doubles));
      checkAddition(ElementType.FLOAT32, HostMemory.ofArray(floats));
    }
  }

  /** Adds all but the last element to itself. */
  private void checkAddition(ElementType type, HostMemory values) {
    long bytes = values.bytes();
    long added = bytes - type.bytes();
    try (CudaStream stream = device.newStream();
        PinnedBuffer before = device.allocatePinned(bytes);
        PinnedBuffer after = device.allocatePinned(2 * bytes);
        DeviceBuffer partials = device.allocate(bytes, stream);
        DeviceBuffer totals = device.allocate(bytes, stream)) {
      values.copyTo(before.memory());
      stream.upload(before.memory(), partials, 0);
      stream.upload(before.memory(), totals, 0);
      multiplier.enqueueAddition(type, partials, totals, added, stream);
      stream.download(partials, 0, after.memory().slice(0, bytes));
      stream.download(totals, 0, after.memory().slice(bytes, bytes));
      stream.synchronize();
      for (long at = 0; at < bytes; at += type.bytes()) {
        double value = value(before.memory(), at, type);
        boolean last = at == added;
        assertEquals(last ? value : 0, value(after.memory(), at, type), type + " at " + at);
        assertEquals(
            last ? value : 2 * value, value(after.memory(), bytes + at, type), type + " at " + at);
      }
    }
  }

  private static double value(HostMemory memory, long at, ElementType type) {
    return type == ElementType.FLOAT32
        ? HostMemory.unsafe().getFloat(memory.offset() + at)
        : HostMemory.unsafe().getDouble(memory.offset() + at);
  }

  /**
   * All threads get the same choice, and so does the next process; without a budget there is none.
   */
  @Test
  void oneChoiceForAll(@TempDir Path directory) throws Exception {
    MultiplyProblem problem =
        MultiplyProblem.dense(500, 1100, 700, ElementType.FLOAT32, true, false);
    assertTrue(choose(multiplier, problem).isEmpty());
    DeviceMultiplier.Tuning tuning =
        new DeviceMultiplier.Tuning(
            Duration.ofSeconds(5), Optional.of(directory.resolve("tilespark")));
    Set<Optional<MultiplyWay>> choices = new HashSet<>();
    for (int process = 0; process < 2; process++) {
      ExecutorService threads = Executors.newFixedThreadPool(4);
      try (DeviceMultiplier tuned =
          new DeviceMultiplier(device, MultiplyEngine.AUTO, List.of(), tuning)) {
        List<Future<Optional<MultiplyWay>>> results = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          results.add(threads.submit(() -> choose(tuned, problem)));
        }
        for (Future<Optional<MultiplyWay>> result : results) {
          choices.add(result.get());
        }
        MultiplyWay way = choices.iterator().next().orElseThrow();
        System.out.println("500 x 1100 x 700 TN by " + way);
        assertEquals(
            Optional.of(way),
            tuned.plan(problem, 1100, Optional.of(way)).orElseThrow().strategy().way());
      } finally {
        threads.shutdownNow();
      }
    }
    assertEquals(1, choices.size(), choices.toString());
    // Forced engines have nothing to choose from, or choose among their own.
    try (DeviceMultiplier own =
        new DeviceMultiplier(device, MultiplyEngine.OWN, List.of(), tuning)) {
      assertFalse(choose(own, problem).orElseThrow().isCublas());
    }
    try (DeviceMultiplier library =
        new DeviceMultiplier(device, MultiplyEngine.CUBLAS, List.of(), tuning)) {
      assertTrue(choose(library, problem).isEmpty());
    }
  }

  private Optional<MultiplyWay> choose(DeviceMultiplier chooser, MultiplyProblem problem) {
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(problem.bytesA(), stream);
        DeviceBuffer b = device.allocate(problem.bytesB(), stream);
        DeviceBuffer c = device.allocate(problem.bytesC(), stream);
        DeviceBuffer workspace = device.allocate(chooser.mostWorkspaceBytes(problem), stream)) {
      return chooser.choose(problem, problem.k(), a, b, c, workspace, stream);
    }
  }

  @Test
  void enginesAreObeyed() {
    MultiplyProblem large =
        MultiplyProblem.dense(2048, 2048, 2048, ElementType.FLOAT32, false, false);
    try (DeviceMultiplier own =
        new DeviceMultiplier(device, MultiplyEngine.OWN, List.of(), DeviceMultiplier.Tuning.OFF)) {
      assertFalse(own.plan(large).orElseThrow().strategy() instanceof MultiplyStrategy.Cublas);
    }
    try (DeviceMultiplier library =
        new DeviceMultiplier(
            device, MultiplyEngine.CUBLAS, List.of(), DeviceMultiplier.Tuning.OFF)) {
      if (library.cublas().absence().isEmpty()) {
        assertInstanceOf(
            MultiplyStrategy.Cublas.class, library.plan(large).orElseThrow().strategy());
      } else {
        assertFalse(library.plan(large).isSupported());
        assertTrue(
            library.plan(large).describe().contains("cuBLAS was not found"),
            library.plan(large).describe());
      }
    }
  }

  @Test
  void badOffsetsAreRefusedBeforeAnyWork() {
    MultiplyProblem problem = MultiplyProblem.dense(8, 8, 8, ElementType.FLOAT32, false, false);
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(1024, stream);
        DeviceBuffer b = device.allocate(256, stream)) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class,
              () -> multiplier.enqueue(problem, a, 0, b, 0, a, 258, stream));
      assertEquals("Offsets 0, 0 and 258; expected multiples of the width 4", e.getMessage());
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> multiplier.enqueue(problem, a, 0, b, 4, a, 256, stream));
      e =
          assertThrows(
              IllegalArgumentException.class,
              () -> multiplier.enqueue(problem, a, 0, b, 0, a, 252, stream));
      assertEquals("C overlaps A: they begin 252 bytes apart in one buffer", e.getMessage());
      stream.fill(a, (byte) 0);
      stream.fill(b, (byte) 0);
      multiplier.enqueue(problem, a, 0, b, 0, a, 256, stream);
      multiplier.enqueue(problem, a, 0, a, 0, b, 0, stream);
    }
  }
}
