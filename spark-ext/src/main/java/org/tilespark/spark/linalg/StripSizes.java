package org.tilespark.spark.linalg;

import java.util.Optional;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.UsualShape;

/**
 * The sizes of the strips of a tall matrix: pure functions of extents.
 *
 * @param stripBytes usual bytes of a strip, as doubles
 * @param topBytes bytes of a stack of triangles that is factorised as one block, as doubles
 * @param tasks tasks that can run at once
 */
record StripSizes(long stripBytes, long topBytes, int tasks) {
  /**
   * Least ratio of a strip's rows to its columns; a stack of triangles is shorter by this factor.
   */
  private static final int TALL = 4;

  private static final long STRIP_BYTES = 64L << 20;
  private static final long TOP_BYTES = 32L << 20;

  /** The usual sizes. */
  static StripSizes of(int tasks) {
    return new StripSizes(STRIP_BYTES, TOP_BYTES, tasks);
  }

  /** True if a matrix is factorised in strips: it is tall, and too large for one task. */
  boolean areFor(Shape extents) {
    return extents.extent(1) > 0
        && extents.extent(0) / extents.extent(1) >= 2 * TALL
        && bytes(extents.extent(0), extents.extent(1)) > topBytes;
  }

  /**
   * Rows of a full strip: those of the blocks, if these are whole rows and not too short; otherwise
   * the number that gives each task a strip, as long as strips are tall.
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
