package org.tilespark.spark.numpy;

/**
 * Conversions between IEEE 754 half precision and single precision, as bits. (The JDK has these
 * from 20 on.)
 */
public final class HalfFloat {
  private HalfFloat() {}

  /** The float with the value of the half {@code bits}; NaN payloads are kept. */
  public static int toFloatBits(short bits) {
    int sign = (bits & 0x8000) << 16;
    int exponent = bits >> 10 & 0x1f;
    int mantissa = bits & 0x3ff;
    if (exponent == 0x1f) {
      return sign | 0x7f800000 | mantissa << 13;
    }
    if (exponent == 0) {
      if (mantissa == 0) {
        return sign;
      }
      // Subnormal: shift the highest set bit up to the hidden place.
      int shift = Integer.numberOfLeadingZeros(mantissa) - 21;
      return sign | (113 - shift) << 23 | (mantissa << shift & 0x3ff) << 13;
    }
    return sign | (exponent + 112) << 23 | mantissa << 13;
  }

  /**
   * The half nearest to the float {@code bits}, ties to even; NaN stays NaN, with as much of its
   * payload as fits, and numbers that are too large become infinite.
   */
  public static short fromFloatBits(int bits) {
    int sign = bits >>> 16 & 0x8000;
    int magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
      int payload = magnitude >> 13 & 0x3ff;
      return (short) (sign | 0x7c00 | (payload == 0 ? 0x200 : payload));
    }
    if (magnitude >= 0x477ff000) { // a number that rounds to 65536 or more
      return (short) (sign | 0x7c00);
    }
    if (magnitude >= 0x38800000) { // normal halves, from 2^-14 on
      int rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
      return (short) (sign | (rounded - 0x38000000) >> 13);
    }
    int shift = 126 - (magnitude >> 23); // shift of the 24-bit significand to units of 2^-24
    if (shift > 24) {
      return (short) sign; // less than half of the smallest subnormal number
    }
    int significand = (magnitude & 0x7fffff) | 0x800000;
    int half = 1 << (shift - 1);
    int rounded = (significand + half - 1 + (significand >> shift & 1)) >> shift;
    return (short) (sign | rounded);
  }
}
