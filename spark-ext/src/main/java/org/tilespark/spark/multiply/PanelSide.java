package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.panels.PanelMultiplier.Panel;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;

/**
 * One operand's panel while it is filled: the memory to which pieces are copied, the elements that
 * are filled, and the places of the pieces along the axes of the product.
 */
final class PanelSide {
  /**
   * A piece in terms of the product: {@code outer} along M or N, {@code inner} along K, both from
   * the panel's beginning.
   */
  record Part(long outer, long outerExtent, long inner, long innerExtent) {
    long innerEnd() {
      return inner + innerExtent;
    }
  }

  /**
   * Least columns for which rows are padded: for fewer, the padding exceeds one percent of the
   * panel.
   */
  private static final long LEAST_PADDED = 256;

  /** Alignment of rows that kernels read without a copy. */
  static final int ROW_ALIGNMENT = 16;

  private final MultiplySpec spec;
  private final boolean right; // true for B
  private final boolean innerIsRow;
  private final Cuboids cuboids; // of the product; their ranks are the places of panels
  private final Axis outerAxis;
  private final PanelCover cover = new PanelCover();
  private final List<Part> parts = new ArrayList<>();
  private long outerStart;
  private long outerExtent;
  private long innerStart;
  private long innerExtent;
  private Optional<Panel> panel = Optional.empty(); // empty if its values are already available
  private long first; // byte of the panel where the matrix begins

  PanelSide(MultiplySpec spec, Cuboids cuboids, boolean right) {
    this.spec = spec;
    this.right = right;
    this.cuboids = cuboids;
    this.outerAxis = right ? Axis.N : Axis.M;
    this.innerIsRow = spec.innerIsRow(right);
  }

  /**
   * Begins a panel between the given places of the product. If cuboids are in place, places are
   * ranks, see {@link Cuboids#rank}.
   *
   * @param newPanel memory for the panel; empty if its values are already available, so that pieces
   *     are only checked
   * @param firstByte offset of the panel in that memory
   */
  void begin(
      long newOuterStart,
      long newOuterExtent,
      long newInnerStart,
      long newInnerExtent,
      Optional<Panel> newPanel,
      long firstByte) {
    outerStart = newOuterStart;
    outerExtent = newOuterExtent;
    innerStart = newInnerStart;
    innerExtent = newInnerExtent;
    panel = newPanel;
    first = firstByte;
    parts.clear();
    cover.clear(rows(), cols());
  }

  /** Rows of the panel as stored. */
  private long rows() {
    return innerIsRow ? innerExtent : outerExtent;
  }

  /** Columns of the panel as stored. */
  private long cols() {
    return innerIsRow ? outerExtent : innerExtent;
  }

  /** The leading dimension of the panel. */
  long lead() {
    return lead(outerExtent, innerExtent);
  }

  /** The leading dimension of a panel with the given extents. */
  long lead(long outer, long inner) {
    long cols = Math.max(1, innerIsRow ? outer : inner);
    return cols < LEAST_PADDED ? cols : Ceil.to(cols, ROW_ALIGNMENT / spec.type().bytes());
  }

  /** Bytes of a panel with the given extents, with the padding of its rows. */
  long bytes(long outer, long inner) {
    return (innerIsRow ? inner : outer) * lead(outer, inner) * spec.type().bytes();
  }

  /** First byte of the part of the panel that begins at a place along both axes. */
  long start(long outer, long inner) {
    return first
        + (innerIsRow ? inner * lead() + outer : outer * lead() + inner) * spec.type().bytes();
  }

  /**
   * Copies the part of a block or piece that is inside the panel to its place there.
   *
   * @param blockRow row of the block's first element, as stored
   * @param values elements of the block or piece, {@code rows} x {@code cols}, row-major
   * @param stay true if the values stay valid until the task ends
   * @throws IllegalArgumentException if one of the elements was added before
   */
  void add(long blockRow, long blockCol, long rows, long cols, HostMemory values, boolean stay) {
    long row = rank(innerIsRow, blockRow);
    long col = rank(!innerIsRow, blockCol);
    long firstRow = innerIsRow ? innerStart : outerStart;
    long firstCol = innerIsRow ? outerStart : innerStart;
    long top = Math.max(row, firstRow);
    long left = Math.max(col, firstCol);
    long height = Math.min(row + rows, firstRow + rows()) - top;
    long width = Math.min(col + cols, firstCol + cols()) - left;
    if (height <= 0 || width <= 0) {
      return;
    }
    long panelRow = top - firstRow;
    long panelCol = left - firstCol;
    Optional<PanelCover.Place> filled = cover.fill(panelRow, panelCol, height, width);
    if (filled.isPresent()) {
      PanelCover.Place clash = filled.get();
      throw new IllegalArgumentException(
          OperandDefects.blockAt(spec, right, blockRow, blockCol)
              + " (or the block it was cut from) overlaps another one at "
              + OperandDefects.place(
                  spec,
                  right,
                  element(innerIsRow, clash.row() + firstRow),
                  element(!innerIsRow, clash.col() + firstCol))
              + "; expected every element once"
              + OperandDefects.overlapAdvice(spec));
    }
    int bytes = spec.type().bytes();
    panel.ifPresent(
        to ->
            to.put(
                new MemoryRows(
                    values,
                    ((top - row) * cols + (left - col)) * bytes,
                    cols * bytes,
                    width * bytes,
                    height),
                first + (panelRow * lead() + panelCol) * bytes,
                lead() * bytes,
                stay));
    parts.add(
        innerIsRow
            ? new Part(panelCol, width, panelRow, height)
            : new Part(panelRow, height, panelCol, width));
  }

  /** Extent of the panel along K. */
  long depth() {
    return innerExtent;
  }

  /** True if every element of the panel is filled. */
  boolean isFull() {
    return cover.isFull();
  }

  /** The pieces in the panel, in order of arrival. */
  List<Part> parts() {
    return parts;
  }

  /** The failure of a panel that is not full. */
  IllegalArgumentException hole(String group) {
    PanelCover.Place hole = cover.firstHole();
    return OperandDefects.hole(
        spec,
        right,
        group,
        cuboids.isInPlace() ? OperandDefects.STALE_PLACES : "",
        element(innerIsRow, hole.row() + (innerIsRow ? innerStart : outerStart)),
        element(!innerIsRow, hole.col() + (innerIsRow ? outerStart : innerStart)));
  }

  private long rank(boolean inner, long element) {
    return cuboids.rank(inner ? Axis.K : outerAxis, element);
  }

  private long element(boolean inner, long rank) {
    return cuboids.element(inner ? Axis.K : outerAxis, rank);
  }
}
