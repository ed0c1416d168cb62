package org.tilespark.spark.multiply.cost;

import java.util.Objects;
import java.util.Optional;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.Bytes;

/**
 * Facts known to a planner of a product C = A B of an M x K and a K x N matrix.
 *
 * @param extents extents of both operands, each 1 or more
 * @param type element type: FLOAT32 or FLOAT64
 * @param a known facts of A
 * @param b known facts of B
 * @param gridM rows of a block of C; if tasks' tiles cut through blocks, a shuffle of all of C
 *     assembles these
 * @param gridN columns of a block of C
 * @param reduced part of C that tasks keep, if C itself is not the result
 */
public record MultiplyShape(
    Extents extents,
    ElementType type,
    Operand a,
    Operand b,
    long gridM,
    long gridN,
    Optional<Reduced> reduced) {
  /**
   * The part of its tile of C that a task keeps, like the best candidates of each row. The task
   * needs K whole for that, and holds its parts of both operands.
   *
   * @param candidateBytes bytes of a task's candidates for each row of C if other tasks have other
   *     columns of the row; 0 if a task's results are final
   */
  public record Reduced(long candidateBytes) {}

  /** A product whose result is C itself, without a reduction. */
  public MultiplyShape(
      Extents extents, ElementType type, Operand a, Operand b, long gridM, long gridN) {
    this(extents, type, a, b, gridM, gridN, Optional.empty());
  }

  /**
   * Known facts of an operand.
   *
   * @param bytes bytes of its existing blocks; less than its extents imply if blocks are missing
   * @param outer elements of a block along M or N; 1 if not known
   * @param inner elements of a block along K; 1 if not known
   * @param whole true if a broadcast of the other operand needs no shuffle of partial sums: each
   *     block of this one spans K and gives whole blocks of C (or can be reduced), and missing
   *     blocks are found
   */
  public record Operand(long bytes, long outer, long inner, boolean whole) {}

  /** An axis of a product. */
  public enum Axis {
    M,
    K,
    N
  }

  /**
   * Operands whose blocks are in partitions already, each of which could be one cuboid, cut along
   * one axis only. These operands need not be shuffled again.
   *
   * @param left true if A's blocks are in these partitions
   * @param right true if B's blocks are; {@code left} and {@code right} are both true only if the
   *     partitions differ along K
   * @param axis axis along which the partitions differ
   * @param parts partitions that have blocks, 1 or more
   * @param largest elements of the largest part along the axis
   * @param onGrid true if each block of C is inside one partition
   */
  public record InPlaceOperands(
      boolean left, boolean right, Axis axis, int parts, long largest, boolean onGrid) {
    /** Count of the parts of an axis; 1 unless the partitions differ along it. */
    int parts(Axis of) {
      return of == axis ? parts : 1;
    }

    /** Elements of the largest part of an axis with {@code extent} elements. */
    long largest(Axis of, long extent) {
      return of == axis ? largest : extent;
    }
  }

  /** Checks that all extents are 1 or more. */
  public MultiplyShape {
    Objects.requireNonNull(type, "type");
    if (Math.min(Math.min(extents.m(), extents.k()), extents.n()) < 1
        || Math.min(Math.min(a.outer, b.outer), Math.min(a.inner, b.inner)) < 1
        || Math.min(gridM, gridN) < 1
        || Math.min(a.bytes, b.bytes) < 0) {
      throw new IllegalArgumentException(
          ("Multiply of %s in blocks of %s x %s x %s, %s and %s bytes; expected"
                  + " extents and blocks of 1 or more and bytes of 0 or more")
              .formatted(extents, a.outer, Math.max(a.inner, b.inner), b.outer, a.bytes, b.bytes));
    }
  }

  /** A product of operands without missing blocks, in blocks of unknown shape. */
  public static MultiplyShape dense(long m, long k, long n, ElementType type) {
    return new MultiplyShape(
        new Extents(m, k, n),
        type,
        new Operand(Bytes.product(m, k, type.bytes()), 1, 1, false),
        new Operand(Bytes.product(k, n, type.bytes()), 1, 1, false),
        1,
        1);
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

  /** Extent along K of a block of A or of B, whichever is larger. */
  public long blockK() {
    return Math.max(a.inner, b.inner);
  }

  /** The cuts of M into parts: between blocks of C, if there are enough blocks. */
  public AxisCuts cutsM(int parts) {
    return cuts(m(), parts, gridM);
  }

  /** The cuts of N into parts, as {@link #cutsM}. */
  public AxisCuts cutsN(int parts) {
    return cuts(n(), parts, gridN);
  }

  /** The largest number of parts that K may be cut into. */
  long mostPartsOfK() {
    return reduced.isPresent() ? 1 : k();
  }

  /** True if blocks of C are whole in {@code p} parts of M and {@code q} of N. */
  public boolean onGrid(int p, int q) {
    return p <= blocks(m(), gridM) && q <= blocks(n(), gridN);
  }

  /** Elements of the largest of {@code parts} parts of M. */
  long largestM(int parts) {
    return largest(m(), parts, gridM);
  }

  /** Elements of the largest of {@code parts} parts of N. */
  long largestN(int parts) {
    return largest(n(), parts, gridN);
  }

  private static AxisCuts cuts(long extent, int parts, long grid) {
    if (parts > blocks(extent, grid)) {
      return AxisCuts.even(extent, parts, 1);
    }
    long[] places = AxisCuts.even(blocks(extent, grid), parts, 1).places();
    for (int i = 0; i < places.length; i++) {
      places[i] = i == parts ? extent : places[i] * grid;
    }
    return AxisCuts.at(places);
  }

  private static long largest(long extent, int parts, long grid) {
    long blocks = blocks(extent, grid);
    return parts > blocks ? ceil(extent, parts) : Math.min(extent, ceil(blocks, parts) * grid);
  }

  private static long blocks(long extent, long grid) {
    return ceil(extent, grid);
  }

  private static long ceil(long whole, long parts) {
    return whole / parts + (whole % parts == 0 ? 0 : 1);
  }

  /** Bytes of C. */
  public long bytesC() {
    return Bytes.product(m(), n(), type.bytes());
  }
}
