package org.tilespark.kernels.multiply;

import java.util.Set;

/**
 * The arithmetic of {@code split.cuh} on the CPU, element by element: how a float is cut into three
 * bfloat16 parts, which of their products are summed in which order, and which values are left to
 * the repair.
 *
 * <p>Products of parts may be left out, to show that a test would notice. The tensor cores' own sum
 * is a model: each instruction adds 16 exact products to the sum so far, cuts all addends off at a
 * place that the largest one decides, and rounds the result towards zero. Source: Fasi, Higham,
 * Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021. With {@link #FRACTION}
 * bits the model is coarser than any device that was measured, so its errors are an upper bound.
 */
public final class SplitArithmetic {
  /** Steps of K that the tensor cores sum before ordinary registers take over: {@code CHUNK}. */
  static final int PANEL = 32;

  /** Steps of K of one instruction. */
  private static final int STEPS = 16;

  /** Bits after the largest addend's first that an instruction keeps of each addend. */
  static final int FRACTION = 23;

  /** Magnitudes below have no three parts: {@code LEAST_BITS}. */
  public static final float LEAST = 0x1p-100f;

  private SplitArithmetic() {}

  /** A product of parts that the kernel sums; in its order within a panel. */
  public enum Term {
    /** Largest part of A, smallest of B. */
    A0_B2(0, 2),
    /** Smallest part of A, largest of B. */
    A2_B0(2, 0),
    /** Middle parts. */
    A1_B1(1, 1),
    /** Largest part of A, middle one of B. */
    A0_B1(0, 1),
    /** Middle part of A, largest one of B. */
    A1_B0(1, 0),
    /** Largest parts. */
    A0_B0(0, 0);

    final int partOfA;
    final int partOfB;

    Term(int partOfA, int partOfB) {
      this.partOfA = partOfA;
      this.partOfB = partOfB;
    }

    /** Terms that go through the tensor cores side by side, step after step of K. */
    static final Term[][] GROUPS = {{A0_B2, A2_B0, A1_B1}, {A0_B1, A1_B0}, {A0_B0}};
  }

  /** The three parts of a value: each the nearest bfloat16 to what those before left out. */
  public static float[] cut(float value) {
    float[] parts = new float[3];
    float rest = value;
    for (int part = 0; part < 3; part++) {
      parts[part] = Precision.BFLOAT16.round(rest);
      rest -= parts[part];
    }
    return parts;
  }

  /**
   * True if the kernel leaves every half tile that reads this value to the repair: it is too small
   * to be cut, or one of its parts is infinite or NaN.
   */
  public static boolean hasNoParts(float value) {
    return (value != 0 && Math.abs(value) < LEAST)
        || !Float.isFinite(Precision.BFLOAT16.round(value));
  }

  /**
   * An element of C as the kernel sums it, without the terms that are left out.
   *
   * @param a a row of op(A), each value cut
   * @param b a column of op(B), likewise
   * @param omitted terms that are left out
   */
  static float sum(float[][] a, float[][] b, Set<Term> omitted) {
    float total = 0;
    float part = 0;
    for (int first = 0; first < a.length; first += PANEL) {
      for (Term[] group : Term.GROUPS) {
        for (int p = first; p < first + PANEL; p += STEPS) {
          for (Term term : group) {
            if (!omitted.contains(term)) {
              part = instruction(part, a, b, term, p);
            }
          }
        }
      }
      // What rounding leaves out is where the next panel's sum starts.
      float added = total + part;
      added -= total;
      total += added;
      part -= added;
    }
    return total;
  }

  /**
   * The greatest error of a sum of {@code k} products of random inputs, relative to |A||B|, without
   * alpha and C: 1.5 to 3 times that of 10,000 sums of this model, whose errors are those of an
   * H200 at K = 4096. Any one term that is left out errs by more at K = 256, and any three up to K
   * = 1024.
   */
  public static double allowed(long k, MultiplierChecks.Inputs inputs) {
    return 0x1p-24
        * switch (inputs) {
          case SIGNED -> 16 / Math.sqrt((double) k);
          // Sums that grow are rounded to one side, by a unit on average.
          case POSITIVE, CONSTANT -> 3 + 32 / Math.sqrt((double) k);
          // A few products outweigh all others.
          case BADLY_SCALED -> 24;
        };
  }

  /** The sum of products of two lists of values, which are cut into their parts first. */
  public static float sum(float[] a, float[] b, Set<Term> omitted) {
    return sum(cut(a), cut(b), omitted);
  }

  /** All values' parts: {@code (values, 3)}. */
  static float[][] cut(float[] values) {
    float[][] parts = new float[values.length][];
    for (int at = 0; at < values.length; at++) {
      parts[at] = cut(values[at]);
    }
    return parts;
  }

  private static float instruction(float sum, float[][] a, float[][] b, Term term, int first) {
    int end = Math.min(first + STEPS, a.length);
    double largest = Math.abs(sum);
    for (int p = first; p < end; p++) {
      largest = Math.max(largest, Math.abs((double) a[p][term.partOfA] * b[p][term.partOfB]));
    }
    if (largest == 0) {
      return sum;
    }
    double unit = Math.scalb(1.0, Math.getExponent(largest) - FRACTION);
    double all = cutOff(sum, unit); // a multiple of unit below 2^30: exact
    for (int p = first; p < end; p++) {
      all += cutOff((double) a[p][term.partOfA] * b[p][term.partOfB], unit);
    }
    return towardsZero(all);
  }

  private static double cutOff(double value, double unit) {
    return unit * (long) (value / unit);
  }

  private static float towardsZero(double value) {
    float nearest = (float) value;
    return Math.abs((double) nearest) > Math.abs(value)
        ? Float.intBitsToFloat(Float.floatToRawIntBits(nearest) - 1)
        : nearest;
  }
}
