package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.linalg.PrincipalSpec.Of;
import org.tilespark.spark.multiply.MultiplyPlans;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.permute.PermutePlans;
import org.tilespark.spark.pointwise.ExpressionPlans;
import org.tilespark.spark.pointwise.ExpressionPlans.Asked;
import org.tilespark.spark.pointwise.PointwisePlans;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.reduce.ArrayReduction;
import org.tilespark.spark.reduce.ReductionPlans;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.runtime.BackendChoice;

/**
 * Plans of principal components of a matrix, whose columns are variables. There are three ways:
 *
 * <ul>
 *   <li>one side is short: the singular values of the centred matrix, from the R of [1 | A], which
 *       {@link TallQr} computes in one pass;
 *   <li>more rows than columns: from eigenvectors of the products of the centred columns;
 *   <li>more columns than rows: from eigenvectors of the products of the centred rows; their
 *       products with these rows are the components.
 * </ul>
 *
 * <p>Before products are computed, elements are divided by a power of two, so that their squares
 * are in the range of their type. Scores are products of the centred matrix and the components.
 */
public final class PrincipalPlans {
  /**
   * Largest shorter side for which a QR factorization costs no more than the products of columns.
   */
  private static final long SHORT = 512;

  private final String operator;
  private final BlockFrame a; // the matrix, FLOAT or DOUBLE; its metadata states its extents
  private final long rows;
  private final long cols;
  private final int k;
  private final ElementType type;
  private final StripSizes sizes;
  private final Function<LogicalPlan, Dataset<Row>> asDataset;

  private PrincipalPlans(
      BlockFrame a, int k, StripSizes sizes, Function<LogicalPlan, Dataset<Row>> asDataset) {
    this.operator = a.operator();
    this.a = a;
    this.rows = a.extents().orElseThrow().extent(0);
    this.cols = a.extents().orElseThrow().extent(1);
    this.k = k;
    this.type = a.blocks().elementType();
    this.sizes = sizes;
    this.asDataset = asDataset;
  }

  /**
   * A request for principal components.
   *
   * @param k number of components
   * @param whiten true for scores whose variances are 1
   * @param nansAreMeans true to replace NaN by its column's mean; if false, NaN is an error
   * @param tasks tasks that can run at once
   */
  public record Request(long k, boolean whiten, boolean nansAreMeans, int tasks) {}

  /**
   * A table of the factors {@code components}, {@code singular_values}, {@code explained_variance},
   * {@code explained_variance_ratio}, {@code mean} and {@code scores}.
   *
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @throws IllegalArgumentException if there are no real matrix blocks of two rows or more, or k
   *     is out of range
   */
  public static LogicalPlan components(
      LogicalPlan input,
      Request request,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    return components(input, request, StripSizes.of(request.tasks()), asDataset, operator);
  }

  static LogicalPlan components(
      LogicalPlan input,
      Request request,
      StripSizes sizes,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    KnownOperand known =
        KnownOperand.of(input, BlockKind.MATRIX, Missing.ERROR, asDataset, operator)
            .withoutSpectrum();
    if (known.frame().blocks().isComplex()) {
      throw new UnsupportedOperationException(
          operator
              + ": the blocks are complex; principal components of complex matrices are not"
              + " supported yet, expected real ones (which have no column imag)");
    }
    Shape extents = known.extents();
    long most = Math.min(extents.extent(0), extents.extent(1));
    if (extents.extent(0) < 2 || request.k() < 1 || request.k() > most) {
      throw new IllegalArgumentException(
          ("%s: the matrix is %s, k is %s; expected two rows or more and k from 1 to the shorter"
                  + " side")
              .formatted(operator, extents, request.k()));
    }
    ElementType given = known.frame().blocks().elementType();
    boolean isFloating = given == ElementType.FLOAT32 || given == ElementType.FLOAT64;
    LogicalPlan floating =
        isFloating ? known.plan() : mapped(known.plan(), "CAST(v AS DOUBLE)", operator);
    LogicalPlan filled =
        request.nansAreMeans() && isFloating ? filled(floating, asDataset, operator) : floating;
    return new PrincipalPlans(
            BlockFrame.of(filled, BlockKind.MATRIX, operator),
            Math.toIntExact(request.k()),
            sizes,
            asDataset)
        .table(request.whiten());
  }

  /** The matrix with each NaN replaced by the mean of its column. */
  private static LogicalPlan filled(
      LogicalPlan plan, Function<LogicalPlan, Dataset<Row>> asDataset, String operator) {
    return zipped(
        plan,
        ReductionPlans.reduce(plan, ArrayReduction.NANMEAN, ofColumns(asDataset, operator)),
        "if(isnan(a), b, a)",
        asDataset,
        operator);
  }

  private static ReductionPlans.Call ofColumns(
      Function<LogicalPlan, Dataset<Row>> asDataset, String operator) {
    return new ReductionPlans.Call(
        BlockKind.MATRIX, Optional.of(List.of(0)), Map.of("ddof", 0.0), asDataset, operator);
  }

  private LogicalPlan table(boolean whiten) {
    Map<String, LogicalPlan> factors = new LinkedHashMap<>();
    boolean fitsAsOne =
        Bytes.product(Bytes.product(rows, cols), Double.BYTES) <= UsualShape.LARGE_BYTES;
    if (Math.min(rows, cols) <= SHORT && (rows >= cols || fitsAsOne)) {
      TallQr qr = TallQr.behindOnes(a, sizes, asDataset);
      put(Of.TRIANGLE, qr.top(), Optional.empty(), factors);
    } else {
      ofProducts(factors);
    }
    LogicalPlan components = factors.get(PrincipalSpec.COMPONENTS);
    LogicalPlan scores =
        MultiplyPlans.multiply(
            PointwisePlans.center(a.plan(), operator),
            components,
            MultiplyOptions.defaults().withTransposeB(true),
            asDataset,
            operator);
    factors.put(
        PrincipalSpec.SCORES,
        whiten
            ? zipped(
                scores,
                transposed(factors.get(PrincipalSpec.SINGULAR_VALUES)),
                "if(b > 0, a / b * %sD, 0 * a)".formatted(Math.sqrt(rows - 1.0)),
                asDataset,
                operator)
            : scores);
    return FactorTable.of(factors, operator);
  }

  private void ofProducts(Map<String, LogicalPlan> factors) {
    boolean isTall = rows >= cols;
    PerArray divisor = divisor();
    LogicalPlan centered = PointwisePlans.center(divided(divisor), operator);
    LogicalPlan products =
        isTall
            ? MultiplyPlans.gram(centered, MultiplyOptions.defaults(), asDataset, operator)
            : MultiplyPlans.multiply(
                centered,
                centered,
                MultiplyOptions.defaults().withTransposeB(true),
                asDataset,
                operator);
    long side = Math.min(rows, cols);
    BlockFrame whole = oneBlock(products, side, side);
    put(isTall ? Of.COLUMNS : Of.ROWS, whole, Optional.of(divisor), factors);
    if (!isTall) {
      LogicalPlan long1 =
          MultiplyPlans.multiply(
              factors.remove(PrincipalSpec.SCORES),
              centered,
              MultiplyOptions.defaults().withTransposeA(true),
              asDataset,
              operator);
      put(Of.COMPONENTS_ONLY, oneBlock(long1, k, cols), Optional.empty(), factors);
    }
    factors.put(
        PrincipalSpec.MEAN,
        ReductionPlans.reduce(a.plan(), ArrayReduction.MEAN, ofColumns(asDataset, operator)));
  }

  private BlockFrame oneBlock(LogicalPlan plan, long blockRows, long blockCols) {
    return BlockFrame.of(
        ReblockPlans.reblock(
            plan, BlockKind.MATRIX, new long[] {blockRows, blockCols}, Missing.ERROR, operator),
        BlockKind.MATRIX,
        operator);
  }

  /** Adds to {@code factors} those that are computed from a block, once for all readers. */
  private void put(
      Of of, BlockFrame block, Optional<PerArray> divisor, Map<String, LogicalPlan> factors) {
    Map<String, ArrayMetadata> known = new LinkedHashMap<>();
    of.factors().forEach(name -> known.put(name, FactorTable.oneBlock(extents(name))));
    Expression by = new Literal(1.0, DataTypes.DoubleType);
    LogicalPlan plan = block.plan();
    if (divisor.isPresent()) {
      PerArray fresh = divisor();
      plan = joined(block, fresh);
      by = fresh.facts().get(0);
    }
    List<Expression> children = new ArrayList<>(block.block());
    children.add(by);
    BlockArguments arguments =
        BlockArguments.of(block.blocks(), operator, block.extents(), Missing.ERROR);
    PrincipalBlock made =
        new PrincipalBlock(
            new PrincipalSpec(of, rows, k, type),
            arguments,
            BackendChoice.NOT_YET,
            ScalaInterop.<Expression>seq(children));
    Kept kept =
        Kept.of(
            FactorPlans.generated(plan, block.further(), made, type, known, true, operator),
            "components of " + operator,
            asDataset);
    for (String name : of.factors()) {
      factors.put(name, FactorTable.factor(kept.plan(), name, operator));
    }
  }

  private Shape extents(String factor) {
    return switch (factor) {
      case PrincipalSpec.COMPONENTS -> Shape.of(k, cols);
      case PrincipalSpec.MEAN -> Shape.of(1, cols);
      case PrincipalSpec.SCORES -> Shape.of(rows, k);
      default -> Shape.of(k, 1);
    };
  }

  // ---- the power of two by which elements are divided

  /** The power of two by which the elements of each matrix are divided: a row for each. */
  private PerArray divisor() {
    List<NamedExpression> columns = new ArrayList<>(a.further());
    NamedExpression each =
        Attributes.alias(
            new LargestElement(arguments(), ScalaInterop.<Expression>seq(a.block())), "largest");
    columns.add(each);
    LogicalPlan ofBlocks = new Project(ScalaInterop.seq(columns), a.plan());
    List<NamedExpression> outputs = new ArrayList<>();
    a.further().forEach(column -> outputs.add(Attributes.alias(column, column.name())));
    outputs.add(Attributes.alias(new Max(each.toAttribute()).toAggregateExpression(), "divisor"));
    List<Attribute> output = outputs.stream().map(NamedExpression::toAttribute).toList();
    int arrays = a.further().size();
    return new PerArray(
        new Aggregate(
            ScalaInterop.<Expression>seq(a.further()),
            ScalaInterop.seq(outputs),
            ofBlocks,
            ScalaInterop.none()),
        output.subList(0, arrays),
        output.subList(arrays, arrays + 1));
  }

  private LogicalPlan divided(PerArray divisor) {
    LogicalPlan joined = joined(a, divisor);
    List<Expression> children = new ArrayList<>(a.block());
    children.add(divisor.facts().get(0));
    List<NamedExpression> columns = new ArrayList<>();
    for (Attribute column : a.columns()) {
      columns.add(
          column == a.values()
              ? Attributes.alias(
                  new DividedBlock(arguments(), ScalaInterop.<Expression>seq(children)),
                  column.name(),
                  column.metadata())
              : column);
    }
    return new Project(ScalaInterop.seq(columns), joined);
  }

  private LogicalPlan joined(BlockFrame blocks, PerArray facts) {
    List<Attribute> partners =
        facts.further().stream()
            .map(column -> GroupingColumns.named(blocks.further(), column).orElseThrow())
            .toList();
    return facts.joinedTo(blocks.plan(), partners, Inner$.MODULE$, Optional.empty());
  }

  private BlockArguments arguments() {
    return BlockArguments.of(a.blocks(), operator, a.extents(), Missing.ERROR);
  }

  // ---- calls of other operators

  private LogicalPlan transposed(LogicalPlan plan) {
    return PermutePlans.permute(plan, BlockKind.MATRIX, Permutation.of(1, 0), operator);
  }

  private static LogicalPlan mapped(LogicalPlan plan, String expression, String operator) {
    return ExpressionPlans.map(plan, BlockKind.MATRIX, new Asked(expression, Map.of()), operator);
  }

  private static LogicalPlan zipped(
      LogicalPlan a,
      LogicalPlan b,
      String expression,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    return ExpressionPlans.zip(
        a,
        b,
        BlockKind.MATRIX,
        new Asked(expression, Map.of()),
        Missing.ERROR,
        asDataset,
        operator);
  }
}
