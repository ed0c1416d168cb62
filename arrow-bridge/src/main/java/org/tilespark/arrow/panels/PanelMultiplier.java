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
 * Accumulates one tile of C after another from a stream of panels of A and B, so that the memory it
 * needs does not grow with K. The caller fills panels while earlier ones are multiplied. Used by
 * one thread.
 *
 * <p>The life of a tile: {@link #begin}, then {@link #panels} and {@link #multiply} for each pair
 * of panels, then {@link #finish} or {@link #select}.
 */
public interface PanelMultiplier extends AutoCloseable {
  /** A panel to be filled, initially with undefined content. */
  interface Panel {
    /**
     * Puts rows of values into the panel.
     *
     * @param start offset of the first row's first byte in the panel
     * @param pitch bytes from one row's start to the next one's in the panel
     * @param stay true if the values stay valid until the multiplier is closed; otherwise they have
     *     been read when this returns
     */
    void put(MemoryRows values, long start, long pitch, boolean stay);

    /**
     * The memory from which the panel is multiplied or uploaded, for a caller that writes the whole
     * panel there instead of calling {@code put}. Its content is kept until the panels after the
     * next ones are requested.
     */
    HostMemory memory();

    /** Puts a whole panel; the values have been read when this returns. */
    default void put(HostMemory values) {
      values.copyTo(memory());
    }
  }

  /**
   * One panel of A and one of B, to be filled by the caller until the {@link #multiply} that
   * follows.
   *
   * @param a empty if the panel is already available and need not be filled; {@code b} likewise
   * @param b the same as {@code a} if one panel serves as panel of A and of B
   */
  record Panels(Optional<Panel> a, Optional<Panel> b) {}

  /**
   * A request for a panel.
   *
   * @param bytes length of the panel
   * @param id the panel's identity; empty if no other task uses it
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
   * @param problem the product; its factors are {@code Factors.ADD}, or {@code Factors.OVERWRITE}
   *     if the tile's factors are
   * @param startA offset of the first byte of op(A)'s part in A's panel
   * @param startB offset of the first byte of op(B)'s part in B's panel
   * @param startC offset of the first byte of the part in the tile
   */
  record PanelProduct(MultiplyProblem problem, long startA, long startB, long startC) {
    /** Checks the factors. */
    public PanelProduct {
      requireAdds(problem);
    }
  }

  /**
   * A tile, and the products that will be added to it. The matrices of a batch follow each other in
   * the tile.
   *
   * @param panel the product of the largest panels, which covers the whole tile; its factors are
   *     {@code Factors.ADD}, or {@code Factors.OVERWRITE} if a single product computes each
   *     element, so that the tile need not be cleared
   * @param shared true if one panel serves as panel of A and of B; elements below the diagonal of
   *     the tile are then undefined where they mirror those above
   * @param additions most products that will be added to one element of the tile; the order of sums
   *     depends on it, so equal results need equal numbers
   * @param selects true if the caller calls {@link #select} instead of fetching the tile
   */
  record Tile(MultiplyProblem panel, boolean shared, long additions, boolean selects) {
    /** A tile whose {@code selects} is false. */
    public Tile(MultiplyProblem panel, boolean shared, long additions) {
      this(panel, shared, additions, false);
    }

    /**
     * Checks the factors, and that the number of additions is 0 or more, and 1 if the factors
     * overwrite.
     */
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

    /** True if a single product computes each element of the tile. */
    boolean isOverwritten() {
      return PanelMultiplier.overwrites(panel);
    }

    /** The tile's rows, those of all matrices together, and columns. */
    Shape shape() {
      return Shape.of(Math.multiplyExact(panel.batch().count(), panel.m()), panel.n());
    }

    /** Most products of elements that each element of the tile sums up. */
    long terms() {
      long depth = Math.max(1, panel.k());
      return additions > Long.MAX_VALUE / depth ? Long.MAX_VALUE : additions * depth;
    }

    /** Device memory for this tile: the tile, once or twice, and two pairs of panels. */
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

  /** Most bytes that the panels and the tile of a batch should have together. */
  long batchBytes();

  /** Begins a tile, initially zero unless it is overwritten; the previous tile is dropped. */
  void begin(Tile tile);

  /**
   * Shortens the batch whose panels are being filled by its last matrices, or shortens both panels
   * by their last steps of K.
   *
   * @param tile the tile of {@link #begin}, with fewer products or steps
   */
  void shorten(Tile tile);

  /**
   * The next panels. Tasks that request a panel of equal id must fill it with equal bytes.
   *
   * @param b empty if one panel serves as panel of A and of B
   */
  Panels panels(Wanted a, Optional<Wanted> b);

  /**
   * Adds products of the last requested panels to the tile, in this order. May return before they
   * are computed.
   */
  void multiply(List<PanelProduct> products);

  /** The tile, when it is done; valid until the next {@link #begin} or {@link #close}. */
  default HostMemory finish() {
    return finish(List.of());
  }

  /**
   * The finished tile in the memory that holds it; valid until the next {@link #begin} or {@link
   * #close}.
   *
   * @param epilogue programs on each element, first to last: each of one input and one output of
   *     the tile's type, without vectors and places
   */
  HostMemory finish(List<ElementwiseProgram> epilogue);

  /**
   * A finished tile whose rectangles are copied to their destinations; valid until the next {@link
   * #begin} or {@link #close}.
   */
  interface FinishedTile {
    /** Most bytes that should be fetched at a time; a single rectangle may have more. */
    long mostBytes();

    /**
     * Copies rectangles; done on return.
     *
     * @param isLast true if no further rectangle of the tile will be fetched
     */
    void fetch(List<Rectangle> rectangles, boolean isLast);
  }

  /**
   * A part of the tile.
   *
   * @param start offset of the first row's first byte in the tile
   * @param rowBytes length of each row
   * @param to memory for the rows, one after the other: outside the heap, of exactly their bytes,
   *     pinned for full speed
   */
  record Rectangle(long start, long rowBytes, long rows, HostMemory to) {}

  /**
   * The finished tile as {@link #finish} gives it, to be fetched in rectangles: a device writes
   * them directly to their destinations, without a further copy.
   *
   * @param epilogue as for {@link #finish}
   * @return empty if the tile is in host memory anyway; then nothing was computed
   */
  default Optional<FinishedTile> finishInParts(List<ElementwiseProgram> epilogue) {
    return Optional.empty();
  }

  /**
   * Selects columns in the rows of the tile, where the tile is computed: only these are downloaded
   * from a device, unless there are too many. Called in place of {@link #finish} if the tile {@code
   * selects}; valid until the next {@link #begin} or {@link #close}.
   *
   * @param selection selection among all rows and columns of the tile; borrowed while its result is
   *     used
   */
  SelectedColumns select(ColumnSelection selection);

  /** Waits for queued work and frees everything; may be called twice. */
  @Override
  void close();
}
