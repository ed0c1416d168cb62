package org.tilespark.kernels.host.engine;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/** The OpenBLAS of a jar that only tests have. */
final class TestOpenblas {
  private static final String IN_JAR = "/org/bytedeco/openblas/linux-x86_64/";

  /** Libraries that it needs come before it. */
  private static final List<String> FILES =
      List.of("libgcc_s.so.1", "libquadmath.so.0", "libgfortran.so.5", "libopenblas.so.0");

  private TestOpenblas() {}

  /** Writes its files to a directory; skips the test where the jar has none for this platform. */
  static void unpack(Path directory) throws IOException {
    for (String name : FILES) {
      try (InputStream file = TestOpenblas.class.getResourceAsStream(IN_JAR + name)) {
        if (file != null) {
          Files.copy(file, directory.resolve(name));
        }
      }
    }
    Assumptions.assumeTrue(
        Files.exists(directory.resolve("libopenblas.so.0")), "no OpenBLAS for this platform");
  }
}
