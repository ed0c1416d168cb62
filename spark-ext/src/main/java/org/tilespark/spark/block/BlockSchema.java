package org.tilespark.spark.block;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;

/**
 * Ordinals of a block's columns in a row, and the type of its values.
 *
 * <p>Names are matched without regard to case, as Spark does by default. All other columns are
 * <em>further columns</em>: operators that work block by block carry them through.
 *
 * @param kind matrix or volume
 * @param offsets ordinals of the BIGINT place columns, outermost axis first
 * @param sizes ordinals of the INT size columns, outermost axis first
 * @param planes ordinals of the value columns: of {@code values}, and then of {@code imag} for
 *     complex blocks
 * @param elementType type of the values
 * @param halo the overlap of blocks with their neighbours, if they overlap
 */
public record BlockSchema(
    BlockKind kind,
    List<Integer> offsets,
    List<Integer> sizes,
    List<Integer> planes,
    ElementType elementType,
    Option<Halo> halo)
    implements java.io.Serializable {
  /** The schema of blocks that do not overlap. */
  public BlockSchema(
      BlockKind kind,
      List<Integer> offsets,
      List<Integer> sizes,
      List<Integer> planes,
      ElementType elementType) {
    this(kind, offsets, sizes, planes, elementType, ScalaInterop.none());
  }

  /**
   * Finds a block's columns in a schema.
   *
   * @param operator operator's name, for messages: {@code "matrix_transpose"}
   * @throws IllegalArgumentException if a column is missing, doubled or of another type, the values
   *     have a type that blocks cannot hold, or columns state different halos
   */
  public static BlockSchema find(StructType schema, BlockKind kind, String operator) {
    String expected = kind.columnsText();
    List<Integer> offsets = offsets(schema, kind, operator, expected);
    List<Integer> sizes = sizes(schema, kind, operator, expected);
    int values = require(schema, kind, BlockKind.VALUES, null, operator, expected);
    ElementType type = elementType(schema.fields()[values], operator);
    int imag = indexOf(schema, BlockKind.IMAG, operator);
    if (imag >= 0) {
      DataType real = schema.fields()[values].dataType();
      ElementType imagType = elementType(schema.fields()[imag], operator);
      if (imagType != type) {
        throw new IllegalArgumentException(
            ("%s: column imag is %s, values is %s; both parts of complex blocks have" + " one type")
                .formatted(operator, sql(schema.fields()[imag].dataType()), sql(real)));
      }
    }
    Optional<Halo> halo =
        Halo.of(
            Stream.concat(Stream.of(values), offsets.stream())
                .map(ordinal -> schema.fields()[ordinal].metadata()),
            kind.rank());
    return new BlockSchema(
        kind,
        offsets,
        sizes,
        imag >= 0 ? List.of(values, imag) : List.of(values),
        type,
        ScalaInterop.option(halo));
  }

  /**
   * Finds a packed block's columns, whose elements are bytes in one column {@code data}.
   *
   * @param operator operator's name, for messages
   * @return a schema whose {@code values} is the ordinal of {@code data} and whose element type is
   *     that of bytes
   * @throws IllegalArgumentException if a column is missing, doubled or of another type
   */
  public static BlockSchema findPacked(StructType schema, BlockKind kind, String operator) {
    String expected = kind.packedColumnsText();
    return new BlockSchema(
        kind,
        offsets(schema, kind, operator, expected),
        sizes(schema, kind, operator, expected),
        List.of(require(schema, kind, BlockKind.DATA, DataTypes.BinaryType, operator, expected)),
        ElementType.INT8);
  }

  /** The schema of rows that begin with the block's columns, in their usual order. */
  public static BlockSchema canonical(BlockKind kind, boolean isComplex, ElementType type) {
    int rank = kind.rank();
    return new BlockSchema(
        kind,
        IntStream.range(0, rank).boxed().toList(),
        IntStream.range(rank, 2 * rank).boxed().toList(),
        isComplex ? List.of(2 * rank, 2 * rank + 1) : List.of(2 * rank),
        type);
  }

  /** This schema for blocks with a halo. */
  public BlockSchema withHalo(Halo other) {
    return new BlockSchema(kind, offsets, sizes, planes, elementType, Option.apply(other));
  }

  /**
   * Refuses blocks that overlap their neighbours.
   *
   * @param operator operator's name, for the message
   * @throws IllegalArgumentException if the blocks have a halo
   */
  public void requireNoHalo(String operator) {
    if (halo.isDefined()) {
      throw new IllegalArgumentException(
          ("%s: the blocks have a halo of %s elements before and after each axis (column metadata"
                  + " %s), so that they overlap; expected blocks without. Take it off before: in"
                  + " SQL with %s_trim(TABLE(t)), in Java with %s.trim(df)")
              .formatted(
                  operator,
                  halo.get().widths(),
                  ArrayMetadata.HALO,
                  kind.label(),
                  kind == BlockKind.MATRIX ? "MatrixBlocks" : "VolumeBlocks"));
    }
  }

  /** This schema with values of another type. */
  public BlockSchema withElementType(ElementType type) {
    return new BlockSchema(kind, offsets, sizes, planes, type, halo);
  }

  /** This schema without {@code imag}. */
  public BlockSchema real() {
    return new BlockSchema(kind, offsets, sizes, List.of(values()), elementType, halo);
  }

  private static List<Integer> offsets(
      StructType schema, BlockKind kind, String operator, String expected) {
    return kind.offsetColumns().stream()
        .map(name -> require(schema, kind, name, DataTypes.LongType, operator, expected))
        .toList();
  }

  private static List<Integer> sizes(
      StructType schema, BlockKind kind, String operator, String expected) {
    return kind.sizeColumns().stream()
        .map(name -> require(schema, kind, name, DataTypes.IntegerType, operator, expected))
        .toList();
  }

  /** True for complex blocks, which have a column {@code imag}. */
  public boolean isComplex() {
    return planes.size() == 2;
  }

  /** Ordinal of the column {@code values}. */
  public int values() {
    return planes.get(0);
  }

  /** True if the column at {@code ordinal} is {@code imag}. */
  public boolean isImag(int ordinal) {
    return planes.indexOf(ordinal) == 1;
  }

  /** Ordinals of all of the block's own columns: offsets, sizes, values, and imag if present. */
  public List<Integer> blockColumns() {
    List<Integer> all = new ArrayList<>(offsets);
    all.addAll(sizes);
    all.addAll(planes);
    return all;
  }

  /**
   * The elements of a list that stand for further columns.
   *
   * @param columns list with one element for each column of the rows
   */
  public <T> List<T> further(List<T> columns) {
    List<Integer> own = blockColumns();
    return IntStream.range(0, columns.size())
        .filter(position -> !own.contains(position))
        .mapToObj(columns::get)
        .toList();
  }

  /** This schema with each ordinal replaced by the one that {@code ordinal} gives for it. */
  public BlockSchema mapped(IntUnaryOperator ordinal) {
    return new BlockSchema(
        kind,
        offsets.stream().map(ordinal::applyAsInt).toList(),
        sizes.stream().map(ordinal::applyAsInt).toList(),
        planes.stream().map(ordinal::applyAsInt).toList(),
        elementType,
        halo);
  }

  /**
   * The element type of a numeric array column.
   *
   * @throws IllegalArgumentException if blocks cannot hold the column's type
   */
  public static ElementType elementType(StructField field, String operator) {
    Optional<ElementType> type =
        field.dataType() instanceof ArrayType array
            ? elementType(array.elementType())
            : Optional.empty();
    return type.orElseThrow(
        () ->
            new IllegalArgumentException(
                ("%s: column %s is %s; expected an ARRAY of TINYINT, SMALLINT, INT, BIGINT,"
                        + " FLOAT or DOUBLE")
                    .formatted(operator, field.name(), sql(field.dataType()))));
  }

  /** The element type of a numeric Spark type; empty if blocks cannot hold it. */
  public static Optional<ElementType> elementType(DataType type) {
    return Arrays.stream(ElementType.values())
        .filter(element -> sparkType(element).equals(type))
        .findFirst();
  }

  /** Spark's type for an element type. */
  public static DataType sparkType(ElementType type) {
    return switch (type) {
      case INT8 -> DataTypes.ByteType;
      case INT16 -> DataTypes.ShortType;
      case INT32 -> DataTypes.IntegerType;
      case INT64 -> DataTypes.LongType;
      case FLOAT32 -> DataTypes.FloatType;
      case FLOAT64 -> DataTypes.DoubleType;
    };
  }

  private static int require(
      StructType schema,
      BlockKind kind,
      String name,
      DataType type,
      String operator,
      String expected) {
    int index = indexOf(schema, name, operator);
    if (index < 0) {
      throw new IllegalArgumentException(
          "%s: the input has no column %s; %s blocks are (%s), found (%s)%s"
              .formatted(operator, name, kind.label(), expected, columns(schema), rows(schema)));
    }
    DataType found = schema.fields()[index].dataType();
    if (type != null && !found.equals(type)) {
      throw new IllegalArgumentException(
          "%s: column %s is %s; expected %s (CAST it)"
              .formatted(operator, name, sql(found), sql(type)));
    }
    return index;
  }

  /**
   * Advice for the end of a message, if the rows have none of a block's columns; otherwise empty.
   */
  private static String rows(StructType schema) {
    boolean isTable =
        Arrays.stream(BlockKind.values())
            .flatMap(kind -> Stream.concat(kind.offsetColumns().stream(), Stream.of("values")))
            .allMatch(name -> named(schema, name).isEmpty());
    return isTable
        ? "; fromRows, matrix_from_rows in SQL, makes matrix blocks of rows with a vector each"
        : "";
  }

  private static int indexOf(StructType schema, String name, String operator) {
    List<Integer> found = named(schema, name);
    if (found.size() > 1) {
      throw new IllegalArgumentException(
          operator + ": the input has two columns " + name + "; drop or rename one");
    }
    return found.isEmpty() ? -1 : found.get(0);
  }

  /**
   * Positions of the columns with a name, ignoring case. If Spark is case-sensitive and one column
   * has exactly this name, only that one.
   */
  public static List<Integer> named(StructType schema, String name) {
    String[] names = schema.fieldNames();
    List<Integer> exact =
        IntStream.range(0, names.length).filter(i -> names[i].equals(name)).boxed().toList();
    return !exact.isEmpty() && SQLConf.get().caseSensitiveAnalysis()
        ? exact
        : IntStream.range(0, names.length)
            .filter(i -> names[i].equalsIgnoreCase(name))
            .boxed()
            .toList();
  }

  private static String columns(StructType schema) {
    List<String> columns = new ArrayList<>();
    for (StructField field : schema.fields()) {
      columns.add(field.name() + " " + sql(field.dataType()));
    }
    return String.join(", ", columns);
  }

  private static String sql(DataType type) {
    return type.sql().toUpperCase(Locale.ROOT);
  }
}
