package org.tilespark.kernels.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RandomNumbersTest {
  /** The values are those of scipy.special.ndtri, 1.18.1. */
  @ParameterizedTest
  @CsvSource({
    "5.551115123125783e-17, -8.292361075813597",
    "1e-10, -6.361340902404056",
    "1e-05, -4.264890793922825",
    "0.001, -3.090232306167813",
    "0.0749, -1.4402382675279635",
    "0.0751, -1.4388253927525403",
    "0.25, -0.6744897501960817",
    "0.4999, -0.0002506628300880075",
    "0.5, 0.0",
    "0.7, 0.5244005127080407",
    "0.92, 1.4050715603096329",
    "0.93, 1.475791028179171",
    "0.999999, 4.753424308817087",
    "0.9999999999999999, 8.209536151601387",
    "0, -Infinity",
    "1, Infinity",
    "-0.1, NaN",
    "1.1, NaN",
    "NaN, NaN"
  })
  void quantilesOfTheNormalDistribution(double p, double expected) {
    double found = RandomNumbers.quantile(p);
    assertEquals(expected, found, Double.isFinite(expected) ? 4 * Math.ulp(expected) : 0);
    if (p < 0.5 && p > 0.001) {
      assertEquals(-found, RandomNumbers.quantile(1 - p), 1e-15 / p);
    }
  }

  /** Java's own generator is of the same family. */
  @Test
  void bitsAreThoseOfSplitMix64() {
    long seed = 42;
    assertEquals(
        new SplittableRandom(seed).nextLong(), RandomNumbers.mix(seed + RandomNumbers.STEP));
    SplittableRandom ofPlace = new SplittableRandom(RandomNumbers.mix(seed));
    for (int place = 0; place < 5; place++) {
      assertEquals(ofPlace.nextLong(), RandomNumbers.bits(seed, place));
    }
    assertNotEquals(RandomNumbers.bits(seed, 1, 2), RandomNumbers.bits(seed, 2, 1));
    assertEquals(0.0, RandomNumbers.uniform(0));
    assertEquals(1 - 0x1p-53, RandomNumbers.uniform(-1));
    assertTrue(Double.isFinite(RandomNumbers.normal(0)));
    assertTrue(Double.isFinite(RandomNumbers.normal(-1)));
  }

  /** Of a matrix, along both axes; the bounds are five standard errors. */
  @Test
  void normalNumbersHaveTheirMoments() {
    int side = 700;
    double[] sums = new double[5];
    double[] neighbours = new double[2];
    double[][] values = new double[side][side];
    for (int row = 0; row < side; row++) {
      for (int col = 0; col < side; col++) {
        double value = RandomNumbers.normal(RandomNumbers.bits(7, row, col));
        values[row][col] = value;
        double power = 1;
        for (int moment = 1; moment < sums.length; moment++) {
          power *= value;
          sums[moment] += power;
        }
        neighbours[0] += row > 0 ? value * values[row - 1][col] : 0;
        neighbours[1] += col > 0 ? value * values[row][col - 1] : 0;
      }
    }
    double count = (double) side * side;
    double error = 5 / Math.sqrt(count);
    assertEquals(0, sums[1] / count, error);
    assertEquals(1, sums[2] / count, error * Math.sqrt(2));
    assertEquals(0, sums[3] / count, error * Math.sqrt(15));
    assertEquals(3, sums[4] / count, error * Math.sqrt(96));
    assertEquals(0, neighbours[0] / count, error);
    assertEquals(0, neighbours[1] / count, error);
  }
}
