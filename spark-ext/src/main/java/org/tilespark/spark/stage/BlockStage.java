package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.layout.Extents;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.AssembleBlocks;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.CutBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.permute.BlockPermutation;
import org.tilespark.spark.permute.PermuteBlocks;
import org.tilespark.spark.permute.PermutedColumns;
import org.tilespark.spark.runtime.BackendChoice;
import scala.collection.immutable.Seq;

/**
 * Programs on blocks that follow each other, with the assembling of blocks below them, so that one
 * physical stage can run them all: arrays stay on the device from the pieces of one exchange to
 * those of the next. Permutations are programs too. Projections between them that only choose,
 * reorder or rename columns do not part them.
 *
 * @param program the steps of all
 * @param gathered as {@link StageSpec#gathered}
 * @param missing as {@link StageSpec#missing}
 * @param operator who asks
 * @param columns of {@code child} that are read
 * @param assembly how blocks are put together; empty if {@code child} gives blocks
 * @param child what the stage reads
 */
public record BlockStage(
    ArrayProgram program,
    Optional<Shape> gathered,
    Missing missing,
    String operator,
    Columns columns,
    Optional<Assembly> assembly,
    LogicalPlan child) {
  /**
   * What is read.
   *
   * @param block columns with the blocks, in the order of {@link BlockSchema#blockColumns}
   * @param trend column of what is taken off; null if none is
   * @param further columns that go with the blocks
   */
  record Columns(List<Attribute> block, Attribute trend, List<Attribute> further) {
    private List<Attribute> all() {
      return Stream.of(block, trend == null ? List.<Attribute>of() : List.of(trend), further)
          .flatMap(List::stream)
          .toList();
    }
  }

  /**
   * How blocks are put together.
   *
   * @param cells columns with the places of target blocks
   */
  public record Assembly(AssembleSpec spec, List<Attribute> cells) {}

  /** The longest stage that ends in {@code last}. */
  public static BlockStage endingIn(ProgramBlocks last) {
    StageSpec spec = last.spec();
    BlockStage stage =
        new BlockStage(
            spec.program(),
            Optional.ofNullable(spec.gathered().getOrElse(() -> null)),
            spec.missing(),
            spec.operator(),
            new Columns(
                at(last.inputs(), spec.in().blockColumns()),
                spec.trend() < 0 ? null : last.inputs().apply(spec.trend()),
                at(last.inputs(), spec.furtherIn(last.inputs().size()))),
            Optional.empty(),
            last.child());
    return stage.withAllBelow();
  }

  /** The longest stage that ends in a permutation. */
  public static BlockStage endingIn(PermuteBlocks last) {
    BlockPermutation spec = last.spec();
    PermutedColumns columns = last.columns();
    List<Attribute> inputs = columns.inputs();
    BlockStage stage =
        new BlockStage(
            reordering(spec, columns),
            Optional.empty(),
            Missing.ERROR,
            spec.function(),
            new Columns(
                columns.blocks().blockColumns().stream().map(inputs::get).toList(),
                null,
                columns.blocks().further(inputs)),
            Optional.empty(),
            last.child());
    return stage.withAllBelow();
  }

  private static ArrayProgram reordering(BlockPermutation permutation, PermutedColumns columns) {
    return ArrayProgram.reordering(
        Extents.of(
            Optional.ofNullable(permutation.extents().getOrElse(() -> null)),
            permutation.kind().rank()),
        columns.blocks().elementType(),
        columns.blocks().isComplex(),
        permutation.permutation());
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

  /** The transform right below a plan's projections, if the columns come from it as they are. */
  public static Optional<ProgramBlocks> below(CutBlocks cut) {
    Optional<Attributes.Source> read =
        Attributes.belowProjections(cut.child(), ScalaInterop.list(cut.inputs()));
    boolean isInOrder = // a stage gives pieces in the order of its results
        cut.spec().images().isEmpty() || cut.spec().images().get().areInOrder();
    if (!isInOrder || read.isEmpty() || !(read.get().plan() instanceof ProgramBlocks fourier)) {
      return Optional.empty();
    }
    // In other positions the columns are the same: the cut gives its own names and ids.
    return same(read.get().columns(), ScalaInterop.list(fourier.produced()))
        ? Optional.of(fourier)
        : Optional.empty();
  }

  /**
   * The physical stage.
   *
   * @param out positions of the block columns in {@code produced}
   * @param produced what is given, but for the keys of pieces
   * @param cut what cuts the results into pieces; empty if they stay blocks
   * @param batchBytes bytes of values that make a batch
   */
  public SparkPlan exec(
      BlockSchema out,
      Seq<Attribute> produced,
      Optional<CutBlocks> cut,
      BackendChoice backend,
      long batchBytes,
      SparkPlan plannedChild) {
    int parts = columns.block().size();
    boolean isComplex = parts > 2 * out.kind().rank() + 1;
    BlockSchema in = BlockSchema.canonical(out.kind(), isComplex, program.type());
    return new BlockStageExec(
        new StageSpec(
            program,
            in,
            out,
            columns.trend() == null ? -1 : parts,
            ScalaInterop.option(gathered),
            missing,
            operator),
        ScalaInterop.option(assembly.map(Assembly::spec)),
        ScalaInterop.option(cut.map(CutBlocks::spec)),
        ScalaInterop.seq(assembly.map(Assembly::cells).orElse(List.of())),
        ScalaInterop.seq(columns.all()),
        cut.map(CutBlocks::keys).orElse(ScalaInterop.emptySeq()),
        produced,
        backend,
        batchBytes,
        plannedChild);
  }

  /** This stage with the operator below it, if one stage can run both. */
  private Optional<BlockStage> withBelow() {
    if (columns.trend() != null || assembly.isPresent()) {
      return Optional.empty();
    }
    Optional<Attributes.Source> read = Attributes.belowProjections(child, columns.all());
    if (read.isEmpty()) {
      return Optional.empty();
    }
    int parts = columns.block().size();
    LogicalPlan below = read.get().plan();
    List<Attribute> from = read.get().columns();
    List<Attribute> readBlock = from.subList(0, parts);
    List<Attribute> readFurther = from.subList(parts, from.size());
    if (below instanceof ProgramBlocks inner) {
      return after(inner, readBlock, readFurther);
    }
    if (below instanceof PermuteBlocks permute) {
      return after(permute, readBlock, readFurther);
    }
    return below instanceof AssembleBlocks assemble
            && assemble.spec().images().isEmpty()
            && gathered.isEmpty()
            && !isReordering()
        ? over(assemble, readBlock, readFurther)
        : Optional.empty();
  }

  private Optional<BlockStage> after(
      ProgramBlocks inner, List<Attribute> readBlock, List<Attribute> readFurther) {
    StageSpec below = inner.spec();
    boolean fits =
        (gathered.isEmpty() || below.gathered().isDefined())
            && below.program().fits(program)
            && same(readBlock, at(inner.produced(), below.out().blockColumns()));
    if (!fits) {
      return Optional.empty();
    }
    Optional<List<Attribute>> sources =
        Attributes.counterparts(
            readFurther,
            at(inner.produced(), below.furtherOut(inner.produced().size())),
            at(inner.inputs(), below.furtherIn(inner.inputs().size())));
    if (sources.isEmpty()) {
      return Optional.empty();
    }
    Optional<Shape> shape = gathered;
    if (gathered.isEmpty() && below.gathered().isDefined()) {
      shape = Optional.of(program.blockShape(below.gathered().get()));
    }
    return Optional.of(
        new BlockStage(
            below.program().then(program),
            shape,
            below.missing(),
            both(below.operator(), operator),
            new Columns(
                at(inner.inputs(), below.in().blockColumns()),
                below.trend() < 0 ? null : inner.inputs().apply(below.trend()),
                sources.get()),
            Optional.empty(),
            inner.child()));
  }

  private Optional<BlockStage> after(
      PermuteBlocks inner, List<Attribute> readBlock, List<Attribute> readFurther) {
    PermutedColumns given = inner.columns();
    List<Integer> parts = given.blocks().blockColumns();
    ArrayProgram reordering = reordering(inner.spec(), given);
    boolean fits =
        reordering.fits(program)
            && same(readBlock, parts.stream().map(given.produced()::get).toList());
    List<Attribute> sources = new ArrayList<>();
    for (Attribute column : readFurther) {
      Optional<Attribute> source = given.source(column);
      fits &= source.isPresent();
      source.ifPresent(sources::add);
    }
    if (!fits) {
      return Optional.empty();
    }
    return Optional.of(
        new BlockStage(
            reordering.then(program),
            gathered,
            missing,
            both(inner.spec().function(), operator),
            new Columns(parts.stream().map(given.inputs()::get).toList(), null, sources),
            Optional.empty(),
            inner.child()));
  }

  private Optional<BlockStage> over(
      AssembleBlocks assemble, List<Attribute> readBlock, List<Attribute> readFurther) {
    List<Attribute> given = ScalaInterop.list(assemble.produced());
    BlockSchema blocks = BlockSchema.find(Attributes.schema(given), kind(), operator);
    List<Integer> parts = blocks.blockColumns();
    if (!same(readBlock, at(assemble.produced(), parts))) {
      return Optional.empty();
    }
    int rank = blocks.kind().rank();
    List<Attribute> pieces = ScalaInterop.list(assemble.inputs());
    Optional<List<Attribute>> sources =
        Attributes.counterparts(readFurther, given, pieces.subList(rank, pieces.size()));
    return sources.map(
        further ->
            new BlockStage(
                program,
                gathered,
                missing,
                operator,
                new Columns(
                    parts.stream().map(position -> pieces.get(position + rank)).toList(),
                    null,
                    further),
                Optional.of(new Assembly(assemble.spec(), pieces.subList(0, rank))),
                assemble.child()));
  }

  private BlockKind kind() {
    return Arrays.stream(BlockKind.values())
        .filter(kind -> kind.rank() == program.extents().rank())
        .findAny()
        .orElseThrow();
  }

  /** True if blocks are only permuted: then they are put together as rows first. */
  private boolean isReordering() {
    return program.steps().stream().allMatch(step -> step.asPermutation().isPresent());
  }

  private static String both(String first, String then) {
    return first.equals(then) ? first : first + ", then " + then;
  }

  private static boolean same(List<Attribute> read, List<Attribute> given) {
    return Arrays.equals(
        read.stream().map(Attribute::exprId).toArray(),
        given.stream().map(Attribute::exprId).toArray());
  }

  private static List<Attribute> at(
      scala.collection.immutable.Seq<Attribute> columns, List<Integer> positions) {
    return positions.stream().map(position -> (Attribute) columns.apply(position)).toList();
  }
}
