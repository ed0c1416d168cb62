package org.tilespark.spark.exec;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.BlockVectors;
import org.tilespark.arrow.PermutePipeline;
import org.tilespark.kernels.plan.TransposeProblem;
import org.tilespark.layout.Shape;

/**
 * Reorders the blocks of one partition: reads rows or batches, keeps as many batches under way as
 * the pipeline allows, and hands them out in order.
 *
 * <p>It owns the batch it handed out last: that one is freed by the following {@code next()} or by
 * {@link #close}, which the task calls at its end, whatever that end is.
 */
final class PermuteIterator implements Iterator<ColumnarBatch>, AutoCloseable {
  /** Rows of one batch at most, so that many tiny blocks do not make one endless batch. */
  private static final int MOST_ROWS = 1 << 16;

  private final PermuteSpec spec;
  private final BlockCursor cursor;
  private final PermutePipeline pipeline;
  private final BufferAllocator allocator;
  private final BlockCheck check;
  private final CarriedColumns carried;
  private final Deque<Labels> underWay = new ArrayDeque<>();
  private boolean pending; // the cursor stands on a block that is in no batch yet
  private boolean exhausted;
  private ColumnarBatch handedOut;

  PermuteIterator(
      PermuteSpec spec, BlockCursor cursor, PermutePipeline pipeline, BufferAllocator allocator) {
    this.spec = spec;
    this.cursor = cursor;
    this.pipeline = pipeline;
    this.allocator = allocator;
    this.check = new BlockCheck(spec.inputBlocks(), spec.operator(), spec.extents());
    this.carried = new CarriedColumns(spec);
  }

  @Override
  public boolean hasNext() {
    fillPipeline();
    return !underWay.isEmpty();
  }

  @Override
  public ColumnarBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    release();
    Labels labels = underWay.remove();
    List<ArrowBuf> planes = pipeline.take();
    try {
      handedOut = labels.batch(planes);
    } finally {
      planes.forEach(ArrowBuf::close); // the batch's vectors hold their own references
    }
    return handedOut;
  }

  /** Frees the batch handed out last; the pipeline is closed by its maker. */
  @Override
  public void close() {
    release();
    underWay.forEach(Labels::close);
    underWay.clear();
    exhausted = true;
  }

  private void release() {
    if (handedOut != null) {
      handedOut.close();
      handedOut = null;
    }
  }

  private void fillPipeline() {
    while (pipeline.inFlight() < pipeline.capacity() && moveToBlock()) {
      Labels labels = new Labels();
      underWay.add(labels);
      pipeline.begin(spec.blocks().planes().size(), Math.max(spec.batchBytes(), blockBytes()));
      do {
        addBlock(labels);
      } while (labels.rows < MOST_ROWS && moveToBlock() && pipeline.fits(blockBytes()));
      pipeline.submit();
    }
  }

  /** Moves to a block that is in no batch yet, and checks it. */
  private boolean moveToBlock() {
    if (!pending && !exhausted) {
      pending = cursor.advance();
      exhausted = !pending;
      if (pending) {
        check.check(cursor);
      }
    }
    return pending;
  }

  private long blockBytes() {
    return Shape.of(check.size()).elements() * spec.blocks().elementType().bytes();
  }

  private void addBlock(Labels labels) {
    TransposeProblem problem =
        new TransposeProblem(
            Shape.of(check.size()), spec.permutation(), spec.blocks().elementType().bytes());
    List<PermutePipeline.Plane> planes = new ArrayList<>();
    for (int ordinal : spec.inputBlocks().planes()) {
      BlockValues values = cursor.values(ordinal, spec.blocks().elementType());
      planes.add(new PermutePipeline.Plane(values.values(), values.owner()));
    }
    pipeline.add(problem, planes);
    labels.add(cursor.row(), problem.shape().elements());
    pending = false;
  }

  /** Everything of a batch but its values: places and sizes of its blocks, further columns. */
  private final class Labels {
    private final OnHeapColumnVector[] offsets =
        OnHeapColumnVector.allocateColumns(64, repeat(DataTypes.LongType));
    private final OnHeapColumnVector[] sizes =
        OnHeapColumnVector.allocateColumns(64, repeat(DataTypes.IntegerType));
    private final WritableColumnVector[] further = carried.newVectors();
    private int[] lengths = new int[64];
    private int rows;

    private org.apache.spark.sql.types.StructField[] repeat(
        org.apache.spark.sql.types.DataType type) {
      var fields = new org.apache.spark.sql.types.StructField[check.size().length];
      Arrays.fill(fields, DataTypes.createStructField("axis", type, false));
      return fields;
    }

    void add(InternalRow row, long elements) {
      for (int axis = 0; axis < offsets.length; axis++) {
        int from = spec.permutation().axis(axis);
        offsets[axis].appendLong(check.offset()[from]);
        sizes[axis].appendInt(Math.toIntExact(check.size()[from]));
      }
      carried.append(row, further);
      if (rows == lengths.length) {
        lengths = Arrays.copyOf(lengths, rows * 2);
      }
      lengths[rows++] = Math.toIntExact(elements);
    }

    ColumnarBatch batch(List<ArrowBuf> planes) {
      ColumnVector[] columns = new ColumnVector[spec.columns()];
      try {
        for (int axis = 0; axis < offsets.length; axis++) {
          columns[spec.blocks().offsets().get(axis)] = offsets[axis];
          columns[spec.blocks().sizes().get(axis)] = sizes[axis];
        }
        int[] carriedPositions = spec.carried();
        for (int i = 0; i < further.length; i++) {
          columns[carriedPositions[i]] = further[i];
        }
        for (int p = 0; p < planes.size(); p++) {
          columns[spec.blocks().planes().get(p)] =
              new ArrowColumnVector(
                  BlockVectors.list(
                      "values",
                      spec.blocks().elementType(),
                      Arrays.copyOf(lengths, rows),
                      planes.get(p),
                      allocator));
        }
        return new ColumnarBatch(columns, rows);
      } catch (Throwable t) {
        for (ColumnVector column : columns) {
          if (column != null) {
            column.close();
          }
        }
        throw t;
      }
    }

    void close() {
      Arrays.stream(offsets).forEach(ColumnVector::close);
      Arrays.stream(sizes).forEach(ColumnVector::close);
      Arrays.stream(further).forEach(ColumnVector::close);
    }
  }
}
