package org.tilespark.spark.nearest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.nearest.NearestVectors.Kind;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;

/**
 * The node itself, on every Spark, compared with plain loops. {@code NearestJoinTest} has Spark's
 * SQL.
 */
@Tag("versions")
class NearestRowsTest extends SparkTest {
  private static final Map<Metric, String> FUNCTIONS =
      Map.of(
          Metric.INNER, "vector_inner_product",
          Metric.COSINE, "vector_cosine_similarity",
          Metric.EUCLIDEAN, "vector_l2_distance");

  /** Tables of columns a, av, anote and b, bv, bnote. */
  private record Tables(List<Float[]> left, List<Float[]> right, int leftParts, int rightParts) {
    static Tables random(Kind kind, int leftCount, int rightCount, int length, long seed) {
      Random random = new Random(seed);
      return new Tables(
          NearestVectors.random(random, leftCount, length, kind),
          NearestVectors.random(random, rightCount, length, kind),
          1 + random.nextInt(5),
          1 + random.nextInt(5));
    }

    Dataset<Row> joined(Metric metric, int k, boolean outer) {
      return NearestRowsTest.joined(
          NearestVectors.table(spark, left, "a", leftParts),
          NearestVectors.table(spark, right, "b", rightParts),
          new NearestSpec(k, metric, FUNCTIONS.get(metric), outer));
    }

    void check(Metric metric, int k, boolean outer) {
      check(joined(metric, k, outer).collectAsList(), metric, k, outer);
    }

    void check(List<Row> rows, Metric metric, int k, boolean outer) {
      Map<Integer, List<Integer>> found = NearestVectors.found(rows, "a", "b");
      for (int i = 0; i < left.size(); i++) {
        List<Float> expected = NearestVectors.expected(metric, left.get(i), right, k);
        List<Integer> numbers = found.getOrDefault(i, List.of());
        if (expected.isEmpty()) {
          List<Integer> none = new ArrayList<>();
          if (outer) {
            none.add(null);
          }
          assertEquals(none, numbers, "matches of a row without scores");
          continue;
        }
        int query = i;
        assertFalse(numbers.contains(null), () -> metric + ", no match of row " + query);
        List<Float> scores =
            numbers.stream()
                .map(j -> NearestVectors.score(metric, left.get(query), right.get(j)))
                .map(score -> score == 0 ? 0f : score)
                .toList();
        assertEquals(expected, scores, () -> metric + ", k " + k + ", row " + query);
        assertEquals(numbers.size(), new HashSet<>(numbers).size(), () -> "twice: " + numbers);
      }
      for (Row row : rows) {
        int a = row.getInt(0);
        assertEquals(a % 3 == 0 ? null : "note " + a, row.get(2));
        assertEquals(left.get(a) == null, row.isNullAt(1));
        if (row.isNullAt(3)) {
          assertTrue(row.isNullAt(4) && row.isNullAt(5), row::toString);
        } else {
          int b = row.getInt(3);
          assertEquals(b % 3 == 0 ? null : "note " + b, row.get(5));
          assertEquals(Arrays.asList(right.get(b)), row.getList(4));
        }
      }
    }
  }

  private static Dataset<Row> joined(Dataset<Row> left, Dataset<Row> right, NearestSpec spec) {
    LogicalPlan other = plan(right).analyzed();
    return mapped(
        left,
        plan ->
            new NearestRows(
                spec,
                ScalaInterop.<Attribute>seq(plan.output().apply(1), other.output().apply(1)),
                ScalaInterop.<Attribute>emptySeq(),
                plan,
                other));
  }

  static Stream<Kind> kinds() {
    return Stream.of(Kind.values());
  }

  private static SentSide sent(Dataset<Row> joined) {
    return PlanNodes.all(plan(joined), NearestExec.class).get(0).sides().sent();
  }

  /** A side with statistics is local; Spark knows nothing of the size of one of an RDD. */
  @ParameterizedTest
  @MethodSource("kinds")
  void aSmallSideIsSentToEveryTask(Kind kind) {
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            for (Metric metric : Metric.values()) {
              for (boolean outer : List.of(true, false)) {
                if (Sampling.skips(kind.ordinal() + metric.ordinal() + (outer ? 1 : 0), 2)) {
                  continue;
                }
                Tables some = Tables.random(kind, 30, 50, 6, kind.ordinal() * 10L + 1);
                Tables left = new Tables(some.left, some.right, 0, 3);
                assertEquals(SentSide.LEFT, sent(left.joined(metric, 4, outer)));
                left.check(metric, 4, outer);
                Tables both = new Tables(some.left, some.right, 0, 0);
                assertEquals(SentSide.RIGHT, sent(both.joined(metric, 4, outer)));
                both.check(metric, 4, outer);
                Tables neither = new Tables(some.left, some.right, 3, 2);
                assertEquals(SentSide.NEITHER, sent(neither.joined(metric, 4, outer)));
              }
            }
          });
    }
  }

  @Test
  void aSideThatStaysMayHaveNoPartitions() {
    Tables some = Tables.random(Kind.PLAIN, 5, 5, 3, 4);
    Dataset<Row> rows = NearestVectors.table(spark, some.right, "b", 2);
    Dataset<Row> none =
        spark.createDataFrame(
            org.apache.spark.api.java.JavaSparkContext.fromSparkContext(spark.sparkContext())
                .<Row>emptyRDD(),
            rows.schema());
    NearestSpec spec = new NearestSpec(2, Metric.INNER, FUNCTIONS.get(Metric.INNER), true);
    Dataset<Row> joined = joined(NearestVectors.table(spark, some.left, "a", 0), none, spec);
    assertEquals(SentSide.LEFT, sent(joined));
    List<Row> found = joined.collectAsList();
    assertEquals(5, found.size());
    assertTrue(found.stream().allMatch(row -> row.isNullAt(3)), found::toString);
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void matchesArePlainLoops(Kind kind) {
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            long seed = kind.ordinal() * 100L;
            for (Metric metric : Metric.values()) {
              Tables.random(kind, 40, 60, 5, seed++).check(metric, 4, false);
              Tables.random(kind, 13, 30, 17, seed++).check(metric, 7, true);
            }
          });
    }
  }

  @Test
  void fewerThanKAreAllThereAre() {
    for (Metric metric : Metric.values()) {
      Tables.random(Kind.ALL, 6, 5, 3, 7).check(metric, 100_000, true);
      Tables.random(Kind.PLAIN, 6, 5, 3, 8).check(metric, 6, false);
      Tables.random(Kind.PLAIN, 1, 1, 1, 9).check(metric, 1, true);
    }
  }

  @Test
  void vectorsWithoutElements() {
    for (Metric metric : Metric.values()) {
      Tables.random(Kind.PLAIN, 4, 5, 0, 9).check(metric, 3, true);
    }
  }
}
