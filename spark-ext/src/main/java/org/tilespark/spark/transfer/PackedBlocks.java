package org.tilespark.spark.transfer;

import java.io.Serializable;
import java.math.BigInteger;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.StringJoiner;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.numpy.NpyType;
import scala.Option;

/**
 * The facts about one array's blocks that packing and unpacking need.
 *
 * @param arguments order of an expression's children as columns of a block: offsets, sizes, then
 *     values and imag, or data, which has the place of {@code values}
 * @param type type of the packed elements
 * @param operator operator's name, for messages
 * @param extents extents of the whole array, if they are known
 */
public record PackedBlocks(
    BlockSchema arguments, NpyType type, String operator, Option<Shape> extents)
    implements Serializable {
  /** Spark's limit for a row, less room for its other columns. */
  private static final long MAX_BLOCK_BYTES = (1L << 31) - (64L << 10);

  /** Checks that no component is missing. */
  public PackedBlocks {
    Objects.requireNonNull(arguments);
    Objects.requireNonNull(type);
    Objects.requireNonNull(operator);
    Objects.requireNonNull(extents);
  }

  /**
   * The facts for an expression whose children are a block's own columns, in {@link
   * BlockSchema#blockColumns}' order.
   *
   * @param blocks ordinals of these columns in the rows that are read
   */
  static PackedBlocks of(
      BlockSchema blocks, NpyType type, String operator, Optional<Shape> extents) {
    List<Integer> own = blocks.blockColumns();
    return new PackedBlocks(
        blocks.mapped(own::indexOf), type, operator, ScalaInterop.option(extents));
  }

  /** A short text, for plans. */
  @Override
  public String toString() {
    return type.numpyName() + (extents.isEmpty() ? "" : " " + extents.get());
  }

  /**
   * The values of the first {@code count} children as a row. Their exceptions are not wrapped as
   * ours, since a user's function may be among them.
   */
  static InternalRow row(List<Expression> children, int count, InternalRow input) {
    Object[] cells = new Object[count];
    for (int i = 0; i < count; i++) {
      cells[i] = children.get(i).eval(input);
    }
    return new GenericInternalRow(cells);
  }

  /**
   * The bytes of a block's elements or values.
   *
   * @param count number of elements
   * @param width bytes of each element
   * @param row the block, for the message
   * @throws IllegalArgumentException that names the block, if that is more than a row can hold
   */
  int bytes(long count, int width, InternalRow row) {
    if (count > MAX_BLOCK_BYTES / width) {
      throw bad(
          row,
          "it would take "
              + BigInteger.valueOf(count).multiply(BigInteger.valueOf(width))
              + " bytes; a block stays below 2 GiB, expected smaller ones (see "
              + arguments.kind().label()
              + "_reblock)");
    }
    return Math.toIntExact(count * width);
  }

  /** Place of a checked block, along each axis. */
  long[] offset(InternalRow row) {
    return arguments.offsets().stream().mapToLong(row::getLong).toArray();
  }

  /** Extents of a checked block, along each axis. */
  long[] size(InternalRow row) {
    return arguments.sizes().stream().mapToLong(row::getInt).toArray();
  }

  /** The bytes of a checked block's elements: {@code rows x cols x 4 = 2 x 3 x 4 = 24}. */
  String bytesText(long count, InternalRow row) {
    BlockKind kind = arguments.kind();
    StringJoiner names = new StringJoiner(" x ");
    StringJoiner numbers = new StringJoiner(" x ");
    kind.sizeColumns().forEach(names::add);
    for (long extent : size(row)) {
      numbers.add(Long.toString(extent));
    }
    String width = Integer.toString(type.elementBytes());
    return names.add(width)
        + " = "
        + numbers.add(width)
        + " = "
        + BigInteger.valueOf(count).multiply(BigInteger.valueOf(type.elementBytes()));
  }

  /** An error about a block whose place is known. */
  IllegalArgumentException bad(InternalRow row, String defect) {
    return new IllegalArgumentException(
        arguments.kind().describe(offset(row)) + ": " + defect + " (in " + operator + ")");
  }
}
