package org.tilespark.kernels.pointwise;

import org.tilespark.layout.ElementType;

/** PTX types of the registers that hold values; narrow integers are in 32-bit registers. */
enum PtxType {
  S32(32),
  S64(64),
  F32(32),
  F64(64);

  private final int bits;

  PtxType(int bits) {
    this.bits = bits;
  }

  static PtxType of(ElementType type) {
    return switch (type) {
      case INT8, INT16, INT32 -> S32;
      case INT64 -> S64;
      case FLOAT32 -> F32;
      case FLOAT64 -> F64;
    };
  }

  int bits() {
    return bits;
  }

  boolean isFloat() {
    return this == F32 || this == F64;
  }

  /** A number of this type as PTX writes it. */
  String literal(long numberBits) {
    return switch (this) {
      case F32 -> "0f%08X".formatted((int) numberBits);
      case F64 -> "0d%016X".formatted(numberBits);
      default -> Long.toString(numberBits);
    };
  }

  /** PTX's name of the type. */
  @Override
  public String toString() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }
}
