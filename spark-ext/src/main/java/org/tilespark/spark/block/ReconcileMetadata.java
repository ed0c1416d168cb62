package org.tilespark.spark.block;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/**
 * Corrects column metadata about arrays where Spark takes it from only one of several places. It is
 * a rule of the analyzer, so that schemas show the correct metadata and all operators read it.
 *
 * <table>
 *  <caption>Metadata of a column</caption> <tr><td>of a union <td>facts on which all branches agree ({@link ArrayMetadata#agreed}); Spark takes those of the first <tr><td>of a table or a directory of files <td>facts that {@link StoredMetadata} finds <tr><td>of a view <td>the current metadata of its query; Spark takes that of the time when the view was made
 * </table>
 */
public final class ReconcileMetadata extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    LogicalPlan reconciled =
        plan.resolveOperatorsUpWithNewOutput(
            ScalaInterop.partialFunction(ReconcileMetadata::reconciled));
    return reconciled == plan ? plan : passedOn(withReferences(reconciled));
  }

  /**
   * The node with correct metadata, and each replaced column with its replacement; empty if the
   * node's metadata is correct.
   */
  private static Optional<Tuple2<LogicalPlan, Seq<Tuple2<Attribute, Attribute>>>> reconciled(
      LogicalPlan node) {
    if (node instanceof Union union) {
      return union.resolved() && !union.byName() ? agreeing(union) : Optional.empty();
    }
    Optional<LogicalPlan> same =
        node instanceof View view
            ? asTheQuerySays(view)
            : node.children().isEmpty() && node.resolved()
                ? StoredMetadata.reconciled(node)
                : Optional.empty();
    return same.map(changed -> new Tuple2<>(changed, ScalaInterop.emptySeq()));
  }

  // ---- unions

  /** The union with a projection over each branch whose metadata differs from the agreed one. */
  private static Optional<Tuple2<LogicalPlan, Seq<Tuple2<Attribute, Attribute>>>> agreeing(
      Union union) {
    List<LogicalPlan> branches = ScalaInterop.list(union.children());
    List<List<Attribute>> columns =
        branches.stream().map(b -> ScalaInterop.<Attribute>list(b.output())).toList();
    List<ArrayMetadata> agreed =
        IntStream.range(0, columns.get(0).size())
            .mapToObj(
                i -> ArrayMetadata.agreed(columns.stream().map(c -> known(c.get(i))).toList()))
            .toList();
    List<LogicalPlan> changed = new ArrayList<>();
    List<Tuple2<Attribute, Attribute>> replaced = new ArrayList<>();
    for (int branch = 0; branch < branches.size(); branch++) {
      List<NamedExpression> list = new ArrayList<>(columns.get(branch));
      for (int i = 0; i < list.size(); i++) {
        Attribute column = columns.get(branch).get(i);
        if (!known(column).saysTheSame(agreed.get(i))) {
          NamedExpression said =
              Attributes.alias(
                  column, column.name(), known(column).saying(agreed.get(i)).toMetadata());
          list.set(i, said);
          if (branch == 0) {
            replaced.add(new Tuple2<>(column, said.toAttribute()));
          }
        }
      }
      changed.add(
          list.equals(columns.get(branch))
              ? branches.get(branch)
              : new Project(ScalaInterop.seq(list), branches.get(branch)));
    }
    return changed.equals(branches)
        ? Optional.empty()
        : Optional.of(
            new Tuple2<>(
                union.withNewChildren(ScalaInterop.seq(changed)), ScalaInterop.seq(replaced)));
  }

  // ---- views

  /** A view whose columns have the metadata of its query's columns. */
  private static Optional<LogicalPlan> asTheQuerySays(View view) {
    // Spark adds a projection over the query of a view that is stored as text.
    if (view.isTempViewStoringAnalyzedPlan()
        || !(view.child() instanceof Project project)
        || !project.resolved()) {
      return Optional.empty();
    }
    List<NamedExpression> list = ScalaInterop.list(project.projectList());
    boolean isChanged = false;
    for (int i = 0; i < list.size(); i++) {
      if (list.get(i) instanceof Alias alias && alias.explicitMetadata().isDefined()) {
        List<Attribute> read = Attributes.usedBy(alias.child());
        ArrayMetadata says = ArrayMetadata.of(alias.explicitMetadata().get());
        if (read.size() == 1 && !says.saysTheSame(known(read.get(0)))) {
          list.set(
              i,
              Attributes.as(
                  alias.child(),
                  (Attribute)
                      alias
                          .toAttribute()
                          .withMetadata(says.saying(known(read.get(0))).toMetadata())));
          isChanged = true;
        }
      }
    }
    return isChanged
        ? Optional.of(
            (LogicalPlan)
                view.withNewChildren(
                    ScalaInterop.seq(new Project(ScalaInterop.seq(list), project.child()))))
        : Optional.empty();
  }

  // ---- readers of the changed columns

  /**
   * The plan in which each reference to a common table expression (WITH) has the metadata of that
   * expression's columns.
   */
  private static LogicalPlan withReferences(LogicalPlan plan) {
    Map<Long, List<Attribute>> tables = new HashMap<>();
    plan.foreach(
        ScalaInterop.function(
            node -> {
              if (node instanceof WithCTE with) {
                for (CTERelationDef each : ScalaInterop.<CTERelationDef>list(with.cteDefs())) {
                  if (each.resolved()) {
                    tables.put(each.id(), ScalaInterop.list(each.output()));
                  }
                }
              }
              return null;
            }));
    return tables.isEmpty()
        ? plan
        : (LogicalPlan)
            plan.transformUpWithSubqueries(
                ScalaInterop.partialFunction(
                    node ->
                        node instanceof CTERelationRef reference
                                && tables.containsKey(reference.cteId())
                            ? saying(reference, tables.get(reference.cteId()))
                            : Optional.empty()));
  }

  private static Optional<LogicalPlan> saying(CTERelationRef reference, List<Attribute> table) {
    List<Attribute> columns = ScalaInterop.list(reference.output());
    Map<ExprId, ArrayMetadata> said = new HashMap<>();
    for (int i = 0; i < columns.size() && columns.size() == table.size(); i++) {
      said.put(columns.get(i).exprId(), known(table.get(i)));
    }
    return saying(reference, said);
  }

  /** The plan in which every use of a column has the metadata that the node's child gives it. */
  private static LogicalPlan passedOn(LogicalPlan plan) {
    return plan.resolveOperatorsUp(
        ScalaInterop.partialFunction(
            node -> {
              Map<ExprId, ArrayMetadata> below = new HashMap<>();
              for (LogicalPlan child : ScalaInterop.<LogicalPlan>list(node.children())) {
                if (child.resolved()) {
                  ScalaInterop.<Attribute>list(child.output())
                      .forEach(column -> below.put(column.exprId(), known(column)));
                }
              }
              return below.isEmpty() ? Optional.empty() : saying(node, below);
            }));
  }

  /**
   * The node with the given metadata on the columns that {@code said} names; empty if they have it
   * already.
   */
  static Optional<LogicalPlan> saying(LogicalPlan node, Map<ExprId, ArrayMetadata> said) {
    LogicalPlan changed =
        (LogicalPlan)
            node.transformExpressions(
                ScalaInterop.<Expression, Expression>partialFunction(
                    e ->
                        e instanceof Attribute column
                                && column.resolved()
                                && said.containsKey(column.exprId())
                                && !known(column).saysTheSame(said.get(column.exprId()))
                            ? Optional.of(
                                (Expression)
                                    column.withMetadata(
                                        known(column)
                                            .saying(said.get(column.exprId()))
                                            .toMetadata()))
                            : Optional.empty()));
    return changed == node ? Optional.empty() : Optional.of(changed);
  }

  private static ArrayMetadata known(Attribute column) {
    return ArrayMetadata.of(column.metadata());
  }
}
