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
  private static final long serialVersionUID = 1;

  /** What is done to a run of a block's values. */
  interface Step {
    /**
     * Replaces values.
     *
     * @param values of which the first {@code count} are the block's from {@code start} on
     */
    void apply(float[] values, int count, int start);

    /** The same for DOUBLE. */
    void apply(double[] values, int count, int start);
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
    if (type == ElementType.FLOAT32) {
      float[] values = new float[Math.min(ArrayValues.CHUNK, count)];
      for (int start = 0; start < count; start += values.length) {
        int length = Math.min(values.length, count - start);
        ArrayValues.read(from, start, values, length);
        step.apply(values, length, start);
        HostMemory.ofArray(values)
            .slice(0, (long) length * Float.BYTES)
            .copyTo(to.slice((long) start * Float.BYTES, (long) length * Float.BYTES));
      }
    } else {
      double[] values = new double[Math.min(ArrayValues.CHUNK, count)];
      for (int start = 0; start < count; start += values.length) {
        int length = Math.min(values.length, count - start);
        ArrayValues.read(from, start, values, length);
        step.apply(values, length, start);
        HostMemory.ofArray(values)
            .slice(0, (long) length * Double.BYTES)
            .copyTo(to.slice((long) start * Double.BYTES, (long) length * Double.BYTES));
      }
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
  abstract Object parameter();

  @Override
  protected final List<Object> fields() {
    return parameter() == null ? List.of(arguments, plane) : List.of(arguments, plane, parameter());
  }
}
