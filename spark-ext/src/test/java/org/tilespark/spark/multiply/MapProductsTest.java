package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/** Programs on a product's elements are part of the product: one stage, the same bits. */
class MapProductsTest extends SparkTest {
  private static final String EXPRESSION = "sqrt(abs(v)) * 2 - v / 3";

  @Test
  void everyStrategyGivesTheBitsOfTwoStages() {
    for (ElementType type : MultiplyBlocksTest.TYPES) {
      TestProduct a = TestProduct.random(type, 31, 40, 1);
      TestProduct b = TestProduct.random(type, 40, 17, 2);
      Dataset<Row> left = a.stated(a.frame(spark, 8, 40), 8, 40);
      Dataset<Row> right = b.frame(spark, 9, 6);
      Map<String, Dataset<Row>> products = new LinkedHashMap<>();
      for (MultiplyOptions options :
          List.of(
              TestProduct.cuboid(2, 2, 1),
              TestProduct.cuboid(1, 2, 3), // sums of partial products
              MultiplyOptions.of(Map.of("strategy", "broadcast")),
              MultiplyOptions.defaults().withBlockShape(5, 4))) {
        products.put(options.toString(), MatrixBlocks.multiply(left, right, options));
      }
      products.put("gram", MatrixBlocks.gram(left));
      products.put("transposed", MatrixBlocks.transpose(MatrixBlocks.multiply(left, right)));
      products.forEach((name, product) -> assertMapped(name, product, EXPRESSION));
    }
  }

  private static void assertMapped(String name, Dataset<Row> product, String expression) {
    Dataset<Row> mapped = MatrixBlocks.map(product, expression);
    Dataset<Row> apart = product.cache();
    try {
      Map<String, List<?>> expected = TestProduct.bits(MatrixBlocks.map(apart, expression));
      apart.unpersist(true);
      assertEquals(expected, TestProduct.bits(mapped), name);
    } finally {
      apart.unpersist();
    }
    String plan = explained(mapped);
    assertTrue(plan.contains("then " + expression), name + ": " + plan);
    assertFalse(plan.contains("BlockStage matrix"), name + ": " + plan);
  }

  /** Zeros of missing blocks, without a product, are mapped as others. */
  @Test
  void zerosOfMissingBlocks() {
    int number = 0;
    for (ElementType type : MultiplyBlocksTest.TYPES) {
      TestProduct a = TestProduct.random(type, 31, 40, 1);
      Dataset<Row> left = a.stated(a.frame(spark, 8, 40), 8, 40).where("row <> 8");
      Dataset<Row> right = TestProduct.random(type, 40, 17, 2).frame(spark, 9, 6);
      for (MultiplyOptions options :
          List.of(
              TestProduct.cuboid(2, 2, 1),
              TestProduct.cuboid(4, 2, 1), // of one, all blocks of A are missing
              TestProduct.cuboid(1, 2, 3),
              MultiplyOptions.of(Map.of("strategy", "broadcast")))) {
        for (Dataset<Row> b : List.of(right, right.where("row >= 18 OR col <> 6"))) {
          if (Sampling.skips(number++, 3)) {
            continue;
          }
          Dataset<Row> product = MatrixBlocks.multiply(left, b, options.withMissing(Missing.ZERO));
          assertMapped(options.toString(), product, "v * 0.5 + 1");
          assertMapped(
              options + ", of several matrices",
              MatrixBlocks.multiply(
                  left.withColumn("sample", functions.lit(1)),
                  b.withColumn("sample", functions.lit(1)),
                  options.withMissing(Missing.ZERO)),
              "v * 0.5 + 1");
        }
      }
    }
  }

  /** The partial products of a product and of what is computed of it are the same. */
  @Test
  void partialProductsAreSharedWithTheProductItself() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 12, 90, 1);
    Dataset<Row> frame = a.frame(spark, 5, 40).repartition(4);
    Dataset<Row> product =
        MatrixBlocks.multiply(
            frame, MatrixBlocks.scale(frame, 2), TestProduct.cuboid(1, 1, 3).withTransposeB(true));
    Dataset<Row> both = product.union(MatrixBlocks.map(product, "v + 1"));
    both.collect();
    String plan = explained(both);
    String executed = plan.substring(plan.indexOf("Final Plan"), plan.indexOf("Initial Plan"));
    assertEquals(2, executed.split("MultiplyPanels", -1).length, plan); // once
    assertTrue(executed.contains("along K, then v + 1"), plan);
  }

  @Test
  void severalMapsAndTheTransposeOfOne() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 12, 9, 1);
    Dataset<Row> frame = a.frame(spark, 5, 4);
    Dataset<Row> product = MatrixBlocks.gram(frame);
    Dataset<Row> mapped =
        MatrixBlocks.scale(MatrixBlocks.transpose(MatrixBlocks.map(product, "v + 1")), 3);
    assertFalse(explained(mapped).contains("BlockStage matrix"), explained(mapped));
    TestProduct once = TestProduct.collect(product.collectAsList(), a.type(), 9, 9);
    TestProduct found = TestProduct.collect(mapped.collectAsList(), a.type(), 9, 9);
    for (int i = 0; i < 81; i++) {
      assertEquals((once.values()[i / 9 + i % 9 * 9] + 1) * 3, found.values()[i]);
    }
  }

  @Test
  void eachMatrixOfABatch() {
    Dataset<Row> frame = null;
    for (int i = 0; i < 3; i++) {
      Dataset<Row> one =
          TestProduct.random(ElementType.FLOAT32, 7, 5, i)
              .frame(spark, 3, 2)
              .withColumn("sample", functions.lit(i));
      frame = frame == null ? one : frame.union(one);
    }
    Dataset<Row> mapped = MatrixBlocks.map(MatrixBlocks.gram(frame), "v * v");
    assertFalse(explained(mapped).contains("BlockStage matrix"), explained(mapped));
    Dataset<Row> product = MatrixBlocks.gram(frame);
    for (int i = 0; i < 3; i++) {
      TestProduct once =
          TestProduct.collect(
              product.where("sample = " + i).drop("sample").collectAsList(),
              ElementType.FLOAT32,
              5,
              5);
      TestProduct found =
          TestProduct.collect(
              mapped.where("sample = " + i).drop("sample").collectAsList(),
              ElementType.FLOAT32,
              5,
              5);
      for (int j = 0; j < 25; j++) {
        float expected = (float) once.values()[j];
        assertEquals(expected * expected, (float) found.values()[j]);
      }
    }
    assertTrue(mapped.drop("sample").count() > 0, "a grouping column that nobody reads");
  }

  /** Programs that read places, or give another type, stay separate. */
  @Test
  void otherProgramsStayApart() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 12, 9, 1);
    Dataset<Row> frame = a.frame(spark, 5, 4);
    Dataset<Row> product = MatrixBlocks.gram(frame);
    for (Dataset<Row> apart :
        List.of(
            MatrixBlocks.map(product, "v + row"),
            MatrixBlocks.map(product, "v > 0"),
            MatrixBlocks.zip(product, product, "a * b"))) {
      assertTrue(explained(apart).contains("BlockStage matrix"), explained(apart));
      apart.collect();
    }
  }
}
