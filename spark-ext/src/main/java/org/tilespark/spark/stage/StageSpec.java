package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.options.Missing;
import scala.Option;

/**
 * What happens to the blocks of one or several volumes between two exchanges, and where their
 * columns are. Complex numbers may come as real blocks, whose imaginary parts are zero.
 *
 * @param program what happens
 * @param in positions of the block columns among the columns that are read
 * @param out positions of the block columns among those that are given
 * @param trend position among the columns that are read of the trend that is taken off, an array of
 *     DOUBLE; -1 if none is
 * @param gathered shape of a block of the result where all blocks that agree in their further
 *     columns are parts of one volume, in any tiling; empty where each block is taken by itself
 * @param missing what happens where blocks that are gathered leave a hole
 * @param operator who asks, for messages: {@code "volume_fft"}
 */
public record StageSpec(
    ArrayProgram program,
    BlockSchema in,
    BlockSchema out,
    int trend,
    Option<Shape> gathered,
    Missing missing,
    String operator)
    implements Serializable {
  /** Positions of the further columns among the {@code count} that are read. */
  public List<Integer> furtherIn(int count) {
    return IntStream.range(0, count)
        .filter(position -> position != trend && !in.blockColumns().contains(position))
        .boxed()
        .toList();
  }

  /** Positions of the further columns among the {@code count} that are given, in the same order. */
  public List<Integer> furtherOut(int count) {
    return out.further(IntStream.range(0, count).boxed().toList());
  }

  /** Cuts after every full block, along axes without an end. */
  static Cuts every(Shape blockShape) {
    return Cuts.of(
        Arrays.stream(blockShape.toArray()).mapToObj(AxisCuts::every).toArray(AxisCuts[]::new));
  }

  /** As EXPLAIN shows it: {@code "volume (9, 11, 5): transform over yz"}. */
  @Override
  public String toString() {
    return in.kind().label()
        + " "
        + program.extents()
        + (gathered.isEmpty() ? "" : " in one task")
        + ": "
        + program;
  }
}
