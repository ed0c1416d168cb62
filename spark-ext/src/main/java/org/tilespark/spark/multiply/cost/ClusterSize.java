package org.tilespark.spark.multiply.cost;

/**
 * The size of a cluster.
 *
 * @param cores tasks that run at the same time, 1 or more
 * @param machines executors that receive a broadcast, 1 or more
 * @param devices GPUs; 0 if the CPU computes
 */
public record ClusterSize(int cores, int machines, int devices) {
  /** Checks the ranges. */
  public ClusterSize {
    if (cores < 1 || machines < 1 || devices < 0) {
      throw new IllegalArgumentException(
          ("A cluster of %s cores, %s machines, %s devices; expected 1 or more cores"
                  + " and machines")
              .formatted(cores, machines, devices));
    }
  }
}
