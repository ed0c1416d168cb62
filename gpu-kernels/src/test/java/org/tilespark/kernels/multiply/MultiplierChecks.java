package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.SplittableRandom;
import java.util.function.DoubleSupplier;
import org.junit.jupiter.api.TestInstance;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Products of inputs of many kinds against an oracle.
 *
 * <p>The oracle sums exact products with the rounding errors carried along, which is as good as
 * twice the precision, and is plain index arithmetic, independent of either twin. The bar is that
 * of the project: {@code max |C - C*| / (|A||B|) <= 2 u sqrt(K)}, and a wider one where doubles
 * whose errors add up make long chains ({@link #chainOfDoubles}). Memory alternates between heap
 * arrays and direct buffers; the gaps between the rows of A and B are NaN, which spoils any sum it
 * gets into, and the gaps between the rows of C and the bytes around it must stay as they are.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class MultiplierChecks {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final int GUARD_ELEMENTS = 32;
  private static final double GUARD = -0x1.dp33;

  /** Most elements of C that are compared; smaller ones are compared whole. */
  private static final int MOST_COMPARED = 20_000;

  /** Element types of matrices. */
  protected static final ElementType[] TYPES = {ElementType.FLOAT32, ElementType.FLOAT64};

  private int cases;

  /** Terms of DOUBLE that may be summed in one chain, however few there are in all. */
  protected int chainOfDoubles() {
    return 0;
  }

  /** False of a problem that a multiplier is not for, so that no check asks for it. */
  protected boolean takes(Multiplier multiplier, MultiplyProblem problem) {
    return true;
  }

  /** Kinds of elements of A and B. */
  public enum Inputs {
    /** Uniform in -1..1: sums cancel. */
    SIGNED {
      @Override
      DoubleSupplier source(SplittableRandom random) {
        return () -> 2 * random.nextDouble() - 1;
      }
    },
    /** Uniform in 0..1: sums grow, and so do the errors of one long chain of additions. */
    POSITIVE {
      @Override
      DoubleSupplier source(SplittableRandom random) {
        return random::nextDouble;
      }
    },
    /** Equal numbers: every addition errs to the same side. */
    CONSTANT {
      @Override
      DoubleSupplier source(SplittableRandom random) {
        double value = 0.5 + random.nextDouble();
        return () -> value;
      }
    },
    /** Signed, of magnitudes between 2^-20 and 2^20. */
    BADLY_SCALED {
      @Override
      DoubleSupplier source(SplittableRandom random) {
        return () -> Math.scalb(2 * random.nextDouble() - 1, random.nextInt(-20, 21));
      }
    };

    abstract DoubleSupplier source(SplittableRandom random);
  }

  /** Kinds of terms of sums, by their place in K. */
  public enum Terms {
    /** Uniform in -1..1. */
    SIGNED,
    /** Uniform in 0..1. */
    POSITIVE,
    /** Signed; each row and column of op(A) and op(B) is scaled by a power of 2 in 2^-20..2^20. */
    SCALED,
    /** Signed; every second term takes back the one before but for up to 2^-12 of it. */
    PAIRS_CANCEL,
    /** Signed; the second half of the terms takes back the first so. */
    HALVES_CANCEL;

    /** The step of K whose term step {@code p} takes back; {@code p} if there is none. */
    private long twin(long p, long k) {
      return switch (this) {
        case SIGNED, POSITIVE, SCALED -> p;
        case PAIRS_CANCEL -> p - p % 2;
        case HALVES_CANCEL -> p < (k + 1) / 2 ? p : p - (k + 1) / 2;
      };
    }
  }

  /** Layouts of a batch. */
  public enum Lie {
    /** Consecutive products without gaps. */
    BEHIND,
    /** With gaps: of A whole rows, of B and C enough elements that rows begin unevenly. */
    APART,
    /** Products with one A. */
    SAME_A,
    /** Products with one B. */
    SAME_B,
    /** Products with one A and one B. */
    SAME,
    /** Rows of all products side by side. */
    BESIDE,
    /** Each A begins in the one before, at its second row; so does each B. */
    OVERLAPPING
  }

  /** A batch of {@code count} products like {@code one}. */
  protected static MultiplyProblem batch(MultiplyProblem one, long count, Lie lie) {
    long strideA = one.rowsA() * one.a().lead();
    long strideB = one.rowsB() * one.b().lead();
    long strideC = one.m() * one.leadC();
    return switch (lie) {
      case BEHIND -> one.withBatch(new MultiplyProblem.Batch(count, strideA, strideB, strideC));
      case APART ->
          one.withBatch(
              new MultiplyProblem.Batch(
                  count, strideA + 3 * one.a().lead(), strideB + 5, strideC + 7));
      case SAME_A -> one.withBatch(new MultiplyProblem.Batch(count, 0, strideB, strideC));
      case SAME_B -> one.withBatch(new MultiplyProblem.Batch(count, strideA, 0, strideC));
      case SAME -> one.withBatch(new MultiplyProblem.Batch(count, 0, 0, strideC));
      case OVERLAPPING ->
          one.withBatch(new MultiplyProblem.Batch(count, one.a().lead(), one.b().lead(), strideC));
      case BESIDE ->
          new MultiplyProblem(
              one.extents(),
              one.type(),
              one.precision(),
              new Stored(one.a().transposed(), count * one.a().lead()),
              new Stored(one.b().transposed(), count * one.b().lead()),
              count * one.leadC(),
              one.factors(),
              new MultiplyProblem.Batch(count, one.a().lead(), one.b().lead(), one.leadC()));
    };
  }

  /**
   * A problem of full precision; unless {@code dense}, with room between the rows.
   *
   * @param shape M, K and N
   * @param which bit 0 if A is stored transposed, bit 1 if B is
   */
  protected static MultiplyProblem problem(
      long[] shape, ElementType type, int which, boolean dense, SplittableRandom random) {
    return problem(
        shape[0], shape[1], shape[2], type, (which & 1) != 0, (which & 2) != 0, dense, random);
  }

  /** A problem with extents one by one. */
  protected static MultiplyProblem problem(
      long m,
      long k,
      long n,
      ElementType type,
      boolean transposeA,
      boolean transposeB,
      boolean dense,
      SplittableRandom random) {
    return new MultiplyProblem(
            new Extents(m, k, n),
            type,
            Precision.FULL,
            new Stored(transposeA, Math.max(1, transposeA ? m : k) + pad(dense, random)),
            new Stored(transposeB, Math.max(1, transposeB ? k : n) + pad(dense, random)),
            Math.max(1, n) + pad(dense, random),
            Factors.OVERWRITE,
            Batch.ONE)
        .withFactors(factors(random));
  }

  /** Factors, plain ones more often than others, of which whole numbers make exact results. */
  private static MultiplyProblem.Factors factors(SplittableRandom random) {
    double[] alphas = {-1, 0.5, 1.75, -3, 1};
    double[] betas = {0, 1, -1, 0.5, 2.25};
    return switch (random.nextInt(4)) {
      case 0 -> MultiplyProblem.Factors.OVERWRITE;
      case 1 -> MultiplyProblem.Factors.ADD;
      default ->
          new MultiplyProblem.Factors(
              alphas[random.nextInt(alphas.length)], betas[random.nextInt(betas.length)]);
    };
  }

  /** This problem with rows that begin at multiples of 16 bytes if the matrices do. */
  protected static MultiplyProblem even(MultiplyProblem problem) {
    int step = 16 / problem.type().bytes();
    return new MultiplyProblem(
        problem.extents(),
        problem.type(),
        problem.precision(),
        new Stored(problem.a().transposed(), roundUp(problem.a().lead(), step)),
        new Stored(problem.b().transposed(), roundUp(problem.b().lead(), step)),
        roundUp(problem.leadC(), step),
        problem.factors(),
        MultiplyProblem.Batch.ONE);
  }

  private static long roundUp(long elements, int step) {
    return (elements + step - 1) / step * step;
  }

  /** Odd ones, and even ones that keep rows aligned. */
  private static long pad(boolean dense, SplittableRandom random) {
    return dense ? 0 : random.nextInt(4) == 0 ? 4L * random.nextInt(1, 9) : random.nextInt(1, 20);
  }

  /** Random ones around 0. */
  protected static float[] floats(int count, SplittableRandom random) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextDouble() - 0.5f;
    }
    return values;
  }

  /** One problem of random inputs, on {@code multiplier}, against the oracle. */
  protected final void checkOne(
      Multiplier multiplier, MultiplyProblem problem, Inputs inputs, long seed) {
    checkOne(multiplier, problem, inputs, seed, allowed(problem, inputs));
  }

  /**
   * One problem of random inputs, on {@code multiplier}, against the oracle.
   *
   * @param allowed the greatest error, relative to |A||B|
   * @return the greatest error found
   */
  protected final double checkOne(
      Multiplier multiplier, MultiplyProblem problem, Inputs inputs, long seed, double allowed) {
    SplittableRandom random = new SplittableRandom(seed);
    Sides sides = sides(problem, inputs.source(random));
    sides.run(multiplier);
    sides.requireUntouched();
    double worst = sides.worst(random);
    if (!(worst <= allowed)) {
      fail(
          String.format(
              "%s of %s inputs, seed %d: error %.3g of |A||B|, allowed %.3g, on %s",
              problem, inputs, seed, worst, allowed, multiplier));
    }
    return worst;
  }

  /**
   * One problem of small whole numbers, of which every precision makes exact sums: nothing may
   * differ from the oracle.
   */
  protected final void checkExact(Multiplier multiplier, MultiplyProblem problem, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Sides sides = sides(problem, () -> random.nextInt(-8, 9));
    sides.run(multiplier);
    sides.requireUntouched();
    double worst = sides.worst(random);
    if (!(worst == 0)) {
      fail(problem + " of whole numbers, seed " + seed + ": error " + worst + " on " + multiplier);
    }
  }

  /**
   * One product of inputs that the problem's precision holds, so that sums alone err, against the
   * oracle.
   *
   * @param allowed the greatest error, relative to |A||B|
   */
  protected final void checkTerms(
      Multiplier multiplier, MultiplyProblem problem, Terms terms, long seed, double allowed) {
    SplittableRandom random = new SplittableRandom(seed);
    Sides sides = sides(problem);
    sides.setOperands(terms, random);
    sides.run(multiplier);
    sides.requireUntouched();
    double worst = sides.worst(random);
    if (!(worst <= allowed)) {
      fail(
          String.format(
              "%s of %s terms, seed %d: error %.3g of |A||B|, allowed %.3g, on %s",
              problem, terms, seed, worst, allowed, multiplier));
    }
  }

  /** One problem of lower precision: its inputs are rounded, its sums are not. */
  protected final void checkRounded(
      Multiplier multiplier, MultiplyProblem problem, Inputs inputs, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    DoubleSupplier source = inputs.source(random);
    Sides sides = sides(problem, () -> normalOfFloat16(source.getAsDouble()));
    sides.run(multiplier);
    sides.requireUntouched();
    double worst = sides.worst(random);
    double most = allowedRounded(problem);
    if (!(worst <= most)) {
      fail(
          String.format(
              "%s of %s inputs, seed %d: error %.3g of |A||B|, allowed %.3g, on %s",
              problem, inputs, seed, worst, most, multiplier));
    }
  }

  /**
   * The least normal number for smaller ones, of which float16 keeps fewer bits than the bar asks.
   */
  private static double normalOfFloat16(double value) {
    return Math.abs(value) < 0x1p-14 ? Math.copySign(0x1p-14, value) : value;
  }

  /**
   * Two roundings of a relative 2^-(bits + 1) each, and the sum in float32, whose own order is the
   * library's.
   */
  static double allowedRounded(MultiplyProblem problem) {
    double rounding = problem.precision() == Precision.BFLOAT16 ? 0x1p-8 : 0x1p-11;
    return 2.01 * rounding + 8 * allowed(problem);
  }

  /**
   * {@code 2 u sqrt(K)}; where a chain of DOUBLE is longer, more for terms that err to one side, a
   * quarter of a unit each, and for those of which a few outweigh all others: then every addition
   * errs by up to a unit, in a random walk of which the largest of many is seen.
   */
  final double allowed(MultiplyProblem problem, Inputs inputs) {
    double bar = allowed(problem);
    if (problem.type() != ElementType.FLOAT64) {
      return bar;
    }
    double chain = Math.min(terms(problem), chainOfDoubles());
    return switch (inputs) {
      case CONSTANT -> Math.max(bar, 0x1p-53 * chain / 4);
      case BADLY_SCALED -> Math.max(bar, 0x1p-53 * 4 * Math.sqrt(chain));
      case SIGNED, POSITIVE -> bar;
    };
  }

  /** The bound for terms: those of scaled rows and columns are as those that are badly scaled. */
  protected final double allowed(MultiplyProblem problem, Terms terms) {
    return allowed(problem, terms == Terms.SCALED ? Inputs.BADLY_SCALED : Inputs.SIGNED);
  }

  /** {@code 2 u sqrt(K)}. */
  static double allowed(MultiplyProblem problem) {
    double unit = problem.type() == ElementType.FLOAT32 ? 0x1p-24 : 0x1p-53;
    return unit * 2 * Math.sqrt(terms(problem));
  }

  /** Terms of each sum: what C held counts as one more, and so does a product by alpha. */
  private static double terms(MultiplyProblem problem) {
    return (double) problem.k()
        + (problem.factors().readsC() ? 1 : 0)
        + (problem.factors().alpha() == 1 ? 0 : 1);
  }

  /** Checks that NaN and infinity propagate on {@code multiplier}. */
  protected final void checkNanAndInfinity(Multiplier multiplier, ElementType... types) {
    SplittableRandom random = new SplittableRandom(15);
    for (ElementType type : types) {
      for (long extent : new long[] {5, 67, 257}) {
        for (int which = 0; which < 4; which++) {
          long[] shape = {extent, extent + 2, extent + 1};
          checkNanAndInfinity(multiplier, problem(shape, type, which, false, random));
        }
      }
    }
  }

  /** Checks one problem, with extents of 5 and more. */
  protected final void checkNanAndInfinity(Multiplier multiplier, MultiplyProblem problem) {
    long m = problem.m();
    long n = problem.n();
    Sides sides = sides(problem);
    for (long j = 0; j < n; j++) { // row 2 of B is zero
      sides.setB(2, j, 0);
    }
    for (long i = 0; i < m; i++) { // column 3 of A is zero
      sides.setA(i, 3, 0);
    }
    sides.setA(0, 0, Double.NaN); // row 0 of C
    sides.setA(1, 2, Double.POSITIVE_INFINITY); // meets zeros: row 1 of C is NaN
    sides.setB(3, 1, Double.NEGATIVE_INFINITY); // meets zeros: column 1 of C is NaN
    for (long j = 0; j < n; j++) {
      sides.setB(4, j, 1 + (int) j % 3);
    }
    sides.setA(4, 4, Double.POSITIVE_INFINITY); // row 4 of C is infinite
    sides.run(multiplier);
    sides.requireUntouched();
    for (long i = 0; i < m; i++) {
      for (long j = 0; j < n; j++) {
        double found = sides.getC(i, j);
        if (i < 2 || j == 1) {
          assertTrue(Double.isNaN(found), problem + ": C" + i + "," + j + " is " + found);
        } else if (i == 4) {
          double infinity = problem.factors().alpha() * Double.POSITIVE_INFINITY;
          assertEquals(infinity, found, problem + ": C" + i + "," + j);
        } else {
          assertTrue(Double.isFinite(found), problem + ": C" + i + "," + j + " is " + found);
        }
      }
    }
  }

  /**
   * One product and three with {@code alpha} and each beta: of full precision within the bar, of
   * lower ones exact. A C that is not read is NaN.
   */
  protected final void checkFactors(
      Multiplier multiplier, MultiplyProblem problem, double alpha, double[] betas, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (double beta : betas) {
      MultiplyProblem one = problem.withFactors(new MultiplyProblem.Factors(alpha, beta));
      MultiplyProblem three = batch(one, 3, random.nextBoolean() ? Lie.BEHIND : Lie.APART);
      boolean full = problem.precision() == Precision.FULL;
      if (full) {
        checkOne(multiplier, one, Inputs.SIGNED, random.nextLong());
      } else {
        checkExact(multiplier, one, random.nextLong());
      }
      if (full && takes(multiplier, three)) {
        checkOne(multiplier, three, Inputs.POSITIVE, random.nextLong());
      } else if (takes(multiplier, three)) {
        checkExact(multiplier, three, random.nextLong());
      }
    }
  }

  /** Without a product A and B may be NaN: C is beta times C, and +0 if beta is 0. */
  protected final void checkNoProduct(Multiplier multiplier, MultiplyProblem problem) {
    double beta = problem.factors().beta();
    Sides sides = sides(problem);
    sides.fillOperands(Double.NaN);
    sides.run(multiplier);
    sides.requireUntouched();
    sides.requireEach(
        (product, i, j) -> beta == 0 ? 0 : beta * sides.oldC(product, i, j), multiplier);
  }

  /** Factors that are NaN, and an infinite beta, reach C as in BLAS, and nothing else. */
  protected final void checkFactorsThatAreNoNumbers(
      Multiplier multiplier, MultiplyProblem problem) {
    double[][] cases = { // alpha, beta, C
      {Double.NaN, 0, Double.NaN},
      {1, Double.NaN, Double.NaN},
      {1, Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY},
      {1, Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY}
    };
    for (double[] each : cases) {
      Sides sides =
          sides(problem.withFactors(new MultiplyProblem.Factors(each[0], each[1])), () -> 1);
      sides.run(multiplier);
      sides.requireUntouched();
      sides.requireEach((product, i, j) -> each[2], multiplier);
    }
  }

  /** An element of C of one product. */
  private interface Element {
    double of(long product, long i, long j);
  }

  /** The memory of a problem, of signed inputs. */
  final Sides sides(MultiplyProblem problem) {
    return sides(problem, Inputs.SIGNED.source(new SplittableRandom(problem.hashCode())));
  }

  /** The memory of a problem, of inputs from {@code source}. */
  final Sides sides(MultiplyProblem problem, DoubleSupplier source) {
    return new Sides(problem, source, cases++);
  }

  /** The memory of one problem, with what is around it. */
  static final class Sides {
    private final MultiplyProblem problem;
    private final boolean isDouble;
    private final Object[] keep = new Object[3];
    private final HostMemory a;
    private final HostMemory b;
    private final HostMemory c;
    private final HostMemory guardedC;
    private final double[] before; // guarded C

    Sides(MultiplyProblem problem, DoubleSupplier source, int placement) {
      this.problem = problem;
      this.isDouble = problem.type() == ElementType.FLOAT64;
      int width = problem.type().bytes();
      a = memory(0, problem.bytesA(), placement % 2 == 0);
      b = memory(1, problem.bytesB(), placement / 2 % 2 == 0);
      guardedC = memory(2, problem.bytesC() + 2L * GUARD_ELEMENTS * width, placement / 4 % 2 == 0);
      c = guardedC.slice((long) GUARD_ELEMENTS * width, problem.bytesC());
      MultiplyProblem.Batch batch = problem.batch();
      long colsA = problem.colsA();
      long colsB = problem.colsB();
      fillRows(a, problem.rowsA(), colsA, problem.a().lead(), batch.strideA(), source, Double.NaN);
      fillRows(b, problem.rowsB(), colsB, problem.b().lead(), batch.strideB(), source, Double.NaN);
      for (long at = 0; at < guardedC.bytes() / width; at++) {
        put(guardedC, at, GUARD);
      }
      // What is overwritten must not matter: NaN there spoils a sum that begins with it.
      DoubleSupplier old = problem.factors().readsC() ? source : () -> Double.NaN;
      fillRows(c, problem.m(), problem.n(), problem.leadC(), batch.strideC(), old, GUARD);
      before = new double[Math.toIntExact(guardedC.bytes() / width)];
      for (int at = 0; at < before.length; at++) {
        before[at] = get(guardedC, at);
      }
    }

    private HostMemory memory(int which, long bytes, boolean heap) {
      if (heap) {
        Object array =
            isDouble
                ? new double[Math.toIntExact(bytes / Double.BYTES)]
                : new float[Math.toIntExact(bytes / Float.BYTES)];
        keep[which] = array;
        return HostMemory.ofArray(array);
      }
      ByteBuffer buffer = ByteBuffer.allocateDirect(Math.toIntExact(bytes));
      keep[which] = buffer;
      return HostMemory.ofDirectBuffer(buffer);
    }

    /** Fills the matrices of all products, which may overlap, and their gaps. */
    private void fillRows(
        HostMemory to,
        long rows,
        long cols,
        long lead,
        long stride,
        DoubleSupplier source,
        double between) {
      long elements = to.bytes() / problem.type().bytes();
      for (long at = 0; at < elements; at++) {
        put(to, at, between);
      }
      for (long product = 0; product < (stride == 0 ? 1 : problem.batch().count()); product++) {
        for (long row = 0; row < rows; row++) {
          for (long col = 0; col < cols; col++) {
            put(to, product * stride + row * lead + col, source.getAsDouble());
          }
        }
      }
    }

    void put(HostMemory to, long at, double value) {
      if (isDouble) {
        UNSAFE.putDouble(to.base(), to.offset() + at * Double.BYTES, value);
      } else {
        UNSAFE.putFloat(to.base(), to.offset() + at * Float.BYTES, (float) value);
      }
    }

    double get(HostMemory from, long at) {
      return isDouble
          ? UNSAFE.getDouble(from.base(), from.offset() + at * Double.BYTES)
          : UNSAFE.getFloat(from.base(), from.offset() + at * Float.BYTES);
    }

    void setA(long i, long p, double value) {
      put(
          a,
          problem.a().transposed() ? p * problem.a().lead() + i : i * problem.a().lead() + p,
          value);
    }

    void setB(long p, long j, double value) {
      put(
          b,
          problem.b().transposed() ? j * problem.b().lead() + p : p * problem.b().lead() + j,
          value);
    }

    /** Makes all of A and B this, also between the rows. */
    void fillOperands(double value) {
      for (HostMemory operand : new HostMemory[] {a, b}) {
        for (long at = 0; at < operand.bytes() / problem.type().bytes(); at++) {
          put(operand, at, value);
        }
      }
    }

    /** A and B of one product, rounded to the problem's precision. */
    void setOperands(Terms terms, SplittableRandom random) {
      long k = problem.k();
      int[] scales = // of rows of op(A), its columns, rows of op(B), and its columns
          random.ints(problem.m() + 2 * k + problem.n(), -20, 21).toArray();
      for (long p = 0; p < k; p++) {
        long twin = terms.twin(p, k);
        for (long i = 0; i < problem.m(); i++) {
          int scale = scales[(int) i] + scales[(int) (problem.m() + p)];
          double value =
              twin == p
                  ? value(terms, scale, random)
                  : -getA(0, i, twin) * (1 + 0x1p-12 * random.nextDouble());
          setA(i, p, rounded(value));
        }
        for (long j = 0; j < problem.n(); j++) {
          int scale = scales[(int) (problem.m() + k + p)] + scales[(int) (problem.m() + 2 * k + j)];
          setB(p, j, twin == p ? rounded(value(terms, scale, random)) : getB(0, twin, j));
        }
      }
    }

    private static double value(Terms terms, int scale, SplittableRandom random) {
      double value = terms == Terms.POSITIVE ? random.nextDouble() : 2 * random.nextDouble() - 1;
      return terms == Terms.SCALED ? Math.scalb(value, scale) : value;
    }

    private double rounded(double value) {
      return isDouble ? value : problem.precision().round((float) value);
    }

    private double getA(long product, long i, long p) {
      long first = product * problem.batch().strideA();
      return get(
          a,
          first
              + (problem.a().transposed()
                  ? p * problem.a().lead() + i
                  : i * problem.a().lead() + p));
    }

    private double getB(long product, long p, long j) {
      long first = product * problem.batch().strideB();
      return get(
          b,
          first
              + (problem.b().transposed()
                  ? j * problem.b().lead() + p
                  : p * problem.b().lead() + j));
    }

    /** Of the first product. */
    double getC(long i, long j) {
      return get(c, inC(0, i, j));
    }

    private long inC(long product, long i, long j) {
      return product * problem.batch().strideC() + i * problem.leadC() + j;
    }

    double oldC(long product, long i, long j) {
      return before[GUARD_ELEMENTS + (int) inC(product, i, j)];
    }

    void run(Multiplier multiplier) {
      multiplier.multiply(problem, a, b, c);
      Reference.reachabilityFence(keep);
    }

    /** With A as B. */
    void runHalf(Multiplier multiplier) {
      a.copyTo(b);
      multiplier.multiplyHalf(problem, a, c);
      Reference.reachabilityFence(keep);
    }

    /** The bytes around the elements of C are unchanged. */
    void requireUntouched() {
      BitSet elements = new BitSet(before.length);
      for (long product = 0; product < problem.batch().count(); product++) {
        for (long i = 0; i < problem.m(); i++) {
          int row = GUARD_ELEMENTS + (int) inC(product, i, 0);
          elements.set(row, row + (int) problem.n());
        }
      }
      for (int at = elements.nextClearBit(0);
          at < before.length;
          at = elements.nextClearBit(at + 1)) {
        if (get(guardedC, at) != GUARD) {
          fail(
              problem
                  + ": element "
                  + (at - GUARD_ELEMENTS)
                  + " beside C became "
                  + get(guardedC, at));
        }
      }
    }

    /** C is as expected; +0 and -0 differ. */
    void requireEach(Element expected, Multiplier multiplier) {
      for (long product = 0; product < problem.batch().count(); product++) {
        for (long i = 0; i < problem.m(); i++) {
          for (long j = 0; j < problem.n(); j++) {
            double wanted = expected.of(product, i, j);
            double found = get(c, inC(product, i, j));
            if (Double.compare(wanted, found) != 0) {
              fail(
                  String.format(
                      "%s on %s: element %d, %d of product %d is %s, expected %s",
                      problem, multiplier, i, j, product, found, wanted));
            }
          }
        }
      }
    }

    /** The greatest error relative to the sum of the magnitudes. */
    double worst(SplittableRandom random) {
      long each = problem.m() * problem.n();
      long elements = problem.batch().count() * each;
      boolean all = elements * Math.max(1, problem.k()) <= (long) MOST_COMPARED * 256;
      long compared = all ? elements : Math.min(elements, MOST_COMPARED * 256L / problem.k() + 64);
      long[] chosen = new long[Math.toIntExact(compared)];
      for (int at = 0; at < chosen.length; at++) {
        chosen[at] = all ? at : at == 0 ? elements - 1 : random.nextLong(elements);
      }
      return Arrays.stream(chosen)
          .parallel()
          .mapToDouble(at -> error(at / each, at % each / problem.n(), at % each % problem.n()))
          .reduce(0, Math::max); // NaN if one is
    }

    double error(long product, long i, long j) {
      double sum = 0;
      double lost = 0;
      double magnitude = 0;
      for (long p = 0; p < problem.k(); p++) {
        double left = getA(product, i, p);
        double right = getB(product, p, j);
        double term = left * right;
        lost += Math.fma(left, right, -term);
        double after = sum + term;
        double seen = after - sum;
        lost += (sum - (after - seen)) + (term - seen);
        sum = after;
        magnitude += Math.abs(term);
      }
      double alpha = problem.factors().alpha();
      double beta = problem.factors().beta();
      double old = beta == 0 ? 0 : oldC(product, i, j);
      double scaled = alpha * sum;
      lost = alpha * lost + Math.fma(alpha, sum, -scaled);
      double kept = beta * old;
      lost += Math.fma(beta, old, -kept);
      double result = scaled + kept;
      double seen = result - scaled;
      lost += (scaled - (result - seen)) + (kept - seen);
      magnitude = Math.abs(alpha) * magnitude + Math.abs(kept);
      double difference = Math.abs(get(c, inC(product, i, j)) - result - lost);
      return difference == 0 ? 0 : difference / magnitude;
    }
  }
}
