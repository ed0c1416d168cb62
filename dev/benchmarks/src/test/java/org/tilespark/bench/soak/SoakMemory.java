package org.tilespark.bench.soak;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * The process's memory when nothing runs.
 *
 * @param heapBytes used after a collection
 * @param process all that is resident
 * @param aliveBytes bytes of our buffers, on the host and the device
 * @param keptBytes bytes of host memory kept for reuse
 * @param threads threads of the JVM
 * @param objects objects of the device that are not closed, by class: the few that live as long as
 *     it
 */
record SoakMemory(
    long heapBytes,
    ProcessMemory process,
    long aliveBytes,
    long keptBytes,
    int threads,
    Map<String, Integer> objects) {
  /** Tasks of a query that ended early may still be ending. */
  private static final int MOST_WAITS = 250;

  private static final long WAIT_MILLIS = 20;

  /** Looks at the process of which the least counts: the compiler's own memory comes and goes. */
  private static final int SAMPLES = 5;

  private static final long SAMPLE_MILLIS = 100;

  private static final double MIB = 1 << 20;

  static SoakMemory look() throws IOException, InterruptedException {
    ExecutorRuntime runtime = ExecutorRuntime.current();
    long alive = aliveBytes(runtime);
    System.gc();
    return new SoakMemory(
        ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
        least(),
        alive,
        runtime.keptHostBytes(),
        ManagementFactory.getThreadMXBean().getThreadCount(),
        runtime
            .gpu(TileSparkConf.BACKEND.read(TileSparkConf.session()), null)
            .map(gpu -> gpu.device().liveObjects())
            .orElse(Map.of()));
  }

  private static ProcessMemory least() throws IOException, InterruptedException {
    ProcessMemory least = ProcessMemory.look();
    for (int sample = 1; sample < SAMPLES; sample++) {
      TimeUnit.MILLISECONDS.sleep(SAMPLE_MILLIS);
      ProcessMemory next = ProcessMemory.look();
      least = next.notOfJvmBytes() < least.notOfJvmBytes() ? next : least;
    }
    return least;
  }

  /** Bytes of our buffers, once the last tasks have ended. */
  static long aliveBytes(ExecutorRuntime runtime) throws InterruptedException {
    for (int i = 0; i < MOST_WAITS && alive(runtime) > 0; i++) {
      TimeUnit.MILLISECONDS.sleep(WAIT_MILLIS);
    }
    return alive(runtime);
  }

  private static long alive(ExecutorRuntime runtime) {
    return runtime.liveArrowBytes() + runtime.liveDeviceBytes();
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "heap %.0f MiB, outside it %.0f MiB (not the JVM's %.0f), alive %d bytes, kept %.0f MiB",
        heapBytes / MIB,
        process.outsideHeapBytes() / MIB,
        process.notOfJvmBytes() / MIB,
        aliveBytes,
        keptBytes / MIB);
  }
}
