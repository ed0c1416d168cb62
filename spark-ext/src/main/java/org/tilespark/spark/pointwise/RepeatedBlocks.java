package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ArrayRepeat;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Flatten;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.kernels.pointwise.Instruction.Load;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.AllCells;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.CommonCut;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.stage.StageBranch;
import scala.Option;

/**
 * Two arrays of which at least one is broadcast along some axes: a join adds to each block's row
 * the part of the other array that it needs. If both are broadcast, the rows are new blocks of the
 * result's shape, whose own values nothing reads.
 *
 * @param main the joined rows, as blocks: those of the array that is not broadcast, or the new ones
 * @param arrays the two arrays, first the one that is not broadcast, if there is one
 * @param metadata metadata of the result
 */
record RepeatedBlocks(
    BlockFrame main, List<Array> arrays, ArrayMetadata metadata, String operator) {
  private static final List<String> NAMES = List.of("a", "b");

  /** Type of the rows' own values if nothing reads them. */
  private static final ElementType UNREAD = ElementType.INT8;

  /**
   * One of the two arrays.
   *
   * @param name name in an expression
   * @param frame blocks of the array, cut like the result except along repeated axes
   * @param repeated the axes along which it is broadcast
   */
  record Array(String name, BlockFrame frame, Set<Integer> repeated) {
    private List<Attribute> planes() {
      return frame.blocks().planes().stream().map(frame.columns()::get).toList();
    }
  }

  /**
   * The two arrays; empty if none is broadcast.
   *
   * @throws IllegalArgumentException if their extents differ and neither is 1
   */
  static Optional<RepeatedBlocks> of(
      Agreement agreement, Missing missing, Function<LogicalPlan, Dataset<Row>> asDataset) {
    List<BlockFrame> frames = List.of(agreement.first(), agreement.second());
    boolean areStated = frames.stream().allMatch(frame -> frame.extents().isPresent());
    if (!areStated && missing == Missing.ZERO) {
      return Optional.empty(); // a missing block may be the last one, so the extents are unknown
    }
    BlockKind kind = agreement.first().kind();
    List<KnownArray> known =
        frames.stream()
            .map(
                frame ->
                    KnownArray.of(
                        frame.plan(), frame.blocks(), missing, asDataset, frame.operator()))
            .toList();
    if (known.stream().anyMatch(each -> !each.alike())) {
      return Optional.empty();
    }
    Broadcasting meeting;
    try {
      meeting = Broadcasting.of(kind, NAMES, known.stream().map(KnownArray::extents).toList());
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(agreement.operator() + ": " + e.getMessage(), e);
    }
    return meeting.repeated().stream().allMatch(Set::isEmpty)
        ? Optional.empty()
        : Optional.of(joined(agreement, meeting, known, missing));
  }

  private static RepeatedBlocks joined(
      Agreement agreement, Broadcasting meeting, List<KnownArray> known, Missing missing) {
    BlockFrame one = agreement.first();
    Shape shape = shape(meeting, known);
    List<Array> arrays = new ArrayList<>();
    Optional<LogicalPlan> both = // if one side lacks an array, all of that array is missing
        missing == Missing.ZERO
            ? Optional.of(CommonCut.places(one, agreement.second()))
            : Optional.empty();
    arrays.add(cut(one, 0, meeting, known, shape, both));
    Array second = cut(agreement.second(), 1, meeting, known, shape, both);
    arrays.add(
        new Array(
            second.name(),
            PointwisePlans.distinct(arrays.get(0).frame(), second.frame()),
            second.repeated()));
    if (!arrays.get(0).repeated().isEmpty() && arrays.get(1).repeated().isEmpty()) {
      arrays.add(arrays.remove(0));
    }
    boolean isSpectrum =
        arrays.stream()
            .anyMatch(
                array ->
                    array.repeated().isEmpty() && array.frame().metadata().spectrum().isPresent());
    ArrayMetadata combined =
        new Agreement(arrays.get(0).frame(), arrays.get(1).frame(), agreement.operator())
            .combined();
    ArrayMetadata metadata =
        (isSpectrum ? combined : combined.withSpectrum(Optional.empty()))
            .withExtents(meeting.extents())
            .withBlockShape(shape);
    BlockFrame main = arrays.get(0).repeated().isEmpty() ? beside(arrays) : both(arrays, metadata);
    return new RepeatedBlocks(main, List.copyOf(arrays), metadata, agreement.operator());
  }

  /**
   * The shape of the result's blocks: along each axis that of the first array that is not broadcast
   * along it.
   */
  private static Shape shape(Broadcasting meeting, List<KnownArray> known) {
    long[] shape = new long[meeting.extents().rank()];
    for (int axis = 0; axis < shape.length; axis++) {
      int from = meeting.repeated().get(0).contains(axis) ? 1 : 0;
      shape[axis] = known.get(from).largest().extent(axis);
    }
    return UsualShape.of(
        meeting.extents(), Shape.of(shape), 2L * Double.BYTES, UsualShape.LARGE_BYTES);
  }

  /**
   * An array cut like the result.
   *
   * @param filled lists the arrays whose missing elements are zeros; empty if no element may be
   *     missing
   */
  private static Array cut(
      BlockFrame frame,
      int at,
      Broadcasting meeting,
      List<KnownArray> known,
      Shape shape,
      Optional<LogicalPlan> filled) {
    Set<Integer> repeated = meeting.repeated().get(at);
    long[] own = shape.toArray();
    repeated.forEach(axis -> own[axis] = 1);
    BlockFrame stated =
        frame.extents().isPresent()
            ? frame
            : frame.stating(frame.metadata().withExtents(known.get(at).extents()));
    LogicalPlan plan =
        ReblockPlans.reblock(
            stated.plan(),
            frame.kind(),
            own,
            filled.isPresent() ? Missing.ZERO : Missing.ERROR,
            filled.orElse(stated.plan()),
            frame.operator());
    return new Array(NAMES.get(at), BlockFrame.of(plan, frame.kind(), frame.operator()), repeated);
  }

  /** The blocks of the first array, with the values of the second in their rows. */
  private static BlockFrame beside(List<Array> arrays) {
    BlockFrame frame = arrays.get(0).frame();
    List<NamedExpression> columns = new ArrayList<>(frame.columns());
    columns.addAll(arrays.get(1).planes());
    return frame(columns, join(arrays, LeftOuter$.MODULE$), frame, frame.blocks());
  }

  /** The blocks of all combinations of a block of each array, with the values of both. */
  private static BlockFrame both(List<Array> arrays, ArrayMetadata metadata) {
    BlockFrame frame = arrays.get(0).frame();
    int rank = frame.kind().rank();
    List<NamedExpression> columns = new ArrayList<>();
    Expression nothing = Literal.create((byte) 0, DataTypes.ByteType);
    List<Integer> offsets = new ArrayList<>();
    List<Integer> sizes = new ArrayList<>();
    for (int axis = rank - 1; axis >= 0; axis--) {
      Array from = arrays.get(arrays.get(0).repeated().contains(axis) ? 1 : 0);
      offsets.add(0, columns.size());
      columns.add(named(from.frame().offset(axis), frame.kind().offsetColumns().get(axis)));
      sizes.add(0, columns.size());
      columns.add(named(from.frame().size(axis), frame.kind().sizeColumns().get(axis)));
      Expression repeated = new ArrayRepeat(nothing, from.frame().size(axis));
      nothing = axis == rank - 1 ? repeated : new Flatten(repeated);
    }
    columns.add(Attributes.alias(nothing, BlockKind.VALUES, metadata.toMetadata()));
    columns.addAll(frame.further());
    arrays.forEach(array -> columns.addAll(array.planes()));
    BlockSchema blocks = new BlockSchema(frame.kind(), offsets, sizes, List.of(2 * rank), UNREAD);
    return frame(columns, join(arrays, Inner$.MODULE$), frame, blocks);
  }

  private static NamedExpression named(Attribute column, String name) {
    return Attributes.alias(column, name);
  }

  /**
   * The frame of blocks in a projection. Its block columns are given, not found by their names,
   * since the projection also has values of other arrays.
   */
  private static BlockFrame frame(
      List<NamedExpression> columns, LogicalPlan child, BlockFrame like, BlockSchema blocks) {
    LogicalPlan plan = AllCells.marked(new Project(ScalaInterop.seq(columns), child));
    List<Attribute> all = ScalaInterop.list(plan.output());
    return new BlockFrame(like.operator(), plan, all, blocks);
  }

  private static LogicalPlan join(List<Array> arrays, JoinType type) {
    BlockFrame left = arrays.get(0).frame();
    BlockFrame right = arrays.get(1).frame();
    List<Attribute> partners = new Agreement(left, right, left.operator()).partners();
    List<Expression> same = new ArrayList<>();
    for (int i = 0; i < partners.size(); i++) {
      same.add(new EqualNullSafe(left.further().get(i), partners.get(i)));
    }
    for (int axis = 0; axis < left.kind().rank(); axis++) {
      int of = axis;
      if (arrays.stream().noneMatch(array -> array.repeated().contains(of))) {
        same.add(new EqualNullSafe(left.offset(axis), right.offset(axis)));
      }
    }
    return new Join(
        left.plan(),
        right.plan(),
        type,
        Option.apply(
            same.stream()
                .reduce(And::new)
                .orElseGet(() -> Literal.create(true, DataTypes.BooleanType))),
        JoinHint.NONE());
  }

  /** The arrays that are joined to the rows of {@link #main}. */
  List<Array> beside() {
    return arrays.stream().filter(array -> !array.repeated().isEmpty()).toList();
  }

  /** The branch of a stage for these blocks. */
  StageBranch branch() {
    List<Attribute> further = arrays.get(0).frame().further();
    StageBranch branch = StageBranch.of(main, further, Missing.ERROR, operator);
    for (Array array : beside()) {
      branch = branch.with(array.planes(), array.repeated());
    }
    return branch;
  }

  /**
   * The program with the inputs of the stage: if both arrays are broadcast, the unread values of
   * {@link #main} become input 0, before the two arrays.
   */
  ElementwiseProgram reading(ElementwiseProgram program) {
    if (beside().size() < arrays.size()) {
      return program;
    }
    List<Input> inputs =
        Stream.concat(Stream.of(Input.of(UNREAD, false)), program.inputs().stream()).toList();
    List<Instruction> code =
        program.code().stream()
            .map(each -> each instanceof Load load ? new Load(load.input() + 1, load.part()) : each)
            .toList();
    return new ElementwiseProgram(
        program.rank(), inputs, program.vectors(), code, program.outputs());
  }
}
