package org.tilespark.spark.linalg;

import java.util.Optional;
import org.apache.spark.SparkContext;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.runtime.BroadcastLimit;

/**
 * The sizes of the strips of a tall matrix: pure functions of extents.
 *
 * @param stripBytes usual bytes of a strip, its elements counted as doubles
 * @param topBytes most bytes of a stack of the strips' triangles R that is factorised as one block,
 *     its elements counted as doubles
 * @param tasks tasks that can run at once
 * @param broadcastBytes most bytes of a left factor that is broadcast to the strips; a larger one
 *     is exchanged
 */
record StripSizes(long stripBytes, long topBytes, int tasks, long broadcastBytes) {
  /**
   * A strip has at least this many times as many rows as columns, so that a stack of triangles is
   * that many times shorter than the matrix.
   */
  private static final int TALL = 4;

  private static final long STRIP_BYTES = 64L << 20;
  private static final long TOP_BYTES = 32L << 20;

  /**
   * The usual sizes, for a caller that needs no left factor (Q or U) of the tall matrix: nothing is
   * broadcast.
   */
  static StripSizes of(int tasks) {
    return new StripSizes(STRIP_BYTES, TOP_BYTES, tasks, 0);
  }

  /** The usual sizes for a session's executors, with its limit of broadcasts. */
  static StripSizes of(SparkContext context) {
    return new StripSizes(
        STRIP_BYTES, TOP_BYTES, context.defaultParallelism(), BroadcastLimit.bytes(context));
  }

  /** True if a left factor of {@code rows} x {@code cols} is broadcast to the strips. */
  boolean areBroadcast(long rows, long cols) {
    return bytes(rows, cols) <= broadcastBytes;
  }

  /** True if a matrix is factorised in strips: it is tall, and too large for one task. */
  boolean areFor(Shape extents) {
    return extents.extent(1) > 0
        && extents.extent(0) / extents.extent(1) >= 2 * TALL
        && bytes(extents.extent(0), extents.extent(1)) > topBytes;
  }

  /**
   * Rows of a full strip: those of the blocks, if these are whole rows and not too short; otherwise
   * the number that gives each task a strip, but at least {@link #TALL} times the count of columns.
   *
   * @param blockShape shape of the blocks, if it is stated
   */
  long height(Shape extents, Optional<Shape> blockShape) {
    long rows = extents.extent(0);
    long cols = extents.extent(1);
    long least = Bytes.product(TALL, cols);
    Optional<Long> there =
        blockShape
            .filter(shape -> shape.extent(1) >= cols && shape.extent(0) >= least)
            .map(shape -> Math.min(rows, shape.extent(0)))
            .filter(height -> bytes(height, cols) <= UsualShape.LARGE_BYTES);
    if (there.isPresent()) {
      return there.get();
    }
    long most = Math.max(least, stripBytes / Bytes.product(Double.BYTES, cols));
    long even = Math.max(least, Math.min(most, Ceil.div(rows, tasks)));
    return Ceil.div(rows, Ceil.div(rows, even));
  }

  private static long bytes(long rows, long cols) {
    return Bytes.product(Bytes.product(rows, cols), Double.BYTES);
  }
}
