package org.tilespark.kernels.host.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.multiply.Multiplier;

class HostEngineTest {
  @Test
  void autoSaysWhyItDoesWithoutOpenblas(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("libopenblas.so.0"), "no library");
    List<String> reasons = new ArrayList<>();
    try (Multiplier multiplier =
        HostEngine.AUTO.multiplier(List.of(directory), reasons::add).get()) {
      if (multiplier instanceof OpenblasMultiplier) { // this machine has one
        assertEquals(List.of(), reasons);
        return;
      }
      assertInstanceOf(HostMultiplier.class, multiplier);
      assertEquals(1, reasons.size(), reasons::toString);
      assertTrue(reasons.get(0).contains(file + " ("), reasons::toString);
    }
  }

  @Test
  void ownKernelsAreNoSubstitute() {
    List<String> reasons = new ArrayList<>();
    HostEngine.OWN.multiplier(List.of(), reasons::add).get().close();
    assertEquals(List.of(), reasons);
  }

  @Test
  void anOpenblasThatTasksCannotShareIsRefused() {
    assertEquals(Optional.empty(), LibOpenblas.refusal("libopenblas.so.0", 1, null));
    assertEquals(Optional.empty(), LibOpenblas.refusal("libopenblas.so.0", 2, "1"));
    for (int parallel : new int[] {0, 2}) { // without threads, with OpenMP
      String reason = LibOpenblas.refusal("libopenblas.so.0", parallel, "4").orElseThrow();
      assertTrue(reason.startsWith("libopenblas.so.0 is built without threads or"), reason);
      assertTrue(reason.contains("OMP_NUM_THREADS=1"), reason);
    }
  }
}
