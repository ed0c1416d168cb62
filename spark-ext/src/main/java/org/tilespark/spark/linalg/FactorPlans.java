package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayItem;
import org.apache.spark.sql.catalyst.expressions.Inline;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Assume;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.permute.PermutePlans;
import org.tilespark.spark.pointwise.ExpressionPlans;
import org.tilespark.spark.pointwise.ExpressionPlans.Asked;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.reduce.ArrayReduction;
import org.tilespark.spark.reduce.Norm;
import org.tilespark.spark.reduce.ReductionPlans;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.slice.ConcatPlans;
import org.tilespark.spark.slice.SlicePlans;
import org.tilespark.spark.slice.SliceText;

/**
 * Makes the logical plans of factorisations of a matrix that fits one block:
 *
 * <pre>
 *   Project                the blocks of the factors, by row, col, rows, cols, values
 *     Generate, FactorBlock  a row for each factor of each matrix
 *       a re-block to the whole extents, if blocks are smaller
 * </pre>
 *
 * <p>Further columns distinguish several matrices of one size, each of which becomes one block. No
 * part of a matrix comes to the driver.
 */
public final class FactorPlans {
  /**
   * Most bytes of a block's values, which are one array of a row, with room for the row's other
   * columns.
   */
  private static final long MOST_BYTES = Integer.MAX_VALUE - (1L << 20);

  /**
   * Largest shorter side of a matrix whose k largest singular values are always taken from the full
   * decomposition.
   */
  public static final long MOST_EXACT = 512;

  private final String operator;
  private final KnownOperand operand;
  private final Optional<StripSizes> sizes; // sizes of strips; the usual ones if empty
  private final Function<LogicalPlan, Dataset<Row>> asDataset;
  private final long rows;
  private final long cols;
  private final ElementType result;

  /**
   * Plans over a matrix, or over several matrices of one size.
   *
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if there are no matrix blocks, or matrices of several sizes
   * @throws UnsupportedOperationException if the blocks are complex
   */
  public FactorPlans(
      LogicalPlan input, Function<LogicalPlan, Dataset<Row>> asDataset, String operator) {
    this(input, Optional.empty(), asDataset, operator);
  }

  /**
   * Plans over a matrix, or over several matrices of one size; a tall one is cut into strips of
   * these sizes.
   */
  FactorPlans(
      LogicalPlan input,
      StripSizes sizes,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    this(input, Optional.of(sizes), asDataset, operator);
  }

  private FactorPlans(
      LogicalPlan input,
      Optional<StripSizes> sizes,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    BlockFrame frame = BlockFrame.combined(input, BlockKind.MATRIX, operator, "");
    if (frame.blocks().isComplex()) {
      throw new UnsupportedOperationException(
          operator
              + ": the blocks are complex; factorisations of complex matrices are not supported"
              + " yet, expected real ones (which have no column imag)");
    }
    this.operator = operator;
    this.operand =
        KnownOperand.of(input, BlockKind.MATRIX, Missing.ERROR, asDataset, operator)
            .withoutSpectrum();
    this.sizes = sizes;
    this.asDataset = asDataset;
    this.rows = operand.extents().extent(0);
    this.cols = operand.extents().extent(1);
    this.result =
        frame.blocks().elementType() == ElementType.FLOAT32
            ? ElementType.FLOAT32
            : ElementType.FLOAT64;
  }

  // ---- operators

  /**
   * The lower triangle of the Cholesky factorisation.
   *
   * @throws IllegalArgumentException if the matrix is not square
   */
  public LogicalPlan cholesky() {
    requireSquare();
    return only(spec(Factoring.CHOLESKY), Shape.of(rows, rows));
  }

  /**
   * Eigenvalues and eigenvectors of a symmetric matrix.
   *
   * @param largest number of largest eigenvalues to compute; all if empty
   * @throws IllegalArgumentException if the matrix is not square, or has fewer rows than that
   */
  public LogicalPlan eigh(Optional<Long> largest) {
    requireSquare();
    long count = largest.orElse(rows);
    if (count < 1 && largest.isPresent() || count > rows) {
      throw bad("k is %s; expected 1 to %s, the count of rows", count, rows);
    }
    FactorSpec spec = spec(Factoring.EIGH);
    return table(
        largest.isPresent() ? spec.withLargest(Math.toIntExact(count)) : spec,
        List.of(Shape.of(count, 1), Shape.of(rows, count)));
  }

  /** The eigenvalues alone of a symmetric matrix, as a column. */
  public LogicalPlan eigvalsh() {
    requireSquare();
    return only(spec(Factoring.EIGVALSH), Shape.of(rows, 1));
  }

  /** The table of the thin factors Q and R. */
  public LogicalPlan qr() {
    Optional<TallPlans> tall = tall();
    if (tall.isPresent()) {
      return tall.get().qr();
    }
    return table(
        spec(Factoring.QR), List.of(Shape.of(rows, shortSide()), Shape.of(shortSide(), cols)));
  }

  /** The factor R alone, of the matrix's QR factorization. */
  public LogicalPlan r() {
    return only(spec(Factoring.QR_R), Shape.of(shortSide(), cols));
  }

  /** The table of the thin singular value decomposition. */
  public LogicalPlan svd() {
    return svd(shortSide());
  }

  /**
   * The largest singular values and their vectors; by a randomized method if both sides are long
   * and k is small.
   *
   * @param k number of singular values, 1 up to the shorter side
   * @param random the randomized method's options
   * @throws IllegalArgumentException if k is out of range
   */
  public LogicalPlan svd(long k, RangeOptions random) {
    if (k < 1 || k > shortSide()) {
      throw bad(
          "k is %s; expected 1 to %s, the shorter side of the matrix of %s",
          k, shortSide(), operand.extents());
    }
    boolean areFew = Bytes.sum(k, random.oversampling()) <= shortSide() / 4;
    return shortSide() > MOST_EXACT && areFew
        ? new RandomizedSvd(floating().operand.frame(), random, sizes(), asDataset).svd(k)
        : svd(k);
  }

  /** The first {@code count} singular values and their vectors, from the exact decomposition. */
  LogicalPlan svd(long count) {
    Optional<TallPlans> tall = tall();
    if (tall.isPresent()) {
      return tall.get().svd(count);
    }
    Optional<TallPlans> wide = wide();
    if (wide.isPresent()) {
      LogicalPlan ofTransposed = wide.get().svd(count);
      return FactorTable.of(
          Map.of(
              "u", transposed(factor(ofTransposed, "vt")),
              "s", factor(ofTransposed, "s"),
              "vt", transposed(factor(ofTransposed, "u"))),
          operator);
    }
    LogicalPlan all =
        table(
            spec(Factoring.SVD),
            List.of(
                Shape.of(rows, shortSide()),
                Shape.of(shortSide(), 1),
                Shape.of(shortSide(), cols)));
    if (count == shortSide()) {
      return all;
    }
    return FactorTable.of(
        Map.of(
            "u", sliced(factor(all, "u"), ":,:" + count),
            "s", sliced(factor(all, "s"), ":" + count),
            "vt", sliced(factor(all, "vt"), ":" + count)),
        operator);
  }

  private LogicalPlan factor(LogicalPlan table, String name) {
    return FactorTable.factor(table, name, operator);
  }

  private LogicalPlan sliced(LogicalPlan plan, String text) {
    return SlicePlans.slice(
        plan,
        BlockKind.MATRIX,
        SliceText.parse(operator, text, BlockKind.MATRIX),
        asDataset,
        operator);
  }

  private LogicalPlan transposed(LogicalPlan plan) {
    return PermutePlans.permute(plan, BlockKind.MATRIX, Permutation.of(1, 0), operator);
  }

  /**
   * Plans that factorise the matrix in strips; empty if it is not tall, or if one task is as fast.
   */
  private Optional<TallPlans> tall() {
    return sizes().areFor(operand.extents())
        ? Optional.of(
            new TallPlans(operand.frame(), Math.toIntExact(cols), sizes(), result, asDataset))
        : Optional.empty();
  }

  /**
   * Plans that factorise the transposed matrix in strips; empty if that is not tall, or if one task
   * is as fast.
   */
  private Optional<TallPlans> wide() {
    return sizes().areFor(Shape.of(cols, rows))
        ? Optional.of(
            new TallPlans(
                BlockFrame.of(transposed(operand.plan()), BlockKind.MATRIX, operator),
                Math.toIntExact(rows),
                sizes(),
                result,
                asDataset))
        : Optional.empty();
  }

  private StripSizes sizes() {
    return sizes.orElseGet(
        () -> StripSizes.of(asDataset.apply(new OneRowRelation()).sparkSession().sparkContext()));
  }

  /** Plans over this matrix with elements of FLOAT or DOUBLE. */
  private FactorPlans floating() {
    return operand.frame().blocks().elementType() == result
        ? this
        : new FactorPlans(as(result), sizes, asDataset, operator);
  }

  /** The singular values of the matrix, as a column. */
  public LogicalPlan svdvals() {
    Optional<TallPlans> strips = tall().or(this::wide);
    if (strips.isPresent()) {
      return strips.get().svdvals();
    }
    return only(spec(Factoring.SVDVALS), Shape.of(shortSide(), 1));
  }

  /**
   * The Moore-Penrose inverse.
   *
   * @param rcond ratio to the largest singular value up to which a singular value counts as zero;
   *     if empty, the larger extent times the type's epsilon
   */
  public LogicalPlan pinv(Optional<Double> rcond) {
    Optional<TallPlans> tall = tall();
    if (tall.isPresent()) {
      return tall.get().pinv(tolerance(rcond));
    }
    Optional<TallPlans> wide = wide();
    if (wide.isPresent()) {
      return transposed(wide.get().pinv(tolerance(rcond)));
    }
    return only(spec(Factoring.PINV).withTolerance(tolerance(rcond)), Shape.of(cols, rows));
  }

  /** The sign and the logarithm of the absolute value of the determinant: a row for each matrix. */
  public LogicalPlan slogdet() {
    requireSquare();
    requireElements();
    FactorSpec spec = FactorSpec.of(Factoring.SLOGDET, Math.toIntExact(cols), ElementType.FLOAT64);
    LogicalPlan both = only(spec, Shape.of(1, 2));
    return asRows(both, List.of("sign", "logabsdet"), DataTypes.DoubleType);
  }

  /**
   * The count of singular values above a tolerance: a row for each matrix.
   *
   * @param above tolerance up to which a singular value counts as zero; if empty, {@code ratio}
   *     times the largest singular value
   * @param ratio ratio to the largest singular value; if empty, the larger extent times the type's
   *     epsilon
   */
  public LogicalPlan rank(Optional<Double> above, Optional<Double> ratio) {
    requireElements();
    LogicalPlan values = svdvals();
    FactorSpec spec =
        FactorSpec.of(above.isPresent() ? Factoring.COUNT_ABOVE : Factoring.RANK, 1, result)
            .withTolerance(above.orElseGet(() -> tolerance(ratio)));
    BlockFrame column = BlockFrame.of(values, BlockKind.MATRIX, operator);
    return asRows(only(column, spec, Shape.of(1, 1)), List.of("value"), DataTypes.LongType);
  }

  /**
   * The largest singular value for {@link Norm#TWO}, otherwise the sum of all.
   *
   * @param call call of the norm as a reduction over both axes
   */
  public LogicalPlan norm(Norm norm, ReductionPlans.Call call) {
    requireElements();
    return ReductionPlans.reduce(
        svdvals(), norm == Norm.TWO ? ArrayReduction.MAX : ArrayReduction.SUM, call);
  }

  // ---- linear equations

  /**
   * The solution X of A X = B.
   *
   * @param right the matrix B, with as many rows as A
   * @throws IllegalArgumentException if A is not square or B does not fit it
   */
  public LogicalPlan solve(LogicalPlan right, Assume assume) {
    requireSquare();
    FactorPlans b = rightSide(right);
    boolean isGeneral = assume == Assume.GENERAL;
    Shape extents = b.operand.extents();
    FactorSpec spec =
        FactorSpec.of(
            isGeneral ? Factoring.SOLVE : Factoring.SOLVE_POSITIVE,
            Math.toIntExact(cols),
            common(b));
    if (extents.elements() == 0) {
      return only(b.operand.frame(), spec, extents);
    }
    boolean arePairs = operand.frame().further().size() == b.operand.frame().further().size();
    if (arePairs && b.bytes(b.cols) <= UsualShape.LARGE_BYTES && fitsBeside(b)) {
      return only(beside(b), spec, extents);
    }
    FactorSpec factor =
        FactorSpec.of(
            isGeneral ? Factoring.LU : Factoring.LOWER, spec.columns(), ElementType.FLOAT64);
    Shape size = Shape.of(rows + 1, rows); // the factor and a row of pivots
    LogicalPlan kept =
        kept(only(factor, size), "factor of %s, %s doubles".formatted(operator, size));
    long room = MOST_BYTES - Bytes.product(size.elements(), Double.BYTES);
    return new StripSolve(operator, kept, operand.frame()).plan(b.inStrips(room), spec);
  }

  /**
   * The least-squares solutions of A X = B, of least norm if there are several.
   *
   * @param right the matrix B, with as many rows as A
   * @param rcond ratio as for {@link #pinv}
   * @throws IllegalArgumentException if B does not fit A
   */
  public LogicalPlan lstsq(LogicalPlan right, Optional<Double> rcond) {
    requireElements();
    FactorPlans b = rightSide(right);
    b.requireElements();
    FactorSpec spec =
        FactorSpec.of(Factoring.LSTSQ, Math.toIntExact(cols), common(b))
            .withTolerance(tolerance(rcond, common(b)));
    Map<String, ArrayMetadata> known =
        extents(
            spec,
            List.of(
                Shape.of(cols, b.cols),
                Shape.of(b.cols, 1),
                Shape.of(1, 1),
                Shape.of(shortSide(), 1)));
    if (sizes().areFor(Shape.of(rows, Bytes.sum(cols, b.cols)))) {
      // R of [A | B] has the same solutions, residuals and singular values.
      return new TallPlans(
              joined(b).frame(), Math.toIntExact(cols), sizes(), spec.result(), asDataset)
          .table(spec, known);
    }
    return kept(of(beside(b), spec, known, true));
  }

  private FactorPlans rightSide(LogicalPlan right) {
    FactorPlans b = new FactorPlans(right, asDataset, operator + ", matrix B");
    if (b.rows != rows) {
      throw bad(
          "A is %s x %s, B is %s x %s; expected as many rows of both (a vector is a matrix of one"
              + " column)",
          rows, cols, b.rows, b.cols);
    }
    return b;
  }

  /** The type of results that are computed from this matrix and another one. */
  private ElementType common(FactorPlans b) {
    return result == b.result ? result : ElementType.FLOAT64;
  }

  private long bytes(long count) {
    int each = operand.frame().blocks().elementType().bytes();
    return Bytes.product(Bytes.product(rows, count), each);
  }

  private boolean fitsBeside(FactorPlans b) {
    int each = common(b).bytes();
    return Bytes.product(Bytes.product(rows, Bytes.sum(cols, b.cols)), each) <= MOST_BYTES;
  }

  /**
   * The matrix [A | B] as one block.
   *
   * @throws IllegalArgumentException if that does not fit a row, or the further columns of A and B
   *     do not name the same matrices
   */
  private BlockFrame beside(FactorPlans b) {
    return oneBlock(joined(b), operator);
  }

  /** The matrix [A | B]. */
  private KnownOperand joined(FactorPlans b) {
    List<LogicalPlan> both = List.of(as(common(b)), b.as(common(b)));
    LogicalPlan joined = ConcatPlans.concat(both, BlockKind.MATRIX, 1, asDataset, operator);
    return KnownOperand.of(joined, BlockKind.MATRIX, Missing.ERROR, asDataset, operator);
  }

  /** The plan of this matrix with elements of {@code type}, which must be able to hold them. */
  private LogicalPlan as(ElementType type) {
    String name = type == ElementType.FLOAT32 ? "FLOAT" : "DOUBLE";
    return operand.frame().blocks().elementType() == type
        ? operand.plan()
        : ExpressionPlans.map(
            operand.plan(),
            BlockKind.MATRIX,
            new Asked("CAST(v AS %s)".formatted(name), Map.of()),
            operator);
  }

  /**
   * The matrix in blocks that have all rows.
   *
   * @param room most bytes of a block, which shares its row with A's factor
   */
  private BlockFrame inStrips(long room) {
    if (room < bytes(1)) {
      throw bad(
          "A is %s x %s; expected at most 16378 rows, as its factor in double goes to strips of B"
              + " in one row",
          rows, rows);
    }
    long width = Math.min(cols, Math.min(room, UsualShape.LARGE_BYTES) / bytes(1));
    LogicalPlan strips =
        ReblockPlans.reblock(
            operand.plan(), BlockKind.MATRIX, new long[] {rows, width}, Missing.ERROR, operator);
    return BlockFrame.of(strips, BlockKind.MATRIX, operator);
  }

  // ---- checks

  private double tolerance(Optional<Double> ratio) {
    return tolerance(ratio, result);
  }

  private double tolerance(Optional<Double> ratio, ElementType type) {
    double epsilon = type == ElementType.FLOAT32 ? Math.ulp(1f) : Math.ulp(1.0);
    double found = ratio.orElse(Math.max(rows, cols) * epsilon);
    if (!(found >= 0)) {
      throw bad("the tolerance is %s; expected 0 or more", found);
    }
    return found;
  }

  private long shortSide() {
    return Math.min(rows, cols);
  }

  private void requireElements() {
    operand.requireElements();
  }

  private void requireSquare() {
    if (rows != cols) {
      throw bad("the matrix is %s x %s; expected as many rows as columns", rows, cols);
    }
  }

  // ---- plans

  private FactorSpec spec(Factoring made) {
    return FactorSpec.of(made, Math.toIntExact(cols), result);
  }

  /** The plan of a table of the whole matrix's factors, which have these extents. */
  private LogicalPlan table(FactorSpec spec, List<Shape> extents) {
    return kept(of(whole(), spec, extents(spec, extents), true));
  }

  /** A plan of a table of factors that are computed once for all of their readers. */
  private LogicalPlan kept(LogicalPlan table) {
    return kept(table, "factors of " + operator);
  }

  private LogicalPlan kept(LogicalPlan plan, String name) {
    return Kept.of(plan, name, asDataset).plan();
  }

  /**
   * The metadata of factors that are one block each and have these extents, in the order of the
   * factors.
   */
  static Map<String, ArrayMetadata> extents(FactorSpec spec, List<Shape> extents) {
    Map<String, ArrayMetadata> known = new LinkedHashMap<>();
    for (int i = 0; i < extents.size(); i++) {
      known.put(spec.made().factors().get(i), FactorTable.oneBlock(extents.get(i)));
    }
    return known;
  }

  /** A plan of the only factor that {@code spec} gives of the whole matrix. */
  private LogicalPlan only(FactorSpec spec, Shape extents) {
    return only(whole(), spec, extents);
  }

  private static LogicalPlan only(BlockFrame whole, FactorSpec spec, Shape extents) {
    return of(
        whole, spec, Map.of(spec.made().factors().get(0), FactorTable.oneBlock(extents)), false);
  }

  /**
   * A plan that gives a row for each block: its further columns, and its elements as columns with
   * these names.
   */
  private LogicalPlan asRows(LogicalPlan blocks, List<String> names, DataType type) {
    BlockFrame frame = BlockFrame.of(blocks, BlockKind.MATRIX, operator);
    List<NamedExpression> columns = new ArrayList<>(frame.further());
    for (int i = 0; i < names.size(); i++) {
      Expression element =
          new GetArrayItem(frame.values(), Literal.create(i, DataTypes.IntegerType), false);
      columns.add(
          Attributes.alias(
              type.equals(DataTypes.LongType)
                  ? new Cast(element, type, ScalaInterop.none())
                  : element,
              names.get(i)));
    }
    GroupingColumns.requireNames(
        columns.stream().map(NamedExpression::toAttribute).toList(), operator);
    return new Project(ScalaInterop.seq(columns), blocks);
  }

  /**
   * The matrix as one block.
   *
   * @throws IllegalArgumentException if that does not fit a row
   */
  private BlockFrame whole() {
    return oneBlock(operand, operator);
  }

  private static BlockFrame oneBlock(KnownOperand operand, String operator) {
    if (operand.isEmpty()) {
      return operand.frame(); // there are no blocks
    }
    Shape extents = operand.extents();
    requireFits(extents.extent(0), extents.extent(1), operand.frame(), operator);
    LogicalPlan whole =
        ReblockPlans.reblock(
            operand.plan(), BlockKind.MATRIX, extents.toArray(), Missing.ERROR, operator);
    return BlockFrame.of(whole, BlockKind.MATRIX, operator);
  }

  private static void requireFits(long rows, long cols, BlockFrame frame, String operator) {
    long bytes = Bytes.product(Bytes.product(rows, cols), frame.blocks().elementType().bytes());
    if (bytes > MOST_BYTES) {
      throw new IllegalArgumentException(
          ("%s: the matrix is %s x %s, %s bytes; expected at most %s bytes, as the factorisation"
                  + " needs all of it in one block")
              .formatted(operator, rows, cols, bytes, MOST_BYTES));
    }
  }

  /**
   * A plan of the factors of matrices that are one block each.
   *
   * @param known metadata of each factor by its name, in the order of the factors
   * @param named true for a column with the factors' names
   */
  static LogicalPlan of(
      BlockFrame whole, FactorSpec spec, Map<String, ArrayMetadata> known, boolean named) {
    BlockArguments arguments =
        BlockArguments.of(whole.blocks(), whole.operator(), whole.extents(), Missing.ERROR);
    FactorBlock factors =
        new FactorBlock(
            spec, arguments, BackendChoice.NOT_YET, ScalaInterop.<Expression>seq(whole.block()));
    return generated(
        whole.plan(), whole.further(), factors, spec.result(), known, named, whole.operator());
  }

  /**
   * A plan that gives a row for each struct of the array {@code factors}, with the further columns.
   */
  static LogicalPlan generated(
      LogicalPlan plan,
      List<Attribute> further,
      Expression factors,
      ElementType type,
      Map<String, ArrayMetadata> known,
      boolean named,
      String operator) {
    List<Attribute> made = new ArrayList<>();
    for (StructField field : FactorBlock.struct(type).fields()) {
      Metadata metadata =
          field.name().equals(FactorTable.FACTOR)
              ? FactorTable.describing(known)
              : !field.name().equals(BlockKind.VALUES)
                  ? Metadata.empty()
                  : named
                      ? ArrayMetadata.empty().withoutExtents().toMetadata()
                      : known.values().iterator().next().toMetadata();
      made.add(Attributes.column(field.name(), field.dataType(), metadata));
    }
    List<Attribute> input = ScalaInterop.list(plan.output());
    List<Integer> unread =
        IntStream.range(0, input.size())
            .filter(i -> Attributes.indexOf(further, input.get(i)) < 0)
            .boxed()
            .toList();
    LogicalPlan rows =
        new Generate(
            new Inline(factors),
            ScalaInterop.<Object>seq(unread),
            false,
            ScalaInterop.none(),
            ScalaInterop.seq(made),
            plan);
    List<NamedExpression> columns = new ArrayList<>(made.subList(1, made.size()));
    columns.addAll(further);
    if (named) {
      columns.add(made.get(0));
    }
    GroupingColumns.requireNames(
        columns.stream().map(NamedExpression::toAttribute).toList(), operator);
    return new Project(ScalaInterop.seq(columns), rows);
  }

  private IllegalArgumentException bad(String message, Object... arguments) {
    return new IllegalArgumentException(operator + ": " + message.formatted(arguments));
  }
}
