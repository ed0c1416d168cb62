package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.factor.NetlibFactorizer;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.host.engine.HostEngine;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.UnsupportedRequestException;

class HostProductsTest {
  private static UnaryOperator<String> settings(String engine, Path directory) {
    return Map.of(
            TileSparkConf.CPU_ENGINE.name(),
            engine,
            TileSparkConf.CPU_LIBRARY_PATH.name(),
            directory.toString())
        ::get;
  }

  @Test
  void ownKernelsAreKeptUntilTheEnd() {
    try (HostProducts products =
        new HostProducts(Map.of(TileSparkConf.CPU_ENGINE.name(), "own")::get)) {
      assertInstanceOf(HostMultiplier.class, products.multiplier());
      assertSame(products.multiplier(), products.multiplier());
      assertInstanceOf(NetlibFactorizer.class, products.factorizer());
      assertSame(products.factorizer(), products.factorizer());
    }
  }

  /** Whether the system has one or not: a directory without it is no reason to fail for auto. */
  @Test
  void autoServesEverywhere(@TempDir Path empty) {
    UnaryOperator<String> settings = settings("auto", empty);
    try (HostProducts products = new HostProducts(settings)) {
      assertTrue(products.multiplier().toString().startsWith("cpu ("));
      assertTrue(products.factorizer().toString().startsWith("cpu (LAPACK "));
    }
  }

  @Test
  void whatWasAskedForAndIsNotThereFails(@TempDir Path empty) {
    UnaryOperator<String> settings = settings("openblas", empty);
    try (HostProducts products = new HostProducts(settings)) {
      if (HostProducts.find(settings).isPresent()) {
        assertTrue(products.multiplier().toString().startsWith("cpu (OpenBLAS "));
        assertTrue(products.factorizer().toString().startsWith("cpu (LAPACK of OpenBLAS "));
        return;
      }
      UnsupportedRequestException thrown =
          assertThrows(UnsupportedRequestException.class, products::multiplier);
      assertThrows(UnsupportedRequestException.class, products::factorizer);
      String file = empty.resolve("libopenblas.so.0").toString();
      assertTrue(thrown.getMessage().contains("OpenBLAS was not found"), thrown::getMessage);
      assertTrue(thrown.getMessage().contains(file + " (no such file)"), thrown::getMessage);
      assertTrue(thrown.getMessage().contains("with cpu.libraryPath"), thrown::getMessage);
    }
    assertEquals(HostEngine.AUTO, TileSparkConf.CPU_ENGINE.read(name -> null));
  }
}
