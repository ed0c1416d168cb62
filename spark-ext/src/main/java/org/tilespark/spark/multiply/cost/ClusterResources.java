package org.tilespark.spark.multiply.cost;

import java.util.Objects;
import org.tilespark.kernels.host.HostProfile;

/**
 * The resources of a cluster for the tasks of one multiply: memory of each kind, and rates. {@link
 * ClusterSize} counts its cores, executors and devices.
 *
 * @param cluster size of the cluster
 * @param usefulTasks most tasks worth starting; a plan has more parts (cuboids, one per task) only
 *     if none with fewer fits the memory; 1 or more
 * @param deviceBytes device memory of one task; ignored without devices
 * @param hostBytes host memory of one task
 * @param tileBytes most bytes of the tile of C in which a task accumulates
 * @param broadcastBytes bytes of a side that may be broadcast; 0 to forbid it
 * @param sharedBytes device memory in which all tasks share panels, so that each is uploaded once;
 *     0 if they do not share, since they use several devices
 * @param rates rates of moving and computing
 */
public record ClusterResources(
    ClusterSize cluster,
    int usefulTasks,
    long deviceBytes,
    long hostBytes,
    long tileBytes,
    long broadcastBytes,
    long sharedBytes,
    Rates rates) {
  /** Checks the ranges. */
  public ClusterResources {
    Objects.requireNonNull(rates, "rates");
    if (usefulTasks < 1
        || Math.min(Math.min(deviceBytes, hostBytes), Math.min(tileBytes, broadcastBytes)) < 0
        || sharedBytes < 0) {
      throw new IllegalArgumentException(
          "Resources of "
              + cluster
              + ", "
              + usefulTasks
              + " tasks; expected 1 or more tasks, and nothing negative");
    }
  }

  /**
   * Rates per second. Costs only rank plans, so the ratios matter, not the figures.
   *
   * @param shuffle bytes through a shuffle per core
   * @param broadcast bytes collected by the driver, or sent from it
   * @param pcie bytes to or from one device
   * @param deviceFloat floating-point operations of one device on FLOAT
   * @param deviceDouble floating-point operations of one device on DOUBLE
   * @param coreFloat floating-point operations of one core on FLOAT
   * @param coreDouble floating-point operations of one core on DOUBLE
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
    /** Spark's shuffle: 3.8 GB/s on a machine of 16 cores (docs/tuning.md). */
    private static final double SHUFFLE_OF_SPARK = 3.8e9 / 16;

    /**
     * The exchange in memory: for 8 GiB, tasks of a 1024^3 transform took 15 s of a core to write
     * and 11 s to read, and 37 s and 22 s with Spark's shuffle (docs/benchmarks/earlier, H100).
     */
    private static final double SHUFFLE_IN_MEMORY = SHUFFLE_OF_SPARK * (37 + 22) / (15 + 11);

    /**
     * The driver collects, serializes, compresses and sends: 35 MB took 0.47 s of a core in local
     * mode, and each byte counts twice, as collected and as sent
     * (docs/benchmarks/earlier/an-exchange-1.csv).
     */
    private static final double BROADCAST = 0.15e9;

    /** Pinned copies reach 55 GB/s (docs/benchmarks/earlier), minus some loss. */
    private static final double PCIE = 50e9;

    /**
     * An H200's tensor and vector units run at 67 TFLOP/s by its datasheet, in both types; this and
     * the next rate are lower, to leave room for smaller tiles at edges.
     */
    private static final double DEVICE_FLOAT = 50e12;

    private static final double DEVICE_DOUBLE = 60e12;

    /** The driver's time for a task: 0.13 s for the 201 tasks of a 64^3 transform on 16 cores. */
    private static final double TASK_START = 0.65e-3;

    /**
     * Measured rates.
     *
     * @param inMemory true if blocks go through the exchange in memory, false for Spark's shuffle
     * @param cpu the CPU from which a core's rates are estimated: the driver's, although executors
     *     may differ
     */
    public static Rates of(boolean inMemory, HostProfile cpu) {
      return new Rates(
          inMemory ? SHUFFLE_IN_MEMORY : SHUFFLE_OF_SPARK,
          BROADCAST,
          PCIE,
          DEVICE_FLOAT,
          DEVICE_DOUBLE,
          cpu.floatProductRate(),
          cpu.doubleProductRate(),
          TASK_START);
    }

    /** Checks that rates are positive, and that {@code taskStart} is not negative. */
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
