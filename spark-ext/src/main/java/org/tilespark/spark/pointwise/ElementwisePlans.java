package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Inline;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.FullOuter$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.BlockColumnSums;
import org.tilespark.spark.aggregate.ColumnMeans;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.rows.BlockArguments;
import scala.Option;

/**
 * The logical plans of the operators that compute with each element of a matrix or volume. They
 * consist of Spark's own nodes, so that Spark plans their joins and aggregates.
 */
public final class ElementwisePlans {
  /** A matrix or volume: its plan, and where its columns are. */
  private record Operand(
      String operator, LogicalPlan plan, List<Attribute> columns, BlockSchema blocks) {
    /** One whose blocks are combined. */
    static Operand combined(LogicalPlan plan, BlockKind kind, String operator) {
      Streaming.refuse(operator, plan);
      Operand operand = of(plan, kind, operator);
      GroupingColumns.of(operand.blocks, operand.columns, operator);
      return operand;
    }

    static Operand of(LogicalPlan plan, BlockKind kind, String operator) {
      BlockSchema blocks = BlockSchema.find(plan.schema(), kind, operator);
      List<Attribute> columns = ScalaInterop.list(plan.output());
      ElementType type = blocks.elementType();
      if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
        throw new IllegalArgumentException(
            operator
                + ": the values are "
                + columns.get(blocks.values()).dataType().sql()
                + "; expected an ARRAY of FLOAT or DOUBLE (CAST them, or read the file as float)");
      }
      return new Operand(operator, plan, columns, blocks);
    }

    List<Attribute> further() {
      return blocks.further(columns);
    }

    BlockKind kind() {
      return blocks.kind();
    }

    Attribute offset(int axis) {
      return columns.get(blocks.offsets().get(axis));
    }

    Attribute size(int axis) {
      return columns.get(blocks.sizes().get(axis));
    }

    ArrayMetadata metadata() {
      return ArrayMetadata.of(columns.get(blocks.values()).metadata());
    }

    Optional<Shape> extents() {
      return metadata().extents(kind().rank());
    }

    Optional<Shape> blockShape() {
      return metadata().blockShape(kind().rank());
    }

    BlockArguments arguments(Optional<Shape> extents, Missing missing) {
      return BlockArguments.of(blocks, operator, extents.orElse(null), missing);
    }

    List<Expression> block() {
      return BlockArguments.columns(blocks, columns);
    }

    /** All columns, with the arrays replaced by what {@code computed} gives for their numbers. */
    LogicalPlan replaced(
        java.util.function.IntFunction<Expression> computed,
        Optional<Shape> extents,
        LogicalPlan child) {
      List<NamedExpression> list = new ArrayList<>(columns);
      for (int plane = 0; plane < blocks.planes().size(); plane++) {
        int ordinal = blocks.planes().get(plane);
        Attribute old = columns.get(ordinal);
        ArrayMetadata metadata = ArrayMetadata.of(old.metadata());
        if (plane == 0 && extents.isPresent()) {
          metadata = metadata.withExtents(extents.get());
        }
        metadata = metadata.ofComputed(blocks.elementType(), blocks.isComplex());
        list.set(
            ordinal, Attributes.alias(computed.apply(plane), old.name(), metadata.toMetadata()));
      }
      return new Project(ScalaInterop.seq(list), child);
    }
  }

  private ElementwisePlans() {}

  /**
   * Each value times {@code alpha}.
   *
   * @throws IllegalArgumentException if {@code a} has no such blocks of FLOAT or DOUBLE
   */
  public static LogicalPlan scale(LogicalPlan a, BlockKind kind, double alpha, String operator) {
    Operand operand = Operand.of(a, kind, operator);
    BlockArguments arguments = operand.arguments(operand.extents(), Missing.ERROR);
    return operand.replaced(
        plane -> new ScaleBlock(arguments, plane, alpha, ScalaInterop.seq(operand.block())),
        operand.extents(),
        a);
  }

  /**
   * The sums of two arrays, as an outer join of their blocks on place and further columns. Where
   * the metadata says that they are cut differently, the second is cut as the first is.
   *
   * @param missing what a block is that only the other array has
   * @throws IllegalArgumentException if one has no such blocks of FLOAT or DOUBLE, or they differ
   *     in type, stated extents or further columns, or are spectra that do not fit each other
   */
  public static LogicalPlan add(
      LogicalPlan a, LogicalPlan b, BlockKind kind, Missing missing, String operator) {
    Operand plainFirst = Operand.combined(a, kind, operator);
    Operand asGiven = Operand.combined(b, kind, operator);
    checkAlike(plainFirst, asGiven);
    Operand plainSecond = cutAs(plainFirst, asGiven, missing);
    Optional<Shape> extents = plainFirst.extents().or(plainSecond::extents);

    // Fresh ids for the second: the first may be the same DataFrame.
    NamedExpression hasFirst =
        Attributes.alias(Literal.create(true, DataTypes.BooleanType), "has_first");
    NamedExpression hasSecond =
        Attributes.alias(Literal.create(true, DataTypes.BooleanType), "has_second");
    List<NamedExpression> firstColumns = new ArrayList<>(plainFirst.columns());
    firstColumns.add(hasFirst);
    List<NamedExpression> secondColumns = new ArrayList<>();
    for (Attribute column : plainSecond.columns()) {
      secondColumns.add(Attributes.alias(column, column.name(), column.metadata()));
    }
    Operand second =
        new Operand(
            operator,
            plainSecond.plan(),
            secondColumns.stream().map(NamedExpression::toAttribute).toList(),
            plainSecond.blocks());
    secondColumns.add(hasSecond);

    Expression samePlace = new EqualTo(plainFirst.offset(0), second.offset(0));
    for (int axis = 1; axis < kind.rank(); axis++) {
      samePlace = new And(samePlace, new EqualTo(plainFirst.offset(axis), second.offset(axis)));
    }
    for (Attribute column : plainFirst.further()) {
      Attribute partner = GroupingColumns.named(second.further(), column).orElseThrow();
      samePlace = new And(samePlace, new EqualNullSafe(column, partner));
    }
    LogicalPlan join =
        join(
            new Project(ScalaInterop.seq(firstColumns), a),
            new Project(ScalaInterop.seq(secondColumns), plainSecond.plan()),
            FullOuter$.MODULE$,
            samePlace,
            Optional.empty());
    BlockArguments arguments = plainFirst.arguments(extents, missing);
    LogicalPlan sums =
        plainFirst.replaced(
            plane ->
                new AddBlocks(
                    arguments,
                    plane,
                    AddBlocks.children(
                        hasFirst.toAttribute(),
                        plainFirst.block(),
                        hasSecond.toAttribute(),
                        second.block())),
            extents,
            join);
    return placed(plainFirst, second, (Project) sums);
  }

  /**
   * The sums of blocks, with place and further columns of whichever matrix has the block. Also
   * where both must have it: a condition on a column of the first matrix alone would keep the outer
   * join from giving the blocks that only the second has, and nobody would miss them.
   */
  private static LogicalPlan placed(Operand first, Operand second, Project sums) {
    List<NamedExpression> list = new ArrayList<>(ScalaInterop.list(sums.projectList()));
    List<Attribute> inFirst = first.block().stream().map(Attribute.class::cast).toList();
    List<Attribute> inSecond = second.block().stream().map(Attribute.class::cast).toList();
    for (int i = 0; i < list.size(); i++) {
      if (first.blocks().planes().contains(i)) {
        continue;
      }
      Attribute column = first.columns().get(i);
      int place = inFirst.indexOf(column);
      Attribute other =
          place < 0
              ? GroupingColumns.named(second.further(), column).orElseThrow()
              : inSecond.get(place);
      list.set(
          i,
          Attributes.alias(
              new Coalesce(ScalaInterop.<Expression>seq(column, other)),
              column.name(),
              column.metadata()));
    }
    return new Project(ScalaInterop.seq(list), sums.child());
  }

  /**
   * The matrix with the mean of each column taken off it: one aggregate over the blocks, whose
   * result is broadcast, and a projection.
   *
   * @throws IllegalArgumentException if {@code a} has no matrix blocks of FLOAT or DOUBLE
   */
  public static LogicalPlan center(LogicalPlan a, String operator) {
    Operand matrix = Operand.combined(a, BlockKind.MATRIX, operator);
    BlockArguments arguments = matrix.arguments(matrix.extents(), Missing.ERROR);
    LogicalPlan joined = a;
    List<Attribute> means = new ArrayList<>();
    for (int plane = 0; plane < matrix.blocks().planes().size(); plane++) {
      joined = joinMeans(matrix, arguments, plane, joined, means);
    }
    LogicalPlan centered =
        matrix.replaced(
            plane -> {
              List<Expression> children = matrix.block();
              children.add(means.get(plane));
              return new SubtractColumnMeans(arguments, plane, ScalaInterop.seq(children));
            },
            matrix.extents(),
            joined);
    // The means miss a block that is not there; without any block, nobody reads them in the join.
    return matrix.further().isEmpty() && matrix.extents().isPresent()
        ? CheckedBlocks.of(centered, means(matrix, arguments, 0))
        : centered;
  }

  /** {@code left} with the means of each block's columns in a further column, added to the list. */
  private static LogicalPlan joinMeans(
      Operand matrix,
      BlockArguments arguments,
      int plane,
      LogicalPlan left,
      List<Attribute> means) {
    Aggregate aggregate = means(matrix, arguments, plane);
    List<Attribute> found = ScalaInterop.list(aggregate.output());
    int last = matrix.further().size();
    List<Attribute> range = new ArrayList<>();
    for (StructField field : ColumnMeans.RANGE.fields()) {
      range.add(Attributes.column(field.name(), field.dataType(), Metadata.empty()));
    }
    LogicalPlan generate =
        new Generate(
            new Inline(found.get(last)),
            ScalaInterop.<Object>seq(List.of(last)),
            false,
            ScalaInterop.none(),
            ScalaInterop.seq(range),
            aggregate);
    Expression sameColumns =
        new And(
            new EqualTo(matrix.offset(1), range.get(0)), new EqualTo(matrix.size(1), range.get(1)));
    for (int i = 0; i < last; i++) {
      sameColumns = new And(sameColumns, new EqualNullSafe(matrix.further().get(i), found.get(i)));
    }
    means.add(range.get(2));
    return join(left, generate, LeftOuter$.MODULE$, sameColumns, Optional.of(BROADCAST$.MODULE$));
  }

  /** The further columns, then the means of each matrix, as {@link ColumnMeans} gives them. */
  private static Aggregate means(Operand matrix, BlockArguments arguments, int plane) {
    List<NamedExpression> summed = new ArrayList<>(matrix.further());
    NamedExpression sums =
        Attributes.alias(
            new BlockColumnSums(arguments, plane, ScalaInterop.seq(matrix.block())), "sums");
    summed.add(sums);
    List<NamedExpression> aggregates = new ArrayList<>();
    for (Attribute column : matrix.further()) {
      aggregates.add(Attributes.alias(column, column.name()));
    }
    aggregates.add(
        Attributes.alias(
            new ColumnMeans(arguments, ScalaInterop.<Expression>seq(sums.toAttribute()), 0, 0)
                .toAggregateExpression(),
            "ranges"));
    return new Aggregate(
        ScalaInterop.<Expression>seq(matrix.further()),
        ScalaInterop.seq(aggregates),
        new Project(ScalaInterop.seq(summed), matrix.plan()),
        ScalaInterop.none());
  }

  /** The second array in blocks of the first one's stated shape, if its own is stated too. */
  private static Operand cutAs(Operand first, Operand second, Missing missing) {
    Optional<Shape> wanted = first.blockShape();
    Optional<Shape> found = second.blockShape();
    if (wanted.isEmpty() || found.isEmpty() || wanted.equals(found)) {
      return second;
    }
    return Operand.of(
        ReblockPlans.reblock(
            second.plan(), first.kind(), wanted.get().toArray(), missing, second.operator()),
        first.kind(),
        second.operator());
  }

  private static void checkAlike(Operand first, Operand second) {
    String operator = first.operator();
    String label = first.kind().label();
    if (first.blocks().elementType() != second.blocks().elementType()
        || first.blocks().isComplex() != second.blocks().isComplex()) {
      throw new IllegalArgumentException(
          operator
              + ": the first "
              + label
              + " holds "
              + typeText(first)
              + ", the second "
              + typeText(second)
              + "; expected the same type (CAST one)");
    }
    if (first.extents().isPresent()
        && second.extents().isPresent()
        && !first.extents().equals(second.extents())) {
      throw new IllegalArgumentException(
          operator
              + ": the first "
              + label
              + " is "
              + first.extents().get()
              + ", the second "
              + second.extents().get()
              + " by the column metadata "
              + ArrayMetadata.EXTENTS
              + "; expected the same extents (if the metadata is stale, use withExtents)");
    }
    MultiplyPointwise.requireSpectraThatFit(operator, first.metadata(), second.metadata());
    for (Operand[] pair : new Operand[][] {{first, second}, {second, first}}) {
      for (Attribute column : pair[0].further()) {
        Optional<Attribute> other = GroupingColumns.named(pair[1].further(), column);
        if (other.isEmpty() || !other.get().dataType().sameType(column.dataType())) {
          throw new IllegalArgumentException(
              operator
                  + ": one "
                  + label
                  + " has a further column "
                  + column.name()
                  + " "
                  + column.dataType().sql()
                  + ", the other has "
                  + other.map(o -> "it as " + o.dataType().sql()).orElse("none")
                  + "; further columns tell several arrays apart, expected the same in both");
        }
      }
    }
  }

  private static String typeText(Operand matrix) {
    return matrix.columns().get(matrix.blocks().values()).dataType().sql()
        + (matrix.blocks().isComplex() ? " with imag" : "");
  }

  private static LogicalPlan join(
      LogicalPlan left,
      LogicalPlan right,
      JoinType type,
      Expression condition,
      Optional<JoinStrategyHint> rightHint) {
    return new Join(
        left,
        right,
        type,
        Option.apply(condition),
        new JoinHint(
            ScalaInterop.none(),
            ScalaInterop.option(rightHint.map(hint -> new HintInfo(Option.apply(hint))))));
  }
}
