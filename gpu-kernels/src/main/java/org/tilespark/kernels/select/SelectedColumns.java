package org.tilespark.kernels.select;

/** The columns that a selection finds in the rows of a tile; valid as long as the tile is. */
public interface SelectedColumns {
  /** Goes to a row; how many of its columns were selected. */
  int select(int row);

  /** One of the columns of the row last gone to, ascending. */
  int column(int index);
}
