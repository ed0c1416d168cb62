package org.tilespark.kernels.multiply;

/** The precision in which a product of FLOAT or DOUBLE matrices is computed. */
public enum Precision {
  /**
   * Precision of the elements' type: the errors are those of a float32 sum for FLOAT and of a
   * float64 sum for DOUBLE. A device sums FLOAT in float32: a product or partial sum beyond 3.4e38
   * may make an element infinite or NaN there, although the whole sum is in range, and products
   * below 2^-149 are lost. The host computes elements that are not finite again in double.
   */
  FULL {
    @Override
    public float round(float value) {
      return value;
    }
  },
  /**
   * Inputs rounded to tf32 (10 bits of mantissa), sums in float32; FLOAT only. On devices without a
   * tf32 kernel in this jar, cuBLAS computes it and truncates instead of rounding.
   */
  TF32 {
    @Override
    public float round(float value) {
      return keep(value, 10);
    }
  },
  /** Inputs rounded to bfloat16 (7 bits of mantissa), sums in float32; FLOAT only. */
  BFLOAT16 {
    @Override
    public float round(float value) {
      return keep(value, 7);
    }
  },
  /**
   * Inputs rounded to float16 (10 bits of mantissa, values beyond 65504 become infinite), sums in
   * float32; FLOAT only.
   */
  FLOAT16 {
    @Override
    public float round(float value) {
      float size = Math.abs(value);
      if (size < HALF_NORMAL) { // float16 has steps of 2^-24 here; adding 0.5 rounds to them
        return Math.copySign(size + 0.5f - 0.5f, value);
      }
      float rounded = keep(value, 10);
      return Math.abs(rounded) > HALF_MOST
          ? Math.copySign(Float.POSITIVE_INFINITY, value)
          : rounded;
    }
  };

  /** The least normal number of float16, 2^-14. */
  private static final float HALF_NORMAL = 0x1p-14f;

  private static final float HALF_MOST = 65504;

  /** The number of this precision that is nearest to {@code value}, ties to even. */
  public abstract float round(float value);

  /** Rounds the mantissa of a number to {@code bits} bits; infinity and NaN stay what they are. */
  private static float keep(float value, int bits) {
    if (!Float.isFinite(value)) {
      return value;
    }
    int dropped = 23 - bits;
    int raw = Float.floatToRawIntBits(value);
    int odd = raw >>> dropped & 1;
    int rounded = raw + (1 << (dropped - 1)) - 1 + odd;
    return Float.intBitsToFloat(rounded & -(1 << dropped));
  }
}
