package org.tilespark.spark.pointwise;

import java.io.Serializable;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockSchema;
import scala.Option;

/**
 * What is combined with what, and where the columns are: block columns first, further ones after.
 *
 * @param combination what is computed
 * @param left positions of the first array's block columns among those that are read of it
 * @param right the same of the second
 * @param out positions of the block columns in the output
 * @param extents of both, if one of them states them
 * @param operator who asks, for messages
 */
public record CombineSpec(
    Combination combination,
    BlockSchema left,
    BlockSchema right,
    BlockSchema out,
    Option<Shape> extents,
    String operator)
    implements Serializable {
  /** As EXPLAIN shows it: {@code "complex x real"}. */
  @Override
  public String toString() {
    return text(left) + " " + combination + " " + text(right);
  }

  private static String text(BlockSchema blocks) {
    return blocks.isComplex() ? "complex" : "real";
  }
}
