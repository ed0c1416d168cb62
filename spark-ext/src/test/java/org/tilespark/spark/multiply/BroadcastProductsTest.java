package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/** Products of which the smaller operand is broadcast, and the larger one stays where it is. */
class BroadcastProductsTest extends SparkTest {
  private static final MultiplyOptions BROADCAST =
      MultiplyOptions.defaults().withStrategy(Strategy.BROADCAST);

  @Test
  void broadcastLeavesTheLargerSideWhereItIs() {
    TestProduct tall = TestProduct.random(ElementType.FLOAT32, 61, 13, 80);
    TestProduct small = TestProduct.random(ElementType.FLOAT32, 13, 7, 81);
    List<Row> pieces = small.raggedBlocks(4, 82);
    with(
        MultiplyBlocksTest.SMALL_PANELS,
        () -> {
          Dataset<Row> right = small.frame(spark, pieces, 2);
          TestProduct.assertProduct(
              tall, small, MatrixBlocks.multiply(tall.frame(spark, 9, 13), right, BROADCAST));
          TestProduct.assertProduct(
              tall,
              small,
              MatrixBlocks.multiply(
                  tall.transposed().frame(spark, 13, 10),
                  small.transposed().frame(spark, 3, 5),
                  BROADCAST.withTransposeA(true).withTransposeB(true).withBlockShape(8, 4)));
          // The left one is the smaller.
          TestProduct.assertProduct(
              small.transposed(),
              tall.transposed(),
              MatrixBlocks.multiply(
                  small.transposed().frame(spark, 4, 4),
                  tall.transposed().frame(spark, 13, 6),
                  BROADCAST));
        });
    // Matrix by matrix.
    Dataset<Row> left =
        tall.frame(spark, 20, 13)
            .selectExpr("*", "'x' AS tag")
            .union(tall.frame(spark, 30, 13).selectExpr("*", "'y' AS tag"));
    Dataset<Row> right =
        small
            .frame(spark, 5, 5)
            .selectExpr("*", "'y' AS tag")
            .union(small.frame(spark, 6, 6).selectExpr("*", "'x' AS tag"));
    Dataset<Row> c = MatrixBlocks.multiply(left, right, BROADCAST);
    TestProduct.assertProduct(tall, small, c.where("tag = 'x'"));
    TestProduct.assertProduct(tall, small, c.where("tag = 'y'"));
    // What is missing of the side that is BROADCAST.
    pieces.remove(0);
    Dataset<Row> holed =
        MatrixBlocks.withExtents(small.frame(spark, pieces, 2), small.rows(), small.cols());
    assertFails(
        () -> MatrixBlocks.multiply(tall.frame(spark, 9, 13), holed, BROADCAST).collect(),
        "matrix B: no block holds the element at row 0, col 0");
    TestProduct without =
        TestProduct.collect(
            MatrixBlocks.multiply(
                    TestProduct.identity(ElementType.FLOAT32, 13).frame(spark, 5, 13),
                    holed,
                    TestProduct.cuboid(1, 1, 1).withMissing(Missing.ZERO))
                .collectAsList(),
            ElementType.FLOAT32,
            13,
            7);
    TestProduct.assertProduct(
        tall,
        without,
        MatrixBlocks.multiply(
            tall.frame(spark, 9, 13), holed, BROADCAST.withMissing(Missing.ZERO)));
    assertFails(
        () -> MatrixBlocks.gram(tall.frame(spark, 9, 9), BROADCAST).collect(),
        "a gram has one operand only");
  }

  @Test
  void broadcastBesideAnyTilingOfTheLargerSide() {
    int k = 53;
    for (ElementType type : MultiplyBlocksTest.TYPES) {
      TestProduct tall = TestProduct.random(type, 61, k, 90);
      TestProduct small = TestProduct.random(type, k, 17, 91);
      for (boolean ta : List.of(false, true)) {
        boolean tb = ta == (type == ElementType.FLOAT32);
        TestProduct storedA = ta ? tall.transposed() : tall;
        TestProduct storedB = tb ? small.transposed() : small;
        MultiplyOptions right = BROADCAST.withTransposeA(ta).withTransposeB(tb);
        // The left one is the smaller: C^T = B^T A^T.
        MultiplyOptions left = BROADCAST.withTransposeA(!tb).withTransposeB(!ta);
        Dataset<Row> regular = storedA.frame(spark, 7, 5);
        Dataset<Row> ragged = storedA.frame(spark, storedA.raggedBlocks(19, 92), 4);
        Dataset<Row> other = storedB.frame(spark, storedB.raggedBlocks(9, 93), 2);
        with(
            MultiplyBlocksTest.SMALL_PANELS,
            () -> {
              TestProduct.assertProduct(tall, small, MatrixBlocks.multiply(regular, other, right));
              TestProduct.assertProduct(
                  tall, small, MatrixBlocks.multiply(ragged, other, right.withBlockShape(9, 4)));
              TestProduct.assertProduct(
                  small.transposed(),
                  tall.transposed(),
                  MatrixBlocks.multiply(other, ragged, left.withBlockShape(6, 8)));
            });
        // Blocks are multiplied in slices.
        with(
            Map.of(TileSparkConf.MULTIPLY_TILE_SIZE.name(), "500b"),
            () ->
                TestProduct.assertProduct(
                    tall,
                    small,
                    MatrixBlocks.multiply(storedA.frame(spark, 64, 64), other, right)));
      }
    }
  }

  @Test
  void broadcastSumsBlocksOfTheResultAsStated() {
    TestProduct tall = TestProduct.random(ElementType.FLOAT32, 40, 30, 94);
    TestProduct small = TestProduct.random(ElementType.FLOAT32, 30, 9, 95);
    Dataset<Row> c =
        MatrixBlocks.multiply(
            tall.frame(spark, tall.raggedBlocks(11, 96), 3),
            small.frame(spark, 4, 4),
            BROADCAST.withBlockShape(16, 8));
    assertEquals(
        List.of("0,0", "0,8", "16,0", "16,8", "32,0", "32,8"),
        List.copyOf(TestProduct.bits(c).keySet()));
    TestProduct.assertProduct(tall, small, c);
  }

  @Test
  void broadcastSumsHaveTheSameBitsInEveryRun() {
    TestProduct tall = TestProduct.random(ElementType.FLOAT32, 48, 300, 97);
    TestProduct small = TestProduct.random(ElementType.FLOAT32, 300, 12, 98);
    List<Row> blocksA = tall.raggedBlocks(23, 99);
    List<Row> blocksB = small.raggedBlocks(17, 100);
    Map<String, List<?>> first = null;
    for (int run = 0; run < 4; run++) {
      Collections.shuffle(blocksA, new Random(run));
      Collections.shuffle(blocksB, new Random(run + 100));
      Dataset<Row> left = tall.frame(spark, blocksA, 1 + 2 * run);
      Dataset<Row> right = small.frame(spark, blocksB, 4 - run);
      Map<String, List<?>> bits =
          TestProduct.bits(MatrixBlocks.multiply(left, right, BROADCAST.withBlockShape(6, 6)));
      first = first == null ? bits : first;
      assertEquals(8 * 2, bits.size());
      assertEquals(first, bits);
    }
  }

  /** Blocks of the larger side that span K, and others; K along columns and rows. */
  @Test
  void broadcastNoticesWhatTheLargerSideLacks() {
    TestProduct tall = TestProduct.random(ElementType.FLOAT64, 24, 20, 101);
    TestProduct small = TestProduct.random(ElementType.FLOAT64, 20, 6, 102);
    Dataset<Row> right = small.frame(spark, 7, 6);
    for (int blockCols : List.of(5, 20)) {
      List<Row> blocks = tall.blocks(4, blockCols);
      List<Row> turned = tall.transposed().blocks(blockCols, 4);
      int row = 8;
      int col = 20 - blockCols;
      Dataset<Row> holed =
          tall.stated(tall.frame(spark, without(blocks, row, col), 3), 4, blockCols);
      assertFails(
          () -> MatrixBlocks.multiply(holed, right, BROADCAST).collect(),
          "matrix A: no block holds the element at row 8, col " + col,
          "cover all of 24 x 20 elements",
          "missing=zero");
      Dataset<Row> holedTurned =
          tall.transposed().stated(tall.frame(spark, without(turned, col, row), 3), blockCols, 4);
      assertFails(
          () -> MatrixBlocks.multiply(holedTurned, right, BROADCAST.withTransposeA(true)).collect(),
          "matrix A: no block holds the element at row " + col + ", col 8");
      // The same, with B as the larger one.
      assertFails(
          () ->
              MatrixBlocks.multiply(
                      right, holed, BROADCAST.withTransposeA(true).withTransposeB(true))
                  .collect(),
          "matrix B: no block holds the element at row 8, col " + col);
      TestProduct zero = tall.without(row, col, 4, blockCols);
      TestProduct.assertProduct(
          zero, small, MatrixBlocks.multiply(holed, right, BROADCAST.withMissing(Missing.ZERO)));
      List<Row> twice = new ArrayList<>(blocks);
      twice.add(without(blocks, row, col).get(3));
      for (Missing missing : Missing.values()) {
        assertFails(
            () ->
                MatrixBlocks.multiply(
                        tall.stated(tall.frame(spark, twice, 3), 4, blockCols),
                        right,
                        BROADCAST.withMissing(missing))
                    .collect(),
            "matrix A: two blocks hold the element at row",
            "keep the column that tells them apart");
      }
      // Nothing of it is there.
      Dataset<Row> none = holed.where("row < 0");
      assertFails(
          () -> MatrixBlocks.multiply(none, right, BROADCAST).collect(),
          "matrix A: no block holds the element at row ");
      TestProduct.assertProduct(
          new TestProduct(ElementType.FLOAT64, 24, 20, new double[24 * 20]),
          small,
          MatrixBlocks.multiply(none, right, BROADCAST.withMissing(Missing.ZERO)));
    }
  }

  @Test
  void broadcastNoticesWhatTheLargerSideLacksOfAGroup() {
    TestProduct tall = TestProduct.random(ElementType.FLOAT32, 24, 20, 103);
    TestProduct small = TestProduct.random(ElementType.FLOAT32, 20, 6, 104);
    Dataset<Row> right = null;
    for (String tag : List.of("x", "y", "z")) {
      Dataset<Row> each = small.frame(spark, 8, 6).selectExpr("*", "'" + tag + "' AS tag");
      right = right == null ? each : right.union(each);
    }
    Dataset<Row> rights = right;
    for (int blockCols : List.of(5, 20)) {
      List<Row> blocks = tall.blocks(4, blockCols);
      Dataset<Row> whole = tall.frame(spark, blocks, 3).selectExpr("*", "'x' AS tag");
      Dataset<Row> holed =
          tall.frame(spark, without(blocks, 8, 0), 3).selectExpr("*", "'y' AS tag");
      Dataset<Row> left = tall.stated(whole.union(holed), 4, blockCols);
      assertFails(
          () -> MatrixBlocks.multiply(left, rights.where("tag <> 'z'"), BROADCAST).collect(),
          "matrix A of tag y: no block holds the element at row 8, col 0");
      assertFails(
          () -> MatrixBlocks.multiply(left, rights.where("tag <> 'y'"), BROADCAST).collect(),
          "of tag"); // A lacks all of z, B all of y
      Dataset<Row> c = MatrixBlocks.multiply(left, rights, BROADCAST.withMissing(Missing.ZERO));
      TestProduct.assertProduct(tall, small, c.where("tag = 'x'"));
      TestProduct.assertProduct(tall.without(8, 0, 4, blockCols), small, c.where("tag = 'y'"));
      TestProduct.assertProduct(
          new TestProduct(ElementType.FLOAT32, 24, 20, new double[24 * 20]),
          small,
          c.where("tag = 'z'"));
    }
  }

  private static List<Row> without(List<Row> blocks, long row, long col) {
    List<Row> kept = new ArrayList<>(blocks);
    assertTrue(kept.removeIf(block -> block.getLong(0) == row && block.getLong(1) == col));
    return kept;
  }
}
