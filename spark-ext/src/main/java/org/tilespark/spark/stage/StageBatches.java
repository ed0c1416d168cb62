package org.tilespark.spark.stage;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.function.ToLongFunction;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;

/**
 * Results as batches, whose values are Arrow buffers that the pipeline writes. Results in progress
 * at the same time share a batch if they fit. A piece that is given several times with different
 * keys is a separate batch.
 */
final class StageBatches extends StageResults<ColumnarBatch> {
  /** The most rows of a batch. */
  private static final int MOST_ROWS = 1 << 16;

  private static final long FIRST_BYTES = 1 << 20;

  private final List<Integer> furtherOut;
  private final long batchBytes;
  private final BufferAllocator allocator;
  // Batches that are not handed out, the oldest first
  private final Deque<Batch> batches = new ArrayDeque<>();
  private ColumnarBatch handedOut; // the batch handed out last; null if there is none
  private int copy; // how often the first batch was handed out
  private long nextBytes; // size of the next batch: few results need little memory

  /**
   * The results of a partition.
   *
   * @param allocator allocator of the buffers; borrowed
   */
  StageBatches(Job job, BufferAllocator allocator) {
    super(job);
    this.furtherOut = spec.furtherOut(output.columns());
    this.batchBytes = output.batchBytes();
    this.nextBytes = Math.min(batchBytes, FIRST_BYTES);
    this.allocator = allocator;
  }

  /** Results that are in progress at the same time and share a batch. */
  private final class Batch implements AutoCloseable {
    final List<Label> labels = new ArrayList<>();
    final List<ArrowBuf> planes;
    final long capacityBytes; // bytes of the buffer of each plane
    long usedBytes;
    int taken; // number of labels whose values were taken from the pipeline

    Batch(long capacityBytes) {
      this.capacityBytes = capacityBytes;
      this.planes = Buffers.allocate(allocator, spec.out().planes().size(), capacityBytes);
    }

    boolean fits(Label label) {
      return labels.size() < MOST_ROWS
          && usedBytes + bytes(label) <= capacityBytes
          && label.copies() == 1
          && labels.get(0).copies() == 1
          && taken == 0;
    }

    List<HostMemory> add(Label label) {
      long from = usedBytes;
      long bytes = bytes(label);
      labels.add(label);
      usedBytes += bytes;
      return planes.stream().map(plane -> Buffers.memory(plane, from, bytes)).toList();
    }

    @Override
    public void close() {
      Closing.all(planes);
    }
  }

  /** Bytes of a result in each plane. */
  private long bytes(Label label) {
    return (long) rowElements(label) * spec.out().elementType().bytes();
  }

  @Override
  Rooms rooms(List<Label> labels) {
    return part -> room(labels.get(part));
  }

  private List<HostMemory> room(Label label) {
    if (batches.isEmpty() || !batches.getLast().fits(label)) {
      long bytes = bytes(label);
      batches.add(new Batch(label.copies() == 1 ? Math.max(nextBytes, bytes) : bytes));
      nextBytes = Math.min(batchBytes, 2 * nextBytes);
    }
    return batches.getLast().add(label);
  }

  @Override
  public boolean hasNext() {
    boolean isUnderWay = isUnderWay();
    return isUnderWay || !batches.isEmpty();
  }

  @Override
  public ColumnarBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    release();
    if (copy == 0) {
      takeFirst();
    }
    Batch batch = batches.element();
    handedOut = made(batch);
    copy++;
    if (copy >= batch.labels.get(0).copies()) {
      copy = 0;
      batches.remove().close(); // the batch's vectors hold their own references
    }
    return handedOut;
  }

  /** Takes the values of all results that share the first batch from the pipeline. */
  private void takeFirst() {
    Batch batch;
    do {
      Closing.all(take());
      batch = batches.element();
      batch.taken++;
    } while (batch.taken < batch.labels.size());
  }

  private void release() {
    if (handedOut != null) {
      handedOut.close();
      handedOut = null;
    }
  }

  @Override
  public void close() {
    Closing.all(
        List.<AutoCloseable>of(super::close, this::release, () -> Closing.emptied(batches)));
  }

  private ColumnarBatch made(Batch batch) {
    BlockSchema out = spec.out();
    List<Label> labels = batch.labels;
    int keyCount = output.keyCount();
    ColumnVector[] vectors = new ColumnVector[keyCount + output.columns()];
    try {
      for (int key = 0; key < keyCount; key++) {
        int of = key;
        vectors[key] =
            numbers(
                labels,
                label -> label.keys().get(copy)[of],
                output.keys().columns().get(key).isLong());
      }
      for (int axis = 0; axis < out.kind().rank(); axis++) {
        int of = axis;
        vectors[keyCount + out.offsets().get(axis)] =
            numbers(labels, label -> label.place().low(of), true);
        vectors[keyCount + out.sizes().get(axis)] =
            numbers(labels, label -> label.place().size(of), false);
      }
      ColumnVector[] further = carried().vectors(labels.stream().map(Label::further).toList());
      for (int i = 0; i < further.length; i++) {
        vectors[keyCount + furtherOut.get(i)] = further[i];
      }
      int[] lengths = labels.stream().mapToInt(this::rowElements).toArray();
      for (int plane = 0; plane < batch.planes.size(); plane++) {
        vectors[keyCount + out.planes().get(plane)] =
            new ArrowColumnVector(
                BlockVectors.list(
                    BlockKind.VALUES,
                    out.elementType(),
                    lengths,
                    batch.planes.get(plane),
                    allocator));
      }
    } catch (Throwable t) {
      Arrays.stream(vectors).filter(Objects::nonNull).forEach(ColumnVector::close);
      throw t;
    }
    return new ColumnarBatch(vectors, labels.size());
  }

  private int rowElements(Label label) {
    if (label.place().volume() > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          spec.out().kind().describe(label.place().offset())
              + ": it would have "
              + label.place().volume()
              + " elements, a row holds less than 2^31; use smaller blocks (in "
              + spec.operator()
              + ")");
    }
    return (int) label.place().volume();
  }

  private static OnHeapColumnVector numbers(
      List<Label> labels, ToLongFunction<Label> number, boolean isLong) {
    OnHeapColumnVector vector =
        new OnHeapColumnVector(labels.size(), isLong ? DataTypes.LongType : DataTypes.IntegerType);
    for (Label label : labels) {
      if (isLong) {
        vector.appendLong(number.applyAsLong(label));
      } else {
        vector.appendInt(Math.toIntExact(number.applyAsLong(label)));
      }
    }
    return vector;
  }
}
