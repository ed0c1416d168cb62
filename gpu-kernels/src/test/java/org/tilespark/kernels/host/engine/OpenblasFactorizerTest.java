package org.tilespark.kernels.host.engine;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.FactorizerContract;
import org.tilespark.kernels.launch.Availability;

/** The LAPACK of the OpenBLAS of a jar that only tests have. */
class OpenblasFactorizerTest extends FactorizerContract {
  private OpenblasFactorizer factorizer;

  @BeforeAll
  void unpack(@TempDir Path directory) throws IOException {
    TestOpenblas.unpack(directory);
    Availability<OpenblasFactorizer> found = OpenblasFactorizer.find(List.of(directory));
    assertTrue(found.isPresent(), found::whyNot);
    factorizer = found.get();
  }

  @Override
  protected Factorizer factorizer() {
    return factorizer;
  }

  @Test
  void saysWhoseKernelsItTook() {
    assertTrue(
        factorizer.toString().matches("cpu \\(LAPACK of OpenBLAS \\w+\\)"), factorizer::toString);
    assertTrue(factorizer.library().endsWith("libopenblas.so.0"), factorizer::library);
  }
}
