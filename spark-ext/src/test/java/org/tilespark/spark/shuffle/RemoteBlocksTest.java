package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.shuffle.TileShuffleReader.Block;
import org.tilespark.spark.testing.SparkTest;

/** Blocks that tasks fetch over the network; here this process fetches from itself. */
class RemoteBlocksTest extends SparkTest {
  private static final int SHUFFLE = 2_000_000; // no plan of the test run comes as far

  private final TaskContext task = TaskContext$.MODULE$.empty();

  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  /** The block of a map task that has one partition; its output is not there yet. */
  private static Block block(long map, long bytes) {
    return new Block(
        SparkEnv.get().blockManager().blockManagerId(),
        new ShuffleBlockId(SHUFFLE, map, 0),
        bytes,
        (int) map);
  }

  /** A block of an output that is there now. */
  private static Block written(long map) throws IOException {
    MapOutput output = outputs().newOutput(new MapOutput.Id(SHUFFLE, map), 1);
    long[] row = new long[1000];
    output.append(0, HostMemory.ofArray(row), 2);
    assertTrue(outputs().commit(output).isInMemory());
    return block(map, row.length * 8L);
  }

  /** Shuffles of other tests' cached frames stay until Spark's cleaner comes. */
  private long heldBefore;

  @BeforeEach
  void rememberWhatIsHeld() {
    heldBefore = outputs().budget().usedBytes();
  }

  /** The shuffle ends; then no byte of it may be held. */
  @AfterEach
  void nothingIsHeld() throws InterruptedException {
    outputs().forget(SHUFFLE);
    for (int i = 0; i < 500 && outputs().budget().usedBytes() > heldBefore; i++) {
      Thread.sleep(10); // a network thread frees what it has sent
    }
    assertTrue(outputs().budget().usedBytes() <= heldBefore);
  }

  @Test
  void whatWasAskedForComes() throws Exception {
    List<Block> blocks = List.of(written(1), written(2), written(3));
    try (RemoteBlocks remote = new RemoteBlocks(blocks, outputs(), task)) {
      remote.start();
      List<Block> came = new ArrayList<>();
      while (remote.hasNext()) {
        RemoteBlocks.Result result = remote.next();
        assertNull(result.failure());
        assertTrue(result.received().size() > 8000);
        came.add(result.block());
        remote.free(result);
      }
      assertTrue(came.containsAll(blocks));
      assertEquals(blocks.size(), came.size());
    }
  }

  /** Spark makes the buffers of those before it, and drops them. */
  @Test
  void aMissingBlockLeavesNothingOfTheOthersOfItsRequest() throws Exception {
    List<Block> blocks = List.of(written(1), written(2), block(3, 10));
    try (RemoteBlocks remote = new RemoteBlocks(blocks, outputs(), task)) {
      remote.start();
      for (int i = 0; i < blocks.size(); i++) {
        assertNotNull(remote.next().failure());
      }
    }
  }

  /** The task learns of it, to close it, before it holds anything. */
  @Test
  void nothingIsTakenBeforeItStarts() throws Exception {
    List<Block> blocks = List.of(written(1));
    long before = outputs().budget().usedBytes();
    try (RemoteBlocks remote = new RemoteBlocks(blocks, outputs(), task)) {
      assertEquals(before, outputs().budget().usedBytes());
      assertTrue(remote.hasNext());
      remote.start();
      assertTrue(outputs().budget().usedBytes() > before);
    }
  }

  /** A thread may go on when its task has ended. */
  @Test
  void nothingIsTakenOnceItIsClosed() throws Exception {
    List<Block> blocks = List.of(written(1));
    RemoteBlocks remote = new RemoteBlocks(blocks, outputs(), task);
    remote.close();
    assertThrows(IllegalStateException.class, remote::next);
    assertFalse(remote.keep());
  }
}
