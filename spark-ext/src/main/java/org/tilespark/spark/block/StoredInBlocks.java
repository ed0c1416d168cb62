package org.tilespark.spark.block;

import java.util.Optional;
import org.apache.spark.sql.connector.catalog.Table;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** A table of a source whose blocks begin at multiples of their shape. */
public interface StoredInBlocks {
  /** The shape of the blocks; empty if they do not begin at multiples of it. */
  Optional<Shape> blockShape();

  /**
   * True if the blocks of this table are exactly the cells of a tiling.
   *
   * @param axes for each axis of the tiling, the axis of the array
   */
  boolean isIn(GridCheck tiling, Permutation axes);

  /**
   * A table of this array in other blocks.
   *
   * @param extents extents of the array, as a query states them
   * @param blockShape shape of the other blocks, clipped to the extents
   * @return empty if the array has other extents, or the source would read it more slowly
   */
  Optional<Table> inBlocks(Shape extents, Shape blockShape);
}
