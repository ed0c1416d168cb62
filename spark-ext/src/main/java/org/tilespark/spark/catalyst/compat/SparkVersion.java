package org.tilespark.spark.catalyst.compat;

import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The version of the running Spark, and the versions that this code was tested on. */
public final class SparkVersion {
  /**
   * The newest version in {@code dev/spark-distributions.txt}, which is its first line; a test
   * compares them.
   */
  public static final String NEWEST_TESTED = "4.3.0";

  /** The first release of the oldest line in {@code dev/spark-distributions.txt}. */
  public static final String OLDEST_TESTED = "4.0.0";

  private static final Logger LOG = LoggerFactory.getLogger(SparkVersion.class);
  private static final Pattern NUMBERS = Pattern.compile("\\d+(\\.\\d+)*");
  private static final AtomicBoolean WARNED = new AtomicBoolean();

  private SparkVersion() {}

  /** The version as Spark states it: {@code 4.3.0}. */
  public static String running() {
    return org.apache.spark.package$.MODULE$.SPARK_VERSION();
  }

  /** True if this code was tested on the running version. */
  public static boolean isTested() {
    return isTested(running());
  }

  /** True if this code was tested on Spark {@code version}. */
  public static boolean isTested(String version) {
    return warning(version).isEmpty();
  }

  /** Logs {@link #warning} of the running Spark, once for each process. */
  public static void warnIfUntested() {
    warning(running()).filter(text -> WARNED.compareAndSet(false, true)).ifPresent(LOG::warn);
  }

  /**
   * A warning if {@code running} is newer or older than the versions that were tested, or is no
   * version; otherwise empty. Versions are compared by their leading numbers: {@code
   * 4.3.0-SNAPSHOT} and {@code 4.3.0.1-vendor} are not newer than {@code 4.3.0}.
   */
  static Optional<String> warning(String running) {
    boolean newer = Arrays.compare(numbers(running), numbers(NEWEST_TESTED)) > 0;
    boolean older = Arrays.compare(numbers(running), numbers(OLDEST_TESTED)) < 0;
    return newer || older
        ? Optional.of(
            "Spark "
                + running
                + (newer ? " is newer than " + NEWEST_TESTED : " is not one of " + OLDEST_TESTED)
                + (newer ? ", the newest" : " to " + NEWEST_TESTED + ", the versions")
                + " that this tilespark was tested on. Blocks go through Spark's own shuffle and"
                + " cache. If a query fails with a linkage error, take another tilespark, or Spark "
                + NEWEST_TESTED)
        : Optional.empty();
  }

  /** The numbers of a version: feature, minor and patch; missing ones are 0. */
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
