package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.testing.DenseArray;
import org.tilespark.spark.testing.SparkTest;

/** Random numbers that follow from a seed and their places. */
class RandomMatrixTest extends SparkTest {
  private static Object[] values(long strip, ElementType type, long seed, long... extents) {
    Dataset<Row> frame =
        org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
            (org.apache.spark.sql.classic.SparkSession) spark,
            RandomMatrix.of(Shape.of(extents), strip, type, seed));
    return DenseArray.of(frame, extents).values();
  }

  @Test
  void doNotDependOnTheStrips() {
    for (long[] extents : new long[][] {{1, 1}, {7, 1}, {23, 5}}) {
      Object[] whole = values(1000, ElementType.FLOAT64, 42, extents);
      for (long strip : new long[] {1, 3}) {
        assertArrayEquals(whole, values(strip, ElementType.FLOAT64, 42, extents));
      }
      assertArrayEquals(
          Arrays.stream(whole).map(each -> (Object) ((Double) each).floatValue()).toArray(),
          values(8, ElementType.FLOAT32, 42, extents));
      assertNotEquals(
          Arrays.asList(whole), Arrays.asList(values(8, ElementType.FLOAT64, 43, extents)));
    }
  }

  @Test
  void haveTheMomentsOfANormalDistribution() {
    int count = 400_000;
    double[] sums = new double[5];
    double neighbours = 0;
    double before = 0;
    for (int i = 0; i < count; i++) {
      double value = NormalBlock.normal(7, i);
      double power = 1;
      for (int moment = 1; moment < sums.length; moment++) {
        power *= value;
        sums[moment] += power;
      }
      neighbours += value * before;
      before = value;
    }
    double error = 5 / Math.sqrt(count);
    assertEquals(0, sums[1] / count, error);
    assertEquals(1, sums[2] / count, error * Math.sqrt(2));
    assertEquals(0, sums[3] / count, error * Math.sqrt(15));
    assertEquals(3, sums[4] / count, error * Math.sqrt(96));
    assertEquals(0, neighbours / count, error);
  }

  /** Java's own generator is of the same family. */
  @Test
  void areMadeOfTheNumbersOfSplitMix64() {
    SplittableRandom random = new SplittableRandom(42);
    double first = (random.nextLong() >>> 11) * 0x1p-53;
    double second = (random.nextLong() >>> 11) * 0x1p-53;
    double radius = Math.sqrt(-2 * StrictMath.log(1 - first));
    assertEquals(radius * StrictMath.cos(2 * Math.PI * second), NormalBlock.normal(42, 0));
    assertEquals(radius * StrictMath.sin(2 * Math.PI * second), NormalBlock.normal(42, 1));
    assertTrue(Double.isFinite(NormalBlock.normal(0, Long.MAX_VALUE)));
  }
}
