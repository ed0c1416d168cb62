package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.layout.Extents;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.AssembleBlocks;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.CutBlocks;
import org.tilespark.spark.exchange.CutSpec;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.exchange.Meeting;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.runtime.BackendChoice;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Consecutive programs on blocks, with the assembling of blocks below them, which one physical
 * stage can run: arrays stay on the device from one exchange to the next. Projections between the
 * programs that only choose, reorder or rename columns are skipped. If a program takes several
 * arrays, each comes from a branch.
 *
 * @param program all steps
 * @param gathered as {@link StageSpec#gathered}
 * @param branches inputs of the stage, in the order of the program's inputs
 */
public record BlockStage(
    ArrayProgram program, Optional<Shape> gathered, List<StageBranch> branches) {
  /** Copies the list. */
  public BlockStage {
    branches = List.copyOf(branches);
  }

  private static BlockStage of(ProgramBlocks node) {
    StageSpec spec = node.spec();
    return new BlockStage(
        spec.program(),
        Optional.ofNullable(spec.gathered().getOrElse(() -> null)),
        IntStream.range(0, spec.inputs().size()).mapToObj(node::branch).toList());
  }

  /** The longest stage that ends in {@code last}. */
  public static BlockStage endingIn(ProgramBlocks last) {
    return of(last).withAllBelow();
  }

  /** The stage that assembles blocks from pieces. */
  public static BlockStage endingIn(AssembleBlocks last) {
    Extents extents = Extents.unknown(last.spec().kind().rank());
    return moving(
            last.blocks(),
            ScalaInterop.list(last.produced()),
            last,
            extents,
            last.spec().operator())
        .withBelow()
        .orElseThrow();
  }

  /** The longest stage whose results are cut into pieces. */
  public static BlockStage endingIn(CutBlocks last) {
    CutSpec spec = last.spec();
    Extents extents =
        Extents.of(Optional.ofNullable(spec.extents().getOrElse(() -> null)), spec.kind().rank());
    BlockStage cutting =
        moving(
            last.blocks(),
            ScalaInterop.list(last.inputs()),
            last.child(),
            extents,
            spec.operator());
    boolean isInOrder = // a stage with steps gives pieces only in the order of its results
        spec.images().isEmpty() || spec.images().get().areInOrder();
    BlockStage longest = cutting.withAllBelow();
    boolean isFromPiecesToPieces = longest.computesNothing() && longest.isOfPieces();
    return isInOrder && !isFromPiecesToPieces ? longest : cutting;
  }

  /** The stage that moves the blocks of a plan and does not change them. */
  private static BlockStage moving(
      BlockSchema blocks,
      List<Attribute> columns,
      LogicalPlan child,
      Extents extents,
      String operator) {
    List<Integer> positions = IntStream.range(0, columns.size()).boxed().toList();
    StageInput input =
        new StageInput(
            blocks,
            blocks.further(positions),
            List.of(),
            -1,
            ScalaInterop.none(),
            List.of(),
            Missing.ERROR,
            operator);
    return new BlockStage(
        new ArrayProgram(extents, blocks.elementType(), blocks.isComplex(), List.of()),
        Optional.empty(),
        List.of(new StageBranch(input, columns, child)));
  }

  /** True if blocks are only assembled and not changed. */
  public boolean computesNothing() {
    return spec(branches.get(0).input().blocks()).computesNothing();
  }

  /** True if blocks are assembled from pieces. */
  public boolean isOfPieces() {
    return branches.stream().anyMatch(StageBranch::isOfPieces);
  }

  /**
   * One node that replaces {@code last} and the program directly below it, if one program can do
   * both.
   */
  public static Optional<LogicalPlan> composed(ProgramBlocks last) {
    return of(last)
        .withBelow()
        .map(
            both ->
                new ProgramBlocks(
                    both.spec(last.spec().out()),
                    ScalaInterop.seq(StageBranch.columns(both.branches)),
                    last.produced(),
                    both.children().get(0),
                    ScalaInterop.seq(both.children().stream().skip(1).toList())));
  }

  /**
   * Most bytes of an array of the first input, if the plan states them: of the whole array, or of a
   * block if blocks are processed one by one.
   */
  public OptionalLong arrayBytes() {
    StageBranch first = branches.get(0);
    BlockSchema blocks = first.input().blocks();
    ArrayMetadata stated = ArrayMetadata.of(first.columns().get(blocks.values()).metadata());
    boolean areWhole = gathered.isPresent() || isOfPieces();
    long width = program.type().bytes() * (program.isComplex() ? 2L : 1L);
    return Stream.of(
            program.extents().known(),
            areWhole ? Optional.<Shape>empty() : stated.blockShape(blocks.kind().rank()))
        .flatMap(Optional::stream)
        .mapToLong(shape -> Bytes.product(shape.elements(), width))
        .min();
  }

  /** The plans of the branches. */
  public List<LogicalPlan> children() {
    return branches.stream().map(StageBranch::child).toList();
  }

  /** How a branch's blocks are assembled; empty if its child gives blocks. */
  public Optional<AssembleSpec> assembled(int branch) {
    return Optional.ofNullable(branches.get(branch).input().assembled().getOrElse(() -> null));
  }

  /** This stage with all operators below it that one stage can run. */
  private BlockStage withAllBelow() {
    BlockStage stage = this;
    Optional<BlockStage> longer = stage.withBelow();
    while (longer.isPresent()) {
      stage = longer.get();
      longer = stage.withBelow();
    }
    return stage;
  }

  /** The specification of the physical stage. */
  private StageSpec spec(BlockSchema out) {
    return new StageSpec(program, StageBranch.inputs(branches), out, ScalaInterop.option(gathered));
  }

  /**
   * The way in which corresponding blocks of several branches come to one task without an exchange;
   * empty for a single branch, or if an exchange is needed.
   *
   * @param out as in {@link #exec}
   */
  public Optional<Meeting> meeting(SparkContext context, BlockSchema out) {
    if (branches.size() == 1 || isOfPieces()) {
      return Optional.empty();
    }
    StageSpec spec = spec(out);
    List<Attribute> columns = StageBranch.columns(branches);
    List<List<Attribute>> keys =
        IntStream.range(0, branches.size())
            .mapToObj(input -> spec.keys(input).stream().map(columns::get).toList())
            .toList();
    return keys.get(0).isEmpty()
        ? Optional.empty()
        : Meeting.of(context, children(), keys, spec.cells(columns), spec.bytes());
  }

  /**
   * The pieces that the stage assembles, if its tasks can read them in place from cached blocks;
   * empty if an exchange is needed.
   *
   * @param planLater plans the blocks
   */
  public Optional<SparkPlan> piecesInPlace(
      SparkContext context, Function<LogicalPlan, SparkPlan> planLater) {
    if (branches.size() > 1 || assembled(0).isEmpty()) {
      return Optional.empty();
    }
    List<Attribute> columns = StageBranch.columns(branches);
    StageSpec spec = spec(branches.get(0).input().blocks());
    List<Attribute> keys = spec.keys(0).stream().map(columns::get).toList();
    return Exchange.inPlace(
        context, children().get(0), keys, spec.order(0, columns), assembled(0).get(), planLater);
  }

  /**
   * The physical stage.
   *
   * @param out positions of the block columns in {@code produced}
   * @param produced the output without the keys of pieces
   * @param cut cut of the results into pieces; empty if they stay blocks
   * @param batchBytes bytes of values that make a batch
   * @param met as {@link Meeting#reason}, if corresponding blocks come together without an exchange
   * @param plannedChildren physical plan of each branch
   */
  public SparkPlan exec(
      BlockSchema out,
      Seq<Attribute> produced,
      Optional<CutBlocks> cut,
      BackendChoice backend,
      long batchBytes,
      Optional<String> met,
      List<SparkPlan> plannedChildren) {
    StageSpec spec = spec(out);
    List<Attribute> columns = StageBranch.columns(branches);
    SparkPlan first = plannedChildren.get(0);
    if (branches.size() == 1 && assembled(0).isPresent()) {
      List<Attribute> by = spec.keys(0).stream().map(columns::get).toList();
      first = Exchange.planned(first, by, assembled(0).get());
    }
    return new BlockStageExec(
        spec,
        ScalaInterop.option(cut.map(CutBlocks::spec)),
        ScalaInterop.seq(columns),
        cut.map(CutBlocks::keys).orElse(ScalaInterop.emptySeq()),
        produced,
        backend,
        batchBytes,
        ScalaInterop.option(met),
        first,
        ScalaInterop.seq(plannedChildren.subList(1, plannedChildren.size())));
  }

  /** Index of a branch's blocks among the program's inputs. */
  private int number(int branch) {
    return branches.subList(0, branch).stream().mapToInt(each -> each.input().arrays()).sum();
  }

  /** This stage with an operator below it, if one stage can run both. */
  private Optional<BlockStage> withBelow() {
    for (int i = 0; i < branches.size(); i++) {
      Optional<BlockStage> longer = withBelow(i);
      if (longer.isPresent()) {
        return longer;
      }
    }
    return Optional.empty();
  }

  private Optional<BlockStage> withBelow(int at) {
    StageBranch branch = branches.get(at);
    if (branch.isBottom()) {
      return Optional.empty();
    }
    Optional<Attributes.Source> source =
        Attributes.belowProjections(branch.child(), branch.columns());
    if (source.isEmpty()) {
      return Optional.empty();
    }
    StageBranch read = new StageBranch(branch.input(), source.get().columns(), branch.child());
    LogicalPlan below = source.get().plan();
    if (below instanceof ProgramBlocks inner) {
      return after(inner, at, read);
    }
    return below instanceof AssembleBlocks assemble
            && (assemble.spec().images().isEmpty() || computesNothing())
            && gathered.isEmpty()
        ? over(assemble, at, read)
        : Optional.empty();
  }

  private Optional<BlockStage> after(ProgramBlocks inner, int at, StageBranch read) {
    StageSpec below = inner.spec();
    List<Attribute> given = at(inner.produced(), below.furtherOut(inner.produced().size()));
    boolean areArrays = below.inputs().size() > 1 || below.gathered().isDefined();
    boolean fits =
        fits(below.program(), at)
            && isGatheredAlike(below, at)
            && same(read.block(), at(inner.produced(), below.out().blockColumns()))
            && (at == 0 || below.first().trend() < 0)
            && (branches.size() == 1 || !areArrays || areAllIn(given, read.further()));
    if (!fits) {
      return Optional.empty();
    }
    List<Attribute> columns = ScalaInterop.list(inner.inputs());
    List<StageBranch> made = new ArrayList<>();
    for (int input = 0; input < below.inputs().size(); input++) {
      StageInput in = below.inputs().get(input);
      Optional<List<Attribute>> further =
          inner.carriesColumns()
              ? inner.sources(read.further())
              : Attributes.counterparts(
                  areArrays ? withKeys(read.further(), given) : read.further(),
                  given,
                  at(inner.inputs(), in.further()));
      if (further.isEmpty()) {
        return Optional.empty();
      }
      boolean isFirstGathered = gathered.isPresent() && below.gathered().isEmpty();
      StageInput behind =
          in.with(
              StageBranch.positions(columns, further.get()),
              isFirstGathered ? read.input().missing() : in.missing(),
              both(in.operator(), read.input().operator()));
      made.add(StageBranch.of(behind, columns, inner.branch(input).child()));
    }
    Optional<Shape> shape = gathered;
    if (gathered.isEmpty() && below.gathered().isDefined()) {
      shape = Optional.of(program.blockShape(below.gathered().get()));
    }
    return Optional.of(with(program.behind(number(at), below.program()), shape, at, made));
  }

  private Optional<BlockStage> over(AssembleBlocks assemble, int at, StageBranch read) {
    List<Attribute> given = ScalaInterop.list(assemble.produced());
    BlockSchema blocks = assemble.blocks();
    List<Attribute> keys = blocks.further(given);
    if (!same(read.block(), at(assemble.produced(), blocks.blockColumns()))
        || !areAllIn(read.further(), keys)
        || (branches.size() > 1 && !areAllIn(keys, read.further()))) {
      return Optional.empty();
    }
    int rank = blocks.kind().rank();
    List<Attribute> pieces = ScalaInterop.list(assemble.inputs());
    StageInput input =
        new StageInput(
            blocks.mapped(position -> position + rank),
            StageBranch.positions(given, withKeys(read.further(), keys)).stream()
                .map(position -> position + rank)
                .toList(),
            List.of(),
            -1,
            Option.apply(assemble.spec()),
            IntStream.range(0, rank).boxed().toList(),
            read.input().missing(),
            read.input().operator());
    StageBranch branch = StageBranch.of(input, pieces, assemble.child());
    return Optional.of(with(program, gathered, at, List.of(branch)));
  }

  private BlockStage with(
      ArrayProgram newProgram, Optional<Shape> newGathered, int at, List<StageBranch> instead) {
    List<StageBranch> all = new ArrayList<>(branches.subList(0, at));
    all.addAll(instead);
    all.addAll(branches.subList(at + 1, branches.size()));
    return new BlockStage(newProgram, newGathered, all);
  }

  /**
   * True if this stage can run {@code first}, on the blocks of a branch, before its own program.
   */
  private boolean fits(ArrayProgram first, int at) {
    ArrayProgram taken = program.inputs().get(number(at));
    boolean meets = program.inputs().size() > 1 || first.inputs().size() > 1;
    // The extents of combined arrays must be known for all or for none.
    boolean areKnownAlike =
        isKnown(first) == isKnown(taken) || (isKnown(taken) && first.inputs().size() == 1);
    // Blocks of several arrays are matched by their places before any program runs.
    boolean keepsPlaces = program.inputs().size() == 1 || first.cutAxes().sliced().isEmpty();
    return first.fits(taken) && (!meets || (areKnownAlike && keepsPlaces));
  }

  private static boolean isKnown(ArrayProgram of) {
    return of.extents().known().isPresent();
  }

  /** True if the stage below and this one both process block by block, or each array as a whole. */
  private boolean isGatheredAlike(StageSpec below, int at) {
    if (gathered.isPresent() == below.gathered().isDefined()) {
      return true;
    }
    boolean canGather =
        program.inputs().stream().allMatch(BlockStage::isKnown)
            && below.program().inputs().stream().allMatch(BlockStage::isKnown)
            && below.inputs().stream().allMatch(each -> each.beside().isEmpty());
    if (gathered.isPresent()) {
      // With missing=zero, a missing block would be filled before the first step.
      return canGather
          && branches.get(at).input().missing() == Missing.ERROR
          && below.program().cutAxes().sliced().isEmpty() // a slice may have left out blocks
          && !below.program().needsTransforms();
    }
    return canGather
        && program.inputs().stream().noneMatch(ArrayProgram::takesCells)
        && at == 0
        && branches.stream()
            .map(StageBranch::input)
            .allMatch(each -> each.assembled().isEmpty() && each.beside().isEmpty());
  }

  private static String both(String first, String then) {
    return first.equals(then) ? first : first + ", then " + then;
  }

  /** The columns {@code read}, then those of {@code keys} that are not among them. */
  private static List<Attribute> withKeys(List<Attribute> read, List<Attribute> keys) {
    List<Attribute> all = new ArrayList<>(read);
    keys.stream().filter(key -> Attributes.indexOf(read, key) < 0).forEach(all::add);
    return all;
  }

  private static boolean areAllIn(List<Attribute> columns, List<Attribute> read) {
    return columns.stream().allMatch(column -> Attributes.indexOf(read, column) >= 0);
  }

  private static boolean same(List<Attribute> read, List<Attribute> given) {
    return Arrays.equals(
        read.stream().map(Attribute::exprId).toArray(),
        given.stream().map(Attribute::exprId).toArray());
  }

  private static List<Attribute> at(Seq<Attribute> columns, List<Integer> positions) {
    return positions.stream().map(position -> (Attribute) columns.apply(position)).toList();
  }
}
