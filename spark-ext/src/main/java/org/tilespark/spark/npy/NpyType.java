package org.tilespark.spark.npy;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.tilespark.layout.ElementType;

/** The element types of .npy files that blocks can hold. */
public enum NpyType {
  INT8("|i1", "int8", 1, ElementType.INT8),
  INT16("<i2", "int16", 2, ElementType.INT16),
  INT32("<i4", "int32", 4, ElementType.INT32),
  INT64("<i8", "int64", 8, ElementType.INT64),
  UINT8("|u1", "uint8", 1, ElementType.INT16),
  UINT16("<u2", "uint16", 2, ElementType.INT32),
  UINT32("<u4", "uint32", 4, ElementType.INT64),
  FLOAT16("<f2", "float16", 2, ElementType.FLOAT32),
  FLOAT32("<f4", "float32", 4, ElementType.FLOAT32),
  FLOAT64("<f8", "float64", 8, ElementType.FLOAT64),
  COMPLEX64("<c8", "complex64", 4, ElementType.FLOAT32),
  COMPLEX128("<c16", "complex128", 8, ElementType.FLOAT64);

  /** What messages say is readable and writable. */
  static final String SUPPORTED =
      Arrays.stream(values()).map(NpyType::numpyName).collect(Collectors.joining(", "));

  private final String descr;
  private final String numpyName;
  private final int partBytes;
  private final ElementType columnType;

  NpyType(String descr, String numpyName, int partBytes, ElementType columnType) {
    this.descr = descr;
    this.numpyName = numpyName;
    this.partBytes = partBytes;
    this.columnType = columnType;
  }

  /** The type as numpy writes it in a header on a little-endian machine: {@code "<f4"}. */
  public String descr() {
    return descr;
  }

  /** The type's name in numpy: {@code "float32"}. */
  public String numpyName() {
    return numpyName;
  }

  /** Width of one number in the file, in bytes: for complex types, of one part. */
  public int partBytes() {
    return partBytes;
  }

  /** Numbers per element: 2 for complex types, else 1. */
  public int parts() {
    return isComplex() ? 2 : 1;
  }

  /** Width of one element in the file, in bytes. */
  public int elementBytes() {
    return partBytes * parts();
  }

  /** True for the types that become two columns, {@code values} and {@code imag}. */
  public boolean isComplex() {
    return this == COMPLEX64 || this == COMPLEX128;
  }

  /** True for integers of either sign. */
  public boolean isInteger() {
    return switch (this) {
      case INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32 -> true;
      case FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 -> false;
    };
  }

  /** The column's element type: the narrowest of ours that holds every value of this type. */
  public ElementType columnType() {
    return columnType;
  }

  /**
   * The file type whose bytes are those of a column: the sink's choice if nothing else is known.
   */
  public static NpyType ofColumn(ElementType type, boolean complex) {
    return switch (type) {
      case INT8 -> INT8;
      case INT16 -> INT16;
      case INT32 -> INT32;
      case INT64 -> INT64;
      case FLOAT32 -> complex ? COMPLEX64 : FLOAT32;
      case FLOAT64 -> complex ? COMPLEX128 : FLOAT64;
    };
  }

  /**
   * The type spelled by numpy's name or by its code with or without a byte order: {@code
   * "float32"}, {@code "<f4"}, {@code "f4"}. Case and byte order are ignored.
   *
   * @return the type, or null if the text names none of these types
   */
  public static NpyType byName(String text) {
    String name = text.trim().toLowerCase(Locale.ROOT);
    String code = name.isEmpty() || "<>=|".indexOf(name.charAt(0)) < 0 ? name : name.substring(1);
    for (NpyType type : values()) {
      if (type.numpyName.equals(name) || type.descr.substring(1).equals(code)) {
        return type;
      }
    }
    return null;
  }
}
