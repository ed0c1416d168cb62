package org.tilespark.spark.source;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import org.apache.spark.TaskContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.runtime.ExecutorRuntime;

/** Makes the readers of a scan's partitions on the executors. */
final class SourceReaderFactory implements PartitionReaderFactory {
  private final BlockSource source;
  private final StructType columns;
  // Of thousands of entries: as part of a task, it took most of the time in which tasks are read
  private final Broadcast<SerializableConfiguration> conf;
  private final Backend backend;
  private final long batchBytes;

  SourceReaderFactory(
      BlockSource source,
      StructType columns,
      Broadcast<SerializableConfiguration> conf,
      Backend backend,
      long batchBytes) {
    this.source = source;
    this.columns = columns;
    this.conf = conf;
    this.backend = backend;
    this.batchBytes = batchBytes;
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException(
        "format " + source.format() + " is read in columns, see createColumnarReader");
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    return new Guarded(ErrorBoundary.FILES.call(() -> reader(partition)));
  }

  private PartitionReader<ColumnarBatch> reader(InputPartition partition) {
    ExecutorRuntime runtime = ExecutorRuntime.current();
    // If a device may compute, values are read into memory that it can access. Reading itself does
    // not require a device; operators check that.
    ArrowMemory memory =
        runtime.memory(
            runtime.gpu(backend == Backend.CPU ? Backend.CPU : Backend.AUTO, TaskContext.get()));
    try {
      return new SourcePartitionReader(
          source,
          columns,
          (BlockRanges) partition,
          conf.value().value(),
          batchBytes,
          memory.newChild(source.format() + " read " + source.path() + " " + partition),
          runtime.hostTransposer());
    } catch (NoSuchFileException | FileNotFoundException e) {
      throw new UncheckedIOException(
          source.path()
              + " was deleted since the DataFrame was made, or this executor does not see it: a"
              + " local path must be one that the driver and all executors share",
          e);
    } catch (IOException e) {
      throw new UncheckedIOException(
          "Cannot open " + source.path() + ": " + IoReasons.reason(e), e);
    }
  }

  /** A reader whose failures get their conditions from {@link ErrorBoundary#FILES}. */
  private record Guarded(PartitionReader<ColumnarBatch> reader)
      implements PartitionReader<ColumnarBatch> {
    @Override
    public boolean next() {
      return ErrorBoundary.FILES.call(reader::next);
    }

    @Override
    public ColumnarBatch get() {
      return reader.get();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return reader.currentMetricsValues();
    }

    @Override
    public void close() throws IOException {
      reader.close();
    }
  }
}
