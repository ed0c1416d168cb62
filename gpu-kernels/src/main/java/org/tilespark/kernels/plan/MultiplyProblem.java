package org.tilespark.kernels.plan;

import java.util.Objects;
import org.tilespark.layout.ElementType;

/**
 * What is asked of a multiply: {@code C = op(A) op(B)}, or {@code C += op(A) op(B)}, of row-major
 * matrices. {@code op(A)} is M x K and {@code op(B)} is K x N; with {@code transposeA}, A itself is
 * stored as K x M, and with {@code transposeB}, B as N x K. C is M x N.
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
 * @param leadB the same of B
 * @param leadC the same of C
 * @param accumulate true to add to what C holds; false to overwrite it, whatever it holds
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
    boolean accumulate) {
  /**
   * Checks the parts against each other.
   *
   * @throws IllegalArgumentException if an extent is negative, a leading dimension is less than the
   *     columns, the type is no floating-point type, the precision does not suit it, or a side
   *     reaches over more than 2^63 - 1 bytes
   */
  public MultiplyProblem {
    Objects.requireNonNull(precision, "precision");
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
    requireLead("A", leadA, transposeA ? m : k);
    requireLead("B", leadB, transposeB ? k : n);
    requireLead("C", leadC, n);
    span(transposeA ? k : m, transposeA ? m : k, leadA, type);
    span(transposeB ? n : k, transposeB ? k : n, leadB, type);
    span(m, n, leadC, type);
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

  /** Bytes from the first element of A as stored to the end of its last. */
  public long bytesA() {
    return span(transposeA ? k : m, transposeA ? m : k, leadA, type);
  }

  /** Bytes from the first element of B as stored to the end of its last. */
  public long bytesB() {
    return span(transposeB ? n : k, transposeB ? k : n, leadB, type);
  }

  /** Bytes from the first element of C to the end of its last. */
  public long bytesC() {
    return span(m, n, leadC, type);
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

  private static long span(long rows, long cols, long lead, ElementType type) {
    if (rows == 0 || cols == 0) {
      return 0;
    }
    try {
      return Math.multiplyExact(
          Math.addExact(Math.multiplyExact(rows - 1, lead), cols), (long) type.bytes());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          rows
              + " x "
              + cols
              + " elements with leading dimension "
              + lead
              + " exceed 2^63 - 1 bytes",
          e);
    }
  }
}
