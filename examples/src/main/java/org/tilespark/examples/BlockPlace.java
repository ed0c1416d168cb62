package org.tilespark.examples;

import java.io.Serializable;

/**
 * The columns of a matrix block but for its values: the part that the beans of blocks share, which
 * Spark makes of rows, and rows of.
 */
public abstract class BlockPlace implements Serializable {
  private static final long serialVersionUID = 1;

  private long row;
  private long col;
  private int rows;
  private int cols;

  /** For Spark. */
  protected BlockPlace() {}

  /** A block of a place and size. */
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
