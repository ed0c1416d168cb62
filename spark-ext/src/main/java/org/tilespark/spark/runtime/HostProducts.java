package org.tilespark.spark.runtime;

import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.host.OpenblasMultiplier;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.UnsupportedRequestException;

/**
 * The multiplier for products on the CPU of this process: found when first asked for, kept until it
 * is closed. Thread-safe.
 */
final class HostProducts implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HostProducts.class);

  private final UnaryOperator<String> settings;
  private Multiplier multiplier; // guarded by this; null until asked for

  /**
   * @param settings the application's
   */
  HostProducts(UnaryOperator<String> settings) {
    this.settings = settings;
  }

  /**
   * The multiplier, which this owns.
   *
   * @throws UnsupportedRequestException if the engine that is asked for is not there
   */
  synchronized Multiplier multiplier() {
    if (multiplier == null) {
      multiplier =
          find(settings, why -> LOG.info("Products on the CPU do without OpenBLAS: {}", why))
              .orElseThrow(UnsupportedRequestException::new);
      LOG.info(
          "Products on the CPU: {}{}",
          multiplier,
          multiplier instanceof OpenblasMultiplier openblas ? " of " + openblas.library() : "");
    }
    return multiplier;
  }

  /** One for these settings, which the caller closes; or why there is none. */
  static Availability<Multiplier> find(UnaryOperator<String> settings) {
    return find(settings, why -> {});
  }

  private static Availability<Multiplier> find(
      UnaryOperator<String> settings, Consumer<String> declined) {
    return TileSparkConf.CPU_ENGINE
        .read(settings)
        .multiplier(TileSparkConf.CPU_LIBRARY_PATH.read(settings), declined);
  }

  @Override
  public synchronized void close() {
    if (multiplier != null) {
      multiplier.close();
    }
  }
}
