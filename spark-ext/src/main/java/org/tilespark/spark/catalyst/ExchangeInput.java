package org.tilespark.spark.catalyst;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Optional;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The result of one of our nodes. For rows, this class marks them so that the shuffle manager
 * recognises shuffles of blocks and pieces, since Java code cannot extend Spark's exchange. In
 * tasks it tells which node reads from an exchange and which one writes to it.
 *
 * @param <R> type of the results: rows or batches
 */
public final class ExchangeInput<R> extends RDD<R> {
  // For each task thread: the nodes whose partitions are being opened, the innermost first.
  private static final ThreadLocal<ArrayDeque<ExchangeInput<?>>> OPENING =
      ThreadLocal.withInitial(ArrayDeque::new);
  // For each task thread: the metrics of the task's last node, if it has some.
  private static final ThreadLocal<ExchangeMetrics> LAST = new ThreadLocal<>();

  private final ExchangeMetrics metrics; // metrics of the node; null if it has none

  private ExchangeInput(RDD<R> results, ExchangeMetrics metrics) {
    super(results, results.elementClassTag());
    this.metrics = metrics;
  }

  /** The results of a node, marked if they are rows. */
  public static <R> RDD<R> marked(RDD<R> results, Class<R> type) {
    return type == InternalRow.class ? new ExchangeInput<>(results, null) : results;
  }

  /** The results of a node, marked, with the node's metrics. */
  static <R> RDD<R> marked(RDD<R> results, ExchangeMetrics metrics) {
    RDD<R> unmarked = results instanceof ExchangeInput<R> marked ? marked.results() : results;
    return new ExchangeInput<>(unmarked, metrics);
  }

  private RDD<R> results() {
    return firstParent(elementClassTag());
  }

  @Override
  public Partition[] getPartitions() {
    return results().partitions();
  }

  /** Opens the node's partition; within this call, the nodes below in the same task open theirs. */
  @Override
  public scala.collection.Iterator<R> compute(Partition split, TaskContext context) {
    ArrayDeque<ExchangeInput<?>> opening = OPENING.get();
    if (opening.isEmpty() && metrics != null) {
      LAST.set(metrics);
      context.addTaskCompletionListener((TaskCompletionListener) ended -> LAST.remove());
    }
    opening.push(this);
    try {
      return results().iterator(split, context);
    } finally {
      opening.pop();
    }
  }

  /**
   * True while a node of ours opens its partition and no other node of ours above it in the task's
   * plan is opening: the task's last node.
   */
  public static boolean isOpening() {
    return OPENING.get().size() == 1;
  }

  /** The metrics of the node that reads from an exchange, in a task that begins to do so. */
  public static Optional<ExchangeMetrics> reading() {
    for (Iterator<ExchangeInput<?>> each = OPENING.get().iterator(); each.hasNext(); ) {
      ExchangeInput<?> node = each.next();
      if (node.metrics != null) {
        return Optional.of(node.metrics);
      }
    }
    return Optional.ofNullable(LAST.get()); // the last node opens partitions as it needs them
  }

  /**
   * The metrics of the node whose rows a task writes, in a task that begins to write to an
   * exchange.
   */
  public static Optional<ExchangeMetrics> writing() {
    return Optional.ofNullable(LAST.get());
  }
}
