package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IntegralDivide;
import org.apache.spark.sql.catalyst.expressions.Least;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SHUFFLE_MERGE$;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.runtime.BackendChoice;

/**
 * The QR factorization of a tall matrix A by those of its strips: the algorithm TSQR of Demmel,
 * Grigori, Hoemmen and Langou, "Communication-optimal parallel and sequential QR and LU
 * factorizations" (2012), with the direct Q of Benson, Gleich and Demmel, "Direct QR factorizations
 * for tall-and-skinny matrices in MapReduce architectures" (2013).
 *
 * <pre>
 *   A_0 = Q_0 R_0        R_0
 *   A_1 = Q_1 R_1        R_1   = S, a matrix with far fewer rows, in one block
 *   A_2 = Q_2 R_2        R_2
 * </pre>
 *
 * <p>A = diag(Q_0, Q_1, Q_2) S with orthonormal columns of the first factor. So S has the same R,
 * singular values and right singular vectors as A and the same least-squares solutions, and a left
 * factor X of S becomes one of A, Q_i times the rows of X that belong to strip i: {@link #lifted}.
 * None of this requires full rank.
 *
 * <p>Q_i is computed in the task that multiplies it with its rows of X, perhaps by another LAPACK
 * than R_i. So S is sent along, and Q_i is adapted to its R_i: {@link StripFactors#lifted}.
 *
 * <p>A left factor of S and S, {@code topRows * (k + cols)} doubles, are broadcast to the strips if
 * {@link StripSizes} allows it. Else their parts and the strips are exchanged by the strips'
 * numbers.
 *
 * <p>If S is too large for one block, it is itself factorized in strips. S is {@link Kept}, so all
 * results of one object read A once to compute it. A left factor reads A once more and factorizes
 * its strips again, which is cheaper than storing Q.
 */
final class TallQr {
  // Blocks of A of height rows and all columns; the last one may have fewer rows.
  private final BlockFrame strips;
  private final Shape extents; // extents of A
  private final StripSizes sizes;
  private final int own; // number of columns of A, of which there are more if it is [A | B]
  private final boolean ones; // true if a column of ones stands before A
  private final long height;
  private final Shape stacked; // extents of S
  private final Kept stack; // S, in blocks of (each, width)
  private final Optional<TallQr> above; // factorization of S; empty if S is factorized as one block
  private final String operator;

  private TallQr(
      BlockFrame a,
      int own,
      boolean ones,
      StripSizes sizes,
      Function<LogicalPlan, Dataset<Row>> asDataset) {
    this.operator = a.operator();
    this.extents = a.extents().orElseThrow();
    this.sizes = sizes;
    this.own = own;
    this.ones = ones;
    this.height = sizes.height(extents, a.blockShape());
    this.strips = inBlocks(a.plan(), height, extents.extent(1));
    long full = extents.extent(0) / height;
    long rest = extents.extent(0) % height;
    this.stacked = Shape.of(full * each() + Math.min(rest, width()), width());
    this.stack = Kept.of(triangles(), "triangles of " + operator, asDataset);
    BlockFrame s = frame(stack.plan());
    this.above =
        sizes.areFor(stacked)
            ? Optional.of(new TallQr(s, own, false, sizes, asDataset))
            : Optional.empty();
  }

  /**
   * The factorization of a matrix, or of several matrices of one size.
   *
   * @param a real blocks that state their extents, with more rows than columns in all
   * @param own number of columns of A; later columns belong to B, for messages
   * @param asDataset turns a plan into a DataFrame
   */
  static TallQr of(
      BlockFrame a, int own, StripSizes sizes, Function<LogicalPlan, Dataset<Row>> asDataset) {
    return new TallQr(a, own, false, sizes, asDataset);
  }

  /**
   * The factorization of [1 | A], where 1 is a column of ones: R has the columns' means, scaled, in
   * its first row and R of the centred matrix after it. Left factors cannot be computed by {@link
   * #lifted}.
   *
   * @param a a matrix of any extents; a strip with all columns must fit a block
   */
  static TallQr behindOnes(
      BlockFrame a, StripSizes sizes, Function<LogicalPlan, Dataset<Row>> asDataset) {
    return new TallQr(
        a, Math.toIntExact(a.extents().orElseThrow().extent(1)), true, sizes, asDataset);
  }

  /** Number of columns of S. */
  private long width() {
    return extents.extent(1) + (ones ? 1 : 0);
  }

  /** Number of rows of the triangle of a full strip. */
  private long each() {
    return Math.min(height, width());
  }

  /**
   * The last stack of triangles in one block, of DOUBLE, with fresh column ids at each call: S,
   * unless S is itself factorized in strips.
   */
  BlockFrame top() {
    return above
        .map(TallQr::top)
        .orElseGet(() -> inBlocks(stack.plan(), stacked.extent(0), width()));
  }

  /** The number of levels of stacks until the last one is one block. */
  int levels() {
    return 1 + above.map(TallQr::levels).orElse(0);
  }

  /** Number of rows of {@link #top}. */
  long topRows() {
    return above.map(TallQr::topRows).orElse(stacked.extent(0));
  }

  /**
   * The left factor of A that corresponds to a left factor of {@link #top}: multiplied with the
   * same right factor, the former gives A and the latter the top.
   *
   * @param left [X | top], topRows x (k + cols) of DOUBLE, in any blocks, with the further columns
   *     of A; X must belong to this top, which is not computed again
   * @param k number of columns of X
   * @param type type of the result: FLOAT32 or FLOAT64
   * @return the left factor of A, (rows of A) x k, in strips
   */
  LogicalPlan lifted(LogicalPlan left, long k, ElementType type) {
    return lifted(left, k, false, type);
  }

  private LogicalPlan lifted(LogicalPlan left, long k, boolean withStrips, ElementType type) {
    LogicalPlan ofStack =
        above.map(qr -> qr.lifted(left, k, true, ElementType.FLOAT64)).orElse(left);
    long cols = extents.extent(1);
    long made = withStrips ? Bytes.sum(k, cols) : k;
    BlockFrame x = distinct(inBlocks(ofStack, each(), Bytes.sum(k, cols)));
    List<NamedExpression> columns = new ArrayList<>();
    x.further().forEach(column -> columns.add(Attributes.alias(column, column.name())));
    NamedExpression number =
        Attributes.alias(new IntegralDivide(x.offset(0), number(each())), "strip");
    columns.add(number);
    columns.add(Attributes.alias(x.values(), "left"));
    Project facts = new Project(ScalaInterop.seq(columns), x.plan());
    List<Attribute> given = ScalaInterop.list(facts.output());
    int arrays = x.further().size();
    List<Attribute> further = given.subList(0, arrays);
    List<Attribute> partners =
        further.stream()
            .map(column -> GroupingColumns.named(strips.further(), column).orElseThrow())
            .toList();
    Expression sameStrip =
        new EqualTo(new IntegralDivide(strips.offset(0), number(height)), given.get(arrays));
    LogicalPlan joined =
        new PerArray(facts, further, given)
            .joinedTo(
                strips.plan(),
                partners,
                Inner$.MODULE$,
                Optional.of(sameStrip),
                sizes.areBroadcast(stacked.extent(0), Bytes.sum(k, cols))
                    ? BROADCAST$.MODULE$
                    : SHUFFLE_MERGE$.MODULE$);
    List<Expression> children = new ArrayList<>(strips.block());
    children.add(given.get(arrays + 1));
    ArrayMetadata known =
        ArrayMetadata.empty()
            .withExtents(Shape.of(extents.extent(0), made))
            .withBlockShape(Shape.of(height, made));
    List<NamedExpression> block = new ArrayList<>();
    block.add(Attributes.alias(strips.offset(0), BlockKind.MATRIX.offsetColumns().get(0)));
    block.add(Attributes.alias(number(0), BlockKind.MATRIX.offsetColumns().get(1)));
    block.add(Attributes.alias(strips.size(0), BlockKind.MATRIX.sizeColumns().get(0)));
    block.add(Attributes.alias(size(made), BlockKind.MATRIX.sizeColumns().get(1)));
    block.add(
        Attributes.alias(
            new LiftedStrip(
                arguments(),
                Math.toIntExact(k),
                withStrips,
                type,
                BackendChoice.NOT_YET,
                ScalaInterop.<Expression>seq(children)),
            BlockKind.VALUES,
            known.toMetadata()));
    strips.further().forEach(column -> block.add(Attributes.alias(column, column.name())));
    return new Project(ScalaInterop.seq(block), joined);
  }

  /** The triangles of all strips, each at its place in S. */
  private LogicalPlan triangles() {
    Expression strip = new IntegralDivide(strips.offset(0), number(height));
    ArrayMetadata known =
        ArrayMetadata.empty().withExtents(stacked).withBlockShape(Shape.of(each(), width()));
    List<NamedExpression> block = new ArrayList<>();
    block.add(
        Attributes.alias(
            new Multiply(strip, number(each())), BlockKind.MATRIX.offsetColumns().get(0)));
    block.add(Attributes.alias(number(0), BlockKind.MATRIX.offsetColumns().get(1)));
    block.add(
        Attributes.alias(
            new Least(ScalaInterop.<Expression>seq(strips.size(0), size(width()))),
            BlockKind.MATRIX.sizeColumns().get(0)));
    block.add(Attributes.alias(size(width()), BlockKind.MATRIX.sizeColumns().get(1)));
    block.add(
        Attributes.alias(
            new StripTriangle(
                own,
                ones,
                arguments(),
                BackendChoice.NOT_YET,
                ScalaInterop.<Expression>seq(strips.block())),
            BlockKind.VALUES,
            known.toMetadata()));
    strips.further().forEach(column -> block.add(Attributes.alias(column, column.name())));
    return new Project(ScalaInterop.seq(block), strips.plan());
  }

  private BlockArguments arguments() {
    return BlockArguments.of(strips.blocks(), operator, Optional.of(extents), Missing.ERROR);
  }

  private BlockFrame inBlocks(LogicalPlan plan, long rows, long cols) {
    return frame(
        ReblockPlans.reblock(
            plan, BlockKind.MATRIX, new long[] {rows, cols}, Missing.ERROR, operator));
  }

  /** The frame {@code x}, with fresh column ids if it shares some with the strips. */
  private BlockFrame distinct(BlockFrame x) {
    return frame(Attributes.distinctFrom(strips.plan(), x.plan()));
  }

  private BlockFrame frame(LogicalPlan plan) {
    return BlockFrame.of(plan, BlockKind.MATRIX, operator);
  }

  private static Expression number(long value) {
    return new Literal(value, DataTypes.LongType);
  }

  private static Expression size(long value) {
    return new Literal(Math.toIntExact(value), DataTypes.IntegerType);
  }
}
