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
 * The values of Q X, where Q is that of a strip's thin QR factorization: the strip's rows of the
 * left factor that {@link TallQr#lifted} computes. The children are the columns of the strip's
 * block, then the values of [X | R], DOUBLE, where R is what {@link StripTriangle} gave for the
 * strip, so that Q R is the strip.
 */
public final class LiftedStrip extends FactorExpression {
  private final int cols;
  private final boolean withStrip;
  private final ElementType result;

  /**
   * A constructor for Catalyst and {@link TallQr}.
   *
   * @param cols number of columns of X
   * @param withStrip true for the values of [Q X | strip]
   * @param result type of the values: FLOAT32 or FLOAT64
   */
  public LiftedStrip(
      BlockArguments arguments,
      int cols,
      boolean withStrip,
      ElementType result,
      BackendChoice backend,
      Seq<Expression> children) {
    super(arguments, values(result), backend, children);
    this.cols = cols;
    this.withStrip = withStrip;
    this.result = result;
  }

  @Override
  Object of(Block block, Dense strip, InternalRow input) {
    int width = cols + strip.cols();
    Dense both = further(input, width);
    Dense lifted =
        new StripFactors(this, block, strip)
            .lifted(both.columns(0, cols), both.columns(cols, width));
    return (withStrip ? lifted.beside(strip) : lifted).toArray(result);
  }

  @Override
  boolean belongsToOthers() {
    return true;
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments(), cols, withStrip, result, backend());
  }
}
