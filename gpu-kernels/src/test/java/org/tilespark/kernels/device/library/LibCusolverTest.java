package org.tilespark.kernels.device.library;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.launch.Availability;

class LibCusolverTest {
  @Test
  void saysWhatWasLookedForAndWhatHelps(@TempDir Path empty) {
    Availability<String> found = LibCusolver.load(List.of(empty));
    if (found.isPresent()) {
      assertTrue(found.get().startsWith("libcusolver.so.1"), found::get);
      return;
    }
    String why = found.whyNot();
    assertTrue(why.startsWith("cuSOLVER was not found (tried libcusolver.so.12 ("), why);
    assertTrue(why.contains(empty + "/libcusolver.so.11 (no such file)"), why);
    assertTrue(why.endsWith("with gpu.libraryPath or LD_LIBRARY_PATH"), why);
  }

  @Test
  void statusesHaveNvidiasNames() {
    assertEquals("CUSOLVER_STATUS_SUCCESS", LibCusolver.statusName(0));
    assertEquals("CUSOLVER_STATUS_ALLOC_FAILED", LibCusolver.statusName(2));
    assertEquals("CUSOLVER_STATUS_INTERNAL_ERROR", LibCusolver.statusName(7));
    assertEquals("an unknown status", LibCusolver.statusName(99));
  }
}
