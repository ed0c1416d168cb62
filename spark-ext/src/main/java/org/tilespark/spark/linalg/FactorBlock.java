package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * The factors of a matrix that is one block: an array of structs, each a name and a block whose
 * place is row 0, col 0. The children are the block. All is computed in double, whatever the type
 * of the values.
 */
public final class FactorBlock extends BlockExpression {
  private final FactorSpec spec;
  private final BlockArguments arguments;

  /** A constructor for Catalyst and {@link FactorPlans}. */
  public FactorBlock(FactorSpec spec, BlockArguments arguments, Seq<Expression> children) {
    super(children);
    this.spec = spec;
    this.arguments = arguments;
  }

  /** The type of one factor. */
  static StructType struct(ElementType type) {
    return new StructType()
        .add(FactorTable.FACTOR, DataTypes.StringType, false)
        .add("row", DataTypes.LongType, false)
        .add("col", DataTypes.LongType, false)
        .add("rows", DataTypes.IntegerType, false)
        .add("cols", DataTypes.IntegerType, false)
        .add("values", DataTypes.createArrayType(BlockSchema.sparkType(type), false), false);
  }

  @Override
  public Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(
        () -> {
          Block block = arguments.read(childList(), 0, input);
          Dense matrix =
              Dense.of(
                  block.planes().get(0),
                  arguments.type(),
                  block.size().get(0),
                  block.size().get(1));
          FiniteCheck.check(block, matrix, spec, arguments.operator());
          return rows(
              Factorizers.use(
                  block, arguments.operator(), lapack -> new DenseFactors(lapack).of(spec, matrix)),
              spec.result());
        });
  }

  /** The structs of factors. */
  static GenericArrayData rows(List<Factor> factors, ElementType type) {
    return new GenericArrayData(
        factors.stream()
            .map(
                factor ->
                    new GenericInternalRow(
                        new Object[] {
                          UTF8String.fromString(factor.name()),
                          0L,
                          0L,
                          factor.matrix().rows(),
                          factor.matrix().cols(),
                          factor.matrix().toArray(type)
                        }))
            .toArray());
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(struct(spec.result()), false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, arguments);
  }
}
