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
 * Multiplies doubles as they are stored, or copies of them with rows that begin evenly; phased
 * kernels read even and odd rows apart instead. What is left behind whole rounds of tiles is made
 * in parts of K ({@code double.cuh}).
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

  /**
   * True if doubles of an operand that is stored across would be copied, but for a phased kernel.
   */
  static boolean canPhase(MultiplyProblem problem) {
    MultiplyProblem.Batch batch = problem.batch();
    boolean one = batch.count() == 1;
    return problem.k() >= PHASES
        && ((problem.transposeA()
                && isRagged(problem.leadA(), problem.m(), one ? 0 : batch.strideA()))
            || (!problem.transposeB()
                && isRagged(problem.leadB(), problem.n(), one ? 0 : batch.strideB())));
  }

  /** Matrices an odd number of doubles apart are copied in any case. */
  private static boolean isRagged(long lead, long extent, long stride) {
    return (lead % 2 != 0 || extent % BOX != 0) && stride % 2 == 0;
  }

  @Override
  void addChunk(long p, long k) {
    if (strategy.rest().isNone()) {
      super.addChunk(p, k);
    } else {
      addWithRest(p, k);
    }
  }

  /** Whole rounds of tiles, then what is left in parts of K. */
  private void addWithRest(long p, long k) {
    boolean exchanged = form.isExchanged(problem);
    long panels = Ceil.div(k, form.panel());
    long from = strategy.rest().from();
    long rest = PartsOfK.colsOfKernel(problem) - from;
    long parts = strategy.rest().parts();
    Place c = c();
    DoublePair operands = operands(p, k);
    addProduct(
        operands.first(from),
        k,
        1,
        panels,
        new Target(c, problem.leadC(), 0, problem.factorsFrom(p)));
    Place scratch = endOfWorkspace(TensorWorkspace.restBytes(problem, strategy.rest()));
    long m = exchanged ? rest : problem.m();
    long n = exchanged ? problem.n() : rest;
    addProduct(
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
  void addProduct(long p, long k, long parts, long partPanels, Target c) {
    addProduct(operands(p, k), k, parts, partPanels, c);
  }

  /** What the kernel for doubles reads, in its order. */
  private record DoublePair(Doubles left, Doubles right) {
    /** For the first columns of C, so many. */
    DoublePair first(long cols) {
      return new DoublePair(left, right.cut(0, cols));
    }

    /** For those from there on. */
    DoublePair from(long col) {
      return new DoublePair(left, right.cut(col, right.extent() - col));
    }
  }

  private DoublePair operands(long p, long k) {
    Place packedA = new Place(Side.WORKSPACE, 0);
    Place packedB = new Place(Side.WORKSPACE, TensorWorkspace.bytesA(form, problem, k, countA()));
    Doubles a =
        readable(
            new Doubles(
                from(Side.A, p),
                evenA,
                problem.transposeA() ? k : problem.m(),
                problem.transposeA() ? problem.m() : k,
                problem.leadA(),
                countA(),
                countA() > 1 ? batch.strideA() : 0,
                problem.transposeA(),
                problem.transposeA() && strategy.isPhased()),
            packedA);
    Doubles b =
        readable(
            new Doubles(
                from(Side.B, p),
                evenB,
                problem.transposeB() ? problem.n() : k,
                problem.transposeB() ? k : problem.n(),
                problem.leadB(),
                countB(),
                countB() > 1 ? batch.strideB() : 0,
                !problem.transposeB(),
                !problem.transposeB() && strategy.isPhased()),
            packedB);
    return form.isExchanged(problem) ? new DoublePair(b, a) : new DoublePair(a, b);
  }

  private void addProduct(DoublePair operands, long k, long parts, long partPanels, Target c) {
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
        strategy.chain(),
        rowTiles,
        colTiles,
        problem.alphaWord(c.factors()),
        problem.betaWord(c.factors()),
        products(),
        parts > 1 ? 0 : c.step(),
        parts,
        partPanels,
        parts > 1 ? c.step() : 0,
        left.count() > 1 ? 1 : 0,
        right.count() > 1 ? 1 : 0,
        left.shifts(),
        right.shifts());
  }

  /**
   * Matrices of doubles.
   *
   * @param even true if what they are a part of begins at a multiple of 16 bytes
   * @param count matrices, {@code stride} elements apart
   * @param across true if K goes down their columns: 16 columns are one axis and their number
   *     another, so rows must go on to whole 16
   * @param phased true if even and odd rows are read apart instead
   */
  private record Doubles(
      Place at,
      boolean even,
      long rows,
      long cols,
      long lead,
      long count,
      long stride,
      boolean across,
      boolean phased) {
    /** Rows or columns of C that are made of them. */
    long extent() {
      return across ? cols : rows;
    }

    /** What is needed for so many of these, from one on that begins a tile. */
    Doubles cut(long from, long count) {
      return new Doubles(
          new Place(at.side(), at.bytes() + from * (across ? 1 : lead) * Double.BYTES),
          even,
          across ? rows : count,
          across ? count : cols,
          lead,
          this.count,
          stride,
          across,
          phased);
    }

    /** Where even (0) or odd rows begin, in bytes. */
    private long begin(int phase) {
      return at.bytes() + (phased ? phase * lead * Double.BYTES : 0);
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
      return stride % 2 == 0
          && stride * Double.BYTES < TensorMap.MOST_LEAD_BYTES
          && PHASES * lead * Double.BYTES < TensorMap.MOST_LEAD_BYTES
          && (phased || (shift(0) == 0 && lead % 2 == 0 && (!across || cols % BOX == 0)));
    }

    /** The multiple of 16 bytes at or before the beginning of a phase. */
    Place from(int phase) {
      return new Place(at.side(), begin(phase) - shift(phase) * Double.BYTES);
    }
  }

  /** The matrices as stored, or copies with rows that begin evenly. */
  private Doubles readable(Doubles of, Place packed) {
    if (of.isReadable()) {
      return of;
    }
    long padded = Ceil.to(of.cols(), of.across() ? BOX : 2);
    KernelIndex.Kernel kernel = strategy.packer();
    add(
        new MultiplyStep(
            // Fields of PackRowsArguments.
            new KernelLaunch(
                kernel.name(),
                blocks(
                    of.count() * of.rows() * Ceil.div(padded, PIECE),
                    most(ROWS_BLOCKS_PER_PROCESSOR),
                    kernel),
                of.rows(),
                of.cols(),
                of.lead(),
                padded,
                of.count(),
                of.stride()),
            List.of(),
            List.of(of.at(), packed)));
    return new Doubles(
        packed,
        true,
        of.rows(),
        of.cols(),
        padded,
        of.count(),
        of.count() > 1 ? of.rows() * padded : 0,
        of.across(),
        of.phased());
  }

  /**
   * As {@code DoubleArguments} says; of one matrix the stride is any that the driver takes.
   *
   * @param phase 0 for the even rows, 1 for the odd ones, if they are read apart
   * @param tile rows of a tile, or columns of a team's
   */
  private TensorMap map(Doubles of, int phase, int tile) {
    long leadBytes = of.lead() * width;
    long strideBytes = of.count() > 1 ? of.stride() * width : leadBytes;
    if (of.phased()) {
      return new TensorMap(
          of.from(phase),
          form.element(),
          List.of(of.cols() + of.shift(phase), Ceil.div(of.rows() - phase, PHASES), of.count()),
          List.of(PHASES * leadBytes, of.count() > 1 ? strideBytes : PHASES * leadBytes),
          List.of(tile + PHASES, BOX / PHASES, 1),
          false);
    }
    return of.across()
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
