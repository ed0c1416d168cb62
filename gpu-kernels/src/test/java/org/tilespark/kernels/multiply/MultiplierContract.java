package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/** Cases and expectations for every {@link Multiplier}, the same for both twins. */
public abstract class MultiplierContract extends MultiplierChecks {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final ElementType FLOAT = ElementType.FLOAT32;
  private static final double[] BETAS_OF_NO_PRODUCT = {0, 1, 2, -2};

  /** The multiplier under test, the same for all tests of the class. */
  protected abstract Multiplier multiplier();

  /** True if the multiplier under test refuses a problem of this kind, with a reason. */
  protected boolean refuses(MultiplyProblem problem) {
    return false;
  }

  /** True if lower precisions surely round the inputs; a library may be more exact than asked. */
  protected boolean roundsInputs(MultiplyProblem problem) {
    return true;
  }

  /** The longest inner extent that is tried. */
  protected long longestInner() {
    return 1_000_000;
  }

  @ParameterizedTest
  @EnumSource(Inputs.class)
  void extentsAroundTileEdges(Inputs inputs) {
    long[] extents = {1, 2, 3, 5, 8, 17, 31, 33, 64, 67, 127, 131};
    SplittableRandom random = new SplittableRandom(11);
    for (ElementType type : TYPES) {
      for (long m : extents) {
        for (long n : extents) {
          // One K each: all pairs of extents are met over the four kinds of input.
          long k = extents[random.nextInt(extents.length)];
          check(m, k, n, type, inputs, random.nextLong());
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Inputs.class)
  void severalTiles(Inputs inputs) {
    SplittableRandom random = new SplittableRandom(12);
    for (ElementType type : TYPES) {
      check(257, 521, 263, type, inputs, random.nextLong());
      check(256, 512, 512, type, inputs, random.nextLong());
      check(479, 64, 1021, type, inputs, random.nextLong());
      check(500, 257, 129, type, inputs, random.nextLong());
    }
  }

  @ParameterizedTest
  @EnumSource(Inputs.class)
  void vectors(Inputs inputs) {
    SplittableRandom random = new SplittableRandom(13);
    for (ElementType type : TYPES) {
      for (long n : new long[] {1, 2, 255, 4096, 4099}) {
        check(1, n, 1, type, inputs, random.nextLong()); // inner product
        check(n, 1, n / 7 + 1, type, inputs, random.nextLong()); // outer product, K = 1
        check(1, 129, n, type, inputs, random.nextLong()); // 1 x n
        check(n, 129, 1, type, inputs, random.nextLong()); // n x 1
        check(3, n, 2, type, inputs, random.nextLong());
      }
    }
  }

  /** One extent around 1, 4, 8 and 16, where kernels for narrow products end. */
  @ParameterizedTest
  @EnumSource(Inputs.class)
  void narrow(Inputs inputs) {
    SplittableRandom random = new SplittableRandom(15);
    for (ElementType type : TYPES) {
      for (long small : new long[] {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17}) {
        check(520, 140, small, type, inputs, random.nextLong());
        check(small, 140, 520, type, inputs, random.nextLong());
        check(260, small, 100, type, inputs, random.nextLong());
        check(small, 9000, small, type, inputs, random.nextLong());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Inputs.class)
  void longInnerDimension(Inputs inputs) {
    SplittableRandom random = new SplittableRandom(14);
    for (ElementType type : TYPES) {
      check(3, 100_003, 5, type, inputs, random.nextLong());
      checkOne(problem(7, longestInner(), 6, type, false, false, true, random), inputs, 1401);
      checkOne(problem(2, longestInner(), 33, type, true, true, true, random), inputs, 1402);
    }
  }

  /** Terms that differ by their place in K: scaled by it, or taken back by others. */
  @ParameterizedTest
  @EnumSource(Terms.class)
  void termsByTheirPlace(Terms terms) {
    SplittableRandom random = new SplittableRandom(18);
    for (ElementType type : TYPES) {
      for (long[] shape : new long[][] {{67, 257, 41}, {130, 1000, 9}, {5, 20_001, 70}}) {
        for (int which = 0; which < 4; which++) {
          MultiplyProblem problem = problem(shape, type, which, false, random);
          checkTerms(multiplier(), problem, terms, random.nextLong(), allowed(problem, terms));
        }
      }
    }
  }

  /** Products of one shape, with all layouts. */
  @ParameterizedTest
  @EnumSource(Inputs.class)
  void batches(Inputs inputs) {
    long[][] shapes = {
      {1, 1, 1}, {5, 7, 3}, {33, 17, 65}, {64, 64, 64}, {70, 100, 130}, {129, 33, 40}, {3, 300, 200}
    };
    SplittableRandom random = new SplittableRandom(19);
    for (ElementType type : TYPES) {
      for (long[] shape : shapes) {
        for (Lie lie : Lie.values()) {
          long count = random.nextInt(2, 6);
          int which = random.nextInt(4);
          MultiplyProblem one = problem(shape, type, which, random.nextInt(3) == 0, random);
          checkOne(batch(one, count, lie), inputs, random.nextLong());
        }
      }
      // More products than a device runs thread blocks at once.
      MultiplyProblem small = problem(6, 9, 11, type, false, true, false, random);
      checkOne(batch(small, 3000, Lie.BEHIND), inputs, 20);
    }
  }

  /** NaN and infinity stay in their product, also where tiles reach over its end. */
  @Test
  void nothingOfOneProductReachesAnother() {
    for (ElementType type : TYPES) {
      MultiplyProblem one = MultiplyProblem.dense(37, 41, 35, type, true, true);
      MultiplyProblem batch = batch(one, 3, Lie.BEHIND);
      Sides sides = sides(batch);
      for (long p = 0; p < 41; p++) { // a row and a column of the first product
        sides.setA(0, p, Double.NaN);
        sides.setB(p, 0, Double.POSITIVE_INFINITY);
      }
      sides.run(multiplier());
      sides.requireUntouched();
      for (long product = 1; product < 3; product++) {
        for (long i = 0; i < 37; i++) {
          for (long j = 0; j < 35; j++) {
            double error = sides.error(product, i, j);
            assertTrue(error <= allowed(one), batch + ": " + product + ", error " + error);
          }
        }
      }
      assertTrue(Double.isNaN(sides.getC(0, 5)));
    }
  }

  /** The four transpose combinations, each dense or padded, overwriting or adding. */
  private void check(long m, long k, long n, ElementType type, Inputs inputs, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (int which = 0; which < 4; which++) {
      boolean dense = random.nextInt(3) == 0;
      checkOne(
          problem(m, k, n, type, (which & 1) != 0, (which & 2) != 0, dense, random), inputs, seed);
    }
  }

  /** One problem of random inputs against the oracle. */
  private void checkOne(MultiplyProblem problem, Inputs inputs, long seed) {
    checkOne(multiplier(), problem, inputs, seed);
  }

  /** NaN and infinity reach exactly the elements of C that they reach in numpy. */
  @Test
  void nanAndInfinityPropagate() {
    checkNanAndInfinity(multiplier(), TYPES);
  }

  /** Alpha and beta, of products and where there is nothing to sum. */
  @Test
  void factors() {
    SplittableRandom random = new SplittableRandom(30);
    double[] factors = {0, 1, -1, 0.3, -17.5, 1e-30, 1e30};
    long[][] shapes = {{67, 130, 41}, {5, 0, 37}, {200, 90, 3}, {140, 2, 150}};
    for (ElementType type : TYPES) {
      for (double alpha : factors) {
        for (long[] shape : shapes) {
          int which = random.nextInt(4);
          MultiplyProblem problem = problem(shape, type, which, false, random);
          checkFactors(multiplier(), problem, alpha, factors, random.nextLong());
        }
      }
    }
  }

  /** With alpha 0, A and B are not read. */
  @Test
  void noProduct() {
    for (ElementType type : TYPES) {
      for (double beta : BETAS_OF_NO_PRODUCT) {
        checkNoProduct(type, 41, 0, beta);
      }
    }
  }

  /** If there is nothing to sum, alpha does not matter. */
  @Test
  void nothingToSumTimesAlpha() {
    for (ElementType type : TYPES) {
      for (double alpha : new double[] {-3, Double.NaN, Float.MAX_VALUE}) {
        for (double beta : BETAS_OF_NO_PRODUCT) {
          checkNoProduct(type, 0, alpha, beta);
        }
      }
    }
  }

  /** One and three, dense and with room between the rows. */
  private void checkNoProduct(ElementType type, long k, double alpha, double beta) {
    SplittableRandom random = new SplittableRandom(31);
    MultiplyProblem.Factors factors = new MultiplyProblem.Factors(alpha, beta);
    for (boolean dense : new boolean[] {false, true}) {
      MultiplyProblem problem =
          problem(37, k, 35, type, true, false, dense, random).withFactors(factors);
      checkNoProduct(multiplier(), problem);
      checkNoProduct(multiplier(), batch(problem, 3, Lie.APART));
    }
  }

  /** NaN as a factor, and an infinite beta. */
  @Test
  void factorsThatAreNoNumbers() {
    SplittableRandom random = new SplittableRandom(32);
    for (ElementType type : TYPES) {
      for (boolean dense : new boolean[] {false, true}) {
        checkFactorsThatAreNoNumbers(
            multiplier(), problem(20, 30, 40, type, false, false, dense, random));
      }
    }
  }

  @Test
  void nothingToSumInABatch() {
    for (ElementType type : TYPES) {
      MultiplyProblem one = MultiplyProblem.dense(5, 0, 37, type, false, true);
      Sides sides = sides(one.withBatch(new MultiplyProblem.Batch(3, 8, 8, 200)));
      sides.run(multiplier());
      sides.requireUntouched();
      assertEquals(0, sides.worst(new SplittableRandom(1)));
    }
  }

  @Test
  void nothingToSum() {
    for (ElementType type : TYPES) {
      for (boolean accumulate : new boolean[] {false, true}) {
        MultiplyProblem problem =
            new MultiplyProblem(
                new Extents(5, 0, 37),
                type,
                Precision.FULL,
                new Stored(false, 3),
                new Stored(true, 3),
                40,
                accumulate ? Factors.ADD : Factors.OVERWRITE,
                Batch.ONE);
        Sides sides = sides(problem);
        sides.run(multiplier());
        sides.requireUntouched();
        for (long i = 0; i < 5; i++) {
          for (long j = 0; j < 37; j++) {
            assertEquals(accumulate ? sides.oldC(0, i, j) : 0, sides.getC(i, j));
          }
        }
      }
    }
  }

  @Test
  void emptyResults() {
    for (ElementType type : TYPES) {
      for (long[] extents : new long[][] {{0, 3, 4}, {4, 3, 0}, {0, 0, 0}, {0, 5, 0}}) {
        Sides sides =
            sides(MultiplyProblem.dense(extents[0], extents[1], extents[2], type, true, false));
        sides.run(multiplier());
        sides.requireUntouched();
      }
    }
  }

  /** Repeated runs give the same bits: the order of the sums depends on the problem alone. */
  @Test
  void sameBitsEveryTime() {
    for (ElementType type : TYPES) {
      MultiplyProblem problem = MultiplyProblem.dense(143, 1500, 211, type, false, true);
      double[] first = null;
      for (int round = 0; round < 8; round++) {
        Sides sides = sides(problem);
        sides.run(multiplier());
        double[] found = new double[143 * 211];
        for (int at = 0; at < found.length; at++) {
          found[at] = sides.getC(at / 211, at % 211);
        }
        first = first == null ? found : first;
        assertArrayEquals(first, found);
      }
    }
  }

  /** Inputs of lower precision are rounded, sums are not. */
  @ParameterizedTest
  @EnumSource(
      value = Precision.class,
      names = {"TF32", "BFLOAT16", "FLOAT16"})
  void lowerPrecisions(Precision precision) {
    SplittableRandom random = new SplittableRandom(16);
    for (long k : new long[] {64, longestInner()}) {
      for (int which = 0; which < 4; which++) {
        MultiplyProblem problem =
            MultiplyProblem.dense(9, k, 12, FLOAT, (which & 1) != 0, (which & 2) != 0)
                .withPrecision(precision);
        if (refuses(problem)) {
          Exception e =
              assertThrows(
                  UnsupportedOperationException.class, () -> sides(problem).run(multiplier()));
          assertTrue(e.getMessage().contains(precision.name()), e.getMessage());
          continue;
        }
        Sides sides = sides(problem, Inputs.SIGNED.source(random));
        sides.run(multiplier());
        sides.requireUntouched();
        double worst = sides.worst(random);
        double most = allowedRounded(problem);
        assertTrue(worst <= most, problem + ": error " + worst + " of |A||B|, allowed " + most);
        if (k == 64 && roundsInputs(problem)) {
          assertFalse(worst <= allowed(problem), problem + " is as exact as FULL: error " + worst);
        }
      }
    }
  }

  /** Inputs rounded to tf32 do not meet FLOAT's bar, so that it is not for FULL. */
  @Test
  void tf32MissesTheBarOfFloat() {
    for (long k : new long[] {64, longestInner()}) {
      MultiplyProblem problem =
          MultiplyProblem.dense(3, k, 4, FLOAT, false, true).withPrecision(Precision.TF32);
      if (refuses(problem) || !roundsInputs(problem)) {
        continue;
      }
      // Just below the middle between two neighbours in tf32: all errors are to the same side.
      Sides sides = sides(problem, () -> 1 + 0.49 * 0x1p-10);
      sides.run(multiplier());
      double worst = sides.worst(new SplittableRandom(17));
      assertTrue(worst > allowed(problem), problem + ": error " + worst + " meets the bar");
      checkOne(problem.withPrecision(Precision.FULL), Inputs.CONSTANT, 18);
    }
  }

  /** Offsets beyond 2^31 elements: rows at large distances, most of the memory never touched. */
  @Test
  void rowsFarApart() {
    long lead = (1L << 30) + 7; // 3 rows reach beyond 2^31 elements
    long bytes = (2 * lead + 3) * Float.BYTES;
    float[] near = {1, 2, 3, 4, 5, 6, 7, 8, 10};
    float[] unit = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    long base = 0;
    try {
      base = UNSAFE.allocateMemory(bytes);
    } catch (OutOfMemoryError e) {
      Assumptions.abort("the machine does not give " + bytes + " bytes: " + e);
    }
    try {
      HostMemory far = HostMemory.ofAddress(base, bytes);
      for (boolean transposed : new boolean[] {false, true}) {
        for (int at = 0; at < 9; at++) {
          UNSAFE.putFloat(base + (at / 3 * lead + at % 3) * Float.BYTES, at + 1);
        }
        float[] c = {1, 1, 1, 1, 1, 1, 1, 1, 1};
        multiplier()
            .multiply(
                new MultiplyProblem(
                    new Extents(3, 3, 3),
                    FLOAT,
                    Precision.FULL,
                    new Stored(transposed, lead),
                    new Stored(false, 3),
                    3,
                    Factors.ADD,
                    Batch.ONE),
                far,
                HostMemory.ofArray(near),
                HostMemory.ofArray(c));
        float[] expected =
            transposed
                ? new float[] {67, 79, 98, 79, 94, 117, 91, 109, 136}
                : new float[] {31, 37, 46, 67, 82, 103, 103, 127, 160};
        assertArrayEquals(expected, c);
        // Far rows of B, then of C.
        multiplier()
            .multiply(
                new MultiplyProblem(
                    new Extents(3, 3, 3),
                    FLOAT,
                    Precision.FULL,
                    new Stored(false, 3),
                    new Stored(transposed, lead),
                    3,
                    Factors.OVERWRITE,
                    Batch.ONE),
                HostMemory.ofArray(unit),
                far,
                HostMemory.ofArray(c));
        for (int at = 0; at < 9; at++) {
          assertEquals(1 + (transposed ? at % 3 * 3 + at / 3 : at), c[at]);
        }
        multiplier()
            .multiply(
                new MultiplyProblem(
                    new Extents(3, 3, 3),
                    FLOAT,
                    Precision.FULL,
                    new Stored(false, 3),
                    new Stored(transposed, 3),
                    lead,
                    Factors.ADD,
                    Batch.ONE),
                HostMemory.ofArray(unit),
                HostMemory.ofArray(near),
                far);
        for (int at = 0; at < 9; at++) {
          assertEquals(
              at + 1 + near[transposed ? at % 3 * 3 + at / 3 : at],
              UNSAFE.getFloat(base + (at / 3 * lead + at % 3) * Float.BYTES));
        }
      }
    } finally {
      UNSAFE.freeMemory(base);
    }
  }

  /**
   * The elements on the diagonal of a symmetric product, and above; within the bound of products.
   */
  @ParameterizedTest
  @EnumSource(Inputs.class)
  void halves(Inputs inputs) {
    SplittableRandom random = new SplittableRandom(21);
    for (ElementType type : TYPES) {
      for (long[] shape : new long[][] {{1, 5}, {7, 0}, {33, 700}, {130, 64}, {1100, 70}}) {
        for (int which = 0; which < 8; which++) {
          boolean isTransposed = (which & 1) != 0;
          long lead = (isTransposed ? shape[0] : Math.max(1, shape[1])) + (which & 2);
          MultiplyProblem one =
              new MultiplyProblem(
                  new Extents(shape[0], shape[1], shape[0]),
                  type,
                  Precision.FULL,
                  new Stored(isTransposed, lead),
                  new Stored(!isTransposed, lead),
                  shape[0] + (which & 2),
                  which < 4 ? Factors.OVERWRITE : Factors.ADD,
                  Batch.ONE);
          checkHalf(one, inputs, random);
        }
      }
      MultiplyProblem one = MultiplyProblem.dense(37, 41, 37, type, true, false);
      checkHalf(batch(one, 3, Lie.BEHIND), inputs, random);
    }
  }

  private void checkHalf(MultiplyProblem problem, Inputs inputs, SplittableRandom random) {
    Sides sides = sides(problem, inputs.source(random));
    sides.runHalf(multiplier());
    sides.requireUntouched();
    for (int sample = 0; sample < 300; sample++) {
      long product = random.nextLong(problem.batch().count());
      long i = random.nextLong(problem.m());
      long j = random.nextLong(i, problem.n());
      double error = sides.error(product, i, j);
      assertTrue(
          error <= allowed(problem, inputs), problem + ": error " + error + " at " + i + ", " + j);
    }
  }

  /** NaN and infinity reach the elements of a half that they reach of the whole. */
  @Test
  void nanInAHalf() {
    for (ElementType type : TYPES) {
      for (Factors factors : List.of(Factors.OVERWRITE, Factors.ADD)) {
        MultiplyProblem problem =
            MultiplyProblem.dense(600, 9, 600, type, false, true).withFactors(factors);
        Sides sides = sides(problem);
        sides.setA(5, 3, Double.NaN);
        sides.setA(550, 4, Double.POSITIVE_INFINITY);
        sides.runHalf(multiplier());
        for (long i = 0; i < 600; i++) {
          for (long j = i; j < 600; j++) {
            boolean isFinite = i != 5 && j != 5 && i != 550 && j != 550;
            assertEquals(isFinite, Double.isFinite(sides.getC(i, j)), i + ", " + j);
          }
        }
      }
    }
  }

  @Test
  void halvesOfWhatIsNotSymmetricAreRefused() {
    HostMemory nine = HostMemory.ofArray(new float[9]);
    for (MultiplyProblem problem :
        List.of(
            MultiplyProblem.dense(3, 3, 3, FLOAT, true, true),
            MultiplyProblem.dense(3, 3, 3, FLOAT, true, false).withFactors(new Factors(2, 0)))) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class, () -> multiplier().multiplyHalf(problem, nine, nine));
      assertTrue(e.getMessage().startsWith("Half of "), e.getMessage());
    }
  }

  @Test
  void wrongLengthsAreRefused() {
    MultiplyProblem problem = MultiplyProblem.dense(3, 4, 5, ElementType.FLOAT32, false, false);
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                multiplier()
                    .multiply(
                        problem,
                        HostMemory.ofArray(new float[12]),
                        HostMemory.ofArray(new float[19]),
                        HostMemory.ofArray(new float[15])));
    assertTrue(e.getMessage().startsWith("Memory of B is 76 bytes"), e.getMessage());
    assertTrue(e.getMessage().endsWith("needs 80"), e.getMessage());
  }
}
