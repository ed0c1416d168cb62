package org.tilespark.spark.shuffle;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.RowImage;
import org.tilespark.kernels.ResourceException;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.StayingRows;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;

/**
 * The rows of a range of partitions. Each is valid until the next one is asked for: of this
 * executor's outputs in place, of others' where the network put it. For the task's thread.
 */
final class TileShuffleReader implements ShuffleReader<Object, Object> {
  private static final int FILE_BUFFER_BYTES = 1 << 16;

  /** Map tasks and partitions of a shuffle; ends are exclusive. */
  record Range(int shuffle, int startMap, int endMap, int startPartition, int endPartition) {}

  /**
   * One partition of one map task.
   *
   * @param bytes about as many
   * @param mapIndex which task of the map stage
   */
  record Block(BlockManagerId at, ShuffleBlockId id, long bytes, int mapIndex) {}

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
      (block.at.executorId().equals(here) ? local : remote).add(block);
    }
    Rows rows = new Rows(local, new RemoteBlocks(remote, resolver, context));
    context.addTaskCompletionListener((TaskCompletionListener) ended -> rows.close());
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

  /** The rows of one block; the row is valid until the next is asked for. */
  private interface BlockRows extends AutoCloseable {
    /** Points {@code row} to the next row's bytes; false at the end. */
    boolean next(Target row) throws IOException;

    @Override
    void close();
  }

  /** The row that goes to the consumer; a new one only where the count of fields changes. */
  private static final class Target {
    private final Consumer<UnsafeRow> given;
    private UnsafeRow row;
    private Product2<Object, Object> record;

    /** Tells {@code given} of each row object. */
    Target(Consumer<UnsafeRow> given) {
      this.given = given;
    }

    void pointTo(Object base, long offset, long header) {
      int fields = RowImage.fields(header);
      if (row == null || row.numFields() != fields) {
        row = new UnsafeRow(fields);
        record = new Tuple2<>(0, row);
        given.accept(row);
      }
      row.pointTo(base, offset, RowImage.bytes(header));
    }

    void pointToImage(long address) {
      pointTo(null, address + RowImage.HEADER_BYTES, RowImage.headerAt(address));
    }
  }

  private final class Rows implements Iterator<Product2<Object, Object>>, StayingRows.Keeper {
    private final ArrayDeque<Block> local;
    private final RemoteBlocks remote;
    private final Target target = new Target(row -> StayingRows.given(row, this, context));
    private Block block; // that is read; null before the first
    private BlockRows rows; // of it; null between blocks
    private boolean ready; // target has the row that comes next
    private boolean kept; // what was read stays until the task ends
    private final List<BlockRows> keptRows = new ArrayList<>();
    private final ArrayDeque<OutputRows> reserved = new ArrayDeque<>(); // of local, once kept

    private Rows(ArrayDeque<Block> local, RemoteBlocks remote) {
      this.local = local;
      this.remote = remote;
    }

    @Override
    public boolean hasNext() {
      while (!ready) {
        if (rows == null && !open()) {
          return false;
        }
        try {
          ready = rows.next(target);
        } catch (IOException e) {
          throw failed(e);
        }
        if (!ready) {
          end();
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
      return target.record;
    }

    /** Ends the block that was read. */
    private void end() {
      if (kept) {
        keptRows.add(rows);
      } else {
        rows.close();
      }
      rows = null;
    }

    @Override
    public boolean keep() {
      if (kept) {
        return true;
      }
      // What a file gave lies in an array that the next row overwrites.
      List<OutputRows> opened = new ArrayList<>();
      boolean all = !(rows instanceof StreamRows);
      for (Iterator<Block> each = local.iterator(); all && each.hasNext(); ) {
        ShuffleBlockId id = each.next().id;
        Optional<MapOutput> output = resolver.find(new MapOutput.Id(id.shuffleId(), id.mapId()));
        output.ifPresent(found -> opened.add(new OutputRows(found, id.reduceId())));
        all = output.isPresent();
      }
      kept = all && remote.keep();
      if (kept) {
        reserved.addAll(opened); // else they might move to files before it is their turn
      } else {
        opened.forEach(BlockRows::close);
      }
      return kept;
    }

    /** Opens the next block; false if there is none. */
    private boolean open() {
      context.killTaskIfInterrupted();
      if (!local.isEmpty()) {
        block = local.poll();
        rows = openLocal();
      } else if (remote.hasNext()) {
        rows = openRemote();
      } else {
        return false;
      }
      return true;
    }

    private BlockRows openLocal() {
      metrics.incLocalBlocksFetched(1);
      if (!reserved.isEmpty()) {
        OutputRows next = reserved.poll();
        countLocal(next.output.wireBytes(block.id.reduceId()));
        return next;
      }
      Optional<MapOutput> output =
          resolver.find(new MapOutput.Id(block.id.shuffleId(), block.id.mapId()));
      if (output.isPresent()) {
        countLocal(output.get().wireBytes(block.id.reduceId()));
        return new OutputRows(output.get(), block.id.reduceId());
      }
      try {
        ManagedBuffer file = resolver.getBlockData(block.id, ScalaInterop.none());
        countLocal(file.size());
        return new StreamRows(file);
      } catch (IOException | RuntimeException e) {
        throw failed(e);
      }
    }

    private void countLocal(long bytes) {
      metrics.incLocalBytesRead(bytes);
      counts.readLocally(bytes);
    }

    private BlockRows openRemote() {
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
        // This executor has none. The other one still has the block, and need not run its task
        // again.
        throw sneaky(ErrorBoundary.BLOCKS.replaced(noMemory));
      }
      if (result.failure() != null) {
        throw failed(result.failure());
      }
      metrics.incRemoteBlocksFetched(1);
      long bytes = result.received().size() + Long.BYTES;
      metrics.incRemoteBytesRead(bytes);
      counts.readRemotely(bytes);
      return new ReceivedRows(result, remote);
    }

    /** What makes Spark run the map task again. */
    private RuntimeException failed(Throwable cause) {
      return sneaky(
          new FetchFailedException(
              block.at,
              block.id.shuffleId(),
              block.id.mapId(),
              block.mapIndex,
              block.id.reduceId(),
              String.valueOf(cause),
              cause));
    }

    private void close() {
      if (rows != null) {
        rows.close();
        rows = null;
      }
      keptRows.forEach(BlockRows::close);
      keptRows.clear();
      reserved.forEach(BlockRows::close);
      reserved.clear();
      remote.close();
      context.taskMetrics().mergeShuffleReadMetrics();
    }
  }

  /** Rows of an output in this process. */
  private static final class OutputRows implements BlockRows {
    private final MapOutput output; // retained
    private final int partition;
    private int at;

    OutputRows(MapOutput output, int partition) {
      this.output = output;
      this.partition = partition;
    }

    @Override
    public boolean next(Target row) {
      if (at == output.imageCount(partition)) {
        return false;
      }
      row.pointToImage(output.image(partition, at++));
      return true;
    }

    @Override
    public void close() {
      output.release();
    }
  }

  /** Rows that came from another executor, one behind the other. */
  private static final class ReceivedRows implements BlockRows {
    private final RemoteBlocks.Result result;
    private final RemoteBlocks remote;
    private final long end;
    private long at;

    ReceivedRows(RemoteBlocks.Result result, RemoteBlocks remote) {
      this.result = result;
      this.remote = remote;
      this.at = result.received().address();
      this.end = at + result.received().size();
    }

    @Override
    public boolean next(Target row) throws IOException {
      if (at == end) {
        return false;
      }
      if (end - at < RowImage.HEADER_BYTES || RowImage.endOf(at) > end) {
        throw new IOException("A partition ends within a row");
      }
      row.pointToImage(at);
      at = RowImage.endOf(at);
      return true;
    }

    @Override
    public void close() {
      remote.free(result);
    }
  }

  /** Rows of an output in a file of this process, read one by one. */
  private static final class StreamRows implements BlockRows {
    private final DataInputStream in;
    private long left; // bytes
    private byte[] bytes = {};

    StreamRows(ManagedBuffer file) throws IOException {
      this.in =
          new DataInputStream(new BufferedInputStream(file.createInputStream(), FILE_BUFFER_BYTES));
      this.left = Long.reverseBytes(in.readLong()) - Long.BYTES;
    }

    @Override
    public boolean next(Target row) throws IOException {
      if (left == 0) {
        return false;
      }
      long header = Long.reverseBytes(in.readLong());
      int length = RowImage.bytes(header);
      left -= RowImage.HEADER_BYTES + length;
      if (left < 0) {
        throw new EOFException("A partition ends within a row");
      }
      if (bytes.length < length) {
        bytes = new byte[length];
      }
      in.readFully(bytes, 0, length);
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, header);
      return true;
    }

    @Override
    public void close() {
      try {
        in.close();
      } catch (IOException e) {
        throw new java.io.UncheckedIOException(e);
      }
    }
  }

  @SuppressWarnings("unchecked") // Spark knows the exception by its type, which is checked
  private static <T extends Throwable> RuntimeException sneaky(Throwable failure) throws T {
    throw (T) failure;
  }
}
