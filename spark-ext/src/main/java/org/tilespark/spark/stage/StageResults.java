package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.layout.Box;
import org.tilespark.layout.PieceCursor;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.exchange.PieceKeys;
import org.tilespark.spark.rows.CarriedColumns;

/**
 * Runs an {@link ArrayProgram} over the arrays of one partition, with as many in progress as the
 * pipeline allows, and gives the results, perhaps cut, one block or piece at a time. The task
 * closes it at its end in any case, after the pipeline, which its creator closes.
 *
 * @param <R> type of the results: rows, or batches of rows; each is valid until the next one is
 *     requested
 */
abstract class StageResults<R> implements Iterator<R>, AutoCloseable {
  /**
   * The form of the results.
   *
   * @param pieces makes a cursor over the pieces of a result; null if results are not cut
   * @param keys columns put before those of the blocks; null if there are none
   * @param schema schema of the output, keys first
   * @param batchBytes bytes of values that make a batch
   */
  record Output(Pieces pieces, PieceKeys keys, StructType schema, long batchBytes)
      implements Serializable {
    int keyCount() {
      return keys == null ? 0 : keys.columns().size();
    }

    /** The number of output columns without the keys. */
    int columns() {
      return schema.length() - keyCount();
    }
  }

  /** Makes cursors over the pieces of results. */
  interface Pieces extends Serializable {
    PieceCursor cursor();
  }

  /**
   * The places of a block or piece and its other columns; its values are not here.
   *
   * @param source box of its elements in the whole array that the program computes
   * @param place its box in the array that the stage gives; another one if pieces are moved
   * @param keys values of the key columns, for each time that it is given; empty if there are no
   *     key columns and it is given once
   * @param further columns that go with the block unchanged
   */
  record Label(Box source, Box place, List<long[]> keys, UnsafeRow further) {
    /** The number of times that the block or piece is given, each time with different keys. */
    int copies() {
      return Math.max(1, keys.size());
    }
  }

  /**
   * The sources of results.
   *
   * @param arrays the arrays that the program processes; owned
   * @param carried the further columns, in the order of the output
   * @param trendOrdinal ordinal, in the first input's rows, of the trend to subtract; -1 if there
   *     is none
   */
  record Job(
      StageSpec spec,
      Output output,
      StageArrays arrays,
      CarriedColumns carried,
      int trendOrdinal,
      BlockPipeline pipeline) {}

  final StageSpec spec;
  final Output output;
  private final StageArrays arrays;
  private final CarriedColumns carried;
  private final ArrayProgram.Binding binding;
  private final BlockPipeline pipeline;
  private final int trendOrdinal;
  private ArrayProgram.Part wholePart; // the last part whose result was not cut
  private List<Part> whole = List.of(); // the one part of that result: all of it
  private int underWay; // number of parts of results in progress: run, and not taken
  private boolean exhausted;

  StageResults(Job job) {
    this.spec = job.spec();
    this.output = job.output();
    this.arrays = job.arrays();
    this.carried = job.carried();
    this.binding = job.spec().program().binding();
    this.trendOrdinal = job.trendOrdinal();
    this.pipeline = job.pipeline();
  }

  /** The further columns, in the order of the output. */
  final CarriedColumns carried() {
    return carried;
  }

  /** Takes the labels of an array's result, in order; returns the destinations of its parts. */
  abstract Rooms rooms(List<Label> labels);

  /** Starts as many arrays as possible; true if a part of a result is in progress. */
  final boolean isUnderWay() {
    fillPipeline();
    return underWay > 0;
  }

  /** The values of the next part, as {@link BlockPipeline#take} gives them. */
  final List<ArrowBuf> take() {
    underWay--;
    return pipeline.take();
  }

  @Override
  public void close() {
    underWay = 0;
    exhausted = true;
    arrays.close();
  }

  private void fillPipeline() {
    while (!exhausted && !pipeline.isFull()) {
      if (!arrays.next()) {
        exhausted = true;
        return;
      }
      List<Box> boxes = arrays.boxes();
      if (binding.keeps(boxes.get(0))) {
        runArray(boxes);
      } else {
        arrays.check();
      }
    }
  }

  private void runArray(List<Box> boxes) {
    ArrayProgram.Part part = part(boxes);
    List<Label> labels = labels(part.place(), carried.kept(arrays.row()));
    if (labels.isEmpty()) {
      arrays.check();
      return;
    }
    begin(part);
    arrays.put(pipeline);
    underWay += labels.size();
    pipeline.run(outputs(part, labels), rooms(labels));
  }

  private List<Part> outputs(ArrayProgram.Part part, List<Label> labels) {
    if (output.pieces() == null) { // results are not cut; most have the size of the one before
      if (part != wholePart) {
        long[] sizes = part.place().sizes();
        whole = List.of(Part.at(new long[sizes.length], sizes));
        wholePart = part;
      }
      return whole;
    }
    long[] low = part.place().offset();
    List<Part> outputs = new ArrayList<>();
    for (Label label : labels) {
      long[] local = label.source().offset();
      for (int axis = 0; axis < local.length; axis++) {
        local[axis] -= low[axis];
      }
      outputs.add(Part.at(local, label.place().sizes()));
    }
    return outputs;
  }

  private ArrayProgram.Part part(List<Box> boxes) {
    try {
      return binding.on(boxes, trend());
    } catch (IllegalArgumentException e) { // an array may be incomplete after a slice
      throw new IllegalArgumentException(
          "%s: %s; the column metadata %s says that it has; %s (in %s)"
              .formatted(
                  spec.out().kind().describe(boxes.get(0).offset()),
                  e.getMessage(),
                  ArrayMetadata.BLOCK_SHAPE,
                  StaleMetadata.HELP,
                  spec.operator()),
          e);
    }
  }

  /**
   * Begins an array. If that fails, the array's blocks are checked, since one at a wrong place may
   * have made the array seem larger than any memory.
   */
  private void begin(ArrayProgram.Part part) {
    try {
      pipeline.begin(part.program());
    } catch (RuntimeException e) {
      arrays.check();
      throw e;
    }
  }

  /**
   * The trend to subtract; null if there is none; 0 for an array without parts, whose elements are
   * all 0.
   */
  private double[] trend() {
    if (trendOrdinal < 0) {
      return null;
    }
    InternalRow row = arrays.row();
    return row.isNullAt(trendOrdinal)
        ? new double[2 * (1 + spec.out().kind().rank())]
        : row.getArray(trendOrdinal).toDoubleArray();
  }

  private List<Label> labels(Box result, UnsafeRow further) {
    if (output.pieces() == null) {
      return List.of(new Label(result, result, List.of(), further));
    }
    List<Label> labels = new ArrayList<>();
    PieceCursor pieces = output.pieces().cursor();
    pieces.start(result.offset(), result.sizes());
    while (pieces.advance()) {
      Box place = Box.between(pieces.low(), pieces.high());
      List<long[]> keys = keys(pieces);
      if (output.keys() == null || !keys.isEmpty()) { // no task needs it if the result is empty
        labels.add(new Label(Box.at(pieces.source(), place.sizes()), place, keys, further));
      }
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
}
