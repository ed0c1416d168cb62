package org.tilespark.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.Work;

/** How many tasks block operators have where the user has not asked for a count of partitions. */
class FewerTasksTest extends SparkTest {
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
  }

  @Test
  void aTinyCachedMatrixIsReblockedByOneTask() throws Exception {
    Dataset<Row> blocks = cached(MatrixBlocks.withExtents(matrix(32, 48, 8), 32, 48));
    try {
      for (Map<String, String> mode : executionModes()) {
        with(
            mode,
            () -> {
              Dataset<Row> other = MatrixBlocks.reblock(blocks, 16, 24);
              List<String> rows = rows(other);
              assertEquals(1, gathers(other));
              assertEquals(0, exchanges(other).size());
              asked("3", () -> assertExchanged(rows, blocks));
            });
      }
      assertEquals(1, tasks(() -> MatrixBlocks.reblock(blocks, 16, 24).collectAsList()));
    } finally {
      blocks.unpersist(true);
    }
  }

  /** A cache that is filled says how large the array is; its extents are found in the same task. */
  @Test
  void extentsNeedNotBeStated() throws Exception {
    Dataset<Row> source = matrix(32, 48, 8);
    Dataset<Row> blocks = cached(source);
    try {
      for (Map<String, String> mode : executionModes()) {
        with(
            mode,
            () -> {
              Dataset<Row> other = MatrixBlocks.reblock(blocks, 16, 24);
              List<String> rows = rows(other);
              assertEquals(1, gathers(other));
              assertEquals(0, exchanges(other).size());
              asked("3", () -> assertEquals(rows, rows(MatrixBlocks.reblock(blocks, 16, 24))));
              Dataset<Row> zeros = MatrixBlocks.reblock(blocks, 16, 24, Missing.ZERO);
              assertEquals(0, gathers(zeros), "there may be any count of zeros");
              assertEquals(rows, rows(zeros));
            });
      }
      assertEquals(1, tasks(() -> MatrixBlocks.reblock(blocks, 16, 24).collectAsList()));
      Dataset<Row> holed = cached(source.where("row <> 8 OR col <> 0"));
      assertMissing("row 8, col 0", () -> MatrixBlocks.reblock(holed, 16, 24));
      holed.unpersist(true);
    } finally {
      blocks.unpersist(true);
    }
    assertEquals(0, gathers(MatrixBlocks.reblock(source, 16, 24)), "nobody knows how large it is");
  }

  /** In as many partitions as are asked for, whoever brings the pieces. */
  private static void assertExchanged(List<String> rows, Dataset<Row> blocks) {
    for (boolean isInPlace : new boolean[] {false, true}) {
      Dataset<Row> asked = MatrixBlocks.reblock(isInPlace ? blocks : hidden(blocks), 16, 24);
      assertEquals(rows, rows(asked));
      assertEquals(0, gathers(asked));
      assertEquals(isInPlace ? List.of() : List.of(3), exchanges(asked));
      if (isInPlace) { // adaptive execution joins partitions of an exchange
        assertEquals(3, asked.rdd().getNumPartitions());
      }
    }
  }

  /** Cached blocks that no task finds in place, since a filter may hide some. */
  private static Dataset<Row> hidden(Dataset<Row> blocks) {
    return saying(blocks.where("rows > 0"), blocks);
  }

  @Test
  void aTinyTransformIsOneTask() throws Exception {
    Dataset<Row> blocks =
        cached(
            VolumeBlocks.withExtents(
                TestArray.volume(ElementType.FLOAT32, 16, 12, 10, 4, 12, 10)
                    .withImag()
                    .toDataFrame(spark, 3)
                    .drop("tag"),
                16,
                12,
                10));
    try {
      for (String decomposition : List.of("slabs", "pencils")) {
        FftOptions options = FftOptions.defaults().withDecomposition(decomposition);
        Dataset<Row> spectrum = VolumeBlocks.fft(blocks, options);
        List<String> rows = rows(spectrum);
        assertEquals(0, exchanges(spectrum).size(), decomposition);
        assertEquals(1, tasks(() -> VolumeBlocks.fft(blocks, options).collectAsList()));
        asked(
            "3", () -> assertEquals(rows, rows(VolumeBlocks.fft(blocks, options)), decomposition));
      }
    } finally {
      blocks.unpersist(true);
    }
  }

  /** One task multiplies them anyway: it reads the pieces itself. */
  @Test
  void aTinyProductIsOneTask() throws Exception {
    Dataset<Row> blocks = cached(MatrixBlocks.withExtents(matrix(32, 48, 8), 32, 48));
    try {
      List<Supplier<Dataset<Row>>> products =
          List.of(
              () -> MatrixBlocks.multiply(blocks, MatrixBlocks.transpose(blocks)),
              () -> MatrixBlocks.gram(blocks),
              () -> MatrixBlocks.knn(blocks, blocks, 2, Metric.COSINE));
      for (Supplier<Dataset<Row>> product : products) {
        for (Map<String, String> mode : executionModes()) {
          with(
              mode,
              () -> {
                List<String> rows = rows(product.get());
                assertEquals(1, gathers(product.get()));
                assertEquals(0, exchanges(product.get()).size());
                asked("3", () -> assertEquals(rows, rows(product.get())));
                asked("3", () -> assertEquals(0, gathers(product.get())));
              });
        }
        assertEquals(1, tasks(() -> product.get().collectAsList()));
      }
      Dataset<Row> chained = MatrixBlocks.multiply(products.get(1).get(), products.get(1).get());
      assertEquals(2, gathers(chained), "of the products below, which are work of their own");
    } finally {
      blocks.unpersist(true);
    }
  }

  /** Adaptive execution would run each shuffle as a job, and plan the rest of the query anew. */
  @Test
  void aPlannedShuffleIsInTheJobOfItsReader() {
    Dataset<Row> source = cached(MatrixBlocks.withExtents(matrix(32, 48, 8), 32, 48));
    Dataset<Row> blocks = hidden(source);
    Supplier<Dataset<Row>> product =
        () -> MatrixBlocks.multiply(blocks, MatrixBlocks.transpose(blocks));
    try {
      for (Map<String, String> mode : executionModes()) {
        with(
            mode,
            () ->
                asked(
                    "3",
                    () -> {
                      assertOneJob(2, product);
                      assertOneJob(2, () -> MatrixBlocks.gram(blocks));
                    }));
      }
      asked("3", () -> assertPlannedShufflesInStages(product));
    } finally {
      source.unpersist(true);
    }
  }

  /** The plan is adaptive if Spark's nodes need exchanges, and ours are parts of its stages. */
  private static void assertPlannedShufflesInStages(Supplier<Dataset<Row>> query) {
    Dataset<Row> product = query.get();
    List<String> rows = rows(product);
    Dataset<Row> joined =
        product.join(
            product.selectExpr("row", "col").hint("merge"),
            ScalaInterop.seq("row", "col"),
            "inner");
    assertEquals(rows.size(), joined.collectAsList().size());
    assertEquals(rows, rows(product.repartition(2)));
  }

  private static void assertOneJob(int stages, Supplier<Dataset<Row>> query) {
    try {
      Work work = workOf(() -> query.get().collectAsList());
      assertEquals(1, work.jobs());
      assertEquals(stages, work.stages());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** One task that reads no row at all still says what is missing, or takes it for zeros. */
  @Test
  void oneTaskOfNoBlocks() throws Exception {
    Dataset<Row> some = MatrixBlocks.withExtents(matrix(32, 48, 8), 32, 48);
    for (String nothing : List.of("row < 0", "size(values) < 0")) {
      Dataset<Row> none = MatrixBlocks.withExtents(some.where(nothing), 32, 48);
      Dataset<Row> across = MatrixBlocks.transpose(some);
      MultiplyOptions zero = MultiplyOptions.defaults().withMissing(Missing.ZERO);
      for (Map<String, String> mode : executionModes()) {
        with(
            mode,
            () -> {
              String element = "no block holds the element at row 0, col 0";
              assertMissing(element, () -> MatrixBlocks.gram(none));
              assertMissing(element, () -> MatrixBlocks.multiply(none, across));
              assertMissing(
                  element, () -> MatrixBlocks.multiply(none, MatrixBlocks.transpose(none)));
              assertMissing(element, () -> MatrixBlocks.knn(none, some, 2, Metric.COSINE));
              assertMissing(
                  "no block of the input holds the 16 x 24 elements from there",
                  () -> MatrixBlocks.reblock(none, 16, 24));
              assertZeros(48 * 48, MatrixBlocks.gram(none, zero));
              assertZeros(32 * 32, MatrixBlocks.multiply(none, across, zero));
              assertZeros(32 * 48, MatrixBlocks.reblock(none, 16, 24, Missing.ZERO));
            });
      }
    }
  }

  private static void assertMissing(String why, Supplier<Dataset<Row>> result) {
    Exception refused = assertThrows(Exception.class, () -> result.get().collectAsList());
    assertTrue(refused.toString().contains(why), refused::toString);
  }

  private static void assertZeros(int elements, Dataset<Row> result) {
    Row found =
        result
            .selectExpr("explode(values) v")
            .selectExpr("count(v)", "count_if(v <> 0)")
            .collectAsList()
            .get(0);
    assertEquals(elements, found.getLong(0));
    assertEquals(0, found.getLong(1));
  }

  /** Runs with a count that is asked for, and unsets it: {@code with} would set the default. */
  private static void asked(String partitions, Runnable body) {
    spark.conf().set(PARTITIONS, partitions);
    try {
      body.run();
    } finally {
      spark.conf().unset(PARTITIONS);
    }
  }

  /** Whatever is not known to be small and at hand is exchanged. */
  @Test
  void whatMayCostMoreIsExchanged() {
    Dataset<Row> stated = MatrixBlocks.withExtents(matrix(32, 48, 8), 32, 48);
    assertExchangedOnce(MatrixBlocks.reblock(stated.filter("rows > 0"), 16, 24), 1);
    assertExchangedOnce(
        MatrixBlocks.reblock(
            stated.selectExpr("row", "col", "rows", "cols", "transform(values, x -> x) values"),
            16,
            24),
        200); // of no extents: Spark's default
    Dataset<Row> notYet = stated.cache();
    try {
      assertExchangedOnce(MatrixBlocks.reblock(notYet, 16, 24), 1);
    } finally {
      notYet.unpersist(true);
    }
    Dataset<Row> product = MatrixBlocks.multiply(stated, MatrixBlocks.transpose(stated));
    assertEquals(0, gathers(MatrixBlocks.reblock(product, 5, 7)));
  }

  private static void assertExchangedOnce(Dataset<Row> other, int partitions) {
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () -> {
          other.collectAsList();
          assertEquals(0, gathers(other));
          assertEquals(List.of(partitions), exchanges(other));
        });
  }

  /** Blocks of arrays that further columns distinguish are of an unknown number. */
  @Test
  void severalArraysHaveSparksCount() {
    Dataset<Row> tagged =
        MatrixBlocks.withExtents(
            TestArray.matrix(ElementType.FLOAT32, 32, 48, 8, 8)
                .toDataFrame(spark, 3)
                .selectExpr("row", "col", "rows", "cols", "values", "'a' AS which"),
            32,
            48);
    assertExchangedOnce(MatrixBlocks.reblock(tagged, 16, 24), 200);
  }

  @Test
  void largerArraysUseAllCores() {
    int extent = 2048; // 16 MiB
    Dataset<Row> blocks = MatrixBlocks.withExtents(matrix(extent, extent, 512), extent, extent);
    Dataset<Row> other = MatrixBlocks.reblock(blocks, 256, extent);
    List<String> rows = rows(other);
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () -> {
          Dataset<Row> again = MatrixBlocks.reblock(blocks, 256, extent);
          assertEquals(rows, rows(again));
          int count = exchanges(again).get(0);
          assertTrue(count >= 4 && count <= 16, "partitions: " + count);
        });
  }

  /** As a hash leaves few blocks: most partitions are empty, and no task reads these alone. */
  @Test
  void emptyCachedPartitionsHaveNoTasks() throws Exception {
    int extent = 2560; // 25 MiB
    Dataset<Row> blocks = MatrixBlocks.withExtents(matrix(extent, extent, 640), extent, extent);
    List<String> sums = rows(MatrixBlocks.sum(blocks, "row"));
    List<String> products = rows(MatrixBlocks.multiply(blocks, blocks));
    Dataset<Row> cached = cached(blocks.repartition(60));
    try {
      for (Map<String, String> mode : executionModes()) {
        with(
            mode,
            () -> {
              assertEquals(sums, rows(MatrixBlocks.sum(cached, "row")));
              assertEquals(products, rows(MatrixBlocks.multiply(cached, cached)));
            });
      }
      int tasks = tasks(() -> MatrixBlocks.sum(cached, "row").collectAsList());
      assertTrue(tasks <= 32, "tasks: " + tasks);
    } finally {
      cached.unpersist(true);
    }
  }

  /** The driver starts tasks one after another: none only cuts cached blocks. */
  @Test
  void cachedBlocksThatAreOnlyCutNeedNoTasks() throws Exception {
    int extent = 2560; // 25 MiB, in 64 blocks
    Dataset<Row> blocks = MatrixBlocks.withExtents(matrix(extent, extent, 320), extent, extent);
    Dataset<Row> cached = cached(blocks.repartition(64));
    try {
      Dataset<Row> inPlace = MatrixBlocks.reblock(cached, 512, 640);
      assertEquals(List.of(), exchanges(inPlace));
      assertTrue(tasks(() -> inPlace.collectAsList()) <= 20);
    } finally {
      cached.unpersist(true);
    }
  }

  private static Dataset<Row> matrix(int rows, int cols, int block) {
    return TestArray.matrix(ElementType.FLOAT32, rows, cols, block, block)
        .toDataFrame(spark, 3)
        .drop("tag");
  }

  private static Dataset<Row> cached(Dataset<Row> blocks) {
    Dataset<Row> cached = blocks.cache();
    cached.count();
    return cached;
  }

  /** In the order of their text, which has all bits of their values. */
  private static List<String> rows(Dataset<Row> df) {
    List<String> rows = new ArrayList<>();
    df.collectAsList().forEach(row -> rows.add(row.toString()));
    rows.sort(Comparator.naturalOrder());
    return rows;
  }

  private static int gathers(Dataset<Row> df) {
    return PlanNodes.all(plan(df), GatherRowsExec.class).size();
  }

  private static List<Integer> exchanges(Dataset<Row> df) {
    return PlanNodes.all(plan(df), ShuffleExchangeExec.class).stream()
        .filter(exchange -> exchange.schema().getFieldIndex("values").isDefined())
        .filter(exchange -> exchange.outputPartitioning() instanceof HashPartitioning)
        .map(ShuffleExchangeExec::numPartitions)
        .toList();
  }

  private static int tasks(Runnable query) throws Exception {
    return workOf(query).tasks();
  }
}
