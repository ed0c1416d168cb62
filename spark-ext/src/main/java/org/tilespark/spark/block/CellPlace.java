package org.tilespark.spark.block;

/**
 * An expression that gives the place or size of a block in another array of the same elements,
 * whose cells are the cells of a tiling.
 */
public interface CellPlace {
  /** The kind of the blocks whose places and sizes are read. */
  BlockKind kind();
}
