package org.tilespark.spark.catalyst;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Operations on columns for our logical and physical nodes. Columns are the same if their ids are
 * equal; names do not matter.
 */
public final class Attributes {
  private Attributes() {}

  /** A new column with a fresh id, whose values are never null. */
  public static Attribute column(String name, DataType type, Metadata metadata) {
    return new AttributeReference(
        name,
        type,
        false,
        metadata,
        NamedExpression$.MODULE$.newExprId(),
        ScalaInterop.<String>emptySeq());
  }

  /** These columns under fresh ids. */
  public static Seq<Attribute> fresh(Seq<Attribute> attributes) {
    return ScalaInterop.seq(
        ScalaInterop.<Attribute>list(attributes).stream().map(Attribute::newInstance).toList());
  }

  /** An expression under a name and a fresh id. */
  public static NamedExpression alias(Expression expression, String name) {
    return alias(expression, name, Metadata.empty());
  }

  /** An expression under a name and a fresh id, with metadata. */
  public static NamedExpression alias(Expression expression, String name, Metadata metadata) {
    return new Alias(
        expression,
        name,
        NamedExpression$.MODULE$.newExprId(),
        ScalaInterop.<String>emptySeq(),
        Option.apply(metadata),
        ScalaInterop.<String>emptySeq());
  }

  /** An expression under the name, id and metadata of {@code target}. */
  public static NamedExpression as(Expression content, Attribute target) {
    return new Alias(
        content,
        target.name(),
        target.exprId(),
        target.qualifier(),
        Option.apply(target.metadata()),
        ScalaInterop.<String>emptySeq());
  }

  /** Position of an attribute in a list, by id, or -1. */
  public static int indexOf(List<Attribute> attributes, Attribute attribute) {
    for (int i = 0; i < attributes.size(); i++) {
      if (attributes.get(i).exprId().equals(attribute.exprId())) {
        return i;
      }
    }
    return -1;
  }

  /** The schema of rows with the given columns. */
  public static StructType schema(List<Attribute> attributes) {
    return new StructType(
        attributes.stream()
            .map(a -> new StructField(a.name(), a.dataType(), a.nullable(), a.metadata()))
            .toArray(StructField[]::new));
  }

  /** The columns that an expression uses. */
  public static List<Attribute> usedBy(Expression expression) {
    return ScalaInterop.list(expression.references().toSeq());
  }

  /**
   * The expression in terms of other columns.
   *
   * @param names gives the expression that replaces a column; empty if there is none
   * @return empty if a column of the expression has no replacement
   */
  public static Optional<Expression> renamed(
      Expression expression, Function<Attribute, Optional<? extends Expression>> names) {
    if (usedBy(expression).stream().anyMatch(used -> names.apply(used).isEmpty())) {
      return Optional.empty();
    }
    return Optional.of(
        expression.transform(
            ScalaInterop.partialFunction(
                e -> e instanceof Attribute used ? names.apply(used) : Optional.empty())));
  }

  /**
   * The longest prefix of an ordering in terms of other columns: later columns order only among
   * equal values of earlier ones.
   */
  public static Seq<SortOrder> renamedOrdering(
      Seq<SortOrder> ordering, Function<Attribute, Optional<? extends Expression>> names) {
    List<SortOrder> renamed = new ArrayList<>();
    for (SortOrder order : ScalaInterop.<SortOrder>list(ordering)) {
      Optional<Expression> each = renamed(order, names);
      if (each.isEmpty()) {
        break;
      }
      renamed.add((SortOrder) each.get());
    }
    return ScalaInterop.seq(renamed);
  }

  /** A reference to the field at position {@code ordinal} of rows. */
  public static BoundReference bound(int ordinal, StructField field) {
    return new BoundReference(ordinal, field.dataType(), field.nullable());
  }

  /** The order over columns, by their ordinals in {@code columns}. */
  public static SortOrder bound(SortOrder order, List<Attribute> columns) {
    return (SortOrder)
        renamed(
                order,
                used -> {
                  int position = indexOf(columns, used);
                  return position < 0
                      ? Optional.empty()
                      : Optional.of(new BoundReference(position, used.dataType(), used.nullable()));
                })
            .orElseThrow(() -> new IllegalArgumentException(order + " is not over " + columns));
  }

  /** An ascending order by each column in turn, nulls first. */
  public static Seq<SortOrder> ascending(Collection<? extends Expression> columns) {
    return ScalaInterop.seq(
        columns.stream()
            .map(
                column ->
                    new SortOrder(
                        column,
                        Ascending$.MODULE$,
                        NullsFirst$.MODULE$,
                        ScalaInterop.<Expression>emptySeq()))
            .toList());
  }

  /** The right operand of a join, with fresh ids if it shares some with the left one. */
  public static LogicalPlan distinctFrom(LogicalPlan left, LogicalPlan right) {
    if (left.outputSet().intersect(right.outputSet()).isEmpty()) {
      return right;
    }
    return new Project(
        ScalaInterop.seq(
            ScalaInterop.<Attribute>list(right.output()).stream()
                .map(column -> as(column, column.newInstance()))
                .toList()),
        right);
  }

  /** A plan, and its columns that were asked for. */
  public record Source(LogicalPlan plan, List<Attribute> columns) {}

  /**
   * The plan below all projections of {@code plan}, with its columns that these pass on as {@code
   * columns}; empty if a projection computes one of them.
   */
  public static Optional<Source> belowProjections(LogicalPlan plan, List<Attribute> columns) {
    return plan instanceof Project project
        ? below(project, columns).flatMap(read -> belowProjections(project.child(), read))
        : Optional.of(new Source(plan, columns));
  }

  /**
   * The columns below a projection that it passes on as {@code columns}; empty if it computes one
   * of them.
   */
  public static Optional<List<Attribute>> below(Project project, List<Attribute> columns) {
    Renamed renamed = Renamed.of(project);
    return counterparts(columns, renamed.above(), renamed.below());
  }

  /**
   * Columns that a projection passes on unchanged, in parallel lists.
   *
   * @param below the columns in the projection's child
   * @param above the same columns in the projection's output
   */
  public record Renamed(List<Attribute> below, List<Attribute> above) {
    public static Renamed of(Project project) {
      Renamed renamed = new Renamed(new ArrayList<>(), new ArrayList<>());
      for (NamedExpression each : ScalaInterop.<NamedExpression>list(project.projectList())) {
        Expression content = each instanceof Alias alias ? alias.child() : (Expression) each;
        if (content instanceof Attribute source) {
          renamed.below.add(source);
          renamed.above.add(each.toAttribute());
        }
      }
      return renamed;
    }
  }

  /**
   * For each column of {@code read}, the column of {@code others} at its position in {@code given};
   * empty if one has no counterpart.
   */
  public static Optional<List<Attribute>> counterparts(
      List<Attribute> read, List<Attribute> given, List<Attribute> others) {
    List<Integer> positions = read.stream().map(column -> indexOf(given, column)).toList();
    return positions.contains(-1)
        ? Optional.empty()
        : Optional.of(positions.stream().map(others::get).toList());
  }
}
