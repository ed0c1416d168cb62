package org.tilespark.spark.runtime;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.panels.DevicePanels;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.transpose.Tiling;
import org.tilespark.kernels.tune.Autotuner;
import org.tilespark.kernels.tune.TuningStore;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * One device of an executor, and the resources on it.
 *
 * @param panels panels that tasks of this executor share, in memory of {@code governor}
 * @param totalBytes bytes of all memory of the device
 */
public record Gpu(
    CudaDevice device,
    DeviceTransposer transposer,
    DeviceElementwise elementwise,
    DeviceMultiplier multiplier,
    MemoryGovernor governor,
    DevicePanels panels,
    long totalBytes)
    implements AutoCloseable {
  /**
   * Opens a device; if one part fails, nothing stays open.
   *
   * @param number number of the device
   * @param conf the application's configuration
   * @throws ResourceException if the reserve leaves nothing to tasks
   */
  static Gpu open(int number, UnaryOperator<String> conf) {
    Deque<AutoCloseable> opened = new ArrayDeque<>(); // opened resources, the last one first
    try {
      CudaDevice device = CudaDevice.open(number);
      opened.push(device);
      long totalBytes = device.memoryInfo().totalBytes();
      MemoryGovernor governor = governor(totalBytes, conf);
      DeviceMultiplier multiplier = multiplier(device, conf);
      opened.push(multiplier);
      DeviceTransposer transposer = new DeviceTransposer(device, autotuner(device, conf));
      opened.push(transposer);
      DeviceElementwise elementwise = new DeviceElementwise(device);
      opened.push(elementwise);
      DevicePanels panels = new DevicePanels(device, governor);
      return new Gpu(device, transposer, elementwise, multiplier, governor, panels, totalBytes);
    } catch (Throwable failure) {
      try {
        Closing.all(List.copyOf(opened));
      } catch (Throwable second) {
        failure.addSuppressed(second);
      }
      throw failure;
    }
  }

  /** Closes all resources, each before those that it uses, and the device last. */
  @Override
  public void close() {
    Closing.all(List.of(panels, elementwise, transposer, multiplier, device));
  }

  private static DeviceMultiplier multiplier(CudaDevice device, UnaryOperator<String> conf) {
    return new DeviceMultiplier(
        device,
        TileSparkConf.MULTIPLY_ENGINE.read(conf),
        TileSparkConf.LIBRARY_PATH.read(conf),
        new DeviceMultiplier.Tuning(
            TileSparkConf.AUTOTUNE_BUDGET.read(conf),
            Optional.of(cacheDirectory(TileSparkConf.AUTOTUNE_CACHE_DIR.read(conf)))));
  }

  private static Autotuner autotuner(CudaDevice device, UnaryOperator<String> conf) {
    Duration budget = TileSparkConf.AUTOTUNE_BUDGET.read(conf);
    return new Autotuner(
        device.ownKernels(),
        Tiling.bundled(device.limits().architecture()),
        budget.isZero()
            ? Optional.empty()
            : Optional.of(
                TuningStore.ofTilings(
                    cacheDirectory(TileSparkConf.AUTOTUNE_CACHE_DIR.read(conf)),
                    device.description(),
                    device.kernels().index().hash())),
        budget);
  }

  /**
   * The directory for caches by the XDG Base Directory Specification, unless {@code configured} is
   * a path.
   */
  private static Path cacheDirectory(String configured) {
    if (!configured.isEmpty()) {
      return Path.of(configured);
    }
    String base = System.getenv("XDG_CACHE_HOME");
    return (base == null || base.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(base))
        .resolve("tilespark");
  }

  /**
   * Bytes of a device with {@code totalBytes} that all tasks together may hold; 0 if none are left.
   */
  static long limitBytes(long totalBytes, UnaryOperator<String> conf) {
    long reserve = TileSparkConf.DEVICE_RESERVE.read(conf);
    return (long) Math.max(0, TileSparkConf.DEVICE_FRACTION.read(conf) * (totalBytes - reserve));
  }

  private static MemoryGovernor governor(long totalBytes, UnaryOperator<String> conf) {
    long limit = limitBytes(totalBytes, conf);
    if (limit == 0) {
      throw new ResourceException(
          ("The device has %s bytes of memory, and %s takes %s of them: nothing is"
                  + " left for tasks. Lower it")
              .formatted(
                  totalBytes,
                  TileSparkConf.DEVICE_RESERVE.name(),
                  TileSparkConf.DEVICE_RESERVE.read(conf)));
    }
    return new MemoryGovernor(
        limit,
        new AllocationFaults(
            TileSparkConf.FAIL_EVERY_NTH_ALLOCATION.read(conf), ExecutorRuntime.FAULT_SEED),
        "Use smaller blocks, or raise %s, or lower %s"
            .formatted(
                TileSparkConf.DEVICE_FRACTION.name(), TileSparkConf.CONCURRENT_TASKS.name()));
  }
}
