package org.tilespark.kernels.factor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;

class FactorChecksTest {
  private static String refusal(Runnable check) {
    return assertThrows(RefusedException.class, check::run).getMessage();
  }

  @Test
  void refusesWhatIsTooFarOff() {
    double[] x = {1, 2};
    FactorChecks.requireNear("factors", x, new double[] {1, 2 + 1e-9}, 1.1e-9);
    String far = refusal(() -> FactorChecks.requireNear("factors", x, new double[] {1, 3}, 0.5));
    assertEquals("cuSOLVER's factors err by 1.00; expected up to 0.500", far);
    double[] nan = {1, Double.NaN};
    assertTrue(refusal(() -> FactorChecks.requireNear("factors", x, nan, 9)).contains("NaN"));
  }

  @Test
  void singularValuesHaveTheNormOfTheMatrix() {
    HostMemory values = HostMemory.ofArray(new double[] {3, 4});
    FactorChecks.requireNorm("values", values, 5, 2);
    refusal(() -> FactorChecks.requireNorm("values", values, 5 + 1e-12, 2));
    refusal(() -> FactorChecks.requireFinite("values", new double[] {0, 1 / 0.0}));
  }

  @Test
  void magnitudesAreInRange() {
    HostMemory moderate = HostMemory.ofArray(new double[] {3, 0, 4, 0});
    assertEquals(5, FactorChecks.moderate(Magnitudes.of(2, 2, moderate)));
    HostMemory large = HostMemory.ofArray(new double[] {1e200});
    assertTrue(refusal(() -> FactorChecks.moderate(Magnitudes.of(1, 1, large))).contains("2^400"));
  }

  /** Each call gives one vector, and products with the upper part alone. */
  @Test
  void products() {
    assertArrayEquals(FactorChecks.random(5), FactorChecks.random(5));
    HostMemory r = HostMemory.ofArray(new double[] {1, 2, 3, 99, 4, 5});
    assertArrayEquals(
        new double[] {14, 23}, FactorChecks.upperTimes(2, 3, r, new double[] {1, 2, 3}));
  }
}
