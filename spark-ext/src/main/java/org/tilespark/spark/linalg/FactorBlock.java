package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.BackendChoice;
import scala.collection.immutable.Seq;

/**
 * The factors of a matrix that is one block: an array of structs, each a name and a block whose
 * place is row 0, col 0. The children are the block's columns. It computes in double for every type
 * of values.
 */
public final class FactorBlock extends FactorExpression {
  private final FactorSpec spec;

  /** A constructor for Catalyst and {@link FactorPlans}. */
  public FactorBlock(
      FactorSpec spec, BlockArguments arguments, BackendChoice backend, Seq<Expression> children) {
    super(arguments, DataTypes.createArrayType(struct(spec.result()), false), backend, children);
    this.spec = spec;
  }

  /** The type of one factor's struct. */
  static StructType struct(ElementType type) {
    return new StructType()
        .add(FactorTable.FACTOR, DataTypes.StringType, false)
        .add("row", DataTypes.LongType, false)
        .add("col", DataTypes.LongType, false)
        .add("rows", DataTypes.IntegerType, false)
        .add("cols", DataTypes.IntegerType, false)
        .add("values", values(type), false);
  }

  @Override
  Object of(Block block, Dense matrix, InternalRow input) {
    FiniteCheck.check(block, matrix, spec, operator());
    return rows(
        factorized(block, lapack -> new DenseFactors(lapack).of(spec, matrix)), spec.result());
  }

  /** The structs of factors, as an array. */
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
  protected List<Object> fields() {
    return List.of(spec, arguments(), backend());
  }
}
