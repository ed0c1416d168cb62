package org.tilespark.spark.fourier;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockArguments;

/**
 * Logical plans of results that are computed from a spectrum. They consist of Spark's own nodes.
 */
public final class SpectrumPlans {
  /** Most rings of a radial average: each task holds 16 bytes per ring. */
  private static final int MOST_RINGS = 1 << 24;

  private SpectrumPlans() {}

  /**
   * The frequencies along the transformed axes of a spectrum: {@code axis STRING}, {@code index
   * BIGINT}, {@code frequency DOUBLE}. Reads only the column metadata; if that states no extents, a
   * small aggregate over the coordinates runs now.
   *
   * @throws IllegalArgumentException if the metadata does not say that this is a spectrum, or says
   *     that an axis was transformed twice
   */
  public static LogicalPlan frequencies(LogicalPlan input, FourierPlans.Context context) {
    SparkSession session = context.asDataset().apply(input).sparkSession();
    Dataset<Row> all =
        new TreeMap<>(FourierPlans.frequencies(input, context))
            .entrySet().stream()
                .map(axis -> frequencies(session, axis.getKey(), axis.getValue()))
                .reduce(Dataset::unionAll)
                .orElseThrow();
    return ((org.apache.spark.sql.classic.Dataset<Row>) all).logicalPlan();
  }

  private static Dataset<Row> frequencies(SparkSession session, int axis, AxisFrequencies along) {
    long n = along.extent();
    String cycles =
        along.isHalf()
            ? "id"
            : along.isShifted()
                ? "id - " + n / 2
                : "IF(id < " + (n - n / 2) + ", id, id - " + n + ")";
    return session
        .range(along.count())
        .selectExpr(
            "'" + BlockKind.VOLUME.offsetColumns().get(axis) + "' AS axis",
            "id AS index",
            "(" + cycles + ") / CAST(" + n * along.spacing() + " AS DOUBLE) AS frequency");
  }

  /**
   * The mean power at each absolute value of the frequency: one aggregate over the blocks.
   *
   * @param width width of a ring in units of frequency; by default the finest step of any axis
   * @throws IllegalArgumentException if the width is not above 0, or gives too many rings, or the
   *     metadata does not say that this is a spectrum
   */
  public static LogicalPlan radialAverage(
      LogicalPlan input, OptionalDouble width, FourierPlans.Context context) {
    String operator = context.operator();
    Streaming.refuse(operator, input);
    Map<Integer, AxisFrequencies> axes = FourierPlans.frequencies(input, context);
    double ring =
        width.orElseGet(
            () ->
                axes.values().stream()
                    .mapToDouble(axis -> 1 / (axis.extent() * axis.spacing()))
                    .min()
                    .orElseThrow());
    if (!(ring > 0) || Double.isInfinite(ring)) {
      throw new IllegalArgumentException(operator + ": width is " + ring + "; expected above 0");
    }
    double highest =
        Math.sqrt(axes.values().stream().mapToDouble(axis -> square(axis.highest())).sum());
    if (highest / ring > MOST_RINGS) {
      throw new IllegalArgumentException(
          "%s: width is %s and the highest frequency %s, which makes more than %d rings; expected %s or more"
              .formatted(operator, ring, highest, MOST_RINGS, highest / MOST_RINGS));
    }
    BlockFrame frame = BlockFrame.of(input, BlockKind.VOLUME, operator);
    BlockSchema blocks = frame.blocks();
    Missing missing = Missing.ERROR;
    Shape extents = KnownArray.of(input, blocks, missing, context.asDataset(), operator).extents();
    return PerArray.of(
            input,
            GroupingColumns.of(blocks, frame.columns(), operator),
            new RadialPower(
                BlockArguments.of(blocks, operator, Optional.of(extents), missing),
                new RadialPower.Spec(axes, ring),
                ScalaInterop.<Expression>seq(frame.block()),
                0,
                0),
            "rings")
        .inlined(RadialPower.RING)
        .plan();
  }

  private static double square(double value) {
    return value * value;
  }
}
