package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.FilterFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.RDDBlockId;
import org.apache.spark.util.LongAccumulator;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import scala.jdk.javaapi.CollectionConverters;

/** Rows that several plans read and that are computed once. */
class KeptTest extends SparkTest {
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT64, 40, 30, 10, 10);

  /** A kept frame, and how often its rows were computed. */
  private record Counted(Kept kept, LongAccumulator rows) {
    static Counted of() {
      LongAccumulator rows = spark.sparkContext().longAccumulator();
      Dataset<Row> source =
          ARRAY.toDataFrame(spark, 3).filter((FilterFunction<Row>) row -> count(rows));
      return new Counted(
          Kept.of(plan(source).analyzed(), "kept for a test", KeptTest::frame), rows);
    }

    private static boolean count(LongAccumulator rows) {
      rows.add(1);
      return true;
    }

    Dataset<Row> frame() {
      return KeptTest.frame(kept.plan());
    }
  }

  private static Dataset<Row> frame(org.apache.spark.sql.catalyst.plans.logical.LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) spark, plan);
  }

  private static Set<Object> cached() {
    return new TreeSet<>(
        CollectionConverters.asJava(spark.sparkContext().getPersistentRDDs()).keySet());
  }

  @Test
  void isComputedOnceForAllThatReadIt() {
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Counted counted = Counted.of();
            assertEquals(0, counted.rows.value(), "lazy");
            ARRAY.assertPermuted(Permutation.of(0, 1), counted.frame());
            ARRAY.assertPermuted(Permutation.of(0, 1), counted.frame());
            ARRAY.assertPermuted(Permutation.of(1, 0), MatrixBlocks.transpose(counted.frame()));
            Dataset<Row> both = counted.frame().union(counted.frame());
            assertEquals(2L * ARRAY.blockCount(), both.count());
            Dataset<Row> joined =
                counted
                    .frame()
                    .as("a")
                    .join(counted.frame().as("b"), "row")
                    .filter("a.col = b.col");
            assertEquals(ARRAY.blockCount(), joined.count());
            assertEquals(ARRAY.blockCount(), counted.rows.value());
          });
    }
  }

  @Test
  void isComputedOnceWhereOneQueryReadsItTwiceAtFirst() {
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Counted counted = Counted.of();
            assertEquals(
                2 * ARRAY.blockCount(),
                counted.frame().union(counted.frame()).collectAsList().size());
            assertEquals(ARRAY.blockCount(), counted.rows.value());
          });
    }
  }

  @Test
  void explainShowsIt() {
    Counted counted = Counted.of();
    String text = explained(counted.frame());
    assertTrue(text.contains("Scan In-memory table kept for a test"), text);
    assertTrue(text.contains("InMemoryRelation"), text);
    assertEquals(0, counted.rows.value(), "EXPLAIN computes nothing");
  }

  /** Each reads the one before twice. */
  @Test
  void thePlanOfManyInEachOtherIsShort() {
    Kept kept = Counted.of().kept;
    for (int i = 0; i < 12; i++) {
      Kept before = kept;
      kept =
          Kept.of(
              plan(frame(before.plan()).union(frame(before.plan())).limit(1)).analyzed(),
              "kept " + i,
              KeptTest::frame);
    }
    Dataset<Row> last = frame(kept.plan());
    assertTrue(explained(last).length() < 5000, explained(last));
    assertEquals(1, last.count());
  }

  @Test
  void keepsWhatTheMetadataStates() {
    Dataset<Row> stated = MatrixBlocks.withExtents(ARRAY.toDataFrame(spark, 2), 40, 30);
    Kept kept = Kept.of(plan(stated).analyzed(), "kept for a test", KeptTest::frame);
    assertEquals(stated.schema(), frame(kept.plan()).schema());
  }

  @Test
  void isOfNoOtherQuery() {
    Dataset<Row> source = ARRAY.toDataFrame(spark, 2);
    Kept kept = Kept.of(plan(source).analyzed(), "kept for a test", KeptTest::frame);
    frame(kept.plan()).count();
    assertFalse(explained(source).contains("In-memory"));
    assertFalse(source.storageLevel().useMemory());
  }

  @Test
  void aLostPartitionIsComputedAgain() {
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Set<Object> before = cached();
            Counted counted = Counted.of();
            Dataset<Row> frame = counted.frame();
            frame.count();
            Set<Object> made = cached();
            made.removeAll(before);
            assertEquals(1, made.size());
            int rdd = (Integer) made.iterator().next();
            SparkEnv.get().blockManager().removeBlock(new RDDBlockId(rdd, 1), true);
            ARRAY.assertPermuted(Permutation.of(0, 1), counted.frame());
            long rows = counted.rows.value();
            assertTrue(
                rows > ARRAY.blockCount() && rows < 2L * ARRAY.blockCount(), () -> "" + rows);
          });
    }
  }

  @Test
  void isFreedWhenNobodyCanReadItAnyMore() throws InterruptedException {
    Set<Object> before = cached();
    fill();
    Set<Object> left = cached();
    left.removeAll(before);
    for (int i = 0; i < 600 && !left.isEmpty(); i++) {
      System.gc();
      Thread.sleep(100);
      left.retainAll(cached());
    }
    assertEquals(Set.of(), left);
  }

  /** In a frame of the stack that is gone when the test looks. */
  private static void fill() {
    Set<Object> before = cached();
    Counted counted = Counted.of();
    counted.frame().count();
    Set<Object> made = cached();
    made.removeAll(before); // of which some may have been freed meanwhile
    assertEquals(1, made.size());
  }
}
