package org.tilespark.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.FormattedMode$;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.functions;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.fourier.FourierTestBase;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;
import org.tilespark.spark.testing.Work;

/** Tasks read pieces of cached blocks where the blocks are: nothing goes through an exchange. */
class PiecesInPlaceTest extends SparkTest {
  private static final TestProduct A = TestProduct.random(ElementType.FLOAT32, 70, 90, 1);
  private static final TestProduct B = TestProduct.random(ElementType.FLOAT32, 90, 50, 2);

  @AfterEach
  void clear() {
    spark.catalog().clearCache();
  }

  // ---- products

  /** Bits equal those of an exchange, whatever is cut; K too, then sums are exchanged. */
  @Tag("versions")
  @ParameterizedTest
  @CsvSource({"'cuboid(2,3,1)', 0", "'cuboid(2,2,2)', 1", "'cuboid(1,1,3)', 1"})
  void products(String strategy, int exchanges) {
    MultiplyOptions options = MultiplyOptions.of(Map.of("strategy", strategy));
    Dataset<Row> left = A.stated(A.frame(spark, 20, 25), 20, 25);
    Dataset<Row> right = B.stated(B.frame(spark, 16, 20), 16, 20);
    Dataset<Row> exchanged = MatrixBlocks.multiply(shuffled(left), shuffled(right), options);
    Dataset<Row> a = cached(left);
    Dataset<Row> b = cached(right);
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> product = MatrixBlocks.multiply(a, b, options);
            TestProduct.assertProduct(A, B, product);
            assertEquals(rows(exchanged), rows(product));
            assertInPlace(product, 2, exchanges);
          });
    }
    Dataset<Row> half = MatrixBlocks.multiply(a, shuffled(right), options);
    TestProduct.assertProduct(A, B, half);
    assertInPlace(half, 0, 1 + exchanges);
  }

  @ParameterizedTest
  @EnumSource(
      value = ElementType.class,
      names = {"FLOAT32", "FLOAT64"})
  void transposedOperandsAndGrams(ElementType type) {
    TestProduct m = TestProduct.random(type, 60, 40, 3);
    Dataset<Row> cached = cached(m.frame(spark, 13, 17));
    Dataset<Row> turned =
        MatrixBlocks.multiply(
            MatrixBlocks.transpose(cached),
            cached,
            MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,1)")));
    TestProduct.assertProduct(m.transposed(), m, turned);
    assertNotEquals(0, PlanNodes.all(plan(turned), PiecesInPlaceExec.class).size());
    Dataset<Row> gram =
        MatrixBlocks.gram(cached, MultiplyOptions.of(Map.of("strategy", "cuboid(3,3,1)")));
    TestProduct.assertProduct(m.transposed(), m, gram);
    assertInPlace(gram, 1, 0);
  }

  /** Columns by other names, in another order, and further ones that nobody reads. */
  @Test
  void renamedColumns() {
    MultiplyOptions options = MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,1)"));
    Dataset<Row> a =
        cached(A.frame(spark, 20, 25).withColumn("tag", functions.lit("x")))
            .select("values", "cols", "rows", "col", "row");
    Dataset<Row> b = cached(B.frame(spark, 20, 20));
    Dataset<Row> product = MatrixBlocks.multiply(a, b, options);
    TestProduct.assertProduct(A, B, product);
    assertInPlace(product, 2, 0);
  }

  /** The pieces of several matrices are exchanged, of a text among others. */
  @Test
  void batches() {
    List<Dataset<Row>> sides = new ArrayList<>();
    for (Dataset<Row> side : List.of(A.frame(spark, 20, 25), B.frame(spark, 30, 20))) {
      sides.add(
          cached(
              side.withColumn("name", functions.lit("one"))
                  .union(side.withColumn("name", functions.lit("two")))
                  .union(side.withColumn("name", functions.lit(null).cast("string")))));
    }
    MultiplyOptions options = MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,1)"));
    Dataset<Row> products = MatrixBlocks.multiply(sides.get(0), sides.get(1), options);
    assertEquals(0, PlanNodes.all(plan(products), PiecesInPlaceExec.class).size());
    for (String name : List.of("name = 'one'", "name = 'two'", "name IS NULL")) {
      TestProduct.assertProduct(A, B, products.where(name).drop("name"));
    }
  }

  /** One task checks all places, in the job of a broadcast. */
  @Test
  void placesAreCheckedWithoutAnExchange() {
    Dataset<Row> a = cached(A.stated(A.frame(spark, 20, 25), 20, 25));
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> same = MatrixBlocks.reblock(a, 20, 25);
            assertEquals(1, PlanNodes.all(plan(same), CheckedBlocksExec.class).size());
            Work work = work(() -> same.write().format("noop").mode("overwrite").save());
            assertEquals(
                List.of(2, 2, 0L), List.of(work.jobs(), work.stages(), work.shuffledBytes()));
          });
    }
  }

  private static Work work(Runnable query) {
    try {
      return workOf(query);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void missingBlocksAreZerosOrErrors() {
    Dataset<Row> whole = A.stated(A.frame(spark, 20, 25), 20, 25);
    Dataset<Row> a = cached(saying(whole.where("row != 20 OR col != 25"), whole));
    Dataset<Row> b = cached(B.frame(spark, 20, 20));
    MultiplyOptions options = MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,1)"));
    Dataset<Row> product = MatrixBlocks.multiply(a, b, options);
    assertInPlace(product, 2, 0);
    String reason = reasonOf(() -> product.collectAsList());
    assertTrue(reason.contains("matrix A: no block holds the element at row 20, col 25"), reason);
    Dataset<Row> zeros =
        MatrixBlocks.multiply(
            a, b, MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,1)", "missing", "zero")));
    TestProduct.assertProduct(A.without(20, 25, 20, 25), B, zeros);
    assertInPlace(zeros, 2, 0);
  }

  // ---- re-blocks

  @Tag("versions")
  @ParameterizedTest
  @CsvSource({"9, 11", "70, 7", "1, 90", "64, 64"})
  void reblocks(int rows, int cols) {
    Dataset<Row> blocks = A.stated(A.frame(spark, 20, 25), 20, 25);
    List<String> expected = rows(MatrixBlocks.reblock(shuffled(blocks), rows, cols));
    Dataset<Row> cached = cached(blocks);
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> found = MatrixBlocks.reblock(cached, rows, cols);
            assertEquals(expected, rows(found));
            assertInPlace(found, 1, 0);
          });
    }
  }

  /** Ranges of memory are given to the transform in place, other pieces as copies. */
  @ParameterizedTest
  @ValueSource(strings = {"slabs", "pencils"})
  void transformsOfBricks(String decomposition) {
    TestField field = TestField.random(4, true, 12, 10, 14);
    for (int[] brick : new int[][] {{5, 4, 3}, {12, 10, 3}, {3, 10, 14}}) {
      Dataset<Row> cached =
          cached(
              FourierTestBase.stated(
                  field.blocks(spark, ElementType.FLOAT32, true, brick[0], brick[1], brick[2]),
                  new int[] {12, 10, 14},
                  brick[0],
                  brick[1],
                  brick[2]));
      Dataset<Row> query =
          VolumeBlocks.fft(
              cached, FftOptions.of(Map.of("decomposition", decomposition, "output", "natural")));
      TestField.of(query, 12, 10, 14).assertNear(field.fft("xyz"), ElementType.FLOAT32, "fft");
    }
  }

  @Test
  void complexVolumesAndZeros() {
    TestField field = TestField.random(5, true, 9, 8, 7);
    Dataset<Row> blocks =
        FourierTestBase.stated(
            field.blocks(spark, ElementType.FLOAT64, true, 4, 3, 2), new int[] {9, 8, 7}, 4, 3, 2);
    Dataset<Row> cached = cached(blocks);
    Dataset<Row> found = VolumeBlocks.reblock(cached, 5, 8, 3);
    TestField.of(found, 9, 8, 7).assertNear(field, ElementType.FLOAT64, "re-block");
    assertInPlace(found, 1, 0);
    Dataset<Row> holed = cached(saying(blocks.where("x != 4"), blocks));
    String reason = reasonOf(() -> VolumeBlocks.reblock(holed, 5, 8, 3).collectAsList());
    assertTrue(reason.contains("no block"), reason);
  }

  // ---- defects

  @Test
  void defectsAreFoundAsWithAnExchange() {
    assertDefect(
        blocks -> blocks.union(blocks.where("row = 20 AND col = 25")),
        "two blocks of the input hold the element there");
    assertDefect(
        blocks -> blocks.where("row != 20 OR col != 25"), "no block of the input holds the");
    assertDefect(
        blocks -> blocks.withColumn("col", functions.expr("if(col = 25, 85L, col)")), "col 85");
    assertDefect(
        blocks ->
            blocks.withColumn(
                "values",
                functions.expr(
                    "if(row = 20 AND col = 25, transform(values, (v, i) -> if(i = 3,"
                        + " CAST(NULL AS FLOAT), v)), values)")),
        "block at row 20, col 25: values has a null at element 3");
  }

  private static void assertDefect(UnaryOperator<Dataset<Row>> broken, String place) {
    Dataset<Row> good = A.stated(A.frame(spark, 20, 25), 20, 25);
    Dataset<Row> bad = saying(broken.apply(good), good);
    Dataset<Row> found = MatrixBlocks.reblock(cached(bad), 9, 11);
    assertInPlace(found, 1, 0);
    String reason = reasonOf(() -> found.collectAsList());
    assertTrue(reason.contains(place), reason);
  }

  // ---- what becomes of the cache meanwhile

  @ParameterizedTest
  @ValueSource(strings = {"DISK_ONLY", "MEMORY_ONLY_SER"})
  void otherLevelsAreExchanged(String level) {
    Dataset<Row> blocks = A.stated(A.frame(spark, 20, 25), 20, 25);
    Dataset<Row> kept = blocks.persist(StorageLevel.fromString(level));
    kept.count();
    assertInPlace(MatrixBlocks.reblock(kept, 9, 11), 0, 1);
    kept.unpersist(true);
    Dataset<Row> empty = blocks.cache(); // not filled yet
    assertInPlace(MatrixBlocks.reblock(empty, 9, 11), 0, 1);
  }

  @Test
  void partitionsThatAreLostAreMadeAnew() {
    Dataset<Row> blocks = A.stated(A.frame(spark, 20, 25), 20, 25);
    Dataset<Row> cached = cached(blocks);
    Dataset<Row> planned = MatrixBlocks.reblock(cached, 9, 11);
    List<String> expected = rows(planned);
    Dataset<Row> again = MatrixBlocks.reblock(cached, 9, 11);
    assertInPlace(again, 1, 0);
    lose(cached, 1);
    assertEquals(expected, rows(again));
    lose(cached, 0);
    assertInPlace(MatrixBlocks.reblock(cached, 9, 11), 0, 1);
  }

  private static CountDownLatch begun;
  private static CountDownLatch gone;

  /** Blocks go while tasks are in the middle of their rows; with guarded memory that would show. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void blocksGoWhileTasksReadThem(boolean isUnpersisted) throws Exception {
    Dataset<Row> cached = cached(A.stated(A.frame(spark, 20, 25), 20, 25));
    Dataset<Row> query = MatrixBlocks.reblock(cached, 9, 11);
    List<String> expected = rows(query);
    Dataset<Row> again = MatrixBlocks.reblock(cached, 9, 11);
    assertInPlace(again, 1, 0);
    RDD<?> stored = stored(cached);
    begun = new CountDownLatch(1);
    gone = new CountDownLatch(1);
    List<String> found = new ArrayList<>();
    Thread reader =
        new Thread(
            () ->
                found.addAll(
                    again
                        .map(
                            (MapFunction<Row, String>) PiecesInPlaceTest::slowly, Encoders.STRING())
                        .collectAsList()));
    reader.start();
    assertTrue(begun.await(60, TimeUnit.SECONDS));
    if (isUnpersisted) {
      cached.unpersist(true);
    } else {
      for (int i = 0; i < stored.getNumPartitions(); i++) {
        SparkEnv.get().blockManager().removeBlock(new RDDBlockId(stored.id(), i), true);
      }
    }
    gone.countDown();
    reader.join(120_000);
    assertEquals(expected, found.stream().sorted().toList());
  }

  private static String slowly(Row row) throws InterruptedException {
    begun.countDown();
    assertTrue(gone.await(60, TimeUnit.SECONDS));
    return row.toString();
  }

  // ----

  /** Looking at very many pieces in each task takes longer than an exchange. */
  @Test
  void manySmallPiecesAreExchanged() {
    TestProduct wide = TestProduct.random(ElementType.FLOAT32, 512, 512, 7);
    Dataset<Row> cached = cached(wide.stated(wide.frame(spark, 256, 256), 256, 256));
    assertInPlace(MatrixBlocks.reblock(cached, 128, 128), 1, 0);
    assertInPlace(MatrixBlocks.reblock(cached, 1, 2), 0, 1);
  }

  @Test
  void explainTells() {
    Dataset<Row> cached = cached(A.stated(A.frame(spark, 20, 25), 20, 25));
    String text = plan(MatrixBlocks.reblock(cached, 9, 11)).explainString(FormattedMode$.MODULE$);
    assertTrue(text.contains("\nNo exchange: cached blocks are read in place\n"), text);
    assertFalse(text.contains("\nExchange: "), text);
    assertFalse(text.contains("shuffle predicted"), text);
    Dataset<Row> b = cached(B.frame(spark, 20, 20));
    String product =
        plan(MatrixBlocks.multiply(
                cached, b, MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,1)"))))
            .explainString(FormattedMode$.MODULE$);
    assertTrue(product.contains("\nNo exchange: cached blocks are read in place\n"), product);
    assertFalse(product.contains("\nExchange: "), product);
  }

  /** Counts nodes that read in place, and shuffles. */
  private static void assertInPlace(Dataset<Row> query, int inPlace, int exchanges) {
    assertEquals(
        List.of(inPlace, exchanges),
        List.of(
            PlanNodes.all(plan(query), PiecesInPlaceExec.class).size(),
            PlanNodes.all(
                    plan(query), org.apache.spark.sql.execution.exchange.ShuffleExchangeExec.class)
                .size()),
        () -> explained(query));
  }

  private static Dataset<Row> cached(Dataset<Row> blocks) {
    Dataset<Row> cached = blocks.cache();
    cached.count();
    return cached;
  }

  /** Equal blocks that are not cached: a filter may hide work, and the frame below is another. */
  private static Dataset<Row> shuffled(Dataset<Row> blocks) {
    return saying(blocks.where("rows > 0"), blocks);
  }

  private static RDD<?> stored(Dataset<Row> cached) {
    return PlanNodes.all(plan(cached.selectExpr("*")), InMemoryTableScanExec.class)
        .get(0)
        .relation()
        .cacheBuilder()
        .cachedColumnBuffers();
  }

  private static void lose(Dataset<Row> cached, int partition) {
    SparkEnv.get().blockManager().removeBlock(new RDDBlockId(stored(cached).id(), partition), true);
  }

  private static List<String> rows(Dataset<Row> blocks) {
    return blocks.collectAsList().stream().map(Row::toString).sorted().toList();
  }
}
