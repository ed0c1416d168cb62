package org.tilespark.kernels.factor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;

class MagnitudesTest {
  private static Magnitudes of(int rows, int cols, double... values) {
    return Magnitudes.of(rows, cols, HostMemory.ofArray(values));
  }

  @Test
  void normIsOfAllElements() {
    assertEquals(5, of(1, 2, 3, -4).norm());
    assertEquals(5, of(2, 1, 3, -4).norm());
    assertEquals(0, of(0, 3).norm());
  }

  /** Elements below 2^-400 do no harm in a column that has larger ones. */
  @Test
  void columnsDecide() {
    assertTrue(of(2, 2, 1, 0, 1e-300, 0).areModerate());
    assertTrue(of(0, 3).areModerate());
    assertFalse(of(2, 2, 1, 1e-300, 1, 1e-300).areModerate());
    assertFalse(of(2, 2, 1, 1, 1e300, 1).areModerate());
    assertFalse(of(2, 2, 1, 1, Double.NaN, 1).areModerate());
    assertTrue(of(1, 2, 0x1p-400, -0x1p400).areModerate());
  }

  @Test
  void ofSymmetricReadsTheLowerTriangle() {
    double[] a = {1, Double.NaN, -2, 3}; // [[1, -2], [-2, 3]]
    Magnitudes found = Magnitudes.ofSymmetric(2, HostMemory.ofArray(a));
    assertEquals(Math.sqrt(1 + 4 + 4 + 9), found.norm());
    assertTrue(found.areModerate());
    double[] small = {0, 7, 1, 1e-300};
    assertTrue(Magnitudes.ofSymmetric(2, HostMemory.ofArray(small)).areModerate());
    double[] apart = {1, 7, 0, 1e-300};
    assertFalse(Magnitudes.ofSymmetric(2, HostMemory.ofArray(apart)).areModerate());
  }
}
