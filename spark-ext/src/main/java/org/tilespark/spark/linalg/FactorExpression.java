package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.NoConvergenceException;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.ExecutorRuntime;
import scala.collection.immutable.Seq;

/**
 * An expression that computes a factorisation of a block. It has the backend as a field, so that
 * EXPLAIN shows it: {@link BackendChoice#NOT_YET} until {@link ChooseFactorizers} has chosen.
 */
abstract class FactorExpression extends DenseExpression {
  private final BackendChoice backend;

  protected FactorExpression(
      BlockArguments arguments, DataType made, BackendChoice backend, Seq<Expression> children) {
    super(arguments, made, children);
    this.backend = backend;
  }

  final BackendChoice backend() {
    return backend;
  }

  /**
   * True if the factors must have the same signs as factors that another task computes of the same
   * block. They are then computed on the CPU: if only one of the two tasks found memory on its
   * device, the signs could differ.
   */
  boolean belongsToOthers() {
    return false;
  }

  /** This expression with another backend. */
  final Expression with(BackendChoice choice) {
    List<Object> all = new ArrayList<>(fields());
    all.replaceAll(field -> field == backend ? choice : field);
    all.add(children());
    return makeCopy(all.toArray());
  }

  /**
   * The result of {@code work} on a block by this executor's factorizer: on the task's device if
   * the backend permits that, cuSOLVER is installed, and the matrix is large.
   *
   * @throws IllegalArgumentException that names the block, if the matrix does not have these
   *     factors
   */
  final <T> T factorized(Block block, Function<Factorizer, T> work) {
    try {
      return ExecutorRuntime.current().factorized(backend.requested(), TaskContext.get(), work);
    } catch (IllegalArgumentException | NoConvergenceException e) {
      throw new IllegalArgumentException(
          "%s: %s (in %s)".formatted(block.describe(), e.getMessage(), operator()), e);
    }
  }
}
