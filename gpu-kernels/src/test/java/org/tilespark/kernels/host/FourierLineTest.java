package org.tilespark.kernels.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

class FourierLineTest {
  @Test
  void everyLengthBothWaysAgreesWithTheSum() {
    Random random = new Random(1);
    for (int n = 1; n <= 300; n++) {
      for (boolean byChirp : new boolean[] {false, true}) {
        for (boolean inverse : new boolean[] {false, true}) {
          FourierLine transform = new FourierLine(n, byChirp);
          double[] line = new double[2 * n + 6]; // begins in the middle
          for (int i = 0; i < line.length; i++) {
            line[i] = random.nextGaussian();
          }
          double[] expected = sum(line, 4, n, inverse);
          double[] found = line.clone();
          transform.transform(found, 4, inverse);
          double error = 0;
          double norm = 0;
          for (int i = 0; i < 2 * n; i++) {
            error += Math.pow(found[4 + i] - expected[i], 2);
            norm += expected[i] * expected[i];
          }
          double bound = 1e-14 * Math.max(1, Math.log(n) / Math.log(2));
          assertTrue(
              Math.sqrt(error / norm) < bound,
              "n " + n + ", chirp " + byChirp + ": error " + Math.sqrt(error / norm));
          for (int i : new int[] {0, 1, 2, 3, 2 * n + 4, 2 * n + 5}) {
            assertEquals(line[i], found[i], "beside the line, n " + n);
          }
        }
      }
    }
  }

  /** The sum itself, as it is written down. */
  static double[] sum(double[] line, int start, int n, boolean inverse) {
    double[] cos = new double[n];
    double[] sin = new double[n];
    for (int i = 0; i < n; i++) {
      cos[i] = Math.cos(2 * Math.PI * i / n);
      sin[i] = (inverse ? 1 : -1) * Math.sin(2 * Math.PI * i / n);
    }
    double[] out = new double[2 * n];
    for (int k = 0; k < n; k++) {
      for (int j = 0; j < n; j++) {
        int angle = (int) ((long) j * k % n);
        out[2 * k] += line[start + 2 * j] * cos[angle] - line[start + 2 * j + 1] * sin[angle];
        out[2 * k + 1] += line[start + 2 * j] * sin[angle] + line[start + 2 * j + 1] * cos[angle];
      }
    }
    return out;
  }

  @Test
  void largestPrimeFactors() {
    long[][] cases = {{1, 1}, {2, 2}, {12, 3}, {49, 7}, {217, 31}, {181, 181}, {1L << 40, 2}};
    for (long[] each : cases) {
      assertEquals(each[1], FourierLine.largestPrimeFactor(each[0]), "of " + each[0]);
    }
  }

  @Test
  void lengthsBeyondTheHeap() {
    assertThrows(IllegalArgumentException.class, () -> new FourierLine(0));
    assertThrows(IllegalArgumentException.class, () -> new FourierLine(FourierLine.MOST + 1L));
  }
}
