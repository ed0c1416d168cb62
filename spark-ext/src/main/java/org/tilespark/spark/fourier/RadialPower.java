package org.tilespark.spark.fourier;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.aggregate.VolumeAggregate;
import org.tilespark.spark.rows.BlockArguments;
import scala.collection.immutable.Seq;

/**
 * The mean power of a spectrum at each absolute value of the frequency: an array of structs, one
 * for each ring that holds something. Of complex blocks the squares of the absolute values are
 * summed, of real ones, which are powers already, the values.
 */
public final class RadialPower extends VolumeAggregate<RadialPower.Rings> {
  /** Of one ring: the frequency in its middle, the mean power, and how many elements it is of. */
  public static final StructType RING =
      new StructType()
          .add("frequency", DataTypes.DoubleType, false)
          .add("power", DataTypes.DoubleType, false)
          .add("count", DataTypes.LongType, false);

  /**
   * The rings.
   *
   * @param axes frequencies along each transformed axis
   * @param width of a ring; ring i holds what is nearest to i times the width
   */
  public record Spec(Map<Integer, AxisFrequencies> axes, double width) implements Serializable {
    /** Copies the map. */
    public Spec {
      axes = Map.copyOf(axes);
    }
  }

  /** Sums of some blocks. */
  public static final class Rings extends VolumeAggregate.Kept {
    private double[] power = new double[16];
    private long[] count = new long[16];

    private void add(int ring, double value, long weight) {
      if (ring >= power.length) {
        int length = Math.max(ring + 1, (int) Math.min(2L * power.length, Integer.MAX_VALUE - 8));
        power = Arrays.copyOf(power, length);
        count = Arrays.copyOf(count, length);
      }
      power[ring] += value * weight;
      count[ring] += weight;
    }

    @Override
    public int bytes() {
      return Math.multiplyExact(Double.BYTES + Long.BYTES, power.length);
    }

    @Override
    public void putInto(ByteBuffer buffer) {
      for (int ring = 0; ring < power.length; ring++) {
        buffer.putDouble(power[ring]).putLong(count[ring]);
      }
    }

    @Override
    public void takeFrom(ByteBuffer buffer) {
      for (int ring = 0; buffer.hasRemaining(); ring++) {
        add(ring, 0, 0);
        power[ring] = buffer.getDouble();
        count[ring] = buffer.getLong();
      }
    }
  }

  private final Spec spec;

  /** For Catalyst and plans; the children are the block. */
  public RadialPower(
      BlockArguments arguments,
      Spec spec,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    super(arguments, spec, children, mutableAggBufferOffset, inputAggBufferOffset);
    this.spec = spec;
  }

  @Override
  public Rings createAggregationBuffer() {
    return new Rings();
  }

  @Override
  public void add(Rings rings, long x, long y, long z, double[] re, double[] im, int count) {
    double squares = square(0, x) + square(1, y);
    int weight = weight(0, x) * weight(1, y);
    for (int i = 0; i < count; i++) {
      double frequency = Math.sqrt(squares + square(2, z + i));
      double power = arguments().schema().isComplex() ? re[i] * re[i] + im[i] * im[i] : re[i];
      rings.add(
          Math.toIntExact(Math.round(frequency / spec.width())),
          power,
          (long) weight * weight(2, z + i));
    }
  }

  private double square(int axis, long index) {
    AxisFrequencies frequencies = spec.axes().get(axis);
    double frequency = frequencies == null ? 0 : frequencies.at(index);
    return frequency * frequency;
  }

  private int weight(int axis, long index) {
    AxisFrequencies frequencies = spec.axes().get(axis);
    return frequencies == null ? 1 : frequencies.weight(index);
  }

  @Override
  public void add(Rings rings, Rings others) {
    for (int ring = 0; ring < others.power.length; ring++) {
      if (others.count[ring] > 0) {
        rings.add(ring, 0, 0);
        rings.power[ring] += others.power[ring];
        rings.count[ring] += others.count[ring];
      }
    }
  }

  @Override
  public Object result(Rings rings) {
    int kept = (int) Arrays.stream(rings.count).filter(count -> count > 0).count();
    Object[] structs = new Object[kept];
    int at = 0;
    for (int ring = 0; ring < rings.count.length; ring++) {
      if (rings.count[ring] > 0) {
        structs[at++] =
            new GenericInternalRow(
                new Object[] {
                  ring * spec.width(), rings.power[ring] / rings.count[ring], rings.count[ring]
                });
      }
    }
    return new GenericArrayData(structs);
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(RING, false);
  }
}
