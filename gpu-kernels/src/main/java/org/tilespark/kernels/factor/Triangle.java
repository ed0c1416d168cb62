package org.tilespark.kernels.factor;

/** The triangle of a square matrix that a solve reads, and how it is applied. */
public enum Triangle {
  /** The lower one, with its diagonal. */
  LOWER(true, false, false),
  /** The transpose of the lower one: the system {@code L^T X = B}. */
  LOWER_TRANSPOSED(true, true, false),
  /** The upper one, with its diagonal. */
  UPPER(false, false, false),
  /** The transpose of the upper one: the system {@code U^T X = B}. */
  UPPER_TRANSPOSED(false, true, false),
  /** The upper triangle with a diagonal of ones, which is not read. */
  UNIT_UPPER(false, false, true);

  private final boolean isLower;
  private final boolean isTransposed;
  private final boolean hasUnitDiagonal;

  Triangle(boolean isLower, boolean isTransposed, boolean hasUnitDiagonal) {
    this.isLower = isLower;
    this.isTransposed = isTransposed;
    this.hasUnitDiagonal = hasUnitDiagonal;
  }

  /** True if the elements below the diagonal are read, false if those above. */
  public boolean isLower() {
    return isLower;
  }

  /** True if the transpose of the triangle is the system's matrix. */
  public boolean isTransposed() {
    return isTransposed;
  }

  /** True if the diagonal is all ones, whatever is stored there. */
  public boolean hasUnitDiagonal() {
    return hasUnitDiagonal;
  }
}
