package org.tilespark.spark.linalg;

import java.util.function.Function;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.NoConvergenceException;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.ExecutorRuntime;

/** Work of this executor's factorizer on blocks. Stateless. */
final class Factorizers {
  private Factorizers() {}

  /**
   * The result of work on a block.
   *
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException that names the block, if the matrix does not have these
   *     factors
   */
  static <T> T use(Block block, String operator, Function<Factorizer, T> work) {
    try {
      return ExecutorRuntime.current().factorized(work);
    } catch (IllegalArgumentException | NoConvergenceException e) {
      throw new IllegalArgumentException(
          "%s: %s (in %s)".formatted(block.describe(), e.getMessage(), operator), e);
    }
  }
}
