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
}
