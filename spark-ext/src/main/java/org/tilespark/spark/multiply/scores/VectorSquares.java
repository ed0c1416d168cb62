package org.tilespark.spark.multiply.scores;

import java.util.Arrays;

/** Vectors and the sums of their squares, each computed once, on demand. */
public final class VectorSquares {
  private final Vectors vectors;
  private double[] squares = new double[0];
  private int known; // squares are known of this many vectors, from the first on

  /** Squares of some vectors, which are borrowed. */
  public VectorSquares(Vectors vectors) {
    this.vectors = vectors;
  }

  Vectors vectors() {
    return vectors;
  }

  /** The sum of squares of a vector; those of the vectors before it are computed too. */
  public double get(long index) {
    int at = Math.toIntExact(index);
    if (at >= squares.length) {
      squares = Arrays.copyOf(squares, (int) Math.min(Integer.MAX_VALUE - 8, at + 1024L + at / 2));
    }
    while (known <= at) {
      squares[known] = vectors.squares(known);
      known++;
    }
    return squares[at];
  }
}
