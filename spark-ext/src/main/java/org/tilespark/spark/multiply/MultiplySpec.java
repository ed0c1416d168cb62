package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import scala.Option;

/**
 * A product of block matrices: {@code C = op(A) op(B)}, with op(A) m x k and op(B) k x n.
 *
 * @param operator operator's name, for messages
 * @param gram true if there is one operand S only, and the product is {@code op(S) op(S)^T}; then
 *     {@code b} is {@code a} transposed
 * @param a known facts of A
 * @param b known facts of B
 * @param extents M, K and N
 * @param result form of C
 * @param strategy the user's choice of a strategy
 * @param groups count of grouping columns
 */
public record MultiplySpec(
    String operator,
    boolean gram,
    Side a,
    Side b,
    Extents extents,
    Result result,
    Strategy strategy,
    int groups)
    implements Serializable {
  /**
   * Known facts of an operand's blocks.
   *
   * @param transposed true if the operand is transposed
   * @param outer the blocks' extent along the axis that C has too, m or n; a hint for cuts and
   *     costs
   * @param inner the blocks' extent along k; also a hint
   * @param spans true if each block is known to span k
   * @param stated true if these extents are known, so that blocks begin at multiples of them
   * @param common true if the operand is one matrix that is multiplied with each matrix of the
   *     other operand
   * @param parts elements along m or n for each number of the matrix: 2 if real and imaginary parts
   *     alternate, otherwise 1
   */
  public record Side(
      boolean transposed,
      long outer,
      long inner,
      boolean spans,
      boolean stated,
      boolean common,
      int parts)
      implements Serializable {
    /** The facts of these blocks, transposed if {@code flip} is true. */
    public Side flipped(boolean flip) {
      return new Side(transposed ^ flip, outer, inner, spans, stated, common, parts);
    }
  }

  /**
   * The form of a product's blocks.
   *
   * @param type element type of all three matrices
   * @param precision precision of the computation
   * @param blockRows rows of a block of C
   * @param blockCols columns of a block of C
   * @param missing treatment of missing blocks of an operand
   * @param reduction reduction of C in the tasks that compute it; empty if C itself is the result
   * @param epilogue programs on each element of C
   */
  public record Result(
      ElementType type,
      Precision precision,
      int blockRows,
      int blockCols,
      Missing missing,
      Option<Reduction> reduction,
      Epilogue epilogue)
      implements Serializable {}

  /**
   * Programs on each element of C after its sum is complete.
   *
   * @param programs first to last; each maps an element of C's type to another of the same type
   * @param text description in words
   */
  public record Epilogue(List<ElementwiseProgram> programs, String text) implements Serializable {
    /** No programs: C as it is. */
    public static final Epilogue NONE = new Epilogue(List.of(), "");

    /** Copies the list. */
    public Epilogue {
      programs = List.copyOf(programs);
    }
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

  /** Type of the elements of all three matrices. */
  public ElementType type() {
    return result.type;
  }

  /** Rows of a block of C. */
  public int blockRows() {
    return result.blockRows;
  }

  /** Columns of a block of C. */
  public int blockCols() {
    return result.blockCols;
  }

  /** Known facts of B if {@code right} is true, else of A. */
  public Side side(boolean right) {
    return right ? b : a;
  }

  /** Rows and columns of an operand as it is stored: of B if {@code right} is true, else of A. */
  public Shape extents(boolean right) {
    long outer = right ? n() : m();
    return innerIsRow(right) ? Shape.of(k(), outer) : Shape.of(outer, k());
  }

  /** True if K is the axis of an operand's rows, as it is stored. */
  public boolean innerIsRow(boolean right) {
    return right != side(right).transposed();
  }

  /**
   * True if B is the larger operand, which stays in place if the other is broadcast; an operand of
   * several matrices counts as larger than a single common matrix.
   */
  public boolean largerIsRight() {
    return hasCommonSide() ? a.common() : m() < n();
  }

  /** True if one operand is a single matrix that serves all matrices of the other. */
  public boolean hasCommonSide() {
    return a.common() || b.common();
  }

  /** Count of the grouping columns of B if {@code right} is true, else of A. */
  public int groups(boolean right) {
    return side(right).common() ? 0 : groups;
  }

  /** True if A's blocks are those of op(A)^T. */
  public boolean transposeA() {
    return a.transposed();
  }

  /** True if B's blocks are those of op(B)^T. */
  public boolean transposeB() {
    return b.transposed();
  }

  /** This product with A stored as its transpose if {@code flipA}, and B if {@code flipB}. */
  public MultiplySpec flipped(boolean flipA, boolean flipB) {
    return with(gram, a.flipped(flipA), b.flipped(flipB));
  }

  /** {@code C^T = op(B)^T op(A)^T}: the operands change sides. */
  public MultiplySpec transposed() {
    return new MultiplySpec(
        operator,
        gram,
        gram ? a : b.flipped(true),
        gram ? b : a.flipped(true),
        new Extents(n(), k(), m()),
        new Result(
            result.type,
            result.precision,
            result.blockCols,
            result.blockRows,
            result.missing,
            result.reduction,
            result.epilogue),
        strategy instanceof Strategy.Cuboid cuboid
            ? new Strategy.Cuboid(cuboid.q(), cuboid.p(), cuboid.r())
            : strategy,
        groups);
  }

  /** This product as a gram of A. */
  public MultiplySpec asGram() {
    return with(true, a, a.flipped(true));
  }

  private MultiplySpec with(boolean newGram, Side newA, Side newB) {
    return new MultiplySpec(operator, newGram, newA, newB, extents, result, strategy, groups);
  }

  /** The reduction of C in the tasks that compute it; empty if C itself is the result. */
  public Option<Reduction> reduction() {
    return result.reduction;
  }

  /** This product with further programs on each element of C. */
  public MultiplySpec then(List<ElementwiseProgram> programs, String text) {
    List<ElementwiseProgram> all = new ArrayList<>(result.epilogue.programs);
    all.addAll(programs);
    String both = result.epilogue.text.isEmpty() ? text : result.epilogue.text + ", " + text;
    return with(new Epilogue(all, both));
  }

  /** This product without programs on the elements of C. */
  MultiplySpec withoutEpilogue() {
    return with(Epilogue.NONE);
  }

  private MultiplySpec with(Epilogue epilogue) {
    Result after =
        new Result(
            result.type,
            result.precision,
            result.blockRows,
            result.blockCols,
            result.missing,
            result.reduction,
            epilogue);
    return new MultiplySpec(operator, gram, a, b, extents, after, strategy, groups);
  }

  /**
   * True if reduced results of tasks must be merged.
   *
   * @param spread true if different tasks have different columns of C
   */
  public boolean isMerged(boolean spread) {
    return spread && reduction().isDefined() && reduction().get().candidateBytes() > 0;
  }

  /** The product in words: {@code A^T B, 10 x 20 x 30 FLOAT}. */
  public String describe() {
    String product =
        gram
            ? (transposeA() ? "A^T A" : "A A^T")
            : (transposeA() ? "A^T " : "A ") + (transposeB() ? "B^T" : "B");
    return product
        + ", "
        + extents
        + (type() == ElementType.FLOAT32 ? " FLOAT" : " DOUBLE")
        + (result.precision == Precision.FULL ? "" : " in " + result.precision)
        + (result.missing == Missing.ZERO ? ", missing=zero" : "")
        + (groups == 0 ? "" : ", grouped")
        + complexText()
        + (hasCommonSide() ? ", one " + (b.common() ? "B" : "A") + " for all" : "")
        + (result.epilogue.text.isEmpty() ? "" : ", then " + result.epilogue.text)
        + (reduction().isEmpty() ? "" : ", reduced to " + reduction().get().describe());
  }

  /** The names of the operands that are complex, in words; "" if none is. */
  private String complexText() {
    String complex =
        a.parts > 1 && b.parts > 1 && !gram
            ? "A and B"
            : a.parts > 1 ? "A" : b.parts > 1 ? "B" : "";
    return complex.isEmpty() ? "" : ", real and imaginary parts of " + complex;
  }
}
