package org.tilespark.spark.runtime;

import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.host.engine.OpenblasFactorizer;
import org.tilespark.kernels.host.engine.OpenblasMultiplier;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.UnsupportedRequestException;

/**
 * The multiplier and the factorizer for the CPU of this process: each is loaded at its first use
 * and kept until this is closed. Thread-safe.
 */
final class HostProducts implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HostProducts.class);

  private final UnaryOperator<String> settings;
  // Guarded by this; null until requested.
  private Multiplier multiplier;
  private Factorizer factorizer;

  /**
   * @param settings the application's settings, by key
   */
  HostProducts(UnaryOperator<String> settings) {
    this.settings = settings;
  }

  /**
   * The multiplier, which this owns.
   *
   * @throws UnsupportedRequestException if the requested engine is not available
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

  /**
   * The factorizer, which this owns.
   *
   * @throws UnsupportedRequestException if the requested engine is not available
   */
  synchronized Factorizer factorizer() {
    if (factorizer == null) {
      factorizer =
          findFactorizer(
                  settings,
                  why -> LOG.info("Factorisations on the CPU do without OpenBLAS: {}", why))
              .orElseThrow(UnsupportedRequestException::new);
      LOG.info(
          "Factorisations on the CPU: {}{}",
          factorizer,
          factorizer instanceof OpenblasFactorizer openblas ? " of " + openblas.library() : "");
    }
    return factorizer;
  }

  /** The multiplier for these settings, which the caller closes; or why there is none. */
  static Availability<Multiplier> find(UnaryOperator<String> settings) {
    return find(settings, why -> {});
  }

  private static Availability<Multiplier> find(
      UnaryOperator<String> settings, Consumer<String> declined) {
    return TileSparkConf.CPU_ENGINE
        .read(settings)
        .multiplier(TileSparkConf.CPU_LIBRARY_PATH.read(settings), declined);
  }

  /** The factorizer for these settings, which the caller closes; or why there is none. */
  static Availability<Factorizer> findFactorizer(UnaryOperator<String> settings) {
    return findFactorizer(settings, why -> {});
  }

  private static Availability<Factorizer> findFactorizer(
      UnaryOperator<String> settings, Consumer<String> declined) {
    return TileSparkConf.CPU_ENGINE
        .read(settings)
        .factorizer(TileSparkConf.CPU_LIBRARY_PATH.read(settings), declined);
  }

  @Override
  public synchronized void close() {
    if (multiplier != null) {
      multiplier.close();
    }
    if (factorizer != null) {
      factorizer.close();
    }
  }
}
