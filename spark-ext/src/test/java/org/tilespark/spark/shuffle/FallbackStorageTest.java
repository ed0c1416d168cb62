package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.storage.FallbackStorage;
import org.apache.spark.storage.FallbackStorage$;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Outputs that a decommissioned executor left in fallback storage are read there. */
class FallbackStorageTest extends SparkTest {
  private static final String PATH = "spark.storage.decommission.fallbackStorage.path";

  @TempDir Path storage;

  private static List<MapStatus> maps(int shuffle) {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    return Arrays.asList(
        ScalaInterop.javaMap(tracker.shuffleStatuses()).get(shuffle).mapStatuses());
  }

  @Test
  void outputsAreReadThere() throws Exception {
    SparkConf conf = SparkEnv.get().conf();
    conf.set(PATH, storage.toUri().toString());
    try {
      with(Map.of("spark.sql.adaptive.enabled", "false"), this::readsMoved);
    } finally {
      conf.remove(PATH);
    }
    try (Stream<Path> files = Files.walk(storage)) {
      assertTrue(files.anyMatch(file -> file.toString().endsWith(".data")));
    }
  }

  private void readsMoved() {
    TileShuffleResolver outputs = ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
    Dataset<Row> reblocked =
        MatrixBlocks.reblock(
            TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15)
                .toDataFrame(spark, 3)
                .drop("tag"),
            50,
            35);
    RDD<InternalRow> rows = plan(reblocked).toRdd();
    long count = rows.count();
    int shuffle = TileShuffleManager.served().get(0).shuffleId();
    List<Long> before = maps(shuffle).stream().map(MapStatus::mapId).toList();
    FallbackStorage fallback = new FallbackStorage(SparkEnv.get().conf());
    for (ShuffleBlockInfo each : ScalaInterop.<ShuffleBlockInfo>list(outputs.getStoredShuffles())) {
      if (each.shuffleId() == shuffle) {
        fallback.copy(each, SparkEnv.get().blockManager());
        outputs.delete(new org.tilespark.arrow.store.MapOutput.Id(shuffle, each.mapId()));
      }
    }
    assertTrue(
        maps(shuffle).stream()
            .allMatch(
                map ->
                    map.location().equals(FallbackStorage$.MODULE$.FALLBACK_BLOCK_MANAGER_ID())));
    assertEquals(count, rows.count());
    TestArray.matrix(ElementType.FLOAT32, 120, 90, 50, 35)
        .assertPermuted(
            Permutation.of(0, 1),
            ((SparkSession) spark)
                .internalCreateDataFrame(rows, reblocked.schema(), false)
                .selectExpr("*", "cast(null AS STRING) AS tag"));
    assertEquals(
        before, maps(shuffle).stream().map(MapStatus::mapId).toList(), "no map task ran again");
  }
}
