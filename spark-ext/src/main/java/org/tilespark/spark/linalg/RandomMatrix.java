package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Least;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.Range$;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * A matrix of normal random numbers that are computed where they are read; see {@link NormalBlock}.
 */
final class RandomMatrix {
  private RandomMatrix() {}

  /**
   * The plan of the matrix, in strips of whole rows.
   *
   * @param extents extents of the matrix, at least 1 x 1
   * @param strip number of rows of a full strip
   * @param type type of the elements: FLOAT32 or FLOAT64
   */
  static LogicalPlan of(Shape extents, long strip, ElementType type, long seed) {
    long rows = extents.extent(0);
    int cols = Math.toIntExact(extents.extent(1));
    long height = Math.min(strip, rows);
    int strips = Math.toIntExact(Ceil.div(rows, height));
    Range numbers = Range$.MODULE$.apply(0, strips, 1, strips);
    Attribute number = ScalaInterop.<Attribute>list(numbers.output()).get(0);
    NamedExpression row =
        Attributes.alias(
            new Multiply(number, number(height)), BlockKind.MATRIX.offsetColumns().get(0));
    LogicalPlan rowsOf = new Project(ScalaInterop.<NamedExpression>seq(List.of(row)), numbers);
    Attribute first = row.toAttribute();
    Expression size =
        new Cast(
            new Least(
                ScalaInterop.<Expression>seq(number(height), new Subtract(number(rows), first))),
            DataTypes.IntegerType,
            ScalaInterop.none());
    ArrayMetadata known =
        ArrayMetadata.empty().withExtents(extents).withBlockShape(Shape.of(height, cols));
    List<NamedExpression> block = new ArrayList<>();
    block.add(first);
    block.add(Attributes.alias(number(0), BlockKind.MATRIX.offsetColumns().get(1)));
    block.add(Attributes.alias(size, BlockKind.MATRIX.sizeColumns().get(0)));
    block.add(
        Attributes.alias(
            new Literal(cols, DataTypes.IntegerType), BlockKind.MATRIX.sizeColumns().get(1)));
    block.add(
        Attributes.alias(
            new NormalBlock(seed, cols, type, ScalaInterop.<Expression>seq(first, size)),
            BlockKind.VALUES,
            known.toMetadata()));
    return new Project(ScalaInterop.seq(block), rowsOf);
  }

  private static Expression number(long value) {
    return new Literal(value, DataTypes.LongType);
  }
}
