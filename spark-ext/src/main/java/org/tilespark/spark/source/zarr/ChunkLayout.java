package org.tilespark.spark.source.zarr;

import java.io.Serializable;
import java.util.List;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.source.codec.ByteCodec;

/** The way in which the elements of a chunk are stored. Immutable. */
sealed interface ChunkLayout extends Serializable {
  /** Elements of the chunk along each axis of the array. */
  Shape shape();

  /** The shape of the smallest parts that can be read separately. */
  Shape leaf();

  /**
   * The first element of the chunk at a place of a grid of chunks, counted from the grid's first
   * element.
   */
  default long[] low(long[] place) {
    long[] low = place.clone();
    for (int axis = 0; axis < low.length; axis++) {
      low[axis] *= shape().extent(axis);
    }
    return low;
  }

  /**
   * A chunk that is decoded as a whole.
   *
   * @param shape elements of the chunk along each axis of the array
   * @param order the order of the axes in memory: axis {@code i} there is the array's axis {@code
   *     order.axis(i)}
   * @param bigEndian true if the highest byte of a number is the first
   * @param codecs the codecs that encoded the chunk's bytes, in this order
   */
  record Leaf(Shape shape, Permutation order, boolean bigEndian, List<ByteCodec> codecs)
      implements ChunkLayout {
    @Override
    public Shape leaf() {
      return shape;
    }
  }

  /**
   * A chunk that holds chunks, and an index of the places of their bytes.
   *
   * @param shape elements of the chunk along each axis of the array
   * @param order as in {@link Leaf}: the index lists the inner chunks in this order
   * @param inner the layout of the inner chunks
   * @param index the layout of the index
   */
  record Shard(Shape shape, Permutation order, ChunkLayout inner, Index index)
      implements ChunkLayout {
    @Override
    public Shape leaf() {
      return inner.leaf();
    }

    /** Count of inner chunks along each axis of the array. */
    Shape grid() {
      long[] counts = shape.toArray();
      for (int axis = 0; axis < counts.length; axis++) {
        counts[axis] /= inner.shape().extent(axis);
      }
      return Shape.of(counts);
    }
  }

  /**
   * An index: offset and length of each inner chunk, as numbers of 8 bytes.
   *
   * @param atEnd true if the index follows the inner chunks
   * @param bigEndian true if the highest byte of its numbers is the first
   * @param checksums count of the CRC32C that follow the index
   */
  record Index(boolean atEnd, boolean bigEndian, int checksums) implements Serializable {}
}
