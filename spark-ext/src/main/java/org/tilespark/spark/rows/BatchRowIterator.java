package org.tilespark.spark.rows;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.catalyst.RowProjections;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.runtime.AbstractFunction1;

/**
 * The rows of batches of blocks. Each is in memory from a {@link RowAllocator}: first the small
 * columns as Spark's own projection writes them, with null in place of the value arrays, then the
 * arrays, each copied once.
 *
 * <p>As with all of Spark's row iterators, a row is valid until the next one is requested.
 */
final class BatchRowIterator implements Iterator<InternalRow> {
  private static final int WORD_BYTES = 8;

  private final Iterator<ColumnarBatch> batches;
  // Ordinals of the array columns that are copied in bulk, if they are tilespark's vectors
  private final int[] arrays;
  private final int columns;
  private final UnsafeProjection small;
  private final List<Expression> allColumns = new ArrayList<>();
  private UnsafeProjection whole; // all columns, for batches of other sources; null until needed
  private final UnsafeRow row;
  private final SQLMetric rowCount;
  private final SQLMetric batchCount;
  private final RowAllocator allocator = new SingleRowAllocator();
  private ColumnarBatch batch;
  private ListVector[] lists;
  private int index;

  private BatchRowIterator(
      Iterator<ColumnarBatch> batches,
      StructType schema,
      SQLMetric rowCount,
      SQLMetric batchCount) {
    this.batches = batches;
    this.columns = schema.length();
    this.row = new UnsafeRow(columns);
    this.rowCount = rowCount;
    this.batchCount = batchCount;
    List<Integer> ordinals = new ArrayList<>();
    List<Expression> smallColumns = new ArrayList<>();
    StructField[] fields = schema.fields();
    for (int i = 0; i < columns; i++) {
      Expression reference = new BoundReference(i, fields[i].dataType(), true);
      allColumns.add(reference);
      boolean isArray =
          fields[i].dataType() instanceof ArrayType array
              && BlockSchema.elementType(array.elementType()).isPresent();
      if (isArray) {
        ordinals.add(i);
      }
      smallColumns.add(isArray ? Literal$.MODULE$.create(null, fields[i].dataType()) : reference);
    }
    this.arrays = ordinals.stream().mapToInt(Integer::intValue).toArray();
    this.small = RowProjections.of(smallColumns);
  }

  @Override
  public boolean hasNext() {
    while (batch == null || index >= batch.numRows()) {
      batch = null;
      if (!batches.hasNext()) {
        return false;
      }
      batch = batches.next();
      index = 0;
      lists = ourLists(batch);
      batchCount.add(1);
      rowCount.add(batch.numRows());
    }
    return true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    InternalRow cells = batch.getRow(index);
    InternalRow result = lists == null ? foreign(cells) : withArrays(small.apply(cells));
    index++;
    return result;
  }

  private UnsafeRow foreign(InternalRow cells) {
    if (whole == null) {
      whole = UnsafeProjection.create(ScalaInterop.<Expression>seq(allColumns));
    }
    return whole.apply(cells);
  }

  /** The vectors of the array columns; null if one is no list of tilespark's, or holds nulls. */
  private ListVector[] ourLists(ColumnarBatch from) {
    ListVector[] found = new ListVector[arrays.length];
    for (int i = 0; i < arrays.length; i++) {
      found[i] = BlockValues.arrowList(from.column(arrays[i]));
      boolean bulk =
          found[i] != null
              && found[i].getNullCount() == 0
              && !found[i].getDataVector().getField().isNullable();
      if (!bulk) {
        return null;
      }
    }
    return found;
  }

  /** Appends the current row's arrays to a row that has nulls in their place. */
  private UnsafeRow withArrays(UnsafeRow head) {
    long size = head.getSizeInBytes();
    for (ListVector list : lists) {
      size += arrayBytes(list);
    }
    if (size > Integer.MAX_VALUE - WORD_BYTES) {
      throw new IllegalArgumentException(
          "A row of " + size + " bytes exceeds Spark's 2 GiB; use smaller blocks");
    }
    allocator.begin(row, (int) size, true);
    Platform.copyMemory(
        head.getBaseObject(),
        head.getBaseOffset(),
        row.getBaseObject(),
        row.getBaseOffset(),
        head.getSizeInBytes());
    long cursor = head.getSizeInBytes();
    for (int i = 0; i < lists.length; i++) {
      long written = writeArray(lists[i], cursor);
      row.setNotNullAt(arrays[i]);
      long field =
          row.getBaseOffset()
              + UnsafeRow.calculateBitSetWidthInBytes(columns)
              + (long) arrays[i] * WORD_BYTES;
      Platform.putLong(row.getBaseObject(), field, (cursor << 32) | written);
      cursor += arrayBytes(lists[i]);
    }
    return row;
  }

  /** Writes one array in {@link UnsafeArrayData}'s form; returns its length in bytes. */
  private long writeArray(ListVector list, long at) {
    HostMemory values = BlockVectors.values(list, index);
    int n = BlockVectors.length(list, index);
    long header = UnsafeArrayData.calculateHeaderPortionInBytes(n);
    Object bytes = row.getBaseObject();
    long start = row.getBaseOffset() + at;
    Platform.setMemory(bytes, start, header, (byte) 0);
    Platform.putLong(bytes, start, n);
    Platform.copyMemory(values.base(), values.offset(), bytes, start + header, values.bytes());
    long end = header + values.bytes();
    for (long pad = end; pad % WORD_BYTES != 0; pad++) {
      Platform.putByte(bytes, start + pad, (byte) 0);
    }
    return roundUp(end);
  }

  private long arrayBytes(ListVector list) {
    int n = BlockVectors.length(list, index);
    return roundUp(
        UnsafeArrayData.calculateHeaderPortionInBytes((long) n)
            + BlockVectors.values(list, index).bytes());
  }

  private static long roundUp(long size) {
    return (size + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
  }

  /** Opens the rows of one partition, on the executor. */
  static final class Opener
      extends AbstractFunction1<
          scala.collection.Iterator<ColumnarBatch>, scala.collection.Iterator<InternalRow>>
      implements Serializable {
    private final StructType schema;
    private final SQLMetric rowCount;
    private final SQLMetric batchCount;

    Opener(StructType schema, SQLMetric rowCount, SQLMetric batchCount) {
      this.schema = schema;
      this.rowCount = rowCount;
      this.batchCount = batchCount;
    }

    @Override
    public scala.collection.Iterator<InternalRow> apply(
        scala.collection.Iterator<ColumnarBatch> batches) {
      return PartitionBoundary.over(
          batches, each -> new BatchRowIterator(each, schema, rowCount, batchCount));
    }
  }
}
