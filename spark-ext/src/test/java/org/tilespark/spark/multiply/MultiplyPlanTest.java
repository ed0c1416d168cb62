package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.ArrayType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/** The optimizer's plans of products, their SQL, and EXPLAIN and metrics. */
class MultiplyPlanTest extends SparkTest {
  private static final MultiplyOptions OPTIONS = MultiplyOptions.defaults();

  private static TestProduct random(int rows, int cols, long seed) {
    return TestProduct.random(ElementType.FLOAT32, rows, cols, seed);
  }

  @Tag("versions")
  @Test
  void transposesBelowAProductBecomeFlags() {
    TestProduct a = random(13, 17, 1);
    TestProduct b = random(17, 11, 2);
    Dataset<Row> storedA = a.transposed().frame(spark, 5, 4);
    Dataset<Row> storedB = b.transposed().frame(spark, 3, 6);
    Dataset<Row> c =
        MatrixBlocks.multiply(
            MatrixBlocks.transpose(storedA),
            MatrixBlocks.transpose(storedB).select("values", "cols", "rows", "col", "row"));
    String plan = optimized(c);
    assertFalse(plan.contains("ProgramBlocks"), plan);
    assertTrue(plan.contains("MultiplyBlocks A^T B^T, 13 x 17 x 11 FLOAT"), plan);
    TestProduct.assertProduct(a, b, c);
    // Twice transposed is not transposed; a flag and a transpose undo each other.
    Dataset<Row> undone =
        MatrixBlocks.multiply(
            MatrixBlocks.transpose(storedA.select("*")),
            MatrixBlocks.transpose(MatrixBlocks.transpose(storedB)),
            OPTIONS.withTransposeB(true));
    assertTrue(optimized(undone).contains("MultiplyBlocks A^T B^T"), optimized(undone));
    TestProduct.assertProduct(a, b, undone);
    Dataset<Row> flagged =
        MatrixBlocks.multiply(
            MatrixBlocks.transpose(a.frame(spark, 5, 4)),
            b.frame(spark, 4, 4),
            OPTIONS.withTransposeA(true));
    assertTrue(optimized(flagged).contains("MultiplyBlocks A B,"), optimized(flagged));
    TestProduct.assertProduct(a, b, flagged);
  }

  @Test
  void groupingColumnsSurviveTheRules() {
    TestProduct a = random(9, 7, 3);
    TestProduct b = random(7, 8, 4);
    Dataset<Row> left = a.transposed().frame(spark, 3, 3).selectExpr("'x' AS tag", "*");
    Dataset<Row> right = b.frame(spark, 4, 4).selectExpr("*", "'x' AS tag");
    Dataset<Row> c =
        MatrixBlocks.transpose(MatrixBlocks.multiply(MatrixBlocks.transpose(left), right));
    assertFalse(optimized(c).contains("ProgramBlocks"), optimized(c));
    assertEquals("x", c.first().getAs("tag"));
    TestProduct.assertProduct(b.transposed(), a.transposed(), c);
    Dataset<Row> withoutTag = c.select("row", "col", "rows", "cols", "values");
    assertFalse(optimized(withoutTag).contains("ProgramBlocks"), optimized(withoutTag));
    TestProduct.assertProduct(b.transposed(), a.transposed(), withoutTag);
  }

  @Test
  void transposeOfAProductIsAProduct() {
    TestProduct a = random(13, 17, 5);
    TestProduct b = random(17, 11, 6);
    Dataset<Row> c =
        MatrixBlocks.transpose(
            MatrixBlocks.multiply(
                a.frame(spark, 4, 5),
                b.frame(spark, 5, 3),
                OPTIONS.withStrategy(new Strategy.Cuboid(3, 2, 1)).withBlockShape(4, 11)));
    String plan = optimized(c);
    assertFalse(plan.contains("ProgramBlocks"), plan);
    assertTrue(
        plan.contains("MultiplyBlocks A^T B^T, 11 x 17 x 13 FLOAT, strategy=cuboid(2,3,1)"), plan);
    TestProduct.assertProduct(b.transposed(), a.transposed(), c);
    // Blocks of 11 x 4, although cuboids are cut across them.
    c.collectAsList().forEach(block -> assertTrue(block.<Integer>getAs("cols") <= 4));
    assertEquals(4, c.count());
  }

  /** One stage computes an operand's blocks and cuts them: no block is made only to be cut. */
  @Test
  void computedOperandsAreCutWhereTheyAreMade() {
    TestProduct a = random(13, 17, 20);
    TestProduct b = random(17, 11, 21);
    double[] doubled = Arrays.stream(a.values()).map(value -> 2 * value).toArray();
    TestProduct twice = new TestProduct(a.type(), a.rows(), a.cols(), doubled);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> left = MatrixBlocks.map(a.frame(spark, 4, 5), "v * 2");
            Dataset<Row> c =
                MatrixBlocks.multiply(left, b.frame(spark, 5, 3), TestProduct.cuboid(2, 3, 2));
            TestProduct.assertProduct(twice, b, c);
            SparkPlan plan = plan(c).executedPlan();
            assertEquals(1, PlanNodes.computing(plan).size(), plan::toString);
            assertTrue(
                PlanNodes.computing(plan).get(0).toString().contains("v * 2, into pieces (matrix"),
                plan::toString);
            assertEquals(1, PlanNodes.cutting(plan).size(), plan::toString); // those of B
          });
    }
  }

  @Test
  void aProductWithItsOwnTransposeIsAGram() {
    TestProduct a = random(14, 9, 7);
    Dataset<Row> df = a.frame(spark, 5, 4);
    Dataset<Row> gram = MatrixBlocks.multiply(MatrixBlocks.transpose(df), df);
    assertTrue(optimized(gram).contains("MultiplyBlocks A^T A, 9 x 14 x 9"), optimized(gram));
    TestProduct.assertProduct(a.transposed(), a, gram);
    Dataset<Row> other = MatrixBlocks.multiply(df, df, OPTIONS.withTransposeB(true));
    assertTrue(optimized(other).contains("MultiplyBlocks A A^T, 14 x 9 x 14"), optimized(other));
    TestProduct.assertProduct(a, a.transposed(), other);
    // Its transpose is the gram itself, and nothing turns it.
    Dataset<Row> turned = MatrixBlocks.transpose(gram);
    assertFalse(optimized(turned).contains("ProgramBlocks"), optimized(turned));
    assertTrue(optimized(turned).contains("MultiplyBlocks A^T A"), optimized(turned));
    TestProduct.assertProduct(a.transposed(), a, turned);
    // The operand is read once: one scan below one exchange.
    SparkPlan plan = plan(gram).executedPlan();
    assertEquals(1, PlanNodes.cutting(plan).size(), plan::toString);
    // What only looks alike is no gram.
    Dataset<Row> unlike = MatrixBlocks.multiply(MatrixBlocks.transpose(df), df.where("row >= 0"));
    assertFalse(optimized(unlike).contains("A^T A"), optimized(unlike));
    TestProduct.assertProduct(a.transposed(), a, unlike);
    Dataset<Row> square =
        MatrixBlocks.multiply(
            random(6, 6, 8).frame(spark, 3, 3), random(6, 6, 8).frame(spark, 3, 3));
    assertTrue(optimized(square).contains("MultiplyBlocks A B,"), optimized(square));
  }

  @Test
  void aMatrixTimesItselfAndSelfJoinsOfProducts() {
    TestProduct a = random(10, 10, 9);
    Dataset<Row> df = a.frame(spark, 4, 3);
    Dataset<Row> square = MatrixBlocks.multiply(df, df);
    TestProduct.assertProduct(a, a, square);
    Dataset<Row> joined =
        square
            .as("x")
            .join(
                square.as("y"),
                org.apache.spark.sql.functions.expr(
                    "x.row = y.row AND x.col = y.col AND x.values = y.values"));
    assertEquals(square.count(), joined.count());
    assertEquals(2 * square.count(), square.union(square).count());
    square.cache();
    try {
      TestProduct.assertProduct(a, a, square);
      assertTrue(
          plan(MatrixBlocks.multiply(df, df)).optimizedPlan() != null,
          "planning over a cached product");
    } finally {
      square.unpersist();
    }
  }

  @Test
  void sqlSaysTheSame() {
    TestProduct a = random(12, 15, 10);
    TestProduct b = random(15, 7, 11);
    a.frame(spark, 5, 4).createOrReplaceTempView("a");
    b.transposed().frame(spark, 3, 6).createOrReplaceTempView("bt");
    TestProduct.assertProduct(
        a,
        b,
        spark.sql(
            "SELECT * FROM matrix_multiply(TABLE(a), TABLE(bt), transposeB => 'true',"
                + " strategy => 'CUBOID(2, 1, 2)', blockShape => '5, 7')"));
    TestProduct.assertProduct(
        a,
        b,
        spark.sql(
            "SELECT * FROM matrix_multiply(TABLE(a), TABLE(SELECT * FROM"
                + " matrix_transpose(TABLE(bt))))"));
    TestProduct.assertProduct(
        a.transposed(), a, spark.sql("SELECT * FROM matrix_gram(TABLE(a), blockShape => '4,4')"));
    assertFails(
        () ->
            spark.sql(
                "SELECT * FROM matrix_multiply(TABLE(a), TABLE(bt), extentsA => '12,15',"
                    + " extentsB => '16,7')"),
        "matrix_multiply: the inner extents differ: A is 12 x 15, B is 16 x 7");
    assertFails(
        () -> spark.sql("SELECT * FROM matrix_multiply(TABLE(a), TABLE(bt), strategy => 'fast')"),
        "strategy is 'fast'; expected auto, broadcast or cuboid(P,Q,R)");
    assertFails(
        () -> spark.sql("SELECT * FROM matrix_gram(TABLE(a), transposeA => 'true')"),
        "there is no parameter transposeA");
  }

  @Tag("versions")
  @Test
  void explainShowsChoiceCostAndWhatWasRejected() {
    Dataset<Row> c =
        MatrixBlocks.multiply(
            random(64, 64, 12).frame(spark, 8, 8), random(64, 64, 13).frame(spark, 8, 8));
    String text = explained(c);
    assertTrue(text.contains("MultiplyPanels A B, 64 x 64 x 64 FLOAT cuboid("), text);
    assertTrue(text.contains("(shuffle "), text);
    assertTrue(text.contains("flops, "), text);
    assertTrue(text.contains("; rejected: cuboid("), text);
    String formatted =
        plan(c)
            .explainString(
                org.apache.spark.sql.execution.ExplainMode$.MODULE$.fromString("formatted"));
    assertTrue(formatted.contains("Strategy: cuboid("), formatted);
    assertTrue(formatted.contains("Rejected: cuboid("), formatted);
  }

  @Test
  void predictedShuffleBytesAreThoseMeasured() {
    record Case(
        int m,
        int k,
        int n,
        int blockM,
        int blockKA,
        int blockKB,
        int blockN,
        int p,
        int q,
        int r) {}
    List<Case> cases =
        List.of(
            new Case(70, 50, 70, 7, 5, 7, 5, 2, 2, 1),
            new Case(69, 53, 71, 7, 5, 5, 7, 3, 2, 2),
            new Case(128, 128, 128, 32, 32, 32, 32, 1, 1, 1),
            new Case(128, 128, 128, 32, 32, 32, 32, 4, 4, 1),
            new Case(128, 128, 128, 32, 32, 32, 32, 2, 2, 4),
            new Case(100, 1000, 30, 50, 25, 40, 30, 1, 1, 4),
            new Case(1000, 10, 10, 64, 10, 10, 10, 8, 1, 1),
            new Case(10, 10, 1000, 10, 10, 10, 64, 1, 8, 1),
            new Case(1, 400, 300, 1, 100, 50, 60, 1, 4, 2),
            new Case(97, 101, 103, 10, 11, 13, 17, 3, 3, 3));
    for (Case c : cases) {
      TestProduct a = random(c.m, c.k, 14);
      TestProduct b = random(c.k, c.n, 15);
      Dataset<Row> product =
          MatrixBlocks.multiply(
              a.frame(spark, c.blockM, c.blockKA),
              b.frame(spark, c.blockKB, c.blockN),
              OPTIONS.withStrategy(new Strategy.Cuboid(c.p, c.q, c.r)));
      product.collectAsList();
      assertPrediction(c.toString(), product);
    }
    for (int r : List.of(1, 3)) {
      Dataset<Row> gram =
          MatrixBlocks.gram(
              random(90, 60, 16).frame(spark, 9, 8),
              OPTIONS.withStrategy(new Strategy.Cuboid(3, 3, r)));
      gram.collectAsList();
      assertPrediction("gram, R = " + r, gram);
    }
  }

  private static void assertPrediction(String what, Dataset<Row> df) {
    SparkPlan plan = plan(df).executedPlan();
    MultiplyPanelsExec node = PlanNodes.all(plan, MultiplyPanelsExec.class).get(0);
    List<Long> measured = new ArrayList<>();
    // Top down: the exchange of partial blocks comes before that of the operands.
    for (SparkPlan exchange : PlanNodes.all(plan, ShuffleExchangeExec.class)) {
      if (exchange.output().size() != 5) { // not the test's own repartition
        measured.add(exchange.metrics().apply("dataSize").value());
      }
    }
    List<Long> predicted = new ArrayList<>();
    if (node.prediction().partialBytes() > 0) {
      predicted.add(node.prediction().partialBytes());
    }
    predicted.add(node.prediction().operandBytes());
    assertEquals(predicted.size(), measured.size(), what);
    for (int i = 0; i < predicted.size(); i++) {
      double ratio = (double) predicted.get(i) / measured.get(i);
      assertTrue(
          ratio > 0.9 && ratio < 1.1, what + ": predicted " + predicted + ", measured " + measured);
    }
    assertEquals(
        node.prediction().operandBytes(),
        node.metrics().apply("predictedShuffleBytes").value(),
        "metric");
    assertTrue(node.metrics().apply("numPanels").value() > 0);
  }

  @Test
  void predictedBytesOfABroadcastAreThoseMeasured() {
    record Case(int m, int k, int n, int bm, int bkA, int bkB, int bn) {}
    for (Case c :
        List.of(
            new Case(600, 128, 24, 100, 32, 128, 24), // K in 4
            new Case(601, 131, 23, 97, 50, 40, 10),
            new Case(24, 128, 600, 24, 128, 32, 100), // A is broadcast
            new Case(600, 128, 24, 100, 128, 64, 24))) { // K in one
      Dataset<Row> product =
          MatrixBlocks.multiply(
              random(c.m, c.k, 14).frame(spark, c.bm, c.bkA),
              random(c.k, c.n, 15).frame(spark, c.bkB, c.bn),
              OPTIONS.withStrategy(Strategy.BROADCAST));
      product.collectAsList();
      SparkPlan plan = plan(product).executedPlan();
      MultiplyBroadcastExec node = PlanNodes.all(plan, MultiplyBroadcastExec.class).get(0);
      long partials = 0;
      for (SparkPlan exchange : PlanNodes.all(plan, ShuffleExchangeExec.class)) {
        if (exchange.output().size() == 9) {
          partials += exchange.metrics().apply("dataSize").value();
        }
      }
      assertNear(c + ", partial", node.prediction().partialBytes(), partials);
      long small = 0;
      for (SparkPlan exchange : PlanNodes.all(plan, BroadcastExchangeExec.class)) {
        if (exchange.output().size() == 8) {
          small += exchange.metrics().apply("dataSize").value();
        }
      }
      assertNear(c + ", broadcast", node.prediction().broadcastBytes(), small);
      assertEquals(
          node.prediction().broadcastBytes(),
          node.metrics().apply("predictedBroadcastBytes").value());
    }
  }

  static void assertNear(String what, long predicted, long measured) {
    assertTrue(
        Math.abs(predicted - measured) <= measured / 10,
        what + ": predicted " + predicted + ", measured " + measured);
  }

  @Tag("versions")
  @Test
  void aBroadcastShufflesNothing() {
    TestProduct a = random(50, 8, 19);
    TestProduct b = random(8, 6, 20);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> c =
                MatrixBlocks.multiply(
                    a.stated(a.frame(spark, a.blocks(10, 8), 2).localCheckpoint(), 10, 8),
                    b.frame(spark, b.blocks(4, 4), 2).localCheckpoint(),
                    OPTIONS.withStrategy(Strategy.BROADCAST));
            TestProduct.assertProduct(a, b, c);
            c.collectAsList();
            SparkPlan plan = plan(c).executedPlan();
            // Coordinates are, to be checked.
            for (SparkPlan exchange : PlanNodes.all(plan, ShuffleExchangeExec.class)) {
              assertTrue(
                  ScalaInterop.<Attribute>list(exchange.output()).stream()
                      .noneMatch(column -> column.dataType() instanceof ArrayType),
                  plan::toString);
            }
            assertEquals(1, PlanNodes.all(plan, CheckPlacesExec.class).size());
            assertEquals(1, PlanNodes.all(plan, MultiplyBroadcastExec.class).size());
            assertTrue(plan.toString().contains("broadcast(right)"), plan::toString);
          });
    }
  }

  /** The tasks' bytes together, for an inner dimension and for one four times as long. */
  void assertSameMemory(long bytes, long bytesOfLongerK, String strategy) {
    assertEquals(bytes, bytesOfLongerK, strategy);
  }

  /**
   * Panels, tile and, of a broadcast, one block: the same for an inner dimension and its quarter.
   */
  @Test
  void memoryOfATaskDoesNotGrowWithK() {
    with(
        Map.of(TileSparkConf.BATCH_SIZE.name(), "4k"),
        () -> {
          for (Strategy strategy :
              List.of(
                  new Strategy.Cuboid(2, 1, 2), new Strategy.Cuboid(1, 1, 1), Strategy.BROADCAST)) {
            List<Long> peaks = new ArrayList<>();
            for (int k : new int[] {1024, 4096}) {
              TestProduct a = random(16, k, 70);
              TestProduct b = random(k, 8, 71);
              Dataset<Row> c =
                  MatrixBlocks.multiply(
                      a.frame(spark, a.blocks(16, 64), 2),
                      b.frame(spark, b.blocks(64, 8), 2),
                      OPTIONS.withStrategy(strategy));
              TestProduct.assertProduct(a, b, c);
              SparkPlan plan = plan(c).executedPlan();
              List<SparkPlan> nodes =
                  new ArrayList<>(PlanNodes.all(plan, MultiplyPanelsExec.class));
              nodes.addAll(PlanNodes.all(plan, MultiplyBroadcastExec.class));
              assertEquals(1, nodes.size());
              peaks.add(nodes.get(0).metrics().apply("peakTaskMemory").value());
            }
            // Summed over as many tasks, by the metric's nature.
            assertTrue(peaks.get(0) > 0);
            assertSameMemory(peaks.get(0), peaks.get(1), strategy.toString());
          }
        });
  }

  /** The metadata of a product's blocks are true, and the next operator may use them. */
  @Test
  void blocksOfAProductAreWhereTheirMetadataSay() {
    TestProduct a = random(40, 24, 72);
    TestProduct b = random(24, 36, 73);
    Dataset<Row> left = a.frame(spark, 10, 8);
    Dataset<Row> right = b.frame(spark, 8, 12);
    for (int[] parts : new int[][] {{3, 2, 1}, {7, 1, 1}, {1, 5, 1}, {6, 5, 2}}) {
      Dataset<Row> c =
          MatrixBlocks.multiply(left, right, TestProduct.cuboid(parts[0], parts[1], parts[2]));
      TestProduct.assertProduct(
          a, b, MatrixBlocks.reblock(c, 10, 12)); // which looks at places only
      TestProduct.assertProduct(
          a, b, MatrixBlocks.add(c, MatrixBlocks.scale(zero(40, 36).onGrid(spark, 10, 12), 1)));
    }
    Dataset<Row> ragged =
        MatrixBlocks.multiply(
            a.frame(spark, a.raggedBlocks(13, 74), 3),
            right,
            OPTIONS.withStrategy(Strategy.BROADCAST));
    TestProduct product = TestProduct.collect(ragged.collectAsList(), ElementType.FLOAT32, 40, 36);
    Dataset<Row> again =
        MatrixBlocks.multiply(
            ragged,
            random(36, 4, 75).onGrid(spark, 36, 4),
            OPTIONS.withStrategy(Strategy.BROADCAST));
    TestProduct.assertProduct(product, random(36, 4, 75), again);
  }

  private static TestProduct zero(int rows, int cols) {
    return new TestProduct(ElementType.FLOAT32, rows, cols, new double[rows * cols]);
  }

  @Tag("versions")
  @Test
  void metricsCountTheWork() {
    TestProduct a = random(40, 30, 17);
    TestProduct b = random(30, 20, 18);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> c =
                MatrixBlocks.multiply(
                    a.frame(spark, 10, 10),
                    b.frame(spark, 10, 10),
                    OPTIONS.withStrategy(new Strategy.Cuboid(2, 1, 1)));
            c.collectAsList();
            MultiplyPanelsExec node =
                PlanNodes.all(plan(c).executedPlan(), MultiplyPanelsExec.class).get(0);
            assertEquals(2L * 40 * 30 * 20, node.metrics().apply("flops").value());
            assertEquals(4 * 2, node.metrics().apply("numBlocks").value());
          });
    }
  }

  /** Without being asked for: what it would cost to shuffle is shown as rejected. */
  @Test
  void autoBroadcastsWhatIsSmallBesideTheOther() {
    TestProduct a = random(4096, 512, 21);
    TestProduct b = random(512, 4, 22);
    for (int blockCols : List.of(256, 512)) {
      Dataset<Row> left = a.stated(a.frame(spark, a.blocks(512, blockCols), 4), 512, blockCols);
      Dataset<Row> right = b.frame(spark, 512, 4);
      Dataset<Row> c = MatrixBlocks.multiply(left, right);
      String text = explained(c);
      assertTrue(
          text.contains("MultiplyBroadcast A B, 4096 x 512 x 4 FLOAT broadcast(right)"), text);
      assertTrue(text.contains(", broadcast 16.0 KiB"), text);
      assertTrue(text.contains("; rejected: cuboid("), text);
      assertEquals(blockCols == 512, text.contains("CheckPlaces of matrix A"), text);
      assertEquals(blockCols < 512, text.contains("SumBlocks"), text);
      c.collectAsList();
      assertEquals(1, PlanNodes.all(plan(c).executedPlan(), MultiplyBroadcastExec.class).size());
      // A limit forbids it, and says so.
      with(
          Map.of(TileSparkConf.MULTIPLY_BROADCAST_SIZE.name(), "4k"),
          () -> {
            String limited = explained(MatrixBlocks.multiply(left, right));
            assertTrue(limited.contains("MultiplyPanels A B"), limited);
            assertTrue(
                limited.contains(
                    "broadcast(right) refused: B of 8.0 KiB is larger than the 4.0 KiB"),
                limited);
          });
    }
  }

  /** Coordinates are read separately only where the values need not be computed for it. */
  @Test
  void placesOfBlocksAreCheckedWhereTheyAreCheap() {
    TestProduct a = random(400, 64, 23);
    TestProduct b = random(64, 4, 24);
    Dataset<Row> left = a.stated(a.frame(spark, a.blocks(50, 64), 3), 50, 64);
    Dataset<Row> right = b.frame(spark, 64, 4);
    MultiplyOptions broadcast = OPTIONS.withStrategy(Strategy.BROADCAST);
    Dataset<Row> scaled = MatrixBlocks.multiply(MatrixBlocks.scale(left, 1), right, broadcast);
    assertTrue(explained(scaled).contains("CheckPlaces"), explained(scaled));
    assertFalse(explained(scaled).contains("SumBlocks"), explained(scaled));
    TestProduct.assertProduct(a, b, scaled);
    // Those of a product are had by multiplying only.
    Dataset<Row> product =
        MatrixBlocks.multiply(
            left,
            TestProduct.identity(ElementType.FLOAT32, 64).frame(spark, 64, 64),
            OPTIONS.withStrategy(new Strategy.Cuboid(4, 1, 1)));
    Dataset<Row> chained = MatrixBlocks.multiply(product, right, broadcast);
    assertFalse(explained(chained).contains("CheckPlaces"), explained(chained));
    assertTrue(explained(chained).contains("SumBlocks"), explained(chained));
    TestProduct.assertProduct(a, b, chained);
    // Unless it is cached.
    product.cache();
    try {
      Dataset<Row> cached = MatrixBlocks.multiply(product, right, broadcast);
      assertTrue(explained(cached).contains("CheckPlaces"), explained(cached));
      TestProduct.assertProduct(a, b, cached);
    } finally {
      product.unpersist();
    }
    // A transpose in between changes nothing.
    Dataset<Row> turned =
        MatrixBlocks.multiply(
            MatrixBlocks.transpose(
                a.transposed().stated(a.transposed().frame(spark, 64, 50), 64, 50)),
            right,
            broadcast);
    assertTrue(explained(turned).contains("CheckPlaces"), explained(turned));
    TestProduct.assertProduct(a, b, turned);
  }

  /** More parts help where memory does not suffice; not where there are too many already. */
  @Test
  void adviceFitsTheRefusal() {
    Dataset<Row> a = MatrixBlocks.withExtents(random(10, 8, 27).frame(spark, 5, 4), 10, 8);
    for (Dataset<Row> product :
        List.of(
            MatrixBlocks.multiply(a, MatrixBlocks.transpose(a), TestProduct.cuboid(11, 1, 1)),
            MatrixBlocks.gram(a, TestProduct.cuboid(11, 11, 1)))) {
      String reason = reasonOf(product::collectAsList);
      assertTrue(reason.contains("expected 1 to "), reason);
      assertFalse(reason.contains("ore parts"), reason);
    }
    Dataset<Row> large = MatrixBlocks.withExtents(a, 1 << 20, 8);
    Dataset<Row> product =
        MatrixBlocks.multiply(large, MatrixBlocks.transpose(large), TestProduct.cuboid(1, 1, 1));
    assertFails(
        product::collectAsList,
        "was asked for, but its tile of C of",
        "More parts of M and N need less memory each",
        TileSparkConf.MULTIPLY_TILE_SIZE.name());
  }

  @Test
  void staleMetadataUnderABroadcastAreNamed() {
    TestProduct a = random(40, 12, 25);
    TestProduct b = random(12, 4, 26);
    Dataset<Row> whole =
        MatrixBlocks.reblock(MatrixBlocks.withExtents(a.frame(spark, 5, 5), 40, 12), 10, 12);
    Dataset<Row> cut = a.frame(spark, 10, 6);
    Dataset<Row> stale = saying(whole.where("row < 20").union(cut.where("row >= 20")), whole);
    assertFails(
        () ->
            MatrixBlocks.multiply(
                    stale.localCheckpoint(),
                    b.frame(spark, 12, 4),
                    OPTIONS.withStrategy(Strategy.BROADCAST))
                .collect(),
        "matrix A: block at row ",
        "holds 6 of the 12 elements of the inner dimension",
        "tilespark.blockShape",
        "withoutExtents");
    TestProduct.assertProduct(
        a,
        b,
        MatrixBlocks.multiply(
            MatrixBlocks.withoutExtents(stale),
            b.frame(spark, 12, 4),
            OPTIONS.withStrategy(Strategy.BROADCAST)));
  }
}
