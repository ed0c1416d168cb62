package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PrecisionTest {
  @Test
  void nearestValues() {
    assertEquals(1f, Precision.TF32.round(1 + 0x1p-11f)); // a tie, to even
    assertEquals(1 + 0x1p-9f, Precision.TF32.round(1 + 0x1.8p-10f)); // a tie, to even
    assertEquals(1 + 0x1p-10f, Precision.TF32.round(1 + 0x1p-11f + 0x1p-23f));
    assertEquals(-2f, Precision.TF32.round(-Math.nextDown(2f))); // carries into the exponent
    assertEquals(1f, Precision.BFLOAT16.round(1 + 0x1p-8f));
    assertEquals(1 + 0x1p-7f, Precision.BFLOAT16.round(1 + 0x1p-8f + 0x1p-23f));
    assertEquals(0x1p100f, Precision.BFLOAT16.round(0x1p100f));
    assertEquals(65504f, Precision.FLOAT16.round(65519.996f));
    assertEquals(Float.POSITIVE_INFINITY, Precision.FLOAT16.round(65520f));
    assertEquals(Float.NEGATIVE_INFINITY, Precision.FLOAT16.round(-1e20f));
    assertEquals(0x1p-24f, Precision.FLOAT16.round(0x1p-24f)); // the least
    assertEquals(0f, Precision.FLOAT16.round(0x1p-25f)); // a tie, to even
    assertEquals(0x1p-24f, Precision.FLOAT16.round(0x1.1p-25f));
    assertEquals(0x1p-14f, Precision.FLOAT16.round(0x1p-14f - 0x1p-26f));
  }

  @ParameterizedTest
  @EnumSource(Precision.class)
  void infinityNanAndZerosStay(Precision precision) {
    assertEquals(Float.POSITIVE_INFINITY, precision.round(Float.POSITIVE_INFINITY));
    assertEquals(Float.NEGATIVE_INFINITY, precision.round(Float.NEGATIVE_INFINITY));
    assertTrue(Float.isNaN(precision.round(Float.NaN)));
    assertEquals(0f, precision.round(0f));
    assertEquals(-0f, precision.round(-0f));
  }

  /** Rounding twice changes nothing, and no error exceeds half a step. */
  @ParameterizedTest
  @EnumSource(Precision.class)
  void errorsAreHalfASteps(Precision precision) {
    double step =
        switch (precision) {
          case FULL -> 0;
          case TF32, FLOAT16 -> 0x1p-10;
          case BFLOAT16 -> 0x1p-7;
        };
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 100_000; i++) {
      float value = (float) Math.scalb(2 * random.nextDouble() - 1, random.nextInt(-12, 15));
      float rounded = precision.round(value);
      assertEquals(rounded, precision.round(rounded));
      double least = precision == Precision.FLOAT16 ? 0x1p-25 : 0;
      double most = Math.max(least, step / 2 * Math.abs((double) value));
      assertTrue(Math.abs((double) rounded - value) <= most, value + " became " + rounded);
    }
  }
}
