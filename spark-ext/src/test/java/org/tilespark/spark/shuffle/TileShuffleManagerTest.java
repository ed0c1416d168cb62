package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;

/** Shuffles that go through memory, with the results of Spark's shuffle. */
class TileShuffleManagerTest extends SparkTest {
  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15);

  private static Dataset<Row> matrix() {
    return ARRAY.toDataFrame(spark, 6).drop("tag");
  }

  private static Dataset<Row> reblocked() {
    return MatrixBlocks.reblock(matrix(), 13, 17);
  }

  private static void assertRight(Dataset<Row> reblocked) {
    TestArray.matrix(ElementType.FLOAT32, 120, 90, 13, 17)
        .assertPermuted(
            Permutation.of(0, 1), reblocked.selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  @Test
  @Tag("versions")
  void piecesStayInMemory() {
    long before = outputs().committed();
    assertRight(reblocked());
    assertTrue(outputs().committed() > before, "nothing was kept in memory");
  }

  @Test
  @Tag("versions")
  void sparksOwnShuffleGivesTheSame() {
    with(
        Map.of(TileSparkConf.EXCHANGE_MODE.name(), "spark"),
        () -> {
          long before = outputs().committed();
          assertRight(reblocked());
          assertEquals(before, outputs().committed());
        });
  }

  @Test
  void allPlansOfSparkReadIt() {
    for (Map<String, String> mode : executionModes()) {
      with(mode, () -> assertRight(reblocked()));
    }
    with(
        Map.of(
            "spark.sql.adaptive.coalescePartitions.initialPartitionNum", "9",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes", "4k",
            "spark.sql.adaptive.coalescePartitions.minPartitionSize", "1k"),
        () -> assertRight(reblocked()));
  }

  /** Spark's checksums of rows are those that Spark's own shuffle computes. */
  @Test
  void checksumsOfRowsAreSparks() {
    assumeTrue(
        Arrays.stream(MapStatus.class.getMethods())
            .anyMatch(method -> method.getName().equals("checksumValue")),
        "Spark 4.0 has no checksums of rows");
    Map<String, String> checked =
        Map.of("spark.sql.shuffle.orderIndependentChecksum.enabled", "true");
    with(
        checked,
        () -> {
          long before = outputs().committed();
          assertRight(reblocked());
          List<Long> ours = checksumsOf(reblocked());
          assertTrue(outputs().committed() > before, "nothing was kept in memory");
          assertTrue(ours.stream().anyMatch(each -> each != 0), ours::toString);
          with(
              Map.of(TileSparkConf.EXCHANGE_MODE.name(), "spark"),
              () -> assertEquals(ours, checksumsOf(reblocked())));
        });
  }

  /** The checksums of all map outputs of the shuffles that a query adds, in order. */
  private static List<Long> checksumsOf(Dataset<Row> query) {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    Set<Object> before = Set.copyOf(statuses(tracker).keySet());
    assertTrue(query.toJavaRDD().count() > 0); // outputs of an execution would go with it
    List<Long> checksums = new ArrayList<>();
    statuses(tracker)
        .forEach(
            (shuffle, status) -> {
              if (!before.contains(shuffle)) {
                for (MapStatus map : status.mapStatuses()) {
                  checksums.add(map.checksumValue());
                }
              }
            });
    return checksums.stream().sorted().toList();
  }

  private static Map<Object, ShuffleStatus> statuses(MapOutputTrackerMaster tracker) {
    return ScalaInterop.javaMap(tracker.shuffleStatuses());
  }

  /** A shuffle of rows that no node of ours gives. */
  @Test
  void otherShufflesAreSparks() {
    long before = outputs().committed();
    assertEquals(6, matrix().groupBy("row").count().collectAsList().size());
    assertEquals(before, outputs().committed());
  }

  /** A query that is given up in the middle leaves nothing that is not freed. */
  @Test
  void aLimitFreesWhatWasFetched() {
    assertEquals(1, reblocked().limit(1).collectAsList().size());
  }

  @Test
  void outputsGoWithTheirShuffle() {
    JavaRDD<Row> rows = reblocked().toJavaRDD(); // no execution made it, with which they would go
    assertTrue(rows.count() > 0);
    int kept = outputs().inMemory();
    assertTrue(kept > 0);
    for (int shuffle = 0; shuffle < 100_000; shuffle++) {
      outputs().forget(shuffle);
    }
    assertEquals(0, outputs().inMemory());
    assertEquals(0, outputs().budget().usedBytes());
  }

  @Test
  void transformsExchangeTwice() {
    TestField field = TestField.random(1, true, 36, 16, 15);
    for (String mode : new String[] {"spark", "memory"}) {
      with(
          Map.of(
              TileSparkConf.EXCHANGE_MODE.name(),
              mode,
              TileSparkConf.FOURIER_TASK_SIZE.name(),
              "0",
              "spark.sql.shuffle.partitions",
              "7"),
          () -> {
            Dataset<Row> there =
                VolumeBlocks.fft(
                    field.blocks(spark, ElementType.FLOAT64, true, 7, 6, 5),
                    FftOptions.defaults().withOutput("natural"));
            TestField.of(there, 36, 16, 15)
                .assertNear(field.fft("xyz"), ElementType.FLOAT64, "fft");
            TestField.of(VolumeBlocks.ifft(there), 36, 16, 15)
                .assertNear(field, ElementType.FLOAT64, "ifft");
          });
    }
  }
}
