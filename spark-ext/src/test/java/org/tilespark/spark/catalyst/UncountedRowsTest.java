package org.tilespark.spark.catalyst;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.nearest.NearestRows;
import org.tilespark.spark.nearest.NearestSpec;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/**
 * Sorts and limits above nodes that make many rows of the few that go through their exchanges.
 * Adaptive execution knows how many these are.
 */
class UncountedRowsTest extends SparkTest {
  private static final int VECTORS = 20;

  private static Dataset<Row> vectors; // in one block, without stated ids

  @BeforeAll
  static void vectors() {
    vectors = TestProduct.random(ElementType.FLOAT32, VECTORS, 8, 1).frame(spark, VECTORS, 8);
  }

  /** Queries with the columns that distinguish their rows. */
  static Stream<Query> queries() {
    MultiplyOptions small = MultiplyOptions.defaults().withTransposeB(true).withBlockShape(5, 5);
    Map<String, MultiplyOptions.Strategy> strategies = new LinkedHashMap<>();
    strategies.put("broadcast", MultiplyOptions.Strategy.BROADCAST);
    strategies.put("cuboid", new MultiplyOptions.Strategy.Cuboid(1, 1, 1));
    strategies.put("cuboids and sums", new MultiplyOptions.Strategy.Cuboid(1, 1, 2));
    strategies.put("cuboids", new MultiplyOptions.Strategy.Cuboid(2, 2, 1));
    Map<String, Dataset<Row>> products = new LinkedHashMap<>();
    strategies.forEach(
        (name, strategy) ->
            products.put(
                name, MatrixBlocks.multiply(vectors, vectors, small.withStrategy(strategy))));
    products.put(
        "gram", MatrixBlocks.gram(vectors, MultiplyOptions.defaults().withBlockShape(2, 2)));
    products.put("map", MatrixBlocks.map(products.get("broadcast"), "v + row"));
    products.put("projection", products.get("broadcast").selectExpr("row", "col", "values[0]"));
    products.put("filter", products.get("cuboid").where("row < 15"));
    return Stream.concat(
        products.entrySet().stream()
            .map(each -> new Query(each.getKey(), each.getValue(), List.of("row", "col"))),
        Stream.of(
            new Query(
                "knn",
                MatrixBlocks.knn(vectors, vectors, 3, Metric.COSINE),
                List.of("query", "rank")),
            new Query(
                "pairsAbove",
                MatrixBlocks.pairsAbove(vectors, vectors, 0, Metric.COSINE),
                List.of("query", "neighbour")),
            new Query("nearest", nearest(), List.of("id", "other"))));
  }

  record Query(String name, Dataset<Row> df, List<String> keys) {
    @Override
    public String toString() {
      return name;
    }
  }

  private static Dataset<Row> nearest() {
    LogicalPlan right =
        plan(spark.range(9).selectExpr("id AS other", "array(CAST(id AS FLOAT), 1f) AS w"))
            .analyzed();
    return mapped(
        spark.range(VECTORS).selectExpr("id", "array(CAST(id - 9 AS FLOAT), 1f) AS v").coalesce(1),
        left ->
            new NearestRows(
                new NearestSpec(3, Metric.INNER, "vector_inner_product", false),
                ScalaInterop.<Attribute>seq(left.output().last(), right.output().last()),
                ScalaInterop.<Attribute>emptySeq(),
                left,
                right));
  }

  @ParameterizedTest
  @MethodSource("queries")
  void sortsAndLimitsStay(Query query) {
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            List<Row> all = keys(query.df(), query.keys()).collectAsList();
            List<Row> sorted = all.stream().sorted((a, b) -> -compare(a, b)).toList();
            Column[] descending =
                query.keys().stream().map(key -> functions.col(key).desc()).toArray(Column[]::new);
            Dataset<Row> ordered = keys(query.df().orderBy(descending), query.keys());
            assertEquals(sorted, ordered.collectAsList(), "sorted");
            for (int limit : new int[] {1, 4, all.size() - 1, all.size()}) {
              assertEquals(sorted.subList(0, limit), ordered.limit(limit).collectAsList());
              assertEquals(limit, query.df().limit(limit).collectAsList().size(), "limit");
            }
            assertEquals(all.size() - 4, query.df().offset(4).collectAsList().size(), "offset");
          });
    }
  }

  private static Dataset<Row> keys(Dataset<Row> df, List<String> keys) {
    return df.select(keys.stream().map(functions::col).toArray(Column[]::new));
  }

  private static int compare(Row a, Row b) {
    int first = Long.compare(number(a, 0), number(b, 0));
    return first != 0 ? first : Long.compare(number(a, 1), number(b, 1));
  }

  private static long number(Row row, int column) {
    return ((Number) row.get(column)).longValue();
  }
}
