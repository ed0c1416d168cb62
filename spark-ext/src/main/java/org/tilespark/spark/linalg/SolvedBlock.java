package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.BackendChoice;
import scala.collection.immutable.Seq;

/**
 * The values of the solution X of A X = B, where the block is a strip of B and a factor of A is
 * given. The children are the columns of B's block, then the values of A's factor.
 */
public final class SolvedBlock extends FactorExpression {
  private final FactorSpec spec;

  /** A constructor for Catalyst and {@link StripSolve}. */
  public SolvedBlock(
      FactorSpec spec, BlockArguments arguments, BackendChoice backend, Seq<Expression> children) {
    super(arguments, values(spec.result()), backend, children);
    this.spec = spec;
  }

  @Override
  Object of(Block block, Dense b, InternalRow input) {
    FiniteCheck.check(block, b, FactorSpec.of(Factoring.SOLVE, 0, spec.result()), operator());
    Dense factor = further(input, b.rows());
    return factorized(block, lapack -> new DenseFactors(lapack).solved(spec.made(), factor, b))
        .toArray(spec.result());
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, arguments(), backend());
  }
}
