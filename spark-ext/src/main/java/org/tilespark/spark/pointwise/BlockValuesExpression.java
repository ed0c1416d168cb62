package org.tilespark.spark.pointwise;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * New values for one array of a block, as many as there were. The first children are the block, as
 * {@link BlockArguments} orders them.
 *
 * <p>Values are computed some thousand at a time: a bulk copy into a primitive array that stays in
 * the processor's cache, a plain loop over it, and a bulk copy into the result.
 */
public abstract class BlockValuesExpression extends BlockExpression {
  /** What is done to a run of a block's values. */
  interface Step {
    /**
     * Replaces values.
     *
     * @param values of which the first {@code count} are the block's from {@code start} on
     */
    void apply(double[] values, int count, int start);

    /**
     * The same for FLOAT; by default computed in double and rounded once.
     *
     * @param room for as many values
     */
    default void apply(float[] values, double[] room, int count, int start) {
      for (int i = 0; i < count; i++) {
        room[i] = values[i];
      }
      apply(room, count, start);
      for (int i = 0; i < count; i++) {
        values[i] = (float) room[i];
      }
    }
  }

  private final BlockArguments arguments;
  private final int plane;

  /**
   * @param plane which array is computed: 0 for {@code values}, 1 for {@code imag}
   */
  BlockValuesExpression(BlockArguments arguments, int plane, Seq<Expression> children) {
    super(children);
    this.arguments = arguments;
    this.plane = plane;
  }

  final BlockArguments arguments() {
    return arguments;
  }

  final int plane() {
    return plane;
  }

  /** What is done to the values of one block. */
  abstract Step step(Block block, List<Expression> children, InternalRow input);

  @Override
  public final Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(() -> values(input));
  }

  private UnsafeArrayData values(InternalRow input) {
    List<Expression> list = childList();
    Block block = read(list, input);
    Step step = step(block, list, input);
    HostMemory from = block.planes().get(plane);
    int count = block.count();
    ElementType type = arguments.type();
    UnsafeArrayData result = UnsafeArrayData.createFreshArray(count, type.bytes());
    HostMemory to = ArrayValues.memory(result, type);
    double[] doubles = new double[Math.min(ArrayValues.CHUNK, count)];
    float[] floats = new float[type == ElementType.FLOAT32 ? doubles.length : 0];
    HostMemory chunk = floats.length > 0 ? HostMemory.ofArray(floats) : HostMemory.ofArray(doubles);
    for (int start = 0; start < count; start += doubles.length) {
      int length = Math.min(doubles.length, count - start);
      long at = (long) start * type.bytes();
      long bytes = (long) length * type.bytes();
      from.slice(at, bytes).copyTo(chunk);
      if (floats.length > 0) {
        step.apply(floats, doubles, length, start);
      } else {
        step.apply(doubles, length, start);
      }
      chunk.slice(0, bytes).copyTo(to.slice(at, bytes));
    }
    return result;
  }

  /** The block to be computed with; it is checked. */
  Block read(List<Expression> children, InternalRow input) {
    return arguments.read(children, 0, input);
  }

  @Override
  public final DataType dataType() {
    return DataTypes.createArrayType(BlockSchema.sparkType(arguments.type()), false);
  }

  /** What the expression holds besides arguments, plane and children; null if nothing. */
  Object parameter() {
    return null;
  }

  @Override
  protected final List<Object> fields() {
    return parameter() == null ? List.of(arguments, plane) : List.of(arguments, plane, parameter());
  }
}
