package org.tilespark.spark.rows;

import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;

/**
 * A column vector over rows, without a copy: each value is read from its row, or from the struct or
 * array that contains it. So it supports every column type of Spark's rows; Spark's own vectors
 * support only some types.
 */
public abstract class RowsVector extends ColumnVector {
  private RowsVector(DataType type) {
    super(type);
  }

  /** The column at {@code ordinal} of rows, which are borrowed. */
  public static RowsVector of(DataType type, List<? extends InternalRow> rows, int ordinal) {
    return of(type, rows, ordinal, Optional.empty());
  }

  /**
   * As {@link #of(DataType, List, int)}.
   *
   * @param owner buffer that keeps the rows' memory while it is retained, so that a device can copy
   *     from it; borrowed
   */
  public static RowsVector of(
      DataType type, List<? extends InternalRow> rows, int ordinal, Optional<ArrowBuf> owner) {
    return new Field(type, rows::get, ordinal, owner);
  }

  /** The array of a row, in place; the array must not be null. */
  final ArrayData array(int rowId) {
    return holder(rowId).getArray(ordinal(rowId));
  }

  /** The numbers of the array of a row, in place if they are contiguous. */
  final Plane values(int rowId, ElementType elements) {
    return new Plane(ArrayValues.memory(array(rowId), elements), owner());
  }

  /** The owner of the rows' memory. */
  Optional<ArrowBuf> owner() {
    return Optional.empty();
  }

  /** The object that holds the value of a row. */
  abstract SpecializedGetters holder(int rowId);

  /** The ordinal of the value in its holder. */
  abstract int ordinal(int rowId);

  /** A field of each row, or of a struct in each row. */
  private static final class Field extends RowsVector {
    private final IntFunction<? extends SpecializedGetters> rows;
    private final int ordinal;
    private final Optional<ArrowBuf> owner;

    private Field(
        DataType type,
        IntFunction<? extends SpecializedGetters> rows,
        int ordinal,
        Optional<ArrowBuf> owner) {
      super(type);
      this.rows = rows;
      this.ordinal = ordinal;
      this.owner = owner;
    }

    @Override
    Optional<ArrowBuf> owner() {
      return owner;
    }

    @Override
    SpecializedGetters holder(int rowId) {
      return rows.apply(rowId);
    }

    @Override
    int ordinal(int rowId) {
      return ordinal;
    }
  }

  /** The elements of one array. */
  private static final class Elements extends RowsVector {
    private final ArrayData array;

    private Elements(DataType type, ArrayData array) {
      super(type);
      this.array = array;
    }

    @Override
    SpecializedGetters holder(int rowId) {
      return array;
    }

    @Override
    int ordinal(int rowId) {
      return rowId;
    }
  }

  /** One of the two byte arrays of which a VARIANT consists. */
  private static final class VariantBytes extends RowsVector {
    private final RowsVector variants;
    private final boolean isMetadata;

    private VariantBytes(RowsVector variants, boolean isMetadata) {
      super(DataTypes.BinaryType);
      this.variants = variants;
      this.isMetadata = isMetadata;
    }

    @Override
    SpecializedGetters holder(int rowId) {
      return variants.holder(rowId);
    }

    @Override
    int ordinal(int rowId) {
      return variants.ordinal(rowId);
    }

    @Override
    public byte[] getBinary(int rowId) {
      var variant = holder(rowId).getVariant(ordinal(rowId));
      return isMetadata ? variant.getMetadata() : variant.getValue();
    }
  }

  @Override
  public final void close() {}

  /** True, since nulls were not counted: readers then check each row. */
  @Override
  public final boolean hasNull() {
    return true;
  }

  /** Not supported, since nulls are not counted; Spark's readers use {@link #isNullAt}. */
  @Override
  public final int numNulls() {
    throw new UnsupportedOperationException("the rows' nulls are not counted");
  }

  @Override
  public final boolean isNullAt(int rowId) {
    return holder(rowId).isNullAt(ordinal(rowId));
  }

  @Override
  public final boolean getBoolean(int rowId) {
    return holder(rowId).getBoolean(ordinal(rowId));
  }

  @Override
  public final byte getByte(int rowId) {
    return holder(rowId).getByte(ordinal(rowId));
  }

  @Override
  public final short getShort(int rowId) {
    return holder(rowId).getShort(ordinal(rowId));
  }

  @Override
  public final int getInt(int rowId) {
    return holder(rowId).getInt(ordinal(rowId));
  }

  @Override
  public final long getLong(int rowId) {
    return holder(rowId).getLong(ordinal(rowId));
  }

  @Override
  public final float getFloat(int rowId) {
    return holder(rowId).getFloat(ordinal(rowId));
  }

  @Override
  public final double getDouble(int rowId) {
    return holder(rowId).getDouble(ordinal(rowId));
  }

  @Override
  public final Decimal getDecimal(int rowId, int precision, int scale) {
    return isNullAt(rowId) ? null : holder(rowId).getDecimal(ordinal(rowId), precision, scale);
  }

  @Override
  public final UTF8String getUTF8String(int rowId) {
    return isNullAt(rowId) ? null : holder(rowId).getUTF8String(ordinal(rowId));
  }

  @Override
  public byte[] getBinary(int rowId) {
    return isNullAt(rowId) ? null : holder(rowId).getBinary(ordinal(rowId));
  }

  @Override
  public final CalendarInterval getInterval(int rowId) {
    return isNullAt(rowId) ? null : holder(rowId).getInterval(ordinal(rowId));
  }

  @Override
  public final ColumnarArray getArray(int rowId) {
    if (isNullAt(rowId)) {
      return null;
    }
    ArrayData array = array(rowId);
    return new ColumnarArray(
        new Elements(((ArrayType) type).elementType(), array), 0, array.numElements());
  }

  @Override
  public final ColumnarMap getMap(int rowId) {
    if (isNullAt(rowId)) {
      return null;
    }
    MapData map = holder(rowId).getMap(ordinal(rowId));
    MapType types = (MapType) type;
    return new ColumnarMap(
        new Elements(types.keyType(), map.keyArray()),
        new Elements(types.valueType(), map.valueArray()),
        0,
        map.numElements());
  }

  /**
   * A field of a struct, or a part of a VARIANT. For arrays, Spark calls it only for {@link
   * #hasNull}.
   */
  @Override
  public final ColumnVector getChild(int ordinal) {
    if (type instanceof StructType struct) {
      return new Field(
          struct.fields()[ordinal].dataType(),
          rowId -> holder(rowId).getStruct(ordinal(rowId), struct.length()),
          ordinal,
          Optional.empty());
    } else if (type instanceof VariantType) {
      return new VariantBytes(this, ordinal == 1);
    } else if (type instanceof ArrayType) {
      return this;
    }
    throw new UnsupportedOperationException(
        "a column of " + type.sql() + " cannot be carried in batches; drop it, or CAST it");
  }
}
