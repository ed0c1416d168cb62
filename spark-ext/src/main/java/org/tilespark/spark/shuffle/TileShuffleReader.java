package org.tilespark.spark.shuffle;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.FallbackStorage$;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.store.CheckedHeader;
import org.tilespark.arrow.store.CorruptDataException;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.PartitionFrames;
import org.tilespark.kernels.ResourceException;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.RetainableRows;
import org.tilespark.spark.rows.SharedUse;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;

/**
 * The rows of a range of partitions. Each row is valid until the next one is requested: rows of
 * this executor's outputs are read in place, rows of others where the network wrote them. For the
 * task's thread, or one that it starts; requests after the task's end are refused.
 */
final class TileShuffleReader implements ShuffleReader<Object, Object> {
  /** Map tasks and partitions of a shuffle; ends are exclusive. */
  record Range(int shuffle, int startMap, int endMap, int startPartition, int endPartition) {}

  /**
   * One partition of one map task.
   *
   * @param bytes approximate bytes
   * @param mapIndex index of the task in the map stage
   */
  record Block(BlockManagerId at, ShuffleBlockId id, long bytes, int mapIndex) {
    MapOutput.Id output() {
      return new MapOutput.Id(id.shuffleId(), id.mapId());
    }

    /** The checksum that identifies the block, which its header must state. */
    int place() {
      return output().place(id.reduceId());
    }

    /**
     * True if a decommissioned executor moved the block to fallback storage, where no executor
     * serves it.
     */
    boolean isInFallbackStorage() {
      return at.equals(FallbackStorage$.MODULE$.FALLBACK_BLOCK_MANAGER_ID());
    }
  }

  private final Range range;
  private final TileShuffleResolver resolver;
  private final TaskContext context;
  private final ShuffleReadMetricsReporter metrics;
  private final ExchangeCounts counts = ExchangeCounts.ofReader();

  TileShuffleReader(
      Range range,
      TileShuffleResolver resolver,
      TaskContext context,
      ShuffleReadMetricsReporter metrics) {
    this.range = range;
    this.resolver = resolver;
    this.context = context;
    this.metrics = metrics;
  }

  @Override
  public scala.collection.Iterator<Product2<Object, Object>> read() {
    String here = SparkEnv.get().blockManager().blockManagerId().executorId();
    ArrayDeque<Block> local = new ArrayDeque<>();
    List<Block> remote = new ArrayList<>();
    for (Block block : blocks()) {
      boolean isHere = block.at.executorId().equals(here) || block.isInFallbackStorage();
      (isHere ? local : remote).add(block);
    }
    RemoteBlocks fetched = new RemoteBlocks(remote, resolver, context);
    Rows rows = new Rows(local, fetched);
    context.addTaskCompletionListener((TaskCompletionListener) ended -> rows.close());
    fetched.start(); // resources are held from now on
    return ScalaInterop.iterator(rows);
  }

  private List<Block> blocks() {
    List<Block> blocks = new ArrayList<>();
    scala.collection.Iterator<
            Tuple2<BlockManagerId, scala.collection.Seq<Tuple3<BlockId, Object, Object>>>>
        places =
            SparkEnv.get()
                .mapOutputTracker()
                .getMapSizesByExecutorId(
                    range.shuffle,
                    range.startMap,
                    range.endMap,
                    range.startPartition,
                    range.endPartition);
    while (places.hasNext()) {
      var place = places.next();
      for (Tuple3<BlockId, Object, Object> each :
          ScalaInterop.<Tuple3<BlockId, Object, Object>>list(place._2())) {
        blocks.add(
            new Block(
                place._1(), (ShuffleBlockId) each._1(), (Long) each._2(), (Integer) each._3()));
      }
    }
    return blocks;
  }

  private final class Rows implements Iterator<Product2<Object, Object>>, RetainableRows.Owner {
    private final ArrayDeque<Block> local;
    private final RemoteBlocks remote;
    private final MapOutputRows.Target target =
        new MapOutputRows.Target(row -> RetainableRows.given(row, this, context));
    private final PartitionFrames.Buffer frames = new PartitionFrames.Buffer(); // for files
    private Block block; // the block that is read; null before the first
    private boolean ready; // true if target has the next row
    // Guarded by this, since the task's thread may close resources that another thread reads.
    private MapOutputRows rows; // of the block; null between blocks
    private boolean fromFile; // true if rows come from a file: the next frame overwrites them
    private boolean kept; // true if read blocks stay until this reader and every use are closed
    private final List<MapOutputRows> keptRows = new ArrayList<>();
    private final ArrayDeque<MapOutputRows.OfOutput> reserved =
        new ArrayDeque<>(); // outputs of local, once kept
    private boolean closed;
    private final SharedUse memory = new SharedUse(this::free);

    private Rows(ArrayDeque<Block> local, RemoteBlocks remote) {
      this.local = local;
      this.remote = remote;
    }

    @Override
    public boolean hasNext() {
      MapOutputRows now = current();
      while (!ready) {
        if (now == null) {
          if (!open()) {
            return false;
          }
          now = current();
        }
        try {
          ready = now.next(target);
        } catch (IOException | RuntimeException e) {
          throw failed(e, now);
        }
        if (!ready) {
          end();
          now = null;
        }
      }
      return true;
    }

    @Override
    public Product2<Object, Object> next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      ready = false;
      metrics.incRecordsRead(1);
      return target.record();
    }

    /** The rows of the current block; null between blocks. */
    private synchronized MapOutputRows current() {
      if (closed) {
        throw new IllegalStateException(
            "Rows of shuffle " + range.shuffle + " are read after their task has ended");
      }
      return rows;
    }

    /** Begins to read the rows of a block. */
    private synchronized void begin(MapOutputRows next, boolean isFile) {
      if (closed) { // closed while the block was looked for; current() reports it
        next.close();
      } else {
        rows = next;
        fromFile = isFile;
      }
    }

    /** Ends the current block, whose rows were all read. */
    private synchronized void end() {
      if (closed) {
        return;
      }
      if (kept) {
        keptRows.add(rows);
      } else {
        rows.close();
      }
      rows = null;
    }

    @Override
    public synchronized Optional<RetainableRows.Use> retain() {
      return kept || (!closed && keep()) ? memory.begin() : Optional.empty();
    }

    private boolean keep() {
      List<MapOutputRows.OfOutput> found = new ArrayList<>();
      try {
        kept = !fromFile && findLocal(found) && remote.keep();
      } finally {
        if (kept) {
          // Otherwise these outputs might be moved to files before they are read
          reserved.addAll(found);
        } else {
          found.forEach(MapOutputRows::close);
        }
      }
      return kept;
    }

    /** Finds the outputs of all remaining local blocks; false if one is not in memory. */
    private boolean findLocal(List<MapOutputRows.OfOutput> found) {
      for (Block each : local) {
        Optional<MapOutput> output = resolver.find(each.output());
        if (output.isEmpty()) {
          return false;
        }
        found.add(new MapOutputRows.OfOutput(output.get(), each.id.reduceId()));
      }
      return true;
    }

    /** Opens the next block; false if there is none. */
    private boolean open() {
      context.killTaskIfInterrupted();
      if (!local.isEmpty()) {
        block = local.poll();
        MapOutputRows next = openLocal();
        begin(next, next instanceof MapOutputRows.Verified);
      } else if (remote.hasNext()) {
        begin(openRemote(), false);
      } else {
        return false;
      }
      return true;
    }

    private synchronized MapOutputRows.OfOutput takeReserved() {
      return reserved.poll();
    }

    private MapOutputRows openLocal() {
      metrics.incLocalBlocksFetched(1);
      MapOutputRows.OfOutput next = takeReserved();
      if (next != null) {
        countLocal(next.bytes());
        return next;
      }
      Optional<MapOutput> output = resolver.find(block.output());
      if (output.isPresent()) {
        countLocal(output.get().wireBytes(block.id.reduceId()));
        return new MapOutputRows.OfOutput(output.get(), block.id.reduceId());
      }
      try {
        ManagedBuffer file =
            block.isInFallbackStorage()
                ? FallbackStorage$.MODULE$.read(SparkEnv.get().conf(), block.id)
                : resolver.getBlockData(block.id, ScalaInterop.none());
        countLocal(file.size());
        return MapOutputRows.Verified.ofFile(file, block.place(), frames);
      } catch (IOException | RuntimeException e) {
        throw failed(e);
      }
    }

    private void countLocal(long bytes) {
      metrics.incLocalBytesRead(bytes);
      counts.readLocally(bytes);
    }

    private MapOutputRows openRemote() {
      long start = System.nanoTime();
      RemoteBlocks.Result result;
      try {
        result = remote.next();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        context.killTaskIfInterrupted();
        throw new IllegalStateException("The task was interrupted while it fetched blocks", e);
      } finally {
        metrics.incFetchWaitTime((System.nanoTime() - start) / 1_000_000);
      }
      block = result.block();
      if (result.failure() instanceof ResourceException noMemory) {
        // This executor is out of memory. The other one still has the block, so its map task need
        // not run again.
        throw sneaky(ErrorBoundary.BLOCKS.replaced(noMemory));
      }
      if (result.failure() != null) {
        throw failed(result.failure());
      }
      metrics.incRemoteBlocksFetched(1);
      long bytes = result.received().size() + CheckedHeader.BYTES;
      metrics.incRemoteBytesRead(bytes);
      counts.readRemotely(bytes);
      try {
        MapOutputRows.Verified.checkPlace(result.received().place(), block.place());
      } catch (CorruptDataException e) {
        throw failed(e);
      }
      return MapOutputRows.Verified.received(result, remote);
    }

    /** A failure to read rows, with Spark's diagnosis of where bytes were corrupted. */
    private RuntimeException failed(Exception cause, MapOutputRows read) {
      boolean isCorrupt = cause instanceof CorruptDataException;
      return failed(
          cause,
          isCorrupt && read instanceof MapOutputRows.Verified rows
              ? CorruptionDiagnosis.of(block, rows.bytes())
              : "");
    }

    private RuntimeException failed(Throwable cause) {
      return failed(cause, "");
    }

    /** The exception that makes Spark run the map task again. */
    private RuntimeException failed(Throwable cause, String diagnosis) {
      return sneaky(
          new FetchFailedException(
              block.at,
              block.id.shuffleId(),
              block.id.mapId(),
              block.mapIndex,
              block.id.reduceId(),
              cause + diagnosis,
              cause));
    }

    /** Ends reading. Retained blocks stay until their uses end. */
    private void close() {
      synchronized (this) {
        closed = true;
      }
      try {
        Closing.all(List.<AutoCloseable>of(remote::end, memory));
      } finally {
        context.taskMetrics().mergeShuffleReadMetrics();
      }
    }

    private void free() {
      List<AutoCloseable> held = new ArrayList<>();
      synchronized (this) {
        held.addAll(keptRows);
        held.addAll(reserved);
        if (rows != null) {
          held.add(rows);
        }
        rows = null;
        keptRows.clear();
        reserved.clear();
      }
      held.add(remote);
      Closing.all(held);
    }
  }

  @SuppressWarnings("unchecked") // Spark knows the exception by its type, which is checked
  private static <T extends Throwable> RuntimeException sneaky(Throwable failure) throws T {
    throw (T) failure;
  }
}
