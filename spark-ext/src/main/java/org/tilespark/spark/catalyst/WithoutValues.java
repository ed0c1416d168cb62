package org.tilespark.spark.catalyst;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import scala.collection.immutable.Seq;

/**
 * Plans of the places of blocks, for queries that run during planning. They do not compute blocks
 * if their places can be found without that: the blocks of operators that work block by block, and
 * those of {@link GivesPlaces}. Below these, Spark prunes unused columns.
 *
 * <p>This is not a rule for all queries: a user who counts blocks wants them to be computed and
 * checked.
 */
public final class WithoutValues {
  private WithoutValues() {}

  /**
   * A plan of some columns of blocks, with the same ids; of all columns if these need the values.
   * Cached data is read from the cache.
   */
  public static LogicalPlan of(Dataset<Row> blocks, List<? extends Expression> columns) {
    LogicalPlan plan =
        ((org.apache.spark.sql.classic.Dataset<Row>) blocks).queryExecution().withCachedData();
    return places(plan, AttributeSet.apply(ScalaInterop.<Expression>seq(List.copyOf(columns))))
        .orElse(plan);
  }

  private static Optional<LogicalPlan> places(LogicalPlan plan, AttributeSet used) {
    if (!used.subsetOf(plan.outputSet())) {
      return Optional.empty();
    }
    if (plan instanceof Project project) {
      List<NamedExpression> list =
          ScalaInterop.<NamedExpression>list(project.projectList()).stream()
              .filter(each -> used.contains(each.toAttribute()))
              .toList();
      return projected(list, project.child());
    }
    if (plan instanceof Filter filter) {
      AttributeSet both = used.$plus$plus(filter.condition().references());
      return places(filter.child(), both).map(below -> new Filter(filter.condition(), below));
    }
    if (plan instanceof SubqueryAlias || plan instanceof View) {
      LogicalPlan child = ScalaInterop.<LogicalPlan>list(plan.children()).get(0);
      return child.outputSet().equals(plan.outputSet()) ? places(child, used) : Optional.of(plan);
    }
    if (plan instanceof CarriesColumns carrier && carrier.carriesColumns()) {
      List<Attribute> outputs =
          ScalaInterop.<Attribute>list(plan.output()).stream().filter(used::contains).toList();
      return carrier.computed().stream().anyMatch(used::contains)
          ? Optional.empty()
          : projected(
              outputs.stream()
                  .map(output -> Attributes.as(carrier.source(output).orElseThrow(), output))
                  .toList(),
              carrier.child());
    }
    if (plan instanceof GivesPlaces blocks) {
      return blocks
          .places()
          .map(places -> used.subsetOf(places.outputSet()) ? places : plan)
          .or(() -> Optional.of(plan));
    }
    return Optional.of(plan);
  }

  private static Optional<LogicalPlan> projected(List<NamedExpression> list, LogicalPlan child) {
    Seq<Expression> expressions =
        ScalaInterop.<Expression>seq(list.stream().map(each -> (Expression) each).toList());
    return places(child, AttributeSet.apply(expressions))
        .map(below -> new Project(ScalaInterop.seq(list), below));
  }
}
