package org.tilespark.spark.reblock;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.arrow.blocks.Merge;
import org.tilespark.arrow.blocks.Reduce;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.AxisImages;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.Images;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockEnd;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.CellPlace;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.block.RowBytes;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.AllCells;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.AssembleBlocks;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.AssembleSpec.Prediction;
import org.tilespark.spark.exchange.CellOrigins;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.exchange.CutBlocks;
import org.tilespark.spark.exchange.CutSpec;
import org.tilespark.spark.exchange.MarkCells;
import org.tilespark.spark.exchange.PieceSizes;
import org.tilespark.spark.exchange.PieceUnion;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.ProgramBlocks;
import org.tilespark.spark.stage.StageInput;
import scala.Option;

/**
 * The logical plan of a re-block, of matrices and volumes alike:
 *
 * <pre>
 *   AssembleBlocks                    requires each target block in one partition, sorted
 *     PieceUnion
 *       CutBlocks                     pieces of the blocks, by target block
 *         the blocks
 *       MarkCells                     where each target block begins and ends
 *         extents                     stated extents, or an aggregate over the coordinate columns
 * </pre>
 */
public final class ReblockPlans {
  private final BlockFrame frame;
  private final List<Attribute> further;
  private final Optional<Shape> extents;
  private final Cuts grid;
  private final Shape blockShape;
  private final Missing missing;
  private final boolean isMarked;
  // Map from the input's elements to the result; empty if the result is the same array
  private final Optional<Images> images;
  private final Optional<Shape> target; // extents of the result
  // The plan whose rows list the existing arrays by their further columns, and where they end
  private final LogicalPlan origin;

  /**
   * The result of a re-block.
   *
   * @param blockShape elements along each axis of a full target block, without those shared with
   *     neighbours
   * @param images map from the input's elements to the result; empty if the result is the same
   *     array
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Target(long[] blockShape, Optional<Images> images) {
    static Target of(long[] blockShape) {
      return new Target(blockShape, Optional.empty());
    }

    static Target of(Images images) {
      return new Target(
          images.axes().stream().mapToLong(AxisImages::cell).toArray(), Optional.of(images));
    }
  }

  private ReblockPlans(
      LogicalPlan input,
      BlockKind kind,
      Target made,
      Missing missing,
      boolean mayBeUnmarked,
      LogicalPlan origin,
      String operator) {
    Streaming.refuse(operator, input);
    this.frame = BlockFrame.of(input, kind, operator);
    this.missing = missing;
    this.extents = frame.extents();
    this.images = made.images;
    this.target = images.map(Images::target).or(() -> extents);
    this.origin = origin;
    checkShape(images.map(each -> each.largest().toArray()).orElse(made.blockShape));
    target.ifPresent(
        result ->
            UsualShape.requireFew(
                operator,
                String.join(", ", kind.sizeColumns()),
                result,
                Shape.of(made.blockShape),
                BlockShapes.elementBytes(frame.blocks())));
    this.further = GroupingColumns.of(frame.blocks(), frame.columns(), operator);
    this.isMarked = !mayBeUnmarked || further.isEmpty() || extents.isEmpty();
    this.blockShape = Shape.of(made.blockShape);
    this.grid =
        Cuts.of(Arrays.stream(made.blockShape).mapToObj(AxisCuts::every).toArray(AxisCuts[]::new));
  }

  /**
   * The array in blocks of another shape. Further columns distinguish several arrays.
   *
   * @param blockShape elements along each axis of a full target block
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if {@code input} has no blocks of this kind, the shape is not
   *     positive or too large for a row, or a further column has no order
   */
  public static LogicalPlan reblock(
      LogicalPlan input, BlockKind kind, long[] blockShape, Missing missing, String operator) {
    return reblock(input, kind, blockShape, missing, input, operator);
  }

  /**
   * As {@link #reblock}, for arrays whose every block has a piece for every target block, such as
   * slabs that become slabs along another axis. Then the existing arrays need not be looked up
   * first, even if further columns distinguish several.
   */
  public static LogicalPlan allToAll(
      LogicalPlan input, BlockKind kind, long[] blockShape, Missing missing, String operator) {
    return new ReblockPlans(input, kind, Target.of(blockShape), missing, true, input, operator)
        .plan();
  }

  /**
   * An array whose elements are mapped from another array, in one exchange. Further columns
   * distinguish several arrays, which have the same extents.
   *
   * @param input the blocks, with stated extents that match the images
   * @param images the map, whose cells are the target blocks
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException as {@link #reblock}
   */
  public static LogicalPlan images(
      LogicalPlan input, BlockKind kind, Images images, String operator) {
    return new ReblockPlans(input, kind, Target.of(images), Missing.ERROR, false, input, operator)
        .cutAndAssembled();
  }

  /**
   * As {@link #reblock}, with another plan that lists the arrays.
   *
   * @param origin plan with the further columns of {@code input}, by name, and a row for each
   *     array; if {@code input} states no extents, also with places and sizes of blocks, which
   *     determine the extents
   */
  public static LogicalPlan reblock(
      LogicalPlan input,
      BlockKind kind,
      long[] blockShape,
      Missing missing,
      LogicalPlan origin,
      String operator) {
    return new ReblockPlans(input, kind, Target.of(blockShape), missing, false, origin, operator)
        .plan();
  }

  /**
   * A shape for the blocks of a result: that of the input's blocks. Blocks without stated shape may
   * be long along different axes, so the shape is halved until a block is below {@value
   * UsualShape#LARGE_BYTES} bytes. An axis along which all blocks are whole stays whole if that
   * fits the limit too.
   *
   * @param target extents of the result
   */
  public static long[] shapeLike(KnownOperand input, Shape target) {
    return BlockShapes.like(input.frame(), input.known(), target);
  }

  /** As {@link #shapeLike}, except that {@link UsualShape} joins many small blocks. */
  public static long[] usualShape(KnownOperand input, Shape target) {
    long elementBytes = BlockShapes.elementBytes(input.frame().blocks());
    return UsualShape.joined(target, Shape.of(shapeLike(input, target)), elementBytes).toArray();
  }

  /** The array in blocks of about the same shape, checked, for operators that change nothing. */
  public static LogicalPlan unchanged(KnownOperand input) {
    return reblock(
        input.plan(),
        input.frame().kind(),
        shapeLike(input, input.extents()),
        Missing.ERROR,
        input.frame().operator());
  }

  /**
   * These blocks, checked: they must be the cells of the tiling that their metadata states, each
   * exactly once. Each block is checked when it is read. All places together are checked by a plan
   * that runs first; the rule {@link CheapChecks} drops this plan if it would compute the whole
   * input again.
   *
   * @throws IllegalArgumentException if {@code input} states no block shape
   */
  static LogicalPlan checked(BlockFrame input) {
    LogicalPlan plan = input.plan();
    long[] shape = input.blockShape().orElseThrow(IllegalArgumentException::new).toArray();
    return new ReblockPlans(
            plan, input.kind(), Target.of(shape), Missing.ERROR, false, plan, input.operator())
        .checked();
  }

  /**
   * The volume in slabs: cut along one axis, whole along the others.
   *
   * @param thickness elements of a slab along the axis; if empty, that of existing slabs, or the
   *     largest that keeps a block below {@value UsualShape#LARGE_BYTES} bytes and gives every task
   *     a slab
   * @param tasks tasks that can run at once
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @throws IllegalArgumentException as {@link #reblock}
   */
  public static LogicalPlan slabs(
      LogicalPlan input,
      int axis,
      OptionalLong thickness,
      Missing missing,
      int tasks,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    return inShape(
        input,
        missing,
        asDataset,
        operator,
        (known, blocks) -> BlockShapes.slabs(known, blocks, axis, thickness, tasks));
  }

  /**
   * The volume in pencils: whole along one axis, cut along the others.
   *
   * @param sizes elements of a pencil along the other axes, in their order; if empty, those of
   *     existing pencils, or the volume is halved across its longest other axis until blocks are
   *     below {@value UsualShape#LARGE_BYTES} bytes and every task has one
   * @param tasks tasks that can run at once
   * @param asDataset as for {@link #slabs}
   * @throws IllegalArgumentException as {@link #reblock}, or if there are not as many sizes as
   *     other axes
   */
  public static LogicalPlan pencils(
      LogicalPlan input,
      int axis,
      Optional<long[]> sizes,
      Missing missing,
      int tasks,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    return inShape(
        input,
        missing,
        asDataset,
        operator,
        (known, blocks) -> BlockShapes.pencils(known, blocks, axis, sizes, tasks));
  }

  /**
   * A re-block whose input states the extents, if they had to be found and are equal for all
   * arrays.
   */
  private static LogicalPlan inShape(
      LogicalPlan input,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator,
      BiFunction<KnownArray, BlockSchema, long[]> shape) {
    BlockKind kind = BlockKind.VOLUME;
    BlockFrame frame = BlockFrame.of(input, kind, operator);
    KnownArray known = KnownArray.of(input, frame.blocks(), missing, asDataset, operator);
    LogicalPlan stated =
        frame.extents().isPresent() || !known.alike()
            ? input
            : BlockFrame.withExtents(
                input, kind, Optional.of(StatedExtents.of(known.extents())), operator);
    return reblock(stated, kind, shape.apply(known, frame.blocks()), missing, operator);
  }

  private LogicalPlan plan() {
    return alreadyTiled() ? checked() : cutAndAssembled();
  }

  private void checkShape(long[] shape) {
    long elements = 1;
    for (int axis = 0; axis < shape.length; axis++) {
      if (shape[axis] < 1 || shape[axis] > Integer.MAX_VALUE) {
        throw new IllegalArgumentException(
            "%s: target blocks of %s elements; expected 1 to 2^31 - 1 along each axis"
                .formatted(frame.operator(), Arrays.toString(shape)));
      }
      // The cells of images are clipped to the result already
      boolean isBounded = extents.isPresent() && images.isEmpty();
      long most = isBounded ? Math.max(1, extents.get().extent(axis)) : shape[axis];
      elements = Bytes.product(elements, Math.min(shape[axis], most));
    }
    long bytes =
        Bytes.product(
            elements, (long) frame.blocks().elementType().bytes() * frame.blocks().planes().size());
    if (extents.isPresent() && bytes > Integer.MAX_VALUE - (64 << 10) - bytes / 8) {
      throw new IllegalArgumentException(
          ("%s: target blocks of %s elements would have %s bytes of values; a block"
                  + " must stay below 2 GiB")
              .formatted(frame.operator(), Arrays.toString(shape), bytes));
    }
  }

  // ---- nothing to do

  /** True if the metadata says that all blocks are target blocks already. */
  private boolean alreadyTiled() {
    Optional<Shape> stated = frame.blockShape();
    if (missing != Missing.ERROR || extents.isEmpty() || stated.isEmpty()) {
      return false;
    }
    for (int axis = 0; axis < frame.kind().rank(); axis++) {
      long extent = extents.get().extent(axis);
      long found = Math.min(stated.get().extent(axis), extent);
      if (found != Math.min(blockShape.extent(axis), extent) || found == 0) {
        return false;
      }
    }
    return true;
  }

  private LogicalPlan checked() {
    if (isTiledByStage()) {
      return frame.plan();
    }
    List<Attribute> places = frame.block().subList(0, 2 * frame.kind().rank());
    return checked(frame.plan(), places, further);
  }

  /**
   * The plan with a check of the blocks' places, inserted below programs that process blocks one by
   * one.
   */
  private LogicalPlan checked(LogicalPlan plan, List<Attribute> places, List<Attribute> further) {
    return checkedBelow(plan, places, further).orElseGet(() -> checkedHere(plan, places, further));
  }

  private LogicalPlan checkedHere(
      LogicalPlan plan, List<Attribute> places, List<Attribute> further) {
    GridCheck check = check();
    if (further.isEmpty() && CheapChecks.isStored(check, plan, places)) {
      return plan;
    }
    NamedExpression isTiled =
        Attributes.alias(
            new TilingCheck(check, ScalaInterop.<Expression>seq(places), 0, 0)
                .toAggregateExpression(),
            "is_tiled");
    LogicalPlan checks =
        new Aggregate(
            ScalaInterop.<Expression>seq(further),
            ScalaInterop.<NamedExpression>seq(isTiled),
            plan,
            ScalaInterop.none());
    return new CheckedBlocks(
        Option.apply(check),
        ScalaInterop.seq(places),
        checks.output(),
        plan,
        ScalaInterop.<LogicalPlan>seq(checks));
  }

  private Optional<LogicalPlan> checkedBelow(
      LogicalPlan plan, List<Attribute> places, List<Attribute> further) {
    if (plan instanceof ProgramBlocks made && made.carriesColumns()) {
      return made.sources(places)
          .flatMap(
              in -> made.sources(further).map(with -> over(made, checked(made.child(), in, with))));
    }
    if (plan instanceof Project project) {
      return Attributes.below(project, places)
          .flatMap(
              in ->
                  Attributes.below(project, further)
                      .flatMap(with -> checkedBelow(project.child(), in, with)))
          .map(below -> over(project, below));
    }
    return Optional.empty();
  }

  private static LogicalPlan over(LogicalPlan node, LogicalPlan child) {
    return node.withNewChildren(ScalaInterop.<LogicalPlan>seq(child));
  }

  /** True if the plan below guarantees that the blocks are cells of the stated tiling. */
  private boolean isTiledByStage() {
    return isTiledBelow(frame.plan(), frame.block());
  }

  /** As {@link #isTiled}, below projections. */
  private boolean isTiledBelow(LogicalPlan plan, List<Attribute> block) {
    if (!isSaying(block.get(2 * frame.kind().rank()).metadata())) {
      return further.isEmpty() && isFlatTiling(plan, block);
    }
    return plan instanceof Project project && !AllCells.areIn(plan)
        ? Attributes.below(project, block)
            .map(read -> isTiledBelow(project.child(), read))
            .orElseGet(() -> further.isEmpty() && isReshapedTiling(project, block))
        : isTiled(plan, block);
  }

  /** True if the blocks are those of a tiled volume with extent 1 along the axis that they lack. */
  private boolean isFlatTiling(LogicalPlan plan, List<Attribute> block) {
    List<Attribute> output = ScalaInterop.list(plan.output());
    List<String> volume = new ArrayList<>(BlockKind.VOLUME.offsetColumns());
    volume.addAll(BlockKind.VOLUME.sizeColumns());
    List<Attribute> whole = new ArrayList<>();
    for (String name : volume) {
      output.stream()
          .filter(column -> column.name().equals(name))
          .findFirst()
          .ifPresent(whole::add);
    }
    if (whole.size() < volume.size() && plan instanceof Project project) {
      return Attributes.below(project, block)
          .filter(read -> isFlatTiling(project.child(), read))
          .isPresent();
    }
    if (frame.kind() == BlockKind.VOLUME || whole.size() < volume.size()) {
      return false;
    }
    whole.addAll(block.subList(2 * frame.kind().rank(), block.size()));
    ArrayMetadata metadata = ArrayMetadata.of(block.get(2 * frame.kind().rank()).metadata());
    Optional<Shape> all = metadata.extents(BlockKind.VOLUME.rank());
    Optional<Shape> cells = metadata.blockShape(BlockKind.VOLUME.rank());
    if (all.isEmpty() || cells.isEmpty() || extents.isEmpty()) {
      return false;
    }
    int rank = frame.kind().rank();
    long kept = 1;
    for (int axis = 0; axis < rank; axis++) {
      int from = whole.indexOf(block.get(axis));
      if (from < 0
          || whole.indexOf(block.get(rank + axis)) != BlockKind.VOLUME.rank() + from
          || all.get().extent(from) != extents.get().extent(axis)
          || cells.get().extent(from) != blockShape.extent(axis)) {
        return false;
      }
      kept *= extents.get().extent(axis);
    }
    return kept == all.get().elements() && isTiled(plan, whole, BlockKind.VOLUME, frame.operator());
  }

  /** True if a projection counts the cells of another tiling as those of this one. */
  private boolean isReshapedTiling(Project project, List<Attribute> block) {
    List<Attribute> places = block.subList(0, 2 * frame.kind().rank());
    Set<BlockKind> kinds = new HashSet<>();
    for (NamedExpression each : ScalaInterop.<NamedExpression>list(project.projectList())) {
      if (Attributes.indexOf(places, each.toAttribute()) >= 0) {
        boolean isReshaped = each instanceof Alias alias && alias.child() instanceof CellPlace;
        if (!isReshaped) {
          return false;
        }
        kinds.add(((CellPlace) ((Alias) each).child()).kind());
      }
    }
    if (kinds.size() != 1) {
      return false;
    }
    BlockKind kind = kinds.iterator().next();
    BlockFrame below = BlockFrame.of(project.child(), kind, frame.operator());
    return isTiled(below.plan(), below.block(), kind, frame.operator());
  }

  /**
   * True if the blocks of a plan are known to be cells of the tiling that their metadata state.
   *
   * @param block the columns of the plan with the blocks
   */
  private static boolean isTiled(
      LogicalPlan plan, List<Attribute> block, BlockKind kind, String operator) {
    LogicalPlan blocks = new Project(ScalaInterop.seq(List.<NamedExpression>copyOf(block)), plan);
    BlockFrame read = BlockFrame.of(blocks, kind, operator);
    return read.extents().isPresent()
        && read.blockShape().isPresent()
        && new ReblockPlans(
                read.plan(),
                kind,
                Target.of(read.blockShape().get().toArray()),
                Missing.ERROR,
                false,
                read.plan(),
                operator)
            .isTiledByStage();
  }

  /** True for blocks of which all were checked, or which are stored as the cells. */
  private boolean isChecked(LogicalPlan plan, List<Attribute> block) {
    List<Attribute> places = block.subList(0, 2 * frame.kind().rank());
    return plan instanceof CheckedBlocks checked
        ? checked.grid().isDefined()
            && checked.grid().get().blockShape().equals(blockShape)
            && checked.grid().get().extents().equals(ScalaInterop.option(extents))
            && ScalaInterop.<Attribute>list(checked.places()).equals(places)
        : CheapChecks.isStored(check(), plan, places);
  }

  private GridCheck check() {
    return new GridCheck(frame.kind(), blockShape, ScalaInterop.option(extents), frame.operator());
  }

  /**
   * True for blocks that were assembled from pieces, made from whole arrays, or compared with
   * another array's blocks, and for results of blockwise operators on them.
   */
  private boolean isTiled(LogicalPlan plan, List<Attribute> block) {
    // Further columns may be computed above, and then distinguish parts of one array.
    return plan instanceof AssembleBlocks assembled && assembled.givesAllCells()
        || further.isEmpty() && (isChecked(plan, block) || AllCells.areIn(plan))
        || plan instanceof ProgramBlocks made
            && made.gives(block)
            && (made.meetsOrGathers() || isOfTiledBlocks(made));
  }

  /** True if each block of a tiling gives one block of the result. */
  private boolean isOfTiledBlocks(ProgramBlocks made) {
    Optional<List<Attribute>> read = made.readsBlocks();
    boolean isReduced =
        made.spec().program().steps().stream()
            .anyMatch(step -> step instanceof Reduce || step instanceof Merge);
    if (read.isEmpty() && !isReduced) {
      return false;
    }
    StageInput input = made.spec().first();
    BlockSchema blocks = input.blocks();
    List<Attribute> own = made.read().subList(0, blocks.blockColumns().size());
    int rank = blocks.kind().rank();
    ArrayMetadata metadata = ArrayMetadata.of(own.get(2 * rank).metadata());
    boolean isStated = metadata.extents(rank).isPresent() && metadata.blockShape(rank).isPresent();
    return further.isEmpty() && isStated
        ? isTiled(made.child(), own, blocks.kind(), input.operator())
        : read.flatMap(block -> Attributes.belowProjections(made.child(), block))
            .filter(below -> isTiled(below.plan(), below.columns()))
            .isPresent();
  }

  /** Metadata below a projection, which may have made these blocks from blocks of another rank. */
  private boolean isSaying(Metadata metadata) {
    return ArrayMetadata.of(metadata).states(frame.extents(), frame.blockShape());
  }

  // ---- cut, shuffle, assemble

  private LogicalPlan cutAndAssembled() {
    AssembleSpec spec =
        new AssembleSpec(
            frame.kind(),
            grid,
            missing,
            frame.operator(),
            predicted(),
            ScalaInterop.option(images),
            isMarked ? ScalaInterop.none() : ScalaInterop.option(extents));
    CutBlocks cut =
        CutBlocks.of(
            frame.plan(),
            new CutSpec(
                frame.kind(),
                grid,
                new CellOrigins(grid),
                ScalaInterop.option(extents),
                ScalaInterop.option(images),
                ScalaInterop.none(),
                frame.operator()));
    LogicalPlan pieces = isMarked ? withMarks(cut, spec) : cut;
    List<Attribute> produced =
        IntStream.range(0, frame.columns().size()).mapToObj(this::produce).toList();
    return new AssembleBlocks(spec, pieces.output(), ScalaInterop.seq(produced), pieces);
  }

  /** The pieces, and a mark for each target block of each array. */
  private LogicalPlan withMarks(CutBlocks cut, AssembleSpec spec) {
    LogicalPlan arrays = arrays();
    List<Attribute> marks =
        ScalaInterop.<Attribute>list(cut.output()).stream()
            .map(column -> column.newInstance().withNullability(true))
            .toList();
    MarkCells mark = new MarkCells(spec, arrays.output(), ScalaInterop.seq(marks), arrays);
    return new PieceUnion(cut, mark);
  }

  /** The output column at a position: as the input's, with the new shapes in its metadata. */
  private Attribute produce(int position) {
    Attribute column = frame.produce(position);
    Attribute own = frame.columns().get(position);
    if (Attributes.indexOf(further, own)
        >= 0) { // may be null for an array that consists only of zeros
      return column.withNullability(own.nullable() || inOrigin(own).nullable());
    }
    if (!frame.blocks().planes().contains(position)) {
      return column;
    }
    ArrayMetadata known = ArrayMetadata.of(column.metadata()).withBlockShape(blockShape);
    return (Attribute)
        column.withMetadata(
            images.map(each -> known.withExtents(each.target())).orElse(known).toMetadata());
  }

  /** One row per array: its extents, then its further columns. */
  private LogicalPlan arrays() {
    List<NamedExpression> outputs = new ArrayList<>();
    for (int axis = 0; axis < frame.kind().rank(); axis++) {
      Expression extent =
          target.isPresent()
              ? Literal.create(target.get().extent(axis), DataTypes.LongType)
              : new Max(BlockEnd.of(inOrigin(frame.offset(axis)), inOrigin(frame.size(axis))))
                  .toAggregateExpression();
      outputs.add(Attributes.alias(extent, "extent" + axis));
    }
    if (target.isPresent() && further.isEmpty()) {
      return new Project(ScalaInterop.seq(outputs), new OneRowRelation());
    }
    List<Expression> groups = new ArrayList<>();
    for (Attribute own : further) {
      Attribute column = inOrigin(own);
      groups.add(column);
      outputs.add(Attributes.alias(column, own.name()));
    }
    return new Aggregate(
        ScalaInterop.seq(groups), ScalaInterop.seq(outputs), origin, ScalaInterop.none());
  }

  private Attribute inOrigin(Attribute own) {
    return origin == frame.plan()
        ? own
        : GroupingColumns.named(ScalaInterop.list(origin.output()), own).orElseThrow();
  }

  private Prediction predicted() {
    if (target.isEmpty() || extents.isEmpty() || extents.get().elements() == 0) {
      return new Prediction(-1, false, !further.isEmpty(), ScalaInterop.none());
    }
    Optional<Shape> stated = frame.blockShape();
    int rank = frame.kind().rank();
    AxisCuts[] from = new AxisCuts[rank];
    AxisCuts[] to = new AxisCuts[rank];
    for (int axis = 0; axis < rank; axis++) {
      long extent = extents.get().extent(axis);
      to[axis] = AxisCuts.every(blockShape.extent(axis), target.get().extent(axis));
      from[axis] =
          stated.isPresent() && stated.get().extent(axis) > 0
              ? AxisCuts.every(stated.get().extent(axis), extent)
              : AxisCuts.every(extent, extent);
    }
    RowBytes row =
        new RowBytes(
            rank + frame.columns().size(),
            frame.blocks().planes().size(),
            frame.blocks().elementType().bytes());
    long pieces = new PieceSizes(Cuts.of(from), Cuts.of(to), images).sum(row);
    long marks =
        isMarked ? Bytes.product(row.withoutValues(), Math.max(1, Cuts.of(to).cells())) : 0;
    return new Prediction(
        Bytes.sum(pieces, marks), stated.isEmpty(), !further.isEmpty(), Option.apply(Cuts.of(to)));
  }
}
