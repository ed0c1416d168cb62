package org.tilespark.kernels.multiply;

import java.io.Serializable;

/**
 * The extents of a multiply C = A B.
 *
 * @param m rows of A and C
 * @param k columns of A, rows of B
 * @param n columns of B and C
 */
public record Extents(long m, long k, long n) implements Serializable {
  @Override
  public String toString() {
    return m + " x " + k + " x " + n;
  }
}
