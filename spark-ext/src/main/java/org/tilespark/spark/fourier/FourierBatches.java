package org.tilespark.spark.fourier;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;

/** Results as batches of one block or piece each, whose values are Arrow buffers. */
final class FourierBatches extends FourierResults<ColumnarBatch> {
  private final List<Integer> furtherOut;
  private final BufferAllocator allocator;
  private List<ArrowBuf> planes = List.of(); // of the piece taken last
  private ColumnarBatch handedOut; // null if there is none

  /**
   * The results of a partition.
   *
   * @param allocator of the pipeline's buffers
   */
  FourierBatches(Job job, BufferAllocator allocator) {
    super(job);
    this.furtherOut = spec.furtherOut(output.columns());
    this.allocator = allocator;
  }

  @Override
  Rooms rooms(List<Label> labels) {
    return Rooms.NONE;
  }

  @Override
  void taken(List<ArrowBuf> newPlanes) {
    planes = newPlanes;
  }

  @Override
  ColumnarBatch result(Label label, int copyOfIt) {
    handedOut = batch(label, copyOfIt);
    return handedOut;
  }

  @Override
  void release() {
    if (handedOut != null) {
      handedOut.close();
      handedOut = null;
    }
  }

  @Override
  void finish() {
    planes.forEach(ArrowBuf::close); // the batches' vectors hold their own references
    planes = List.of();
  }

  private ColumnarBatch batch(Label label, int copyOfIt) {
    BlockSchema out = spec.out();
    int keyCount = output.keyCount();
    ColumnVector[] vectors = new ColumnVector[keyCount + output.columns()];
    try {
      for (int key = 0; key < keyCount; key++) {
        vectors[key] =
            number(label.keys().get(copyOfIt)[key], output.keys().columns().get(key).isLong());
      }
      for (int axis = 0; axis < out.kind().rank(); axis++) {
        vectors[keyCount + out.offsets().get(axis)] = number(label.place().low(axis), true);
        vectors[keyCount + out.sizes().get(axis)] = number(label.place().size(axis), false);
      }
      ColumnVector[] further = carried().vectors(List.of(label.further()));
      for (int i = 0; i < further.length; i++) {
        vectors[keyCount + furtherOut.get(i)] = further[i];
      }
      for (int plane = 0; plane < planes.size(); plane++) {
        vectors[keyCount + out.planes().get(plane)] =
            new ArrowColumnVector(
                BlockVectors.list(
                    BlockKind.VALUES,
                    out.elementType(),
                    new int[] {rowElements(label)},
                    planes.get(plane),
                    allocator));
      }
    } catch (Throwable t) {
      Arrays.stream(vectors).filter(Objects::nonNull).forEach(ColumnVector::close);
      throw t;
    }
    return new ColumnarBatch(vectors, 1);
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

  private static OnHeapColumnVector number(long value, boolean isLong) {
    OnHeapColumnVector vector =
        new OnHeapColumnVector(1, isLong ? DataTypes.LongType : DataTypes.IntegerType);
    if (isLong) {
      vector.appendLong(value);
    } else {
      vector.appendInt(Math.toIntExact(value));
    }
    return vector;
  }
}
