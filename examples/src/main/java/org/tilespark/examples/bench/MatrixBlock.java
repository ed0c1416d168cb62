package org.tilespark.examples.bench;

import java.io.Serializable;

/** One block of a matrix, as the bean from which Spark makes a row. */
public final class MatrixBlock implements Serializable {
  private static final long serialVersionUID = 1;

  private long row;
  private long col;
  private int rows;
  private int cols;
  private float[] values; // (rows, cols), row-major

  /** For Spark. */
  public MatrixBlock() {}

  /** The block of number {@code index} in a column of blocks, full of {@link #value}. */
  static MatrixBlock numbered(long index, int rows, int cols) {
    MatrixBlock block = new MatrixBlock();
    block.row = Math.multiplyExact(index, (long) rows);
    block.rows = rows;
    block.cols = cols;
    block.values = new float[Math.multiplyExact(rows, cols)];
    for (int place = 0; place < block.values.length; place++) {
      block.values[place] = value(index, place);
    }
    return block;
  }

  /** The element at {@code place} of block {@code index}; whole numbers that FLOAT holds. */
  static float value(long index, int place) {
    return (float) ((index * 1_000_003 + place) & 0xFFFFFF);
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

  public float[] getValues() {
    return values;
  }

  public void setValues(float[] values) {
    this.values = values;
  }
}
