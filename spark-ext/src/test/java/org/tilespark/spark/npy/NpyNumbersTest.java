package org.tilespark.spark.npy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.HostMemory;
import org.tilespark.layout.ElementType;

class NpyNumbersTest {
  private static final long LONGS = HostMemory.ofArray(new long[0]).offset();

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
    return NpyEncoder.encode(
        ElementType.FLOAT64, to, false, new double[] {value}, LONGS, address(out), 1);
  }

  private static long encodeLong(long value, NpyType to, ByteBuffer out) {
    return NpyEncoder.encode(
        ElementType.INT64, to, false, new long[] {value}, LONGS, address(out), 1);
  }

  private static long address(ByteBuffer out) {
    return HostMemory.ofDirectBuffer(out).offset();
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
      assertEquals(-1, encodeDouble(7, to, out));
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
    long offset = HostMemory.ofArray(values).offset();
    assertEquals(
        1,
        NpyEncoder.encode(
            ElementType.FLOAT32, NpyType.FLOAT16, true, values, offset, address(out), 2));
    assertEquals(
        -1,
        NpyEncoder.encode(
            ElementType.FLOAT32, NpyType.FLOAT16, false, values, offset, address(out), 2));
  }

  @Test
  void runsFuseWholeInnerAxes() {
    BoxRuns whole = new BoxRuns(new long[] {4, 5, 6}, new long[] {1, 0, 0}, new long[] {2, 5, 6});
    assertEquals(1, whole.count());
    assertEquals(60, whole.elements());
    assertEquals(30, whole.start(0));
    BoxRuns planes = new BoxRuns(new long[] {4, 5, 6}, new long[] {1, 2, 0}, new long[] {3, 2, 6});
    assertEquals(3, planes.count());
    assertEquals(12, planes.elements());
    assertEquals(72, planes.start(1));
    BoxRuns rows = new BoxRuns(new long[] {4, 5, 6}, new long[] {1, 2, 3}, new long[] {3, 2, 2});
    assertEquals(6, rows.count());
    assertEquals(2, rows.elements());
    assertEquals(30 + 18 + 3, rows.start(1));
    assertEquals(60 + 12 + 3, rows.start(2));
  }

  @Test
  void defaultBlocksAreSomeMebibytes() {
    BlockGrid square = BlockGrid.of(null, shape(100_000, 100_000), ElementType.FLOAT32, 1, false);
    assertEquals("[1024, 1024]", java.util.Arrays.toString(square.blockShape()));
    BlockGrid tall = BlockGrid.of(null, shape(10_000, 784), ElementType.INT16, 1, false);
    assertEquals("[4096, 784]", java.util.Arrays.toString(tall.blockShape()));
    BlockGrid cube = BlockGrid.of(null, shape(1000, 1000, 1000), ElementType.FLOAT64, 1, false);
    assertEquals("[96, 96, 96]", java.util.Arrays.toString(cube.blockShape()));
    BlockGrid small = BlockGrid.of(null, shape(3, 0), ElementType.FLOAT64, 1, false);
    assertEquals(0, small.count());
    Random random = new Random(5);
    for (int i = 0; i < 200; i++) {
      long[] extents = new long[2 + i % 2];
      for (int axis = 0; axis < extents.length; axis++) {
        extents[axis] = 1 + (long) Math.pow(10, 4 * random.nextDouble());
      }
      BlockGrid grid =
          BlockGrid.of(null, org.tilespark.layout.Shape.of(extents), ElementType.INT64, 2, false);
      long bytes = 16;
      for (long extent : grid.blockShape()) {
        bytes *= extent;
      }
      assertTrue(bytes <= 8 << 20, grid.toString());
    }
  }

  private static org.tilespark.layout.Shape shape(long... extents) {
    return org.tilespark.layout.Shape.of(extents);
  }
}
