package org.tilespark.spark.block;

import java.util.Optional;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** A table of a source that reads an array in blocks which begin at multiples of their shape. */
public interface StoredInBlocks {
  /** The shape of the blocks; empty if they do not begin at its multiples. */
  Optional<Shape> blockShape();

  /**
   * True if the blocks are all cells of a tiling, each once.
   *
   * @param axes which of the array's axes each of the tiling's is
   */
  boolean isIn(GridCheck tiling, Permutation axes);
}
