package org.tilespark.spark.permute;

import java.io.Serializable;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import scala.Option;

/**
 * A permutation of the axes of every block, and what is known of the array that the blocks are part
 * of.
 *
 * @param kind matrix or volume
 * @param permutation output axis {@code i} is input axis {@code permutation.axis(i)}
 * @param extents of the whole input array as its metadata stated them when the operator was made;
 *     kept here, since Spark's optimizer drops metadata of columns that it finds redundant
 */
public record BlockPermutation(BlockKind kind, Permutation permutation, Option<Shape> extents)
    implements Serializable {
  /** As users call it, for messages: {@code "matrix_transpose"}. */
  public String function() {
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
