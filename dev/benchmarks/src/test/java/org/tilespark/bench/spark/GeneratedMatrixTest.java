package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.examples.ExampleJob;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;

class GeneratedMatrixTest {
  @ParameterizedTest
  @EnumSource
  void blocksHoldTheElementsOfTheirPlaces(Content content) throws Exception {
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      GeneratedMatrix matrix = new GeneratedMatrix(23, 17, 5, 4, type, content, 7);
      try (SparkSession spark = ExampleJob.session("generated", Map.of())) {
        Dataset<Row> blocks = matrix.read(spark, 3);
        assertEquals(3, blocks.toJavaRDD().getNumPartitions());
        assertEquals(0, MatrixBlocks.validate(blocks).count());
        ArrayMetadata metadata = ArrayMetadata.of(blocks.schema().apply("values").metadata());
        assertEquals("(23, 17)", metadata.extents(2).orElseThrow().toString());
        List<Row> rows = blocks.collectAsList();
        assertEquals(25, matrix.blocks());
        assertEquals(25, rows.size());
        for (Row row : rows) {
          List<? extends Number> values = row.getList(4);
          for (int i = 0; i < values.size(); i++) {
            assertEquals(
                matrix.value(
                    row.getLong(0) + i / row.getInt(3), row.getLong(1) + i % row.getInt(3)),
                values.get(i).doubleValue());
          }
        }
      }
    }
  }

  @Test
  void elementsAreSpreadAndExactInFloat() {
    for (Content content : Content.values()) {
      GeneratedMatrix matrix =
          new GeneratedMatrix(1L << 40, 1L << 40, 1, 1, ElementType.FLOAT32, content, 1);
      double sum = 0;
      double squares = 0;
      int count = 100_000;
      for (int i = 0; i < count; i++) {
        double value = matrix.value(i * 12_345_678L, (i % 100) * 87_654_321L);
        assertEquals(value, (double) (float) value);
        sum += value;
        squares += value * value;
      }
      double mean = sum / count;
      double variance = squares / count - mean * mean;
      double expectedMean = content == Content.POSITIVE ? 0.5 : content == Content.WHOLE ? -0.5 : 0;
      double expectedVariance =
          content == Content.POSITIVE ? 1 / 12.0 : content == Content.WHOLE ? 63 / 12.0 : 1 / 3.0;
      assertEquals(expectedMean, mean, 5 * Math.sqrt(expectedVariance / count), content::name);
      assertEquals(expectedVariance, variance, 0.02 * expectedVariance, content::name);
      assertTrue(mean != expectedMean);
    }
  }

  @Test
  void otherSeedsAreOtherMatrices() {
    GeneratedMatrix a = whole(1);
    GeneratedMatrix b = whole(2);
    int equal = 0;
    for (int i = 0; i < 1000; i++) {
      equal += a.value(i, i) == b.value(i, i) ? 1 : 0;
    }
    assertTrue(equal > 60 && equal < 200, "of 1000 numbers from -4 to 3 equal: " + equal);
    assertEquals(a.value(3, 5), whole(1).value(3, 5));
    assertFalse(
        a.value(3, 5) == a.value(5, 3)
            && a.value(4, 6) == a.value(6, 4)
            && a.value(1, 2) == a.value(2, 1)
            && a.value(7, 9) == a.value(9, 7)
            && a.value(8, 9) == a.value(9, 8));
  }

  @Test
  void refusesWhatIsNoMatrix() {
    assertThrows(
        IllegalArgumentException.class,
        () -> new GeneratedMatrix(0, 1, 1, 1, ElementType.FLOAT32, Content.WHOLE, 1));
    assertThrows(
        IllegalArgumentException.class,
        () -> new GeneratedMatrix(1, 1, 1, 1, ElementType.INT32, Content.WHOLE, 1));
  }

  private static GeneratedMatrix whole(long seed) {
    return new GeneratedMatrix(1000, 1000, 10, 10, ElementType.FLOAT64, Content.WHOLE, seed);
  }
}
