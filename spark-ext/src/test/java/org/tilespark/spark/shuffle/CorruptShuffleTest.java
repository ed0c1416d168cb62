package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerMaster;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.kernels.Sampling;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Files of map outputs that are changed between stages are made anew, and never read as rows. */
class CorruptShuffleTest extends SparkTest {
  private static final TestArray TARGET = TestArray.matrix(ElementType.FLOAT32, 120, 90, 50, 35);

  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  /** A query whose map tasks have run, whose outputs are in files, and whose reducers run again. */
  private static Dataset<Row> exchanged() throws IOException {
    Dataset<Row> reblocked =
        MatrixBlocks.reblock(
            TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15)
                .toDataFrame(spark, 3)
                .drop("tag"),
            50,
            35);
    RDD<InternalRow> rows = plan(reblocked).toRdd();
    assertEquals(TARGET.blockCount(), rows.count());
    outputs().store().spillAll();
    return ((SparkSession) spark).internalCreateDataFrame(rows, reblocked.schema(), false);
  }

  private static List<MapStatus> maps(int shuffle) {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    return Arrays.stream(ScalaInterop.javaMap(tracker.shuffleStatuses()).get(shuffle).mapStatuses())
        .toList();
  }

  private static void assertRight(Dataset<Row> rows) {
    TARGET.assertPermuted(
        Permutation.of(0, 1), rows.selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  private static byte[] changed(byte[] bytes, SplittableRandom random) {
    byte[] changed = bytes.clone();
    int at = random.nextInt(bytes.length);
    switch (random.nextInt(5)) {
      case 0 -> changed[at] ^= (byte) (1 << random.nextInt(8));
      case 1 ->
          changed[random.nextInt(Math.min(48, bytes.length))] ^= (byte) (1 << random.nextInt(8));
      case 2 -> Arrays.fill(changed, at, Math.min(bytes.length, at + 512), (byte) 0);
      case 3 -> changed = Arrays.copyOf(bytes, at);
      default -> changed[at] = (byte) random.nextInt();
    }
    return changed;
  }

  @Test
  void changedFilesAreMadeAnew() {
    with(
        Map.of("spark.sql.adaptive.enabled", "false", "spark.sql.shuffle.partitions", "3"),
        () -> {
          SplittableRandom random = new SplittableRandom(42);
          int cases = Sampling.FULL ? 150 : 10;
          for (int i = 0; i < cases; i++) {
            String what = "case " + i;
            try {
              Dataset<Row> rows = exchanged();
              int shuffle = TileShuffleManager.served().get(0).shuffleId();
              List<MapStatus> before = maps(shuffle);
              long map = before.get(random.nextInt(before.size())).mapId();
              boolean isIndex = random.nextInt(6) == 0;
              File file =
                  isIndex
                      ? outputs().getIndexFile(shuffle, map, ScalaInterop.none())
                      : outputs().getDataFile(shuffle, map);
              byte[] bytes = Files.readAllBytes(file.toPath());
              byte[] changed = changed(bytes, random);
              Files.write(file.toPath(), changed);
              what += " of shuffle " + shuffle + (isIndex ? ", index" : "");
              assertRight(rows);
              boolean anew =
                  !maps(shuffle).stream()
                      .map(MapStatus::mapId)
                      .toList()
                      .equals(before.stream().map(MapStatus::mapId).toList());
              assertTrue(
                  anew || Arrays.equals(bytes, changed) || isIndex, what + " is not noticed");
            } catch (IOException | RuntimeException | AssertionError e) {
              throw new AssertionError(what, e);
            }
          }
        });
  }

  /** Over a failed fetch Spark forgets the block manager, which has to register again. */
  @Test
  void cachedBlocksGoAfterAFailedFetch() {
    with(
        Map.of("spark.sql.adaptive.enabled", "false", "spark.sql.shuffle.partitions", "3"),
        () -> {
          try {
            Dataset<Row> rows = exchanged();
            int shuffle = TileShuffleManager.served().get(0).shuffleId();
            File file = outputs().getDataFile(shuffle, maps(shuffle).get(0).mapId());
            Files.write(file.toPath(), new byte[0]);
            assertRight(rows);
            long before = cachedBlocks();
            Dataset<Row> cached =
                TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15)
                    .toDataFrame(spark, 3)
                    .drop("tag")
                    .cache();
            assertTrue(cached.count() > 0);
            assertTrue(cachedBlocks() > before, "nothing was cached");
            awaitBlockManager();
            cached.unpersist(true);
            assertEquals(before, cachedBlocks(), "cached blocks after unpersist");
          } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
          }
        });
  }

  private static long cachedBlocks() {
    return SparkEnv.get()
        .blockManager()
        .getMatchingBlockIds(ScalaInterop.function(id -> ((BlockId) id).isRDD()))
        .size();
  }

  /** It registers on a thread of its own. */
  private static void awaitBlockManager() throws InterruptedException {
    BlockManagerMaster master = SparkEnv.get().blockManager().master();
    for (int i = 0; i < 400 && master.getMemoryStatus().isEmpty(); i++) {
      Thread.sleep(50);
    }
    assertEquals(1, master.getMemoryStatus().size(), "block managers that the driver knows");
  }

  // ---- Spark's checksums

  private static MapOutput output(long map, int partitions) throws IOException {
    MapOutput output = outputs().newOutput(new MapOutput.Id(2_000_002, map), partitions);
    for (int row = 0; row < 40; row++) {
      long[] values = new long[20_000];
      Arrays.fill(values, row);
      output.append(row % (partitions - 1), HostMemory.ofArray(values), 3);
    }
    return output;
  }

  /** With the algorithm that the plugin names, whose sums are combined, and with Spark's others. */
  @ParameterizedTest
  @ValueSource(strings = {"CRC32C", "ADLER32", "CRC32"})
  void filesHaveSparksChecksums(String algorithm) throws IOException {
    SparkConf conf =
        SparkEnv.get().conf().clone().set(CorruptionDiagnosis.Settings.ALGORITHM, algorithm);
    TileShuffleResolver resolver = new TileShuffleResolver(conf, outputs());
    MapOutput output = output(7, 4);
    MapOutput.Id id = output.id();
    resolver.write(output);
    output.release();
    long[] sums =
        resolver.getChecksums(
            resolver.getChecksumFile(id.shuffle(), id.map(), algorithm, ScalaInterop.none()), 4);
    List<Long> expected = new ArrayList<>();
    for (int p = 0; p < 4; p++) {
      var sum = new CorruptionDiagnosis.Settings(true, algorithm).newChecksum();
      var buffer =
          (FileSegmentManagedBuffer)
              resolver.getBlockData(
                  new ShuffleBlockId(id.shuffle(), id.map(), p), ScalaInterop.none());
      byte[] bytes = buffer.createInputStream().readAllBytes();
      sum.update(bytes, 0, bytes.length);
      expected.add(sum.getValue());
    }
    assertEquals(expected, Arrays.stream(sums).boxed().toList());
    resolver.delete(id);
  }

  @Test
  void sparkSaysWhereBytesWereChanged() throws IOException {
    MapOutput output = output(8, 2);
    MapOutput.Id id = output.id();
    outputs().write(output);
    output.release();
    String algorithm = SparkEnv.get().conf().get(CorruptionDiagnosis.Settings.ALGORITHM);
    assertEquals("CRC32C", algorithm);
    var block = new ShuffleBlockId(id.shuffle(), id.map(), 0);
    File file = outputs().getDataFile(id.shuffle(), id.map());
    byte[] bytes = Files.readAllBytes(file.toPath());
    assertEquals(Cause.NETWORK_ISSUE, diagnosed(block, 1, algorithm));
    bytes[5000] ^= 1;
    Files.write(file.toPath(), bytes);
    assertEquals(Cause.DISK_ISSUE, diagnosed(block, 1, algorithm));
    outputs().delete(id);
  }

  private static Cause diagnosed(ShuffleBlockId block, long found, String algorithm) {
    return SparkEnv.get().blockManager().diagnoseShuffleBlockCorruption(block, found, algorithm);
  }
}
