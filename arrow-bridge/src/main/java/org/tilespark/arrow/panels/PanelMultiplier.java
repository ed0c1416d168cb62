package org.tilespark.arrow.panels;

import java.util.List;
import java.util.Optional;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.layout.Shape;

/**
 * Accumulates one tile of C after another from panels of A and B that stream by: what it holds does
 * not grow with the extent that is summed over. The caller fills panels while earlier ones are
 * multiplied. Used by one thread.
 *
 * <p>The life of a tile: {@link #begin}, then {@link #panels} and {@link #multiply} as often as
 * there are panels, then {@link #finish} or {@link #select}.
 */
public interface PanelMultiplier extends AutoCloseable {
  /** A panel that is being filled; what it holds is not defined. */
  interface Panel {
    /**
     * Puts rows of values.
     *
     * @param start first byte of the first row in the panel
     * @param pitch bytes from one row's start to the next one's there
     * @param stay true if the values stay where they are until the multiplier is closed; else they
     *     have been read when this returns
     */
    void put(MemoryRows values, long start, long pitch, boolean stay);

    /**
     * The memory from which the panel is multiplied, or goes to a device, for a caller that writes
     * all of the panel there and puts nothing. It keeps what was written until the panels after the
     * next ones are asked for.
     */
    HostMemory memory();

    /** Puts all of a panel at once; it has been read when this returns. */
    default void put(HostMemory values) {
      values.copyTo(memory());
    }
  }

  /**
   * One panel of A and one of B, to be filled by the caller until the {@link #multiply} that
   * follows.
   *
   * @param a empty if the panel is where it is multiplied already, and need not be filled; likewise
   *     {@code b}
   * @param b the same as {@code a} where one panel serves as both
   */
  record Panels(Optional<Panel> a, Optional<Panel> b) {}

  /**
   * A panel that is to be filled and multiplied.
   *
   * @param bytes how large it is
   * @param id the panel's identity; empty if no other task has it
   */
  record Wanted(long bytes, Optional<PanelId> id) {}

  private static boolean overwrites(MultiplyProblem problem) {
    return problem.factors().equals(Factors.OVERWRITE);
  }

  private static void requireAdds(MultiplyProblem problem) {
    if (!overwrites(problem) && !problem.factors().equals(Factors.ADD)) {
      throw new IllegalArgumentException(
          "A product of panels must add to its tile, or be all of it; found " + problem);
    }
  }

  /**
   * A product of parts of the panels, added to a part of the tile.
   *
   * @param problem the product; its factors are those of {@code ADD}, or of {@code OVERWRITE} where
   *     those of the tile are
   * @param startA first byte of op(A)'s part in A's panel
   * @param startB first byte of op(B)'s part in B's panel
   * @param startC first byte of the part of the tile
   */
  record PanelProduct(MultiplyProblem problem, long startA, long startB, long startC) {
    /** Checks the factors. */
    public PanelProduct {
      requireAdds(problem);
    }
  }

  /**
   * A tile, and what will be added to it. The matrices of a batch follow each other in it.
   *
   * @param panel the product of the largest panels, which makes all of the tile; its factors are
   *     those of {@code ADD}, or of {@code OVERWRITE} if one product makes each element, so that
   *     the tile need not be cleared
   * @param shared true if one panel serves as both; elements below the diagonal of the tile are
   *     then undefined where they mirror those above
   * @param additions products that will be added to one element of the tile, at most; how sums are
   *     made depends on it, so the same result needs the same figure
   * @param selects true if the tile is not given, but what {@link #select} finds in it
   */
  record Tile(MultiplyProblem panel, boolean shared, long additions, boolean selects) {
    /** A tile that is given. */
    public Tile(MultiplyProblem panel, boolean shared, long additions) {
      this(panel, shared, additions, false);
    }

    /** Checks the factors, and that the additions are 0 or more, and 1 if they overwrite. */
    public Tile {
      requireAdds(panel);
      if (PanelMultiplier.overwrites(panel) && additions != 1) {
        throw new IllegalArgumentException(
            "A tile that is overwritten by " + additions + " products; expected 1");
      }
      if (additions < 0) {
        throw new IllegalArgumentException(
            "A tile of " + additions + " additions; expected 0 or more");
      }
    }

    /** Bytes of the tile. */
    public long bytes() {
      return panel.bytesC();
    }

    /** True if one product makes each element. */
    boolean isOverwritten() {
      return PanelMultiplier.overwrites(panel);
    }

    /** Rows of all matrices, and columns. */
    Shape shape() {
      return Shape.of(Math.multiplyExact(panel.batch().count(), panel.m()), panel.n());
    }

    /** Products that each element is the sum of, at most. */
    long terms() {
      long depth = Math.max(1, panel.k());
      return additions > Long.MAX_VALUE / depth ? Long.MAX_VALUE : additions * depth;
    }

    /** Device memory for it: the tile, once or twice, and two pairs of panels. */
    public long deviceBytes() {
      long panels = Math.multiplyExact(2L, Math.addExact(mostA(), mostB()));
      long tiles = Math.multiplyExact(new TileSums(this).hasTotals() ? 2L : 1L, bytes());
      return Math.addExact(tiles, panels);
    }

    /** Bytes of the largest panel of A. */
    long mostA() {
      return panel.bytesA();
    }

    /** Bytes of the largest panel of B that needs memory of its own. */
    long mostB() {
      return shared ? 0 : panel.bytesB();
    }
  }

  /** Bytes that the panels and the tile of a batch should have together, at most. */
  long batchBytes();

  /** Begins a tile, all zero unless it is overwritten; the one before is given up. */
  void begin(Tile tile);

  /**
   * Makes a batch smaller whose panels are being filled, by the matrices that come last in it, or
   * makes panels shorter by the steps that come last in both.
   *
   * @param tile that of {@link #begin}, but for the count of products or of steps
   */
  void shorten(Tile tile);

  /**
   * The next panels. Tasks that have a panel of the same name fill it alike.
   *
   * @param b empty if B's panel is A's
   */
  Panels panels(Wanted a, Optional<Wanted> b);

  /**
   * Adds products of the panels handed out last to the tile, in this order. May return before it is
   * done.
   */
  void multiply(List<PanelProduct> products);

  /** The tile, when it is done; valid until the next {@link #begin} or {@link #close}. */
  default HostMemory finish() {
    return finish(List.of());
  }

  /**
   * Gives the finished tile in the memory that holds it; valid as long.
   *
   * @param epilogue programs on each element, first to last: each of one input and one output of
   *     the tile's type, without vectors and places
   */
  HostMemory finish(List<ElementwiseProgram> epilogue);

  /**
   * A finished tile whose rectangles are copied to where they are wanted; valid until the next
   * {@link #begin} or {@link #close}.
   */
  interface FinishedTile {
    /** Bytes that should be fetched at a time, at most; one rectangle may have more. */
    long mostBytes();

    /**
     * Copies rectangles; done on return.
     *
     * @param isLast true if nothing else of the tile is wanted
     */
    void fetch(List<Rectangle> rectangles, boolean isLast);
  }

  /**
   * A part of the tile.
   *
   * @param start first byte of the first row in the tile
   * @param rowBytes length of each row
   * @param to memory for the rows, one after the other: outside the heap, of exactly their bytes,
   *     pinned for full speed
   */
  record Rectangle(long start, long rowBytes, long rows, HostMemory to) {}

  /**
   * The tile, as {@link #finish} gives it, to be fetched in rectangles: a device writes them where
   * they are wanted, so nobody copies the tile again.
   *
   * @param epilogue as that of {@link #finish}
   * @return empty if the tile is in host memory anyway; nothing has been done then
   */
  default Optional<FinishedTile> finishInParts(List<ElementwiseProgram> epilogue) {
    return Optional.empty();
  }

  /**
   * Finds columns of the rows of the tile, where it is: only these come from a device, unless they
   * are too many. For {@link #finish}, if the tile {@code selects}; valid as long.
   *
   * @param selection selection among all rows and columns of the tile; borrowed as long as its
   *     result is used
   */
  SelectedColumns select(ColumnSelection selection);

  /** Waits for what is under way and frees everything; may be called twice. */
  @Override
  void close();
}
