package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.multiply.scores.Scores;
import org.tilespark.spark.multiply.scores.Scores.Found;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/**
 * Nearest neighbours and pairs, against plain loops over all pairs; scores are equal bit by bit.
 */
class NeighboursTest extends SparkTest {
  /** Tasks hold few vectors, so that both sides are cut into several parts. */
  private static final Map<String, String> SMALL_TASKS =
      Map.of(
          TileSparkConf.MULTIPLY_TILE_SIZE.name(), "4k", TileSparkConf.BATCH_SIZE.name(), "128b");

  @Test
  void allMetricsTypesAndTilings() {
    int round = 0;
    for (ElementType type : MultiplyBlocksTest.TYPES) {
      TestProduct a = TestProduct.random(type, 37, 23, 1);
      TestProduct b = TestProduct.random(type, 151, 23, 2);
      List<Dataset<Row>> queries =
          List.of(a.frame(spark, 7, 5), a.frame(spark, a.raggedBlocks(11, 3), 4));
      List<Dataset<Row>> vectors =
          List.of(b.frame(spark, 40, 23), b.frame(spark, b.raggedBlocks(19, 4), 2));
      for (Metric metric : Metric.values()) {
        for (int i = 0; i < 2; i++) {
          Dataset<Row> q = queries.get(i);
          Dataset<Row> d = vectors.get(i);
          int k = List.of(1, 5, 151, 1000).get(round++ % 4);
          assertNearest(a, b, k, metric, MatrixBlocks.knn(q, d, k, metric));
          with(
              SMALL_TASKS,
              () -> {
                assertNearest(a, b, k, metric, MatrixBlocks.knn(q, d, k, metric));
                double threshold = metric == Metric.EUCLIDEAN ? 6 : 0.25;
                assertPairs(
                    a, b, threshold, metric, MatrixBlocks.pairsAbove(q, d, threshold, metric));
              });
        }
      }
    }
  }

  @Test
  void candidatesOfSeveralTasksAreMerged() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 20, 24, 7);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 200, 24, 8);
    for (Map<String, String> mode : sampledModes()) {
      Map<String, String> settings = new HashMap<>(mode);
      settings.putAll(SMALL_TASKS);
      with(
          settings,
          () -> {
            Dataset<Row> found =
                MatrixBlocks.knn(a.frame(spark, 6, 6), b.frame(spark, 30, 24), 9, Metric.COSINE);
            assertNearest(a, b, 9, Metric.COSINE, found);
            String plan = explained(found);
            assertTrue(plan.contains("reduced to 9 nearest by cosine"), plan);
            assertTrue(plan.contains("MergeNeighbours 9 nearest by cosine"), plan);
          });
    }
  }

  /** The smaller side goes to all tasks, the vectors of the larger one stay where they are. */
  @Test
  void oneSideIsBroadcast() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 30, 24, 7);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 400, 24, 8);
    TestProduct queries = new TestProduct(ElementType.FLOAT64, a.rows(), a.cols(), a.values());
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> q = queries.frame(spark, 7, 5);
            List<Row> strips = new ArrayList<>(b.blocks(10, 24).subList(0, 15));
            strips.addAll(b.blocks(75, 24).subList(2, 6));
            Dataset<Row> d = wholeRows(b.frame(spark, strips, 5), b);
            for (Metric metric : Metric.values()) {
              Dataset<Row> few = MatrixBlocks.knn(q, d, 9, metric);
              assertNearest(queries, b, 9, metric, few);
              assertBroadcast("broadcast(left)", true, few);
              Dataset<Row> many = MatrixBlocks.knn(d, q, 4, metric);
              assertNearest(b, queries, 4, metric, many);
              assertBroadcast("broadcast(right)", false, many);
              Dataset<Row> pairs = MatrixBlocks.pairsAbove(q, d, 0.2, metric);
              assertPairs(queries, b, 0.2, metric, pairs);
              assertBroadcast("broadcast(left)", false, pairs);
            }
          });
    }
  }

  private static Dataset<Row> wholeRows(Dataset<Row> frame, TestProduct of) {
    Metadata known =
        ArrayMetadata.empty().withExtents(Shape.of(of.rows(), of.cols())).withWhole(1).toMetadata();
    return frame.withColumn("values", functions.col("values").as("values", known));
  }

  /** Only candidates go through an exchange, if any. */
  private static void assertBroadcast(String strategy, boolean merges, Dataset<Row> found) {
    String plan = explained(found);
    assertTrue(plan.contains("MultiplyBroadcast"), plan);
    assertTrue(plan.contains(strategy), plan);
    assertEquals(merges, plan.contains("MergeNeighbours"), plan);
  }

  @Test
  void missingAndBrokenBlocksBesideABroadcast() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 6, 4, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 90, 4, 1);
    Dataset<Row> q = a.frame(spark, 3, 4);
    List<Row> missing = b.blocks(10, 4);
    missing.remove(3);
    List<Row> twice = b.blocks(10, 4);
    twice.add(twice.get(2));
    assertBroadcast(
        "broadcast(left)",
        true,
        MatrixBlocks.knn(q, wholeRows(b.frame(spark, 10, 4), b), 2, Metric.INNER));
    assertFails(
        () ->
            MatrixBlocks.knn(q, wholeRows(b.frame(spark, missing, 3), b), 2, Metric.INNER)
                .collect(),
        "MatrixBlocks.knn: matrix B: no block holds the element at row 30, col 0");
    assertFails(
        () ->
            MatrixBlocks.pairsAbove(q, wholeRows(b.frame(spark, twice, 3), b), 2, Metric.INNER)
                .collect(),
        "MatrixBlocks.pairsAbove: matrix B: two blocks hold the element at row 20, col 0");
    List<Row> queries = a.blocks(3, 4);
    queries.remove(1);
    assertFails(
        () ->
            MatrixBlocks.knn(
                    a.stated(a.frame(spark, queries, 1), 3, 4),
                    wholeRows(b.frame(spark, 10, 4), b),
                    2,
                    Metric.INNER)
                .collect(),
        "MatrixBlocks.knn: matrix A: no block holds the element at row 3, col 0");
    assertFails(
        () -> MatrixBlocks.knn(q, wholeRows(b.frame(spark, 10, 3), b), 2, Metric.INNER).collect(),
        "of the 4 elements of the inner dimension; the column metadata");
  }

  @Test
  void oneTaskMergesNothing() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 5, 3, 7);
    Dataset<Row> frame = a.frame(spark, 2, 2);
    Dataset<Row> found = MatrixBlocks.knn(frame, frame, 2, Metric.EUCLIDEAN);
    assertNearest(a, a, 2, Metric.EUCLIDEAN, found);
    assertFalse(explained(found).contains("MergeNeighbours"), explained(found));
    for (Row row : found.where("rank = 1").collectAsList()) {
      assertEquals(row.getLong(0), row.getLong(1), "each row is the nearest to itself");
      assertEquals(0.0, row.getDouble(3));
    }
  }

  /** Pairs are found in half of the product; nearest neighbours need all of it. */
  @Test
  void oneFrameOnBothSides() {
    for (Map<String, String> settings : List.of(Map.<String, String>of(), SMALL_TASKS)) {
      TestProduct a = TestProduct.random(ElementType.FLOAT32, 90, 12, 3);
      with(
          settings,
          () -> {
            Dataset<Row> frame = a.stated(a.frame(spark, 30, 12), 30, 12);
            assertNearest(a, a, 4, Metric.INNER, MatrixBlocks.knn(frame, frame, 4, Metric.INNER));
            for (Dataset<Row> each :
                List.of(frame, MatrixBlocks.transpose(a.transposed().frame(spark, 5, 17)))) {
              for (Metric metric : Metric.values()) {
                double threshold = metric == Metric.EUCLIDEAN ? 3.5 : 0.3;
                Dataset<Row> pairs = MatrixBlocks.pairsAbove(each, each, threshold, metric);
                assertPairs(a, a, threshold, metric, pairs);
                String gram = each == frame ? "A A^T, 90 x" : "A^T A, 90 x";
                assertTrue(explained(pairs).contains(gram), explained(pairs));
              }
            }
          });
    }
  }

  /** More vectors than a tile has sides: each product of two rows is made once. */
  @Test
  void halfOfTheProductsOfOneFrame() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 2500, 2, 3);
    Dataset<Row> frame = a.stated(a.frame(spark, 900, 2), 900, 2);
    Dataset<Row> pairs = MatrixBlocks.pairsAbove(frame, frame, 1.9, Metric.INNER);
    assertPairs(a, a, 1.9, Metric.INNER, pairs);
  }

  @Test
  void idsComeBesidePlaces() {
    spark.range(5).selectExpr("id", "array(double(id), 1D) AS v").createOrReplaceTempView("few");
    Dataset<Row> q =
        MatrixBlocks.fromRows(
            spark.table("few").selectExpr("concat('q', id) AS name", "v"),
            "v",
            RowOptions.defaults().withId("name"));
    Dataset<Row> d =
        MatrixBlocks.fromRows(
            spark.range(0, 300, 1, 4).selectExpr("id * 10 AS label", "array(-double(id), 0D) AS v"),
            "v",
            RowOptions.defaults().withId("label"));
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> found = MatrixBlocks.knn(q, d, 2, Metric.EUCLIDEAN);
            assertEquals(
                List.of("query", "query_id", "neighbour", "neighbour_id", "rank", "score"),
                List.of(found.columns()));
            assertEquals(10, found.count());
            for (Row row : found.collectAsList()) {
              assertEquals("q" + row.getLong(0), row.getString(1));
              assertEquals(10 * row.getLong(2), row.getLong(3));
              assertEquals(row.getInt(4) - 1, row.getLong(2), "the nearest are the first ones");
            }
            Dataset<Row> pairs = MatrixBlocks.pairsAbove(q, q, 0, Metric.EUCLIDEAN);
            assertEquals(
                List.of("query", "query_id", "neighbour", "neighbour_id", "score"),
                List.of(pairs.columns()));
            assertEquals(5, pairs.where("query_id = neighbour_id").count());
            assertEquals(5, pairs.count());
          });
    }
  }

  @Test
  void vectorsInColumns() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 31, 17, 3);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 300, 17, 4);
    for (Map<String, String> settings : List.of(Map.<String, String>of(), SMALL_TASKS)) {
      with(
          settings,
          () -> {
            Dataset<Row> q = MatrixBlocks.transpose(a.transposed().frame(spark, 5, 8));
            Dataset<Row> d = MatrixBlocks.transpose(b.transposed().frame(spark, 17, 70));
            assertNearest(a, b, 6, Metric.INNER, MatrixBlocks.knn(q, d, 6, Metric.INNER));
          });
    }
  }

  /** Blocks that are partitioned already stay where they are; ties still go by places. */
  @Test
  void blocksInPlace() {
    Random random = new Random(11);
    TestProduct b = whole(random, 120, 4);
    TestProduct a = whole(random, 24, 4);
    Dataset<Row> d = b.onGrid(spark, 10, 4).cache();
    Dataset<Row> q = a.onGrid(spark, 4, 4).cache();
    try {
      for (Metric metric : Metric.values()) {
        assertNearest(a, b, 7, metric, MatrixBlocks.knn(q, b.frame(spark, 9, 4), 7, metric));
        assertNearest(a, b, 7, metric, MatrixBlocks.knn(a.frame(spark, 5, 4), d, 7, metric));
        assertNearest(a, b, 7, metric, MatrixBlocks.knn(q, d, 7, metric));
      }
    } finally {
      d.unpersist();
      q.unpersist();
    }
  }

  @Test
  void tiesNanAndInfinity() {
    double[] kinds = {0, -0.0, 1, 1, 2, Double.NaN, Double.POSITIVE_INFINITY, 3e38f, -3e38f};
    for (int seed = 0; seed < 4; seed++) {
      Random random = new Random(seed);
      ElementType type = MultiplyBlocksTest.TYPES.get(seed % 2);
      TestProduct a = mixed(random, type, kinds, 12, 2);
      TestProduct b = mixed(random, type, kinds, 170, 2);
      for (Metric metric : Metric.values()) {
        for (Map<String, String> settings : List.of(Map.<String, String>of(), SMALL_TASKS)) {
          int k = 1 + random.nextInt(200);
          if (Sampling.skips(seed + metric.ordinal() + settings.size(), 3)) {
            continue;
          }
          with(
              settings,
              () -> {
                Dataset<Row> q = a.frame(spark, 5, 2);
                Dataset<Row> d = b.frame(spark, 33, 2);
                assertNearest(a, b, k, metric, MatrixBlocks.knn(q, d, k, metric));
                assertPairs(a, b, 1, metric, MatrixBlocks.pairsAbove(q, d, 1, metric));
              });
        }
      }
    }
  }

  @Test
  void thinExtents() {
    for (int[] extents : new int[][] {{1, 31, 17}, {17, 1, 31}, {13, 11, 1}, {1, 1, 1}}) {
      TestProduct a = TestProduct.random(ElementType.FLOAT64, extents[0], extents[2], 5);
      TestProduct b = TestProduct.random(ElementType.FLOAT64, extents[1], extents[2], 6);
      assertNearest(
          a,
          b,
          3,
          Metric.EUCLIDEAN,
          MatrixBlocks.knn(a.frame(spark, 4, 3), b.frame(spark, 5, 2), 3, Metric.EUCLIDEAN));
    }
  }

  @Test
  void rowArgmaxIsTheNearestByInnerProduct() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 9, 5, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 40, 5, 2);
    assertNearest(
        a, b, 1, Metric.INNER, MatrixBlocks.rowArgmax(a.frame(spark, 4, 5), b.frame(spark, 7, 5)));
  }

  @Test
  void eachMatrixOfABatchHasItsOwnNeighbours() {
    List<TestProduct> as = new ArrayList<>();
    List<TestProduct> bs = new ArrayList<>();
    Dataset<Row> q = null;
    Dataset<Row> d = null;
    for (int i = 0; i < 3; i++) {
      TestProduct a = TestProduct.random(ElementType.FLOAT32, 11, 6, 10 + i);
      TestProduct b = TestProduct.random(ElementType.FLOAT32, 600, 6, 20 + i);
      as.add(a);
      bs.add(b);
      Dataset<Row> left = a.frame(spark, 4, 6).withColumn("sample", functions.lit("s" + i));
      Dataset<Row> right = b.frame(spark, 100, 4).withColumn("sample", functions.lit("s" + i));
      q = q == null ? left : q.union(left);
      d = d == null ? right : d.union(right);
    }
    Dataset<Row> queries = q;
    Dataset<Row> vectors = d;
    for (Map<String, String> settings : List.of(Map.<String, String>of(), SMALL_TASKS)) {
      with(
          settings,
          () -> assertNearestOfEach(as, bs, MatrixBlocks.knn(queries, vectors, 5, Metric.INNER)));
    }
    Dataset<Row> inStrips = null;
    for (int i = 0; i < 3; i++) {
      Dataset<Row> one =
          bs.get(i).frame(spark, 150, 6).withColumn("sample", functions.lit("s" + i));
      inStrips = inStrips == null ? one : inStrips.union(one);
    }
    Dataset<Row> mixed = wholeRows(inStrips.repartition(3), bs.get(0));
    Dataset<Row> found = MatrixBlocks.knn(queries, mixed, 5, Metric.INNER);
    assertNearestOfEach(as, bs, found);
    assertBroadcast("broadcast(left)", true, found);
    assertFails(
        () -> MatrixBlocks.knn(queries, mixed.where("sample <> 's1'"), 5, Metric.INNER).collect(),
        "MatrixBlocks.knn: matrix B of sample s1: no block holds the element at row 0, col 0");
  }

  private static void assertNearestOfEach(
      List<TestProduct> as, List<TestProduct> bs, Dataset<Row> found) {
    assertEquals(
        List.of("query", "neighbour", "rank", "score", "sample"), List.of(found.columns()));
    for (int i = 0; i < as.size(); i++) {
      Dataset<Row> one = found.where("sample = 's" + i + "'");
      assertNearest(as.get(i), bs.get(i), 5, Metric.INNER, one);
    }
  }

  /** The second of two numbers is one that FLOAT does not hold, if the type has any. */
  @ParameterizedTest
  @ValueSource(strings = {"TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE"})
  void vectorsOfTwoTypesMeetWithTheirIds(String type) {
    int second = type.equals("TINYINT") || type.equals("SMALLINT") ? 3 : 16777217;
    RowOptions named = RowOptions.defaults().withId("id");
    String sql = "SELECT 'a' AS id, CAST(array(2, %s) AS ARRAY<%s>) AS v".formatted(second, type);
    Dataset<Row> a = MatrixBlocks.fromRows(spark.sql(sql), "v", named);
    Dataset<Row> b =
        MatrixBlocks.fromRows(
            spark.sql("SELECT * FROM VALUES (7, array(1f, 0f)), (8, array(0f, 1f)) AS t(id, v)"),
            "v",
            named);
    Map<Integer, Double> scores = Map.of(7, 2.0, 8, (double) second);
    assertEquals(scores, byId(MatrixBlocks.knn(a, b, 2, Metric.INNER), "neighbour_id"));
    assertEquals(scores, byId(MatrixBlocks.knn(b, a, 1, Metric.INNER), "query_id"));
  }

  private static Map<Integer, Double> byId(Dataset<Row> found, String id) {
    Map<Integer, Double> scores = new HashMap<>();
    found.collectAsList().forEach(row -> scores.put(row.getAs(id), row.getAs("score")));
    return scores;
  }

  @Test
  void whatDoesNotFitIsRefused() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 6, 4, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 6, 5, 1);
    Dataset<Row> q = a.frame(spark, 3, 4);
    assertFails(
        () -> MatrixBlocks.knn(q, b.frame(spark, 3, 5), 2, Metric.INNER),
        "MatrixBlocks.knn: the inner extents differ");
    assertFails(
        () -> MatrixBlocks.knn(q, q, 0, Metric.INNER), "MatrixBlocks.knn: k is 0; expected 1 to");
    assertFails(
        () -> MatrixBlocks.pairsAbove(q, q, Double.NaN, Metric.INNER),
        "MatrixBlocks.pairsAbove: threshold is NaN");
    Dataset<Row> named = q.withColumn("query", functions.lit(1));
    assertFails(
        () -> MatrixBlocks.pairsAbove(named, named, 2, Metric.INNER),
        "MatrixBlocks.pairsAbove: the result would have two columns (query BIGINT, query INT)");
    assertFails(
        () -> spark.sql("SELECT * FROM matrix_knn(TABLE(VALUES (1)), TABLE(VALUES (1)), 2, 'l1')"),
        "metric is 'l1'; expected inner, cosine or euclidean");
    List<Row> blocks = a.blocks(3, 2);
    blocks.remove(1); // row 0, col 2
    assertFails(
        () -> MatrixBlocks.knn(a.frame(spark, blocks, 2), q, 2, Metric.INNER).collect(),
        "MatrixBlocks.knn: matrix A: no block holds the element at row 0, col 2");
    List<Row> twice = a.blocks(3, 2);
    twice.add(twice.get(1));
    assertFails(
        () -> MatrixBlocks.knn(q, a.frame(spark, twice, 2), 2, Metric.INNER).collect(),
        "MatrixBlocks.knn: matrix B: block at row 0, col 2",
        "overlaps");
  }

  private static TestProduct whole(Random random, int rows, int cols) {
    double[] values = random.doubles((long) rows * cols).map(x -> Math.rint(2 * x) - 1).toArray();
    return new TestProduct(ElementType.FLOAT32, rows, cols, values);
  }

  private static TestProduct mixed(
      Random random, ElementType type, double[] kinds, int rows, int cols) {
    double[] values = new double[rows * cols];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          random.nextInt(5) > 0 ? random.nextInt(4) - 2 : kinds[random.nextInt(kinds.length)];
    }
    return new TestProduct(type, rows, cols, values);
  }

  private static void assertNearest(
      TestProduct a, TestProduct b, int k, Metric metric, Dataset<Row> df) {
    List<Row> rows = new ArrayList<>(df.collectAsList());
    rows.sort(
        Comparator.<Row>comparingLong(row -> row.getLong(0))
            .thenComparingInt(row -> row.getInt(2)));
    List<Found> found = new ArrayList<>();
    int rank = 0;
    for (Row row : rows) {
      boolean same = rank > 0 && found.get(found.size() - 1).query() == row.getLong(0);
      rank = same ? rank + 1 : 1;
      assertEquals(rank, row.getInt(2), () -> "rank of " + row);
      found.add(new Found(row.getLong(0), row.getLong(1), row.getDouble(3)));
    }
    assertEquals(Scores.nearest(a.values(), b.values(), a.cols(), k, metric), found);
  }

  private static void assertPairs(
      TestProduct a, TestProduct b, double threshold, Metric metric, Dataset<Row> df) {
    List<Found> found =
        df.collectAsList().stream()
            .map(row -> new Found(row.getLong(0), row.getLong(1), row.getDouble(2)))
            .sorted(Comparator.comparingLong(Found::query).thenComparingLong(Found::place))
            .toList();
    List<Found> expected = Scores.pairs(a.values(), b.values(), a.cols(), threshold, metric);
    assertEquals(expected, found);
  }
}
