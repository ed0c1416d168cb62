package org.tilespark.kernels.host;

import java.util.BitSet;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/**
 * One product, on packed panels (Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication", 2008): C is computed tile by tile, and a tile in groups of steps of K. For each
 * group a part of A and a part of B are packed and multiplied by micro tiles.
 *
 * <p>The product may be computed as its transpose: {@code rowSide} is the operand that gives the
 * rows, A or B. Of a symmetric C the caller may ask for only the micro tiles on or above the
 * diagonal.
 *
 * <p>Index letters: {@code i} counts rows of C, {@code j} its columns, {@code p} steps of K.
 */
final class TiledProduct {
  /** A part of C: {@code rows} rows from {@code i} on, {@code cols} columns from {@code j} on. */
  private record Area(long i, int rows, long j, int cols) {}

  private final MultiplyProblem problem;
  private final Packing.Operand rowSide;
  private final Packing.Operand colSide;
  private final ResultMatrix c;
  private final HostMultiplier.Stage stage;
  private final long k; // steps of K that contribute to C
  private final MultiplyProblem.Factors factors;
  private final boolean isHalf;

  private TiledProduct(
      MultiplyProblem problem,
      Packing.Operand rowSide,
      Packing.Operand colSide,
      ResultMatrix c,
      boolean isHalf,
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
    this.isHalf = isHalf;
  }

  /**
   * The product that {@code problem} describes.
   *
   * @param isHalf true if the elements below C's diagonal stay as they are
   * @param stage gives the panels and sums to work in
   */
  static TiledProduct of(
      MultiplyProblem problem,
      HostMemory a,
      HostMemory b,
      HostMemory c,
      boolean isHalf,
      HostMultiplier.Stage stage) {
    int bytes = problem.type().bytes();
    Packing.Operand left =
        new Packing.Operand(a, problem.a().lead(), !problem.a().transposed(), bytes);
    Packing.Operand right =
        new Packing.Operand(b, problem.b().lead(), problem.b().transposed(), bytes);
    ResultMatrix to = ResultMatrix.of(problem, c);
    PackedPanels panels = stage.panels(problem.type());
    return panels.padded(problem.n(), problem.m()) < panels.padded(problem.m(), problem.n())
        ? new TiledProduct(problem, right, left, to.transposed(), isHalf, stage)
        : new TiledProduct(problem, left, right, to, isHalf, stage);
  }

  void run() {
    PackedPanels panels = stage.panels(problem.type());
    Blocking blocking = blocking(panels, c.rows(), c.cols());
    for (long j = 0; j < c.cols(); j += blocking.tileCols()) {
      int cols = (int) Math.min(blocking.tileCols(), c.cols() - j);
      for (long i = 0; i < c.rows(); i += blocking.tileRows()) {
        int rows = (int) Math.min(blocking.tileRows(), c.rows() - i);
        if (!isHalf || i < j + cols) {
          Area area = new Area(i, rows, j, cols);
          Rest rest = new Rest(area);
          sum(panels, area, blocking.blockRows(), tile -> store(panels, tile, rest));
          if (!rest.isEmpty()) {
            storeRest(rest);
          }
        }
      }
    }
  }

  private Blocking blocking(PackedPanels panels, long rows, long cols) {
    return Blocking.of(stage.profile(), panels, rows, cols, SumOrder.of(Math.max(1, k)).group());
  }

  /** Receives a micro tile once its sums are complete. */
  @FunctionalInterface
  private interface Summed {
    void store(MicroTile tile);
  }

  /**
   * A micro tile of C whose sums are complete.
   *
   * @param at index of the first of its sums in the panels' sums
   */
  private record MicroTile(long i, int rows, long j, int cols, int at) {}

  /**
   * Makes the sums of a part of C, a group of steps after the other.
   *
   * @param blockRows rows of A whose panels stay in the second-level cache
   */
  private void sum(PackedPanels panels, Area area, int blockRows, Summed summed) {
    long all = Math.max(1, k);
    SumOrder order = SumOrder.of(all);
    panels.reserve(area.rows, area.cols, blockRows, order.group(), Ceil.div(all, order.group()));
    int near = Blocking.near(stage.profile(), panels, order.chain());
    int number = 0;
    for (long p = 0; p < all; p += order.group()) {
      int count = (int) Math.min(order.group(), k - p);
      boolean isLast = p + order.group() >= all;
      PackedPanels.Steps steps =
          new PackedPanels.Steps(count, order.chain(), near, number++, isLast);
      pack(
          new Packing.Part(colSide, area.j, area.cols, p, count),
          new Packing.Panels(panels.b(), panels.first, panels.cols, panels.pieces()));
      for (int i = 0; i < area.rows; i += blockRows) {
        int rows = Math.min(blockRows, area.rows - i);
        pack(
            new Packing.Part(rowSide, area.i + i, rows, p, count),
            new Packing.Panels(panels.a(), 0, panels.rows, panels.pieces()));
        multiply(panels, area, i, rows, steps, summed);
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

  /** Multiplies a packed block of A, some rows of the tile, by all of packed B. */
  private void multiply(
      PackedPanels panels,
      Area area,
      int first,
      int rows,
      PackedPanels.Steps steps,
      Summed summed) {
    for (int j = 0; j < area.cols; j += panels.cols) {
      long reachDiagonal = isHalf ? area.j + j + panels.cols - area.i : Long.MAX_VALUE;
      int end = (int) Math.min(first + rows, reachDiagonal);
      int tiles = Math.max(0, (end - first + panels.rows - 1) / panels.rows);
      if (tiles > 0) {
        long col = area.j + j;
        int cols = Math.min(panels.cols, area.cols - j);
        panels.multiply(
            tiles,
            panels.first + j * steps.count(),
            steps,
            panels.index(area.rows, first, j),
            tile -> {
              int i = first + tile * panels.rows;
              int tall = Math.min(panels.rows, area.rows - i);
              int at = tile * panels.rows * panels.cols;
              summed.store(new MicroTile(area.i + i, tall, col, cols, at));
            });
      }
    }
  }

  /**
   * Writes a micro tile to C; for FLOAT only the elements whose sums are finite, and adds the
   * others to {@code rest}.
   */
  private void store(PackedPanels panels, MicroTile tile, Rest rest) {
    if (panels instanceof FloatPanels floats && !floats.addErrors(tile.at)) {
      forEach(
          tile,
          floats.cols,
          (i, j, at) -> {
            if (Float.isFinite(floats.group[at])) {
              c.put(i, j, ScaledSums.sum(floats, at), factors);
            } else {
              rest.add(i, j);
            }
          });
      return;
    }
    ResultMatrix.Piece piece = new ResultMatrix.Piece(tile.i, tile.rows, tile.j, tile.cols, isHalf);
    c.store(panels, tile.at, piece, factors);
  }

  /** Receives an element of C, given by its row, its column and the index of its sum. */
  @FunctionalInterface
  private interface Element {
    void store(long i, long j, int at);
  }

  /** Calls {@code element} for each element of a micro tile that the product must compute. */
  private void forEach(MicroTile tile, int pitch, Element element) {
    for (int row = 0; row < tile.rows; row++) {
      for (int col = 0; col < tile.cols; col++) {
        if (!isHalf || tile.i + row <= tile.j + col) {
          element.store(tile.i + row, tile.j + col, tile.at + row * pitch + col);
        }
      }
    }
  }

  /** The elements of a tile whose sums are not finite. */
  private static final class Rest {
    private final Area tile;
    private final BitSet elements = new BitSet();
    private long top = Long.MAX_VALUE;
    private long bottom = -1;
    private long left = Long.MAX_VALUE;
    private long right = -1;

    Rest(Area tile) {
      this.tile = tile;
    }

    private int index(long i, long j) {
      return Math.toIntExact((i - tile.i) * tile.cols + j - tile.j);
    }

    void add(long i, long j) {
      elements.set(index(i, j));
      top = Math.min(top, i);
      bottom = Math.max(bottom, i + 1);
      left = Math.min(left, j);
      right = Math.max(right, j + 1);
    }

    boolean has(long i, long j) {
      return elements.get(index(i, j));
    }

    boolean isEmpty() {
      return elements.isEmpty();
    }

    /** The smallest part of the tile that contains all these elements. */
    Area area() {
      return new Area(top, (int) (bottom - top), left, (int) (right - left));
    }
  }

  /** Computes in double the elements whose sum in float is not finite. */
  private void storeRest(Rest rest) {
    DoublePanels doubles = (DoublePanels) stage.panels(ElementType.FLOAT64);
    Area area = rest.area();
    Blocking blocking = blocking(doubles, area.rows, area.cols);
    sum(
        doubles,
        area,
        blocking.blockRows(),
        tile ->
            forEach(
                tile,
                doubles.cols,
                (i, j, at) -> {
                  if (rest.has(i, j)) {
                    c.put(i, j, ScaledSums.sum(doubles, at), factors);
                  }
                }));
  }
}
