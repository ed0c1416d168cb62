package org.tilespark.spark.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
    String expected = "expected size in bytes, with unit (b, k, m, g) (default 64m)";
    assertRefuses("99999999999g", "that is too large; " + expected);
    assertRefuses("64x", expected);
    assertRefuses("much", expected);
    assertRefuses("-5", expected);
  }

  @Test
  void sizesAndTimesNeedUnits() {
    assertRefuses(
        "64",
        "a unit is missing, as in 64m or 64b;"
            + " expected size in bytes, with unit (b, k, m, g) (default 64m)");
    assertEquals(64, read(TileSparkConf.BATCH_SIZE, "64b"));
    assertEquals(0, read(TileSparkConf.FOURIER_TASK_SIZE, "0"));
    assertEquals(Optional.empty(), read(TileSparkConf.STORE_SIZE, "auto"));
    assertEquals(Optional.of(0L), read(TileSparkConf.STORE_SIZE, "0"));
    assertThrows(InvalidInputException.class, () -> read(TileSparkConf.STORE_SIZE, "2048"));
    assertEquals(Duration.ZERO, read(TileSparkConf.AUTOTUNE_BUDGET, "0"));
    assertEquals(Duration.ofSeconds(1), read(TileSparkConf.AUTOTUNE_BUDGET, "1s"));
    InvalidInputException e =
        assertThrows(InvalidInputException.class, () -> read(TileSparkConf.AUTOTUNE_BUDGET, "100"));
    assertEquals(
        "spark.tilespark.autotune.budget is '100'; a unit is missing, as in 100ms or 100s;"
            + " expected time, with unit (ms, s) (default 100ms)",
        e.reason());
  }

  @Test
  void onlyKnownKeysWithRightValuesPass() {
    TileSparkConf.check(Map.of());
    TileSparkConf.check(
        Map.of("spark.tilespark.backend", "cpu", "spark.app.name", "x", "spark.tile", "y"));
    assertRefused(
        "spark.tilespark.bakend",
        "gpu",
        "spark.tilespark.bakend is no setting of tilespark;"
            + " did you mean 'spark.tilespark.backend'?");
    assertRefused(
        "spark.tilespark.batchSize",
        "64m",
        "spark.tilespark.batchSize is no setting of tilespark;"
            + " did you mean 'spark.tilespark.memory.batchSize'?");
    assertRefused(
        "spark.TileSpark.backend",
        "cpu",
        "spark.TileSpark.backend is no setting of tilespark;"
            + " did you mean 'spark.tilespark.backend'?");
    assertRefused(
        "spark.tilespark.memory.deviceFraction", // which only a machine with a device reads
        "2",
        "spark.tilespark.memory.deviceFraction is '2'; expected fraction, above 0 and at most 1"
            + " (default 0.8)");
  }

  private static void assertRefused(String name, String value, String why) {
    InvalidInputException e =
        assertThrows(InvalidInputException.class, () -> TileSparkConf.check(Map.of(name, value)));
    assertEquals(why, e.reason());
  }

  private static void assertRefuses(String size, String why) {
    InvalidInputException e =
        assertThrows(InvalidInputException.class, () -> read(TileSparkConf.BATCH_SIZE, size));
    assertEquals("spark.tilespark.memory.batchSize is '" + size + "'; " + why, e.reason());
  }
}
