package org.tilespark.kernels.factor;

/** A matrix that has no Cholesky factor: it is not positive definite. */
public final class NotPositiveDefiniteException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final int order;

  /**
   * @param order the order, from 1, of the first leading minor that is not positive
   * @param n the matrix's rows
   */
  public NotPositiveDefiniteException(int order, int n) {
    super(
        ("The leading minor of order %d of a matrix of %d x %d is not positive, so it has no"
                + " Cholesky factor; expected a positive definite matrix")
            .formatted(order, n, n));
    this.order = order;
  }

  /** The order, from 1, of the first leading minor that is not positive. */
  public int order() {
    return order;
  }
}
