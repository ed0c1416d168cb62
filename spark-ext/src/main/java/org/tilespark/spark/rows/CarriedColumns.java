package org.tilespark.spark.rows;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.RowProjections;

/** Keeps the columns that an operator only carries through, of any type. */
public final class CarriedColumns {
  private final DataType[] types;
  private final UnsafeProjection projection;

  /**
   * @param rows schema of the child's rows
   * @param ordinals ordinals of the carried columns in these rows
   */
  public CarriedColumns(StructType rows, List<Integer> ordinals) {
    List<Expression> references = new ArrayList<>();
    this.types = new DataType[ordinals.size()];
    for (int i = 0; i < types.length; i++) {
      StructField field = rows.fields()[ordinals.get(i)];
      types[i] = field.dataType();
      references.add(Attributes.bound(ordinals.get(i), field));
    }
    this.projection = RowProjections.of(references);
  }

  /** A copy of the carried columns of a row. */
  public UnsafeRow kept(InternalRow row) {
    return projection.apply(row).copy();
  }

  /**
   * Column vectors over kept rows.
   *
   * @param kept results of {@link #kept}; borrowed as long as the columns are read
   */
  public ColumnVector[] vectors(List<UnsafeRow> kept) {
    ColumnVector[] vectors = new ColumnVector[types.length];
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = RowsVector.of(types[i], kept, i);
    }
    return vectors;
  }
}
