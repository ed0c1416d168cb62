package org.tilespark.bench.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.rows.BlockScan;

/**
 * A DataFrame of FLOAT blocks in Arrow buffers: input for an operator as from a neighbouring
 * operator that produces batches, but without that operator's cost. A few batches are allocated
 * once and read again and again. For one process: {@code local} mode only.
 */
final class ArrowBlocks implements AutoCloseable {
  private static final Map<String, ArrowBlocks> OPEN = new ConcurrentHashMap<>();
  private static final String NAME = "name";
  private static final StructType COLUMNS =
      new StructType(
          new StructField[] {
            field("row", DataTypes.LongType),
            field("col", DataTypes.LongType),
            field("rows", DataTypes.IntegerType),
            field("cols", DataTypes.IntegerType),
            field("values", DataTypes.createArrayType(DataTypes.FloatType, false))
          });

  private final String name;
  private final long blocks;
  private final int rows;
  private final int cols;
  private final int partitions;
  private final int perBatch;
  private final BufferAllocator allocator;
  private final ArrowMemory memory;
  private final List<ArrowBuf> batches = new ArrayList<>(); // each holds perBatch blocks

  /**
   * Allocates and fills the batches. The blocks form one column of blocks.
   *
   * @param blocks number of blocks in the DataFrame
   * @param batchBytes bytes of values in a batch
   * @param heldBytes bytes of values to allocate; blocks reuse them, see {@link #content}
   * @param memory memory for the blocks; borrowed
   */
  ArrowBlocks(
      long blocks,
      int rows,
      int cols,
      int partitions,
      long batchBytes,
      long heldBytes,
      ArrowMemory memory) {
    long blockBytes = (long) Float.BYTES * rows * cols;
    this.name = "arrow blocks " + System.identityHashCode(this);
    this.blocks = blocks;
    this.rows = rows;
    this.cols = cols;
    this.partitions = partitions;
    this.perBatch = (int) Math.max(1, batchBytes / blockBytes);
    this.memory = memory;
    this.allocator = memory.newChild(name);
    OPEN.put(name, this);
    try {
      long held = Math.max(1, Math.min(heldBytes / (perBatch * blockBytes), batchCount()));
      for (int b = 0; b < held; b++) {
        ArrowBuf batch = allocator.buffer(perBatch * blockBytes);
        batches.add(batch);
        for (int i = 0; i < perBatch; i++) {
          fill((long) b * perBatch + i, batch.memoryAddress() + i * blockBytes);
        }
      }
    } catch (Throwable t) {
      close();
      throw t;
    }
  }

  /** The DataFrame, which must not be used after {@link #close}. */
  Dataset<Row> read(SparkSession spark) {
    return spark.read().format(Source.class.getName()).option(NAME, name).load();
  }

  /** The number of the {@link FloatBlock} whose values block {@code index} holds. */
  long content(long index) {
    return index % ((long) batches.size() * perBatch);
  }

  @Override
  public void close() {
    OPEN.remove(name);
    batches.forEach(ArrowBuf::close);
    batches.clear();
    allocator.close();
  }

  private long batchCount() {
    return (blocks + perBatch - 1) / perBatch;
  }

  private void fill(long index, long address) {
    int count = Math.multiplyExact(rows, cols);
    for (int place = 0; place < count; place++) {
      HostMemory.unsafe()
          .putFloat(address + (long) place * Float.BYTES, FloatBlock.value(index, place));
    }
  }

  private static StructField field(String name, DataType type) {
    return DataTypes.createStructField(name, type, false);
  }

  // --- a Spark data source ---

  /** The data source; created by Spark. */
  public static final class Source implements TableProvider {
    /** Called by Spark. */
    public Source() {}

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
      return COLUMNS;
    }

    @Override
    public Table getTable(
        StructType schema, Transform[] partitioning, Map<String, String> properties) {
      return new BlockTable(properties.get(NAME));
    }
  }

  private record BlockTable(String name) implements SupportsRead {
    @Override
    @SuppressWarnings("deprecation") // Spark 4.0 has no default implementation
    public StructType schema() {
      return COLUMNS;
    }

    @Override
    public Column[] columns() {
      return Arrays.stream(COLUMNS.fields())
          .map(field -> Column.create(field.name(), field.dataType(), field.nullable()))
          .toArray(Column[]::new);
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new BlocksOf(name);
    }
  }

  private record BlocksOf(String name) implements BlockScan, Batch {
    @Override
    public StructType readSchema() {
      return COLUMNS;
    }

    @Override
    public Optional<List<BlockScan>> sharedWith(List<BlockScan> others) {
      return Optional.empty();
    }

    @Override
    public String description() {
      return name;
    }

    @Override
    public Batch toBatch() {
      return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      ArrowBlocks from = OPEN.get(name);
      InputPartition[] planned = new InputPartition[from.partitions];
      for (int i = 0; i < planned.length; i++) {
        planned[i] =
            new Batches(
                from.batchCount() * i / planned.length,
                from.batchCount() * (i + 1) / planned.length);
      }
      return planned;
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Readers(name);
    }
  }

  /** A range of consecutive batches: one partition. */
  private record Batches(long first, long end) implements InputPartition {}

  private record Readers(String name) implements PartitionReaderFactory {
    @Override
    public boolean supportColumnarReads(InputPartition partition) {
      return true;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      throw new UnsupportedOperationException("read in columns, see createColumnarReader");
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
      return new Reader(OPEN.get(name), (Batches) partition);
    }
  }

  /** Reads a partition. Owns the last returned batch, but not its values. */
  private static final class Reader implements PartitionReader<ColumnarBatch> {
    private final ArrowBlocks from;
    private final long end;
    private final BufferAllocator allocator;
    private long next;
    private ColumnarBatch batch;

    private Reader(ArrowBlocks from, Batches part) {
      this.from = from;
      this.next = part.first();
      this.end = part.end();
      this.allocator = from.memory.newChild("read " + part);
    }

    @Override
    public boolean next() {
      closeBatch();
      if (next == end) {
        return false;
      }
      long first = next * from.perBatch;
      int count = (int) Math.min(from.perBatch, from.blocks - first);
      OnHeapColumnVector[] places =
          OnHeapColumnVector.allocateColumns(count, Arrays.copyOf(COLUMNS.fields(), 4));
      for (int i = 0; i < count; i++) {
        places[0].putLong(i, Math.multiplyExact(first + i, (long) from.rows));
        places[1].putLong(i, 0);
        places[2].putInt(i, from.rows);
        places[3].putInt(i, from.cols);
      }
      int[] lengths = new int[count];
      Arrays.fill(lengths, Math.multiplyExact(from.rows, from.cols));
      ArrowBuf values = from.batches.get((int) (next % from.batches.size()));
      ColumnVector[] columns = Arrays.copyOf(places, 5, ColumnVector[].class);
      columns[4] =
          new ArrowColumnVector(
              BlockVectors.list("values", ElementType.FLOAT32, lengths, values, allocator));
      batch = new ColumnarBatch(columns, count);
      next++;
      return true;
    }

    @Override
    public ColumnarBatch get() {
      return batch;
    }

    @Override
    public void close() {
      closeBatch();
      allocator.close();
    }

    private void closeBatch() {
      if (batch != null) {
        batch.close();
        batch = null;
      }
    }
  }
}
