package org.tilespark.spark.exec;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
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

  CarriedColumns(PermuteSpec spec) {
    List<Expression> references = new ArrayList<>();
    int[] positions = spec.carried();
    StructField[] fields = new StructField[positions.length];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = spec.inputSchema().fields()[positions[i]];
      references.add(
          new BoundReference(
              spec.inputOrdinals().get(positions[i]), fields[i].dataType(), fields[i].nullable()));
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
}
