package org.tilespark.kernels.device.library;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class CublasEnvironmentTest {
  @Test
  void nothingThatChangesFullPrecision() {
    for (Map<String, String> environment :
        List.<Map<String, String>>of(
            Map.of(),
            Map.of("PATH", "/bin", "CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
            // tf32 is switched off, which full precision does not use.
            Map.of("NVIDIA_TF32_OVERRIDE", "0"),
            Map.of("NVIDIA_TF32_OVERRIDE", " "),
            Map.of("CUBLAS_EMULATE_SINGLE_PRECISION", "0", "CUBLAS_EMULATE_DOUBLE_PRECISION", ""),
            // These say how to emulate, not whether.
            Map.of("CUBLAS_EMULATION_STRATEGY", "eager"),
            Map.of("CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT", "23"))) {
      assertEquals(Optional.empty(), CublasEnvironment.warning(environment));
    }
  }

  @Test
  void tf32ForFloat() {
    assertEquals(
        Optional.of(
            "NVIDIA_TF32_OVERRIDE=1 in the environment overrules what is asked of cuBLAS: products"
                + " of full precision that it makes may be less exact than documented, and differ"
                + " from those of other machines; unset it for this process, or multiply with"
                + " engine OWN"),
        CublasEnvironment.warning(Map.of("NVIDIA_TF32_OVERRIDE", "1")));
  }

  /** Each variable that is on is named, and what says how it emulates. */
  @Test
  void emulation() {
    Map<String, String> environment =
        new TreeMap<>(
            Map.of(
                "CUBLAS_EMULATE_DOUBLE_PRECISION", "1",
                "CUBLAS_EMULATE_SINGLE_PRECISION", "0",
                "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT", "23",
                "CUBLAS_EMULATION_STRATEGY", "eager"));
    String start =
        "CUBLAS_EMULATE_DOUBLE_PRECISION=1, CUBLAS_EMULATION_STRATEGY=eager,"
            + " CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT=23 in the environment overrule ";
    String found = CublasEnvironment.warning(environment).orElseThrow();
    assertEquals(start, found.substring(0, start.length()));
    environment.put("CUBLAS_EMULATE_SINGLE_PRECISION", "1");
    environment.put("NVIDIA_TF32_OVERRIDE", "true");
    start =
        "NVIDIA_TF32_OVERRIDE=true, CUBLAS_EMULATE_SINGLE_PRECISION=1,"
            + " CUBLAS_EMULATE_DOUBLE_PRECISION=1, ";
    found = CublasEnvironment.warning(environment).orElseThrow();
    assertEquals(start, found.substring(0, start.length()));
  }
}
