package org.tilespark.spark.numpy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;

class NpyNumbersTest {
  @Test
  void everyHalfGoesThereAndBack() {
    for (int bits = 0; bits < 1 << 16; bits++) {
      int single = HalfFloat.toFloatBits((short) bits);
      assertEquals((short) bits, HalfFloat.fromFloatBits(single), Integer.toHexString(bits));
      int exponent = bits >> 10 & 0x1f;
      int mantissa = bits & 0x3ff;
      if (exponent < 31) {
        double value =
            exponent == 0 ? mantissa * 0x1p-24 : (mantissa | 0x400) * Math.pow(2, exponent - 25);
        double sign = (bits & 0x8000) == 0 ? 1 : -1;
        assertEquals(sign * value, Float.intBitsToFloat(single), 0.0);
      }
    }
  }

  @Test
  void halvesRoundToNearestEven() {
    for (int bits = 0; bits < 0x7bff; bits++) {
      float low = Float.intBitsToFloat(HalfFloat.toFloatBits((short) bits));
      float high = Float.intBitsToFloat(HalfFloat.toFloatBits((short) (bits + 1)));
      float middle = (low + high) / 2;
      int even = bits % 2 == 0 ? bits : bits + 1;
      assertEquals(even, HalfFloat.fromFloatBits(Float.floatToRawIntBits(middle)));
      assertEquals(bits, HalfFloat.fromFloatBits(Float.floatToRawIntBits(Math.nextDown(middle))));
      assertEquals(bits + 1, HalfFloat.fromFloatBits(Float.floatToRawIntBits(Math.nextUp(middle))));
    }
    assertEquals(0x7bff, HalfFloat.fromFloatBits(Float.floatToRawIntBits(65519.996f)));
    assertEquals(0x7c00, HalfFloat.fromFloatBits(Float.floatToRawIntBits(65520f)));
    assertEquals(0x7c00, HalfFloat.fromFloatBits(Float.floatToRawIntBits(Float.MAX_VALUE)));
  }

  private static long encodeDouble(double value, NpyType to, ByteBuffer out) {
    return encode(ElementType.FLOAT64, to, false, new double[] {value}, out);
  }

  private static long encodeLong(long value, NpyType to, ByteBuffer out) {
    return encode(ElementType.INT64, to, false, new long[] {value}, out);
  }

  private static long encode(
      ElementType from, NpyType to, boolean exact, Object array, ByteBuffer out) {
    return new NpyEncoder(from, to, exact)
        .encode(HostMemory.ofArray(array), HostMemory.ofDirectBuffer(out), 0);
  }

  @Test
  void doublesBecomeHalvesWithoutDoubleRounding() {
    ByteBuffer out = ByteBuffer.allocateDirect(16).order(java.nio.ByteOrder.LITTLE_ENDIAN);
    // Just above the tie between 1 and the next half; a float would round it onto the tie.
    assertEquals(-1, encodeDouble(1 + 0x1p-11 + 0x1p-40, NpyType.FLOAT16, out));
    assertEquals(0x3c01, out.getShort(0));
    assertEquals(-1, encodeDouble(1 + 0x1p-11, NpyType.FLOAT16, out));
    assertEquals(0x3c00, out.getShort(0));
    assertEquals(0, encodeDouble(1e6, NpyType.FLOAT16, out));
    assertEquals(0, encodeDouble(1e300, NpyType.FLOAT32, out));
    assertEquals(-1, encodeDouble(Double.POSITIVE_INFINITY, NpyType.FLOAT16, out));
  }

  @Test
  void integersMustBeWholeAndInRange() {
    ByteBuffer out = ByteBuffer.allocateDirect(16);
    for (NpyType to : NpyType.values()) {
      if (!to.isInteger()) {
        continue;
      }
      assertEquals(-1, encodeLong(NpyEncoder.min(to), to, out));
      assertEquals(-1, encodeLong(NpyEncoder.max(to), to, out));
      if (to != NpyType.INT64) {
        assertEquals(0, encodeLong(NpyEncoder.min(to) - 1, to, out), to.toString());
        assertEquals(0, encodeLong(NpyEncoder.max(to) + 1, to, out), to.toString());
      }
      for (double bad : new double[] {0.5, Double.NaN, Double.POSITIVE_INFINITY, 0x1p63, -1e300}) {
        assertEquals(0, encodeDouble(bad, to, out), to + " " + bad);
      }
      assertEquals(-1, encodeDouble(1, to, out));
    }
  }

  @Test
  void longsBecomeFloatsWithOneRounding() {
    Random random = new Random(3);
    ByteBuffer out = ByteBuffer.allocateDirect(16).order(java.nio.ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 1000; i++) {
      long value = random.nextLong();
      encodeLong(value, NpyType.FLOAT32, out);
      assertEquals(new BigDecimal(BigInteger.valueOf(value)).floatValue(), out.getFloat(0), 0f);
    }
  }

  @Test
  void restoredHalvesMustBeExact() {
    ByteBuffer out = ByteBuffer.allocateDirect(16);
    float[] values = {1f, 0.1f};
    assertEquals(1, encode(ElementType.FLOAT32, NpyType.FLOAT16, true, values, out));
    assertEquals(-1, encode(ElementType.FLOAT32, NpyType.FLOAT16, false, values, out));
  }
}
