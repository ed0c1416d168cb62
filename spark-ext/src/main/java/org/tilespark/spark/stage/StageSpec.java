package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.Exchange;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * The program on the blocks of one or several arrays between two exchanges, and the positions of
 * their columns. Blocks of several inputs correspond if their places and further columns are equal.
 *
 * @param program program of the stage. Its inputs are, for each of {@code inputs}, the blocks and
 *     then the arrays joined to them
 * @param inputs inputs of each child, by positions among all columns that are read
 * @param out positions of the block columns in the output
 * @param gathered shape of a block of the result, if all blocks with equal further columns are
 *     parts of one array in any tiling; empty if blocks are processed one by one
 */
public record StageSpec(
    ArrayProgram program, List<StageInput> inputs, BlockSchema out, Option<Shape> gathered)
    implements Serializable {
  /** Copies the list. */
  public StageSpec {
    inputs = List.copyOf(inputs);
  }

  /** This stage for real parts only, for a program of one input that computes nothing. */
  StageSpec real() {
    return new StageSpec(
        new ArrayProgram(program.extents(), program.type(), false, program.steps()),
        List.of(first().real()),
        out.real(),
        gathered);
  }

  /** The first input, whose further columns the results carry. */
  public StageInput first() {
    return inputs.get(0);
  }

  /** The operator's name, for messages about results. */
  public String operator() {
    return first().operator();
  }

  /** Positions of the further columns among {@code count} output columns, in order. */
  public List<Integer> furtherOut(int count) {
    return out.further(IntStream.range(0, count).boxed().toList());
  }

  /** Index of an input's blocks among the program's inputs. */
  int number(int input) {
    return inputs.subList(0, input).stream().mapToInt(StageInput::arrays).sum();
  }

  /**
   * Positions of the columns that are equal in corresponding rows; none if rows are processed one
   * by one.
   */
  List<Integer> keys(int input) {
    StageInput columns = inputs.get(input);
    if (gathered.isDefined()) {
      return columns.further();
    }
    boolean isAlone = inputs.size() == 1 && columns.assembled().isEmpty();
    return isAlone ? List.of() : columns.keys(program.meetings().get(number(input)));
  }

  /**
   * The order in which a task needs the rows of an input; for the pieces of a block, its mark first
   * (see {@link PieceGroups}), then the pieces by their places.
   *
   * @param columns columns that are read of all children
   */
  Seq<SortOrder> order(int input, List<Attribute> columns) {
    StageInput in = inputs.get(input);
    List<Attribute> keys = keys(input).stream().map(columns::get).toList();
    if (in.assembled().isDefined()) {
      return Exchange.pieceOrder(
          keys,
          columns.get(in.blocks().values()),
          in.blocks().offsets().stream().map(columns::get).toList());
    }
    return inputs.size() == 1 ? ScalaInterop.emptySeq() : Attributes.ascending(keys);
  }

  /**
   * The tiling of the first array, if there is one array and metadata states it.
   *
   * @param columns columns that are read of all children
   */
  Optional<Cuts> cells(List<Attribute> columns) {
    BlockSchema blocks = first().blocks();
    int rank = blocks.kind().rank();
    ArrayMetadata known = ArrayMetadata.of(columns.get(blocks.values()).metadata());
    Optional<Shape> shape = known.blockShape(rank).filter(each -> each.elements() > 0);
    return first().further().isEmpty() && shape.isPresent()
        ? known.extents(rank).map(extents -> every(shape.get(), extents))
        : Optional.empty();
  }

  private static Cuts every(Shape blockShape, Shape extents) {
    return Cuts.of(
        IntStream.range(0, extents.rank())
            .mapToObj(axis -> AxisCuts.every(blockShape.extent(axis), extents.extent(axis)))
            .toArray(AxisCuts[]::new));
  }

  /** Bytes of all arrays, if each input is one array with known extents. */
  Optional<Long> bytes() {
    boolean areKnown =
        first().further().isEmpty()
            && program.inputs().stream().allMatch(each -> each.extents().known().isPresent());
    return areKnown
        ? Optional.of(program.inputs().stream().mapToLong(StageSpec::bytes).reduce(0, Bytes::sum))
        : Optional.empty();
  }

  private static long bytes(ArrayProgram of) {
    long elementBytes = of.type().bytes() * (of.isComplex() ? 2L : 1L);
    return Bytes.product(of.extents().require().elements(), elementBytes);
  }

  /** True if blocks are only assembled and cut, and not changed. */
  boolean computesNothing() {
    return program.steps().isEmpty()
        && inputs.size() == 1
        && first().beside().isEmpty()
        && gathered.isEmpty()
        && program.isComplex() == first().blocks().isComplex();
  }

  /** True if each block is processed alone. */
  public boolean takesEachBlock() {
    return inputs.size() == 1 && first().assembled().isEmpty() && gathered.isEmpty();
  }

  /**
   * True if each block is combined with blocks of other arrays at the same place, without
   * assembling.
   */
  public boolean takesBlocksThatMeet() {
    return inputs.size() > 1
        && inputs.stream().allMatch(input -> input.assembled().isEmpty())
        && gathered.isEmpty()
        && program.inputs().stream().skip(1).allMatch(other -> other.steps().isEmpty())
        && program.meetings().stream().allMatch(Permutation::isIdentity);
  }

  /** True if each block is processed separately, and only its axes may be reordered. */
  boolean isBlockByBlock() {
    return takesEachBlock()
        && program.cutAxes().whole().isEmpty()
        && program.cutAxes().sliced().isEmpty();
  }

  /** Cuts after every full block, along axes without an end. */
  static Cuts every(Shape blockShape) {
    return Cuts.of(
        Arrays.stream(blockShape.toArray()).mapToObj(AxisCuts::every).toArray(AxisCuts[]::new));
  }

  /** The text in EXPLAIN: {@code "volume (9, 11, 5): transform over yz"}. */
  @Override
  public String toString() {
    return out.kind().label()
        + " "
        + program.extents()
        + (gathered.isEmpty() ? "" : " in one task")
        + ": "
        + program;
  }
}
