package org.tilespark.kernels.factor;

/**
 * A factorizer that cannot do a matrix, or not exactly enough, though another one may: it lacks
 * memory, its library failed, or its iteration did not converge. Operands are as they were.
 */
public final class RefusedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** A refusal for this reason. */
  public RefusedException(String reason) {
    super(reason);
  }

  /** A refusal because of an exception. */
  public RefusedException(RuntimeException cause) {
    super(cause.getMessage(), cause);
  }
}
