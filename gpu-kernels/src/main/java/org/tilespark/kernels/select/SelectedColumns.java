package org.tilespark.kernels.select;

/** The columns that a selection finds in the rows of a tile; valid as long as the tile's memory. */
public interface SelectedColumns {
  /** Moves to a row, and returns the number of its selected columns. */
  int select(int row);

  /** A selected column of the current row, by its index in ascending order. */
  int column(int index);
}
