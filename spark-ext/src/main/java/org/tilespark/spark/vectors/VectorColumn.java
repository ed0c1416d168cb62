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
 * The form of vectors in rows.
 *
 * @param form form of the columns
 * @param type element type
 * @param columns number of columns that hold the vector
 */
record VectorColumn(Form form, ElementType type, int columns) implements Serializable {
  /** The form of a column with a vector, or with one element of it. */
  enum Form {
    ARRAY,
    /** A Vector of spark.ml or spark.mllib, dense or sparse. */
    VECTOR,
    /** One number; the vector is in several columns. */
    NUMBER
  }

  /** Fields of the struct that represents both VectorUDTs in Spark. */
  static final List<String> FIELDS = List.of("type", "size", "indices", "values");

  static final int TYPE = 0;
  static final int SIZE = 1;
  static final int INDICES = 2;
  static final int VALUES = 3;

  /** Value of the field {@code type} for a sparse vector. */
  static final int SPARSE = 0;

  /** The form in which a column holds vectors; empty if it holds none. */
  static Optional<VectorColumn> of(Attribute column) {
    DataType type = column.dataType();
    if (type instanceof ArrayType array) {
      return BlockSchema.elementType(array.elementType())
          .map(element -> new VectorColumn(Form.ARRAY, element, 1));
    }
    boolean isVector =
        type instanceof UserDefinedType<?> user
            && user.sqlType() instanceof StructType struct
            && Arrays.asList(struct.fieldNames()).equals(FIELDS);
    return isVector
        ? Optional.of(new VectorColumn(Form.VECTOR, ElementType.FLOAT64, 1))
        : Optional.empty();
  }

  boolean isVector() {
    return form == Form.VECTOR;
  }

  @Override
  public String toString() {
    return switch (form) {
      case ARRAY -> "arrays of " + type;
      case VECTOR -> "vectors";
      case NUMBER -> columns + " columns of " + type;
    };
  }
}
