package org.tilespark.spark.linalg;

import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * The QR factorization of a strip, in double.
 *
 * @param block whose row is valid
 * @param strip its elements
 */
record StripFactors(Block block, Dense strip, String operator) {
  /** Of a block. */
  static StripFactors of(BlockArguments arguments, Block block) {
    return new StripFactors(
        block,
        Dense.of(block.planes().get(0), arguments.type(), block.size().get(0), block.size().get(1)),
        arguments.operator());
  }

  /**
   * Of a block whose elements are checked.
   *
   * @param own columns of A, of which the block has more where it is of [A | B]
   * @throws IllegalArgumentException if there is NaN or infinity
   */
  static StripFactors of(BlockArguments arguments, Block block, int own) {
    StripFactors factors = of(arguments, block);
    FactorSpec spec = FactorSpec.of(Factoring.QR_R, own, ElementType.FLOAT64);
    FiniteCheck.check(block, factors.strip, spec, arguments.operator());
    return factors;
  }

  /**
   * R, of at most as many rows as columns.
   *
   * @param ones true for R of the strip with a column of ones before its own
   */
  Dense triangle(boolean ones) {
    Dense a = ones ? strip.behindOnes() : strip;
    Dense r = Dense.zeros(Math.min(a.rows(), a.cols()), a.cols());
    return Factorizers.useHost(
        block,
        operator,
        lapack -> {
          lapack.qrR(a.rows(), a.cols(), a.memory(), r.memory());
          return r;
        });
  }

  /** Q times X, which has a row for each column of Q. */
  Dense lifted(Dense x) {
    Dense q = Dense.zeros(strip.rows(), shortSide());
    Dense r = Dense.zeros(shortSide(), strip.cols());
    Dense y = Dense.zeros(strip.rows(), x.cols());
    return Factorizers.useHost(
        block,
        operator,
        lapack -> {
          lapack.qr(strip.rows(), strip.cols(), strip.memory(), q.memory(), r.memory());
          ExecutorRuntime.current()
              .hostMultiplier()
              .multiply(
                  MultiplyProblem.dense(
                      q.rows(), q.cols(), x.cols(), ElementType.FLOAT64, false, false),
                  q.memory(),
                  x.memory(),
                  y.memory());
          return y;
        });
  }

  private int shortSide() {
    return Math.min(strip.rows(), strip.cols());
  }
}
