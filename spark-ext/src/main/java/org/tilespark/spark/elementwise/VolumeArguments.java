package org.tilespark.spark.elementwise;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.kernels.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.ArrayValues;
import org.tilespark.spark.BlockKind;
import org.tilespark.spark.BlockSchema;
import org.tilespark.spark.Missing;
import org.tilespark.spark.exec.RowCheck;

/**
 * A volume block as arguments of an expression: x, y, z, nx, ny, nz, values[, imag], in this order.
 *
 * @param type of the values: FLOAT32 or FLOAT64
 * @param complex true if there is an {@code imag}
 * @param operator who asks, for messages
 * @param extents of the whole volume
 * @param missing what an element in no block is
 */
public record VolumeArguments(
    ElementType type, boolean complex, String operator, Shape extents, Missing missing)
    implements Serializable {
  private static final int VALUES = 6;

  /** Takes the values of a block, line by line along the last axis. */
  @FunctionalInterface
  interface Lines {
    /**
     * One line.
     *
     * @param x place of the line in the volume
     * @param y place of the line in the volume
     * @param z place of its first element
     * @param re real parts, of which the first {@code count} are the line's
     * @param im imaginary parts, zero in real blocks
     */
    void line(long x, long y, long z, double[] re, double[] im, int count);
  }

  /** Checks that nothing is missing. */
  public VolumeArguments {
    Objects.requireNonNull(type);
    Objects.requireNonNull(operator);
    Objects.requireNonNull(extents);
    Objects.requireNonNull(missing);
  }

  /** Short, for plans. */
  @Override
  public String toString() {
    return extents + " " + (complex ? "complex " : "") + type;
  }

  /** The columns of a block among {@code columns}, in the order of these arguments. */
  public static List<Expression> of(BlockSchema blocks, List<Attribute> columns) {
    List<Expression> arguments = new ArrayList<>();
    blocks.blockColumns().forEach(ordinal -> arguments.add(columns.get(ordinal)));
    return arguments;
  }

  /**
   * Evaluates the arguments, checks the block that they are, and walks over its values.
   *
   * @return place and sizes of the block: x, y, z, nx, ny, nz
   * @throws IllegalArgumentException that names the block, if anything is wrong with it
   */
  long[] read(List<Expression> arguments, InternalRow input, Lines lines) {
    Object[] cells = new Object[VALUES + (complex ? 2 : 1)];
    for (int i = 0; i < cells.length; i++) {
      cells[i] = arguments.get(i).eval(input);
    }
    InternalRow row = new GenericInternalRow(cells);
    BlockSchema schema =
        new BlockSchema(
            BlockKind.VOLUME,
            List.of(0, 1, 2),
            List.of(3, 4, 5),
            VALUES,
            complex ? VALUES + 1 : -1,
            type);
    RowCheck.check(schema, operator, extents, row);
    HostMemory real = ArrayValues.memory((ArrayData) cells[VALUES], type);
    HostMemory imag = complex ? ArrayValues.memory((ArrayData) cells[VALUES + 1], type) : null;
    int count = row.getInt(5);
    double[] re = new double[count];
    double[] im = new double[count];
    float[] floats = new float[type == ElementType.FLOAT32 ? count : 0];
    long bytes = (long) count * type.bytes();
    long at = 0;
    for (int x = 0; x < row.getInt(3); x++) {
      for (int y = 0; y < row.getInt(4); y++) {
        copyIn(real.slice(at, bytes), floats, re);
        if (imag != null) {
          copyIn(imag.slice(at, bytes), floats, im);
        }
        lines.line(row.getLong(0) + x, row.getLong(1) + y, row.getLong(2), re, im, count);
        at += bytes;
      }
    }
    return new long[] {
      row.getLong(0), row.getLong(1), row.getLong(2), row.getInt(3), row.getInt(4), row.getInt(5)
    };
  }

  private static void copyIn(HostMemory from, float[] floats, double[] doubles) {
    if (floats.length == 0) {
      from.copyTo(HostMemory.ofArray(doubles));
      return;
    }
    from.copyTo(HostMemory.ofArray(floats));
    for (int i = 0; i < floats.length; i++) {
      doubles[i] = floats[i];
    }
  }
}
