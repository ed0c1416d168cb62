package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.PartitionFrames;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.testing.SparkTest;

/**
 * A partition of one map output that is longer than 2 GiB, which no array, buffer of Java or buffer
 * of Netty can hold. It needs 5 GiB of memory outside the heap, and half of that on disk. {@link
 * OutputBufferTest} has its edge.
 */
@Tag("full")
class LargePartitionTest extends SparkTest {
  private static final int SHUFFLE = 2_000_001; // no plan of the test run comes as far
  private static final MapOutput.Id ID = new MapOutput.Id(SHUFFLE, 0);
  private static final int ROWS = 9;
  private static final long ROW_BYTES = (256L << 20) - 8;
  private static final long WIRE_BYTES = 16 + ROWS * (16 + 8 + ROW_BYTES);

  private final BlockManagerId here = SparkEnv.get().blockManager().blockManagerId();
  private TileShuffleResolver.Committed committed;

  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  /** Each row has its number at both of its ends. */
  @BeforeEach
  void writePartition() throws IOException {
    long limit = outputs().budget().limitBytes();
    assumeTrue(limit > WIRE_BYTES + (64L << 20), () -> "the store has " + limit + " bytes");
    MapOutput output = outputs().newOutput(ID, 1);
    for (int row = 0; row < ROWS; row++) {
      long address = output.room(ROW_BYTES, 2);
      HostMemory.unsafe().putLong(address, row);
      HostMemory.unsafe().putLong(address + ROW_BYTES - 8, row);
      assertTrue(output.place(0, address));
    }
    assertEquals(WIRE_BYTES, output.wireBytes(0));
    committed = outputs().commit(output);
    assertTrue(committed.isInMemory());
  }

  @AfterEach
  void nothingIsHeld() throws InterruptedException {
    outputs().forget(SHUFFLE);
    outputs().delete(ID);
    for (int i = 0; i < 500 && outputs().budget().usedBytes() > 0; i++) {
      Thread.sleep(10); // a network thread frees what it has sent
    }
    assertEquals(0, outputs().budget().usedBytes());
  }

  private static void assertRows(MapOutputRows rows) throws IOException {
    UnsafeRow[] given = new UnsafeRow[1];
    MapOutputRows.Target target = new MapOutputRows.Target(row -> given[0] = row);
    for (int row = 0; row < ROWS; row++) {
      assertTrue(rows.next(target));
      assertEquals(ROW_BYTES, given[0].getSizeInBytes());
      for (long at : new long[] {0, ROW_BYTES - 8}) {
        assertEquals(
            row,
            HostMemory.unsafe().getLong(given[0].getBaseObject(), given[0].getBaseOffset() + at));
      }
    }
    assertFalse(rows.next(target));
    rows.close();
  }

  private void assertFetched() throws Exception {
    TileShuffleReader.Block block =
        new TileShuffleReader.Block(here, new ShuffleBlockId(SHUFFLE, 0, 0), WIRE_BYTES, 0);
    try (RemoteBlocks remote =
        new RemoteBlocks(List.of(block), outputs(), TaskContext$.MODULE$.empty())) {
      remote.start();
      RemoteBlocks.Result result = remote.next();
      assertNull(result.failure());
      assertEquals(WIRE_BYTES - 16, result.received().size());
      assertRows(MapOutputRows.Verified.received(result, remote));
    }
  }

  private static void moveToFiles() throws IOException {
    outputs().store().spillAll();
    assertTrue(outputs().find(ID).isEmpty());
  }

  @Test
  void itsSizeReachesTheDriver() {
    MapStatus status = MapStatuses.of(committed.by(), new long[] {WIRE_BYTES}, 0, 0);
    double ratio = (double) status.getSizeForBlock(0) / WIRE_BYTES;
    assertTrue(ratio >= 1 && ratio < 1.1, () -> "ratio " + ratio); // sizes are powers of 1.1
  }

  @Test
  void itIsReadInPlace() throws IOException {
    Optional<MapOutput> output = outputs().find(ID);
    assertRows(new MapOutputRows.OfOutput(output.orElseThrow(), 0));
  }

  @Test
  void itIsSentFromMemory() throws Exception {
    assertFetched();
  }

  @Test
  void itIsReadFromFiles() throws IOException {
    moveToFiles();
    assertRows(
        MapOutputRows.Verified.ofFile(
            outputs().getBlockData(new ShuffleBlockId(SHUFFLE, 0, 0), ScalaInterop.none()),
            ID.place(0),
            new PartitionFrames.Buffer()));
  }

  @Test
  void itIsSentFromFiles() throws Exception {
    moveToFiles();
    assertFetched();
  }
}
