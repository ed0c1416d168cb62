package org.tilespark.arrow.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.store.MapOutput.Id;
import org.tilespark.kernels.memory.HostMemory;

class StoredOutputsTest {
  private static final long EXTENT_BYTES = 256 << 10; // of a row
  private static final int ROW_VALUES = (int) (EXTENT_BYTES - RowImage.HEADER_BYTES) / Long.BYTES;

  /** Files that are kept on the heap. */
  private static final class FakeFiles implements StoredOutputs.Files {
    final Map<Id, byte[]> written = new ConcurrentHashMap<>();
    volatile boolean full;
    volatile CountDownLatch gate = new CountDownLatch(0);
    final AtomicInteger waiting = new AtomicInteger();

    @Override
    public void write(MapOutput output) throws IOException {
      waiting.incrementAndGet();
      try {
        gate.await();
      } catch (InterruptedException e) {
        throw new InterruptedIOException();
      }
      if (full) {
        throw new IOException("No space left on device");
      }
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      output.writeTo(0, Channels.newChannel(bytes));
      written.put(output.id(), bytes.toByteArray());
    }

    @Override
    public void delete(Id id) {
      written.remove(id);
    }
  }

  @TempDir Path folder;
  private final NativeMemorySource source = new NativeMemorySource(0);
  private final FakeFiles files = new FakeFiles();
  private final StoreBudget budget = new StoreBudget(4 * EXTENT_BYTES);
  private final StoredOutputs store = new StoredOutputs(budget, files);

  @AfterEach
  void nothingIsHeld() {
    store.close();
    assertEquals(0, budget.usedBytes());
    source.close();
  }

  private MapOutput output(int shuffle, long map, int rows) throws IOException {
    MapOutput output =
        new MapOutput(
            new Id(shuffle, map),
            1,
            source,
            budget,
            () ->
                FileChannel.open(
                    Files.createTempFile(folder, "overflow", null),
                    StandardOpenOption.READ,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.DELETE_ON_CLOSE));
    for (int i = 0; i < rows; i++) {
      long[] row = new long[ROW_VALUES];
      java.util.Arrays.fill(row, map);
      output.append(0, HostMemory.ofArray(row), 2);
    }
    return output;
  }

  /** Wire bytes of rows that went into files in {@code frames} frames. */
  private static long wireBytes(int rows, int frames) {
    return CheckedHeader.BYTES * (1L + frames) + rows * (8L + 8 * ROW_VALUES);
  }

  private boolean inMemory(int shuffle, long map) {
    Optional<MapOutput> found = store.find(new Id(shuffle, map));
    found.ifPresent(MapOutput::release);
    return found.isPresent();
  }

  /** The output that was not read for longest makes room. */
  @Test
  void leastRecentlyUsedGoesToFiles() throws IOException {
    for (long map = 0; map < 4; map++) {
      assertTrue(store.commit(output(1, map, 1)));
    }
    assertTrue(inMemory(1, 0)); // and now map 1 is the oldest
    assertTrue(store.commit(output(1, 4, 1)));
    assertTrue(inMemory(1, 0));
    assertFalse(inMemory(1, 1));
    assertEquals(List.of(new Id(1, 1)), List.copyOf(files.written.keySet()));
    assertEquals(wireBytes(1, 1), files.written.get(new Id(1, 1)).length);
    assertEquals(EXTENT_BYTES, store.spilledBytes());
    assertTrue(budget.peakBytes() <= budget.limitBytes());
  }

  /** An output that a reader holds stays valid, and its memory is free once the reader is done. */
  @Test
  void readersKeepWhatWasSpilled() throws IOException {
    store.commit(output(1, 7, 1));
    MapOutput read = store.find(new Id(1, 7)).orElseThrow();
    store.spillAll();
    assertEquals(0, store.size());
    assertEquals(EXTENT_BYTES, budget.usedBytes());
    assertEquals(7, HostMemory.unsafe().getLong(read.image(0, 0) + RowImage.HEADER_BYTES));
    read.release();
    assertEquals(0, budget.usedBytes());
  }

  /** Writing an output that a reader holds would not free it: the others go, and it stays. */
  @Test
  void whatIsReadIsNotEvicted() throws IOException {
    for (long map = 0; map < 4; map++) {
      store.commit(output(1, map, 1));
    }
    List<MapOutput> read = new ArrayList<>();
    for (long map = 0; map < 3; map++) {
      read.add(store.find(new Id(1, map)).orElseThrow());
    }
    assertTrue(budget.take(EXTENT_BYTES));
    assertEquals(List.of(new Id(1, 3)), List.copyOf(files.written.keySet()));
    assertFalse(budget.take(EXTENT_BYTES));
    assertEquals(1, files.written.size());
    read.forEach(MapOutput::release);
    assertTrue(budget.take(EXTENT_BYTES));
    assertEquals(2, files.written.size());
    budget.giveBack(2 * EXTENT_BYTES);
  }

  /**
   * A task that needs memory which another one is about to free waits for that, and writes nothing
   * more.
   */
  @Test
  void spillsUnderWayAreWaitedFor() throws Exception {
    for (long map = 0; map < 4; map++) {
      store.commit(output(1, map, 1));
    }
    files.gate = new CountDownLatch(1);
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try {
      Future<Boolean> first = pool.submit(() -> store.evict(EXTENT_BYTES));
      while (files.waiting.get() == 0) {
        Thread.onSpinWait();
      }
      Future<Boolean> second = pool.submit(() -> store.evict(EXTENT_BYTES));
      assertThrows(TimeoutException.class, () -> second.get(200, TimeUnit.MILLISECONDS));
      files.gate.countDown();
      assertTrue(first.get());
      assertTrue(second.get());
      assertEquals(1, files.written.size());
    } finally {
      files.gate.countDown();
      pool.shutdownNow();
    }
  }

  /** An output that is larger than the budget goes to files when it is committed. */
  @Test
  void largeOutputsGoToFiles() throws IOException {
    assertFalse(store.commit(output(1, 1, 50)));
    assertEquals(wireBytes(50, 13), files.written.get(new Id(1, 1)).length);
    assertEquals(0, budget.usedBytes());
  }

  /** With a full disk, outputs in memory stay, and what finds no room fails. */
  @Test
  void fullDisksLoseNothing() throws IOException {
    for (long map = 0; map < 4; map++) {
      store.commit(output(1, map, 1));
    }
    files.full = true;
    MapOutput large = output(1, 4, 1);
    assertFalse(large.isInMemory());
    assertThrows(IOException.class, () -> store.commit(large));
    assertEquals(4, store.size());
    assertThrows(IOException.class, store::spillAll);
    assertEquals(4, store.size());
    files.full = false;
    store.spillAll();
    assertEquals(4, files.written.size());
  }

  @Test
  void shufflesEndApart() throws IOException {
    store.commit(output(1, 0, 1));
    store.commit(output(2, 0, 1));
    store.remove(id -> id.shuffle() == 1);
    assertFalse(inMemory(1, 0));
    assertTrue(inMemory(2, 0));
    assertEquals(EXTENT_BYTES, budget.usedBytes());
  }

  /** Writers and readers at once: each output can be found, in memory or in files, and is whole. */
  @Test
  void manyThreads() throws Exception {
    int threads = 8;
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Callable<Void>> work = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        int shuffle = t;
        work.add(
            () -> {
              for (long map = 0; map < 20; map++) {
                store.commit(output(shuffle, map, 1));
                for (long earlier = 0; earlier <= map; earlier++) {
                  Id id = new Id(shuffle, earlier);
                  Optional<MapOutput> found = store.find(id);
                  if (found.isPresent()) {
                    long image = found.get().image(0, 0);
                    assertEquals(earlier, HostMemory.unsafe().getLong(image + 8L * ROW_VALUES));
                    found.get().release();
                  } else {
                    assertEquals(wireBytes(1, 1), files.written.get(id).length);
                  }
                }
              }
              return null;
            });
      }
      for (Future<Void> done : pool.invokeAll(work)) {
        done.get();
      }
    } finally {
      pool.shutdownNow();
    }
    for (int t = 0; t < threads; t++) {
      int shuffle = t;
      store.remove(id -> id.shuffle() == shuffle);
    }
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void anOutputThatCannotBeLetGoDoesNotKeepTheOthers() throws IOException {
    MapOutput freed = output(1, 1, 1);
    assertTrue(store.commit(freed));
    assertTrue(store.commit(output(1, 2, 1)));
    freed.release(); // once too often: the store will release it too
    assertThrows(IllegalStateException.class, () -> store.remove(id -> id.shuffle() == 1));
    assertEquals(0, store.size());
    assertEquals(0, budget.usedBytes());
  }
}
