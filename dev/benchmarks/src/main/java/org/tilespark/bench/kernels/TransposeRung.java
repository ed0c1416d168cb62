package org.tilespark.bench.kernels;

import java.util.Optional;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.transpose.MatrixBatch;
import org.tilespark.kernels.transpose.TileOrder;
import org.tilespark.kernels.transpose.TransposeStrategy;

/**
 * A tutorial's transpose kernel ({@code ladder.cu}), for a comparison with the planner's
 * strategies.
 *
 * @param matrices matrices to transpose, with at most {@link TransposeStrategy#MAX_OUTER} outer
 *     axes
 * @param kernel the kernel; {@code ladder_slices} needs exactly one outer axis
 */
record TransposeRung(MatrixBatch matrices, KernelIndex.Kernel kernel) implements TransposeStrategy {
  static final String SOURCE = "ladder";

  /** The kernel family that transposes a three-dimensional array by slices. */
  static final String SLICES = "ladder_slices";

  TransposeRung {
    int outer = matrices.outer().size();
    if (outer > MAX_OUTER || (kernel.family().equals(SLICES) && outer != 1)) {
      throw new IllegalArgumentException(kernel.name() + " does not take " + outer + " outer axes");
    }
  }

  /**
   * Arranges {@code slices} in a grid {@code {k1, k2}} that is nearly square and has at most one
   * unused cell. From L.-S. Chien's three-dimensional transpose.
   */
  static long[] packing(long slices) {
    for (long k1 = (long) Math.sqrt((double) slices); k1 > 1; k1--) {
      long k2 = Ceil.div(slices, k1);
      if (k1 * k2 - slices <= 1) {
        return new long[] {k1, k2};
      }
    }
    return new long[] {1, slices};
  }

  @Override
  public Optional<KernelLaunch> launch(DeviceLimits limits) {
    long rowTiles = Ceil.div(matrices.rows(), kernel.shape().rows());
    long colTiles = Ceil.div(matrices.cols(), kernel.shape().cols());
    long[] words = matrices.tileWords(rowTiles, colTiles, TileOrder.of(matrices));
    long blocks = matrices.tiles(rowTiles, colTiles);
    if (kernel.family().equals(SLICES)) {
      long[] packing = packing(matrices.count());
      blocks = Math.multiplyExact(packing[0] * rowTiles, packing[1] * colTiles);
      words[MatrixBatch.TILES_WORD] = blocks;
      words[MatrixBatch.COLS_FIRST_WORD] = packing[1];
    }
    return Optional.of(
        new KernelLaunch(
            kernel.name(),
            LaunchConfig.forPieces(blocks, kernel.shape().threads(), 0, limits),
            words));
  }

  @Override
  public String describe() {
    return "Rung " + matrices + " by " + kernel.name();
  }
}
