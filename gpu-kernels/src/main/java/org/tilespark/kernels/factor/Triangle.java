package org.tilespark.kernels.factor;

/** The triangle of a square matrix that a solve reads, and whether the solve uses its transpose. */
public enum Triangle {
  /** The lower triangle, with its diagonal. */
  LOWER(true, false, false),
  /** The transpose of the lower triangle: the system {@code L^T X = B}. */
  LOWER_TRANSPOSED(true, true, false),
  /** The upper triangle, with its diagonal. */
  UPPER(false, false, false),
  /** The transpose of the upper triangle: the system {@code U^T X = B}. */
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

  /** True if the lower triangle is read, false if the upper one. */
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
