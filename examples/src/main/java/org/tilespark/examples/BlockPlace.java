package org.tilespark.examples;

import java.io.Serializable;

/**
 * Place and size of a matrix block: base class of the Java beans that Spark converts to and from
 * rows of blocks. Subclasses add the values.
 */
public abstract class BlockPlace implements Serializable {
  private static final long serialVersionUID = 1;

  private long row;
  private long col;
  private int rows;
  private int cols;

  /** For Spark's bean encoder. */
  protected BlockPlace() {}

  /** Creates a bean with the place and size of a block. */
  protected BlockPlace(long row, long col, int rows, int cols) {
    this.row = row;
    this.col = col;
    this.rows = rows;
    this.cols = cols;
  }

  public long getRow() {
    return row;
  }

  public void setRow(long row) {
    this.row = row;
  }

  public long getCol() {
    return col;
  }

  public void setCol(long col) {
    this.col = col;
  }

  public int getRows() {
    return rows;
  }

  public void setRows(int rows) {
    this.rows = rows;
  }

  public int getCols() {
    return cols;
  }

  public void setCols(int cols) {
    this.cols = cols;
  }
}
