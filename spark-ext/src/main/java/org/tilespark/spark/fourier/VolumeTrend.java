package org.tilespark.spark.fourier;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.VolumeAggregate;
import org.tilespark.spark.rows.BlockArguments;
import scala.collection.immutable.Seq;

/**
 * The mean of a volume's elements, or the plane {@code a + b x + c y + d z} that fits them best by
 * least squares: an array of a, b, c, d of the real parts, then the same of the imaginary parts. A
 * task sends 128 bytes, and 48 for each block.
 *
 * <p>On a full grid the coordinates, counted from their middle, are orthogonal, so each slope is a
 * separate sum. Sums are computed in double with their rounding errors summed separately.
 */
public final class VolumeTrend extends VolumeAggregate<VolumeTrend.Sums> {
  private static final int RANK = 3;
  // Count of sums: that of the values, and those of values times each coordinate.
  private static final int SUMS = 1 + RANK;

  private final boolean isLinear;

  /**
   * A constructor for Catalyst, which copies expressions by it, and for code that makes plans.
   *
   * @param isLinear true for the plane, false for the mean alone
   * @param children the block's columns
   */
  public VolumeTrend(
      BlockArguments arguments,
      Boolean isLinear,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    super(arguments, isLinear, children, mutableAggBufferOffset, inputAggBufferOffset);
    this.isLinear = isLinear;
  }

  /** Sums of real parts, then of imaginary parts, and the rounding error of each. */
  public static final class Sums extends VolumeAggregate.Kept {
    private final double[] sum = new double[2 * SUMS];
    private final double[] error = new double[2 * SUMS];

    private void add(int i, double value) {
      double before = sum[i];
      double after = before + value;
      double rounded = after - before;
      error[i] += (before - (after - rounded)) + (value - rounded);
      sum[i] = after;
    }

    private double total(int i) {
      return Double.isFinite(sum[i]) ? sum[i] + error[i] : sum[i];
    }

    @Override
    public int bytes() {
      return 2 * Double.BYTES * sum.length;
    }

    @Override
    public void putInto(ByteBuffer buffer) {
      Arrays.stream(sum).forEach(buffer::putDouble);
      Arrays.stream(error).forEach(buffer::putDouble);
    }

    @Override
    public void takeFrom(ByteBuffer buffer) {
      Arrays.setAll(sum, i -> buffer.getDouble());
      Arrays.setAll(error, i -> buffer.getDouble());
    }
  }

  @Override
  public Sums createAggregationBuffer() {
    return new Sums();
  }

  @Override
  public void add(Sums sums, long x, long y, long z, double[] re, double[] im, int count) {
    Shape extents = arguments().extents().get();
    double fromX = x - middle(extents.extent(0));
    double fromY = y - middle(extents.extent(1));
    double fromZ = z - middle(extents.extent(2));
    double[][] planes =
        arguments().schema().isComplex() ? new double[][] {re, im} : new double[][] {re};
    for (int plane = 0; plane < planes.length; plane++) {
      double values = 0;
      double alongZ = 0;
      for (int i = 0; i < count; i++) {
        values += planes[plane][i];
        alongZ += planes[plane][i] * (fromZ + i);
      }
      sums.add(SUMS * plane, values);
      sums.add(SUMS * plane + 1, values * fromX);
      sums.add(SUMS * plane + 2, values * fromY);
      sums.add(SUMS * plane + 3, alongZ);
    }
  }

  @Override
  public void add(Sums sums, Sums others) {
    for (int i = 0; i < sums.sum.length; i++) {
      sums.add(i, others.sum[i]);
      sums.error[i] += others.error[i];
    }
  }

  @Override
  public Object result(Sums sums) {
    Shape extents = arguments().extents().get();
    double elements = extents.elements();
    double[] trend = new double[2 * SUMS];
    for (int plane = 0; plane < 2; plane++) {
      trend[SUMS * plane] = sums.total(SUMS * plane) / elements;
      for (int axis = 0; axis < RANK && isLinear; axis++) {
        double n = extents.extent(axis);
        // The sum of (i - (n - 1) / 2)^2 over an axis is n (n^2 - 1) / 12.
        double slope =
            n == 1 ? 0 : sums.total(SUMS * plane + 1 + axis) / (elements * (n * n - 1) / 12);
        trend[SUMS * plane + 1 + axis] = slope;
        trend[SUMS * plane] -= slope * middle(extents.extent(axis));
      }
    }
    return UnsafeArrayData.fromPrimitiveArray(trend);
  }

  private static double middle(long extent) {
    return (extent - 1) / 2.0;
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(DataTypes.DoubleType, false);
  }

  @Override
  public String prettyName() {
    return isLinear ? "volume_trend" : "volume_mean";
  }
}
