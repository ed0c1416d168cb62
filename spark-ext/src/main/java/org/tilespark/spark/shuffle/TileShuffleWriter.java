package org.tilespark.spark.shuffle;

import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.RowSink;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/**
 * Writes the rows of one attempt of a map task, with at most one copy of each. For the task's
 * thread.
 */
final class TileShuffleWriter extends ShuffleWriter<Object, Object> {
  private final TileShuffleResolver resolver;
  private final ShuffleWriteMetricsReporter metrics;
  private final MapOutput.Id id;
  private final int partitions;
  private final Optional<SQLMetric> dataSize; // bytes of rows; see DataSizes
  private final RowChecksums checksums;
  private final ExchangeCounts counts = ExchangeCounts.ofWriter();
  private MapOutput output; // owned until it is committed; null before and after
  private long[] lengths;
  private long inPlaceBytes; // bytes of rows that were made where they are kept

  TileShuffleWriter(
      TileShuffleManager.Handle handle,
      long mapId,
      TileShuffleResolver resolver,
      TaskContext context,
      ShuffleWriteMetricsReporter metrics) {
    this.resolver = resolver;
    this.metrics = metrics;
    this.id = new MapOutput.Id(handle.shuffleId(), mapId);
    this.partitions = handle.dependency().partitioner().numPartitions();
    this.dataSize = DataSizes.find(handle.dependency().serializer());
    this.checksums = RowChecksums.of(handle.dependency());
    // Spark calls stop(false) only after an exception, not after an error.
    context.addTaskCompletionListener((TaskCompletionListener) ended -> discard());
  }

  @Override
  public void write(Iterator<Product2<Object, Object>> records) {
    output = resolver.newOutput(id, partitions);
    RowSink.<RuntimeException>to(new Room(output), () -> take(records));
    lengths = output.wireBytes();
    metrics.incRecordsWritten(output.rows());
    for (long bytes : lengths) {
      metrics.incBytesWritten(bytes);
    }
  }

  /** Room for rows of the node below, in an output. */
  private record Room(MapOutput output) implements RowSink.Room {
    @Override
    public long room(long bytes, int fields) {
      return output.room(bytes, fields);
    }

    @Override
    public Runnable hold() {
      return output.held();
    }
  }

  private void take(Iterator<Product2<Object, Object>> records) {
    long rowBytes = 0;
    while (records.hasNext()) {
      Product2<Object, Object> record = records.next();
      int partition = (Integer) record._1();
      UnsafeRow row = (UnsafeRow) record._2();
      boolean isInPlace =
          row.getBaseObject() == null && output.place(partition, row.getBaseOffset());
      if (!isInPlace) {
        append(partition, row);
      }
      checksums.update(partition, row);
      inPlaceBytes += isInPlace ? row.getSizeInBytes() : 0;
      rowBytes += row.getSizeInBytes();
    }
    long counted = rowBytes;
    dataSize.ifPresent(metric -> metric.add(counted));
  }

  private void append(int partition, UnsafeRow row) {
    LocalDisks.<Void>writing(
        output,
        () -> {
          output.append(
              partition,
              new HostMemory(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes()),
              row.numFields());
          return null;
        });
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    if (output == null || !success) {
      discard();
      return ScalaInterop.none();
    }
    MapOutput done = output;
    output = null;
    long start = System.nanoTime();
    try {
      TileShuffleResolver.Committed committed =
          LocalDisks.writing(done, () -> resolver.commit(done));
      counts.wrote(Arrays.stream(lengths).sum(), committed.isInMemory(), inPlaceBytes);
      return Option.apply(MapStatuses.of(committed.by(), lengths, id.map(), checksums.value()));
    } finally {
      metrics.incWriteTime(System.nanoTime() - start);
    }
  }

  private void discard() {
    if (output != null) {
      output.release();
      output = null;
    }
  }

  @Override
  public long[] getPartitionLengths() {
    return lengths.clone();
  }
}
