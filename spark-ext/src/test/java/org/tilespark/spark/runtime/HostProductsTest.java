package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.host.HostEngine;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.UnsupportedRequestException;

class HostProductsTest {
  @Test
  void ownKernelsAreKeptUntilTheEnd() {
    try (HostProducts products =
        new HostProducts(Map.of(TileSparkConf.CPU_ENGINE.name(), "own")::get)) {
      assertInstanceOf(HostMultiplier.class, products.multiplier());
      assertSame(products.multiplier(), products.multiplier());
    }
  }

  /** Whether the system has one or not: a directory without it is no reason to fail for auto. */
  @Test
  void autoServesEverywhere(@TempDir Path empty) {
    Map<String, String> settings =
        Map.of(
            TileSparkConf.CPU_ENGINE.name(),
            "auto",
            TileSparkConf.CPU_LIBRARY_PATH.name(),
            empty.toString());
    try (HostProducts products = new HostProducts(settings::get)) {
      assertTrue(products.multiplier().toString().startsWith("cpu ("));
    }
  }

  @Test
  void whatWasAskedForAndIsNotThereFails(@TempDir Path empty) {
    Map<String, String> settings =
        Map.of(
            TileSparkConf.CPU_ENGINE.name(),
            "openblas",
            TileSparkConf.CPU_LIBRARY_PATH.name(),
            empty.toString());
    try (HostProducts products = new HostProducts(settings::get)) {
      if (HostProducts.find(settings::get).isPresent()) {
        assertTrue(products.multiplier().toString().startsWith("cpu (OpenBLAS "));
        return;
      }
      UnsupportedRequestException thrown =
          assertThrows(UnsupportedRequestException.class, products::multiplier);
      String file = empty.resolve("libopenblas.so.0").toString();
      assertTrue(thrown.getMessage().contains("OpenBLAS was not found"), thrown::getMessage);
      assertTrue(thrown.getMessage().contains(file + " (no such file)"), thrown::getMessage);
      assertTrue(thrown.getMessage().contains("with cpu.libraryPath"), thrown::getMessage);
    }
    assertEquals(HostEngine.AUTO, TileSparkConf.CPU_ENGINE.read(name -> null));
  }
}
