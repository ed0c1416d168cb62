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
 * Multiplies doubles in place, or aligned copies of them; phased kernels read even and odd rows
 * separately instead. Tail columns after the last full wave use split-K ({@code double.cuh}).
 */
final class DoubleSteps extends TensorSteps {
  /** Elements of a row that {@code pack_rows} copies at a time. */
  private static final int PIECE = 1024;

  private static final int ROWS_BLOCKS_PER_PROCESSOR = 8;

  /**
   * Steps of K of a box of doubles; of an operand that is stored across, columns that lie side by
   * side in it too.
   */
  static final int BOX = 16;

  /** Even and odd rows, which phased kernels read apart. */
  private static final int PHASES = 2;

  /** Teams of a thread block: each makes half of a tile's columns, or tiles of its own. */
  private static final int TEAMS = 2;

  private final boolean evenA;
  private final boolean evenB;

  DoubleSteps(
      MultiplyStrategy.Tensor strategy, MultiplyProblem problem, boolean evenA, boolean evenB) {
    super(strategy, problem, strategy.kernel(), strategy.workspaceBytes());
    this.evenA = evenA;
    this.evenB = evenB;
  }

  /** True if a phased kernel saves the copy of a DOUBLE operand that is stored across. */
  static boolean canPhase(MultiplyProblem problem) {
    MultiplyProblem.Batch batch = problem.batch();
    boolean one = batch.count() == 1;
    return problem.k() >= PHASES
        && ((problem.a().transposed()
                && isRagged(problem.a().lead(), problem.m(), one ? 0 : batch.strideA()))
            || (!problem.b().transposed()
                && isRagged(problem.b().lead(), problem.n(), one ? 0 : batch.strideB())));
  }

  /** Matrices an odd number of doubles apart are copied in any case. */
  private static boolean isRagged(long lead, long extent, long stride) {
    return (lead % 2 != 0 || extent % BOX != 0) && stride % 2 == 0;
  }

  @Override
  void addChunk(long p, long k) {
    if (strategy.sums().rest().isNone()) {
      super.addChunk(p, k);
    } else {
      addWithRest(p, k);
    }
  }

  /** Full waves, then the tail with split-K. */
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

  /** What the kernel for doubles reads, in its order. */
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
    boolean across = isAcross(side);
    return new Doubles(stored(side, p, k), even, across, across && strategy.isPhased());
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
        List.of(
            map(left, 0, shape.rows()),
            map(left, 1, shape.rows()),
            map(right, 0, teamCols),
            map(right, 1, teamCols)),
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
        right.stored().count() > 1 ? 1 : 0,
        left.shifts(),
        right.shifts());
  }

  /**
   * Matrices of doubles.
   *
   * @param even true if what they are a part of begins at a multiple of 16 bytes
   * @param across true if K goes down their columns: 16 columns are one axis and their number
   *     another, so rows must go on to whole 16
   * @param phased true if even and odd rows are read apart instead
   */
  private record Doubles(Matrices stored, boolean even, boolean across, boolean phased) {
    /** Rows or columns of C that are made of them. */
    long extent() {
      return across ? stored.cols() : stored.rows();
    }

    /** Rows or columns {@code from} to {@code from + count}; {@code from} begins a tile. */
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
          across,
          phased);
    }

    /** Where even (0) or odd rows begin, in bytes. */
    private long begin(int phase) {
      return stored.at().bytes() + (phased ? phase * stored.lead() * Double.BYTES : 0);
    }

    /** 1 if that is one double beyond a multiple of 16 bytes, else 0. */
    long shift(int phase) {
      return Math.floorMod(begin(phase) / Double.BYTES + (even ? 0 : 1), 2L);
    }

    /** Bit f is set if columns of phase f are shifted by one. */
    long shifts() {
      return phased ? shift(0) | shift(1) << 1 : 0;
    }

    /** True if the copy engine can read them. */
    boolean isReadable() {
      return stored.stride() % 2 == 0
          && stored.stride() * Double.BYTES < TensorMap.MOST_LEAD_BYTES
          && PHASES * stored.lead() * Double.BYTES < TensorMap.MOST_LEAD_BYTES
          && (phased
              || (shift(0) == 0
                  && stored.lead() % 2 == 0
                  && (!across || stored.cols() % BOX == 0)));
    }

    /** The multiple of 16 bytes at or before the beginning of a phase. */
    Place from(int phase) {
      return new Place(stored.at().side(), begin(phase) - shift(phase) * Double.BYTES);
    }
  }

  /** The matrices as stored, or copies with rows that begin evenly. */
  private Doubles readable(Doubles of, Place packed) {
    if (of.isReadable()) {
      return of;
    }
    Matrices stored = of.stored();
    long padded = Ceil.to(stored.cols(), of.across() ? BOX : 2);
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
        of.across(),
        of.phased());
  }

  /**
   * As {@code DoubleArguments} says; of one matrix the stride is any that the driver takes.
   *
   * @param phase 0 for the even rows, 1 for the odd ones, if they are read apart
   * @param tile rows of a tile, or columns of a team's
   */
  private TensorMap map(Doubles doubles, int phase, int tile) {
    Matrices of = doubles.stored();
    long leadBytes = of.lead() * width;
    long strideBytes = of.count() > 1 ? of.stride() * width : leadBytes;
    if (doubles.phased()) {
      return new TensorMap(
          doubles.from(phase),
          form.element(),
          List.of(
              of.cols() + doubles.shift(phase), Ceil.div(of.rows() - phase, PHASES), of.count()),
          List.of(PHASES * leadBytes, of.count() > 1 ? strideBytes : PHASES * leadBytes),
          List.of(tile + PHASES, BOX / PHASES, 1),
          false);
    }
    return doubles.across()
        ? new TensorMap(
            of.at(),
            form.element(),
            List.of((long) BOX, of.rows(), Ceil.div(of.cols(), BOX), of.count()),
            List.of(leadBytes, (long) BOX * width, strideBytes),
            List.of(BOX, BOX, tile / BOX, 1))
        : new TensorMap(
            of.at(),
            form.element(),
            List.of(of.cols(), of.rows(), 1L, of.count()),
            List.of(leadBytes, leadBytes, strideBytes),
            List.of(BOX, tile, 1, 1));
  }
}
