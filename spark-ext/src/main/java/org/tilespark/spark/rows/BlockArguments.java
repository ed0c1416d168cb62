package org.tilespark.spark.rows;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import scala.Option;

/**
 * A block as arguments of an expression: offsets, sizes, values[, imag], in this order. Every
 * expression takes all of them, so that messages can name a bad block.
 *
 * @param schema ordinals of the block's columns among the arguments; values of FLOAT32 or FLOAT64
 * @param operator operator's name, for messages
 * @param extents extents of the whole array, if they are known
 * @param missing treatment of elements that are in no block
 */
public record BlockArguments(
    BlockSchema schema, String operator, Option<Shape> extents, Missing missing)
    implements Serializable {
  /**
   * A block whose row was checked.
   *
   * @param offset place of the block's first element, along each axis
   * @param size the block's extents
   * @param planes values[, imag]; valid as long as the block's row
   */
  public record Block(
      BlockKind kind, List<Long> offset, List<Integer> size, List<HostMemory> planes) {
    public int count() {
      return size.stream().reduce(1, Math::multiplyExact);
    }

    /** The block's offsets, then its sizes. */
    public long[] box() {
      return LongStream.concat(
              offset.stream().mapToLong(Long::longValue),
              size.stream().mapToLong(Integer::longValue))
          .toArray();
    }

    public String describe() {
      return kind.describe(offset.stream().mapToLong(Long::longValue).toArray());
    }

    /** The sizes in words: {@code 4 x 3}. */
    public String sizeText() {
      return size.stream().map(String::valueOf).collect(Collectors.joining(" x "));
    }
  }

  /** Checks that no component is missing. */
  public BlockArguments {
    Objects.requireNonNull(schema);
    Objects.requireNonNull(operator);
    Objects.requireNonNull(extents);
    Objects.requireNonNull(missing);
  }

  /**
   * The arguments for a block's columns, in {@link BlockSchema#blockColumns}' order.
   *
   * @param blocks ordinals of the block's columns in rows
   */
  public static BlockArguments of(
      BlockSchema blocks, String operator, Optional<Shape> extents, Missing missing) {
    List<Integer> own = blocks.blockColumns();
    return new BlockArguments(
        blocks.mapped(own::indexOf), operator, ScalaInterop.option(extents), missing);
  }

  /** A short text, for plans. */
  @Override
  public String toString() {
    return (extents.isEmpty() ? "" : extents.get() + " ")
        + (schema.isComplex() ? "complex " : "")
        + type()
        + (missing == Missing.ZERO ? " missing=zero" : "");
  }

  public ElementType type() {
    return schema.elementType();
  }

  /** Count of the arguments of a block. */
  public int count() {
    return schema.blockColumns().size();
  }

  /**
   * Evaluates the arguments and checks the block.
   *
   * @param arguments expressions; the block's arguments begin at {@code first}
   * @throws IllegalArgumentException that names the block, if it has a defect
   */
  public Block read(List<Expression> arguments, int first, InternalRow input) {
    Object[] cells = new Object[count()];
    for (int i = 0; i < cells.length; i++) {
      cells[i] = arguments.get(first + i).eval(input);
    }
    RowCheck.check(schema, operator, extents, new GenericInternalRow(cells));
    return new Block(
        schema.kind(),
        schema.offsets().stream().map(ordinal -> (Long) cells[ordinal]).toList(),
        schema.sizes().stream().map(ordinal -> (Integer) cells[ordinal]).toList(),
        schema.planes().stream()
            .map(ordinal -> ArrayValues.memory((ArrayData) cells[ordinal], type()))
            .toList());
  }
}
