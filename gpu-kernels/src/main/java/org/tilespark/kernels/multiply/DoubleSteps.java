package org.tilespark.kernels.multiply;

import java.util.List;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import org.tilespark.kernels.multiply.MultiplyStep.TensorMap;

/**
 * Multiplies doubles in place if their rows begin at multiples of 16 bytes; otherwise it multiplies
 * aligned copies. Tail columns after the last full wave use split-K ({@code double.cuh}).
 */
final class DoubleSteps extends TensorSteps {
  /** Elements of a row that {@code pack_rows} copies at a time. */
  private static final int PIECE = 1024;

  private static final int ROWS_BLOCKS_PER_PROCESSOR = 8;

  /** The copy engine needs rows whose lengths are multiples of this many doubles. */
  static final int EVEN = EVEN_BYTES / Double.BYTES;

  /** Steps of K of a box; for an operand along whose columns K runs, also the box's columns. */
  private static final int BOX = 16;

  /** Teams of a thread block: each computes half of a tile's columns, or separate tiles. */
  private static final int TEAMS = 2;

  private final boolean evenA;
  private final boolean evenB;

  DoubleSteps(
      MultiplyStrategy.Tensor strategy, MultiplyProblem problem, boolean evenA, boolean evenB) {
    super(strategy, problem, strategy.kernel(), strategy.workspaceBytes());
    this.evenA = evenA;
    this.evenB = evenB;
  }

  @Override
  void addChunk(long p, long k) {
    if (strategy.sums().rest().isNone()) {
      super.addChunk(p, k);
    } else {
      addWithRest(p, k);
    }
  }

  /** Adds launches for the full waves, then for the tail with split-K. */
  private void addWithRest(long p, long k) {
    boolean exchanged = form.isExchanged(problem);
    long panels = Ceil.div(k, form.panel());
    long from = strategy.sums().rest().from();
    long rest = PartsOfK.colsOfKernel(problem) - from;
    long parts = strategy.sums().rest().parts();
    Place c = c();
    DoublePair operands = operands(p, k);
    addMultiply(
        operands.first(from),
        k,
        1,
        panels,
        new Target(c, problem.leadC(), 0, problem.factorsFrom(p)));
    Place scratch = endOfWorkspace(TensorWorkspace.restBytes(problem, strategy.sums().rest()));
    long m = exchanged ? rest : problem.m();
    long n = exchanged ? problem.n() : rest;
    addMultiply(
        operands.from(from),
        k,
        parts,
        Ceil.div(panels, parts),
        new Target(scratch, n, m * n, Factors.OVERWRITE));
    Place restOfC =
        new Place(c.side(), c.bytes() + from * (exchanged ? problem.leadC() : 1) * width);
    addSum(scratch, restOfC, m, n, parts, problem.factorsFrom(p));
  }

  @Override
  void addMultiply(long p, long k, long parts, long partPanels, Target c) {
    addMultiply(operands(p, k), k, parts, partPanels, c);
  }

  /** The operands of the kernel for DOUBLE, in the kernel's order. */
  private record DoublePair(Doubles left, Doubles right) {
    /** The operands of the first {@code cols} columns of C. */
    DoublePair first(long cols) {
      return new DoublePair(left, right.cut(0, cols));
    }

    /** The operands of the columns from {@code col} on. */
    DoublePair from(long col) {
      return new DoublePair(left, right.cut(col, right.extent() - col));
    }
  }

  private DoublePair operands(long p, long k) {
    Place packedA = new Place(Side.WORKSPACE, 0);
    Place packedB = new Place(Side.WORKSPACE, TensorWorkspace.bytesA(form, problem, k, countA()));
    Doubles a = readable(doubles(Side.A, p, k, evenA), packedA);
    Doubles b = readable(doubles(Side.B, p, k, evenB), packedB);
    return form.isExchanged(problem) ? new DoublePair(b, a) : new DoublePair(a, b);
  }

  private Doubles doubles(Side side, long p, long k, boolean even) {
    return new Doubles(stored(side, p, k), even, isAcross(side));
  }

  private void addMultiply(DoublePair operands, long k, long parts, long partPanels, Target c) {
    boolean exchanged = form.isExchanged(problem);
    Doubles left = operands.left();
    Doubles right = operands.right();
    long rows = left.extent();
    long cols = right.extent();
    long rowTiles = Ceil.div(rows, shape.rows());
    long colTiles = Ceil.div(cols, shape.cols());
    long panels = Ceil.div(k, form.panel());
    int teamCols = TensorForm.isOneChain(kernel) ? shape.cols() : shape.cols() / TEAMS;
    // Fields of DoubleArguments.
    launch(
        List.of(map(left, shape.rows()), map(right, teamCols)),
        List.of(c.at()),
        parts * products() * rowTiles * colTiles,
        rows,
        cols,
        exchanged ? 1 : c.lead(),
        exchanged ? c.lead() : 1,
        panels,
        strategy.sums().chain(),
        rowTiles,
        colTiles,
        problem.alphaWord(c.factors()),
        problem.betaWord(c.factors()),
        products(),
        parts > 1 ? 0 : c.step(),
        parts,
        partPanels,
        parts > 1 ? c.step() : 0,
        left.stored().count() > 1 ? 1 : 0,
        right.stored().count() > 1 ? 1 : 0);
  }

  /**
   * An operand's matrices of type DOUBLE.
   *
   * @param even true if the operand begins at a multiple of 16 bytes
   * @param across true if K runs along their columns
   */
  private record Doubles(Matrices stored, boolean even, boolean across) {
    /** Rows or columns of C that these matrices contribute to. */
    long extent() {
      return across ? stored.cols() : stored.rows();
    }

    /**
     * The part of the matrices for rows or columns {@code from} to {@code from + count} of C;
     * {@code from} begins a tile.
     */
    Doubles cut(long from, long count) {
      Place at = stored.at();
      long skippedBytes = from * (across ? 1 : stored.lead()) * Double.BYTES;
      return new Doubles(
          new Matrices(
              new Place(at.side(), at.bytes() + skippedBytes),
              across ? stored.rows() : count,
              across ? count : stored.cols(),
              stored.lead(),
              stored.count(),
              stored.stride()),
          even,
          across);
    }

    /** True if the copy engine can read these matrices. */
    boolean isReadable() {
      return even
          && stored.at().bytes() % EVEN_BYTES == 0
          && stored.lead() % EVEN == 0
          && stored.stride() % EVEN == 0
          && stored.lead() * Double.BYTES < TensorMap.MOST_LEAD_BYTES
          && stored.stride() * Double.BYTES < TensorMap.MOST_LEAD_BYTES;
    }
  }

  /** The matrices {@code of} as stored, or copies with rows that begin at multiples of 16 bytes. */
  private Doubles readable(Doubles of, Place packed) {
    if (of.isReadable()) {
      return of;
    }
    Matrices stored = of.stored();
    long padded = Ceil.to(stored.cols(), EVEN);
    KernelIndex.Kernel kernel = strategy.packer();
    add(
        new MultiplyStep(
            // Fields of PackRowsArguments.
            new KernelLaunch(
                kernel.name(),
                blocks(
                    stored.count() * stored.rows() * Ceil.div(padded, PIECE),
                    most(ROWS_BLOCKS_PER_PROCESSOR),
                    kernel),
                stored.rows(),
                stored.cols(),
                stored.lead(),
                padded,
                stored.count(),
                stored.stride()),
            List.of(),
            List.of(stored.at(), packed)));
    long stride = stored.count() > 1 ? stored.rows() * padded : 0;
    return new Doubles(
        new Matrices(packed, stored.rows(), stored.cols(), padded, stored.count(), stride),
        true,
        of.across());
  }

  /**
   * A tensor map with the strides of {@code DoubleArguments}; for a single matrix, the stride
   * between matrices is any that the driver accepts.
   *
   * @param tile rows of a tile, or columns of a team's part of a tile
   */
  private TensorMap map(Doubles doubles, int tile) {
    Matrices of = doubles.stored();
    long leadBytes = of.lead() * width;
    return new TensorMap(
        of.at(),
        form.element(),
        List.of(of.cols(), of.rows(), of.count()),
        List.of(leadBytes, of.count() > 1 ? of.stride() * width : leadBytes),
        List.of(BOX, doubles.across() ? BOX : tile, 1));
  }
}
