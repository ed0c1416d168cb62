package org.tilespark.spark.exec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.RowToColumnConverter;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.interop.ScalaInterop;

/** Copies the columns that an operator only carries through, row by row, into column vectors. */
final class CarriedColumns {
  private static final int FIRST_CAPACITY = 64;

  private final StructType schema;
  private final UnsafeProjection projection;
  private final RowToColumnConverter converter;

  CarriedColumns(StageSpec spec) {
    this(spec.inputSchema(), Arrays.stream(spec.carried()).boxed().toList(), spec.inputOrdinals());
  }

  /**
   * @param inputs schema of the columns that an operator reads
   * @param positions of those that it carries
   * @param ordinals the child's column at each position
   */
  CarriedColumns(StructType inputs, List<Integer> positions, List<Integer> ordinals) {
    List<Expression> references = new ArrayList<>();
    StructField[] fields = new StructField[positions.size()];
    for (int i = 0; i < fields.length; i++) {
      int position = positions.get(i);
      fields[i] = inputs.fields()[position];
      references.add(
          new BoundReference(ordinals.get(position), fields[i].dataType(), fields[i].nullable()));
    }
    this.schema = new StructType(fields);
    this.projection = UnsafeProjection.create(ScalaInterop.<Expression>seq(references));
    this.converter = new RowToColumnConverter(schema);
  }

  WritableColumnVector[] newVectors() {
    return OnHeapColumnVector.allocateColumns(FIRST_CAPACITY, schema);
  }

  void append(InternalRow row, WritableColumnVector[] vectors) {
    if (vectors.length > 0) {
      converter.convert(projection.apply(row), vectors);
    }
  }

  /** What {@link #appendKept} needs of a row that is not valid then. */
  UnsafeRow kept(InternalRow row) {
    return projection.apply(row).copy();
  }

  void appendKept(UnsafeRow kept, WritableColumnVector[] vectors) {
    if (vectors.length > 0) {
      converter.convert(kept, vectors);
    }
  }
}
