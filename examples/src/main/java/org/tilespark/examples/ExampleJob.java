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

/**
 * Common part of all jobs: parses the arguments, starts a Spark session with tilespark, runs the
 * job and returns an exit status.
 */
public final class ExampleJob {
  /** The exit status of a job whose answer is right. */
  public static final int RIGHT = 0;

  /** The exit status of a job that failed or whose answer is wrong. */
  public static final int FAILED = 1;

  /** The exit status after wrong arguments. */
  public static final int WRONG_ARGUMENTS = 2;

  private ExampleJob() {}

  /** A job that runs in a given session. */
  @FunctionalInterface
  public interface Body {
    /**
     * Runs the job.
     *
     * @return true if the answer is right
     */
    boolean run(SparkSession spark, JobArguments arguments, PrintStream out) throws Exception;
  }

  /** A job that creates its own sessions with {@link #session}. */
  @FunctionalInterface
  public interface BodyWithoutSession {
    /**
     * Runs the job.
     *
     * @return true if the answer is right
     */
    boolean run(JobArguments arguments, PrintStream out) throws Exception;
  }

  /** Runs a job in a new session and returns its exit status. */
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

  /** Runs a job that creates its own sessions and returns its exit status. */
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
      if (isWrongInput(e)) { // no stack trace: the message is enough
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
   * Creates a session with tilespark. An application of your own sets the same two properties in
   * spark-defaults.conf or by spark-submit's {@code --conf}: {@code
   * spark.sql.extensions=org.tilespark.spark.TileSparkExtensions} and {@code
   * spark.plugins=org.tilespark.spark.TileSparkPlugin}.
   *
   * @param settings further Spark properties
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

  /** Adds our class to a comma-separated list of class names. */
  private static String with(String classNames, Class<?> ours) {
    if (classNames.isBlank()) {
      return ours.getName();
    }
    return Arrays.asList(classNames.split("\\s*,\\s*")).contains(ours.getName())
        ? classNames
        : classNames + "," + ours.getName();
  }
}
