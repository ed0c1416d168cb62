package org.tilespark.spark.catalyst;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;

/**
 * SQL metrics of a node at an exchange in memory: what its tasks wrote to the exchange above and
 * read from the exchange below. There are no figures if Spark's own shuffle is used. Bytes are
 * those of whole partitions in the form in which executors send them, unless stated otherwise.
 */
public final class ExchangeMetrics implements Serializable {
  public static final String IN_MEMORY = "exchangeBytesInMemory";
  public static final String IN_PLACE = "exchangeBytesInPlace";
  public static final String IN_FILES = "exchangeBytesInFiles";
  public static final String READ_LOCALLY = "exchangeBytesReadLocally";
  public static final String READ_REMOTELY = "exchangeBytesReadRemotely";

  private final SQLMetric inMemory;
  private final SQLMetric inPlace;
  private final SQLMetric inFiles;
  private final SQLMetric readLocally;
  private final SQLMetric readRemotely;

  /** The metrics of exchanges among all metrics of a node. */
  ExchangeMetrics(scala.collection.immutable.Map<String, SQLMetric> metrics) {
    this.inMemory = metrics.apply(IN_MEMORY);
    this.inPlace = metrics.apply(IN_PLACE);
    this.inFiles = metrics.apply(IN_FILES);
    this.readLocally = metrics.apply(READ_LOCALLY);
    this.readRemotely = metrics.apply(READ_REMOTELY);
  }

  /** New metrics for a node, with the names that the UI shows. */
  public static Map<String, SQLMetric> create(SparkContext context) {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    map.put(IN_MEMORY, bytes(context, "exchange: bytes kept in memory"));
    map.put(IN_PLACE, bytes(context, "exchange: bytes of rows made in place, not copied"));
    map.put(IN_FILES, bytes(context, "exchange: bytes written to files"));
    map.put(READ_LOCALLY, bytes(context, "exchange: bytes read from this executor"));
    map.put(READ_REMOTELY, bytes(context, "exchange: bytes read from others"));
    return map;
  }

  private static SQLMetric bytes(SparkContext context, String name) {
    return SQLMetrics.createSizeMetric(context, name, -1);
  }

  /**
   * Counts an output that a task wrote.
   *
   * @param isInMemory true if the output is kept in memory, false if in files
   * @param inPlaceBytes bytes of rows that were written directly to the memory where they are kept
   */
  public void wrote(long bytes, boolean isInMemory, long inPlaceBytes) {
    (isInMemory ? inMemory : inFiles).add(bytes);
    inPlace.add(inPlaceBytes);
  }

  /**
   * Counts a partition that a task read from an output of its own executor, in memory or in a file.
   */
  public void readLocally(long bytes) {
    readLocally.add(bytes);
  }

  /** Counts a partition that a task fetched from another executor. */
  public void readRemotely(long bytes) {
    readRemotely.add(bytes);
  }
}
