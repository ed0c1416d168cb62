package org.tilespark.kernels.device.library;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Environment variables that change how exactly cuBLAS computes products of full precision. cuBLAS
 * reads them itself, and no documented call overrules them: NVIDIA states that {@code
 * NVIDIA_TF32_OVERRIDE} takes precedence over any setting of a program, and documents no math mode
 * or compute type that ignores {@code CUBLAS_EMULATE_*}, not even {@code CUBLAS_PEDANTIC_MATH}. So
 * this project reports the variables. A pure function.
 *
 * <p>Source: NVIDIA, "cuBLAS" 13.0 update 2, sections 1.5 (floating-point emulation) and 2.2.11
 * ({@code cublasComputeType_t}).
 */
public final class CublasEnvironment {
  /**
   * Variable for tf32: "0" rules out tf32, which products of full precision do not use anyway; "1"
   * forces it.
   */
  private static final String TF32 = "NVIDIA_TF32_OVERRIDE";

  /** Variables for emulation: "1" has cuBLAS emulate products of FLOAT or DOUBLE. */
  private static final List<String> EMULATION =
      List.of("CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION");

  /**
   * Variables for details of the emulation; without effect unless a variable of {@link #EMULATION}
   * is on.
   */
  private static final List<String> EMULATION_DETAILS =
      List.of(
          "CUBLAS_EMULATION_STRATEGY",
          "CUBLAS_EMULATION_SPECIAL_VALUES_SUPPORT_MASK",
          "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT");

  private CublasEnvironment() {}

  /**
   * A warning to log if products of full precision by cuBLAS are not as this project documents
   * them; empty if they are.
   *
   * @param environment variables of the process, as of {@link System#getenv()}
   */
  public static Optional<String> warning(Map<String, String> environment) {
    List<String> found = new ArrayList<>();
    addIfOn(environment, TF32, found);
    int before = found.size();
    EMULATION.forEach(name -> addIfOn(environment, name, found));
    if (found.size() > before) {
      EMULATION_DETAILS.forEach(name -> addIfOn(environment, name, found));
    }
    return found.isEmpty()
        ? Optional.empty()
        : Optional.of(
            String.join(", ", found)
                + " in the environment "
                + (found.size() == 1 ? "overrules" : "overrule")
                + " what is asked of cuBLAS: products of full precision that it makes may be less"
                + " exact than documented, and differ from those of other machines; unset "
                + (found.size() == 1 ? "it" : "them")
                + " for this process, or multiply with engine OWN");
  }

  private static void addIfOn(Map<String, String> environment, String name, List<String> found) {
    String value = environment.getOrDefault(name, "").strip();
    if (!value.isEmpty() && !value.equals("0")) {
      found.add(name + "=" + value);
    }
  }
}
