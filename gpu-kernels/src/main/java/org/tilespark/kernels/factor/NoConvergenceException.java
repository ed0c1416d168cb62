package org.tilespark.kernels.factor;

/** An iteration for singular values or eigenvalues that did not end. */
public final class NoConvergenceException extends ArithmeticException {
  private static final long serialVersionUID = 1L;

  /**
   * @param routine LAPACK's name of the routine
   * @param rows the matrix's rows
   * @param cols the matrix's columns
   * @param info how many values did not converge, as LAPACK counts them
   */
  public NoConvergenceException(String routine, int rows, int cols, int info) {
    super(
        ("%s did not converge for a matrix of %d x %d (info %d); look for elements that are not"
                + " finite, or scale the matrix")
            .formatted(routine, rows, cols, info));
  }
}
