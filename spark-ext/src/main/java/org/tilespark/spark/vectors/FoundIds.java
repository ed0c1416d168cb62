package org.tilespark.spark.vectors;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.IdColumn;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;

/** Adds the ids of a matrix's rows to the places that an operator found. */
public final class FoundIds {
  private FoundIds() {}

  /**
   * The rows with a column of ids after the column {@code place}, named like it with {@code _id}
   * appended; unchanged if the matrix has no ids.
   *
   * @param found rows with a place and the further columns of the matrix
   * @param place name of the column with row numbers of {@code matrix}
   * @param matrix blocks of the matrix
   * @throws IllegalArgumentException if there is a column of that name already
   */
  public static LogicalPlan beside(
      LogicalPlan found, String place, LogicalPlan matrix, String operator) {
    if (!matrix.resolved() || IdColumn.find(ScalaInterop.list(matrix.output())).isEmpty()) {
      return found;
    }
    List<Attribute> columns = ScalaInterop.list(found.output());
    String name = place + "_id";
    LogicalPlan ids = SpreadPlans.rowIds(matrix, true, operator);
    // The row, its id, then the further columns
    List<Attribute> ofIds = ScalaInterop.list(ids.output());
    Attribute at = columns.stream().filter(each -> each.name().equals(place)).findFirst().get();
    Expression same = new EqualTo(at, ofIds.get(0));
    for (Attribute group : ofIds.subList(2, ofIds.size())) {
      same = new And(same, new EqualNullSafe(GroupingColumns.named(columns, group).get(), group));
    }
    List<NamedExpression> list = new ArrayList<>(columns);
    list.add(columns.indexOf(at) + 1, Attributes.alias(ofIds.get(1), name));
    GroupingColumns.requireNames(
        list.stream().map(NamedExpression::toAttribute).toList(), operator);
    return new Project(
        ScalaInterop.seq(list),
        new Join(found, ids, LeftOuter$.MODULE$, Option.apply(same), JoinHint.NONE()));
  }
}
