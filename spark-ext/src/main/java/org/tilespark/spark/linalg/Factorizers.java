package org.tilespark.spark.linalg;

import java.util.function.Function;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.NetlibFactorizer;
import org.tilespark.kernels.factor.NoConvergenceException;
import org.tilespark.spark.rows.BlockArguments.Block;

/** The factorizer of this process. Stateless. */
final class Factorizers {
  private static final Factorizer LAPACK = new NetlibFactorizer();

  private Factorizers() {}

  /**
   * Work of a factorizer on a block.
   *
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException that names the block, if the matrix has no such factors
   */
  static <T> T use(Block block, String operator, Function<Factorizer, T> work) {
    try {
      return work.apply(LAPACK);
    } catch (IllegalArgumentException | NoConvergenceException e) {
      throw new IllegalArgumentException(
          "%s: %s (in %s)".formatted(block.describe(), e.getMessage(), operator), e);
    }
  }
}
