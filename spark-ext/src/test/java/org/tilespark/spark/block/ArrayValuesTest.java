package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;

class ArrayValuesTest {
  @Test
  void theNumbersLieInTheArray() {
    UnsafeArrayData floats = UnsafeArrayData.fromPrimitiveArray(new float[] {1, 2, 3});
    assertEquals(12, ArrayValues.memory(floats, ElementType.FLOAT32).bytes());
    assertThrows(
        AssertionError.class,
        () -> ArrayValues.memory(floats, ElementType.FLOAT64),
        "numbers of the wrong width were read behind the array's end");
  }

  @Test
  void anArrayThatWasCutShortIsRefused() {
    // It says that it has one element, and ends after its count.
    byte[] count = {1, 0, 0, 0, 0, 0, 0, 0};
    UnsafeArrayData cut = new UnsafeArrayData();
    cut.pointTo(count, Platform.BYTE_ARRAY_OFFSET, count.length);
    assertThrows(AssertionError.class, () -> ArrayValues.memory(cut, ElementType.INT8));
  }
}
