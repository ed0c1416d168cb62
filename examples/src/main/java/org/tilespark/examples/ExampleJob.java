package org.tilespark.examples;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.TileSparkThrowable;

/** Common part of all jobs: arguments in, a session with tilespark in it, an exit status out. */
public final class ExampleJob {
  /** The exit status of a job whose answer is right. */
  public static final int RIGHT = 0;

  /** The exit status of a job that failed, or found its answer wrong. */
  public static final int FAILED = 1;

  /** The exit status after wrong arguments. */
  public static final int WRONG_ARGUMENTS = 2;

  private ExampleJob() {}

  /** A job. */
  @FunctionalInterface
  public interface Body {
    /**
     * Runs in a session.
     *
     * @return true if the answer is right
     */
    boolean run(SparkSession spark, JobArguments arguments, PrintStream out) throws Exception;
  }

  /** A job that makes its own sessions, with {@link #session}. */
  @FunctionalInterface
  public interface BodyWithoutSession {
    /**
     * Runs.
     *
     * @return true if the answer is right
     */
    boolean run(JobArguments arguments, PrintStream out) throws Exception;
  }

  /** Runs a job; returns its exit status. */
  public static int run(
      JobArguments.Usage usage, String[] args, Body job, PrintStream out, PrintStream err) {
    BodyWithoutSession inSession =
        (arguments, stream) -> {
          Map<String, String> settings = new HashMap<>();
          arguments
              .option("backend")
              .ifPresent(backend -> settings.put(TileSparkConf.BACKEND.name(), backend));
          try (SparkSession spark = session(name(usage), settings)) {
            return job.run(spark, arguments, stream);
          }
        };
    return runWithoutSession(usage, args, inSession, out, err);
  }

  /** Runs a job that makes its own sessions; returns its exit status. */
  public static int runWithoutSession(
      JobArguments.Usage usage,
      String[] args,
      BodyWithoutSession job,
      PrintStream out,
      PrintStream err) {
    if (Arrays.asList(args).contains("--help")) {
      out.print(usage.text());
      return RIGHT;
    }
    JobArguments arguments;
    try {
      arguments = JobArguments.parse(usage, args);
    } catch (IllegalArgumentException e) {
      err.println("error: " + e.getMessage());
      err.print(usage.text());
      return WRONG_ARGUMENTS;
    }
    try {
      return job.run(arguments, out) ? RIGHT : FAILED;
    } catch (Exception e) {
      if (isWrongInput(e)) { // the message says it all
        err.println("error: " + e.getMessage());
      } else {
        err.println("error: the job failed");
        e.printStackTrace(err);
      }
      return FAILED;
    }
  }

  private static boolean isWrongInput(Exception e) {
    return e instanceof TileSparkThrowable ours
        ? ours.condition().isWrongInput()
        : e instanceof IllegalArgumentException;
  }

  private static String name(JobArguments.Usage usage) {
    return "tilespark " + usage.line().split(" ", 2)[0];
  }

  /**
   * A session, with tilespark in it. An application of yours need not do this: its
   * spark-defaults.conf, or spark-submit's {@code --conf}, says {@code
   * spark.sql.extensions=org.tilespark.spark.TileSparkExtensions} and {@code
   * spark.plugins=org.tilespark.spark.TileSparkPlugin}.
   *
   * @param settings further configuration, of which {@code --conf} is none
   */
  public static SparkSession session(String name, Map<String, String> settings) {
    SparkConf submitted = new SparkConf();
    SparkSession.Builder builder =
        SparkSession.builder()
            .appName(name)
            .config(
                "spark.sql.extensions",
                with(submitted.get("spark.sql.extensions", ""), TileSparkExtensions.class))
            .config(
                "spark.plugins", with(submitted.get("spark.plugins", ""), TileSparkPlugin.class));
    settings.forEach(builder::config);
    return builder.getOrCreate();
  }

  /** A list of class names, with ours in it. */
  private static String with(String classNames, Class<?> ours) {
    if (classNames.isBlank()) {
      return ours.getName();
    }
    return Arrays.asList(classNames.split("\\s*,\\s*")).contains(ours.getName())
        ? classNames
        : classNames + "," + ours.getName();
  }
}
