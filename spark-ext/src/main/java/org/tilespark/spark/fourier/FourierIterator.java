package org.tilespark.spark.fourier;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.arrays.FourierPipeline;
import org.tilespark.arrow.arrays.FourierPipeline.Part;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.layout.Box;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.PieceCursor;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.exchange.PieceKeys;
import org.tilespark.spark.rows.CarriedColumns;

/**
 * Runs a {@link FourierProgram} over the arrays of one partition, keeps as many under way as the
 * pipeline allows, and hands out the results, cut where that is asked for: one block or piece in
 * each batch.
 *
 * <p>It owns the batch it handed out last: that one is freed by the following {@code next()} or by
 * {@link #close}, which the task calls at its end, whatever that end is.
 */
final class FourierIterator implements Iterator<ColumnarBatch>, AutoCloseable {
  /**
   * How results leave.
   *
   * @param cuts where they are cut; null if they leave whole
   * @param keys columns put before those of the blocks; null if there are none
   * @param of blocks or pieces in the output, without keys
   */
  record Output(Cuts cuts, PieceKeys keys, int columns) implements Serializable {}

  /** A block or piece of a result, and the further columns it goes with. */
  private record Label(Box place, List<long[]> keys, UnsafeRow further) {}

  private final FourierSpec spec;
  private final Output output;
  private final ArraySource source;
  private final CarriedColumns carried;
  private final List<Integer> furtherOut;
  private final FourierPipeline pipeline;
  private final BufferAllocator allocator;
  private final int trendOrdinal;
  private final Deque<Label> underWay = new ArrayDeque<>();
  private boolean exhausted;
  private Label current; // whose planes were taken last
  private List<ArrowBuf> planes; // its values; null if they are still to be taken
  private int copy; // of the current piece that comes next
  private ColumnarBatch handedOut;

  /**
   * @param carried the further columns, in the order of the output
   * @param trendOrdinal of the trend in the source's rows, or -1
   */
  FourierIterator(
      FourierSpec spec,
      Output output,
      ArraySource source,
      CarriedColumns carried,
      int trendOrdinal,
      FourierPipeline pipeline,
      BufferAllocator allocator) {
    this.spec = spec;
    this.output = output;
    this.source = source;
    this.carried = carried;
    this.furtherOut = spec.furtherOut(output.columns());
    this.trendOrdinal = trendOrdinal;
    this.pipeline = pipeline;
    this.allocator = allocator;
  }

  @Override
  public boolean hasNext() {
    fillPipeline();
    return current != null || !underWay.isEmpty();
  }

  @Override
  public ColumnarBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    release();
    if (current == null) {
      current = underWay.remove();
      planes = pipeline.take();
    }
    handedOut = batch(current, copy++);
    if (copy == Math.max(1, current.keys().size())) {
      finishCurrent();
    }
    return handedOut;
  }

  /** Frees the batch handed out last; the pipeline is closed by its maker. */
  @Override
  public void close() {
    release();
    finishCurrent();
    underWay.clear();
    exhausted = true;
    source.close();
  }

  private void release() {
    if (handedOut != null) {
      handedOut.close();
      handedOut = null;
    }
  }

  private void finishCurrent() {
    if (planes != null) {
      planes.forEach(ArrowBuf::close); // the batches' vectors hold their own references
      planes = null;
    }
    current = null;
    copy = 0;
  }

  private void fillPipeline() {
    while (!exhausted && pipeline.inFlight() < pipeline.capacity()) {
      if (!source.next()) {
        exhausted = true;
        return;
      }
      runArray();
    }
  }

  private void runArray() {
    FourierProgram.Part part = spec.program().on(source.box(), trend());
    List<Label> labels = labels(part.place(), carried.kept(source.row()));
    begin(part);
    source.put(pipeline, spec.program().isComplex());
    underWay.addAll(labels);
    long[] low = part.place().offset();
    List<Part> outputs = new ArrayList<>();
    for (Label label : labels) {
      long[] local = label.place().offset();
      for (int axis = 0; axis < local.length; axis++) {
        local[axis] -= low[axis];
      }
      outputs.add(new Part(ArraySource.boxed(local), ArraySource.boxed(label.place().sizes())));
    }
    pipeline.run(outputs);
  }

  /** Makes room for an array. A block far out makes it seem larger than any memory. */
  private void begin(FourierProgram.Part part) {
    try {
      pipeline.begin(part.chain());
    } catch (RuntimeException e) {
      source.check();
      throw e;
    }
  }

  /** Null if none is taken off; of an array without parts, whose elements are all 0, it is 0. */
  private double[] trend() {
    if (trendOrdinal < 0) {
      return null;
    }
    InternalRow row = source.row();
    return row.isNullAt(trendOrdinal)
        ? new double[2 * (1 + spec.in().kind().rank())]
        : row.getArray(trendOrdinal).toDoubleArray();
  }

  private List<Label> labels(Box result, UnsafeRow further) {
    if (output.cuts() == null) {
      return List.of(new Label(result, List.of(), further));
    }
    List<Label> labels = new ArrayList<>();
    PieceCursor pieces = new PieceCursor(output.cuts());
    pieces.start(result.offset(), result.sizes());
    while (pieces.advance()) {
      labels.add(new Label(Box.between(pieces.low(), pieces.high()), keys(pieces), further));
    }
    return labels;
  }

  private List<long[]> keys(PieceCursor piece) {
    List<long[]> keys = new ArrayList<>();
    if (output.keys() != null) {
      for (int i = 0; i < output.keys().copies(piece.part()); i++) {
        long[] of = new long[output.keys().columns().size()];
        output.keys().fill(i, piece.part(), piece.low(), of);
        keys.add(of);
      }
    }
    return keys;
  }

  private ColumnarBatch batch(Label label, int copyOfIt) {
    BlockSchema out = spec.out();
    int keyCount = output.keys() == null ? 0 : output.keys().columns().size();
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
      ColumnVector[] further = carried.vectors(List.of(label.further()));
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
