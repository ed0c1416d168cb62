package org.tilespark.kernels.multiply;

import java.util.List;
import java.util.stream.LongStream;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import org.tilespark.kernels.multiply.MultiplyStep.TensorMap;

/**
 * One launch that reads operands as they are stored and rounds them while it reads ({@code
 * fused.cuh}).
 */
final class FusedSteps extends TensorSteps {
  /** Rows and columns of a box of an operand that a fused kernel reads. */
  private static final int BOX = 32;

  /**
   * Neighbouring boxes that kernels for 16 bits copy at once, if the matrix's columns are a
   * multiple of a box's.
   */
  private static final int BLOCKS = 2;

  /** Columns of a tile for which each warp copies one box. */
  private static final int COLS = 128;

  /** True if a slot of the kernel holds all elements of an operand's panel that a warp converts. */
  private final boolean atOnce;

  FusedSteps(MultiplyStrategy.Tensor strategy, MultiplyProblem problem) {
    super(strategy, problem, strategy.kernel(), strategy.workspaceBytes(problem, true, true));
    atOnce = form != TensorForm.TF32 && kernel.traits().blocksPerProcessor() == 1;
  }

  /**
   * True if a fused kernel can read operands as they are stored.
   *
   * @param evenA true if A begins at a multiple of 16 bytes
   * @param evenB true if B begins at a multiple of 16 bytes
   */
  static boolean isFusible(MultiplyProblem problem, boolean evenA, boolean evenB) {
    MultiplyProblem.Batch batch = problem.batch();
    boolean one = batch.count() == 1;
    return evenA
        && evenB
        && LongStream.of(
                problem.a().lead(),
                problem.b().lead(),
                one ? 0 : batch.strideA(),
                one ? 0 : batch.strideB())
            .map(elements -> elements * Float.BYTES)
            .allMatch(bytes -> bytes % EVEN_BYTES == 0 && bytes < TensorMap.MOST_LEAD_BYTES);
  }

  /**
   * True if C consists of whole tile columns with aligned rows. Fused kernels with two thread
   * blocks per multiprocessor write other shapes slowly.
   */
  static boolean isEvenC(MultiplyProblem problem, KernelIndex.TileShape shape) {
    MultiplyProblem.Batch batch = problem.batch();
    return problem.n() % shape.cols() == 0
        && LongStream.of(problem.leadC(), batch.count() == 1 ? 0 : batch.strideC())
            .allMatch(elements -> elements * Float.BYTES % EVEN_BYTES == 0);
  }

  /**
   * Adds the launch that multiplies operands as they are stored: several products, or parts of one.
   */
  @Override
  void addMultiply(long p, long k, long parts, long partPanels, Target c) {
    long batches = parts * products();
    TensorMap a = map(stored(Side.A, p, k), BOX);
    TensorMap b = map(stored(Side.B, p, k), atOnce ? BOX * (shape.cols() / COLS) : BOX);
    // Fields of FusedArguments.
    launch(
        List.of(a, b),
        List.of(c.at()),
        evenly(batches * rowTiles() * colTiles()),
        words(
            head(c, partPanels),
            tail(
                c,
                batches,
                countA() > 1 ? 1 : 0,
                countB() > 1 ? 1 : 0,
                parts > 1 ? partPanels * form.panel() : 0),
            new long[] {isBlocks(a) ? 1 : 0, isBlocks(b) ? 1 : 0}));
  }

  /**
   * The fewest thread blocks that need no more waves than as many as the device holds. In a partial
   * wave memory bandwidth would idle.
   */
  private long evenly(long tiles) {
    return Ceil.div(tiles, Ceil.div(tiles, most(kernel.traits().blocksPerProcessor())));
  }

  /**
   * A tensor map of matrices as stored; for a single matrix, the stride between matrices is any
   * that the driver accepts.
   *
   * @param high rows of a box
   */
  private TensorMap map(Matrices of, int high) {
    boolean blocks = atOnce && of.cols() % BOX == 0;
    long leadBytes = of.lead() * width;
    long strideBytes = of.count() > 1 ? of.stride() * width : leadBytes;
    return new TensorMap(
        of.at(),
        form == TensorForm.TF32 ? MultiplyStep.Element.TF32 : MultiplyStep.Element.FLOAT32,
        blocks
            ? List.of((long) BOX, of.rows(), of.cols() / BOX, of.count())
            : List.of(of.cols(), of.rows(), 1L, of.count()),
        List.of(leadBytes, blocks ? (long) BOX * width : leadBytes, strideBytes),
        List.of(BOX, high, blocks ? BLOCKS : 1, 1),
        true,
        atOnce ? TensorMap.Fetch.BYTES_128 : TensorMap.Fetch.BYTES_256);
  }

  private static boolean isBlocks(TensorMap map) {
    return map.box().get(2) == BLOCKS;
  }
}
