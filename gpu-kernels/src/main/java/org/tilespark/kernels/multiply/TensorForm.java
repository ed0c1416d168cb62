package org.tilespark.kernels.multiply;

import java.util.List;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.layout.ElementType;

/**
 * Forms of operands for the tensor cores: the names of their kernels, the kernels that pack
 * operands, and the packed layout. Kernels for sm_90a support all forms; kernels for other devices,
 * from sm_80 on, support the rounded forms.
 */
public enum TensorForm {
  /**
   * Float values, with each value of B split into three parts, for sums with float's accuracy
   * ({@code split.cuh}). The error of an element is at most {@code 2 u sqrt(K) |A||B| + 7 K
   * 2^-149}, u = 2^-24. The second term, which is underflow of products of parts, is the smaller
   * one if {@code |a b| >= 2^-122}. Half tiles with a value in (0, 2^-100) in their rows of A or
   * columns of B, and those with an infinite or NaN sum, are computed in float arithmetic
   * afterwards, which is slower. docs/decisions/split-precision-range.md derives the bound and the
   * limit.
   */
  SPLIT("multiply_split", "pack_split", MultiplyStep.Element.BFLOAT16),
  /** Rounded to float16 ({@code tensor.cuh}, {@code mma.cuh}). */
  FLOAT16("multiply_float16", "pack_float16", MultiplyStep.Element.FLOAT16),
  /** Rounded to bfloat16, likewise. */
  BFLOAT16("multiply_bfloat16", "pack_bfloat16", MultiplyStep.Element.BFLOAT16),
  /** Rounded to tf32, likewise. */
  TF32("multiply_tf32", "pack_tf32", MultiplyStep.Element.FLOAT32),
  /** Double values as they are ({@code double.cuh}). */
  FLOAT64("multiply_double", "pack_rows", MultiplyStep.Element.FLOAT64);

  /** Steps of K of a panel if A is float and B bfloat16. */
  private static final int SPLIT_PANEL = 32;

  /**
   * Suffix of the names of kernel families that sum all of K in one chain, in which each team of a
   * thread block computes separate tiles.
   */
  private static final String CHAIN = "_chain";

  /** Prefix of the family of kernels that run on sm_80 and later. */
  static final String MMA = "multiply_mma";

  /** Prefix of the family of kernels that read operands as they are stored ({@code fused.cuh}). */
  static final String FUSED = "multiply_fused";

  /** Bytes of a row of a panel in shared memory, for forms other than {@code SPLIT}. */
  private static final int PANEL_BYTES = 128;

  private final String family;
  private final String packer;
  private final MultiplyStep.Element element;

  TensorForm(String family, String packer, MultiplyStep.Element element) {
    this.family = family;
    this.packer = packer;
    this.element = element;
  }

  /** The form in which the operands of a problem are multiplied. */
  static TensorForm of(MultiplyProblem problem) {
    if (problem.type() == ElementType.FLOAT64) {
      return FLOAT64;
    }
    return switch (problem.precision()) {
      case FULL -> SPLIT;
      case TF32 -> TF32;
      case BFLOAT16 -> BFLOAT16;
      case FLOAT16 -> FLOAT16;
    };
  }

  /**
   * The kernel families that multiply operands of this form with the storage of {@code problem};
   * those that the rule prefers first.
   */
  List<String> families(MultiplyProblem problem) {
    return switch (this) {
      case SPLIT -> List.of(problem.a().transposed() ? family + "_across" : family);
      case FLOAT64 -> {
        String ways = isExchanged(problem) ? "_tt" : ways(problem);
        yield List.of(family + CHAIN + ways, family + ways);
      }
      case FLOAT16, BFLOAT16, TF32 -> List.of(family, family.replace("multiply", MMA));
    };
  }

  /**
   * The family of the kernels that convert operands with the storage of {@code problem} to this
   * form while they read them. Not all forms have this family.
   */
  String fusedFamily(MultiplyProblem problem) {
    return family.replace("multiply", FUSED) + ways(problem);
  }

  private static String ways(MultiplyProblem problem) {
    return "_" + (problem.a().transposed() ? "t" : "n") + (problem.b().transposed() ? "t" : "n");
  }

  /**
   * True if the kernel computes C^T = op(B)^T op(A)^T: DOUBLE with A along K and B across ({@code
   * double.cuh}).
   */
  boolean isExchanged(MultiplyProblem problem) {
    return this == FLOAT64 && !problem.a().transposed() && !problem.b().transposed();
  }

  /** True if this kernel converts operands to their form while it reads them. */
  static boolean isFused(KernelIndex.Kernel kernel) {
    return kernel.family().startsWith(FUSED);
  }

  /**
   * True if this kernel sums doubles in one chain, however long K is; its teams compute separate
   * tiles.
   */
  static boolean isOneChain(KernelIndex.Kernel kernel) {
    return kernel.family().contains(CHAIN);
  }

  /**
   * The family of the kernel that packs operands into this form. For {@link #SPLIT} it packs B,
   * with K in the order in which A's K is read.
   */
  String packer(MultiplyProblem problem) {
    return this == SPLIT && !problem.a().transposed() ? packer + "_mixed" : packer;
  }

  /** The type of a value in this form; for {@link #SPLIT}, of one part of a value of B. */
  MultiplyStep.Element element() {
    return element;
  }

  /** The type of a value of A as the kernel reads it; its width is in the kernel's name. */
  MultiplyStep.Element elementOfA() {
    return this == SPLIT ? MultiplyStep.Element.FLOAT32 : element;
  }

  /** Steps of K of a panel: those that are in shared memory at once. */
  int panel() {
    return this == SPLIT ? SPLIT_PANEL : PANEL_BYTES / element.bytes();
  }

  /**
   * Split-K is used if C has fewer tiles (of 128 x 128; of 64 x 128 for doubles) than the number of
   * multiprocessors divided by this number. Forms with 128 x 64 tiles use a lower threshold: at
   * 1024 x 1024 on an H200, 64 tiles were faster than twice as many parts of K.
   */
  int fewTiles() {
    return switch (this) {
      case SPLIT, FLOAT64 -> 2;
      case FLOAT16, BFLOAT16, TF32 -> 3;
    };
  }

  /** Number of planes of packed B: one for each part into which a value is split, or one. */
  int planesOfB() {
    return this == SPLIT ? 3 : 1;
  }
}
