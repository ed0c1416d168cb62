package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.BackendChoice;
import scala.collection.immutable.Seq;

/**
 * The values of the factor R of a strip's QR factorization: DOUBLE, with as many rows as the strip,
 * but at most as many as its columns. The children are the columns of the strip's block.
 */
public final class StripTriangle extends FactorExpression {
  private final int own;
  private final boolean ones;

  /**
   * A constructor for Catalyst and {@link TallQr}.
   *
   * @param own number of columns of A; a block of [A | B] has more
   * @param ones true to put a column of ones before the strip's columns
   */
  public StripTriangle(
      int own,
      boolean ones,
      BlockArguments arguments,
      BackendChoice backend,
      Seq<Expression> children) {
    super(arguments, values(ElementType.FLOAT64), backend, children);
    this.own = own;
    this.ones = ones;
  }

  @Override
  Object of(Block block, Dense strip, InternalRow input) {
    FactorSpec spec = FactorSpec.of(Factoring.QR_R, own, ElementType.FLOAT64);
    FiniteCheck.check(block, strip, spec, operator());
    return new StripFactors(this, block, strip).triangle(ones).toArray(ElementType.FLOAT64);
  }

  @Override
  boolean belongsToOthers() {
    return true;
  }

  @Override
  protected List<Object> fields() {
    return List.of(own, ones, arguments(), backend());
  }
}
