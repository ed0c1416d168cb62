package org.tilespark.kernels.multiply;

import java.util.SplittableRandom;
import org.tilespark.kernels.multiply.SplitArithmetic.Term;

/**
 * Matrices of whole numbers that have two or three bfloat16 parts each, and whose products and
 * partial sums, part by part, are below 2^24: a split makes them without any error, and the wrong
 * ones where a term is left out. Together the cases need every {@link Term}.
 */
public enum ExactSplits {
  /** Numbers of 22 bits in A, which need three parts; each column of B adds or subtracts three. */
  PARTS_OF_A {
    @Override
    float inA(long step, SplittableRandom random) {
      return threeParts(random);
    }

    @Override
    float inB(long step, SplittableRandom random) {
      return random.nextBoolean() ? 1 : -1;
    }

    @Override
    boolean isZeroInB(long[] steps, long step, long col) {
      return isNoneOfThree(steps.length, step, col);
    }

    @Override
    public boolean needs(Term term) {
      return term.partOfB == 0;
    }
  },
  /** Numbers of 22 bits in B; each row of A adds or subtracts three. */
  PARTS_OF_B {
    @Override
    float inA(long step, SplittableRandom random) {
      return random.nextBoolean() ? 1 : -1;
    }

    @Override
    float inB(long step, SplittableRandom random) {
      return threeParts(random);
    }

    @Override
    boolean isZeroInA(long[] steps, long row, long step) {
      return isNoneOfThree(steps.length, step, row);
    }

    @Override
    public boolean needs(Term term) {
      return term.partOfA == 0;
    }
  },
  /** Odd numbers of 9 bits in both, whose second part is 1 or -1. */
  MIDDLE_PARTS {
    @Override
    float inA(long step, SplittableRandom random) {
      return twoParts(random);
    }

    @Override
    float inB(long step, SplittableRandom random) {
      return twoParts(random);
    }

    @Override
    boolean isZeroInA(long[] steps, long row, long step) {
      return steps[(int) step] >= MOST_MIDDLE;
    }

    @Override
    public boolean needs(Term term) {
      return term.partOfA < 2 && term.partOfB < 2;
    }
  };

  /** Most products of the middle parts' numbers, which keep their sum below 2^24. */
  private static final int MOST_MIDDLE = 200;

  abstract float inA(long step, SplittableRandom random);

  abstract float inB(long step, SplittableRandom random);

  boolean isZeroInA(long[] steps, long row, long step) {
    return false;
  }

  boolean isZeroInB(long[] steps, long step, long col) {
    return false;
  }

  /** True if results are wrong without this term. */
  public abstract boolean needs(Term term);

  /** Operands and their product, row-major: (m, k), (k, n) and (m, n). */
  public record Matrices(float[] a, float[] b, float[] c) {}

  /** Operands of this kind, and what a product that overwrites C makes of them. */
  public Matrices matrices(int m, int k, int n, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    long[] steps = ranks(k, random);
    float[] a = new float[m * k];
    float[] b = new float[k * n];
    for (int at = 0; at < a.length; at++) {
      float value = inA(at % k, random);
      a[at] = isZeroInA(steps, at / k, at % k) ? 0 : value;
    }
    for (int at = 0; at < b.length; at++) {
      float value = inB(at / n, random);
      b[at] = isZeroInB(steps, at / n, at % n) ? 0 : value;
    }
    float[] c = new float[m * n];
    for (int i = 0; i < m; i++) {
      for (int p = 0; p < k; p++) {
        float left = a[i * k + p];
        for (int j = 0; j < n && left != 0; j++) {
          c[i * n + j] += left * b[p * n + j]; // exact
        }
      }
    }
    return new Matrices(a, b, c);
  }

  /** The ranks of steps of K in a random order. */
  private static long[] ranks(int k, SplittableRandom random) {
    long[] ranks = new long[k];
    for (int at = 0; at < k; at++) {
      int other = random.nextInt(at + 1);
      ranks[at] = ranks[other];
      ranks[other] = at;
    }
    return ranks;
  }

  /** False of three steps of K that go on by one from each row or column to the next. */
  private static boolean isNoneOfThree(long k, long step, long line) {
    return Math.floorMod(step - line, k) % ((k + 2) / 3) != 0;
  }

  private static float threeParts(SplittableRandom random) {
    while (true) {
      int size = random.nextInt(1 << 21, 1 << 22);
      float[] parts = SplitArithmetic.cut(size);
      if (parts[1] != 0 && parts[2] != 0) {
        return random.nextBoolean() ? size : -size;
      }
    }
  }

  private static float twoParts(SplittableRandom random) {
    int size = 257 + 2 * random.nextInt(8);
    return random.nextBoolean() ? size : -size;
  }
}
