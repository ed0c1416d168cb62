package org.tilespark.arrow.blocks;

import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * One block cut into slices along one of its axes, so that each goes through the device alone: one
 * uploads while another computes and a third downloads, and the device need not hold the block.
 *
 * <p>Permutations carry a slice of the input along axis {@code a} to a slice of the output along
 * the axis that {@code a} becomes, whatever their number. On the device a slice is a dense block of
 * its own. In host memory it is a {@link Region} of the block on both sides: contiguous where its
 * axis is the outermost, else rows that lie apart, which the device's copy engine gathers and
 * scatters.
 *
 * <pre>
 *     input (4, 6), axis 0, 2 thick      output (6, 4), axis 1
 *     aaaaaa                             aabb
 *     aaaaaa                             aabb
 *     bbbbbb                             aabb   6 rows of 2, pitch 4
 *     bbbbbb   contiguous                ...
 * </pre>
 *
 * @param chain what happens to the block
 * @param axis the input axis that is cut
 * @param thickness extent of a slice along it; the last one may have less
 */
record BlockSlices(TransposeChain chain, int axis, long thickness) {
  /** Thick slices are this many elements or a multiple, so that rows of theirs stay aligned. */
  private static final long QUANTUM = 64;

  /**
   * One slice.
   *
   * @param chain what happens to it
   * @param from where it lies in the input block
   * @param to where its result lies in the output block
   */
  record Slice(TransposeChain chain, Region from, Region to) {}

  /**
   * The cut whose slices have at most {@code mostBytes} bytes: along the axis whose rows in host
   * memory are longest, on the side where they are shorter.
   *
   * @throws IllegalArgumentException if even a slice of thickness 1 is larger along every axis
   */
  static BlockSlices cut(TransposeChain chain, long mostBytes) {
    BlockSlices best = null;
    long longest = -1;
    for (int axis = 0; axis < chain.shape().rank(); axis++) {
      long thickness = thickness(chain, axis, mostBytes);
      if (thickness > 0) {
        BlockSlices slices = new BlockSlices(chain, axis, thickness);
        Slice first = slices.slice(0);
        long rowBytes = Math.min(first.from().rowBytes(), first.to().rowBytes());
        if (rowBytes > longest) {
          best = slices;
          longest = rowBytes;
        }
      }
    }
    if (best == null) {
      throw new IllegalArgumentException(
          ("A block of shape %s of %s-byte elements has no slices of at most %s bytes;"
                  + " the thinnest have %s")
              .formatted(chain.shape(), chain.elementBytes(), mostBytes, thinnestBytes(chain)));
    }
    return best;
  }

  /** Bytes of the smallest slices a block can be cut into. */
  static long thinnestBytes(TransposeChain chain) {
    long most = 1;
    for (long extent : chain.shape().toArray()) {
      most = Math.max(most, extent);
    }
    return chain.bytes() / most;
  }

  /** Count of slices. */
  int count() {
    long extent = chain.shape().extent(axis);
    return Math.toIntExact((extent + thickness - 1) / thickness);
  }

  /** Slice {@code index}, in the order of the axis. */
  Slice slice(int index) {
    long start = index * thickness;
    long extents = Math.min(thickness, chain.shape().extent(axis) - start);
    long[] shape = chain.shape().toArray();
    shape[axis] = extents;
    Permutation all = chain.permutation();
    return new Slice(
        TransposeChain.of(Shape.of(shape), chain.permutations(), chain.elementBytes()),
        region(chain.shape(), axis, start, extents),
        region(chain.outputShape(), all.inverse().axis(axis), start, extents));
  }

  /** The part {@code [start, start + extent)} of an axis of a dense array. */
  private Region region(Shape shape, int along, long start, long extent) {
    long inner = chain.elementBytes();
    for (int i = along + 1; i < shape.rank(); i++) {
      inner *= shape.extent(i);
    }
    long outer = 1;
    for (int i = 0; i < along; i++) {
      outer *= shape.extent(i);
    }
    long pitchBytes = shape.extent(along) * inner;
    return extent == shape.extent(along)
        ? Region.of(0, outer * pitchBytes)
        : new Region(start * inner, extent * inner, pitchBytes, outer);
  }

  /** Thickness of even slices that hold at most {@code mostBytes}; 0 if there are none. */
  private static long thickness(TransposeChain chain, int axis, long mostBytes) {
    long extent = chain.shape().extent(axis);
    long most = Math.min(extent, mostBytes / (chain.bytes() / extent));
    if (most == 0) {
      return 0;
    }
    long quantum = most < extent && most >= QUANTUM ? QUANTUM : 1;
    most -= most % quantum;
    long count = (extent + most - 1) / most;
    long even = (extent + count - 1) / count;
    return (even + quantum - 1) / quantum * quantum;
  }
}
