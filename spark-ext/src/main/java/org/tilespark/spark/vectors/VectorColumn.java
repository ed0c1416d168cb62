package org.tilespark.spark.vectors;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockSchema;

/**
 * How a column holds one vector in each row.
 *
 * @param isVector true for a Vector of spark.ml or spark.mllib, dense or sparse; false for an array
 * @param type of the elements
 */
record VectorColumn(boolean isVector, ElementType type) implements Serializable {
  /** Fields of the struct that both VectorUDTs are for Spark. */
  static final List<String> FIELDS = List.of("type", "size", "indices", "values");

  static final int TYPE = 0;
  static final int SIZE = 1;
  static final int INDICES = 2;
  static final int VALUES = 3;

  /** What the field {@code type} says of a sparse vector. */
  static final int SPARSE = 0;

  /** The form of a column; empty if it holds no vectors. */
  static Optional<VectorColumn> of(Attribute column) {
    DataType type = column.dataType();
    if (type instanceof ArrayType array) {
      return BlockSchema.elementType(array.elementType())
          .map(element -> new VectorColumn(false, element));
    }
    boolean isVector =
        type instanceof UserDefinedType<?> user
            && user.sqlType() instanceof StructType struct
            && Arrays.asList(struct.fieldNames()).equals(FIELDS);
    return isVector ? Optional.of(new VectorColumn(true, ElementType.FLOAT64)) : Optional.empty();
  }

  @Override
  public String toString() {
    return isVector ? "vectors" : "arrays of " + type;
  }
}
