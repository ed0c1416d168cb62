package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/** Products of block matrices, against sums that carry their rounding errors along. */
class MultiplyBlocksTest extends SparkTest {
  private static final MultiplyOptions OPTIONS = MultiplyOptions.defaults();

  /** Panels of a few elements, so that small matrices go through many. */
  static final Map<String, String> SMALL_PANELS = Map.of(TileSparkConf.BATCH_SIZE.name(), "1k");

  static final List<ElementType> TYPES = List.of(ElementType.FLOAT32, ElementType.FLOAT64);

  @Test
  void allTransposesOfRaggedAndMismatchedTilings() {
    allTransposesOfRaggedAndMismatchedTilings(3);
  }

  @Test
  @Tag("full")
  void allTransposesAndStrategiesOfRaggedAndMismatchedTilings() {
    allTransposesOfRaggedAndMismatchedTilings(1);
  }

  /** Every {@code step}-th product, of types, transposes, tilings and strategies. */
  private void allTransposesOfRaggedAndMismatchedTilings(int step) {
    List<Strategy> strategies =
        List.of(Strategy.AUTO, new Strategy.Cuboid(3, 2, 1), new Strategy.Cuboid(2, 1, 3));
    int round = 0;
    int m = 37;
    int k = 53;
    int n = 29;
    for (ElementType type : TYPES) {
      TestProduct a = TestProduct.random(type, m, k, 1);
      TestProduct b = TestProduct.random(type, k, n, 2);
      for (boolean ta : List.of(false, true)) {
        for (boolean tb : List.of(false, true)) {
          TestProduct storedA = ta ? a.transposed() : a;
          TestProduct storedB = tb ? b.transposed() : b;
          MultiplyOptions options = OPTIONS.withTransposeA(ta).withTransposeB(tb);
          List<Dataset<Row>> lefts =
              List.of(
                  storedA.frame(spark, 7, 5), storedA.frame(spark, storedA.raggedBlocks(11, 3), 4));
          List<Dataset<Row>> rights =
              List.of(
                  storedB.frame(spark, 6, 8), storedB.frame(spark, storedB.raggedBlocks(9, 4), 2));
          for (int i = 0; i < 2; i++) {
            Dataset<Row> left = lefts.get(i);
            Dataset<Row> right = rights.get(i);
            for (int s = round++ % step; s < strategies.size(); s += step) {
              MultiplyOptions chosen = options.withStrategy(strategies.get(s));
              with(
                  SMALL_PANELS,
                  () ->
                      TestProduct.assertProduct(a, b, MatrixBlocks.multiply(left, right, chosen)));
            }
          }
        }
      }
    }
  }

  @Test
  void thinExtents() {
    for (int[] extents :
        new int[][] {
          {1, 31, 17}, {17, 31, 1}, {13, 1, 11}, {1, 1, 1}, {1, 64, 1}, {31, 2, 1}, {101, 103, 2}
        }) {
      TestProduct a = TestProduct.random(ElementType.FLOAT64, extents[0], extents[1], 5);
      TestProduct b = TestProduct.random(ElementType.FLOAT64, extents[1], extents[2], 6);
      TestProduct.assertProduct(
          a, b, MatrixBlocks.multiply(a.frame(spark, 4, 3), b.frame(spark, 5, 2)));
    }
  }

  /** Panels with odd rows of 256 elements and more have a leading dimension of their own. */
  @Test
  void rowsOfPanelsArePadded() {
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      TestProduct a = TestProduct.random(type, 257, 301, 200);
      TestProduct b = TestProduct.random(type, 301, 259, 201);
      for (int which = 0; which < 4; which++) {
        boolean ta = (which & 1) != 0;
        boolean tb = (which & 2) != 0;
        Dataset<Row> left = (ta ? a.transposed() : a).frame(spark, 64, 100);
        Dataset<Row> right = (tb ? b.transposed() : b).frame(spark, 301, 259);
        MultiplyOptions options = TestProduct.cuboid(1, 1, 1).withTransposeA(ta).withTransposeB(tb);
        TestProduct.assertProduct(a, b, MatrixBlocks.multiply(left, right, options));
      }
      List<Row> blocks = a.blocks(64, 100);
      blocks.remove(5); // row 64, col 100
      TestProduct.assertProduct(
          a.without(64, 100, 64, 100),
          b,
          MatrixBlocks.multiply(
              a.frame(spark, blocks, 2),
              b.frame(spark, 100, 259),
              TestProduct.cuboid(1, 1, 1).withMissing(Missing.ZERO)));
    }
  }

  /** A device writes these blocks where they go: to rows, to an exchange of parts, to the cache. */
  @Test
  void blocksOfLongRows() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 150, 60, 31);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 60, 500, 32);
    Dataset<Row> left = a.frame(spark, 64, 40);
    Dataset<Row> right = b.frame(spark, 40, 128);
    for (Strategy strategy :
        List.of(new Strategy.Cuboid(2, 2, 1), new Strategy.Cuboid(1, 2, 2), Strategy.BROADCAST)) {
      MultiplyOptions options = OPTIONS.withBlockShape(40, 150).withStrategy(strategy);
      TestProduct.assertProduct(a, b, MatrixBlocks.multiply(left, right, options));
      Dataset<Row> kept = MatrixBlocks.multiply(left, right, options).cache();
      for (int read = 0; read < 2; read++) {
        TestProduct.assertProduct(a, b, kept);
      }
      kept.unpersist(true);
      Dataset<Row> next = MatrixBlocks.map(MatrixBlocks.multiply(left, right, options), "v * 1.0");
      TestProduct.assertProduct(a, b, next);
    }
  }

  @Test
  void runsInEveryMode() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 20, 24, 7);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 24, 18, 8);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () ->
              TestProduct.assertProduct(
                  a,
                  b,
                  MatrixBlocks.multiply(
                      a.frame(spark, 6, 6), b.frame(spark, 6, 6), TestProduct.cuboid(2, 2, 2))));
    }
  }

  @Test
  void nanAndInfinityPropagate() {
    TestProduct a =
        TestProduct.random(ElementType.FLOAT32, 6, 9, 9)
            .with(0, 3, Double.NaN)
            .with(1, 2, Double.POSITIVE_INFINITY)
            .with(2, 0, Double.POSITIVE_INFINITY)
            .with(2, 8, Double.NEGATIVE_INFINITY)
            .with(3, 4, 0)
            .with(5, 5, Double.POSITIVE_INFINITY);
    TestProduct b =
        TestProduct.random(ElementType.FLOAT32, 9, 5, 10)
            .with(4, 1, Double.POSITIVE_INFINITY)
            .with(5, 2, 0);
    for (int r = 1; r <= 3; r++) {
      Dataset<Row> c =
          MatrixBlocks.multiply(
              a.frame(spark, 2, 3), b.frame(spark, 4, 2), TestProduct.cuboid(2, 1, r));
      TestProduct.assertProduct(a, b, c);
    }
  }

  @Test
  void missingBlocksAreNamedOrZero() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 12, 20, 11);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 20, 8, 12);
    List<Row> blocksA = a.blocks(4, 5);
    List<Row> blocksB = b.blocks(4, 4);
    Row lost = blocksA.remove(6); // row 4, col 10
    assertEquals(10L, lost.getLong(1));
    Dataset<Row> left = a.frame(spark, blocksA, 2);
    Dataset<Row> right = b.frame(spark, blocksB, 2);
    assertFails(
        () -> MatrixBlocks.multiply(left, right).collect(),
        "MatrixBlocks.multiply: matrix A: no block holds the element at row 4, col 10",
        "cover all of 12 x 20 elements",
        "missing=zero");
    TestProduct zeroA = a.without(4, 10, 4, 5);
    for (Strategy strategy : List.of(Strategy.AUTO, new Strategy.Cuboid(3, 2, 4))) {
      MultiplyOptions zero = OPTIONS.withMissing(Missing.ZERO).withStrategy(strategy);
      TestProduct.assertProduct(zeroA, b, MatrixBlocks.multiply(left, right, zero));
      // Infinity times a missing block is 0.
      TestProduct infinite = b.with(12, 3, Double.POSITIVE_INFINITY);
      Dataset<Row> c = MatrixBlocks.multiply(left, infinite.frame(spark, 4, 4), zero);
      TestProduct found = TestProduct.collect(c.collectAsList(), ElementType.FLOAT64, 12, 8);
      for (int i = 0; i < 12; i++) {
        boolean missing = i >= 4 && i < 8;
        assertEquals(!missing, Double.isInfinite(found.at(i, 3)), "row " + i);
      }
    }
  }

  @Test
  void emptyInputs() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 6, 4, 13);
    Dataset<Row> some = a.frame(spark, 2, 2);
    Dataset<Row> none = some.where("row < 0");
    assertEquals(0, MatrixBlocks.multiply(none, none).count());
    assertFails(
        () -> MatrixBlocks.multiply(some, none),
        "the inner extents differ: A is 6 x 4, B is 0 x 0");
    Dataset<Row> stated = MatrixBlocks.withExtents(none, 4, 3);
    assertFails(
        () -> MatrixBlocks.multiply(some, stated).collect(),
        "matrix B: no block holds the element at row 0, col 0");
    TestProduct zeros = new TestProduct(ElementType.FLOAT32, 4, 3, new double[12]);
    for (int r = 1; r <= 2; r++) {
      TestProduct.assertProduct(
          a,
          zeros,
          MatrixBlocks.multiply(
              some, stated, TestProduct.cuboid(2, 1, r).withMissing(Missing.ZERO)));
    }
    // K = 0: a sum of nothing.
    Dataset<Row> c =
        MatrixBlocks.multiply(
            MatrixBlocks.withExtents(none, 5, 0), MatrixBlocks.withExtents(none, 0, 7));
    TestProduct found = TestProduct.collect(c.collectAsList(), ElementType.FLOAT32, 5, 7);
    for (double value : found.values()) {
      assertEquals(0.0, value);
    }
  }

  @Test
  void overlapsAreNamed() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 8, 8, 14);
    List<Row> blocks = a.blocks(4, 4);
    blocks.add(a.blocks(4, 4).get(3));
    assertFails(
        () -> MatrixBlocks.multiply(a.frame(spark, blocks, 2), a.frame(spark, 3, 3)).collect(),
        "matrix A: block at row 4, col 4",
        "overlaps another one at row 4, col 4",
        "keep the column that tells them apart");
  }

  @Test
  void badBlocksAreNamed() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 8, 8, 15);
    List<Row> blocks = a.blocks(4, 4);
    blocks.set(1, RowFactory.create(0L, 4L, 4, 4, List.of(1f, 2f)));
    assertFails(
        () -> MatrixBlocks.multiply(a.frame(spark, 3, 3), a.frame(spark, blocks, 2)).collect(),
        "block at row 0, col 4",
        "values has 2 elements",
        "MatrixBlocks.multiply, matrix B");
    Dataset<Row> stale = MatrixBlocks.withExtents(a.frame(spark, 4, 4), 8, 6);
    Dataset<Row> right = TestProduct.random(ElementType.FLOAT32, 6, 8, 16).frame(spark, 4, 4);
    assertFails(
        () -> MatrixBlocks.multiply(stale, right).collect(), "ends at col 8", "withExtents");
  }

  @Test
  void operandsThatDoNotFit() {
    Dataset<Row> a = TestProduct.random(ElementType.FLOAT32, 4, 6, 17).frame(spark, 2, 2);
    Dataset<Row> b = TestProduct.random(ElementType.FLOAT32, 5, 3, 18).frame(spark, 2, 2);
    assertFails(
        () -> MatrixBlocks.multiply(a, b),
        "the inner extents differ: A is 4 x 6, B is 5 x 3",
        "withExtents");
    assertFails(
        () -> MatrixBlocks.multiply(a, b, OPTIONS.withTransposeB(true)),
        "A is 4 x 6, B transposed is 3 x 5");
    assertFails(
        () ->
            MatrixBlocks.multiply(
                a.selectExpr("row", "col", "rows", "cols", "CAST(values AS ARRAY<STRING>) values"),
                b),
        "matrix A",
        "ARRAY<STRING>");
    assertFails(
        () ->
            MatrixBlocks.multiply(a.selectExpr("*", "1 AS sample"), b.selectExpr("*", "1 AS run")),
        "or on one side alone",
        "A has (sample INT), B has (run INT)");
    assertFails(
        () -> MatrixBlocks.multiply(a.selectExpr("*", "1.0F AS x"), b.selectExpr("*", "1.0F AS x")),
        "further column x is FLOAT");
    assertFails(
        () ->
            MatrixBlocks.multiply(
                    a, a, OPTIONS.withTransposeB(true).withStrategy(new Strategy.Cuboid(5, 1, 1)))
                .collect(),
        "cuboid(5,1,1)");
  }

  @Test
  void groupsMultiplyMatrixByMatrix() {
    List<TestProduct> as = new ArrayList<>();
    List<TestProduct> bs = new ArrayList<>();
    Dataset<Row> left = null;
    Dataset<Row> right = null;
    for (int g = 0; g < 5; g++) {
      TestProduct a = TestProduct.random(ElementType.FLOAT32, 9, 14, 20 + g);
      TestProduct b = TestProduct.random(ElementType.FLOAT32, 14, 6, 30 + g);
      as.add(a);
      bs.add(b);
      String key = g == 4 ? "CAST(NULL AS STRING) AS sample" : "'s" + g + "' AS sample";
      Dataset<Row> ga = a.frame(spark, 4, 5).selectExpr("*", key, "1L AS run");
      Dataset<Row> gb =
          b.frame(spark, 3, 4).selectExpr("1L AS run", key, "values", "cols", "rows", "col", "row");
      left = left == null ? ga : left.union(ga);
      right = right == null ? gb : right.union(gb);
    }
    for (Strategy strategy : List.of(Strategy.AUTO, new Strategy.Cuboid(2, 2, 3))) {
      Dataset<Row> c = MatrixBlocks.multiply(left, right, OPTIONS.withStrategy(strategy));
      assertEquals(
          List.of("row", "col", "rows", "cols", "values", "sample", "run"), List.of(c.columns()));
      for (int g = 0; g < 5; g++) {
        TestProduct.assertProduct(
            as.get(g), bs.get(g), c.where(g == 4 ? "sample IS NULL" : "sample = 's" + g + "'"));
      }
    }
    Dataset<Row> halfRight = right.where("sample <> 's2' OR sample IS NULL");
    Dataset<Row> allLeft = left;
    assertFails(
        () -> MatrixBlocks.multiply(allLeft, halfRight).collect(),
        "matrix B of sample s2, run 1: no block holds");
  }

  @Test
  void wholeRangesOfKMissingInAllGroupsAreNoticed() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 4, 8, 40);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 8, 4, 41);
    Dataset<Row> left =
        MatrixBlocks.withExtents(
            a.frame(spark, 4, 4).where("col = 0").selectExpr("*", "1 AS sample"), 4, 8);
    Dataset<Row> right =
        MatrixBlocks.withExtents(
            b.frame(spark, 4, 4).where("row = 0").selectExpr("*", "1 AS sample"), 8, 4);
    assertFails(
        () -> MatrixBlocks.multiply(left, right, TestProduct.cuboid(1, 1, 2)).collect(),
        "of the result of sample 1 lacks what the inner dimension gives from 4 to 8",
        "blocks of both A and B are missing");
  }

  @Test
  void sumsHaveTheSameBitsInEveryRun() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 24, 120, 50);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 120, 24, 51);
    List<Row> blocksA = a.raggedBlocks(13, 1);
    List<Row> blocksB = b.raggedBlocks(17, 2);
    for (MultiplyOptions options :
        List.of(
            TestProduct.cuboid(2, 1, 5), TestProduct.cuboid(2, 1, 5).withMissing(Missing.ZERO))) {
      Map<String, List<?>> first = null;
      for (int run = 0; run < 4; run++) {
        Collections.shuffle(blocksA, new Random(run));
        Collections.shuffle(blocksB, new Random(run + 100));
        Dataset<Row> left = a.frame(spark, blocksA, 1 + run);
        Dataset<Row> right = b.frame(spark, blocksB, 4 - run);
        Map<String, List<?>> bits =
            TestProduct.bits(MatrixBlocks.multiply(left, right, options.withBlockShape(6, 6)));
        if (first == null) {
          first = bits;
          assertTrue(bits.size() >= 16);
        }
        assertEquals(first, bits);
      }
    }
  }

  @Test
  void gramIsHalfComputedAndExactlySymmetric() {
    for (ElementType type : TYPES) {
      TestProduct a = TestProduct.random(type, 41, 23, 60);
      for (Strategy strategy :
          List.of(Strategy.AUTO, new Strategy.Cuboid(3, 3, 1), new Strategy.Cuboid(2, 2, 3))) {
        with(
            SMALL_PANELS,
            () -> {
              Dataset<Row> c =
                  MatrixBlocks.gram(
                      a.frame(spark, a.raggedBlocks(9, 5), 3), OPTIONS.withStrategy(strategy));
              TestProduct.assertProduct(a.transposed(), a, c);
              TestProduct found = TestProduct.collect(c.collectAsList(), type, 23, 23);
              assertTrue(java.util.Arrays.equals(found.values(), found.transposed().values()));
            });
      }
    }
    assertFails(
        () ->
            MatrixBlocks.gram(
                    TestProduct.random(ElementType.FLOAT32, 4, 4, 1).frame(spark, 2, 2),
                    TestProduct.cuboid(2, 1, 1))
                .collect(),
        "expected P = Q");
  }

  /** Blocks far out: K of 2^33, along rows and along columns, and all but a few of them missing. */
  @Test
  void placesBeyondTwoToThePowerOf31() {
    long k = 1L << 33;
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 3, 12, 110);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 12, 2, 111);
    // Columns of A, and rows of B: 4 of 12 at each of three places.
    long[] places = {5, (1L << 31) - 2, k - 4};
    List<Row> blocksA = new ArrayList<>();
    List<Row> blocksB = new ArrayList<>();
    for (Row block : a.blocks(3, 4)) {
      int third = (int) block.getLong(1) / 4;
      blocksA.add(RowFactory.create(0L, places[third], 3, 4, block.get(4)));
    }
    for (Row block : b.blocks(2, 2)) {
      int row = (int) block.getLong(0);
      blocksB.add(RowFactory.create(places[row / 4] + row % 4, 0L, 2, 2, block.get(4)));
    }
    Dataset<Row> left = MatrixBlocks.withExtents(a.frame(spark, blocksA, 2), 3, k);
    Dataset<Row> right = MatrixBlocks.withExtents(b.frame(spark, blocksB, 2), k, 2);
    for (Strategy strategy :
        List.of(Strategy.AUTO, new Strategy.Cuboid(2, 1, 5), new Strategy.Cuboid(1, 1, 1))) {
      MultiplyOptions zero = OPTIONS.withMissing(Missing.ZERO).withStrategy(strategy);
      TestProduct.assertProduct(a, b, MatrixBlocks.multiply(left, right, zero));
      TestProduct.assertProduct(
          b.transposed(),
          a.transposed(),
          MatrixBlocks.multiply(
              right,
              left,
              zero.withStrategy(Strategy.AUTO).withTransposeA(true).withTransposeB(true)));
    }
    assertFails(
        () ->
            MatrixBlocks.multiply(
                    MatrixBlocks.withExtents(left.where("col > 5"), 3, k),
                    MatrixBlocks.withExtents(right.where("row > 5"), k, 2),
                    TestProduct.cuboid(1, 1, 1))
                .collect(),
        "no block holds the element at row 0, col 0");
  }

  /** Nobody plans tasks for a hole of 10^9 rows or columns, unless it is to be zeros. */
  @Test
  void blocksBeyondAHoleAreNamed() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 8, 6, 113);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 6, 4, 114);
    Dataset<Row> right = b.frame(spark, 3, 4);
    Dataset<Row> far = a.frame(spark, farOut(a.blocks(4, 6), 0, 4), 2);
    for (Strategy strategy :
        List.of(Strategy.AUTO, Strategy.BROADCAST, new Strategy.Cuboid(2, 1, 1))) {
      assertFails(
          () -> MatrixBlocks.multiply(far, right, OPTIONS.withStrategy(strategy)),
          "block at row 1000000004, col 0: it ends at row 1000000008; an array that reaches as far"
              + " as the blocks has 6000000048 elements, of which the blocks hold 48 at most");
    }
    assertFails(
        () -> MatrixBlocks.multiply(right, far, OPTIONS.withTransposeB(true)),
        "(in MatrixBlocks.multiply)");
    Dataset<Row> wide = a.frame(spark, farOut(a.blocks(8, 3), 1, 3), 2);
    assertFails(() -> MatrixBlocks.gram(wide), "block at row 0, col 1000000003: it ends at col");
    TestProduct.assertProduct(
        a,
        b,
        MatrixBlocks.multiply(
            wide,
            b.frame(spark, farOut(b.blocks(3, 4), 0, 3), 2),
            OPTIONS.withMissing(Missing.ZERO)));
  }

  /** Neither Spark's arithmetic nor ours overflows. */
  @Test
  void extentsBeyondWhatCanBeCounted() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 4, 4, 115);
    Dataset<Row> good = a.frame(spark, 4, 4);
    Dataset<Row> past = good.selectExpr("*").withColumn("row", functions.lit(Long.MAX_VALUE - 3));
    Dataset<Row> both = a.frame(spark, 4, 2).union(past);
    assertFails(
        () -> MatrixBlocks.multiply(both, good).collect(),
        "block at row 9223372036854775804, col 0");
    assertFails(() -> MatrixBlocks.gram(both).collect(), "block at row 9223372036854775804, col 0");
    long most = 1L << 57;
    Dataset<Row> tall = MatrixBlocks.withExtents(good, most, 1);
    Dataset<Row> wide = MatrixBlocks.withExtents(good, 1, most);
    assertFails(
        () -> MatrixBlocks.multiply(tall, wide),
        "MatrixBlocks.multiply: C is 144115188075855872 x 144115188075855872; expected fewer than"
            + " 2^58 elements");
    assertFails(
        () -> MatrixBlocks.gram(wide),
        "MatrixBlocks.gram: C is 144115188075855872 x 144115188075855872");
    assertFails(
        () -> MatrixBlocks.multiply(MatrixBlocks.withExtents(good, Long.MAX_VALUE, 1), good),
        "the inner extents differ");
    assertFails(
        () ->
            MatrixBlocks.multiply(
                MatrixBlocks.withExtents(good, 1, Long.MAX_VALUE),
                MatrixBlocks.withExtents(good, Long.MAX_VALUE, 1)),
        "MatrixBlocks.multiply: A is 1 x 9223372036854775807; expected fewer than 2^58 elements");
  }

  /** These blocks, of which those from {@code first} along an axis on are 10^9 further out. */
  private static List<Row> farOut(List<Row> blocks, int axis, long first) {
    List<Row> moved = new ArrayList<>();
    for (Row block : blocks) {
      long place = block.getLong(axis) + (block.getLong(axis) < first ? 0 : 1_000_000_000);
      moved.add(
          RowFactory.create(
              axis == 0 ? place : block.get(0),
              axis == 1 ? place : block.get(1),
              block.get(2),
              block.get(3),
              block.get(4)));
    }
    return moved;
  }

  /** On the CPU too: inputs are rounded to what was asked for, sums are those of float32. */
  @Test
  void precisionsRoundTheInputs() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 23, 70, 112);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 70, 19, 113);
    Dataset<Row> left = a.frame(spark, 8, 16);
    Dataset<Row> right = b.frame(spark, 10, 8);
    for (Precision precision : List.of(Precision.TF32, Precision.BFLOAT16, Precision.FLOAT16)) {
      TestProduct roundA = a.rounded(precision);
      TestProduct roundB = b.rounded(precision);
      MultiplyOptions options = OPTIONS.withPrecision(precision.name());
      TestProduct.assertProduct(roundA, roundB, MatrixBlocks.multiply(left, right, options));
      TestProduct.assertProduct(
          roundA,
          roundB,
          MatrixBlocks.multiply(left, right, options.withStrategy(new Strategy.Cuboid(2, 2, 3))));
      TestProduct.assertProduct(
          roundA,
          roundB,
          MatrixBlocks.multiply(left, right, options.withStrategy(Strategy.BROADCAST)));
      TestProduct.assertProduct(
          roundA.transposed(), roundA, MatrixBlocks.gram(left, options.withBlockShape(32, 32)));
      assertThrows(
          AssertionError.class,
          () -> TestProduct.assertProduct(a, b, MatrixBlocks.multiply(left, right, options)),
          "the inputs were not rounded");
    }
    left.createOrReplaceTempView("precise");
    TestProduct rounded = a.rounded(Precision.BFLOAT16);
    TestProduct.assertProduct(
        rounded.transposed(),
        rounded,
        spark.sql(
            "SELECT * FROM matrix_gram(TABLE(precise), precision => 'bfloat16', missing => 'error',"
                + " strategy => 'cuboid(2,2,2)')"));
    TestProduct.assertProduct(
        rounded,
        rounded.transposed(),
        spark.sql(
            "SELECT * FROM matrix_multiply(TABLE(precise), TABLE(precise), transposeB => 'true',"
                + " precision => 'BFLOAT16', blockShape => '5,23')"));
    assertFails(
        () ->
            MatrixBlocks.gram(
                left.selectExpr(
                    "row", "col", "rows", "cols", "CAST(values AS ARRAY<DOUBLE>) AS values"),
                OPTIONS.withPrecision("tf32")),
        "MatrixBlocks.gram: precision is 'tf32', the values are ARRAY<DOUBLE>; expected full");
  }

  @Test
  void outputBlocksAndMetadata() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 20, 12, 70);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 12, 22, 71);
    Dataset<Row> c = MatrixBlocks.multiply(a.frame(spark, 8, 12), b.frame(spark, 12, 5));
    ArrayMetadata metadata = ArrayMetadata.of(c.schema().apply("values").metadata());
    assertEquals("(20, 22)", metadata.extents(2).orElseThrow().toString());
    assertEquals("(8, 5)", metadata.blockShape(2).orElseThrow().toString());
    assertEquals(3 * 5, c.count());
    Dataset<Row> other =
        MatrixBlocks.multiply(
            a.frame(spark, 8, 12),
            b.frame(spark, 12, 5),
            TestProduct.cuboid(1, 1, 1).withBlockShape(20, 22));
    assertEquals(1, other.count());
    TestProduct.assertProduct(a, b, other);
    // The result is a matrix of blocks again: it multiplies and transposes.
    TestProduct.assertProduct(
        b.transposed(),
        a.transposed(),
        MatrixBlocks.transpose(MatrixBlocks.multiply(a.frame(spark, 8, 12), b.frame(spark, 12, 5)))
            .select("values", "cols", "rows", "col", "row"));
    assertEquals(
        "x",
        MatrixBlocks.multiply(
                a.frame(spark, 8, 12).selectExpr("*", "'x' AS name"),
                b.frame(spark, 12, 5).selectExpr("*", "'x' AS name"))
            .first()
            .getAs("name"));
    assertEquals(DataTypes.LongType, c.schema().apply("row").dataType());
  }
}
