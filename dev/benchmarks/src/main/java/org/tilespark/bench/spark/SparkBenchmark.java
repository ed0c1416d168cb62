package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.ExampleJob;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobReport;

/** A benchmark in the session that spark-submit sets up. */
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

  /** Makes a benchmark. */
  interface Maker {
    SparkBenchmark of(SparkSession spark, JobArguments arguments, PrintStream out);
  }

  /** Runs a benchmark; gives the status with which its process ends. */
  static int run(
      JobArguments.Usage usage, String[] args, Maker maker, PrintStream out, PrintStream err) {
    return ExampleJob.run(
        usage,
        args,
        (spark, arguments, stream) -> maker.of(spark, arguments, stream).run(),
        out,
        err);
  }

  /** Measures; false if a result was wrong. */
  abstract boolean run() throws IOException, InterruptedException;

  /** The number that an option says. */
  final int number(String option, int byDefault) {
    return arguments.option(option).map(Integer::parseInt).orElse(byDefault);
  }

  /** Runs a query, and drops its rows. */
  static void noop(Dataset<?> query) {
    query.write().format("noop").mode(SaveMode.Overwrite).save();
  }

  /** Runs a query and prints its plan, then the figures of its nodes and stages, which it gives. */
  final PlanMetrics reported(String name, Dataset<?> query) throws InterruptedException {
    PlanMetrics metrics = PlanMetrics.of(spark, () -> noop(query));
    out.println(metrics.plan().stripTrailing());
    metrics.figures().forEach(figure -> report.line(name, "%s", figure));
    StageTimes.of(spark, () -> noop(query)).forEach(stage -> report.line(name, "%s", stage));
    return metrics;
  }
}
