package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.BlockProgram;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.CarriesColumns;
import org.tilespark.spark.catalyst.MadeAnewNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Runs an {@link ArrayProgram} on every block, independently of other blocks of its array: each
 * block must be whole along the axes that need it. Or, if the spec says that arrays are gathered,
 * runs it on each whole array. A program of several arrays combines blocks with equal places and
 * further columns; all arrays must have the same cuts.
 */
public final class ProgramBlocks extends MadeAnewNode<StageSpec> implements CarriesColumns {
  /** The column of the trend that a detrending step subtracts. */
  public static final String TREND = "tilespark_trend";

  private final Seq<LogicalPlan> others;

  /** A constructor for Catalyst, which uses it to copy nodes; other code calls {@link #of}. */
  public ProgramBlocks(
      StageSpec spec,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      LogicalPlan child,
      Seq<LogicalPlan> others) {
    super(spec, inputs, produced, child);
    this.others = others;
  }

  /**
   * The node over {@code child}, which takes all of its columns. A column {@value #TREND} has the
   * trend to subtract, and is not passed on.
   *
   * @param kind kind of the blocks
   * @param metadata metadata of the values in the result
   * @param gathered shape of the result's blocks, if volumes are gathered
   */
  public static ProgramBlocks of(
      LogicalPlan child,
      BlockKind kind,
      ArrayProgram program,
      Metadata metadata,
      Optional<Shape> gathered,
      Missing missing,
      String operator) {
    BlockFrame frame = BlockFrame.of(child, kind, operator);
    if (gathered.isPresent()) {
      GroupingColumns.of(frame.blocks(), frame.columns(), operator);
    }
    List<Attribute> further = new ArrayList<>(frame.further());
    Optional<Attribute> trend =
        further.stream()
            .filter(column -> column.name().equals(TREND))
            .filter(column -> column.dataType() instanceof ArrayType)
            .findFirst();
    trend.ifPresent(further::remove);
    StageBranch branch = StageBranch.of(frame, further, missing, operator);
    int position = trend.map(frame.columns()::indexOf).orElse(-1);
    StageInput input = branch.input().withTrend(position);
    return of(List.of(new StageBranch(input, frame.columns(), child)), program, metadata, gathered);
  }

  /**
   * The node over arrays with the same cuts.
   *
   * @param branches branches, at least one, in the order of the program's inputs: the blocks of
   *     each, then the arrays joined to them. The result has the columns of the first
   * @param metadata metadata of the values in the result
   * @param gathered shape of the result's blocks, if arrays are gathered
   */
  public static ProgramBlocks of(
      List<StageBranch> branches,
      ArrayProgram program,
      Metadata metadata,
      Optional<Shape> gathered) {
    StageBranch first = branches.get(0);
    List<Attribute> produced = produced(first, program.output(), metadata);
    BlockKind kind = first.input().blocks().kind();
    BlockSchema out = BlockSchema.find(Attributes.schema(produced), kind, first.input().operator());
    return new ProgramBlocks(
        new StageSpec(program, StageBranch.inputs(branches), out, ScalaInterop.option(gathered)),
        ScalaInterop.seq(StageBranch.columns(branches)),
        ScalaInterop.seq(produced),
        first.child(),
        ScalaInterop.seq(branches.stream().skip(1).map(StageBranch::child).toList()));
  }

  private static List<Attribute> produced(
      StageBranch first, BlockProgram.State output, Metadata metadata) {
    StageInput input = first.input();
    BlockSchema blocks = input.blocks();
    DataType values = DataTypes.createArrayType(BlockSchema.sparkType(output.type()), false);
    List<Attribute> produced = new ArrayList<>();
    for (int position = 0; position < first.columns().size(); position++) {
      Attribute column = first.columns().get(position);
      if (position == blocks.values()) {
        produced.add(Attributes.column(column.name(), values, metadata));
      } else if (input.further().contains(position)) {
        produced.add(column.newInstance());
      } else if (!blocks.isImag(position) && blocks.blockColumns().contains(position)) {
        produced.add(column.newInstance().withNullability(false));
      }
      boolean isImag = blocks.isComplex() ? blocks.isImag(position) : position == blocks.values();
      if (isImag && output.isComplex()) {
        String name = blocks.isComplex() ? column.name() : BlockKind.IMAG;
        produced.add(Attributes.column(name, values, metadata));
      }
    }
    return produced;
  }

  /** The branch of one of the inputs. */
  StageBranch branch(int input) {
    return StageBranch.of(
        spec().inputs().get(input),
        ScalaInterop.list(inputs()),
        input == 0 ? child() : (LogicalPlan) others.apply(input - 1));
  }

  /** The permutation, if the program only reorders each block's axes. */
  public Optional<Permutation> asPermutation() {
    boolean takesAll = spec().program().isComplex() == spec().first().blocks().isComplex();
    return takesAll && spec().takesEachBlock()
        ? spec().program().asPermutation()
        : Optional.empty();
  }

  /** The output columns: those of the blocks, in their usual order, and then further ones. */
  public List<Attribute> given() {
    List<Integer> positions = new ArrayList<>(spec().out().blockColumns());
    positions.addAll(spec().furtherOut(produced().size()));
    return positions.stream().map(at -> (Attribute) produced().apply(at)).toList();
  }

  /** The columns that are read from the first array: those of its blocks, and then further ones. */
  public List<Attribute> read() {
    StageBranch first = branch(0);
    return Stream.concat(first.block().stream(), first.further().stream()).toList();
  }

  /** True if {@code block} are the columns of the output blocks, in their usual order. */
  public boolean gives(List<Attribute> block) {
    return StageBranch.positions(ScalaInterop.list(produced()), block)
        .equals(spec().out().blockColumns());
  }

  /** True if blocks of several arrays are combined, or each array is processed as a whole. */
  public boolean meetsOrGathers() {
    return !others.isEmpty() || spec().gathered().isDefined();
  }

  /** The columns of the input blocks, if each gives one output block; otherwise empty. */
  public Optional<List<Attribute>> readsBlocks() {
    ArrayProgram program = spec().program();
    return program.cutAxes().sliced().isEmpty() && !program.takesCells()
        ? Optional.of(branch(0).block())
        : Optional.empty();
  }

  // ---- columns that are equal in the child and in the output

  @Override
  public boolean carriesColumns() {
    return spec().isBlockByBlock();
  }

  @Override
  public Optional<Attribute> source(Attribute output) {
    List<Attribute> read = ScalaInterop.list(inputs());
    List<Attribute> given = ScalaInterop.list(produced());
    int position = Attributes.indexOf(given, output);
    int further = spec().furtherOut(given.size()).indexOf(position);
    if (further >= 0) {
      return Optional.of(read.get(spec().first().further().get(further)));
    }
    BlockSchema in = spec().first().blocks();
    BlockSchema out = spec().out();
    int offset = out.offsets().indexOf(position);
    int size = out.sizes().indexOf(position);
    int axis = spec().program().permutation().axis(Math.max(0, Math.max(offset, size)));
    return offset >= 0
        ? Optional.of(read.get(in.offsets().get(axis)))
        : size >= 0 ? Optional.of(read.get(in.sizes().get(axis))) : Optional.empty();
  }

  /** The sources of several output columns; empty if one is computed. */
  public Optional<List<Attribute>> sources(List<Attribute> columns) {
    List<Attribute> sources = columns.stream().map(this::source).flatMap(Optional::stream).toList();
    return sources.size() == columns.size() ? Optional.of(sources) : Optional.empty();
  }

  @Override
  public List<Attribute> computed() {
    return spec().out().planes().stream().map(at -> (Attribute) produced().apply(at)).toList();
  }

  @Override
  public Optional<LogicalPlan> reading(AttributeSet used) {
    boolean isReal = // imaginary parts are not used, nor needed for the real ones
        spec().out().isComplex()
            && !used.contains(computed().get(1))
            && asPermutation().isPresent();
    StageSpec spec = isReal ? spec().real() : spec();
    StageInput in = spec.first();
    BlockSchema out = spec.out();
    List<Integer> given = spec().furtherOut(produced().size());
    List<Integer> further = new ArrayList<>();
    List<Integer> kept = new ArrayList<>(out.blockColumns());
    for (int i = 0; i < given.size(); i++) {
      if (used.contains(produced().apply(given.get(i)))) {
        further.add(in.further().get(i));
        kept.add(given.get(i));
      }
    }
    if (further.size() == given.size() && !isReal) {
      return Optional.empty();
    }
    StageBranch read =
        StageBranch.of(
            in.with(further, in.missing(), in.operator()), ScalaInterop.list(inputs()), child());
    return Optional.of(
        new ProgramBlocks(
            new StageSpec(
                spec.program(), List.of(read.input()), out.mapped(kept::indexOf), spec.gathered()),
            ScalaInterop.seq(read.columns()),
            ScalaInterop.seq(kept.stream().map(produced()::apply).toList()),
            child(),
            others));
  }

  @Override
  public boolean coordinatesAreCheap() {
    return carriesColumns() && coordinatesAreCheap(child());
  }

  @Override
  public Option<Object> maxRows() {
    return spec().takesEachBlock() ? child().maxRows() : super.maxRows();
  }

  @Override
  public Statistics stats() {
    return BlockStatistics.of(
        ScalaInterop.list(produced()),
        spec().out(),
        new BlockStatistics.Input(
            child(), spec().first().blocks(), spec().program().extents().known()),
        spec().gathered().isDefined());
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec(), inputs(), produced(), child(), others);
  }
}
