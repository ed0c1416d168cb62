package org.tilespark.bench.kernels;

import java.util.Objects;
import java.util.Optional;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStrategy;
import org.tilespark.kernels.multiply.MultiplyWay;

/**
 * A tutorial's matrix-multiply kernel ({@code ladder_multiply.cu}), which the planner never
 * chooses. It supports only dense C = A B of whole tiles, with operands aligned to 16 bytes.
 *
 * @param kernel the kernel
 */
record MultiplyRung(KernelIndex.Kernel kernel) implements MultiplyStrategy {
  /** K must be a multiple of this number; equals {@code DEPTH} in the kernels. */
  static final int DEPTH = 32;

  MultiplyRung {
    Objects.requireNonNull(kernel, "kernel");
  }

  /**
   * Plans a product.
   *
   * @throws IllegalArgumentException if the kernel does not support the product
   */
  MultiplyPlan plan(MultiplyProblem problem, DeviceLimits limits) {
    KernelIndex.TileShape shape = kernel.shape();
    MultiplyProblem dense =
        MultiplyProblem.dense(problem.m(), problem.k(), problem.n(), problem.type(), false, false);
    if (!problem.equals(dense)
        || problem.type().bytes() != kernel.elementBytes()
        || problem.m() < 1
        || problem.k() < 1
        || problem.n() < 1
        || problem.m() % shape.rows() != 0
        || problem.k() % DEPTH != 0
        || problem.n() % shape.cols() != 0) {
      throw new IllegalArgumentException(
          kernel.name()
              + " makes whole tiles of dense C = A B alone: M a multiple of "
              + shape.rows()
              + ", K of "
              + DEPTH
              + ", N of "
              + shape.cols()
              + "; found "
              + problem);
    }
    long colTiles = problem.n() / shape.cols();
    long tiles = Math.multiplyExact(problem.m() / shape.rows(), colTiles);
    if (tiles > limits.maxGridX()) {
      throw new IllegalArgumentException(
          kernel.name() + " makes at most " + limits.maxGridX() + " tiles; found " + tiles);
    }
    // The launch passes the fields of LadderMultiplyArguments that follow the three pointers.
    return new MultiplyPlan(
        problem,
        this,
        Optional.of(
            new KernelLaunch(
                kernel.name(),
                LaunchConfig.forPieces(tiles, shape.threads(), 0, limits),
                problem.k(),
                problem.n(),
                colTiles)));
  }

  @Override
  public Optional<MultiplyWay> way() {
    return Optional.of(new MultiplyWay(kernel.name()));
  }

  @Override
  public String order() {
    return "one chain";
  }

  @Override
  public String describe() {
    return kernel.name() + ", one chain";
  }
}
