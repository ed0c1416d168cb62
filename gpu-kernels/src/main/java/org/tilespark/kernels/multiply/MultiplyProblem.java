package org.tilespark.kernels.multiply;

import java.util.Objects;
import org.tilespark.layout.ElementType;

/**
 * What is asked of a multiply: {@code C = alpha op(A) op(B) + beta C}, of row-major matrices.
 * {@code op(A)} is M x K and {@code op(B)} is K x N; with {@code transposeA}, A itself is stored as
 * K x M, and with {@code transposeB}, B as N x K. C is M x N. A batch is several products of one
 * shape.
 *
 * @param m rows of C; any extent may be 0
 * @param k the extent that is summed over
 * @param n columns of C
 * @param type {@link ElementType#FLOAT32} or {@link ElementType#FLOAT64}, of all three
 * @param precision how exactly; {@link Precision#FULL} for FLOAT64
 * @param transposeA true if A is stored transposed
 * @param transposeB true if B is stored transposed
 * @param leadA elements between the starts of neighbouring rows of A as stored, at least its
 *     columns
 * @param leadB likewise for B
 * @param leadC likewise for C
 * @param factors alpha and beta; of FLOAT32 rounded to floats
 * @param batch how many products, and how far apart they lie
 */
public record MultiplyProblem(
    long m,
    long k,
    long n,
    ElementType type,
    Precision precision,
    boolean transposeA,
    boolean transposeB,
    long leadA,
    long leadB,
    long leadC,
    Factors factors,
    Batch batch) {
  /**
   * What the product is multiplied by, and C before the product is added to it: as in BLAS, any
   * numbers (of FLOAT32 those in a float's range) but an infinite alpha. Our kernels round alpha
   * times a sum of products once, and that and beta times C together once.
   *
   * <p>Where K is summed in chunks, each chunk's sum is multiplied by alpha. This is why alpha is
   * finite: infinity times each sum is NaN where their signs differ or one is 0. A finite alpha
   * that is so large that alpha times a chunk's sum overflows has the same effect.
   *
   * @param alpha of the product, finite or NaN; if 0, A and B are not read, and with K = 0 it says
   *     nothing
   * @param beta of what C holds; if 0, C is overwritten, whatever it holds
   */
  public record Factors(double alpha, double beta) {
    /** {@code C = op(A) op(B)}. */
    public static final Factors OVERWRITE = new Factors(1, 0);

    /** {@code C += op(A) op(B)}. */
    public static final Factors ADD = new Factors(1, 1);

    /**
     * Zeros lose their sign.
     *
     * @throws IllegalArgumentException if alpha is infinite
     */
    public Factors {
      if (Double.isInfinite(alpha)) {
        throw new IllegalArgumentException(
            "Alpha is "
                + alpha
                + "; expected a finite number or NaN, because K may be summed in chunks, each of"
                + " which is multiplied by alpha");
      }
      alpha = alpha == 0 ? 0 : alpha;
      beta = beta == 0 ? 0 : beta;
    }

    /** True if the result depends on what C holds. */
    public boolean readsC() {
      return beta != 0;
    }

    /** Of a later chunk of K, which is added to a C that has beta behind it. */
    Factors next() {
      return beta == 1 ? this : new Factors(alpha, 1);
    }

    private Factors asFloats() {
      return new Factors(asFloat("Alpha", alpha), asFloat("Beta", beta));
    }

    private static double asFloat(String name, double factor) {
      float rounded = (float) factor;
      if ((rounded == 0 && factor != 0)
          || (Float.isInfinite(rounded) && !Double.isInfinite(factor))) {
        throw new IllegalArgumentException(
            name
                + " is "
                + factor
                + ", which is "
                + rounded
                + " as a float; expected one in range");
      }
      return rounded;
    }
  }

  /**
   * Products of one shape.
   *
   * @param count how many, at least one
   * @param strideA elements from the first of one product's A to that of the next; 0 if all have
   *     the same A; of one product 0
   * @param strideB likewise for B
   * @param strideC likewise for C, whose products may not overlap
   */
  public record Batch(long count, long strideA, long strideB, long strideC) {
    /** One product. */
    public static final Batch ONE = new Batch(1, 0, 0, 0);

    /**
     * Checks the numbers; strides of one product become 0.
     *
     * @throws IllegalArgumentException if there is no product, or a stride is negative
     */
    public Batch {
      if (count < 1) {
        throw new IllegalArgumentException("Batch of " + count + " products; expected at least 1");
      }
      if (strideA < 0 || strideB < 0 || strideC < 0) {
        throw new IllegalArgumentException(
            "Batch of products "
                + strideA
                + ", "
                + strideB
                + " and "
                + strideC
                + " elements apart; expected 0 or more");
      }
      if (count == 1) {
        strideA = 0;
        strideB = 0;
        strideC = 0;
      }
    }
  }

  /**
   * Checks the parts against each other.
   *
   * @throws IllegalArgumentException if an extent is negative, a leading dimension is less than the
   *     columns, the type is no floating-point type, the precision or a factor does not suit it,
   *     products of a batch overlap in C, or a side reaches over more than 2^63 - 1 bytes
   */
  public MultiplyProblem {
    Objects.requireNonNull(precision, "precision");
    Objects.requireNonNull(factors, "factors");
    Objects.requireNonNull(batch, "batch");
    if (m < 0 || k < 0 || n < 0) {
      throw new IllegalArgumentException(
          "Multiply of " + m + " x " + k + " x " + n + "; expected extents of 0 or more");
    }
    if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
      throw new IllegalArgumentException(
          "Multiply of " + type + " elements; expected FLOAT32 or FLOAT64");
    }
    if (type == ElementType.FLOAT64 && precision != Precision.FULL) {
      throw new IllegalArgumentException(
          "Precision " + precision + " of FLOAT64 elements; expected FULL");
    }
    factors = type == ElementType.FLOAT32 ? factors.asFloats() : factors;
    requireLead("A", leadA, transposeA ? m : k);
    requireLead("B", leadB, transposeB ? k : n);
    requireLead("C", leadC, n);
    span(transposeA ? k : m, transposeA ? m : k, leadA, type, batch.count(), batch.strideA());
    span(transposeB ? n : k, transposeB ? k : n, leadB, type, batch.count(), batch.strideB());
    span(m, n, leadC, type, batch.count(), batch.strideC());
    requireApart(m, n, leadC, batch);
  }

  /**
   * One product.
   *
   * @param accumulate true to add to what C holds; false to overwrite it, whatever it holds
   */
  public MultiplyProblem(
      long m,
      long k,
      long n,
      ElementType type,
      Precision precision,
      boolean transposeA,
      boolean transposeB,
      long leadA,
      long leadB,
      long leadC,
      boolean accumulate) {
    this(
        m,
        k,
        n,
        type,
        precision,
        transposeA,
        transposeB,
        leadA,
        leadB,
        leadC,
        accumulate ? Factors.ADD : Factors.OVERWRITE,
        Batch.ONE);
  }

  /** A product of dense matrices that overwrites C. */
  public static MultiplyProblem dense(
      long m, long k, long n, ElementType type, boolean transposeA, boolean transposeB) {
    return new MultiplyProblem(
        m,
        k,
        n,
        type,
        Precision.FULL,
        transposeA,
        transposeB,
        Math.max(1, transposeA ? m : k),
        Math.max(1, transposeB ? k : n),
        Math.max(1, n),
        false);
  }

  /**
   * Products like this one.
   *
   * @throws IllegalArgumentException if they overlap in C, or a side reaches over more than 2^63 -
   *     1 bytes
   */
  public MultiplyProblem withBatch(Batch products) {
    return new MultiplyProblem(
        m, k, n, type, precision, transposeA, transposeB, leadA, leadB, leadC, factors, products);
  }

  /**
   * This one with other factors.
   *
   * @throws IllegalArgumentException if a factor of FLOAT32 is out of a float's range
   */
  public MultiplyProblem withFactors(Factors asked) {
    return new MultiplyProblem(
        m, k, n, type, precision, transposeA, transposeB, leadA, leadB, leadC, asked, batch);
  }

  /** This one, as exact as asked. */
  public MultiplyProblem withPrecision(Precision asked) {
    return new MultiplyProblem(
        m, k, n, type, asked, transposeA, transposeB, leadA, leadB, leadC, factors, batch);
  }

  /** True if A and B have a share in the result. */
  public boolean readsOperands() {
    return k > 0 && factors.alpha() != 0;
  }

  /** True if C stays as it is, or is empty. */
  public boolean keepsC() {
    return m == 0 || n == 0 || (!readsOperands() && factors.beta() == 1);
  }

  /** The factors of the chunk of K from step {@code p} on: beta is 1 but in the first. */
  public Factors factorsFrom(long p) {
    return p > 0 ? factors.next() : factors;
  }

  /** C times beta: A and B are empty. */
  MultiplyProblem scaleOnly() {
    return new MultiplyProblem(
        m,
        0,
        n,
        type,
        Precision.FULL,
        transposeA,
        transposeB,
        leadA,
        leadB,
        leadC,
        new Factors(0, factors.beta()),
        batch);
  }

  /**
   * Alpha as kernels read it: a word of {@code factors.cuh}.
   *
   * @param written those of a step: its own, of a later chunk, or plain ones of parts
   */
  long alphaWord(Factors written) {
    return word(written.alpha());
  }

  /** Beta, likewise. */
  long betaWord(Factors written) {
    return word(written.beta());
  }

  private long word(double factor) {
    return type == ElementType.FLOAT32
        ? Float.floatToRawIntBits((float) factor)
        : Double.doubleToRawLongBits(factor);
  }

  /**
   * The same products of matrices without gaps, one behind the other; one matrix for all stays one.
   */
  public MultiplyProblem dense() {
    return new MultiplyProblem(
        m,
        k,
        n,
        type,
        precision,
        transposeA,
        transposeB,
        Math.max(1, colsA()),
        Math.max(1, colsB()),
        Math.max(1, n),
        factors,
        new Batch(
            batch.count(),
            batch.strideA() == 0 ? 0 : rowsA() * colsA(),
            batch.strideB() == 0 ? 0 : rowsB() * colsB(),
            m * n));
  }

  /** The first product of the batch. */
  public MultiplyProblem first() {
    return batch.equals(Batch.ONE) ? this : withBatch(Batch.ONE);
  }

  /** Products lie one behind the other, or the rows of all beside each other. */
  private static void requireApart(long m, long n, long leadC, Batch batch) {
    if (batch.count() == 1 || m == 0 || n == 0) {
      return;
    }
    // No overflow: the spans of one and of all were counted.
    boolean behind = batch.strideC() >= (m - 1) * leadC + n;
    boolean beside = batch.strideC() >= n && (batch.count() - 1) * batch.strideC() + n <= leadC;
    if (!behind && !beside) {
      throw new IllegalArgumentException(
          "Products in C lie "
              + batch.strideC()
              + " elements apart and overlap; expected at least the "
              + ((m - 1) * leadC + n)
              + " that "
              + m
              + " x "
              + n
              + " elements with leading dimension "
              + leadC
              + " reach over, or rows of all products beside each other");
    }
  }

  private static void requireLead(String matrix, long lead, long cols) {
    if (lead < Math.max(1, cols)) {
      throw new IllegalArgumentException(
          "Leading dimension of "
              + matrix
              + " is "
              + lead
              + "; expected at least its "
              + cols
              + " columns, and 1");
    }
  }

  /** Rows of one product's A as stored. */
  public long rowsA() {
    return transposeA ? k : m;
  }

  /** Columns of one product's A as stored. */
  public long colsA() {
    return transposeA ? m : k;
  }

  /** Rows of one product's B as stored. */
  public long rowsB() {
    return transposeB ? n : k;
  }

  /** Columns of one product's B as stored. */
  public long colsB() {
    return transposeB ? k : n;
  }

  /** Bytes from the first element of the first A as stored to the end of the last one's last. */
  public long bytesA() {
    return span(rowsA(), colsA(), leadA, type, batch.count(), batch.strideA());
  }

  /** Bytes from the first element of the first B as stored to the end of the last one's last. */
  public long bytesB() {
    return span(rowsB(), colsB(), leadB, type, batch.count(), batch.strideB());
  }

  /** Bytes from the first element of the first C to the end of the last one's last. */
  public long bytesC() {
    return span(m, n, leadC, type, batch.count(), batch.strideC());
  }

  /**
   * Checks the memory that is given for it.
   *
   * @throws IllegalArgumentException if a side's memory has another length than it needs
   */
  public void requireBytes(long foundA, long foundB, long foundC) {
    requireBytes("A", foundA, bytesA());
    requireBytes("B", foundB, bytesB());
    requireBytes("C", foundC, bytesC());
  }

  private void requireBytes(String matrix, long found, long needed) {
    if (found != needed) {
      throw new IllegalArgumentException(
          "Memory of " + matrix + " is " + found + " bytes, " + this + " needs " + needed);
    }
  }

  private static long span(
      long rows, long cols, long lead, ElementType type, long count, long stride) {
    if (rows == 0 || cols == 0) {
      return 0;
    }
    try {
      return Math.multiplyExact(
          Math.addExact(
              Math.multiplyExact(count - 1, stride),
              Math.addExact(Math.multiplyExact(rows - 1, lead), cols)),
          (long) type.bytes());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          rows
              + " x "
              + cols
              + " elements with leading dimension "
              + lead
              + (count == 1 ? "" : ", " + count + " times " + stride + " elements apart,")
              + " exceed 2^63 - 1 bytes",
          e);
    }
  }
}
