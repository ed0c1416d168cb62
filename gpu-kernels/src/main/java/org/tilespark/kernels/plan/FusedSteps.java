package org.tilespark.kernels.plan;

import java.util.List;
import java.util.stream.LongStream;
import org.tilespark.kernels.plan.MultiplyStep.Place;
import org.tilespark.kernels.plan.MultiplyStep.Side;
import org.tilespark.kernels.plan.MultiplyStep.TensorMap;

/**
 * One launch that reads operands as they are stored and rounds them on the way ({@code fused.cuh}).
 */
final class FusedSteps extends TensorSteps {
  /** Rows and columns of a box of an operand that a fused kernel reads. */
  private static final int BOX = 32;

  FusedSteps(MultiplyStrategy.Tensor strategy, MultiplyProblem problem) {
    super(strategy, problem, strategy.kernel(), strategy.workspaceBytes(problem, true, true));
  }

  /**
   * True if a fused kernel can read operands as they are stored.
   *
   * @param evenA true if A begins at a multiple of 16 bytes
   * @param evenB true if B does
   */
  static boolean isFusible(MultiplyProblem problem, boolean evenA, boolean evenB) {
    MultiplyProblem.Batch batch = problem.batch();
    boolean one = batch.count() == 1;
    return evenA
        && evenB
        && LongStream.of(
                problem.leadA(),
                problem.leadB(),
                one ? 0 : batch.strideA(),
                one ? 0 : batch.strideB())
            .map(elements -> elements * Float.BYTES)
            .allMatch(bytes -> bytes % EVEN_BYTES == 0 && bytes < TensorMap.MOST_LEAD_BYTES);
  }

  /**
   * True if C is made of whole columns of such tiles, whose rows begin evenly if C does: fused
   * kernels of which two thread blocks share a multiprocessor write others slowly.
   */
  static boolean isEvenC(MultiplyProblem problem, KernelIndex.TileShape shape) {
    MultiplyProblem.Batch batch = problem.batch();
    return problem.n() % shape.cols() == 0
        && LongStream.of(problem.leadC(), batch.count() == 1 ? 0 : batch.strideC())
            .allMatch(elements -> elements * Float.BYTES % EVEN_BYTES == 0);
  }

  /** Products, or parts of one, of operands as they are stored. */
  @Override
  void addProduct(long p, long k, long parts, long partPanels, Target c) {
    long batches = parts * products();
    long rowTiles = Ceil.div(problem.m(), shape.rows());
    long colTiles = Ceil.div(problem.n(), shape.cols());
    // Fields of FusedArguments.
    launch(
        List.of(
            map(
                from(Side.A, p),
                problem.transposeA() ? problem.m() : k,
                problem.transposeA() ? k : problem.m(),
                problem.leadA(),
                countA(),
                batch.strideA()),
            map(
                from(Side.B, p),
                problem.transposeB() ? k : problem.n(),
                problem.transposeB() ? problem.n() : k,
                problem.leadB(),
                countB(),
                batch.strideB())),
        List.of(c.at()),
        batches * rowTiles * colTiles,
        problem.m(),
        problem.n(),
        c.lead(),
        partPanels,
        rowTiles,
        colTiles,
        c.adds() ? 1 : 0,
        batches,
        countA() > 1 ? 1 : 0,
        countB() > 1 ? 1 : 0,
        c.step(),
        parts > 1 ? partPanels * form.panel() : 0);
  }

  /** Matrices as stored; of one the stride is any that the driver takes. */
  private TensorMap map(Place at, long cols, long rows, long lead, long count, long stride) {
    return new TensorMap(
        at,
        form == TensorForm.TF32 ? MultiplyStep.Element.TF32 : MultiplyStep.Element.FLOAT32,
        List.of(cols, rows, count),
        List.of(lead * width, (count > 1 ? stride : lead) * width),
        List.of(BOX, BOX, 1));
  }
}
