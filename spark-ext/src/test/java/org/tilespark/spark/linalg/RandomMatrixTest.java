package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.Arrays;
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
}
