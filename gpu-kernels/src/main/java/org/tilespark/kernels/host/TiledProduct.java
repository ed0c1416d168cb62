package org.tilespark.kernels.host;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/**
 * One product, on packed panels (Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication", 2008): C goes tile by tile, a tile through K in groups of steps, for each of
 * which a part of A and one of B are packed and multiplied by micro tiles.
 *
 * <p>C may be its transpose: {@code rowSide} is what its rows come from, whichever operand that is.
 * The product of an operand with itself is symmetric; then only micro tiles that reach the diagonal
 * or lie above are computed, and the others are mirrored.
 *
 * <p>Index letters: {@code i} counts rows of C, {@code j} its columns, {@code p} steps of K.
 */
final class TiledProduct {
  /** A part of C. */
  private record Area(long i, int rows, long j, int cols) {}

  private final MultiplyProblem problem;
  private final Packing.Operand rowSide;
  private final Packing.Operand colSide;
  private final ResultMatrix c;
  private final HostMultiplier.Stage stage;
  private final long k; // steps that have a share in C
  private final MultiplyProblem.Factors factors;
  private final boolean isSymmetric;

  private TiledProduct(
      MultiplyProblem problem,
      Packing.Operand rowSide,
      Packing.Operand colSide,
      ResultMatrix c,
      HostMultiplier.Stage stage) {
    this.problem = problem;
    this.rowSide = rowSide;
    this.colSide = colSide;
    this.c = c;
    this.stage = stage;
    this.k = problem.readsOperands() ? problem.k() : 0;
    this.factors =
        problem.readsOperands()
            ? problem.factors()
            : new MultiplyProblem.Factors(0, problem.factors().beta());
    // A C that is added to is written once: what lies on the diagonal would count twice.
    this.isSymmetric =
        k > 0 && factors.beta() == 0 && c.rows() == c.cols() && rowSide.isSame(colSide);
  }

  /**
   * The product {@code problem} asks for.
   *
   * @param stage the panels and sums to work in
   */
  static TiledProduct of(
      MultiplyProblem problem,
      HostMemory a,
      HostMemory b,
      HostMemory c,
      HostMultiplier.Stage stage) {
    int bytes = problem.type().bytes();
    Packing.Operand left =
        new Packing.Operand(a, problem.a().lead(), !problem.a().transposed(), bytes);
    Packing.Operand right =
        new Packing.Operand(b, problem.b().lead(), problem.b().transposed(), bytes);
    ResultMatrix to = ResultMatrix.of(problem, c);
    PackedPanels panels = stage.panels(problem.type());
    return panels.padded(problem.n(), problem.m()) < panels.padded(problem.m(), problem.n())
        ? new TiledProduct(problem, right, left, to.transposed(), stage)
        : new TiledProduct(problem, left, right, to, stage);
  }

  void run() {
    PackedPanels panels = stage.panels(problem.type());
    Blocking blocking =
        Blocking.of(
            stage.profile(), panels, c.rows(), c.cols(), SumOrder.of(Math.max(1, k)).group());
    for (long j = 0; j < c.cols(); j += blocking.tileCols()) {
      int cols = (int) Math.min(blocking.tileCols(), c.cols() - j);
      for (long i = 0; i < c.rows(); i += blocking.tileRows()) {
        int rows = (int) Math.min(blocking.tileRows(), c.rows() - i);
        if (!isSymmetric || i < j + cols) {
          Area area = new Area(i, rows, j, cols);
          Rest rest = new Rest();
          sum(
              panels,
              area,
              blocking.blockRows(),
              (row, col) -> store(panels, area, row, col, rest));
          if (!rest.isEmpty()) {
            storeRest((FloatPanels) panels, area, rest.in(area));
          }
        }
      }
    }
  }

  /** What is done with a micro tile, given by its first row and column, once its sums are made. */
  @FunctionalInterface
  private interface Summed {
    void tile(int i, int j);
  }

  /**
   * Makes the sums of a tile, a group of steps after the other.
   *
   * @param blockRows rows of A whose panels stay in the second-level cache
   */
  private void sum(PackedPanels panels, Area area, int blockRows, Summed summed) {
    long all = Math.max(1, k);
    SumOrder order = SumOrder.of(all);
    panels.reserve(area.rows, area.cols, blockRows, order.group());
    int near = Blocking.near(stage.profile(), panels, order.chain());
    int number = 0;
    for (long p = 0; p < all; p += order.group()) {
      int count = (int) Math.min(order.group(), k - p);
      boolean isLast = p + order.group() >= all;
      PackedPanels.Steps steps =
          new PackedPanels.Steps(count, order.chain(), near, number++, isLast);
      pack(
          new Packing.Part(rowSide, area.i, area.rows, p, count),
          new Packing.Panels(panels.a(), 0, panels.rows));
      pack(
          new Packing.Part(colSide, area.j, area.cols, p, count),
          new Packing.Panels(panels.b(), panels.first, panels.cols));
      for (int i = 0; i < area.rows; i += blockRows) {
        multiply(panels, area, i, Math.min(blockRows, area.rows - i), steps, summed);
      }
    }
  }

  private void pack(Packing.Part part, Packing.Panels to) {
    Precision precision = problem.precision();
    if (to.array() instanceof double[] && problem.type() == ElementType.FLOAT32) {
      Packing.widen(part, to, precision);
      return;
    }
    Packing.pack(part, to);
    if (precision != Precision.FULL) {
      int elements = to.elements(part.count(), part.steps());
      Packing.round((float[]) to.array(), to.from(), elements, precision);
    }
  }

  /** Multiplies some rows of packed A by all of packed B. */
  private void multiply(
      PackedPanels panels,
      Area area,
      int first,
      int rows,
      PackedPanels.Steps steps,
      Summed summed) {
    for (int j = 0; j < area.cols; j += panels.cols) {
      long reachDiagonal = isSymmetric ? area.j + j + panels.cols - area.i : Long.MAX_VALUE;
      int end = (int) Math.min(first + rows, reachDiagonal);
      int tiles = Math.max(0, (end - first + panels.rows - 1) / panels.rows);
      if (tiles > 0) {
        int at = panels.index(area.rows, first, j);
        panels.multiply(first * steps.count(), tiles, panels.first + j * steps.count(), steps, at);
      }
      for (int i = first; steps.isLast() && i < end; i += panels.rows) {
        summed.tile(i, j);
      }
    }
  }

  /** Writes a micro tile to C; of FLOAT only what is finite. */
  private void store(PackedPanels panels, Area area, int i, int j, Rest rest) {
    int rows = Math.min(panels.rows, area.rows - i);
    int cols = Math.min(panels.cols, area.cols - j);
    int at = panels.index(area.rows, i, j);
    ResultMatrix.Piece piece =
        new ResultMatrix.Piece(area.i + i, rows, area.j + j, cols, isSymmetric);
    if (panels instanceof FloatPanels floats && !floats.isFinite(at)) {
      rest.add(i, rows, j, cols);
      c.storeFinite(floats, at, piece, factors);
      if (isSymmetric) {
        c.transposed().storeFinite(floats, at, piece, factors);
      }
    } else {
      c.store(panels, at, piece, factors);
      if (isSymmetric) {
        c.transposed().store(panels, at, piece, factors);
      }
    }
  }

  /** The part of a tile around the sums that are not finite. */
  private static final class Rest {
    private int top = Integer.MAX_VALUE;
    private int bottom = -1;
    private int left = Integer.MAX_VALUE;
    private int right = -1;

    void add(int i, int rows, int j, int cols) {
      top = Math.min(top, i);
      bottom = Math.max(bottom, i + rows);
      left = Math.min(left, j);
      right = Math.max(right, j + cols);
    }

    boolean isEmpty() {
      return bottom < 0;
    }

    Area in(Area tile) {
      return new Area(tile.i + top, bottom - top, tile.j + left, right - left);
    }
  }

  /** Computes a part of a tile in double, and writes what is not finite as a sum of floats. */
  private void storeRest(FloatPanels floats, Area area, Area rest) {
    DoublePanels doubles = (DoublePanels) stage.panels(ElementType.FLOAT64);
    sum(doubles, rest, rest.rows, (i, j) -> {});
    for (int j = 0; j < rest.cols; j++) {
      for (int i = 0; i < rest.rows; i++) {
        boolean isComputed = !isSymmetric || rest.i + i <= rest.j + j;
        int inArea =
            floats.element(area.rows, (int) (rest.i - area.i) + i, (int) (rest.j - area.j) + j);
        if (isComputed && !floats.isFiniteSum(inArea)) {
          double sum = doubles.sum(doubles.element(rest.rows, i, j));
          c.put(rest.i + i, rest.j + j, sum, factors);
          if (isSymmetric && rest.i + i != rest.j + j) {
            c.put(rest.j + j, rest.i + i, sum, factors);
          }
        }
      }
    }
  }
}
