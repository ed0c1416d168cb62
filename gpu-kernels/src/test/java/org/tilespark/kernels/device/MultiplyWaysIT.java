package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.multiply.ProductKernels;
import org.tilespark.kernels.multiply.ProductKind;
import org.tilespark.layout.ElementType;

/** All ways to multiply, whatever the planner would choose. */
@RequiresGpu
class MultiplyWaysIT extends MultiplyWays {
  /** Of a slice of an H100, an A100, an H100 with PCIe, and an H200. */
  private static final int[] MULTIPROCESSORS = {16, 108, 114, 132};

  /** The address of DOUBLE operands, with an odd number to a row, does not change a bit. */
  @Test
  void doublesHaveTheSameBitsAnywhere() {
    SplittableRandom random = new SplittableRandom(28);
    for (OneWay way : ways(ElementType.FLOAT64)) {
      if (!way.isOwn()) {
        continue; // cuBLAS does not promise it
      }
      long[] shape = way.near(301, 259, 131);
      for (int which = 0; which < 4; which++) {
        MultiplyProblem problem = problem(shape, ElementType.FLOAT64, which, true, random);
        problem = problem.withFactors(MultiplyProblem.Factors.OVERWRITE);
        if (!way.takes(problem)) {
          continue;
        }
        double[] a = random.doubles(shape[0] * shape[1], -1, 1).toArray();
        double[] b = random.doubles(shape[1] * shape[2], -1, 1).toArray();
        double[] expected = null;
        for (int shift = 0; shift < 4; shift++) {
          double[] c = new double[Math.toIntExact(shape[0] * shape[2])];
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
   * Extents up to two of the largest tiles and 3 more, any storage, of rows that begin evenly and
   * of others; whole numbers, so that nothing may differ, and others.
   */
  @Test
  void randomExtentsInEveryWay() {
    long seed = System.nanoTime();
    System.out.println("random extents, seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    for (ProductKind kind : ProductKind.values()) {
      for (OneWay way : ways(kind.type(), kind.precision())) {
        for (int round = 0; round < 32; round++) {
          long[] shape = {
            random.nextInt(1, 516), round == 0 ? 1 : random.nextInt(1, 260), random.nextInt(1, 516)
          };
          if (way.isSkinny()) { // whose tiles have up to 512 rows or columns
            shape[random.nextInt(3)] = random.nextInt(1, 17);
            shape[2] *= shape[2] > 16 ? 2 : 1;
          }
          boolean even = (round & 4) != 0;
          if (even && (round & 8) != 0 && !way.isSkinny()) {
            shape[2] = (shape[2] + 127) / 128 * 128; // some kernels are for whole tiles alone
          }
          shape = way.near(shape);
          MultiplyProblem problem = problem(shape, kind, round & 3, random.nextBoolean(), random);
          problem = even ? even(problem) : problem;
          OneWay placed = even ? way.at(0) : way;
          if (!placed.takes(problem)) {
            continue;
          }
          checkExact(placed, problem, random.nextLong());
          Inputs inputs = (round & 16) == 0 ? Inputs.SIGNED : Inputs.POSITIVE;
          if (kind.precision() != Precision.FULL) {
            checkRounded(placed, problem, inputs, random.nextLong());
          } else {
            checkOne(placed, problem, inputs, random.nextLong());
          }
        }
      }
    }
  }

  /** More than one chunk of K, and more tiles than multiprocessors. */
  @Test
  void largeProblemsInEveryWay() {
    SplittableRandom random = new SplittableRandom(23);
    for (ProductKind kind : ProductKind.values()) {
      for (OneWay way : ways(kind.type(), kind.precision())) {
        for (int which = 0; which < 4; which += 3) {
          for (long[] shape : new long[][] {{40, 17_000, 140}, {1530, 65, 1540}}) {
            MultiplyProblem problem = problem(way.near(shape), kind, which, which == 0, random);
            if (way.takes(problem)) {
              checkExact(way, problem, random.nextLong());
            }
          }
        }
      }
    }
  }

  /**
   * The last columns of DOUBLE products in parts of K, as planned for devices of other sizes too:
   * ragged edges, plain sums and others.
   */
  @Test
  void restsOfDoublesInEveryWay() {
    SplittableRandom random = new SplittableRandom(29);
    MultiplyProblem.Factors[] factors = {
      MultiplyProblem.Factors.OVERWRITE,
      MultiplyProblem.Factors.ADD,
      new MultiplyProblem.Factors(-3, 0),
      new MultiplyProblem.Factors(-3, 0.5)
    };
    List<OneWay> ways =
        ways(ElementType.FLOAT64).stream()
            .filter(way -> way.isDoublesOnTensorCores() && !way.isOneChain())
            .toList();
    Assumptions.assumeFalse(ways.isEmpty(), "this device has no tensor cores for tiles of doubles");
    for (int multiprocessors : MULTIPROCESSORS) {
      // Of each 3 tiles side by side one round and a column more. An NN product is made across.
      long few = 3 * 64 - 6;
      long many = (multiprocessors / 3 + 1) * 128L - 4;
      for (OneWay way : ways) {
        int rests = 0;
        for (int which = 0; which < 16; which++) {
          // Each storage meets all factors, and each of these a dense problem and one that is not.
          boolean dense = Integer.bitCount(which & 5) == 1;
          boolean across = (which & 3) == 0;
          long[] shape = {across ? many : few, 520, across ? few : many};
          MultiplyProblem problem =
              problem(shape, ElementType.FLOAT64, which, dense, random)
                  .withFactors(factors[which >> 2]);
          OneWay placed = (dense ? way.at(0) : way).plannedFor(multiprocessors);
          if (placed.takes(problem)
              && placed.plan(problem).describe().contains("the last columns")) {
            rests++;
            checkExact(placed, problem, random.nextLong());
            checkOne(placed, problem, Inputs.SIGNED, random.nextLong());
            checkOne(placed, problem, Inputs.POSITIVE, random.nextLong());
          }
        }
        assertEquals(
            16,
            rests,
            way + ", " + multiprocessors + " multiprocessors: " + rests + " plans with a rest");
      }
    }
  }

  /** Plans for devices of other sizes, by every way: few tiles, parts of K, and many tiles. */
  @Test
  void plansForOtherMultiprocessorsInEveryWay() {
    SplittableRandom random = new SplittableRandom(36);
    for (ProductKind kind : ProductKind.values()) {
      for (OneWay way : ways(kind.type(), kind.precision())) {
        for (int multiprocessors : MULTIPROCESSORS) {
          OneWay planned = way.plannedFor(multiprocessors);
          for (long[] shape : new long[][] {{140, 2048, 150}, {700, 100, 600}}) {
            for (int which = 0; which < 4; which++) {
              boolean dense = (which & 1) == 0;
              MultiplyProblem problem = problem(way.near(shape), kind, which, dense, random);
              OneWay placed = dense ? planned.at(0) : planned;
              if (placed.takes(problem)) {
                checkExact(placed, problem, random.nextLong());
              }
            }
          }
        }
      }
    }
  }

  /**
   * Large products of random doubles, where stages, tiles and thread blocks meet in many orders:
   * every run makes the same bits, and so do ways that sum in the same order. Whole numbers would
   * hide sums in another order.
   */
  @Test
  void largeDoublesAgainAndAgain() {
    SplittableRandom random = new SplittableRandom(24);
    for (int n : new int[] {1536, 1531}) { // rows that begin evenly, and others
      double[] a = random.doubles((long) n * n, -1, 1).toArray();
      double[] b = random.doubles((long) n * n, -1, 1).toArray();
      for (int which = 0; which < 4; which++) {
        MultiplyProblem problem =
            MultiplyProblem.dense(n, n, n, ElementType.FLOAT64, (which & 1) != 0, (which & 2) != 0);
        Map<String, double[]> firsts = new HashMap<>(); // by the order of sums
        for (OneWay way : ways(ElementType.FLOAT64)) {
          if (!way.isOwn() || way.isSkinny() || way.isOneChain() || !way.takes(problem)) {
            continue; // cuBLAS does not promise it
          }
          for (int run = 0; run < 3; run++) {
            double[] c = new double[n * n];
            way.at(0)
                .multiply(
                    problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
            double[] first = firsts.computeIfAbsent(way.plan(problem).strategy().order(), o -> c);
            assertEquals(-1, Arrays.mismatch(first, c), way + ", run " + run + ", " + problem);
          }
        }
      }
    }
  }

  /** Batches with all layouts, in one launch or several; whole numbers and others. */
  @Test
  void batchesInEveryWay() {
    SplittableRandom random = new SplittableRandom(27);
    long[][] shapes = {{5, 7, 3}, {64, 64, 64}, {130, 70, 140}, {33, 257, 300}, {256, 96, 256}};
    for (ProductKind kind : ProductKind.values()) {
      ElementType type = kind.type();
      Precision precision = kind.precision();
      for (OneWay way : ways(type, precision)) {
        for (Lie lie : Lie.values()) {
          for (long[] shape : shapes) {
            int which = random.nextInt(4);
            // From an even first element, rows and products may have the copy engine's alignment.
            boolean dense = random.nextBoolean();
            MultiplyProblem problem =
                batch(
                    problem(way.near(shape), type, which, dense, random).withPrecision(precision),
                    random.nextInt(2, 7),
                    lie);
            OneWay placed = dense ? way.at(0) : way;
            if (!placed.takes(problem)) {
              continue;
            }
            checkExact(placed, problem, random.nextLong());
            if (precision == Precision.FULL) {
              checkOne(placed, problem, Inputs.SIGNED, random.nextLong());
            }
          }
        }
        // More tiles than thread blocks.
        for (int which = 0; which < 3; which += 2) { // NN, and NT, which some are not for
          MultiplyProblem small = problem(way.near(40, 64, 72), kind, which, true, random);
          MultiplyProblem batch = batch(small, 700, Lie.BEHIND);
          if (way.takes(batch)) {
            checkExact(way.at(0), batch, random.nextLong());
          }
        }
      }
    }
  }

  /** Too few tiles for the device, so K is cut; the bar holds, and so do the bits. */
  @Test
  void fewTilesAndALongInnerDimensionInEveryWay() {
    SplittableRandom random = new SplittableRandom(28);
    for (ProductKind kind : ProductKind.values()) {
      ElementType type = kind.type();
      Precision precision = kind.precision();
      for (OneWay way : ways(type, precision)) {
        for (int which = 0; which < 4; which++) {
          boolean dense = which % 2 == 0;
          for (long[] shape :
              new long[][] {{40, 3000, 70}, {140, 5003, 130}, {130, 3000, 256}, {3, 140_000, 5}}) {
            MultiplyProblem problem =
                problem(way.near(shape), type, which, dense, random).withPrecision(precision);
            OneWay placed = dense ? way.at(0) : way;
            MultiplyProblem even = even(problem);
            for (MultiplyProblem each : List.of(problem, batch(problem, 2, Lie.APART))) {
              if (placed.takes(each)) {
                checkExact(placed, each, random.nextLong());
              }
            }
            for (MultiplyProblem each : List.of(even, batch(even, 2, Lie.BEHIND))) {
              if (way.takes(each)) {
                checkExact(way.at(0), each, random.nextLong());
              }
            }
            if (precision == Precision.FULL && placed.takes(problem)) {
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
    float[] values = {Float.NaN, Float.POSITIVE_INFINITY, 0x1p-130f};
    for (OneWay way : ways(ElementType.FLOAT32)) {
      int n = (int) way.near(m, k, 150)[2];
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

  /**
   * Values without split parts, or with parts whose products overflow, give the results of plain
   * arithmetic.
   */
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
    int m = 300;
    int k = 256;
    for (OneWay way : ways(ElementType.FLOAT32)) {
      int n = (int) way.near(m, k, 300)[2];
      for (float[] pair : pairs) {
        float[] a = new float[m * k];
        float[] b = new float[k * n];
        for (int i = 0; i < m; i++) {
          a[i * k + i % k] = 1; // row i of C is row i % k of B
        }
        Arrays.fill(b, 3);
        a[7 * k + 5] = pair[0]; // C[7, 9] alone sees both
        b[5 * n + 9] = pair[1];
        MultiplyProblem problem = MultiplyProblem.dense(m, k, n, ElementType.FLOAT32, false, false);
        float[] c = new float[m * n];
        way.multiply(problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
        for (int i = 0; i < m; i++) {
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
            boolean dense = random.nextBoolean();
            MultiplyProblem problem = problem(way.near(shape), type, which, dense, random);
            Inputs inputs = Inputs.values()[random.nextInt(Inputs.values().length)];
            if (inputs == Inputs.CONSTANT && !way.isOwn()) {
              inputs = Inputs.POSITIVE; // the chains of cuBLAS are its own
            }
            if (!way.takes(problem)) {
              continue;
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
        MultiplyProblem problem = problem(way.near(5, 1_000_000, 3), type, 1, true, random);
        checkOne(way, problem, Inputs.SIGNED, 22);
        checkOne(way, problem, Inputs.POSITIVE, 23);
        checkOne(way, problem, Inputs.CONSTANT, 24); // of cuBLAS too, whose chunks are short enough
      }
    }
  }

  @Test
  void nanAndInfinityPropagateInEveryWay() {
    SplittableRandom random = new SplittableRandom(15);
    for (ElementType type : TYPES) {
      for (OneWay way : ways(type)) {
        for (long extent : new long[] {5, 67, 257}) {
          for (int which = 0; which < 4; which++) {
            long[] shape = way.near(extent, extent + 2, extent + 1);
            MultiplyProblem problem = problem(shape, type, which, false, random);
            if (way.takes(problem)) {
              checkNanAndInfinity(way, problem);
            }
          }
        }
      }
    }
  }

  /**
   * NaN and infinity with rows that begin evenly, of ragged tiles and whole ones, and in lower
   * precisions.
   */
  @Test
  void nanAndInfinityPropagateFromEvenRowsInEveryWay() {
    SplittableRandom random = new SplittableRandom(34);
    for (ProductKind kind : ProductKind.values()) {
      for (OneWay way : ways(kind.type(), kind.precision())) {
        long[][] shapes =
            way.isSkinny()
                ? new long[][] {{300, 70, 5}, {9, 70, 300}, {70, 16, 600}}
                : new long[][] {{67, 70, 131}, {256, 96, 256}};
        for (long[] shape : shapes) {
          for (int which = 0; which < 4; which++) {
            MultiplyProblem problem = problem(shape, kind, which, shape[0] == 256, random);
            if (way.takes(even(problem))) {
              checkNanAndInfinity(way.at(0), even(problem));
            }
            if (way.takes(problem)) {
              checkNanAndInfinity(way, problem);
            }
          }
        }
      }
    }
  }

  /**
   * The ways of this class launch each kernel for products that the jar holds for the device, and
   * it is right: of whole numbers nothing may differ.
   */
  @Test
  void everyKernelIsMet() {
    SplittableRandom random = new SplittableRandom(35);
    Set<String> met = new TreeSet<>();
    for (ProductKind kind : ProductKind.values()) {
      for (OneWay way : ways(kind.type(), kind.precision())) {
        for (long[] shape : ProductKernels.shapes()) {
          for (int which = 0; which < 4; which++) {
            MultiplyProblem problem = problem(shape, kind, which, true, random);
            for (OneWay placed : List.of(way, way.at(0))) {
              if (placed.takes(problem)) {
                checkExact(placed, problem, random.nextLong());
                met.addAll(placed.kernels(problem));
              }
            }
          }
        }
      }
    }
    assertEquals(ProductKernels.of(KernelIndex.ofThisJar(), device.limits()), met);
  }

  /** Ragged tiles, whole ones, and few of a long K; or small extents, of each kind of kernel. */
  private static long[][] shapesOfFactors(OneWay way) {
    return way.isSkinny()
        ? new long[][] {{130, 70, 3}, {3, 3000, 200}, {200, 3, 70}}
        : new long[][] {{130, 70, 140}, {256, 96, 256}, {40, 3000, 70}};
  }

  /** A problem of this kind. */
  private static MultiplyProblem problem(
      long[] shape, ProductKind kind, int which, boolean dense, SplittableRandom random) {
    return problem(shape, kind.type(), which, dense, random).withPrecision(kind.precision());
  }

  @Test
  void factorsInEveryWay() {
    SplittableRandom random = new SplittableRandom(30);
    for (ProductKind kind : ProductKind.values()) {
      boolean full = kind.precision() == Precision.FULL;
      double[] alphas = full ? new double[] {1, -17.5, 1e30} : new double[] {1, -1, 0.5};
      double[] betas = full ? new double[] {0, 0.3, 1e-30} : new double[] {0, -1, 2};
      for (OneWay way : ways(kind.type(), kind.precision())) {
        for (long[] shape : shapesOfFactors(way)) {
          for (int which = 0; which < 4; which++) {
            boolean dense = shape[0] == 256 || random.nextBoolean();
            OneWay placed = dense ? way.at(0) : way;
            MultiplyProblem any = problem(shape, kind, which, dense, random);
            MultiplyProblem problem = dense ? even(any) : any;
            requireTaken(placed, problem);
            if (!placed.takes(problem)) {
              continue;
            }
            double alpha = alphas[random.nextInt(alphas.length)];
            checkFactors(placed, problem, alpha, betas, random.nextLong());
          }
        }
      }
    }
  }

  @Test
  void factorsThatAreNoNumbersInEveryWay() {
    SplittableRandom random = new SplittableRandom(31);
    for (ProductKind kind : ProductKind.values()) {
      for (OneWay way : ways(kind.type(), kind.precision())) {
        for (long[] shape : shapesOfFactors(way)) {
          for (int which = 0; which < 4; which++) {
            boolean dense = shape[0] == 256;
            OneWay placed = dense ? way.at(0) : way;
            MultiplyProblem problem = problem(shape, kind, which, dense, random);
            requireTaken(placed, problem);
            Lie lie = dense ? Lie.BEHIND : Lie.APART;
            for (MultiplyProblem each : List.of(problem, batch(problem, 2, lie))) {
              if (placed.takes(each)) {
                checkFactorsThatAreNoNumbers(placed, each);
              }
            }
          }
        }
      }
    }
  }

  /** Each way takes the problems that are made for it, in each storage. */
  private static void requireTaken(OneWay way, MultiplyProblem problem) {
    boolean liesAlong = !problem.a().transposed() && problem.b().transposed();
    boolean isForIt =
        way.isSkinny() || (problem.m() == 256 && !(liesAlong && way.readsAcrossAlone()));
    assertTrue(!isForIt || way.takes(problem), () -> way + " does not take " + problem);
  }

  /** Without a product, C is scaled in each way that there is for it. */
  @Test
  void noProductInEveryWay() {
    SplittableRandom random = new SplittableRandom(32);
    double[] alphas = {-3, Double.NaN, Float.MAX_VALUE};
    for (ProductKind kind : ProductKind.values()) {
      for (double beta : new double[] {0, 1, 2}) {
        MultiplyProblem.Factors none = new MultiplyProblem.Factors(0, beta);
        for (long[] shape : new long[][] {{130, 70, 140}, {256, 96, 256}, {130, 70, 3}}) {
          checkNoProductInEveryWay(
              problem(shape, kind, random.nextInt(4), false, random).withFactors(none));
        }
        for (double alpha : alphas) {
          MultiplyProblem empty =
              problem(new long[] {130, 0, 140}, kind, random.nextInt(4), false, random)
                  .withFactors(new MultiplyProblem.Factors(alpha, beta));
          checkNoProductInEveryWay(empty);
          checkNoProductInEveryWay(batch(empty, 3, Lie.APART));
        }
      }
    }
  }

  private void checkNoProductInEveryWay(MultiplyProblem problem) {
    checkNoProduct(multiplier, problem);
    List<MultiplyPlan> plans = multiplier.planner().candidates(problem, problem.k());
    assertEquals(problem.keepsC(), plans.isEmpty(), () -> problem + ": " + plans);
    for (MultiplyPlan plan : plans) {
      checkNoProduct(new OneWay(plan), problem);
    }
  }

  /**
   * Operands and results below the least normal number, and normal operands with results below it:
   * each element of C is one product of a power of two and a number of 3 bits, so exact.
   */
  @Test
  void subnormalOperandsAndResultsInEveryWay() {
    for (ProductKind kind : ProductKind.values()) {
      int[][] exponents = // of A and of B
          kind.type() == ElementType.FLOAT64
              ? new int[][] {{-1060, 60}, {60, -1060}, {-1060, 0}, {0, -1070}, {-530, -530}}
              : kind.precision() == Precision.FLOAT16
                  ? new int[][] {{-20, 10}, {10, -24}, {-24, -24}}
                  : new int[][] {{-130, 40}, {40, -130}, {-130, 0}, {0, -133}, {-68, -70}};
      for (OneWay way : ways(kind.type(), kind.precision())) {
        if (!way.isOwn()) {
          continue; // cuBLAS does not promise it
        }
        for (int[] pair : exponents) {
          for (int which = 0; which < 4; which++) {
            checkOneProductEach(
                way,
                kind,
                which,
                (i, p) -> Math.scalb(1.0 + i % 7, pair[0]),
                (p, j) -> Math.scalb(1.0 + j % 5, pair[1]));
          }
        }
      }
    }
  }

  /**
   * A product beyond the greatest number is infinite; where another one takes it back, the result
   * is exact or no finite number. No other element sees it.
   */
  @Test
  void productsThatOverflowInEveryWay() {
    for (ProductKind kind : ProductKind.values()) {
      if (kind.precision() == Precision.FLOAT16) {
        continue; // of which no product overflows a float
      }
      int half = kind.type() == ElementType.FLOAT64 ? 600 : 100;
      for (OneWay way : ways(kind.type(), kind.precision())) {
        long[] shape = way.near(132, 72, 140); // rows of floats begin evenly
        for (int which = 0; which < 4; which++) {
          MultiplyProblem problem = plain(shape, kind, which);
          if (!way.takes(problem)) {
            continue;
          }
          for (long other : new long[] {4, shape[1] - 1}) { // of the same instruction, and late
            double[] c =
                product(
                    way.at(0),
                    problem,
                    (i, p) -> i != 7 && i != 9 ? 1 : p == 3 ? 0x1p100 : 0,
                    (p, j) -> 2);
            requireFinite(problem, way, c);
            c =
                product(
                    way.at(0),
                    problem,
                    (i, p) ->
                        i != 7 && i != 9
                            ? p % 4
                            : p == 3
                                ? Math.scalb(1.0, half)
                                : i == 9 && p == other ? -Math.scalb(1.0, half) : 0,
                    (p, j) -> p == 3 || p == other ? Math.scalb(1.0, half) : 1);
            int n = (int) shape[2];
            for (int j = 0; j < n; j++) {
              String what = way + ", " + problem + ": column " + j;
              assertEquals(Double.POSITIVE_INFINITY, c[7 * n + j], what);
              double cancelled = c[9 * n + j];
              assertTrue(cancelled == 0 || !Double.isFinite(cancelled), what + ", " + cancelled);
              assertTrue(Double.isFinite(c[8 * n + j]), what);
            }
          }
        }
      }
    }
  }

  private static void requireFinite(MultiplyProblem problem, OneWay way, double[] c) {
    for (int at = 0; at < c.length; at++) {
      assertTrue(Double.isFinite(c[at]), way + ", " + problem + ": element " + at + ", " + c[at]);
    }
  }

  /** An element of op(A) or op(B). */
  private interface Element {
    double of(long row, long col);
  }

  /** Row i of A holds one value, at step i of K or of what is left of it. */
  private static void checkOneProductEach(
      OneWay way, ProductKind kind, int which, Element a, Element b) {
    long[] shape = way.near(132, 72, 140); // rows of floats begin evenly
    MultiplyProblem problem = plain(shape, kind, which);
    if (!way.takes(problem)) {
      return;
    }
    double[] c = product(way.at(0), problem, (i, p) -> p == i % shape[1] ? a.of(i, p) : 0, b);
    for (int at = 0; at < c.length; at++) {
      long i = at / shape[2];
      long j = at % shape[2];
      double expected = a.of(i, i % shape[1]) * b.of(i % shape[1], j);
      assertEquals(
          expected,
          c[at],
          () -> way + ", " + problem + ": " + a.of(i, i % shape[1]) + " times " + b.of(0, j));
    }
  }

  /** A dense problem that overwrites C. */
  private static MultiplyProblem plain(long[] shape, ProductKind kind, int which) {
    return MultiplyProblem.dense(
            shape[0], shape[1], shape[2], kind.type(), (which & 1) != 0, (which & 2) != 0)
        .withPrecision(kind.precision());
  }

  /** C of a dense problem, row-major. */
  private static double[] product(OneWay way, MultiplyProblem problem, Element a, Element b) {
    boolean isDouble = problem.type() == ElementType.FLOAT64;
    double[] left = stored(problem.m(), problem.k(), problem.a().transposed(), a);
    double[] right = stored(problem.k(), problem.n(), problem.b().transposed(), b);
    double[] c = new double[Math.toIntExact(problem.m() * problem.n())];
    if (isDouble) {
      way.multiply(
          problem, HostMemory.ofArray(left), HostMemory.ofArray(right), HostMemory.ofArray(c));
      return c;
    }
    float[] floats = new float[c.length];
    way.multiply(
        problem,
        HostMemory.ofArray(asFloats(left)),
        HostMemory.ofArray(asFloats(right)),
        HostMemory.ofArray(floats));
    for (int at = 0; at < c.length; at++) {
      c[at] = floats[at];
    }
    return c;
  }

  private static double[] stored(long rows, long cols, boolean transposed, Element of) {
    double[] values = new double[Math.toIntExact(rows * cols)];
    for (int row = 0; row < rows; row++) {
      for (int col = 0; col < cols; col++) {
        values[transposed ? col * (int) rows + row : row * (int) cols + col] = of.of(row, col);
      }
    }
    return values;
  }

  private static float[] asFloats(double[] values) {
    float[] floats = new float[values.length];
    for (int at = 0; at < values.length; at++) {
      floats[at] = (float) values[at];
    }
    return floats;
  }
}
