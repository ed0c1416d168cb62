package org.tilespark.spark.fourier;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.FftOptions.Detrend;
import org.tilespark.spark.rows.BlockArguments;
import scala.Option;

/** Puts the trend of each volume beside its blocks: an aggregate over its values, broadcast. */
final class TrendPlans {
  private TrendPlans() {}

  /**
   * {@code plan} with a further column {@link FourierBlocks#TREND}.
   *
   * @param plan blocks, with further columns of the same names as those of {@code input}
   * @param input the blocks whose values are looked at; they may be those of {@code plan}
   */
  static LogicalPlan joined(
      LogicalPlan plan, LogicalPlan input, Shape extents, FftOptions options, String operator) {
    BlockSchema blocks = BlockSchema.find(input.schema(), BlockKind.VOLUME, operator);
    List<Attribute> columns = ScalaInterop.list(input.output());
    List<Attribute> further = GroupingColumns.of(blocks, columns, operator);
    BlockArguments arguments = BlockArguments.of(blocks, operator, extents, options.missing());
    List<NamedExpression> outputs = new ArrayList<>();
    further.forEach(column -> outputs.add(Attributes.alias(column, column.name())));
    outputs.add(
        Attributes.alias(
            new VolumeTrend(
                    arguments,
                    options.detrend() == Detrend.LINEAR,
                    ScalaInterop.seq(BlockArguments.columns(blocks, columns)),
                    0,
                    0)
                .toAggregateExpression(),
            FourierBlocks.TREND));
    LogicalPlan trends =
        new Aggregate(
            ScalaInterop.<Expression>seq(further),
            ScalaInterop.seq(outputs),
            input,
            ScalaInterop.none());
    Expression sameVolume = Literal.create(true, DataTypes.BooleanType);
    for (int i = 0; i < further.size(); i++) {
      Attribute of =
          GroupingColumns.named(ScalaInterop.list(plan.output()), further.get(i)).orElseThrow();
      Expression same = new EqualNullSafe(of, outputs.get(i).toAttribute());
      sameVolume = i == 0 ? same : new And(sameVolume, same);
    }
    List<NamedExpression> kept = new ArrayList<>(ScalaInterop.<Attribute>list(plan.output()));
    kept.add(outputs.get(outputs.size() - 1).toAttribute());
    return new Project(
        ScalaInterop.seq(kept),
        new Join(
            plan,
            trends,
            Inner$.MODULE$,
            Option.apply(sameVolume),
            new JoinHint(
                ScalaInterop.none(),
                Option.apply(new HintInfo(Option.<JoinStrategyHint>apply(BROADCAST$.MODULE$))))));
  }
}
