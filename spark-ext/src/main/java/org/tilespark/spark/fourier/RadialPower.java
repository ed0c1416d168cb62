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
 * for each ring that is not empty. For complex blocks it sums the squares of absolute values; for
 * real blocks, which are powers already, it sums the values.
 */
public final class RadialPower extends VolumeAggregate<RadialPower.Rings> {
  /**
   * The type of one ring: the frequency in its middle, the mean power, and the count of its
   * elements.
   */
  public static final StructType RING =
      new StructType()
          .add("frequency", DataTypes.DoubleType, false)
          .add("power", DataTypes.DoubleType, false)
          .add("count", DataTypes.LongType, false);

  /**
   * The rings of frequencies over which powers are averaged.
   *
   * @param axes frequencies along each transformed axis
   * @param width width of a ring; ring i holds the frequencies nearest to i times the width
   */
  public record Spec(Map<Integer, AxisFrequencies> axes, double width) implements Serializable {
    /** Copies the map. */
    public Spec {
      axes = Map.copyOf(axes);
    }
  }

  /** Values that are computed from the frequencies along z, for the elements of a line along z. */
  private static final class Line {
    private final long start;
    private final double[] squares; // squares of the frequencies along z
    private final int[] weights;
    private final double[] rings; // ring numbers of the line added last, before they are rounded

    // Frequencies are null if z was not transformed.
    private Line(AxisFrequencies frequencies, long start, int count) {
      this.start = start;
      squares = new double[count];
      weights = new int[count];
      rings = new double[count];
      for (int i = 0; i < count; i++) {
        squares[i] = square(frequencies, start + i);
        weights[i] = weight(frequencies, start + i);
      }
    }
  }

  /** Sums of the powers in each ring, over some blocks. */
  public static final class Rings extends VolumeAggregate.Kept {
    private double[] power = new double[16];
    private long[] count = new long[16];
    private Line line = new Line(null, 0, 0); // the line added last

    private void reserve(int ring) {
      if (ring >= power.length) {
        int length = Math.max(ring + 1, (int) Math.min(2L * power.length, Integer.MAX_VALUE - 8));
        power = Arrays.copyOf(power, length);
        count = Arrays.copyOf(count, length);
      }
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
        reserve(ring);
        power[ring] = buffer.getDouble();
        count[ring] = buffer.getLong();
      }
    }
  }

  private final Spec spec;

  /**
   * A constructor for Catalyst, which copies expressions by it, and for code that makes plans; the
   * children are the block's columns.
   */
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
    if (rings.line.start != z || rings.line.squares.length != count) {
      rings.line = new Line(spec.axes().get(2), z, count);
    }
    AxisFrequencies along = spec.axes().get(0);
    AxisFrequencies across = spec.axes().get(1);
    double squares = square(along, x) + square(across, y);
    long weight = (long) weight(along, x) * weight(across, y);
    if (arguments().schema().isComplex()) {
      for (int i = 0; i < count; i++) {
        re[i] = re[i] * re[i] + im[i] * im[i];
      }
    }
    addPowers(rings, squares, weight, re, count);
  }

  /**
   * Adds the powers of a line to its rings. Square roots are computed in a separate loop, which
   * HotSpot vectorises.
   */
  private void addPowers(Rings rings, double squares, long weight, double[] powers, int count) {
    double width = spec.width();
    Line line = rings.line;
    double most = 0;
    for (int i = 0; i < count; i++) {
      line.rings[i] = Math.sqrt(squares + line.squares[i]) / width;
    }
    for (int i = 0; i < count; i++) {
      most = Math.max(most, line.rings[i]);
    }
    rings.reserve(Math.toIntExact(Math.round(most)));
    for (int i = 0; i < count; i++) {
      int ring = (int) Math.round(line.rings[i]);
      long times = weight * line.weights[i];
      rings.power[ring] += powers[i] * times;
      rings.count[ring] += times;
    }
  }

  // Frequencies are null if the axis was not transformed.
  private static double square(AxisFrequencies frequencies, long index) {
    double frequency = frequencies == null ? 0 : frequencies.at(index);
    return frequency * frequency;
  }

  private static int weight(AxisFrequencies frequencies, long index) {
    return frequencies == null ? 1 : frequencies.weight(index);
  }

  @Override
  public void add(Rings rings, Rings others) {
    for (int ring = 0; ring < others.power.length; ring++) {
      if (others.count[ring] > 0) {
        rings.reserve(ring);
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
