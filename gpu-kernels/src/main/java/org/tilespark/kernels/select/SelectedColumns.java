package org.tilespark.kernels.select;

/** The columns that a selection finds in the rows of a tile; valid as long as the tile's memory. */
public interface SelectedColumns {
  /** Moves to a row, and returns how many of its columns are selected. */
  int select(int row);

  /**
   * The number of a selected column of the current row; selected columns are in ascending order.
   */
  int column(int index);
}
