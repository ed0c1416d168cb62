package org.tilespark.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.spark.error.InvalidInputException;

class ConfigKeyTest {
  private static <T> T read(ConfigKey<T> key, String value) {
    return key.read(Map.of(key.name(), value)::get);
  }

  @Test
  void directoriesAreSeparatedByColons() {
    ConfigKey<List<Path>> key = TileSparkConf.LIBRARY_PATH;
    assertEquals(List.of(), key.read(name -> null));
    assertEquals(List.of(Path.of("/opt/cuda/lib64")), read(key, " /opt/cuda/lib64 "));
    assertEquals(
        List.of(Path.of("/a/cublas/lib"), Path.of("/a/cufft/lib")),
        read(key, "/a/cublas/lib::/a/cufft/lib:"));
  }

  @Test
  void enginesAreNamedInAnyCase() {
    assertEquals(MultiplyEngine.AUTO, TileSparkConf.MULTIPLY_ENGINE.read(name -> null));
    assertEquals(MultiplyEngine.OWN, read(TileSparkConf.MULTIPLY_ENGINE, "own"));
    assertEquals(MultiplyEngine.CUBLAS, read(TileSparkConf.MULTIPLY_ENGINE, "cuBLAS"));
    InvalidInputException e =
        assertThrows(InvalidInputException.class, () -> read(TileSparkConf.MULTIPLY_ENGINE, "mkl"));
    assertEquals(
        "spark.tilespark.multiply.engine is 'mkl'; expected auto|own|cublas (default auto)",
        e.reason());
  }

  @Test
  void sizesThatAreTooLargeAreCalledSo() {
    assertEquals(64L << 20, read(TileSparkConf.BATCH_SIZE, "64m"));
    String expected = "expected size in bytes, with unit (k, m, g) (default 64m)";
    assertRefuses("99999999999g", "that is too large; " + expected);
    assertRefuses("64x", expected);
    assertRefuses("much", expected);
    assertRefuses("-5", expected);
  }

  private static void assertRefuses(String size, String why) {
    InvalidInputException e =
        assertThrows(InvalidInputException.class, () -> read(TileSparkConf.BATCH_SIZE, size));
    assertEquals("spark.tilespark.memory.batchSize is '" + size + "'; " + why, e.reason());
  }
}
