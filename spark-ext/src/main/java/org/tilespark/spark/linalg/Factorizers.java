package org.tilespark.spark.linalg;

import java.util.function.Function;
import org.apache.spark.TaskContext;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.NoConvergenceException;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.ExecutorRuntime;

/** Work of this executor's factorizer on blocks. Stateless. */
final class Factorizers {
  private Factorizers() {}

  /**
   * Runs work on a block. It uses the task's device if {@code spark.tilespark.backend} allows it,
   * cuSOLVER is installed, and the matrix is large.
   *
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException that names the block, if the matrix does not have these
   *     factors
   */
  static <T> T use(Block block, String operator, Function<Factorizer, T> work) {
    return use(block, operator, TileSparkConf.BACKEND.read(TileSparkConf.session()), work);
  }

  /**
   * As {@link #use}, on the CPU. For factors whose signs must agree with those of another task: if
   * only one of the two tasks got device memory, signs would differ.
   */
  static <T> T useHost(Block block, String operator, Function<Factorizer, T> work) {
    return use(block, operator, Backend.CPU, work);
  }

  private static <T> T use(
      Block block, String operator, Backend backend, Function<Factorizer, T> work) {
    try {
      return ExecutorRuntime.current().factorized(backend, TaskContext.get(), work);
    } catch (IllegalArgumentException | NoConvergenceException e) {
      throw new IllegalArgumentException(
          "%s: %s (in %s)".formatted(block.describe(), e.getMessage(), operator), e);
    }
  }
}
