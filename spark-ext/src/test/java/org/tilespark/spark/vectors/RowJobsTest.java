package org.tilespark.spark.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.storage.RDDBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;
import org.tilespark.spark.testing.DenseArray;

/** The jobs that run before rows become blocks. */
class RowJobsTest extends VectorTestBase {
  private static final List<String> EXPECTED = expected(IntStream.range(0, 50), "DOUBLE");

  private static volatile int kept; // rows below this id, of a table that changes

  static List<Map<String, String>> modes() {
    return sampledModes();
  }

  /** The jobs of a query that is planned anew. */
  private static int jobsOfRows(Dataset<Row> blocks) {
    return jobsOf(() -> assertEquals(EXPECTED, rows(blocks.select("*"))));
  }

  private static int jobsOf(Runnable query) {
    try {
      return workOf(query).jobs();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static Dataset<Row> cached(Dataset<Row> table) {
    Dataset<Row> cached = table.persist();
    assertEquals(50, cached.count());
    return cached;
  }

  @ParameterizedTest
  @MethodSource("modes")
  void aCachedTableIsCountedOnce(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Dataset<Row> cached = cached(table(50, 4, "DOUBLE"));
          try {
            assertEquals(2, jobsOf(() -> MatrixBlocks.fromRows(cached, "features")));
            for (Dataset<Row> read : List.of(cached, cached.select("id", "features"))) {
              Dataset<Row>[] blocks = asArray(1);
              assertEquals(0, jobsOf(() -> blocks[0] = MatrixBlocks.fromRows(read, "features")));
              for (int i = 0; i < 2; i++) {
                assertEquals(1, jobsOfRows(blocks[0]));
              }
            }
          } finally {
            cached.unpersist(true);
          }
        });
  }

  @ParameterizedTest
  @MethodSource("modes")
  void cachedColumnsOfNumbersAreCountedOnce(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Dataset<Row> cached =
              cached(table(50, 4, "DOUBLE").selectExpr("features[0] AS a", "features[1] AS b"));
          try {
            List<String> names = List.of("a", "b");
            assertEquals(1, jobsOf(() -> MatrixBlocks.fromRows(cached, names)));
            Dataset<Row> blocks = MatrixBlocks.fromRows(cached, names);
            assertEquals(1, jobsOf(() -> assertEquals(50, rows(blocks).size())));
          } finally {
            cached.unpersist(true);
          }
        });
  }

  @SuppressWarnings("unchecked")
  private static Dataset<Row>[] asArray(int length) {
    return new Dataset[length];
  }

  /** A filter leaves rows out that were counted, so its rows are counted as before. */
  @Test
  void someRowsOfACachedTableAreCountedApart() {
    Dataset<Row> cached = cached(table(50, 4, "DOUBLE"));
    try {
      assertEquals(50, rows(MatrixBlocks.fromRows(cached, "features")).size());
      assertEquals(
          expected(IntStream.range(30, 50), "DOUBLE"),
          rows(MatrixBlocks.fromRows(cached.where("id >= 30"), "features")));
    } finally {
      cached.unpersist(true);
    }
  }

  @Test
  void aTableThatIsCachedAgainIsCountedAgain() {
    Dataset<Row> table = table(50, 4, "DOUBLE");
    for (int i = 0; i < 2; i++) {
      Dataset<Row> cached = cached(table);
      assertEquals(2, jobsOf(() -> MatrixBlocks.fromRows(cached, "features")));
      cached.unpersist(true);
    }
  }

  @Test
  void aTableThatLostAPartitionIsCountedAgain() {
    Dataset<Row> cached = cached(table(50, 4, "DOUBLE"));
    try {
      Dataset<Row> blocks = MatrixBlocks.fromRows(cached, "features");
      assertEquals(1, jobsOfRows(blocks));
      dropLast(cached);
      assertEquals(2, jobsOfRows(blocks));
      assertEquals(2, jobsOfRows(blocks), "the count before was of a table that changed");
      assertEquals(1, jobsOfRows(blocks));
    } finally {
      cached.unpersist(true);
    }
  }

  /** A partition that is computed again has other rows, since a function gives other results. */
  @Test
  void aPartitionWithOtherRows() {
    spark.udf().register("isKept", (UDF1<Long, Boolean>) id -> id < kept, DataTypes.BooleanType);
    kept = 50;
    Dataset<Row> cached = cached(table(60, 4, "DOUBLE").where("isKept(id)"));
    try {
      Dataset<Row> blocks = MatrixBlocks.fromRows(cached, "features");
      assertEquals(1, jobsOfRows(blocks));
      kept = 47;
      dropLast(cached);
      assertFails(blocks.select("*")::collectAsList, "has 47 rows; it had 50");
      Dataset<Row> fewer = MatrixBlocks.fromRows(cached, "features");
      assertEquals(expected(IntStream.range(0, 47), "DOUBLE"), rows(fewer));
    } finally {
      cached.unpersist(true);
    }
  }

  /** Drops the last partition of a table from the cache. */
  private static void dropLast(Dataset<Row> cached) {
    RDD<?> batches =
        CachedTable.of(cached.queryExecution().withCachedData())
            .orElseThrow()
            .cacheBuilder()
            .cachedColumnBuffers();
    int last = batches.getNumPartitions() - 1;
    SparkEnv.get().blockManager().removeBlock(new RDDBlockId(batches.id(), last), true);
  }

  /** A table that is cached, but not there yet, is not remembered before all of it is. */
  @Test
  void aTableThatIsNotThereYet() {
    Dataset<Row> cached = table(50, 4, "DOUBLE").persist();
    try {
      Dataset<Row> blocks = MatrixBlocks.fromRows(cached, "features");
      assertEquals(2, jobsOfRows(blocks));
      assertEquals(1, jobsOfRows(blocks));
    } finally {
      cached.unpersist(true);
    }
  }

  @ParameterizedTest
  @MethodSource("modes")
  void covariancesNeedNoPlaces(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Dataset<Row> table = table(50, 4, "DOUBLE").selectExpr("features", "50 - id AS back");
          Dataset<Row> blocks = MatrixBlocks.fromRows(table, "features");
          Dataset<Row> found = MatrixBlocks.cov(blocks.select(blocks.col("*")));
          assertFalse(isCounted(found), () -> explained(found));
          Dataset<Row> ofPlaced = MatrixBlocks.cov(blocks.where("row >= 0"));
          assertTrue(isCounted(ofPlaced), () -> explained(ofPlaced));
          Dataset<Row> sorted =
              MatrixBlocks.fromRows(
                  table, "features", RowOptions.defaults().withOrderBy("back").withId("back"));
          Dataset<Row> ofSorted = MatrixBlocks.cov(sorted);
          assertFalse(explained(ofSorted).contains("Sort "), () -> explained(ofSorted));
          assertEquals("[245.0]", rows(sorted.limit(1)).get(0).replaceAll(",.*\\]", "]"));
          for (Dataset<Row> each : List.of(found, ofPlaced, ofSorted)) {
            for (Object covariance : DenseArray.of(each, 5, 5).values()) {
              assertEquals(5312.5, (double) covariance, 1e-9);
            }
          }
        });
  }

  private static boolean isCounted(Dataset<Row> blocks) {
    return !explained(blocks).contains("without places");
  }

  @Test
  void covariancesOfRowsThatAreLeftOutReadThemOnce() {
    Dataset<Row> table =
        table(50, 4, "DOUBLE").selectExpr("IF(id < 25, NULL, features) AS features");
    RowOptions skip = RowOptions.defaults().withNulls(RowPolicy.SKIP).withCols(5);
    Dataset<Row> found = MatrixBlocks.cov(MatrixBlocks.fromRows(table, "features", skip));
    assertEquals(1354.1666666666667, DenseArray.of(found, 5, 5).values()[7]);
    Dataset<Row> none =
        MatrixBlocks.cov(MatrixBlocks.fromRows(table.where("features IS NULL"), "features", skip));
    assertFails(none::collectAsList, "no rows that are not left out");
  }
}
