package org.tilespark.spark.catalyst.compat;

import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The version of the running Spark, beside the newest that this code was tested on. */
public final class SparkVersion {
  /** The first of {@code dev/spark-distributions.txt}; a test compares them. */
  public static final String NEWEST_TESTED = "4.3.0";

  private static final Logger LOG = LoggerFactory.getLogger(SparkVersion.class);
  private static final Pattern NUMBERS = Pattern.compile("\\d+(\\.\\d+)*");
  private static final AtomicBoolean WARNED = new AtomicBoolean();

  private SparkVersion() {}

  /** As Spark states it: {@code 4.3.0}. */
  public static String running() {
    return org.apache.spark.package$.MODULE$.SPARK_VERSION();
  }

  /** True if this code was tested on the running version. */
  public static boolean isTested() {
    return warning(running(), NEWEST_TESTED).isEmpty();
  }

  /** Logs {@link #warning} of the running Spark, once for each process. */
  public static void warnIfUntested() {
    warning(running(), NEWEST_TESTED)
        .filter(text -> WARNED.compareAndSet(false, true))
        .ifPresent(LOG::warn);
  }

  /**
   * What to say where {@code running} is newer than {@code tested}; empty where it is not, or does
   * not begin with a number. Versions are compared by their leading numbers: {@code 4.3.0-SNAPSHOT}
   * and {@code 4.3.0.1-vendor} are not newer than {@code 4.3.0}.
   */
  static Optional<String> warning(String running, String tested) {
    return Arrays.compare(numbers(running), numbers(tested)) > 0
        ? Optional.of(
            "Spark "
                + running
                + " is newer than "
                + tested
                + ", the newest that this tilespark was tested on. If a query fails with a linkage"
                + " error, take a newer tilespark or Spark "
                + tested)
        : Optional.empty();
  }

  /** The numbers of the release: feature, minor and patch; missing ones are 0. */
  private static int[] numbers(String version) {
    int[] numbers = new int[3];
    Matcher matcher = NUMBERS.matcher(version);
    if (matcher.lookingAt()) {
      String[] parts = matcher.group().split("\\.");
      for (int i = 0; i < Math.min(parts.length, numbers.length); i++) {
        numbers[i] = Integer.parseInt(parts[i]);
      }
    }
    return numbers;
  }
}
