package org.tilespark.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.ExtendedMode$;
import org.apache.spark.sql.execution.FormattedMode$;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.functions;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.stage.BlockStageExec;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.Work;

/** Blocks of several arrays meet without an exchange where they are small or at hand. */
class MeetingTest extends SparkTest {
  private static final String PARTITIONS = "spark.sql.shuffle.partitions";

  private String before;

  @BeforeEach
  void partitionsAreNotAskedFor() {
    before = spark.conf().get(PARTITIONS);
    spark.conf().unset(PARTITIONS);
  }

  @AfterEach
  void restore() {
    spark.conf().set(PARTITIONS, before);
    spark.catalog().clearCache();
  }

  // ---- small arrays

  @Tag("versions")
  @Test
  void smallArraysMeetInOneTask() throws Exception {
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> sum = zip(atHand(), atHand());
            assertValues(sum);
            assertEquals(0, exchanges(sum), () -> explained(sum));
            assertEquals(List.of("one task", "one task"), tasksOf(sum));
          });
    }
    Dataset<Row> a = stated(numbers(3)).cache();
    Dataset<Row> b = stated(numbers(2)).cache();
    a.count();
    b.count();
    Work work = workOf(() -> zip(a, b).collectAsList());
    assertEquals(List.of(1, 1), List.of(work.jobs(), work.tasks()));
  }

  @Test
  void askedPartitionsAreObeyed() {
    spark.conf().set(PARTITIONS, "3");
    Dataset<Row> sum = zip(atHand(), atHand());
    assertValues(sum);
    assertEquals(0, tasksOf(sum).size());
    Dataset<Row> cached = zip(cached(stated(numbers(3))), cached(stated(numbers(2))));
    assertValues(cached);
    assertEquals(List.of("3 tasks", "3 tasks"), tasksOf(cached));
  }

  // ---- cached frames

  @Tag("versions")
  @Test
  void cachedBlocksAreReadInPlaceByEachTask() throws Exception {
    Dataset<Row> a = cached(big(5));
    Dataset<Row> b = cached(big(3));
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> sum = zip(a, b);
            assertEquals(64, sum.where("size(values) = rows * cols").count());
            assertEquals(rows(exchanged(a, b)), rows(zip(a, b)));
            assertEquals(0, exchanges(zip(a, b)), () -> explained(zip(a, b)));
          });
    }
    Work work = workOf(() -> write(zip(a, b)));
    assertEquals(1, work.jobs());
    assertTrue(work.tasks() > 1 && work.tasks() <= 16, work::toString);
  }

  /** Frames that are not known to be in this process's memory go through an exchange. */
  @ParameterizedTest
  @ValueSource(strings = {"DISK_ONLY", "MEMORY_ONLY_SER", "MEMORY_AND_DISK_SER"})
  void otherLevelsAreExchanged(String level) {
    Dataset<Row> a = big(3).persist(StorageLevel.fromString(level));
    a.count();
    Dataset<Row> sum = zip(a, cached(big(2)));
    assertEquals(64, sum.count());
    assertNotEquals(0, exchanges(sum), () -> explained(sum));
  }

  @Test
  void whatIsNotFilledYetIsExchanged() {
    Dataset<Row> b = cached(big(2));
    Dataset<Row> a = big(3).cache();
    Dataset<Row> first = zip(a, b);
    assertEquals(64, first.collectAsList().size());
    assertNotEquals(0, exchanges(first), () -> explained(first));
    Dataset<Row> second = zip(a, b);
    assertEquals(rows(first), rows(second));
    assertEquals(0, exchanges(second), () -> explained(second));
  }

  @Test
  void partitionsThatAreLost() {
    Dataset<Row> a = big(3).persist(StorageLevel.MEMORY_ONLY());
    Dataset<Row> b = cached(big(2));
    assertEquals(64, a.count());
    List<String> expected = rows(exchanged(a, b));
    Dataset<Row> planned = zip(a, b);
    assertEquals(0, exchanges(planned), () -> explained(planned));
    lose(a, 1);
    assertEquals(expected, rows(planned)); // which made it anew
    lose(a, 1);
    Dataset<Row> after = zip(a, b);
    assertNotEquals(0, exchanges(after), () -> explained(after));
    assertEquals(expected, rows(after));
  }

  private static void lose(Dataset<Row> cached, int partition) {
    Dataset<Row> read = cached.selectExpr("*");
    RDD<?> stored =
        PlanNodes.all(plan(read), InMemoryTableScanExec.class)
            .get(0)
            .relation()
            .cacheBuilder()
            .cachedColumnBuffers();
    SparkEnv.get().blockManager().removeBlock(new RDDBlockId(stored.id(), partition), true);
  }

  /** Rows stay views of the cache whatever the columns are called and in which order they are. */
  @Test
  void renamedAndDroppedColumns() {
    Dataset<Row> a = cached(big(3).withColumn("tag", lit("x")));
    Dataset<Row> b = cached(big(2).withColumn("tag", lit("x")));
    List<String> expected = rows(exchanged(a.drop("tag"), b.drop("tag")));
    Dataset<Row> dropped = zip(a.drop("tag"), b.drop("tag"));
    assertEquals(expected, rows(dropped));
    assertEquals(0, exchanges(dropped), () -> explained(dropped));
    Dataset<Row> stated =
        zip(restated(a.drop("tag")), restated(b.select("values", "cols", "rows", "col", "row")));
    assertEquals(expected, rows(stated));
    assertEquals(0, exchanges(stated), () -> explained(stated));
    PlanNodes.all(plan(stated), InMemoryTableScanExec.class)
        .forEach(scan -> assertEquals(6, scan.output().size(), () -> explained(stated)));
    assertEquals(0, exchanges(zip(a, a)), () -> explained(zip(a, a)));
    assertEquals(64, zip(a, a).collectAsList().size());
  }

  private static org.apache.spark.sql.Column lit(Object value) {
    return org.apache.spark.sql.functions.lit(value);
  }

  /** Arrays of a batch, distinguished by numbers among which are both zeros and NaN. */
  @Test
  void batches() {
    List<Dataset<Row>> sides = new ArrayList<>();
    for (int side = 0; side < 2; side++) {
      Dataset<Row> blocks = big(3);
      sides.add(
          cached(
              blocks
                  .withColumn("x", lit(side == 0 ? 0.0 : -0.0))
                  .union(blocks.withColumn("x", lit(Double.NaN)))
                  .union(blocks.withColumn("x", lit(2.5)))
                  .coalesce(4 + side)));
    }
    Dataset<Row> sum = zip(sides.get(0), sides.get(1));
    assertEquals(3 * 64, sum.collectAsList().size());
    assertEquals(0, exchanges(sum), () -> explained(sum));
    assertEquals(rows(exchanged(sides.get(0), sides.get(1))), rows(sum));
  }

  /** Of arrays whose cut nobody states, places are compared first; then they are read in place. */
  @Test
  void raggedTilings() {
    TestArray array = TestArray.volume(ElementType.FLOAT32, 17, 31, 13, 5, 7, 1);
    Dataset<Row> a = cached(array.toDataFrame(spark, 4).drop("tag"));
    Dataset<Row> b = cached(array.toDataFrame(spark, 3).drop("tag"));
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> sum = VolumeBlocks.zip(a, b, "a * 2 + b");
            assertEquals(array.blockCount(), sum.collectAsList().size());
            assertEquals(0, exchanges(sum), () -> explained(sum));
            asked("7", () -> assertEquals(rows(sum), rows(VolumeBlocks.zip(a, b, "2 * a + b"))));
          });
    }
  }

  @Test
  void arraysThatMeetTurned() {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 60, 40, 20, 10);
    Dataset<Row> a = cached(array.toDataFrame(spark, 4).drop("tag"));
    Dataset<Row> turned = cached(MatrixBlocks.transpose(a));
    Dataset<Row> sum = MatrixBlocks.zip(a, MatrixBlocks.transpose(turned), "a - b");
    assertEquals(0, sum.selectExpr("explode(values) v").where("v != 0").count());
    assertEquals(0, exchanges(sum), () -> explained(sum));
  }

  /** Spark sees how the rows are partitioned, so that it need not bring them together again. */
  @Test
  void whatFollowsFindsItsRows() {
    Dataset<Row> a = cached(big(3));
    Dataset<Row> counted = zip(a, cached(big(2))).groupBy("row", "col").count().where("count = 1");
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () -> {
          assertEquals(64, counted.collectAsList().size());
          assertEquals(0, PlanNodes.all(plan(counted), ShuffleExchangeExec.class).size());
        });
  }

  /** Programs below are in the same stage, and the check of places below them. */
  @Test
  void whatIsComputedOfCachedBlocks() {
    Dataset<Row> a = cached(big(3));
    Dataset<Row> b = cached(big(2));
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> sum =
                zip(restated(MatrixBlocks.scale(MatrixBlocks.map(a, "v + 1"), 2)), b);
            assertEquals(0, exchanges(sum), () -> explained(sum));
            assertEquals(1, PlanNodes.all(plan(sum), BlockStageExec.class).size());
            assertEquals(rows(MatrixBlocks.zip(a, b, "(a + 1) * 4 + b")), rows(sum));
            Dataset<Row> turned = zip(MatrixBlocks.transpose(a), MatrixBlocks.transpose(b));
            assertEquals(0, exchanges(turned), () -> explained(turned));
            assertEquals(1, PlanNodes.all(plan(turned), BlockStageExec.class).size());
            assertEquals(rows(zip(a, b)), rows(MatrixBlocks.transpose(turned)));
            Dataset<Row> hole = saying(a.where("row != 160"), a);
            assertTrue(
                reasonOf(() -> write(zip(MatrixBlocks.map(hole, "v + 1"), hole)))
                    .contains("no block at row 160, col 0"));
          });
    }
  }

  // ---- checks

  @Test
  void defectsAreFoundAsWithAnExchange() {
    assertDefect(blocks -> blocks.where("row != 40 or col != 20"), "row 40, col 20");
    assertDefect(blocks -> blocks.union(blocks.where("row = 40 and col = 20")), "row 40, col 20");
    assertDefect(
        blocks ->
            blocks
                .withColumn("col", functions.expr("if(row = 20 and col = 20, 21L, col)"))
                .coalesce(3),
        "row 20, col 21");
  }

  /** Each of several arrays is checked by one of the tasks. */
  @Test
  void aHoleOfAnyOfSeveralArraysIsFound() {
    Dataset<Row> blocks =
        spark
            .range(0, 28, 1, 3)
            .selectExpr(
                "id div 4 AS array",
                "(id div 2 % 2) * 20 AS row",
                "(id % 2) * 20 AS col",
                "20 AS rows",
                "20 AS cols",
                "transform(sequence(1, 400), i -> CAST(i + id AS DOUBLE)) AS values");
    Dataset<Row> whole = cached(stated(blocks, Shape.of(40, 40), Shape.of(20, 20)));
    asked(
        "3",
        () -> {
          assertEquals(List.of("3 tasks", "3 tasks"), tasksOf(zip(whole, whole)));
          assertEquals(28, zip(whole, whole).where("size(values) = 400").count());
        });
    for (int array = 0; array < 7; array++) {
      Dataset<Row> holed =
          cached(
              stated(
                  blocks.where("array != " + array + " OR row != 20 OR col != 0"),
                  Shape.of(40, 40),
                  Shape.of(20, 20)));
      asked(
          "3",
          () -> {
            String reason = reasonOf(() -> write(zip(holed, holed)));
            assertTrue(reason.contains("no block at row 20, col 0"), reason);
          });
      holed.unpersist(true);
    }
  }

  /** Both arrays have the defect, so that only the check of all blocks can see it. */
  private static void assertDefect(UnaryOperator<Dataset<Row>> broken, String place) {
    Dataset<Row> good = stated(numbers(3));
    Dataset<Row> a = saying(broken.apply(good), good);
    String reason = null;
    for (boolean isCached : new boolean[] {false, true}) {
      for (String partitions : List.of("default", "3")) {
        Dataset<Row> operand = isCached ? cached(a) : a;
        if (!partitions.equals("default")) {
          spark.conf().set(PARTITIONS, partitions);
        }
        Dataset<Row> sum = zip(operand, operand);
        String found = reasonOf(() -> write(sum));
        assertEquals(isCached ? 2 : 0, tasksOf(sum).size(), () -> explained(sum));
        assertTrue(found.contains(place), found);
        assertEquals(reason == null ? found : reason, found);
        reason = found;
        spark.conf().unset(PARTITIONS);
        if (isCached) {
          operand.unpersist(true);
        }
      }
    }
  }

  // ---- exchanges

  @Test
  void anExchangeHasPartitionsForItsBytes() {
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () -> {
          Dataset<Row> sum = zip(big(3).where("rows > 0"), big(2).where("cols > 0"));
          assertEquals(64, sum.collectAsList().size());
          List<ShuffleExchangeExec> found = PlanNodes.all(plan(sum), ShuffleExchangeExec.class);
          List<Integer> counts =
              found.stream()
                  .filter(each -> each.schema().getFieldIndex("values").isDefined())
                  .filter(each -> each.toString().contains("hashpartitioning"))
                  .map(ShuffleExchangeExec::numPartitions)
                  .toList();
          assertEquals(2, counts.size(), () -> explained(sum));
          assertEquals(counts.get(0), counts.get(1));
          assertTrue(counts.get(0) < 200, counts::toString);
        });
  }

  @Test
  void explainTells() {
    Dataset<Row> a = cached(big(3));
    Dataset<Row> sum = zip(a, a);
    String plan = plan(sum).explainString(ExtendedMode$.MODULE$);
    assertTrue(plan.contains(" tasks by (row, col), checked as matrix blocks of (80, 80)"), plan);
    String formatted = plan(sum).explainString(FormattedMode$.MODULE$);
    assertTrue(formatted.contains("\nNo exchange: cached blocks are read in place\n"), formatted);
    assertFalse(formatted.contains("\nExchange: "), formatted);
    Dataset<Row> small = zip(atHand(), atHand());
    assertTrue(
        plan(small)
            .explainString(FormattedMode$.MODULE$)
            .contains("\nNo exchange: the arrays are small\n"));
  }

  // ----

  private static Dataset<Row> zip(Dataset<Row> a, Dataset<Row> b) {
    return MatrixBlocks.zip(a, b, "a * 2 + b");
  }

  /** The sum by an exchange, since a filter may hide work. */
  private static Dataset<Row> exchanged(Dataset<Row> a, Dataset<Row> b) {
    Dataset<Row> sum = zip(a.where("rows > 0"), b.where("rows > 0"));
    assertNotEquals(0, exchanges(sum), () -> explained(sum));
    return sum;
  }

  private static Dataset<Row> numbers(int partitions) {
    return TestArray.matrix(ElementType.FLOAT64, 50, 70, 20, 20)
        .toDataFrame(spark, partitions)
        .drop("tag");
  }

  private static Dataset<Row> atHand() {
    Dataset<Row> numbers = numbers(1);
    return stated(spark.createDataFrame(numbers.collectAsList(), numbers.schema()));
  }

  /** 8 x 8 blocks that Spark makes, 3 MiB: two are more than one task takes. */
  private static Dataset<Row> big(int partitions) {
    Dataset<Row> blocks =
        spark
            .range(0, 64, 1, partitions)
            .selectExpr(
                "(id div 8) * 80 AS row",
                "(id % 8) * 80 AS col",
                "80 AS rows",
                "80 AS cols",
                "transform(sequence(1, 6400), i -> CAST(i * 1000 + id AS DOUBLE)) AS values");
    return restated(blocks);
  }

  private static Dataset<Row> restated(Dataset<Row> big) {
    return stated(big, Shape.of(640, 640), Shape.of(80, 80));
  }

  private static Dataset<Row> stated(Dataset<Row> blocks) {
    return stated(blocks, Shape.of(50, 70), Shape.of(20, 20));
  }

  private static Dataset<Row> stated(Dataset<Row> blocks, Shape extents, Shape blockShape) {
    return blocks.withMetadata(
        "values",
        ArrayMetadata.empty().withExtents(extents).withBlockShape(blockShape).toMetadata());
  }

  private static Dataset<Row> cached(Dataset<Row> blocks) {
    Dataset<Row> cached = blocks.cache();
    cached.count();
    return cached;
  }

  private static void assertValues(Dataset<Row> sum) {
    for (Row block : sum.collectAsList()) {
      List<Double> values = block.getList(block.fieldIndex("values"));
      int cols = block.getInt(3);
      for (int i = 0; i < values.size(); i++) {
        long at = (block.getLong(0) + i / cols) * 70 + block.getLong(1) + i % cols;
        assertEquals(3 * (at / 8.0), values.get(i));
      }
    }
    assertEquals(12, sum.count());
  }

  private static void asked(String partitions, Runnable body) {
    spark.conf().set(PARTITIONS, partitions);
    try {
      body.run();
    } finally {
      spark.conf().unset(PARTITIONS);
    }
  }

  private static void write(Dataset<Row> df) {
    df.write().format("noop").mode("overwrite").save();
  }

  /** In the order of their text, with digests of their values. */
  private static List<String> rows(Dataset<Row> df) {
    List<String> rows = new ArrayList<>();
    df.withColumn("values", org.apache.spark.sql.functions.xxhash64(df.col("values")))
        .collectAsList()
        .forEach(row -> rows.add(row.toString().replace("-0.0", "0.0")));
    rows.sort(Comparator.naturalOrder());
    return rows;
  }

  /** All exchanges, of blocks or of checks. */
  private static int exchanges(Dataset<Row> df) {
    return PlanNodes.all(plan(df), Exchange.class).size();
  }

  private static List<String> tasksOf(Dataset<Row> df) {
    return PlanNodes.all(plan(df), GatherRowsExec.class).stream()
        .map(
            node ->
                node.simpleString(100)
                    .replaceFirst("GatherRows into (one task|\\d+ tasks).*", "$1"))
        .toList();
  }
}
