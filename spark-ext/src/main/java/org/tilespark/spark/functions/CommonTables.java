package org.tilespark.spark.functions;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Makes common tables ({@code WITH t AS ...}) readable for operators during analysis, when they
 * must find unstated extents: a reference only names a table that is elsewhere in the query. This
 * rule of the analyzer stores the named plan at each reference.
 */
public final class CommonTables extends Rule<LogicalPlan> {
  private static final TreeNodeTag<LogicalPlan> TABLE = new TreeNodeTag<>("tilespark.commonTable");

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    Map<Long, LogicalPlan> tables = new HashMap<>();
    plan.foreachWithSubqueries(
        ScalaInterop.function(
            node -> {
              if (node instanceof WithCTE with) {
                ScalaInterop.<CTERelationDef>list(with.cteDefs())
                    .forEach(each -> tables.put(each.id(), each.child()));
              }
              return null;
            }));
    if (!tables.isEmpty()) {
      plan.foreachWithSubqueries(
          ScalaInterop.function(
              node -> {
                if (node instanceof CTERelationRef reference
                    && tables.containsKey(reference.cteId())) {
                  reference.setTagValue(TABLE, tables.get(reference.cteId()));
                }
                return null;
              }));
    }
    return plan;
  }

  /** The plan with common tables in place of the references to them. */
  static LogicalPlan inPlace(LogicalPlan plan) {
    return (LogicalPlan)
        plan.transformUpWithSubqueries(
            ScalaInterop.partialFunction(
                node ->
                    node instanceof CTERelationRef reference
                            && reference.getTagValue(TABLE).isDefined()
                        ? Optional.of(
                            renamed(inPlace(reference.getTagValue(TABLE).get()), reference))
                        : Optional.empty()));
  }

  /** The plan of a common table, with its columns under the names and ids of a reference. */
  private static LogicalPlan renamed(LogicalPlan table, CTERelationRef reference) {
    List<Attribute> columns = ScalaInterop.list(table.output());
    List<Attribute> names = ScalaInterop.list(reference.output());
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      list.add(
          columns.get(i).exprId().equals(names.get(i).exprId())
              ? columns.get(i)
              : Attributes.as(columns.get(i), names.get(i)));
    }
    return new Project(ScalaInterop.seq(list), table);
  }
}
