package org.tilespark.bench.spark;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.util.QueryExecutionListener;
import org.tilespark.spark.catalyst.ScalaInterop;

/** The metrics of the plan nodes of a query that has run. */
final class PlanMetrics {
  /**
   * The value of one metric.
   *
   * @param node name of the plan node
   * @param label the metric's name in words
   * @param type Spark's metric type: size, timing (ms), nsTiming, sum or average
   */
  record Figure(String node, String label, String type, long value) {
    @Override
    public String toString() {
      String text =
          switch (type) {
            case "size" -> String.format(Locale.ROOT, "%.3f GiB", value / (double) (1L << 30));
            case "timing" -> String.format(Locale.ROOT, "%.2f s", value / 1e3);
            case "nsTiming" -> String.format(Locale.ROOT, "%.2f s", value / 1e9);
            default -> String.format(Locale.ROOT, "%,d", value);
          };
      return node + ": " + label + " " + text;
    }
  }

  private final List<Figure> figures;
  private final long writtenBytes;
  private final long readBytes;
  private final String plan;

  private PlanMetrics(List<Figure> figures, long[] shuffled, String plan) {
    this.figures = figures;
    this.writtenBytes = shuffled[0];
    this.readBytes = shuffled[1];
    this.plan = plan;
  }

  /** Runs a query and reads its metrics. */
  static PlanMetrics of(SparkSession spark, Runnable query) throws InterruptedException {
    AtomicReference<QueryExecution> last = new AtomicReference<>();
    QueryExecutionListener listener =
        new QueryExecutionListener() {
          @Override
          public void onSuccess(String name, QueryExecution execution, long nanos) {
            last.set(execution);
          }

          @Override
          public void onFailure(String name, QueryExecution execution, Exception failure) {}
        };
    spark.listenerManager().register(listener);
    try {
      query.run();
      ListenerEvents.await(spark);
    } finally {
      spark.listenerManager().unregister(listener);
    }
    SparkPlan plan = last.get().executedPlan();
    Map<String, Figure> figures = new LinkedHashMap<>();
    long[] shuffled = new long[2];
    walk(plan, figures, shuffled);
    return new PlanMetrics(List.copyOf(figures.values()), shuffled, plan.toString());
  }

  /** The values that are not zero; values of nodes with the same name are added. */
  List<Figure> figures() {
    return figures;
  }

  /** The sum of all values with a label; 0 if there is none. */
  long total(String label) {
    return figures.stream()
        .filter(figure -> figure.label().equals(label))
        .mapToLong(Figure::value)
        .sum();
  }

  /** Bytes of rows written to shuffles, before compression. */
  long writtenBytes() {
    return writtenBytes;
  }

  /** Bytes of rows read from shuffles, before compression; each task that reads a row counts it. */
  long readBytes() {
    return readBytes;
  }

  /** The executed plan as text. */
  String plan() {
    return plan;
  }

  /**
   * Collects the metrics of a plan and its children.
   *
   * @param shuffled output: adds bytes written and read
   */
  private static void walk(SparkPlan plan, Map<String, Figure> figures, long[] shuffled) {
    String node = plan.nodeName();
    for (var entry : ScalaInterop.list(plan.metrics())) {
      SQLMetric metric = entry._2();
      long value = metric.value();
      if (value <= 0) {
        continue;
      }
      String label = metric.name().isDefined() ? metric.name().get() : entry._1();
      figures.merge(
          node + ": " + label,
          new Figure(node, label, metric.metricType(), value),
          (a, b) -> new Figure(node, label, a.type(), a.value() + b.value()));
    }
    if (plan instanceof ShuffleExchangeExec) {
      long size = value(plan, "dataSize");
      double files = value(plan, "shuffleBytesWritten");
      double fetched = value(plan, "localBytesRead") + value(plan, "remoteBytesRead");
      shuffled[0] += size;
      shuffled[1] += files == 0 ? 0 : Math.round(size * (fetched / files));
    }
    if (plan instanceof AdaptiveSparkPlanExec adaptive) {
      walk(adaptive.executedPlan(), figures, shuffled);
    } else if (plan instanceof QueryStageExec stage) {
      walk(stage.plan(), figures, shuffled);
    } else if (plan instanceof CommandResultExec command) {
      walk(command.commandPhysicalPlan(), figures, shuffled);
    }
    for (SparkPlan child : ScalaInterop.<SparkPlan>list(plan.children())) {
      walk(child, figures, shuffled);
    }
  }

  private static long value(SparkPlan plan, String metric) {
    return plan.metrics().apply(metric).value();
  }
}
