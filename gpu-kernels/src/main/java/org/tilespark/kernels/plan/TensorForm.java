package org.tilespark.kernels.plan;

import org.tilespark.layout.ElementType;

/**
 * In what form the tensor cores of sm_90a are given operands: what a kernel of that form is called,
 * what brings operands into the form, and how it lies.
 */
public enum TensorForm {
  /** Float values cut into parts, for sums at float's accuracy ({@code split.cuh}). */
  SPLIT("multiply_split", "pack_split", MultiplyStep.Element.FLOAT32),
  /** Rounded to float16 ({@code tensor.cuh}). */
  FLOAT16("multiply_float16", "pack_float16", MultiplyStep.Element.FLOAT16),
  /** Rounded to bfloat16. */
  BFLOAT16("multiply_bfloat16", "pack_bfloat16", MultiplyStep.Element.BFLOAT16),
  /** Rounded to tf32. */
  TF32("multiply_tf32", "pack_tf32", MultiplyStep.Element.FLOAT32),
  /** Double values as they are ({@code double.cuh}). */
  FLOAT64("multiply_double", "pack_rows", MultiplyStep.Element.FLOAT64);

  /** Bytes of a row of a panel in shared memory. */
  private static final int PANEL_BYTES = 128;

  private final String family;
  private final String packer;
  private final MultiplyStep.Element element;

  TensorForm(String family, String packer, MultiplyStep.Element element) {
    this.family = family;
    this.packer = packer;
    this.element = element;
  }

  /** The form for a problem. */
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

  /** The family of the kernels that multiply operands of this form, stored as {@code problem}'s. */
  String family(MultiplyProblem problem) {
    return this == FLOAT64
        ? family + "_" + (problem.transposeA() ? "t" : "n") + (problem.transposeB() ? "t" : "n")
        : family;
  }

  /** The family of the kernel that brings operands into this form. */
  String packer() {
    return packer;
  }

  /** A value in this form. */
  MultiplyStep.Element element() {
    return element;
  }

  /** Steps of K that lie in shared memory at once. */
  int panel() {
    return PANEL_BYTES / element.bytes();
  }

  /** Copies of B that lie one behind the other, each of other parts of its values. */
  int planesOfB() {
    return this == SPLIT ? 2 : 1;
  }
}
