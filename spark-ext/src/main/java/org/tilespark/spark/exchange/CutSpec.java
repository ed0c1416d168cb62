package org.tilespark.spark.exchange;

import java.io.Serializable;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.Images;
import org.tilespark.layout.PieceCursor;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import scala.Option;

/**
 * Specifies how blocks are cut into pieces.
 *
 * @param kind matrix or volume
 * @param cuts cuts in elements of the whole array, along the axes of the blocks
 * @param keys keys of the pieces in the shuffle
 * @param extents extents of the whole array, which must contain all blocks; needed if the cuts have
 *     an end
 * @param images maps pieces to places in the resulting array; empty if that is the same array
 * @param coPartitioned the partitioning of the blocks, by positions in their columns, if the first
 *     key of pieces is chosen so that it hashes to the partition of their block. If blocks turn out
 *     to be partitioned otherwise, Spark shuffles the pieces. Empty for other keys
 * @param operator operator's name, for messages: {@code "matrix_reblock"}
 */
public record CutSpec(
    BlockKind kind,
    Cuts cuts,
    PieceKeys keys,
    Option<Shape> extents,
    Option<Images> images,
    Option<BoundPartitioning> coPartitioned,
    String operator)
    implements Serializable {
  /** Checks that the ranks agree and that bounded cuts come with extents. */
  public CutSpec {
    if (cuts.rank() != kind.rank()) {
      throw new IllegalArgumentException(
          "Cuts of " + cuts.rank() + " axes for " + kind.label() + " blocks");
    }
    for (int axis = 0; axis < cuts.rank(); axis++) {
      long end = cuts.axis(axis).extent();
      if (end != Long.MAX_VALUE && (extents.isEmpty() || extents.get().extent(axis) > end)) {
        throw new IllegalArgumentException(
            "Cuts " + cuts + " for an array of " + (extents.isEmpty() ? "?" : extents.get()));
      }
    }
  }

  /**
   * This cut with keys that keep pieces in the partitions of their blocks, which are partitioned by
   * {@code blocks}.
   */
  public CutSpec with(BoundPartitioning blocks) {
    return new CutSpec(kind, cuts, keys, extents, images, Option.apply(blocks), operator);
  }

  /** A cursor over the pieces of blocks. */
  public PieceCursor pieces() {
    return images.isEmpty() ? new PieceCursor(cuts) : new PieceCursor(images.get());
  }

  /** The text of this cut in EXPLAIN: {@code "matrix at every 4 x every 6"}. */
  @Override
  public String toString() {
    return kind.label()
        + " "
        + cuts
        + (images.isEmpty() ? "" : ", " + images.get())
        + (coPartitioned.isEmpty() ? "" : ", co-partitioned by " + coPartitioned.get());
  }
}
