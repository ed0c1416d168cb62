package org.tilespark.kernels.host;

import java.util.ArrayList;
import java.util.List;
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
        Blocking.of(stage.profile(), panels, problem.type().bytes(), c.rows(), c.cols());
    for (long j = 0; j < c.cols(); j += blocking.tileCols()) {
      int cols = (int) Math.min(blocking.tileCols(), c.cols() - j);
      for (long i = 0; i < c.rows(); i += blocking.tileRows()) {
        int rows = (int) Math.min(blocking.tileRows(), c.rows() - i);
        if (!isSymmetric || i < j + cols) {
          Area area = new Area(i, rows, j, cols);
          sum(panels, area, blocking);
          store(panels, area);
        }
      }
    }
  }

  /** Makes the sums of a tile: packs some groups of steps, then visits each micro tile once. */
  private void sum(PackedPanels panels, Area area, Blocking blocking) {
    SumOrder order = SumOrder.of(Math.max(1, k));
    int group = order.group();
    int most = (int) Math.min((long) group * blocking.groups(), Math.max(1, k));
    panels.reserve(area.rows, area.cols, most);
    for (long p = 0; p < Math.max(1, k); p += most) {
      List<PackedPanels.Steps> packed = new ArrayList<>();
      int steps = (int) Math.min(most, k - p);
      int done = 0;
      do {
        int count = Math.min(group, steps - done);
        PackedPanels.Steps each =
            new PackedPanels.Steps(
                count,
                order.chain(),
                p + done == 0,
                panels.elementsA(area.rows, done),
                panels.elementsB(area.cols, done));
        Packing.Panels toA = new Packing.Panels(panels.a(), each.firstA(), panels.rows);
        Packing.Panels toB = new Packing.Panels(panels.b(), each.firstB(), panels.cols);
        pack(new Packing.Part(rowSide, area.i, area.rows, p + done, count), toA);
        pack(new Packing.Part(colSide, area.j, area.cols, p + done, count), toB);
        packed.add(each);
        done += count;
      } while (done < steps);
      for (int i = 0; i < area.rows; i += blocking.blockRows()) {
        multiply(panels, area, i, Math.min(blocking.blockRows(), area.rows - i), packed);
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
      Packing.round((float[]) to.array(), to.first(), elements, precision);
    }
  }

  /** Multiplies some rows of packed A by all of packed B. */
  private void multiply(
      PackedPanels panels, Area area, int first, int rows, List<PackedPanels.Steps> packed) {
    for (int j = 0; j < area.cols; j += panels.cols) {
      for (int i = first; i < first + rows; i += panels.rows) {
        if (!isSymmetric || area.i + i < area.j + j + panels.cols) {
          int at = panels.index(area.rows, i, j);
          for (PackedPanels.Steps each : packed) {
            panels.multiply(
                each.firstA() + i * each.count(), each.firstB() + j * each.count(), each, at);
          }
        }
      }
    }
  }

  /** Writes a tile to C: of FLOAT what is finite, and the rest from sums in double. */
  private void store(PackedPanels panels, Area area) {
    long top = Long.MAX_VALUE;
    long bottom = -1;
    long left = Long.MAX_VALUE;
    long right = -1;
    for (int j = 0; j < area.cols; j += panels.cols) {
      int cols = Math.min(panels.cols, area.cols - j);
      for (int i = 0; i < area.rows; i += panels.rows) {
        int rows = Math.min(panels.rows, area.rows - i);
        if (isSymmetric && area.i + i >= area.j + j + panels.cols) {
          continue;
        }
        int at = panels.index(area.rows, i, j);
        ResultMatrix.Piece piece =
            new ResultMatrix.Piece(area.i + i, rows, area.j + j, cols, isSymmetric);
        if (panels instanceof FloatPanels floats && !floats.isFinite(at)) {
          c.storeFinite(floats, at, piece, factors);
          if (isSymmetric) {
            c.transposed().storeFinite(floats, at, piece, factors);
          }
          top = Math.min(top, i);
          bottom = Math.max(bottom, i + rows);
          left = Math.min(left, j);
          right = Math.max(right, j + cols);
        } else {
          c.store(panels, at, piece, factors);
          if (isSymmetric) {
            c.transposed().store(panels, at, piece, factors);
          }
        }
      }
    }
    if (bottom >= 0) {
      Area rest = new Area(area.i + top, (int) (bottom - top), area.j + left, (int) (right - left));
      storeRest((FloatPanels) panels, area, rest);
    }
  }

  /** Computes a part of a tile in double, and writes what is not finite as a sum of floats. */
  private void storeRest(FloatPanels floats, Area area, Area rest) {
    DoublePanels doubles = (DoublePanels) stage.panels(ElementType.FLOAT64);
    sum(doubles, rest, new Blocking(rest.rows, rest.cols, rest.rows, 1));
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
