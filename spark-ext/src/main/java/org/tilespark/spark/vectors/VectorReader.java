package org.tilespark.spark.vectors;

import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.kernels.host.NanSearch;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.options.RowPolicy;
import org.tilespark.spark.rows.BlockCursor;
import sun.misc.Unsafe;

/** Copies the vectors of rows into a block, and applies the policies. */
final class VectorReader {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final NanSearch NANS = NanSearch.ofThisMachine();

  private final GatherSpec spec;
  private final int ordinal; // ordinal of the vector, or of its first element
  private final int[] ordinals; // ordinals of the columns of its elements
  private final ElementType type;
  private final RowPolicy nulls;
  private final RowPolicy ragged;
  private final RowPolicy nan;
  private final String name; // name of the vector's column, for messages

  /**
   * @param ordinals ordinals of the vector's columns in the rows
   */
  VectorReader(GatherSpec spec, List<Integer> ordinals, String name) {
    this.spec = spec;
    this.ordinal = ordinals.get(0);
    this.ordinals = ordinals.stream().mapToInt(each -> each).toArray();
    this.type = spec.vector().type();
    this.nulls = spec.policies().nulls();
    this.ragged = spec.policies().ragged();
    this.nan = spec.policies().nan();
    this.name = name;
  }

  /**
   * Copies the vector of the cursor's row.
   *
   * @param to memory for the vector, {@code length} elements; undefined if the row is left out
   * @param row gives the row's name, for messages
   * @return false if the row is left out
   * @throws IllegalArgumentException that names the row, if a policy refuses it
   */
  boolean read(BlockCursor cursor, HostMemory to, Supplier<String> row) {
    if (spec.vector().form() != VectorColumn.Form.NUMBER && cursor.row().isNullAt(ordinal)) {
      return accepts(nulls, "nulls", row, "is NULL") && zeros(to);
    }
    return switch (spec.vector().form()) {
      case ARRAY -> array(cursor, to, row);
      case VECTOR -> vector(cursor.row().getStruct(ordinal, VectorColumn.FIELDS.size()), to, row);
      case NUMBER -> columns(cursor.row(), to, row);
    };
  }

  /** Copies all elements of a vector; false if the row is left out. */
  private boolean copied(HostMemory from, HostMemory to, Supplier<String> row) {
    if (nan != RowPolicy.KEEP && from.bytes() == to.bytes()) {
      return !NANS.copyHasNan(from, to, type) || acceptsNan(to, row);
    }
    from.copyTo(to);
    return numbers(to, row);
  }

  private boolean array(BlockCursor cursor, HostMemory to, Supplier<String> row) {
    // Most rows hold their array in place. Three calls of the cursor would cost as much as the
    // copy.
    UnsafeArrayData inPlace =
        cursor.row().getArray(ordinal) instanceof UnsafeArrayData unsafe ? unsafe : null;
    int found = inPlace == null ? cursor.length(ordinal) : inPlace.numElements();
    if (found != spec.length() && !fits(found, row)) {
      return false;
    }
    long firstNull =
        found == 0
            ? -1
            : inPlace == null ? cursor.firstNull(ordinal) : ArrayValues.firstNull(inPlace);
    if (firstNull >= 0) {
      if (!accepts(nulls, "nulls", row, "has a NULL at element " + firstNull)) {
        return false;
      }
      zeros(to);
      copyNumbers(cursor.row().getArray(ordinal), IntStream.range(0, found).toArray(), to);
      return numbers(to, row);
    }
    if (found < spec.length()) {
      zeros(to);
    }
    return found == 0
        || copied(
            inPlace == null
                ? cursor.values(ordinal, type).values()
                : ArrayValues.memory(inPlace, type),
            to,
            row);
  }

  private boolean vector(InternalRow struct, HostMemory to, Supplier<String> row) {
    boolean isSparse = struct.getByte(VectorColumn.TYPE) == VectorColumn.SPARSE;
    ArrayData values = struct.getArray(VectorColumn.VALUES);
    int found = isSparse ? struct.getInt(VectorColumn.SIZE) : values.numElements();
    if (found != spec.length() && !fits(found, row)) {
      return false;
    }
    if (isSparse || found < spec.length()) {
      zeros(to);
    }
    if (!isSparse) {
      return copied(ArrayValues.memory(values, type), to, row);
    }
    ArrayData indices = struct.getArray(VectorColumn.INDICES);
    for (int i = 0; i < indices.numElements(); i++) {
      int index = indices.getInt(i);
      if (index < 0 || index >= found) {
        throw bad(row, "has an element at index " + index + "; expected less than " + found, "");
      }
      UNSAFE.putDouble(to.base(), to.offset() + 8L * index, values.getDouble(i));
    }
    return numbers(to, row);
  }

  private boolean columns(InternalRow from, HostMemory to, Supplier<String> row) {
    if (ordinals.length != spec.length() && !fits(ordinals.length, row)) {
      return false;
    }
    int firstNull = firstNull(from);
    if (firstNull >= 0 && !accepts(nulls, "nulls", row, "has a NULL at element " + firstNull)) {
      return false;
    }
    if (ordinals.length < spec.length()) {
      zeros(to);
    }
    if (from instanceof UnsafeRow unsafe) {
      copyFields(unsafe, to); // elements that are NULL become 0
    } else {
      copyNumbers(from, ordinals, to);
    }
    return numbers(to, row);
  }

  private int firstNull(InternalRow row) {
    if (row instanceof UnsafeRow unsafe && !unsafe.anyNull()) {
      return -1;
    }
    for (int i = 0; i < ordinals.length; i++) {
      if (row.isNullAt(ordinals[i])) {
        return i;
      }
    }
    return -1;
  }

  /** Copies the numbers in columns of a row, each of which is at the start of its 8 bytes. */
  private void copyFields(UnsafeRow row, HostMemory to) {
    Object base = row.getBaseObject();
    long from = row.getBaseOffset() + UnsafeRow.calculateBitSetWidthInBytes(row.numFields());
    int bytes = type.bytes();
    long at = to.offset();
    for (int ordinal : ordinals) {
      long field = from + 8L * ordinal;
      switch (bytes) {
        case 1 -> UNSAFE.putByte(to.base(), at, UNSAFE.getByte(base, field));
        case 2 -> UNSAFE.putShort(to.base(), at, UNSAFE.getShort(base, field));
        case 4 -> UNSAFE.putInt(to.base(), at, UNSAFE.getInt(base, field));
        default -> UNSAFE.putLong(to.base(), at, UNSAFE.getLong(base, field));
      }
      at += bytes;
    }
  }

  /** False if the row is left out because of its length. */
  private boolean fits(int found, Supplier<String> row) {
    String defect = "has %s elements; expected %s".formatted(found, spec.length());
    if (ragged == RowPolicy.ZERO && found > spec.length()) {
      throw bad(row, defect + " or fewer", ". State cols => " + found + ", or more");
    }
    return accepts(ragged, "ragged", row, defect);
  }

  // ---- NaN

  private boolean numbers(HostMemory to, Supplier<String> row) {
    return nan == RowPolicy.KEEP || !NANS.hasNan(to, type) || acceptsNan(to, row);
  }

  /** Applies the policy to a vector that has NaN; false if the row is left out. */
  private boolean acceptsNan(HostMemory to, Supplier<String> row) {
    int first = nextNan(to, 0);
    if (!accepts(nan, "nan", row, "has NaN at element " + first)) {
      return false;
    }
    for (int at = first; at < spec.length(); at = nextNan(to, at + 1)) {
      if (type == ElementType.FLOAT32) {
        UNSAFE.putFloat(to.base(), to.offset() + 4L * at, 0);
      } else {
        UNSAFE.putDouble(to.base(), to.offset() + 8L * at, 0);
      }
    }
    return true;
  }

  /** The index of the first NaN from {@code start} on; the length if there is none. */
  private int nextNan(HostMemory in, int start) {
    for (int i = start; i < spec.length(); i++) {
      boolean isNan =
          type == ElementType.FLOAT32
              ? Float.isNaN(UNSAFE.getFloat(in.base(), in.offset() + 4L * i))
              : Double.isNaN(UNSAFE.getDouble(in.base(), in.offset() + 8L * i));
      if (isNan) {
        return i;
      }
    }
    return spec.length();
  }

  // ---- zeros

  private static boolean zeros(HostMemory to) {
    to.fill((byte) 0);
    return true;
  }

  /** Copies numbers at some places of an array or a row, with 0 for nulls. */
  private void copyNumbers(SpecializedGetters from, int[] places, HostMemory to) {
    long at = to.offset();
    for (int place : places) {
      if (from.isNullAt(place)) {
        UNSAFE.setMemory(to.base(), at, type.bytes(), (byte) 0);
      } else {
        switch (type) {
          case INT8 -> UNSAFE.putByte(to.base(), at, from.getByte(place));
          case INT16 -> UNSAFE.putShort(to.base(), at, from.getShort(place));
          case INT32 -> UNSAFE.putInt(to.base(), at, from.getInt(place));
          case INT64 -> UNSAFE.putLong(to.base(), at, from.getLong(place));
          case FLOAT32 -> UNSAFE.putFloat(to.base(), at, from.getFloat(place));
          case FLOAT64 -> UNSAFE.putDouble(to.base(), at, from.getDouble(place));
        }
      }
      at += type.bytes();
    }
  }

  // ---- policies

  /** True if nulls are replaced by zeros; false if the row is left out. */
  private boolean accepts(RowPolicy policy, String option, Supplier<String> row, String defect) {
    if (policy == RowPolicy.ERROR) {
      throw bad(row, defect, ". " + option + " => 'skip' leaves such rows out, 'zero' takes zeros");
    }
    return policy == RowPolicy.ZERO;
  }

  private IllegalArgumentException bad(Supplier<String> row, String defect, String help) {
    return new IllegalArgumentException(
        "%s: column %s %s%s (in %s)".formatted(row.get(), name, defect, help, spec.operator()));
  }
}
