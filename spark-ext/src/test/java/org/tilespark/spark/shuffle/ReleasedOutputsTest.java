package org.tilespark.spark.shuffle;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.shuffle.Releases.Release;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Attempts at map tasks that end after their shuffle release everything. */
class ReleasedOutputsTest extends SparkTest {
  private static final int SHUFFLE = 1_000_000; // no plan of the test run comes as far

  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  @BeforeEach
  void beginWithNothing() throws InterruptedException {
    awaitNoTasks();
    for (int shuffle = 0; shuffle < 100_000; shuffle++) {
      outputs().forget(shuffle);
    }
  }

  /** The output of an attempt. */
  private static MapOutput output(int shuffle, long map) throws IOException {
    MapOutput output = outputs().newOutput(new MapOutput.Id(shuffle, map), 1);
    output.append(0, HostMemory.ofArray(new long[] {map, map}), 2);
    return output;
  }

  private static void assertNothingHeld() {
    assertEquals(0, outputs().inMemory());
    assertEquals(0, outputs().budget().usedBytes());
  }

  @Test
  void anAttemptThatEndsAfterItsShuffleLeavesNothing() throws IOException {
    outputs().release(new Release(SHUFFLE, 10));
    outputs().commit(output(SHUFFLE, 9));
    assertNothingHeld();
    outputs().forget(SHUFFLE); // Spark's cleaner comes later
    outputs().commit(output(SHUFFLE, 10));
    assertNothingHeld();
    assertTrue(outputs().commit(output(SHUFFLE, 11)).isInMemory(), "the plan runs again");
    assertEquals(1, outputs().inMemory());
    outputs().release(new Release(SHUFFLE, 3)); // of an answer that was late
    outputs().forget(SHUFFLE);
    outputs().commit(output(SHUFFLE, 7));
    assertNothingHeld();
  }

  /** Spark's cleaner alone ends a shuffle that no execution made. */
  @Test
  void anAttemptThatEndsAfterSparksCleanerLeavesNothing() throws Exception {
    JavaRDD<Row> rows =
        MatrixBlocks.reblock(
                TestArray.matrix(ElementType.FLOAT32, 60, 45, 20, 15)
                    .toDataFrame(spark, 3)
                    .drop("tag"),
                13,
                17)
            .toJavaRDD();
    assertTrue(rows.count() > 0);
    assertTrue(outputs().inMemory() > 0);
    int shuffle = TileShuffleManager.served().get(0).shuffleId();
    spark.sparkContext().cleaner().get().doCleanupShuffle(shuffle, true);
    awaitNoTasks(); // and listeners have handled all events
    assertNothingHeld();
    outputs().commit(output(shuffle, 0));
    assertNothingHeld();
    assertTrue(rows.count() > 0, "the same shuffle is made anew");
    assertTrue(outputs().inMemory() > 0);
  }

  /** The shuffle ends when the attempt has seen that it lives, and before its output is there. */
  private static void commitWhileItsShuffleEnds(MapOutput output) throws Exception {
    TileShuffleResolver outputs = outputs();
    FutureTask<TileShuffleResolver.Committed> commit =
        new FutureTask<>(() -> outputs.commit(output));
    Thread attempt = new Thread(commit);
    synchronized (outputs) { // which a commit needs in its middle
      attempt.start();
      awaitBlocked(attempt, outputs);
      outputs.release(new Release(output.id().shuffle(), output.id().map()));
    }
    assertFalse(commit.get().isInMemory());
  }

  private static void awaitBlocked(Thread thread, Object lock) throws InterruptedException {
    for (int i = 0; i < 6000; i++) {
      ThreadInfo now = ManagementFactory.getThreadMXBean().getThreadInfo(thread.getId());
      LockInfo waitsFor = now == null ? null : now.getLockInfo();
      if (waitsFor != null && waitsFor.getIdentityHashCode() == System.identityHashCode(lock)) {
        return;
      }
      Thread.sleep(10);
    }
    fail("The attempt did not come to its commit");
  }

  @Test
  void anOutputGoesWhoseShuffleEndsWhileItIsCommitted() throws Exception {
    commitWhileItsShuffleEnds(output(SHUFFLE + 1, 5));
    assertNothingHeld();
  }

  @Test
  void filesGoWhoseShuffleEndsWhileTheyAreCommitted(@TempDir Path directory) throws Exception {
    MapOutput output =
        new MapOutput(
            new MapOutput.Id(SHUFFLE + 2, 5),
            1,
            outputs().memory(),
            new StoreBudget(0),
            () -> FileChannel.open(directory.resolve("rows"), CREATE_NEW, READ, WRITE));
    output.append(0, HostMemory.ofArray(new long[] {1, 2}), 2);
    commitWhileItsShuffleEnds(output);
    assertNothingHeld();
    assertFalse(outputs().getDataFile(SHUFFLE + 2, 5).exists());
  }

  /** An output in files, which the resolver has recorded. */
  private static void write(int shuffle, long map) throws IOException {
    MapOutput output = output(shuffle, map);
    try {
      outputs().write(output);
    } finally {
      output.release();
    }
  }

  @Test
  void anOutputThatCannotBeLetGoDoesNotKeepFiles() throws IOException {
    int shuffle = SHUFFLE + 3;
    write(shuffle, 1);
    assertTrue(outputs().getDataFile(shuffle, 1).exists());
    MapOutput freed = output(shuffle, 2);
    assertTrue(outputs().commit(freed).isInMemory());
    freed.release(); // once too often: the store will release it too
    assertThrows(IllegalStateException.class, () -> outputs().release(new Release(shuffle, 2)));
    assertFalse(outputs().getDataFile(shuffle, 1).exists());
    assertNothingHeld();
  }

  /** Spark removes an output's data before it looks for the checksum's file. */
  @Test
  void anOutputWhoseFilesCannotBeRemovedDoesNotKeepTheOthers() throws IOException {
    int shuffle = SHUFFLE + 4;
    SparkConf conf = SparkEnv.get().conf().clone();
    TileShuffleResolver failing =
        new TileShuffleResolver(conf.set("spark.shuffle.checksum.algorithm", "none"), outputs());
    for (long map = 0; map < 3; map++) {
      write(shuffle, map);
      failing.hasFiles(shuffle, map);
    }
    Throwable thrown =
        assertThrows(
            IllegalArgumentException.class, () -> failing.release(new Release(shuffle, 2)));
    assertEquals(2, thrown.getSuppressed().length);
    for (long map = 0; map < 3; map++) {
      assertFalse(outputs().getDataFile(shuffle, map).exists());
    }
  }

  @Test
  void theOldestAreForgotten() {
    ReleasedOutputs released = new ReleasedOutputs();
    for (int shuffle = 0; shuffle < 4096; shuffle++) {
      released.add(new Release(shuffle, 10));
    }
    released.add(new Release(0, 8)); // named again: it is no longer the oldest
    released.add(new Release(4096, 10));
    assertTrue(released.has(new MapOutput.Id(0, 10)));
    assertFalse(released.has(new MapOutput.Id(0, 11)));
    assertFalse(released.has(new MapOutput.Id(1, 0)));
    assertTrue(released.has(new MapOutput.Id(2, 0)));
    assertTrue(released.has(new MapOutput.Id(4096, 10)));
    assertFalse(released.has(new MapOutput.Id(4097, 0)));
  }
}
