package org.tilespark.spark.source;

import java.io.IOException;
import java.util.Arrays;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.BlockKind;

/**
 * Reads a task's blocks as batches of whole blocks: places and sizes on the heap, values in Arrow
 * list vectors over the memory into which the array is read.
 *
 * <p>Owns the last batch until the next call of {@link #next()} or {@link #close()}. A query that
 * reads neither {@code values} nor {@code imag} does not open the array.
 */
public final class SourcePartitionReader implements PartitionReader<ColumnarBatch> {
  /** The most blocks of a batch, for blocks of few bytes or none. */
  private static final int MAX_BATCH_BLOCKS = 4096;

  private final BlockSource source;
  private final StructType columns;
  private final BlockRanges partition;
  private final int rank;
  private final ArrayAxes axes;
  private final long batchBytes;
  private final boolean wantsValues;
  private final boolean wantsImag;
  private final BufferAllocator allocator; // owned
  private final BlockReader reader; // owned; null if the query reads no values

  private int range;
  private long block;
  private ColumnarBatch batch; // the last batch; owned
  private boolean checked;
  private boolean closed;

  /**
   * A reader of one partition.
   *
   * @param batchBytes most bytes of values in a batch; a larger block is the only one of its batch
   * @param allocator allocator of batches; closed with this reader, also if this constructor fails
   * @param transposer transposer of blocks that are stored in another order; borrowed
   * @throws IOException if the array cannot be opened
   */
  public SourcePartitionReader(
      BlockSource source,
      StructType columns,
      BlockRanges partition,
      Configuration conf,
      long batchBytes,
      BufferAllocator allocator,
      Transposer transposer)
      throws IOException {
    this.source = source;
    this.columns = columns;
    this.partition = partition;
    this.rank = source.grid().rank();
    this.axes = source.axes();
    this.wantsValues = Arrays.asList(columns.fieldNames()).contains(BlockKind.VALUES);
    this.wantsImag = Arrays.asList(columns.fieldNames()).contains(BlockKind.IMAG);
    this.block = partition.rangeCount() == 0 ? 0 : partition.start(0);
    this.batchBytes = batchBytes;
    this.allocator = allocator;
    try {
      this.reader = wantsValues || wantsImag ? source.open(conf, allocator, transposer) : null;
    } catch (Throwable t) {
      allocator.close();
      throw t;
    }
  }

  @Override
  public boolean next() throws IOException {
    closeBatch();
    if (reader != null && !checked) {
      reader.requireUnchanged();
      checked = true;
    }
    // (blocks, axes): places and sizes of the batch's blocks
    long[][] offsets = new long[MAX_BATCH_BLOCKS][];
    long[][] sizes = new long[MAX_BATCH_BLOCKS][];
    int count = collect(offsets, sizes);
    if (count == 0) {
      return false;
    }
    batch = fill(offsets, sizes, count);
    return true;
  }

  /** Collects the places and sizes of the next blocks that fit a batch; returns their number. */
  private int collect(long[][] offsets, long[][] sizes) {
    int count = 0;
    long bytes = 0;
    while (count < MAX_BATCH_BLOCKS && range < partition.rangeCount()) {
      if (block == partition.end(range)) {
        range++;
        block = range < partition.rangeCount() ? partition.start(range) : block;
        continue;
      }
      long[] offset = new long[rank];
      long[] size = new long[rank];
      source.grid().locate(block, offset, size);
      if (reader != null) {
        bytes += length(size) * source.columnType().bytes() * (wantsValues && wantsImag ? 2 : 1);
        if (count > 0 && bytes > batchBytes) {
          break;
        }
      }
      offsets[count] = offset;
      sizes[count] = size;
      count++;
      block++;
    }
    return count;
  }

  private ColumnarBatch fill(long[][] offsets, long[][] sizes, int count) throws IOException {
    ColumnVector[] vectors = new ColumnVector[columns.length()];
    try {
      ColumnVector[] values = reader == null ? new ColumnVector[2] : read(offsets, sizes, count);
      for (int i = 0; i < vectors.length; i++) {
        String name = columns.fields()[i].name();
        vectors[i] =
            switch (name) {
              case BlockKind.VALUES -> values[0];
              case BlockKind.IMAG -> values[1];
              default -> places(name, offsets, sizes, count);
            };
      }
      return new ColumnarBatch(vectors, count);
    } catch (Throwable t) {
      for (ColumnVector vector : vectors) {
        if (vector != null) {
          vector.close();
        }
      }
      throw t;
    }
  }

  private ColumnVector places(String name, long[][] offsets, long[][] sizes, int count) {
    int axis = axes.offsetColumns().indexOf(name);
    if (axis >= 0) {
      OnHeapColumnVector vector = new OnHeapColumnVector(count, DataTypes.LongType);
      for (int i = 0; i < count; i++) {
        vector.putLong(i, offsets[i][axis]);
      }
      return vector;
    }
    axis = axes.axisOfSize(name);
    OnHeapColumnVector vector = new OnHeapColumnVector(count, DataTypes.IntegerType);
    for (int i = 0; i < count; i++) {
      vector.putInt(i, (int) sizes[i][axis]);
    }
    return vector;
  }

  /** The columns {@code values} and {@code imag}, each null if the query does not read it. */
  private ColumnVector[] read(long[][] offsets, long[][] sizes, int count) throws IOException {
    int[] lengths = new int[count];
    long elements = 0;
    for (int i = 0; i < count; i++) {
      lengths[i] = Math.toIntExact(length(sizes[i]));
      elements += lengths[i];
    }
    int width = source.columnType().bytes();
    try (ArrowBuf values = wantsValues ? allocator.buffer(elements * width) : null;
        ArrowBuf imag = wantsImag ? allocator.buffer(elements * width) : null) {
      long at = 0;
      for (int i = 0; i < count; i++) {
        reader.read(offsets[i], sizes[i], values, at, imag, at);
        at += (long) lengths[i] * width;
      }
      ColumnVector real = values == null ? null : vector(BlockKind.VALUES, lengths, values);
      try {
        return new ColumnVector[] {
          real, imag == null ? null : vector(BlockKind.IMAG, lengths, imag)
        };
      } catch (Throwable t) {
        if (real != null) {
          real.close();
        }
        throw t;
      }
    }
  }

  private ColumnVector vector(String name, int[] lengths, ArrowBuf data) {
    ListVector list = BlockVectors.list(name, source.columnType(), lengths, data, allocator);
    return new ArrowColumnVector(list);
  }

  private static long length(long[] size) {
    long length = 1;
    for (long extent : size) {
      length *= extent;
    }
    return length;
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  private void closeBatch() {
    if (batch != null) {
      batch.close();
      batch = null;
    }
  }

  @Override
  public void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    closeBatch();
    try {
      if (reader != null) {
        reader.close();
      }
    } finally {
      allocator.close();
    }
  }
}
