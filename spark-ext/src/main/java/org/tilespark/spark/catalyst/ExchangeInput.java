package org.tilespark.spark.catalyst;

import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.Iterator;

/**
 * Rows of blocks and pieces that a node of ours gives. It is the mark by which a shuffle manager
 * tells a shuffle of them from others: javac can extend no exchange of Spark.
 */
public final class ExchangeInput extends RDD<InternalRow> {
  private static final long serialVersionUID = 1;

  private static final ThreadLocal<Integer> OPENING = ThreadLocal.withInitial(() -> 0);

  private ExchangeInput(RDD<InternalRow> rows) {
    super(rows, ScalaInterop.classTag(InternalRow.class));
  }

  /** The same, marked if they are rows. */
  @SuppressWarnings("unchecked") // the type says what they are
  public static <R> RDD<R> marked(RDD<R> results, Class<R> type) {
    return type == InternalRow.class
        ? (RDD<R>) new ExchangeInput((RDD<InternalRow>) results)
        : results;
  }

  private RDD<InternalRow> rows() {
    return firstParent(ScalaInterop.classTag(InternalRow.class));
  }

  @Override
  public Partition[] getPartitions() {
    return rows().partitions();
  }

  /** Opens the partition; those of other nodes below it, in the same task, are opened within. */
  @Override
  public Iterator<InternalRow> compute(Partition split, TaskContext context) {
    int depth = OPENING.get();
    OPENING.set(depth + 1);
    try {
      return rows().iterator(split, context);
    } finally {
      OPENING.set(depth);
    }
  }

  /** True while the task of a node is opened above which, in this task, is none of ours. */
  public static boolean isOpening() {
    return OPENING.get() == 1;
  }
}
