package org.tilespark.kernels.multiply;

import java.util.Objects;
import org.tilespark.layout.ElementType;

/**
 * A multiply: {@code C = alpha op(A) op(B) + beta C}, of row-major matrices. {@code op(A)} is M x K
 * and {@code op(B)} is K x N; a transposed A is itself stored as K x M, and a transposed B as N x
 * K. C is M x N. A batch is several products of one shape.
 *
 * @param extents M, K and N; any may be 0
 * @param type {@link ElementType#FLOAT32} or {@link ElementType#FLOAT64}, the type of all three
 *     matrices
 * @param precision precision of the computation; {@link Precision#FULL} for FLOAT64
 * @param a how A is stored
 * @param b how B is stored
 * @param leadC elements between the starts of neighbouring rows of C, at least its columns
 * @param factors alpha and beta; rounded to float for FLOAT32
 * @param batch number of products, and their distances
 */
public record MultiplyProblem(
    Extents extents,
    ElementType type,
    Precision precision,
    Stored a,
    Stored b,
    long leadC,
    Factors factors,
    Batch batch) {
  /**
   * How an operand is stored.
   *
   * @param transposed true if the operand is stored transposed
   * @param lead elements between the starts of neighbouring rows as stored, at least its columns
   */
  public record Stored(boolean transposed, long lead) {}

  /**
   * The factors of the product, and of C before the product is added to it: as in BLAS, any numbers
   * except an infinite alpha; for FLOAT32 they must be in a float's range. Our kernels round twice:
   * alpha times the sum of products, then that plus beta times C.
   *
   * <p>Alpha must be finite because K may be summed in chunks, and alpha multiplies each chunk's
   * sum: infinity times the sums gives NaN if their signs differ or one is 0. A finite alpha has
   * the same effect if alpha times a chunk's sum overflows.
   *
   * @param alpha factor of the product, finite or NaN; if 0, A and B are not read, and with K = 0
   *     it has no effect
   * @param beta factor of C's contents; if 0, C is overwritten, whatever it holds
   */
  public record Factors(double alpha, double beta) {
    /** {@code C = op(A) op(B)}. */
    public static final Factors OVERWRITE = new Factors(1, 0);

    /** {@code C += op(A) op(B)}. */
    public static final Factors ADD = new Factors(1, 1);

    /**
     * Turns negative zeros into positive ones.
     *
     * @throws IllegalArgumentException if alpha is infinite
     */
    public Factors {
      if (Double.isInfinite(alpha)) {
        throw new IllegalArgumentException(
            ("Alpha is %s; expected a finite number or NaN, because K may be summed in"
                    + " chunks, each of which is multiplied by alpha")
                .formatted(alpha));
      }
      alpha = alpha == 0 ? 0 : alpha;
      beta = beta == 0 ? 0 : beta;
    }

    /** True if the result depends on what C holds. */
    public boolean readsC() {
      return beta != 0;
    }

    /**
     * Factors for a later chunk of K: C was multiplied by beta already, so the chunk is only added.
     */
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
            "%s is %s, which is %s as a float; expected one in range"
                .formatted(name, factor, rounded));
      }
      return rounded;
    }
  }

  /**
   * A number of products of one shape, and their distances in memory.
   *
   * @param count how many products, at least one
   * @param strideA elements between the starts of neighbouring products' A; 0 if all products share
   *     A or there is only one
   * @param strideB elements between the starts of neighbouring products' B, likewise
   * @param strideC elements between the starts of neighbouring products' C, which may not overlap;
   *     0 if there is only one
   */
  public record Batch(long count, long strideA, long strideB, long strideC) {
    /** A batch of a single product. */
    public static final Batch ONE = new Batch(1, 0, 0, 0);

    /**
     * Checks the components; strides of one product become 0.
     *
     * @throws IllegalArgumentException if there is no product, or a stride is negative
     */
    public Batch {
      if (count < 1) {
        throw new IllegalArgumentException("Batch of " + count + " products; expected at least 1");
      }
      if (strideA < 0 || strideB < 0 || strideC < 0) {
        throw new IllegalArgumentException(
            "Batch of products %s, %s and %s elements apart; expected 0 or more"
                .formatted(strideA, strideB, strideC));
      }
      if (count == 1) {
        strideA = 0;
        strideB = 0;
        strideC = 0;
      }
    }
  }

  /**
   * Checks the components against each other.
   *
   * @throws IllegalArgumentException if an extent is negative, a leading dimension is less than the
   *     columns, the type is no floating-point type, the precision or a factor does not suit it,
   *     products of a batch overlap in C, or a matrix spans more than 2^63 - 1 bytes
   */
  public MultiplyProblem {
    Objects.requireNonNull(precision, "precision");
    Objects.requireNonNull(factors, "factors");
    Objects.requireNonNull(batch, "batch");
    if (extents.m() < 0 || extents.k() < 0 || extents.n() < 0) {
      throw new IllegalArgumentException(
          "Multiply of " + extents + "; expected extents of 0 or more");
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
    long rowsA = a.transposed() ? extents.k() : extents.m();
    long colsA = a.transposed() ? extents.m() : extents.k();
    long rowsB = b.transposed() ? extents.n() : extents.k();
    long colsB = b.transposed() ? extents.k() : extents.n();
    requireLead("A", a.lead(), colsA);
    requireLead("B", b.lead(), colsB);
    requireLead("C", leadC, extents.n());
    span(rowsA, colsA, a.lead(), type, batch.count(), batch.strideA());
    span(rowsB, colsB, b.lead(), type, batch.count(), batch.strideB());
    span(extents.m(), extents.n(), leadC, type, batch.count(), batch.strideC());
    requireApart(extents.m(), extents.n(), leadC, batch);
  }

  /** A product of dense matrices that overwrites C. */
  public static MultiplyProblem dense(
      long m, long k, long n, ElementType type, boolean transposeA, boolean transposeB) {
    return new MultiplyProblem(
        new Extents(m, k, n),
        type,
        Precision.FULL,
        new Stored(transposeA, Math.max(1, transposeA ? m : k)),
        new Stored(transposeB, Math.max(1, transposeB ? k : n)),
        Math.max(1, n),
        Factors.OVERWRITE,
        Batch.ONE);
  }

  /** Rows of C. */
  public long m() {
    return extents.m();
  }

  /** The extent that is summed over. */
  public long k() {
    return extents.k();
  }

  /** Columns of C. */
  public long n() {
    return extents.n();
  }

  /** This problem over the first {@code steps} steps of K alone. */
  MultiplyProblem withK(long steps) {
    return new MultiplyProblem(
        new Extents(m(), steps, n()), type, precision, a, b, leadC, factors, batch);
  }

  /** This problem of the first {@code rows} rows of C alone. */
  public MultiplyProblem withRows(long rows) {
    return new MultiplyProblem(
        new Extents(rows, k(), n()), type, precision, a, b, leadC, factors, batch);
  }

  /** This problem of the first {@code cols} columns of C alone. */
  public MultiplyProblem withCols(long cols) {
    return new MultiplyProblem(
        new Extents(m(), k(), cols), type, precision, a, b, leadC, factors, batch);
  }

  /**
   * A batch of products like this one.
   *
   * @throws IllegalArgumentException if the products overlap in C, or a matrix spans more than 2^63
   *     - 1 bytes
   */
  public MultiplyProblem withBatch(Batch products) {
    return new MultiplyProblem(extents, type, precision, a, b, leadC, factors, products);
  }

  /**
   * This problem with the factors {@code asked}.
   *
   * @throws IllegalArgumentException if a factor of FLOAT32 is out of a float's range
   */
  public MultiplyProblem withFactors(Factors asked) {
    return new MultiplyProblem(extents, type, precision, a, b, leadC, asked, batch);
  }

  /** This problem with precision {@code asked}. */
  public MultiplyProblem withPrecision(Precision asked) {
    return new MultiplyProblem(extents, type, asked, a, b, leadC, factors, batch);
  }

  /**
   * True if B may be the transpose of A, so that op(A) op(B) is symmetric.
   *
   * @see Multiplier#multiplyHalf
   */
  public boolean isGram() {
    return m() == n()
        && a.transposed() != b.transposed()
        && a.lead() == b.lead()
        && batch.strideA() == batch.strideB();
  }

  /** True if A and B contribute to the result. */
  public boolean readsOperands() {
    return k() > 0 && factors.alpha() != 0;
  }

  /** True if C stays as it is, or is empty. */
  public boolean keepsC() {
    return m() == 0 || n() == 0 || (!readsOperands() && factors.beta() == 1);
  }

  /** The factors of the chunk of K from step {@code p} on: beta is 1 except in the first chunk. */
  public Factors factorsFrom(long p) {
    return p > 0 ? factors.next() : factors;
  }

  /** The problem that only multiplies C by beta: A and B are empty. */
  MultiplyProblem scaleOnly() {
    return new MultiplyProblem(
        new Extents(m(), 0, n()),
        type,
        Precision.FULL,
        a,
        b,
        leadC,
        new Factors(0, factors.beta()),
        batch);
  }

  /**
   * Alpha as kernels read it: a word of {@code factors.cuh}.
   *
   * @param written factors of a step: the factors of the problem, those of a later chunk, or 1 and
   *     0 for parts of K
   */
  long alphaWord(Factors written) {
    return word(written.alpha());
  }

  /** Beta as kernels read it, likewise. */
  long betaWord(Factors written) {
    return word(written.beta());
  }

  private long word(double factor) {
    return type == ElementType.FLOAT32
        ? Float.floatToRawIntBits((float) factor)
        : Double.doubleToRawLongBits(factor);
  }

  /**
   * These products with dense matrices and no gaps between them; a matrix that all products share
   * stays shared.
   */
  public MultiplyProblem dense() {
    return new MultiplyProblem(
        extents,
        type,
        precision,
        new Stored(a.transposed(), Math.max(1, colsA())),
        new Stored(b.transposed(), Math.max(1, colsB())),
        Math.max(1, n()),
        factors,
        new Batch(
            batch.count(),
            batch.strideA() == 0 ? 0 : rowsA() * colsA(),
            batch.strideB() == 0 ? 0 : rowsB() * colsB(),
            m() * n()));
  }

  /** The first product of the batch. */
  public MultiplyProblem first() {
    return batch.equals(Batch.ONE) ? this : withBatch(Batch.ONE);
  }

  /** Checks that the Cs of a batch are consecutive, or that their rows are interleaved. */
  private static void requireApart(long m, long n, long leadC, Batch batch) {
    if (batch.count() == 1 || m == 0 || n == 0) {
      return;
    }
    // There is no overflow: the spans of one matrix and of the batch were computed before.
    boolean behind = batch.strideC() >= (m - 1) * leadC + n;
    boolean beside = batch.strideC() >= n && (batch.count() - 1) * batch.strideC() + n <= leadC;
    if (!behind && !beside) {
      throw new IllegalArgumentException(
          ("Products in C lie %s elements apart and overlap; expected at least the %s"
                  + " that %s x %s elements with leading dimension %s reach over, or rows of all"
                  + " products beside each other")
              .formatted(batch.strideC(), (m - 1) * leadC + n, m, n, leadC));
    }
  }

  private static void requireLead(String matrix, long lead, long cols) {
    if (lead < Math.max(1, cols)) {
      throw new IllegalArgumentException(
          "Leading dimension of %s is %s; expected at least its %s columns, and 1"
              .formatted(matrix, lead, cols));
    }
  }

  /** Rows of one product's A as stored. */
  public long rowsA() {
    return a.transposed() ? k() : m();
  }

  /** Columns of one product's A as stored. */
  public long colsA() {
    return a.transposed() ? m() : k();
  }

  /** Rows of one product's B as stored. */
  public long rowsB() {
    return b.transposed() ? n() : k();
  }

  /** Columns of one product's B as stored. */
  public long colsB() {
    return b.transposed() ? k() : n();
  }

  /**
   * Bytes from the first element of the first A as stored to the end of the last A's last element.
   */
  public long bytesA() {
    return span(rowsA(), colsA(), a.lead(), type, batch.count(), batch.strideA());
  }

  /**
   * Bytes from the first element of the first B as stored to the end of the last B's last element.
   */
  public long bytesB() {
    return span(rowsB(), colsB(), b.lead(), type, batch.count(), batch.strideB());
  }

  /** Bytes from the first element of the first C to the end of the last C's last element. */
  public long bytesC() {
    return span(m(), n(), leadC, type, batch.count(), batch.strideC());
  }

  /**
   * Checks the lengths of the matrices' memory.
   *
   * @throws IllegalArgumentException if a matrix has another length than the problem needs
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
          "%s x %s elements with leading dimension %s%s exceed 2^63 - 1 bytes"
              .formatted(
                  rows,
                  cols,
                  lead,
                  count == 1 ? "" : ", " + count + " times " + stride + " elements apart,"),
          e);
    }
  }
}
