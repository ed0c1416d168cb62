package org.tilespark.spark.aggregate;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Inline;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.BlockAggregate;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;

/**
 * Facts that were computed of each array, where further columns distinguish arrays.
 *
 * @param plan plan with a row of facts for each array
 * @param further columns of the plan that distinguish the arrays
 * @param facts columns of the plan that hold the facts
 */
public record PerArray(LogicalPlan plan, List<Attribute> further, List<Attribute> facts) {
  /** One row for each array: its further columns, then the result of {@code aggregate}. */
  public static PerArray of(
      LogicalPlan input, List<Attribute> further, BlockAggregate<?> aggregate, String name) {
    List<NamedExpression> outputs = new ArrayList<>();
    further.forEach(column -> outputs.add(Attributes.alias(column, column.name())));
    outputs.add(Attributes.alias(aggregate.toAggregateExpression(), name));
    List<Attribute> output = outputs.stream().map(NamedExpression::toAttribute).toList();
    return new PerArray(
        new Aggregate(
            ScalaInterop.<Expression>seq(further),
            ScalaInterop.seq(outputs),
            input,
            ScalaInterop.none()),
        output.subList(0, further.size()),
        output.subList(further.size(), output.size()));
  }

  /** One row for each element of the array of structs that the aggregate gives. */
  public PerArray inlined(StructType struct) {
    List<Attribute> given = new ArrayList<>();
    for (StructField field : struct.fields()) {
      given.add(Attributes.column(field.name(), field.dataType(), Metadata.empty()));
    }
    LogicalPlan rows =
        new Generate(
            new Inline(facts.get(0)),
            ScalaInterop.<Object>seq(List.of(further.size())),
            false,
            ScalaInterop.none(),
            ScalaInterop.seq(given),
            plan);
    return new PerArray(rows, further, given);
  }

  /**
   * Joins {@code left} with the facts of each row's array, which are broadcast.
   *
   * @param partners columns of {@code left} that correspond to the further columns
   * @param also further condition of the join
   */
  public Join joinedTo(
      LogicalPlan left, List<Attribute> partners, JoinType type, Optional<Expression> also) {
    return joinedTo(left, partners, type, also, BROADCAST$.MODULE$);
  }

  /**
   * Joins {@code left} with the facts of each row's array.
   *
   * @param how hint for the join strategy
   */
  public Join joinedTo(
      LogicalPlan left,
      List<Attribute> partners,
      JoinType type,
      Optional<Expression> also,
      JoinStrategyHint how) {
    Optional<Expression> same = also;
    for (int i = 0; i < further.size(); i++) {
      Expression next = new EqualNullSafe(partners.get(i), further.get(i));
      same = Optional.of(same.isEmpty() ? next : new And(same.get(), next));
    }
    return new Join(
        left,
        plan,
        type,
        Option.apply(same.orElseGet(() -> Literal.create(true, DataTypes.BooleanType))),
        new JoinHint(
            ScalaInterop.none(), Option.apply(new HintInfo(Option.<JoinStrategyHint>apply(how)))));
  }
}
