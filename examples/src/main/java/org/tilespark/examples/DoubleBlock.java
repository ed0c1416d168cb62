package org.tilespark.examples;

/** A Java bean for one block of a matrix of DOUBLE. */
public final class DoubleBlock extends BlockPlace {
  private static final long serialVersionUID = 1;

  private double[] values; // (rows, cols), row-major

  /** For Spark's bean encoder. */
  public DoubleBlock() {}

  private DoubleBlock(int rows, int cols) {
    super(0, 0, rows, cols);
    values = new double[Math.multiplyExact(rows, cols)];
  }

  /** Returns a whole matrix as one block. */
  static DoubleBlock whole(double[][] matrix) {
    int cols = matrix[0].length;
    DoubleBlock block = new DoubleBlock(matrix.length, cols);
    for (int i = 0; i < matrix.length; i++) {
      System.arraycopy(matrix[i], 0, block.values, i * cols, cols);
    }
    return block;
  }

  /** Copies this block to its place in a whole matrix. */
  void copyTo(double[][] matrix) {
    int cols = getCols();
    for (int i = 0; i < getRows(); i++) {
      System.arraycopy(
          values, i * cols, matrix[Math.toIntExact(getRow()) + i], (int) getCol(), cols);
    }
  }

  public double[] getValues() {
    return values;
  }

  public void setValues(double[] values) {
    this.values = values;
  }
}
