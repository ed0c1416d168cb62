package org.tilespark.spark.pointwise;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.PointwiseProgram.Step;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * The sums of the values of two blocks at one place, of an outer join. Children: whether there is a
 * first block, that block, whether there is a second, that block. With {@link Missing#ZERO} a block
 * that only one array has is added to zeros.
 */
public final class AddBlocks extends BlockValuesExpression {
  /** For Catalyst and {@link PointwisePlans}. */
  public AddBlocks(BlockArguments arguments, int plane, Seq<Expression> children) {
    super(arguments, plane, children);
  }

  @Override
  Block read(List<Expression> children, InternalRow input) {
    int second = 1 + arguments().count();
    boolean hasFirst = has(0, children, input);
    boolean hasSecond = has(second, children, input);
    Block block = arguments().read(children, hasFirst ? 1 : second + 1, input);
    if (arguments().missing() == Missing.ERROR && !(hasFirst && hasSecond)) {
      throw new IllegalArgumentException(
          ("%s: only the %s %s has a block there (%s); expected both to be cut alike"
                  + " (see reblock), without holes (in %s). With missing=zero what is missing"
                  + " counts as zeros")
              .formatted(
                  block.describe(),
                  hasFirst ? "first" : "second",
                  block.kind().label(),
                  block.sizeText(),
                  arguments().operator()));
    }
    return block;
  }

  private static boolean has(int flag, List<Expression> children, InternalRow input) {
    return Boolean.TRUE.equals(children.get(flag).eval(input));
  }

  @Override
  Step step(Block first, List<Expression> children, InternalRow input) {
    int flag = 1 + arguments().count();
    if (!has(0, children, input) || !has(flag, children, input)) {
      return AddBlocks::addZeros;
    }
    Block second = arguments().read(children, flag + 1, input);
    if (!first.size().equals(second.size())) {
      throw new IllegalArgumentException(
          ("%s: it is %s in the first %s and %s in the second; expected both to be cut"
                  + " alike, see reblock (in %s)")
              .formatted(
                  first.describe(),
                  first.sizeText(),
                  first.kind().label(),
                  second.sizeText(),
                  arguments().operator()));
    }
    HostMemory other = second.planes().get(plane());
    return new Step() {
      private float[] floats;
      private double[] doubles;

      @Override
      public void apply(float[] values, double[] room, int count, int start) {
        floats = floats == null ? new float[values.length] : floats;
        ArrayValues.read(other, start, floats, count);
        for (int i = 0; i < count; i++) {
          values[i] += floats[i];
        }
      }

      @Override
      public void apply(double[] values, int count, int start) {
        doubles = doubles == null ? new double[values.length] : doubles;
        ArrayValues.read(other, start, doubles, count);
        for (int i = 0; i < count; i++) {
          values[i] += doubles[i];
        }
      }
    };
  }

  /** What is left of a sum with nothing: a negative zero becomes a positive one. */
  private static void addZeros(double[] values, int count, int start) {
    for (int i = 0; i < count; i++) {
      values[i] += 0;
    }
  }
}
