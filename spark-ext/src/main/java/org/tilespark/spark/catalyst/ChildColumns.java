package org.tilespark.spark.catalyst;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.error.ErrorBoundary;
import scala.collection.immutable.Seq;

/** Ordinals of a node's columns in the rows of its child. */
public final class ChildColumns {
  private ChildColumns() {}

  /**
   * The ordinal of each column of {@code read} in the child's rows, in the order of {@code read}.
   *
   * @param node node that reads the columns, for the message
   * @throws IllegalStateException if the child lacks a column, which is a defect of ours or of a
   *     rule
   */
  public static List<Integer> ordinals(SparkPlan node, SparkPlan child, Seq<Attribute> read) {
    List<Attribute> given = ScalaInterop.list(child.output());
    List<Integer> ordinals = new ArrayList<>();
    for (Attribute column : ScalaInterop.<Attribute>list(read)) {
      int ordinal = Attributes.indexOf(given, column);
      if (ordinal < 0) {
        throw ErrorBoundary.defect(
            "%s reads %s, its child gives %s; please report this with the plan:\n%s"
                .formatted(node.nodeName(), column, given, node));
      }
      ordinals.add(ordinal);
    }
    return List.copyOf(ordinals);
  }

  /**
   * Checks that columns are the child's first ones, in their order.
   *
   * @param what text for the message: {@code "A stage expects the cells"}
   * @throws IllegalStateException if they are not the first ones, which is a defect of ours or of a
   *     rule
   */
  public static void requireFirst(
      SparkPlan node, SparkPlan child, Seq<Attribute> read, String what) {
    if (!ordinals(node, child, read).equals(IntStream.range(0, read.size()).boxed().toList())) {
      throw ErrorBoundary.defect(
          "%s %s first in %s; please report this with the plan:\n%s"
              .formatted(what, ScalaInterop.list(read), child.output(), node));
    }
  }
}
