package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * What goes through the device at once: consecutive blocks of a batch, or one slice of a block. It
 * is dense in device memory.
 *
 * @param from where it lies in the batch's input planes
 * @param to where its result lies in the batch's output planes
 * @param runs its blocks, by their place in the piece
 */
record Piece(Region from, Region to, List<Run> runs) {
  /**
   * Consecutive equal blocks, back to back: one problem per step.
   *
   * @param chain what happens to each
   * @param startBytes where the first begins, in the batch or in the piece
   * @param count how many
   */
  record Run(TransposeChain chain, long startBytes, long count) {
    long bytes() {
      return count * chain.bytes();
    }

    /** One step of all blocks as one problem, with the blocks along a leading batch axis. */
    TransposeProblem batched(int step) {
      TransposeProblem problem = chain.steps().get(step);
      if (count == 1) {
        return problem;
      }
      int rank = problem.shape().rank();
      long[] extents = new long[rank + 1];
      int[] axes = new int[rank + 1];
      extents[0] = count;
      for (int axis = 0; axis < rank; axis++) {
        extents[axis + 1] = problem.shape().extent(axis);
        axes[axis + 1] = problem.permutation().axis(axis) + 1;
      }
      return new TransposeProblem(Shape.of(extents), Permutation.of(axes), problem.elementBytes());
    }
  }

  /**
   * How much of a batch is in device memory at once.
   *
   * @param lanes pieces under way at once, each with a buffer to read and one to write
   * @param pieceBytes bytes of a piece at most, and of each buffer
   */
  record Layout(int lanes, long pieceBytes) {
    private static final int MOST_LANES = 2;

    /**
     * The layout for granted memory: all of the batch in one piece if it fits; else two lanes, so
     * that the copies of one piece overlap the other's; else one.
     *
     * @param batchBytes bytes of one plane of the batch
     * @param thinnestBytes bytes of the smallest piece that the batch can be cut into
     * @param grantedBytes device memory, at least {@code 2 * thinnestBytes}
     */
    static Layout of(long batchBytes, long thinnestBytes, long grantedBytes) {
      if (grantedBytes >= 2 * batchBytes) {
        return new Layout(1, batchBytes);
      }
      long ofTwo = grantedBytes / (2 * MOST_LANES);
      return ofTwo >= thinnestBytes
          ? new Layout(MOST_LANES, ofTwo)
          : new Layout(1, grantedBytes / 2);
    }
  }

  /** How many steps each block takes. */
  int steps() {
    return runs.get(0).chain().steps().size();
  }

  /**
   * Cuts a batch into pieces of at most {@code mostBytes} bytes: at the borders of blocks, and a
   * block that is larger into slices.
   *
   * @param runs the batch's blocks, one behind the other
   * @throws IllegalArgumentException if a block has no slices that small
   */
  static List<Piece> cut(List<Run> runs, long mostBytes) {
    List<Piece> pieces = new ArrayList<>();
    List<Run> open = new ArrayList<>();
    long start = 0; // of the open piece
    long end = 0;
    for (Run run : runs) {
      long blockBytes = run.chain().bytes();
      long left = run.count();
      while (left > 0) {
        long fit = Math.min(left, (mostBytes - (end - start)) / blockBytes);
        if (fit > 0) {
          open.add(new Run(run.chain(), end - start, fit));
          end += fit * blockBytes;
          left -= fit;
          continue;
        }
        if (!open.isEmpty()) {
          pieces.add(whole(open, start, end));
          open.clear();
        }
        start = end;
        if (blockBytes > mostBytes) {
          pieces.addAll(slices(run.chain(), end, mostBytes));
          end += blockBytes;
          start = end;
          left--;
        }
      }
    }
    if (!open.isEmpty()) {
      pieces.add(whole(open, start, end));
    }
    return pieces;
  }

  private static Piece whole(List<Run> runs, long start, long end) {
    Region region = Region.of(start, end - start);
    return new Piece(region, region, List.copyOf(runs));
  }

  private static List<Piece> slices(TransposeChain chain, long start, long mostBytes) {
    BlockSlices slices = BlockSlices.cut(chain, mostBytes);
    List<Piece> pieces = new ArrayList<>();
    for (int i = 0; i < slices.count(); i++) {
      BlockSlices.Slice slice = slices.slice(i);
      pieces.add(
          new Piece(
              slice.from().shifted(start),
              slice.to().shifted(start),
              List.of(new Run(slice.chain(), 0, 1))));
    }
    return pieces;
  }
}
