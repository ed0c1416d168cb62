package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * The values of X of A X = B, where B is a strip and A is factorised. The children are B's block,
 * then the values of A's factor.
 */
public final class SolvedBlock extends BlockExpression {
  private final FactorSpec spec;
  private final BlockArguments arguments;

  /** A constructor for Catalyst and {@link StripSolve}. */
  public SolvedBlock(FactorSpec spec, BlockArguments arguments, Seq<Expression> children) {
    super(children);
    this.spec = spec;
    this.arguments = arguments;
  }

  @Override
  public Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(
        () -> {
          Block block = arguments.read(childList(), 0, input);
          int rows = block.size().get(0);
          Dense b = Dense.of(block.planes().get(0), arguments.type(), rows, block.size().get(1));
          FiniteCheck.check(
              block, b, FactorSpec.of(Factoring.SOLVE, 0, spec.result()), arguments.operator());
          ArrayData values = (ArrayData) childList().get(arguments.count()).eval(input);
          Dense factor =
              Dense.of(
                  ArrayValues.memory(values, ElementType.FLOAT64),
                  ElementType.FLOAT64,
                  spec.made() == Factoring.SOLVE ? rows + 1 : rows,
                  rows);
          return Factorizers.use(
                  block,
                  arguments.operator(),
                  lapack -> new DenseFactors(lapack).solved(spec.made(), factor, b))
              .toArray(spec.result());
        });
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(BlockSchema.sparkType(spec.result()), false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, arguments);
  }
}
