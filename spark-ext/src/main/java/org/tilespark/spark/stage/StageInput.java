package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.stream.Stream;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.options.Missing;
import scala.Option;

/**
 * The positions of the columns of one child of a stage. Complex numbers may come as real blocks,
 * whose imaginary parts are zero.
 *
 * @param blocks the block columns
 * @param further columns that go with the blocks: first those of the result in its order, then
 *     those that only distinguish arrays; with several children, the same ones in the same order
 * @param beside further arrays in the same rows
 * @param trend the trend to subtract, an array of DOUBLE; -1 if there is none
 * @param assembled how blocks are assembled from pieces; empty if the child gives blocks
 * @param cells the place of a piece's target block; empty if the child gives blocks
 * @param missing treatment of holes in gathered arrays
 * @param operator operator's name, for messages: {@code "volume_fft"}
 */
public record StageInput(
    BlockSchema blocks,
    List<Integer> further,
    List<Beside> beside,
    int trend,
    Option<AssembleSpec> assembled,
    List<Integer> cells,
    Missing missing,
    String operator)
    implements Serializable {
  /**
   * A small array in the rows of blocks: the part of it that the block needs.
   *
   * @param planes values, or real and imaginary parts
   * @param repeated axes along which it has one element and is broadcast
   */
  public record Beside(List<Integer> planes, Set<Integer> repeated) implements Serializable {
    /** Copies the collections. */
    public Beside {
      planes = List.copyOf(planes);
      repeated = Set.copyOf(repeated);
    }
  }

  /** Copies the lists. */
  public StageInput {
    further = List.copyOf(further);
    beside = List.copyOf(beside);
    cells = List.copyOf(cells);
  }

  /**
   * Count of the arrays that the program takes from this input: the blocks, and the further arrays
   * in their rows.
   */
  int arrays() {
    return 1 + beside.size();
  }

  /** All positions of columns that the input has. */
  List<Integer> positions() {
    List<Integer> all = new ArrayList<>(cells);
    all.addAll(blocks.blockColumns());
    beside.forEach(each -> all.addAll(each.planes()));
    if (trend >= 0) {
      all.add(trend);
    }
    all.addAll(further);
    return all;
  }

  /** This input with other further columns, treatment of holes and operator. */
  StageInput with(List<Integer> others, Missing asked, String asking) {
    return new StageInput(blocks, others, beside, trend, assembled, cells, asked, asking);
  }

  /** This input with other arrays in the same rows. */
  StageInput with(List<Beside> arrays) {
    return new StageInput(blocks, further, arrays, trend, assembled, cells, missing, operator);
  }

  /** This input with only the real parts of its blocks. */
  StageInput real() {
    return new StageInput(
        blocks.real(), further, beside, trend, assembled, cells, missing, operator);
  }

  /** This input with the position of a trend to subtract. */
  StageInput withTrend(int position) {
    return new StageInput(blocks, further, beside, position, assembled, cells, missing, operator);
  }

  /** This input with its columns at other positions. */
  StageInput mapped(IntUnaryOperator position) {
    return new StageInput(
        blocks.mapped(position),
        mapped(further, position),
        beside.stream()
            .map(each -> new Beside(mapped(each.planes(), position), each.repeated()))
            .toList(),
        trend < 0 ? -1 : position.applyAsInt(trend),
        assembled,
        mapped(cells, position),
        missing,
        operator);
  }

  private static List<Integer> mapped(List<Integer> positions, IntUnaryOperator position) {
    return positions.stream().map(position::applyAsInt).toList();
  }

  /** Further columns, then the columns of a block's place, along axes in a given order. */
  List<Integer> keys(Permutation axes) {
    return Stream.concat(further.stream(), Arrays.stream(axes.toArray()).mapToObj(places()::get))
        .toList();
  }

  /** The columns of a block's place. */
  List<Integer> places() {
    return assembled.isDefined() ? cells : blocks.offsets();
  }
}
