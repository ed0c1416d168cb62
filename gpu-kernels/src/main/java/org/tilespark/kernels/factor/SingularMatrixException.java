package org.tilespark.kernels.factor;

/** A system whose triangular factor has a zero on its diagonal, so it has no single solution. */
public final class SingularMatrixException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final int place;

  /**
   * @param place the place, from 1, of the first zero on the factor's diagonal
   * @param n the matrix's rows
   */
  public SingularMatrixException(int place, int n) {
    super(
        ("A matrix of %d x %d is singular: element %d of the diagonal of its triangular factor is"
                + " zero; least squares (lstsq, pinv) solve a singular system")
            .formatted(n, n, place));
    this.place = place;
  }

  /** The place, from 1, of the first zero on the factor's diagonal. */
  public int place() {
    return place;
  }
}
