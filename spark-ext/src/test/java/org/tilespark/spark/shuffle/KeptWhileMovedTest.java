package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.util.TaskCompletionListener;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.RetainedRows;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** A task that was promised that its rows stay reads on while their outputs move to files. */
class KeptWhileMovedTest extends SparkTest {
  private static final String MOVED = "moved";

  @Test
  void rowsStayWhereTheyWere() {
    with(
        Map.of("spark.sql.adaptive.enabled", "false", "spark.sql.shuffle.partitions", "1"),
        () -> {
          Dataset<Row> query =
              MatrixBlocks.reblock(
                  TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15)
                      .toDataFrame(spark, 6)
                      .drop("tag"),
                  20,
                  15);
          ShuffleExchangeExec exchange =
              PlanNodes.all(plan(query).executedPlan(), ShuffleExchangeExec.class).get(0);
          List<String> texts =
              new ArrayList<>(
                  exchange
                      .execute()
                      .toJavaRDD()
                      .mapPartitions(KeptWhileMovedTest::keptAndThenRead)
                      .collect());
          assertEquals(1, texts.stream().filter(MOVED::equals).count());
          texts.removeIf(MOVED::equals);
          assertEquals(
              texts.stream().distinct().count(), texts.size(), "rows that stand there twice");
          assertEquals(36 + 36, texts.size(), "pieces and marks");
        });
  }

  /** Each row as text, once all of them were read. */
  private static Iterator<String> keptAndThenRead(Iterator<InternalRow> rows) {
    List<String> texts = new ArrayList<>();
    List<UnsafeRow> views = new ArrayList<>();
    InternalRow first = rows.next();
    views.add(view(first));
    RetainedRows retained = new RetainedRows();
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> retained.close());
    if (retained.retains(first)) {
      List<?> moved =
          ScalaInterop.list(
              ((TileShuffleManager) SparkEnv.get().shuffleManager())
                  .shuffleBlockResolver()
                  .getStoredShuffles());
      texts.addAll(moved.isEmpty() ? List.of() : List.of(MOVED));
    }
    rows.forEachRemaining(row -> views.add(view(row)));
    views.forEach(view -> texts.add(view.toString()));
    return texts.iterator();
  }

  private static UnsafeRow view(InternalRow row) {
    UnsafeRow of = (UnsafeRow) row;
    UnsafeRow view = new UnsafeRow(of.numFields());
    view.pointTo(of.getBaseObject(), of.getBaseOffset(), of.getSizeInBytes());
    return view;
  }
}
