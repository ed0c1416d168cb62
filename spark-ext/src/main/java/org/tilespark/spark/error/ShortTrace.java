package org.tilespark.spark.error;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shortens stack traces of failures that the user's input caused: it keeps our frame that refused
 * the input and the frames of the user's code, without those of Spark and the JDK. Clients print a
 * trace after the reason; spark-sql does so for each error.
 *
 * <p>With the log level DEBUG of this class, traces stay whole.
 */
final class ShortTrace {
  private static final Logger LOG = LoggerFactory.getLogger(ShortTrace.class);
  private static final int OURS = 4; // count of our frames that are kept, from the top
  private static final List<String> OTHERS =
      List.of(
          "java.",
          "javax.",
          "jdk.",
          "sun.",
          "scala.",
          "py4j.",
          "io.grpc.",
          "org.apache.hadoop.",
          "org.apache.hive.",
          "org.apache.spark.",
          "org.sparkproject.",
          "org.tilespark.");

  private ShortTrace() {}

  /** The frames of a trace to keep; all of them if none is ours. */
  static StackTraceElement[] of(StackTraceElement[] whole) {
    int[] ours =
        IntStream.range(0, whole.length)
            .filter(i -> whole[i].getClassName().startsWith("org.tilespark."))
            .limit(OURS)
            .toArray();
    if (ours.length == 0 || LOG.isDebugEnabled()) {
      return whole;
    }
    int last = ours[ours.length - 1];
    return IntStream.range(0, whole.length)
        .filter(i -> i <= last ? Arrays.binarySearch(ours, i) >= 0 : isUsers(whole[i]))
        .mapToObj(i -> whole[i])
        .toArray(StackTraceElement[]::new);
  }

  private static boolean isUsers(StackTraceElement frame) {
    return OTHERS.stream().noneMatch(frame.getClassName()::startsWith);
  }
}
