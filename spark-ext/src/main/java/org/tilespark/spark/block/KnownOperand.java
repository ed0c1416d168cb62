package org.tilespark.spark.block;

import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Shape;
import org.tilespark.spark.options.Missing;

/**
 * Blocks of one array, or of arrays of one size that further columns distinguish, whose extents are
 * known.
 *
 * @param frame the blocks; their metadata states the extents, unless there are no blocks
 * @param known facts of the array, or of each of the arrays
 */
public record KnownOperand(BlockFrame frame, KnownArray known) {
  /**
   * The blocks of a plan. If their metadata states no extents, {@link KnownArray#of} finds them
   * now, and the result's metadata states them.
   *
   * @param missing meaning of missing blocks
   * @param asDataset turns a plan into a DataFrame
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if there are no blocks of this kind, or arrays of different
   *     extents
   */
  public static KnownOperand of(
      LogicalPlan input,
      BlockKind kind,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    BlockFrame frame = BlockFrame.of(input, kind, operator);
    KnownArray known = KnownArray.of(input, frame.blocks(), missing, asDataset, operator);
    Shape extents = known.extents();
    // Of arrays without elements nobody knows whether they are alike.
    boolean isEmpty = extents.elements() == 0;
    if (!known.alike() && !isEmpty) {
      throw new IllegalArgumentException(
          ("%s: the arrays that further columns tell apart have different extents, up to %s along"
                  + " each axis; expected one size (take them apart, or state the extents)")
              .formatted(operator, extents));
    }
    return new KnownOperand(
        isEmpty || frame.extents().isPresent()
            ? frame
            : frame.stating(frame.metadata().stating(StatedExtents.of(extents))),
        known);
  }

  /**
   * Checks that this operand has elements, and returns it.
   *
   * @throws IllegalArgumentException if there are no elements
   */
  public KnownOperand requireElements() {
    if (isEmpty()) {
      throw new IllegalArgumentException(
          "%s: the extents are %s; expected at least one element (state the extents of an array"
                  .formatted(frame.operator(), extents())
              + " without blocks)");
    }
    return this;
  }

  /** This operand without the metadata of transforms, for results that are no spectrum. */
  public KnownOperand withoutSpectrum() {
    return frame.metadata().spectrum().isEmpty()
        ? this
        : new KnownOperand(frame.stating(frame.metadata().withSpectrum(Optional.empty())), known);
  }

  /** The plan of the blocks, whose metadata states the extents. */
  public LogicalPlan plan() {
    return frame.plan();
  }

  /** The extents of the array, or of each of the arrays. */
  public Shape extents() {
    return known.extents();
  }

  /** True if the array has no elements. */
  public boolean isEmpty() {
    return extents().elements() == 0;
  }

  /** True if there are no blocks and no stated extents. */
  public boolean isNothing() {
    return isEmpty() && frame.extents().isEmpty();
  }
}
