package org.tilespark.spark.multiply.cost;

import java.util.Objects;

/**
 * What the machines that will run a multiply offer.
 *
 * @param cluster what there is
 * @param usefulTasks cuboids at most, unless memory asks for more; 1 or more
 * @param deviceBytes device memory of one task; not looked at without devices
 * @param hostBytes host memory of one task
 * @param tileBytes bytes of the tile of C that a task accumulates in, at most
 * @param broadcastBytes bytes of a side that may be broadcast; 0 to forbid it
 * @param sharedBytes device memory in which all tasks share panels, each of which then goes up
 *     once; 0 where they do not, since they are on several devices
 * @param rates how fast they move and compute
 */
public record ClusterLimits(
    ClusterFacts cluster,
    int usefulTasks,
    long deviceBytes,
    long hostBytes,
    long tileBytes,
    long broadcastBytes,
    long sharedBytes,
    Rates rates) {
  /** Checks the ranges. */
  public ClusterLimits {
    Objects.requireNonNull(rates, "rates");
    if (usefulTasks < 1
        || Math.min(Math.min(deviceBytes, hostBytes), Math.min(tileBytes, broadcastBytes)) < 0
        || sharedBytes < 0) {
      throw new IllegalArgumentException(
          "Limits of "
              + cluster
              + ", "
              + usefulTasks
              + " tasks; expected 1 or more tasks, and nothing negative");
    }
  }

  /**
   * What one second does. Costs only rank plans, so the ratios matter, not the figures.
   *
   * @param shuffle bytes through a shuffle per core
   * @param broadcast bytes collected by the driver, or sent from it
   * @param pcie bytes to or from one device
   * @param deviceFloat floating-point operations of one device on FLOAT
   * @param deviceDouble the same on DOUBLE
   * @param coreFloat floating-point operations of one core on FLOAT
   * @param coreDouble the same on DOUBLE
   * @param taskStart seconds to start one task
   */
  public record Rates(
      double shuffle,
      double broadcast,
      double pcie,
      double deviceFloat,
      double deviceDouble,
      double coreFloat,
      double coreDouble,
      double taskStart) {
    /**
     * Shuffle: 3.8 GB/s on a machine of 16 cores (docs/tuning.md). PCIe: pinned copies reach 55
     * GB/s (docs/benchmarks.md), 50 with some loss. Device: an H200's tensor and vector units run
     * at 67 TFLOP/s by its datasheet, in both types; 60 and 50 leave room for edges. The others are
     * estimates: 1 GB/s for a broadcast, 40 and 20 GFLOP/s for a core, 2 ms for a task.
     */
    public static final Rates DEFAULT =
        new Rates(3.8e9 / 16, 1e9, 50e9, 50e12, 60e12, 40e9, 20e9, 0.002);

    /** Checks that all are positive. */
    public Rates {
      for (double rate :
          new double[] {
            shuffle, broadcast, pcie, deviceFloat, deviceDouble, coreFloat, coreDouble
          }) {
        if (!(rate > 0)) {
          throw new IllegalArgumentException("A rate of " + rate + "; expected more than 0");
        }
      }
      if (!(taskStart >= 0)) {
        throw new IllegalArgumentException(
            "A task start of " + taskStart + " s; expected 0 or more");
      }
    }
  }
}
