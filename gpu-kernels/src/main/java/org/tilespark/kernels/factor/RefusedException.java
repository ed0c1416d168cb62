package org.tilespark.kernels.factor;

/**
 * Thrown if a factorizer cannot factorise a matrix accurately enough, though another one may:
 * memory was missing, the factorizer's library failed, or an iteration did not converge. Operands
 * are as they were.
 */
public final class RefusedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** A refusal for this reason, the message. */
  public RefusedException(String reason) {
    super(reason);
  }

  /** A refusal because of an exception. */
  public RefusedException(RuntimeException cause) {
    super(cause.getMessage(), cause);
  }
}
