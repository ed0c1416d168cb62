package org.tilespark.spark.stage;

import java.io.Serializable;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import scala.Option;

/**
 * One operator of a {@link BlockStageExec}: what it does to every block, and what it knows of the
 * array that its blocks are part of.
 *
 * @param kind matrix or volume
 * @param permutation output axis {@code i} is input axis {@code permutation.axis(i)}
 * @param extents of its whole input array, if they are stated
 */
public record BlockOperator(BlockKind kind, Permutation permutation, Option<Shape> extents)
    implements Serializable {
  /** As users call it, for messages: {@code "matrix_transpose"}. */
  String function() {
    return switch (kind) {
      case MATRIX -> "matrix_transpose";
      case VOLUME -> "volume_permute";
    };
  }

  /** As EXPLAIN shows it: {@code "PermuteBlocks volume yzx"}. */
  @Override
  public String toString() {
    return "PermuteBlocks " + kind.label() + " " + kind.axesText(permutation);
  }
}
