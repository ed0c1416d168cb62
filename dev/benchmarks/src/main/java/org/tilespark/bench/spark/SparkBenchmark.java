package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobReport;

/** A benchmark that runs in the session of spark-submit. */
abstract class SparkBenchmark {
  final SparkSession spark;
  final JobArguments arguments;
  final JobReport report;
  final PrintStream out;

  SparkBenchmark(SparkSession spark, JobArguments arguments, PrintStream out) {
    this.spark = spark;
    this.arguments = arguments;
    this.report = new JobReport(out);
    this.out = out;
  }

  interface Maker {
    SparkBenchmark of(SparkSession spark, JobArguments arguments, PrintStream out);
  }

  /** Runs a benchmark and returns the exit status of its process. */
  static int run(
      JobArguments.Usage usage, String[] args, Maker maker, PrintStream out, PrintStream err) {
    return ExampleJob.run(
        usage,
        args,
        (spark, arguments, stream) -> maker.of(spark, arguments, stream).run(),
        out,
        err);
  }

  /** Runs the measurements; returns false if a result was wrong. */
  abstract boolean run() throws IOException, InterruptedException;

  /** The value of a numeric option. */
  final int number(String option, int byDefault) {
    return arguments.option(option).map(Integer::parseInt).orElse(byDefault);
  }

  /** Runs a query and discards its rows. */
  static void noop(Dataset<?> query) {
    query.write().format("noop").mode(SaveMode.Overwrite).save();
  }

  /**
   * Runs a query; prints its plan and the metrics of its nodes and stages; returns the node
   * metrics.
   */
  final PlanMetrics reported(String name, Dataset<?> query) throws InterruptedException {
    PlanMetrics metrics = PlanMetrics.of(spark, () -> noop(query));
    out.println(metrics.plan().stripTrailing());
    metrics.figures().forEach(figure -> report.line(name, "%s", figure));
    StageTimes.of(spark, () -> noop(query)).forEach(stage -> report.line(name, "%s", stage));
    return metrics;
  }
}
