package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.SpreadRows;
import org.tilespark.spark.testing.TestProduct;

/** Products of integers, which are exact, and of integers and floating-point numbers. */
class IntegerProductsTest extends SparkTest {
  private static final MultiplyOptions OPTIONS = MultiplyOptions.defaults();
  private static final int M = 13;
  private static final int K = 40;
  private static final int N = 11;

  /**
   * Whole numbers.
   *
   * @param values row-major
   */
  private record Whole(ElementType type, int rows, int cols, long[] values) {
    static Whole random(ElementType type, int rows, int cols, long most, long seed) {
      Random random = new Random(seed);
      return new Whole(
          type, rows, cols, random.longs((long) rows * cols, -most - 1, most + 1).toArray());
    }

    long at(int row, int col) {
      return values[row * cols + col];
    }

    Dataset<Row> frame(int height, int width) {
      List<Row> blocks = new ArrayList<>();
      for (int r = 0; r < rows; r += height) {
        for (int c = 0; c < cols; c += width) {
          List<Object> cells = new ArrayList<>();
          for (int i = r; i < Math.min(rows, r + height); i++) {
            for (int j = c; j < Math.min(cols, c + width); j++) {
              cells.add(cell(at(i, j)));
            }
          }
          int h = Math.min(height, rows - r);
          blocks.add(RowFactory.create((long) r, (long) c, h, cells.size() / h, cells));
        }
      }
      StructType schema =
          new StructType()
              .add("row", DataTypes.LongType)
              .add("col", DataTypes.LongType)
              .add("rows", DataTypes.IntegerType)
              .add("cols", DataTypes.IntegerType)
              .add("values", DataTypes.createArrayType(BlockSchema.sparkType(type)));
      return SpreadRows.of(spark, blocks, schema, 3);
    }

    private Object cell(long value) {
      return switch (type) {
        case INT8 -> (byte) value;
        case INT16 -> (short) value;
        case INT32 -> (int) value;
        case INT64 -> value;
        case FLOAT32 -> (float) value;
        case FLOAT64 -> (double) value;
      };
    }

    Whole transposed() {
      long[] turned = new long[values.length];
      for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
          turned[j * rows + i] = at(i, j);
        }
      }
      return new Whole(type, cols, rows, turned);
    }
  }

  private static void assertExact(Whole a, Whole b, ElementType type, Dataset<Row> c) {
    ArrayType found = (ArrayType) c.schema().apply("values").dataType();
    assertEquals(BlockSchema.sparkType(type), found.elementType(), a.type + " x " + b.type);
    TestProduct product = TestProduct.collect(c.collectAsList(), type, a.rows, b.cols);
    for (int i = 0; i < a.rows; i++) {
      for (int j = 0; j < b.cols; j++) {
        long sum = 0;
        for (int k = 0; k < a.cols; k++) {
          sum = Math.addExact(sum, Math.multiplyExact(a.at(i, k), b.at(k, j)));
        }
        assertEquals((double) sum, product.at(i, j), a.type + " x " + b.type + " at " + i);
      }
    }
  }

  /** Every pair of types, with numbers that reach as far as the sums are exact. */
  @Test
  void pairsOfTypes() {
    int round = 0;
    for (ElementType typeA : ElementType.values()) {
      for (ElementType typeB : ElementType.values()) {
        boolean isFloat =
            typeA == ElementType.FLOAT32 || typeB == ElementType.FLOAT32
                ? isAtMostFloat(typeA) && isAtMostFloat(typeB)
                : false;
        ElementType type = isFloat ? ElementType.FLOAT32 : ElementType.FLOAT64;
        // 40 products of at most 2^17, or of 2^46, stay exact in either.
        Whole a = Whole.random(typeA, M, K, most(typeA, isFloat), 1);
        Whole b = Whole.random(typeB, K, N, most(typeB, isFloat), 2);
        boolean ta = (round & 1) != 0;
        boolean tb = (round++ & 2) != 0;
        if (Sampling.skips(typeA.ordinal() + typeB.ordinal(), 3)) {
          continue;
        }
        assertExact(
            a,
            b,
            type,
            MatrixBlocks.multiply(
                (ta ? a.transposed() : a).frame(5, 7),
                (tb ? b.transposed() : b).frame(9, 4),
                OPTIONS.withTransposeA(ta).withTransposeB(tb)));
      }
    }
  }

  private static boolean isAtMostFloat(ElementType type) {
    return type == ElementType.FLOAT32 || type == ElementType.INT8 || type == ElementType.INT16;
  }

  private static long most(ElementType type, boolean isFloat) {
    return switch (type) {
      case INT8 -> 127;
      case INT16 -> isFloat ? 500 : Short.MAX_VALUE;
      case INT32, INT64 -> 1L << 23;
      case FLOAT32, FLOAT64 -> isFloat ? 500 : 1L << 23;
    };
  }

  @Test
  void integersThatFloatDoesNotHoldAreExact() {
    Whole a = new Whole(ElementType.INT32, 1, 2, new long[] {Integer.MAX_VALUE, 1});
    Whole b = new Whole(ElementType.INT8, 2, 1, new long[] {127, -128});
    assertExact(a, b, ElementType.FLOAT64, MatrixBlocks.multiply(a.frame(1, 1), b.frame(2, 1)));
    Whole c = new Whole(ElementType.INT64, 1, 1, new long[] {1L << 53});
    Whole one = new Whole(ElementType.INT64, 1, 1, new long[] {1});
    assertExact(c, one, ElementType.FLOAT64, MatrixBlocks.multiply(c.frame(1, 1), one.frame(1, 1)));
  }

  @Test
  void gramsAndGroups() {
    for (ElementType type : List.of(ElementType.INT8, ElementType.INT32)) {
      Whole a = Whole.random(type, K, N, most(type, false), 3);
      Dataset<Row> gram = MatrixBlocks.gram(a.frame(7, 3));
      assertExact(a.transposed(), a, ElementType.FLOAT64, gram);
      Dataset<Row> frame = a.frame(7, 3);
      Dataset<Row> product = MatrixBlocks.multiply(frame, frame, OPTIONS.withTransposeA(true));
      assertTrue(explained(product).contains("A^T A"), () -> explained(product));
      assertExact(a.transposed(), a, ElementType.FLOAT64, product);
    }
    Whole left = Whole.random(ElementType.INT16, M, K, 300, 4);
    Whole right = Whole.random(ElementType.FLOAT32, K, N, 300, 5);
    Dataset<Row> grouped =
        left.frame(5, 8).selectExpr("*", "1 AS s").union(left.frame(4, 9).selectExpr("*", "2"));
    Dataset<Row> c = MatrixBlocks.multiply(grouped, right.frame(6, 6));
    for (int s = 1; s <= 2; s++) {
      assertExact(left, right, ElementType.FLOAT32, c.where("s = " + s));
    }
  }

  /** Of what the blocks hold, not of a value of each row: no expression of Spark converts them. */
  @Test
  void blocksAreConvertedWhereTheyAreRead() {
    Whole a = Whole.random(ElementType.INT8, M, K, 127, 6);
    Dataset<Row> c =
        MatrixBlocks.multiply(
            a.frame(5, 7), TestProduct.random(ElementType.FLOAT32, K, N, 7).frame(spark, 9, 4));
    String plan = explained(c);
    assertTrue(plan.contains("CAST(v AS FLOAT)"), plan);
    assertFalse(plan.contains("cast(values"), plan);
  }

  @Test
  void complexIntegersAndMissingBlocks() {
    Whole a = Whole.random(ElementType.INT32, 6, 8, 1000, 8);
    Whole b = Whole.random(ElementType.INT32, 8, 5, 1000, 9);
    Dataset<Row> left = a.frame(4, 4).selectExpr("*", "values AS imag"); // (1 + i) a
    Dataset<Row> c = MatrixBlocks.multiply(left, b.frame(3, 2));
    assertExact(a, b, ElementType.FLOAT64, c);
    assertExact(
        a, b, ElementType.FLOAT64, c.selectExpr("row", "col", "rows", "cols", "imag AS values"));
    Dataset<Row> holes = a.frame(4, 4).where("row = 0 OR col = 0");
    Whole without = new Whole(a.type, a.rows, a.cols, a.values.clone());
    for (int row = 4; row < 6; row++) {
      for (int col = 4; col < 8; col++) {
        without.values[row * 8 + col] = 0;
      }
    }
    assertExact(
        without,
        b,
        ElementType.FLOAT64,
        MatrixBlocks.multiply(holes, b.frame(3, 2), OPTIONS.withMissing(Missing.ZERO)));
    assertFails(
        () -> MatrixBlocks.multiply(holes, b.frame(3, 2)).collect(),
        "matrix A: no block holds the element at row 4, col 4");
    assertFails(
        () -> MatrixBlocks.multiply(left, b.frame(3, 2), OPTIONS.withPrecision("tf32")),
        "precision is 'tf32', the values are ARRAY<DOUBLE>");
  }
}
