package org.tilespark.spark.catalyst;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Operations on plan nodes that follow from the list of their fields. Stateless. */
public final class NodeFields {
  private NodeFields() {}

  /**
   * A copy of one of Spark's nodes, whose constructor differs between Spark's versions, with
   * another value in one field.
   *
   * @param field present value of the field, as the node has it
   * @param value the field's new value
   */
  public static LogicalPlan with(LogicalPlan node, Object field, Object value) {
    Object[] fields = new Object[node.productArity()];
    Arrays.setAll(fields, i -> node.productElement(i) == field ? value : node.productElement(i));
    return (LogicalPlan) node.makeCopy(fields);
  }

  /** The name of a class in small letters, with {@code _} between its words. */
  static String inWords(Class<?> type) {
    return type.getSimpleName().replaceAll("(?<=.)(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
  }

  /** The nodes among the fields, and in the sequences among the fields. */
  static <T> List<T> children(List<Object> fields, Class<T> type) {
    List<T> children = new ArrayList<>();
    for (Object field : fields) {
      if (type.isInstance(field)) {
        children.add(type.cast(field));
      } else if (isOfNodes(field, type)) {
        children.addAll(ScalaInterop.<T>list((scala.collection.Seq<T>) field));
      }
    }
    return children;
  }

  /** The fields with other nodes in place of {@link #children}. */
  static <T> Object[] with(List<Object> fields, Class<T> type, Iterator<T> children) {
    Object[] replaced = fields.toArray();
    for (int i = 0; i < replaced.length; i++) {
      if (type.isInstance(replaced[i])) {
        replaced[i] = children.next();
      } else if (isOfNodes(replaced[i], type)) {
        List<T> sequence = new ArrayList<>();
        for (int left = ((scala.collection.Seq<?>) replaced[i]).size(); left > 0; left--) {
          sequence.add(children.next());
        }
        replaced[i] = ScalaInterop.seq(sequence);
      }
    }
    return replaced;
  }

  private static boolean isOfNodes(Object field, Class<?> type) {
    return field instanceof scala.collection.Seq<?> sequence
        && sequence.nonEmpty()
        && type.isInstance(sequence.head());
  }
}
