package org.tilespark.spark.numpy;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.error.Suggestions;

/** The element types of numpy arrays that blocks can hold. */
public enum NpyType {
  INT8("|i1", "int8", 1, ElementType.INT8, "b byte"),
  INT16("<i2", "int16", 2, ElementType.INT16, "h short"),
  INT32("<i4", "int32", 4, ElementType.INT32, "i intc"),
  INT64("<i8", "int64", 8, ElementType.INT64, "q l p n longlong long int int_ intp"),
  UINT8("|u1", "uint8", 1, ElementType.INT16, "B ubyte"),
  UINT16("<u2", "uint16", 2, ElementType.INT32, "H ushort"),
  UINT32("<u4", "uint32", 4, ElementType.INT64, "I uintc"),
  FLOAT16("<f2", "float16", 2, ElementType.FLOAT32, "e half"),
  FLOAT32("<f4", "float32", 4, ElementType.FLOAT32, "f single"),
  FLOAT64("<f8", "float64", 8, ElementType.FLOAT64, "d double float"),
  COMPLEX64("<c8", "complex64", 4, ElementType.FLOAT32, "F csingle"),
  COMPLEX128("<c16", "complex128", 8, ElementType.FLOAT64, "D cdouble complex"),
  /**
   * False and True, which are 0 and 1 in columns. As in numpy, every byte other than 0 is read as
   * True.
   */
  BOOL("|b1", "bool", 1, ElementType.INT8, "? bool_");

  /** The readable and writable types, for messages. */
  public static final String SUPPORTED =
      Arrays.stream(values()).map(NpyType::numpyName).collect(Collectors.joining(", "));

  private final String descr;
  private final String numpyName;
  private final int partBytes;
  private final ElementType columnType;
  private final List<String> aliases;

  /**
   * @param aliases numpy's other names of the type on 64-bit Linux: characters, then names
   */
  NpyType(String descr, String numpyName, int partBytes, ElementType columnType, String aliases) {
    this.descr = descr;
    this.numpyName = numpyName;
    this.partBytes = partBytes;
    this.columnType = columnType;
    this.aliases = List.of(aliases.split(" "));
  }

  /** The type as numpy writes it in a header on a little-endian machine: {@code "<f4"}. */
  public String descr() {
    return descr;
  }

  /** The type's name in numpy: {@code "float32"}. */
  public String numpyName() {
    return numpyName;
  }

  /** Width of one number in the file, in bytes; a complex element has two numbers. */
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

  /** True for integers of either sign, and for bool, whose numbers are 0 and 1. */
  public boolean isInteger() {
    return switch (this) {
      case INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, BOOL -> true;
      case FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 -> false;
    };
  }

  /** The column's element type: the narrowest of ours that holds every value of this type. */
  public ElementType columnType() {
    return columnType;
  }

  /**
   * The type with the same bytes as a column: the default type of a column without further
   * information.
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
   * The numpy type to which blocks are converted: the user's choice; otherwise the type that the
   * metadata states, if the columns still have its column type; otherwise the columns' own.
   *
   * @param metadata metadata of the column {@code values}
   * @param asked the user's choice, if any
   * @param option name of the user's choice in messages: {@code "Option dtype"}
   * @throws IllegalArgumentException if real blocks would become complex, or complex ones real, or
   *     if no type is chosen for complex integers
   */
  public static NpyType ofBlocks(
      BlockSchema blocks, ArrayMetadata metadata, Optional<NpyType> asked, String option) {
    ElementType columnType = blocks.elementType();
    if (asked.isPresent()) {
      NpyType chosen = asked.get();
      if (chosen.isComplex() != blocks.isComplex()) {
        throw new IllegalArgumentException(
            "%s is %s, and the blocks have %s column imag; expected %s"
                .formatted(
                    option,
                    chosen.numpyName,
                    blocks.isComplex() ? "a" : "no",
                    blocks.isComplex() ? "complex64 or complex128" : "a real type"));
      }
      return chosen;
    }
    NpyType stated = metadata.fileType().map(NpyType::byName).orElse(null);
    if (stated != null
        && stated.columnType == columnType
        && stated.isComplex() == blocks.isComplex()) {
      return stated;
    }
    NpyType own = ofColumn(columnType, blocks.isComplex());
    if (own.isComplex() != blocks.isComplex()) {
      throw new IllegalArgumentException(
          ("%s is not given, and columns values and imag are ARRAY<%s>; expected"
                  + " complex64 or complex128, or columns of FLOAT or DOUBLE (CAST them)")
              .formatted(option, BlockSchema.sparkType(columnType).sql().toUpperCase(Locale.ROOT)));
    }
    return own;
  }

  /**
   * The type that numpy reads from a description in a file's header: {@code "<f4"}, {@code "f4"},
   * {@code "<f"}, {@code "float32"}, {@code "single"}. Case matters.
   *
   * @return the type, or null if the text names none of these types
   */
  public static NpyType ofDescr(String text) {
    boolean ordered = !text.isEmpty() && "<>=|".indexOf(text.charAt(0)) >= 0;
    String code = ordered ? text.substring(1) : text;
    for (NpyType type : values()) {
      boolean isCode =
          type.descr.substring(1).equals(code)
              || (code.length() == 1 && type.aliases.contains(code));
      // Names have no byte order. '|' means no byte order, which is valid only for single bytes.
      boolean isName = type.numpyName.equals(text) || type.aliases.contains(text);
      if (isName || (isCode && !(text.charAt(0) == '|' && type.partBytes > 1))) {
        return type;
      }
    }
    return null;
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

  /**
   * As {@link #byName}.
   *
   * @param what source of the text, for the message: {@code "Option dtype"}
   * @throws IllegalArgumentException if the text names none of these types; the message lists them,
   *     and suggests a conversion if the text names another type of numpy
   */
  public static NpyType parse(String what, String text) {
    NpyType type = byName(text);
    if (type == null) {
      List<String> names = Arrays.stream(values()).map(NpyType::numpyName).toList();
      String advice = advice(text);
      throw new IllegalArgumentException(
          "%s is '%s'%s; expected one of %s%s"
              .formatted(
                  what,
                  text,
                  advice.isEmpty() ? "" : " (" + advice + ")",
                  SUPPORTED,
                  advice.isEmpty() ? Suggestions.didYouMean(text.trim(), names) : ""));
    }
    return type;
  }

  /**
   * As {@link #parse}, for bytes in numpy's memory: only little-endian types are accepted.
   *
   * @throws IllegalArgumentException as {@link #parse}, and if the text states big-endian numbers
   */
  public static NpyType parseLittleEndian(String what, String text) {
    NpyType type = parse(what, text);
    if (text.trim().startsWith(">") && type.partBytes > 1) {
      throw new IllegalArgumentException(
          "%s is '%s', which is big-endian; expected '%s' (use a.astype('%s'))"
              .formatted(what, text, type.descr, type.descr));
    }
    return type;
  }

  /**
   * Advice on a type of numpy's that blocks cannot hold: its name, and the type to convert it to.
   *
   * @param text numpy's name or code, with or without a byte order
   * @return "" if the text names no type of numpy's
   */
  public static String advice(String text) {
    String name = text.trim();
    String code = name.isEmpty() || "<>=|".indexOf(name.charAt(0)) < 0 ? name : name.substring(1);
    String lower = code.toLowerCase(Locale.ROOT);
    if (lower.equals("uint64") || code.equals("u8")) {
      return "unsigned, wider than BIGINT; convert it: a.astype('int64') if all values are below"
          + " 2^63, else a.astype('float64')";
    } else if (lower.matches("longdouble|float(96|128)|f(12|16)") || code.equals("g")) {
      return "wider than DOUBLE; convert it: a.astype('float64')";
    } else if (lower.matches("clongdouble|complex(192|256)|c(24|32)") || code.equals("G")) {
      return "wider than DOUBLE; convert it: a.astype('complex128')";
    } else if (lower.matches("bfloat16|float8.*")) {
      return "no type of numpy's own; convert it: a.astype('float32')";
    } else if (lower.startsWith("object") || code.equals("O")) {
      return "Python objects; convert them: a.astype('float64')";
    } else if (lower.matches("(datetime|timedelta)64.*") || code.matches("[Mm]8.*")) {
      return "dates; convert them: a.astype('int64')";
    } else if (lower.matches("str\\d*|bytes\\d*|string.*") || code.matches("[USaT]\\d*")) {
      return "strings; if they are numbers, convert them: a.astype('float64')";
    } else if (lower.startsWith("void") || code.matches("V\\d*")) {
      return "structured or raw; take one field: a['name']";
    }
    return "";
  }
}
