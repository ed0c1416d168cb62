package org.tilespark.spark.elementwise;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.kernels.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.ArrayValues;
import org.tilespark.spark.BlockKind;
import org.tilespark.spark.BlockSchema;
import org.tilespark.spark.exec.RowCheck;

/**
 * A matrix block as arguments of an expression: row, col, rows, cols, values[, imag], in this
 * order. All of them, whatever the expression computes, so that a wrong block can be named.
 *
 * @param type of the values: FLOAT32 or FLOAT64
 * @param complex true if there is an {@code imag}
 * @param operator who asks, for messages
 * @param extents of the whole matrix, or null if they are not known
 */
record MatrixArguments(ElementType type, boolean complex, String operator, Shape extents)
    implements Serializable {

  /** A block whose row was checked; the values are valid as long as the row is. */
  record Block(long row, long col, int rows, int cols, List<HostMemory> planes) {
    int count() {
      return Math.multiplyExact(rows, cols);
    }

    String describe() {
      return BlockKind.MATRIX.describe(new long[] {row, col});
    }
  }

  MatrixArguments {
    Objects.requireNonNull(type);
    Objects.requireNonNull(operator);
  }

  /** Short, for plans. */
  @Override
  public String toString() {
    return (extents == null ? "" : extents + " ") + (complex ? "complex " : "") + type;
  }

  /** The columns of a block among {@code columns}, in the order of these arguments. */
  static List<Expression> of(BlockSchema blocks, List<? extends Expression> columns) {
    List<Expression> arguments = new ArrayList<>();
    for (int ordinal : blocks.blockColumns()) {
      arguments.add(columns.get(ordinal));
    }
    return arguments;
  }

  /** How many arguments a block is. */
  int count() {
    return complex ? 6 : 5;
  }

  /**
   * Evaluates the arguments and checks the block that they are.
   *
   * @param arguments among which the block's begin at {@code first}
   * @throws IllegalArgumentException that names the block, if anything is wrong with it
   */
  Block read(List<Expression> arguments, int first, InternalRow input) {
    Object[] cells = new Object[count()];
    for (int i = 0; i < cells.length; i++) {
      cells[i] = arguments.get(first + i).eval(input);
    }
    InternalRow row = new GenericInternalRow(cells);
    RowCheck.check(schema(), operator, extents, row);
    List<HostMemory> planes = new ArrayList<>();
    for (int ordinal : schema().planes()) {
      planes.add(ArrayValues.memory((ArrayData) cells[ordinal], type));
    }
    return new Block(row.getLong(0), row.getLong(1), row.getInt(2), row.getInt(3), planes);
  }

  private BlockSchema schema() {
    return new BlockSchema(
        BlockKind.MATRIX, List.of(0, 1), List.of(2, 3), 4, complex ? 5 : -1, type);
  }
}
