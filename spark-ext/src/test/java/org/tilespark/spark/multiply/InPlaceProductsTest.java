package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.ArrayType;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/** Operands whose blocks are partitioned already, so that a product leaves them where they are. */
class InPlaceProductsTest extends SparkTest {
  private static TestProduct random(int rows, int cols, long seed) {
    return TestProduct.random(ElementType.FLOAT32, rows, cols, seed);
  }

  /**
   * A side that is partitioned already, by what Spark says: its blocks are cut where they are, and
   * only the other side goes through an exchange.
   */
  @Test
  void aSideAlreadyPartitionedIsNotShuffledAgain() {
    TestProduct a = random(96, 512, 60);
    TestProduct b = random(512, 48, 61);
    Dataset<Row> left = a.onGrid(spark, 96, 16);
    Dataset<Row> right = b.onGrid(spark, 40, 48);
    Dataset<Row> leftByCol = left.repartition(4, new Column("col"));
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            // Along K: A stays, B is shuffled once, partial products are summed.
            Dataset<Row> c = MatrixBlocks.multiply(leftByCol, right, TestProduct.cuboid(1, 1, 4));
            assertInPlace(c, a, b, "cuboid(1,1,4) with A in place", 1, 2);
          });
    }
    // Both sides alike: neither is shuffled.
    Dataset<Row> both =
        MatrixBlocks.multiply(
            leftByCol,
            b.onGrid(spark, 16, 48).repartition(4, new Column("row")),
            TestProduct.cuboid(1, 1, 4));
    assertInPlace(both, a, b, "cuboid(1,1,4) with A and B in place", 2, 1);
    // As the gram of the transposed: one operand.
    Dataset<Row> gram =
        MatrixBlocks.multiply(
            leftByCol, leftByCol, TestProduct.cuboid(1, 1, 4).withTransposeB(true));
    assertInPlace(gram, a, a.transposed(), "cuboid(1,1,4) with A in place", 1, 1);
    // Along M, and with B the one that stays, along N; through projections and transposes.
    TestProduct tall = random(600, 32, 62);
    TestProduct small = random(32, 20, 63);
    Dataset<Row> bands =
        tall.onGrid(spark, 50, 16)
            .repartition(5, new Column("row"))
            .select("values", "cols", "rows", "col", "row");
    assertInPlace(
        MatrixBlocks.multiply(bands, small.frame(spark, 8, 8), TestProduct.cuboid(5, 1, 1)),
        tall,
        small,
        "cuboid(5,1,1) with A in place",
        1,
        1);
    assertInPlace(
        MatrixBlocks.multiply(
            small.transposed().frame(spark, 8, 8),
            MatrixBlocks.transpose(bands),
            TestProduct.cuboid(1, 5, 1)),
        small.transposed(),
        tall.transposed(),
        "cuboid(1,5,1) with B in place",
        1,
        1);
    // The output of a reblock, cached or not.
    Dataset<Row> reblocked =
        MatrixBlocks.reblock(MatrixBlocks.withExtents(tall.frame(spark, 7, 5), 600, 32), 60, 32);
    assertInPlace(
        inPlace(
            p ->
                MatrixBlocks.multiply(
                    reblocked, small.frame(spark, 8, 8), TestProduct.cuboid(p, 1, 1))),
        tall,
        small,
        "cuboid(",
        1,
        1);
    Dataset<Row> cached = reblocked.repartition(4, new Column("row")).cache();
    try {
      cached.count();
      assertInPlace(
          inPlace(
              p ->
                  MatrixBlocks.multiply(
                      cached, small.frame(spark, 8, 8), TestProduct.cuboid(p, 1, 1))),
          tall,
          small,
          "cuboid(",
          0,
          1);
    } finally {
      cached.unpersist();
    }
  }

  /**
   * A product that was put together by a shuffle is partitioned by its blocks, as a re-block is.
   */
  @Test
  void aCachedProductOfSeveralPartsStaysToo() {
    TestProduct a = random(120, 40, 66);
    TestProduct identity = TestProduct.identity(ElementType.FLOAT32, 40);
    TestProduct b = random(40, 6, 67);
    Dataset<Row> product =
        MatrixBlocks.multiply(
                a.frame(spark, 10, 20), identity.frame(spark, 20, 40), TestProduct.cuboid(2, 1, 2))
            .cache();
    try {
      assertEquals(12, product.count());
      assertInPlace(
          inPlace(
              p ->
                  MatrixBlocks.multiply(
                      product, b.frame(spark, 8, 8), TestProduct.cuboid(p, 1, 1))),
          a,
          b,
          "cuboid(",
          0,
          1);
    } finally {
      product.unpersist();
    }
  }

  /** Nor need it be cached: what its sums will be partitioned by is known before. */
  @Test
  void aProductOfSeveralPartsStaysForTheNext() {
    TestProduct a = random(120, 40, 68);
    TestProduct b = random(40, 6, 69);
    Dataset<Row> renamed = sumOfParts(a).select("values", "cols", "rows", "col", "row");
    with(
        Map.of(TileSparkConf.MULTIPLY_BROADCAST_SIZE.name(), "0"),
        () -> {
          Dataset<Row> next =
              inPlace(
                      p ->
                          MatrixBlocks.multiply(
                              renamed, b.frame(spark, 8, 8), TestProduct.cuboid(p, 1, 1)))
                  .select("*");
          TestProduct.assertProduct(a, b, next);
          SparkPlan plan = plan(next).executedPlan();
          List<ShuffleExchangeExec> exchanges = PlanNodes.all(plan, ShuffleExchangeExec.class);
          exchanges.removeIf(each -> !(each.outputPartitioning() instanceof HashPartitioning));
          // The pieces of the first product's operands and its sums; then B's pieces alone.
          assertEquals(3, exchanges.size(), plan::toString);
        });
  }

  /** A product stays next to an operand that is shuffled too, on its own account. */
  @Test
  void aProductStaysForTheNextBesideAReblockedOne() {
    TestProduct a = random(120, 40, 70);
    TestProduct b = random(40, 6, 71);
    Dataset<Row> product = sumOfParts(a);
    Dataset<Row> reblocked = MatrixBlocks.reblock(b.frame(spark, 5, 3), 8, 8);
    with(
        Map.of(TileSparkConf.MULTIPLY_BROADCAST_SIZE.name(), "0"),
        () -> {
          Dataset<Row> next =
              inPlace(p -> MatrixBlocks.multiply(product, reblocked, TestProduct.cuboid(p, 1, 1)))
                  .select("*");
          TestProduct.assertProduct(a, b, next);
          assertStillInPlace(next, 1);
        });
  }

  /** A product that is made where the blocks of an operand are stays there for the next. */
  @Test
  void aProductInPlaceStaysForTheNext() {
    TestProduct a = random(120, 40, 72);
    TestProduct identity = TestProduct.identity(ElementType.FLOAT32, 40);
    TestProduct b = random(40, 6, 73);
    Dataset<Row> places = a.onGrid(spark, 10, 40); // by rows and columns, of which all are 0
    Dataset<Row> unit = identity.frame(spark, 20, 40);
    Dataset<Row> right = b.frame(spark, 8, 8);
    for (Dataset<Row> left : List.of(places, places.repartition(4, new Column("row")))) {
      for (Map<String, String> mode : sampledModes()) {
        with(
            withoutBroadcasts(mode),
            () -> {
              // Both have the same rows in a task, and so as many tasks.
              assertAllInPlace(
                  a,
                  b,
                  p -> {
                    MultiplyOptions options = TestProduct.cuboid(p, 1, 1);
                    Dataset<Row> product = MatrixBlocks.multiply(left, unit, options);
                    return MatrixBlocks.multiply(
                        product.select("values", "cols", "rows", "col", "row"), right, options);
                  });
              assertAllInPlace(
                  b.transposed(),
                  a.transposed(),
                  q -> {
                    MultiplyOptions options = TestProduct.cuboid(1, q, 1);
                    Dataset<Row> product =
                        MatrixBlocks.multiply(unit, left, options.withTransposeB(true));
                    return MatrixBlocks.multiply(right, product, options.withTransposeA(true));
                  });
            });
      }
    }
  }

  /**
   * Products whose blocks are smaller than those that stay, or whose pieces are shuffled to
   * cuboids.
   */
  @Test
  void aProductThatLiesOtherwiseIsShuffledForTheNext() {
    TestProduct a = random(120, 40, 74);
    TestProduct b = random(40, 6, 75);
    Dataset<Row> unit = TestProduct.identity(ElementType.FLOAT32, 40).frame(spark, 20, 40);
    Dataset<Row> right = b.frame(spark, 8, 8);
    Dataset<Row> placed = a.onGrid(spark, 10, 40).repartition(4, new Column("row"));
    with(
        withoutBroadcasts(Map.of()),
        () -> {
          for (boolean isPlaced : new boolean[] {true, false}) {
            int inPlace = 0;
            for (int p = 1; p <= 4; p++) {
              MultiplyOptions options = TestProduct.cuboid(p, 1, 1);
              Dataset<Row> product =
                  MatrixBlocks.multiply(
                      isPlaced ? placed : a.frame(spark, 10, 40),
                      unit,
                      isPlaced ? options.withBlockShape(5, 40) : options);
              Dataset<Row> next = MatrixBlocks.multiply(product, right, options);
              List<Boolean> each =
                  PlanNodes.all(plan(next), MultiplyPanelsExec.class).stream()
                      .map(node -> node.prediction().chosen().contains("in place"))
                      .toList();
              assertEquals(2, each.size());
              assertFalse(each.get(0), () -> plan(next).executedPlan().toString());
              inPlace += each.get(1) ? 1 : 0;
              TestProduct.assertProduct(a, b, next);
            }
            assertEquals(isPlaced ? 1 : 0, inPlace);
          }
        });
  }

  /** The partitioning that a product in place states holds for every block, by Spark's own hash. */
  @Test
  void blocksLieWhereTheProductSays() {
    TestProduct a = random(125, 40, 76); // the last blocks are shorter
    TestProduct identity = TestProduct.identity(ElementType.FLOAT32, 40);
    Dataset<Row> unit = identity.frame(spark, 20, 40);
    Dataset<Row> placed = a.onGrid(spark, 10, 40).repartition(4, new Column("row"));
    Map<String, String> settings = withoutBroadcasts(Map.of("spark.sql.adaptive.enabled", "false"));
    with(
        settings,
        () -> {
          assertWhereItSays(
              inPlace(p -> MatrixBlocks.multiply(placed, unit, TestProduct.cuboid(p, 1, 1))),
              "row");
          assertWhereItSays(
              IntStream.rangeClosed(1, 4)
                  .mapToObj(
                      q ->
                          MatrixBlocks.multiply(
                              unit, placed, TestProduct.cuboid(1, q, 1).withTransposeB(true)))
                  .filter(each -> explained(each).contains("with B in place"))
                  .findFirst()
                  .orElseThrow(),
              "col");
        });
  }

  private static void assertWhereItSays(Dataset<Row> product, String along) {
    Partitioning says =
        PlanNodes.all(plan(product), MultiplyPanelsExec.class).get(0).outputPartitioning();
    HashPartitioning hash = assertInstanceOf(HashPartitioning.class, says);
    assertEquals(4, hash.numPartitions());
    Dataset<Row> places =
        product.selectExpr(
            "spark_partition_id() as lies", "pmod(hash(" + along + "), 4) as should_lie");
    assertTrue(places.count() >= 13, places.count() + " blocks");
    assertEquals(List.of(), places.where("lies != should_lie").collectAsList());
    Dataset<Row> counts = product.groupBy(along).count();
    assertEquals(13, counts.count());
    List<ShuffleExchangeExec> above =
        PlanNodes.all(plan(counts).executedPlan(), ShuffleExchangeExec.class);
    above.removeIf(each -> PlanNodes.all(each, MultiplyPanelsExec.class).isEmpty());
    assertEquals(List.of(), above, "Spark need not shuffle what lies so");
  }

  private static Map<String, String> withoutBroadcasts(Map<String, String> mode) {
    Map<String, String> settings = new HashMap<>(mode);
    settings.put(TileSparkConf.MULTIPLY_BROADCAST_SIZE.name(), "0");
    return settings;
  }

  /** Two products, for as many parts as the hash happens to fill: neither moves what is placed. */
  private static void assertAllInPlace(
      TestProduct a, TestProduct b, IntFunction<Dataset<Row>> products) {
    Dataset<Row> placed =
        IntStream.rangeClosed(1, 4)
            .mapToObj(products)
            .filter(
                each ->
                    PlanNodes.all(plan(each), MultiplyPanelsExec.class).stream()
                        .allMatch(node -> node.prediction().chosen().contains("in place")))
            .findFirst()
            .orElseThrow();
    TestProduct.assertProduct(a, b, placed);
    assertStillInPlace(placed, 2);
    List<ShuffleExchangeExec> exchanges =
        PlanNodes.all(plan(placed).executedPlan(), ShuffleExchangeExec.class);
    exchanges.removeIf(each -> !each.output().head().name().equals("cuboid"));
    // The pieces of the identity, and those of the other operand.
    assertEquals(2, exchanges.size(), () -> plan(placed).executedPlan().toString());
  }

  /** As it ran in the end: adaptive execution plans anew what it has not yet begun. */
  private static void assertStillInPlace(Dataset<Row> ran, int products) {
    long inPlace =
        PlanNodes.all(plan(ran), MultiplyPanelsExec.class).stream()
            .filter(node -> node.prediction().chosen().contains("in place"))
            .count();
    assertEquals(products, inPlace, () -> plan(ran).executedPlan().toString());
  }

  /** A matrix of 40 columns as a product that adds up parts. */
  private static Dataset<Row> sumOfParts(TestProduct a) {
    TestProduct identity = TestProduct.identity(ElementType.FLOAT32, 40);
    return MatrixBlocks.multiply(
        a.frame(spark, 10, 20), identity.frame(spark, 20, 40), TestProduct.cuboid(2, 1, 2));
  }

  /** The product for as many parts as the hash happens to fill. */
  private static Dataset<Row> inPlace(IntFunction<Dataset<Row>> product) {
    return IntStream.rangeClosed(1, 4)
        .mapToObj(product)
        .filter(each -> explained(each).contains("with A in place"))
        .findFirst()
        .orElseThrow();
  }

  /**
   * @param before exchanges of values that make the operands
   * @param own exchanges of values that the product adds
   */
  private static void assertInPlace(
      Dataset<Row> c, TestProduct a, TestProduct b, String name, int before, int own) {
    with(
        Map.of(TileSparkConf.MULTIPLY_BROADCAST_SIZE.name(), "0"),
        () -> {
          // Planned anew: the setting is of the session.
          Dataset<Row> planned = c.select("*");
          String text = explained(planned);
          assertTrue(text.contains(" FLOAT " + name), text);
          TestProduct.assertProduct(a, b, planned); // runs it once; twice would reset the metrics
          SparkPlan plan = plan(planned).executedPlan();
          List<ShuffleExchangeExec> exchanges = PlanNodes.all(plan, ShuffleExchangeExec.class);
          exchanges.removeIf(
              exchange ->
                  ScalaInterop.<Attribute>list(exchange.output()).stream()
                      .noneMatch(column -> column.dataType() instanceof ArrayType));
          int moved = 0;
          List<Long> measured = new ArrayList<>();
          for (ShuffleExchangeExec exchange : exchanges) {
            int width = exchange.output().size();
            if (width == 9 || exchange.output().head().name().equals("cuboid")) {
              moved++;
              measured.add(exchange.metrics().apply("dataSize").value());
            }
          }
          assertEquals(own, moved, plan::toString);
          assertTrue(exchanges.size() - moved >= before, plan::toString);
          MultiplyPanelsExec node = PlanNodes.all(plan, MultiplyPanelsExec.class).get(0);
          List<Long> predicted = new ArrayList<>();
          if (node.prediction().partialBytes() > 0) {
            predicted.add(node.prediction().partialBytes());
          }
          if (node.prediction().operandBytes() > 0) {
            predicted.add(node.prediction().operandBytes());
          }
          assertEquals(predicted.size(), measured.size(), plan::toString);
          for (int i = 0; i < predicted.size(); i++) {
            MultiplyPlanTest.assertNear(name + "\n" + plan, predicted.get(i), measured.get(i));
          }
        });
  }

  @Test
  void aBlockThatIsNotWhereItsPlaceSaysIsNamed() {
    TestProduct a = random(60, 16, 64);
    TestProduct b = random(16, 12, 65);
    Dataset<Row> whole = a.onGrid(spark, 20, 16);
    Dataset<Row> stale =
        saying(whole.where("row < 40").union(a.frame(spark, 10, 16).where("row >= 40")), whole)
            .repartition(3, new Column("row"));
    with(
        Map.of(TileSparkConf.MULTIPLY_BROADCAST_SIZE.name(), "0"),
        () -> {
          Dataset<Row> c =
              inPlace(
                  p ->
                      MatrixBlocks.multiply(
                          stale, b.frame(spark, 8, 8), TestProduct.cuboid(p, 1, 1)));
          // One task finds it where it should not be, another misses it.
          assertFails(
              c::collect,
              "matrix A: ",
              " at row 50, col 0",
              "tilespark.blockShape",
              "withoutExtents");
          TestProduct.assertProduct(
              a,
              b,
              MatrixBlocks.multiply(MatrixBlocks.withoutExtents(stale), b.frame(spark, 8, 8)));
        });
  }
}
