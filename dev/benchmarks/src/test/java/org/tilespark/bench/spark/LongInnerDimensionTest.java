package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.examples.ExampleJob;
import org.tilespark.kernels.InTurn;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;

/** Products whose operands are larger than the heap of this JVM, which is 2 GiB. */
@InTurn
class LongInnerDimensionTest {
  private static final int EXTENT = 256;
  private static final long INNER = 1_000_000;

  /** Whole numbers, so that float sums are exact and an element that is left out is seen. */
  @Test
  void operandsOfAMillionColumnsStream() throws Exception {
    GeneratedMatrix a =
        new GeneratedMatrix(EXTENT, INNER, EXTENT, 4096, ElementType.FLOAT32, Content.WHOLE, 1);
    GeneratedMatrix b =
        new GeneratedMatrix(INNER, EXTENT, 4096, EXTENT, ElementType.FLOAT32, Content.WHOLE, 2);
    long heap = Runtime.getRuntime().maxMemory();
    assertTrue(heap <= 2L << 30, "the heap has " + heap + " bytes");
    try (SparkSession spark =
        ExampleJob.session("long", Map.of("spark.tilespark.backend", "cpu"))) {
      Dataset<Row> product = MatrixBlocks.multiply(a.read(spark, 16), b.read(spark, 16));
      List<Row> blocks = product.select("row", "col", "rows", "cols", "values").collectAsList();
      float[][] found = new float[EXTENT][EXTENT];
      int elements = 0;
      for (Row block : blocks) {
        List<Float> values = block.getList(4);
        for (int i = 0; i < values.size(); i++, elements++) {
          found[(int) block.getLong(0) + i / block.getInt(3)][
                  (int) block.getLong(1) + i % block.getInt(3)] =
              values.get(i);
        }
      }
      assertEquals(EXTENT * EXTENT, elements);
      Random random = new Random(3);
      for (int sample = 0; sample < 50; sample++) {
        int i = random.nextInt(EXTENT);
        int j = random.nextInt(EXTENT);
        long sum = 0;
        for (long k = 0; k < INNER; k++) {
          sum += (long) (a.value(i, k) * b.value(k, j));
        }
        assertTrue(Math.abs(sum) < 1 << 24, "exact in float: " + sum);
        assertEquals(sum, (long) found[i][j], i + ", " + j);
      }
    }
  }
}
