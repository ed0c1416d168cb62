package org.tilespark.spark.nearest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.catalyst.compat.NearestJoins;
import org.tilespark.spark.catalyst.compat.SparkVersion;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.nearest.NearestVectors.Kind;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import scala.collection.immutable.Seq;

/** Spark's syntax, and our plan of it compared with Spark's own. */
@Tag("versions")
class NearestJoinTest extends SparkTest {
  private static final Map<String, String> OFF = Map.of(TileSparkConf.NEAREST.name(), "off");

  @BeforeAll
  static void sparkHasTheJoin() {
    assumeTrue(
        NearestJoins.exist(),
        () -> "Spark " + SparkVersion.running() + " has no NEAREST BY; 4.2 is the first that has");
  }

  /** Makes the views l and r anew. */
  private static void views(Kind kind, int leftCount, int rightCount, int length, long seed) {
    Random random = new Random(seed);
    NearestVectors.table(
            spark, NearestVectors.random(random, leftCount, length, kind), "a", (int) (seed % 4))
        .createOrReplaceTempView("l");
    NearestVectors.table(
            spark, NearestVectors.random(random, rightCount, length, kind), "b", (int) (seed % 3))
        .createOrReplaceTempView("r");
  }

  private static Dataset<Row> sql(String text) {
    return spark.sql(text);
  }

  private static boolean isOurs(Dataset<Row> df) {
    boolean isOurs = !PlanNodes.all(plan(df), NearestExec.class).isEmpty();
    assertEquals(isOurs, explained(df).contains("NearestRows"), () -> explained(df));
    return isOurs;
  }

  private static List<Row> ofSpark(String query) {
    AtomicReference<List<Row>> rows = new AtomicReference<>();
    with(
        OFF,
        () -> {
          Dataset<Row> df = sql(query);
          assertFalse(isOurs(df), () -> explained(df));
          assertFalse(explained(df).contains("left to Spark"), () -> explained(df));
          rows.set(df.collectAsList());
        });
    return rows.get();
  }

  /** The scores of each row of the left side, sorted; null if nothing matches it. */
  private static Map<Object, List<Float>> scores(List<Row> rows) {
    Map<Object, List<Float>> scores = new HashMap<>();
    for (Row row : rows) {
      Float score = row.getAs("score");
      scores
          .computeIfAbsent(row.getAs("a"), each -> new ArrayList<>())
          .add(score == null || score != 0 ? score : (Float) 0f);
    }
    scores.values().forEach(each -> each.sort(Comparator.nullsFirst(Float::compare)));
    return scores;
  }

  /** Both plans give the same scores, which is all that Spark determines; then it gives them. */
  private static void assertSame(String query) {
    Dataset<Row> df = sql(query);
    assertTrue(isOurs(df), () -> explained(df));
    List<Row> ours = df.collectAsList();
    List<Row> spark = ofSpark(query);
    assertEquals(scores(spark), scores(ours), query);
    assertEquals(spark.size(), ours.size(), query);
    assertEquals(ours.size(), new HashSet<>(ours).size(), () -> "twice: " + ours);
  }

  private static String join(String type, String mode, int k, String by, String score) {
    return "SELECT *, %s AS score FROM l %s JOIN r %s NEAREST %s BY %s %s"
        .formatted(score, type, mode, k, by, score);
  }

  static Stream<String> scoreExpressions() {
    return Stream.of(
        "SIMILARITY vector_inner_product(av, bv)",
        "SIMILARITY vector_cosine_similarity(bv, av)",
        "DISTANCE vector_l2_distance(av, bv)");
  }

  @ParameterizedTest
  @MethodSource("scoreExpressions")
  void asSparkItself(String ranked) {
    String by = ranked.substring(0, ranked.indexOf(' '));
    String score = ranked.substring(ranked.indexOf(' ') + 1);
    long seed = 0;
    for (Map<String, String> mode : sampledModes()) {
      for (Kind kind : Kind.values()) {
        views(kind, 11, 23, 9, ++seed);
        with(
            mode,
            () -> {
              assertSame(join("", "EXACT", 4, by, score));
              assertSame(join("LEFT OUTER", "APPROX", 30, by, score));
            });
      }
    }
  }

  /** Parts of the right side that are read one after another, and winners of several tasks. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void winnersOfBatchesAndTasks(boolean adaptive) {
    Map<String, String> settings =
        Map.of(
            "spark.sql.adaptive.enabled",
            Boolean.toString(adaptive),
            TileSparkConf.BATCH_SIZE.name(),
            "1k");
    with(
        settings,
        () -> {
          views(Kind.ALL, 3, 200, 7, 4); // one strip of the left side, several of the right one
          for (String score :
              List.of("vector_inner_product(av, bv)", "vector_cosine_similarity(av, bv)")) {
            assertSame(join("LEFT", "EXACT", 6, "SIMILARITY", score));
          }
          assertSame(join("", "EXACT", 6, "DISTANCE", "vector_l2_distance(av, bv)"));
          views(Kind.NULLS, 300, 40, 5, 3);
          assertSame(join("LEFT", "EXACT", 3, "DISTANCE", "vector_l2_distance(bv, av)"));
        });
  }

  @Test
  void queriesAroundTheJoin() {
    views(Kind.APART, 12, 20, 6, 11); // conditions show which of equal scores was taken
    String ranked = "EXACT NEAREST 3 BY DISTANCE vector_l2_distance(av, bv)";
    String scored = "SELECT a, b, vector_l2_distance(av, bv) AS score FROM ";
    assertSame(scored + "l JOIN r " + ranked + " WHERE a % 2 = 0 AND anote IS NOT NULL");
    assertSame(scored + "l LEFT JOIN r " + ranked + " WHERE bnote IS NULL OR b > 4");
    assertSame(scored + "l JOIN r " + ranked + " ORDER BY score + a, b");
    assertSame(scored + "l JOIN (SELECT * FROM r WHERE b < 9) " + ranked);
    assertSame(scored + "(SELECT * FROM l LIMIT 5) JOIN (SELECT * FROM r ORDER BY b) " + ranked);
    assertSame(
        "WITH n AS (%s l JOIN r %s) SELECT * FROM n UNION ALL SELECT a + 100, b, score FROM n"
            .formatted(scored, ranked));
    assertSame(
        "SELECT l.a, m.a AS b, vector_l2_distance(l.av, m.av) AS score FROM l JOIN l AS m"
            + " EXACT NEAREST 2 BY DISTANCE vector_l2_distance(l.av, m.av)");
    assertSame(
        "SELECT * FROM (%s l JOIN r %s) WHERE b IN (SELECT b FROM (%s l JOIN r %s))"
            .formatted(scored, ranked, scored, ranked));
    assertSame(
        "SELECT a, (SELECT max(b) FROM (%s l JOIN r %s)) AS b, score FROM (%s l JOIN r %s)"
                .formatted(scored, ranked, scored, ranked)
            + " WHERE b = 1");
    assertSame(
        "SELECT a, b, vector_inner_product(av, cv) AS score FROM (SELECT * FROM l JOIN r %s)"
                .formatted(ranked)
            + " JOIN (SELECT b AS c, bv AS cv FROM r)"
            + " EXACT NEAREST 1 BY SIMILARITY vector_inner_product(av, cv)");
    List<Row> counted = sql("SELECT count(*) FROM l JOIN r " + ranked).collectAsList();
    assertEquals(ofSpark("SELECT count(*) FROM l JOIN r " + ranked), counted);
  }

  @Test
  void aCachedJoinIsReadFromTheCache() {
    views(Kind.ALL, 9, 20, 6, 12);
    String query = join("", "EXACT", 3, "DISTANCE", "vector_l2_distance(av, bv)");
    Dataset<Row> cached = sql(query).cache();
    try {
      long rows = cached.count();
      Dataset<Row> again = sql(query);
      assertTrue(explained(again).contains("InMemoryTableScan"), () -> explained(again));
      assertEquals(rows, again.count());
      assertEquals(scores(ofSpark(query)), scores(again.collectAsList()));
    } finally {
      cached.unpersist(true);
    }
  }

  @Test
  void theDataFrameMethod() throws ReflectiveOperationException {
    views(Kind.ALL, 9, 20, 6, 13);
    Dataset<Row> left = spark.table("l");
    Dataset<Row> right = spark.table("r");
    var ranking =
        org.apache.spark.sql.functions.call_function(
            "vector_inner_product", left.col("av"), right.col("bv"));
    for (var method : Dataset.class.getMethods()) {
      if (method.getName().equals("nearestByJoin") && method.getParameterCount() == 6) {
        @SuppressWarnings("unchecked")
        Dataset<Row> df =
            (Dataset<Row>)
                method.invoke(left, right, ranking, 3, "exact", "similarity", "leftouter");
        assertTrue(isOurs(df), () -> explained(df));
        assertEquals(
            scores(ofSpark(join("LEFT", "EXACT", 3, "SIMILARITY", "vector_inner_product(av, bv)"))),
            scores(df.selectExpr("*", "vector_inner_product(av, bv) AS score").collectAsList()));
        return;
      }
    }
    throw new AssertionError(List.of(Dataset.class.getMethods()).toString());
  }

  @Test
  void conditionsAndColumnsGoBelow() {
    views(Kind.PLAIN, 9, 20, 6, 14);
    Dataset<Row> df =
        sql(
            "SELECT a, b FROM l JOIN r EXACT NEAREST 2 BY DISTANCE vector_l2_distance(av, bv)"
                + " WHERE a > 3 AND b > 2 AND length(anote) > 1");
    List<NearestRows> joins =
        ScalaInterop.list(
            plan(df)
                .optimizedPlan()
                .collect(
                    ScalaInterop.<LogicalPlan, NearestRows>partialFunction(
                        node ->
                            node instanceof NearestRows join
                                ? Optional.of(join)
                                : Optional.empty())));
    assertEquals(1, joins.size(), () -> optimized(df));
    assertEquals(List.of("a", "b"), names(joins.get(0).output()));
    assertEquals(List.of("a", "av"), names(joins.get(0).side(false).output()));
    assertEquals(List.of("b", "bv"), names(joins.get(0).side(true).output()));
    String left = joins.get(0).side(false).toString();
    assertTrue(left.contains("a#") && left.contains(" > 3") && left.contains("length"), left);
    assertFalse(joins.get(0).side(true).toString().contains(" > 2"), () -> optimized(df));
    assertEquals(
        sql("SELECT a, b FROM l JOIN r EXACT NEAREST 2 BY DISTANCE vector_l2_distance(av, bv)")
            .where("a > 3 AND b > 2 AND a % 3 != 0")
            .count(),
        df.count());
  }

  private static List<String> names(Seq<Attribute> columns) {
    return ScalaInterop.<Attribute>list(columns).stream().map(Attribute::name).toList();
  }

  @Test
  void whatIsLeftToSparkSaysWhy() {
    views(Kind.ALL, 5, 9, 6, 15);
    assertLeft(
        "SIMILARITY vector_inner_product(av, bv) * 2", "it ranks by (CAST(vector_inner_product");
    assertLeft("DISTANCE vector_inner_product(av, bv)", "expected SIMILARITY");
    assertLeft("SIMILARITY vector_l2_distance(av, bv)", "expected DISTANCE");
    assertLeft("DISTANCE abs(a - b)", "expected one of [vector_cosine_similarity");
    assertLeft(
        "DISTANCE vector_l2_distance(av, transform(bv, x -> x + 1f))",
        "expected one column of each side");
    assertLeft("DISTANCE vector_l2_distance(bv, bv)", "expected one column of each side");
  }

  private static void assertLeft(String ranked, String reason) {
    String query = "SELECT * FROM l LEFT JOIN r EXACT NEAREST 2 BY " + ranked;
    Dataset<Row> df = sql(query);
    assertFalse(isOurs(df));
    String text = explained(df);
    assertTrue(text.contains("NEAREST BY is left to Spark: ") && text.contains(reason), text);
    assertEquals(ofSpark(query).size(), df.count(), query);
    Dataset<Row> filtered = df.where("a > 2");
    assertTrue(optimized(filtered).contains("LeftToSpark"), () -> optimized(filtered));
    assertEquals(
        df.collectAsList().stream().filter(row -> row.getInt(0) > 2).count(), filtered.count());
  }

  @Test
  void sparksErrorsStay() {
    spark.sql("SELECT array(1f, 2f, 3f) AS av").createOrReplaceTempView("l");
    spark
        .sql("SELECT * FROM VALUES (array(1f, NULL)), (array(1f, 2f, 3f)) AS r(bv)")
        .createOrReplaceTempView("r");
    Supplier<Dataset<Row>> join =
        () -> sql("SELECT * FROM l JOIN r EXACT NEAREST 2 BY DISTANCE vector_l2_distance(av, bv)");
    assertTrue(isOurs(join.get()));
    assertFails(() -> join.get().collect(), "VECTOR_DIMENSION_MISMATCH", "3", "2");
    with(OFF, () -> assertFails(() -> join.get().collect(), "VECTOR_DIMENSION_MISMATCH"));
    assertFails(
        () ->
            sql("SELECT * FROM l JOIN r EXACT NEAREST 100001 BY DISTANCE vector_l2_distance(av,"
                    + " bv)")
                .collect(),
        "100000");
    with(
        Map.of("spark.sql.crossJoin.enabled", "false"),
        () -> {
          Throwable ours = assertThrows(Exception.class, () -> join.get().collect());
          with(
              OFF,
              () ->
                  assertEquals(
                      assertThrows(Exception.class, () -> join.get().collect()).getMessage(),
                      ours.getMessage()));
        });
    Dataset<Row> stream =
        spark.readStream().format("rate").load().selectExpr("array(float(value)) AS av");
    stream.createOrReplaceTempView("l");
    assertFails(
        () -> join.get().writeStream().format("noop").start().awaitTermination(), "treaming");
  }

  /** If one side is empty, no two lengths meet. */
  @Test
  void emptySidesAndMixedLengths() {
    spark
        .sql("SELECT * FROM VALUES (0, array(1f)), (1, array(1f, 2f)), (2, NULL) AS l(a, av)")
        .createOrReplaceTempView("l");
    spark.sql("SELECT 0 AS b, array(1f) AS bv WHERE rand() > 2").createOrReplaceTempView("r");
    String score = "vector_cosine_similarity(av, bv)";
    assertSame(join("LEFT", "EXACT", 2, "SIMILARITY", score));
    assertSame(join("", "EXACT", 2, "SIMILARITY", score));
    spark
        .sql("SELECT * FROM VALUES (0, CAST(NULL AS ARRAY<FLOAT>)) AS r(b, bv)")
        .createOrReplaceTempView("r");
    assertSame(join("LEFT", "EXACT", 2, "SIMILARITY", score));
  }
}
