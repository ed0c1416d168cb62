package org.tilespark.spark.npy;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;
import org.tilespark.kernels.HostTransposer;
import org.tilespark.kernels.Transposer;
import org.tilespark.spark.ExecutorRuntime;
import org.tilespark.spark.planner.Backend;

/** Makes the readers of a scan's partitions on the executors. */
final class NpyReaderFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1;

  /** Blocks of Fortran files are turned round as they are read, on the CPU; it keeps no state. */
  private static final Transposer TRANSPOSER = new HostTransposer();

  private final NpyLayout layout;
  private final Backend backend;
  private final StructType columns;
  private final SerializableConfiguration conf;

  NpyReaderFactory(
      NpyLayout layout, StructType columns, Backend backend, SerializableConfiguration conf) {
    this.backend = backend;
    this.layout = layout;
    this.columns = columns;
    this.conf = conf;
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException(
        "format npy is read in columns, see createColumnarReader");
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    try {
      return new NpyPartitionReader(
          layout,
          columns,
          (NpyPartition) partition,
          conf.value(),
          ExecutorRuntime.current()
              .memoryForSource(backend, TaskContext.get())
              .newChild("npy read " + layout.path() + " " + partition),
          TRANSPOSER);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot open " + layout.path() + ": " + e.getMessage(), e);
    }
  }
}
