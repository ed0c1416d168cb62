package org.tilespark.spark.fourier;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.FftOptions.Detrend;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * Joins to the blocks of each volume its trend, which is a broadcast aggregate over the volume's
 * values.
 */
final class TrendPlans {
  private TrendPlans() {}

  /**
   * {@code plan} with a further column {@link ProgramBlocks#TREND}, which has the trend of the
   * volume.
   *
   * @param plan blocks, with further columns of the same names as those of {@code input}
   * @param input the blocks whose trend is computed; they may be those of {@code plan}
   */
  static LogicalPlan joined(
      LogicalPlan plan, LogicalPlan input, Shape extents, FftOptions options, String operator) {
    BlockFrame frame = BlockFrame.of(input, BlockKind.VOLUME, operator);
    List<Attribute> further = GroupingColumns.of(frame.blocks(), frame.columns(), operator);
    PerArray trends =
        PerArray.of(
            input,
            further,
            new VolumeTrend(
                BlockArguments.of(
                    frame.blocks(), operator, Optional.of(extents), options.missing()),
                options.detrend() == Detrend.LINEAR,
                ScalaInterop.<Expression>seq(frame.block()),
                0,
                0),
            ProgramBlocks.TREND);
    List<Attribute> output = ScalaInterop.list(plan.output());
    List<Attribute> partners =
        further.stream()
            .map(column -> GroupingColumns.named(output, column).orElseThrow())
            .toList();
    List<NamedExpression> kept = new ArrayList<>(output);
    kept.addAll(trends.facts());
    return new Project(
        ScalaInterop.seq(kept), trends.joinedTo(plan, partners, Inner$.MODULE$, Optional.empty()));
  }
}
