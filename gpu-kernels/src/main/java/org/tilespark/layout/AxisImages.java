package org.tilespark.layout;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Maps the elements of a source axis to the cells of a target axis. Element {@code t} of the target
 * axis comes from element {@code t - shift} of the source axis, which is continued beyond its ends
 * as {@code edge} says. Cells may overlap:
 *
 * <pre>
 *   cell c holds the target elements from  c * cell - before
 *                                      to  min((c + 1) * cell, target) + after, exclusive
 * </pre>
 *
 * <p>With {@link Edge#NONE} cells end where the source axis does.
 *
 * @param extent extent of the source axis
 * @param edge how the source axis is continued; for an axis of one element, every mode except
 *     {@code NONE} and {@code CONSTANT} repeats the element
 * @param shift place of the first source element on the target axis
 * @param target extent of the target axis
 * @param cell target elements of a full cell, without those that it shares with its neighbours
 * @param before elements that a cell shares with its neighbours in front of it
 * @param after elements that it shares with its neighbours after it
 */
public record AxisImages(
    long extent, Edge edge, long shift, long target, long cell, long before, long after)
    implements Serializable {
  /**
   * A run of source elements in a cell.
   *
   * @param part number of the cell in which the run is
   * @param low first target element of the run
   * @param high end of the run in the target, exclusive
   * @param source the source element that {@code low} comes from
   * @param step source elements from one target element to the next: 1, -1, or 0 if all come from
   *     the same one
   */
  public record Image(long part, long low, long high, long source, int step) {}

  /**
   * The largest number of elements of an axis: with it, sums of an extent and widths do not
   * overflow.
   */
  private static final long MOST = 1L << 60;

  /**
   * Checks the components.
   *
   * @throws IllegalArgumentException if a number is negative or above 2^60, or a cell has no
   *     element
   */
  public AxisImages {
    boolean good = cell > 0;
    for (long number : new long[] {extent, shift, target, before, after}) {
      good &= number >= 0 && number <= MOST;
    }
    if (!good) {
      throw new IllegalArgumentException(
          ("%s elements at %s in %s, in cells of %s + %s + %s; expected 0 to 2^60, and cells of 1"
                  + " or more")
              .formatted(extent, shift, target, before, cell, after));
    }
  }

  /** The axis with further elements before and after it, cut every {@code cell} elements. */
  public static AxisImages padded(long extent, long before, long after, Edge edge, long cell) {
    return new AxisImages(extent, edge, before, extent + before + after, cell, 0, 0);
  }

  /** The axis with every element moved on by {@code by} places, cyclically. */
  public static AxisImages rolled(long extent, long by, long cell) {
    long shift = extent == 0 ? 0 : Math.floorMod(by, extent);
    return new AxisImages(extent, Edge.WRAP, shift, extent, cell, 0, 0);
  }

  /**
   * Cells of the axis that include elements of their neighbours, and elements beyond the axis's
   * ends.
   */
  public static AxisImages haloed(long extent, long before, long after, Edge edge, long cell) {
    return new AxisImages(extent, edge, 0, extent, cell, before, after);
  }

  /** First target element of cell number {@code part}. */
  public long low(long part) {
    long low = part * cell - before;
    return edge == Edge.NONE ? Math.max(low, shift) : low;
  }

  /** End of cell number {@code part} in the target, exclusive. */
  public long high(long part) {
    long high = Math.min((part + 1) * cell, target) + after;
    return edge == Edge.NONE ? Math.min(high, shift + extent) : high;
  }

  /** The largest number of target elements of a cell. */
  public long largest() {
    return Math.min(cell, Math.max(1, target)) + before + after;
  }

  /** The first target element, from {@code low} on, that comes from a source element. */
  public long firstFrom(long low) {
    return edge == Edge.CONSTANT ? Math.max(low, shift) : low;
  }

  /** The end of the target elements, up to {@code high}, that come from source elements. */
  public long endUpTo(long high) {
    return edge == Edge.CONSTANT ? Math.min(high, shift + extent) : high;
  }

  /** True if every image is a plain copy, in the order of the source. */
  public boolean isInOrder() {
    return edge == Edge.NONE
        || edge == Edge.CONSTANT
        || (edge == Edge.WRAP && extent > 1)
        // A single element beyond an end is a plain copy with every edge.
        || (reachLow() >= shift - 1 && reachHigh() <= shift + extent + 1);
  }

  /** The images of the source elements from {@code low} to before {@code high}. */
  public List<Image> of(long low, long high) {
    List<Image> images = new ArrayList<>();
    if (edge == Edge.NONE || edge == Edge.CONSTANT) {
      add(images, shift + low, shift + high, low, 1);
    } else if (edge == Edge.EDGE || extent == 1) {
      add(images, shift + low, shift + high, low, 1);
      if (low == 0) {
        add(images, reachLow(), shift, 0, 0);
      }
      if (high == extent) {
        add(images, shift + extent, reachHigh(), extent - 1, 0);
      }
    } else {
      long period = period();
      long last = Math.floorDiv(reachHigh() - 1 - shift, period);
      for (long k = Math.floorDiv(reachLow() - shift, period); k <= last; k++) {
        long start = shift + k * period;
        add(images, start + low, start + high, low, 1);
        if (edge != Edge.WRAP) {
          addMirrored(images, start + period, low, high);
        }
      }
    }
    return images;
  }

  /** The period of the continued source axis, in elements. */
  private long period() {
    return switch (edge) {
      case REFLECT -> 2 * extent - 2;
      case SYMMETRIC -> 2 * extent;
      default -> extent;
    };
  }

  /**
   * Adds the mirrored image in the period that ends at {@code end}; where the axis is mirrored at
   * an element, this element is not part of it.
   */
  private void addMirrored(List<Image> images, long end, long low, long high) {
    long first = edge == Edge.REFLECT ? Math.max(low, 1) : low;
    long beyond = edge == Edge.REFLECT ? Math.min(high, extent - 1) : high;
    long mirror = edge == Edge.REFLECT ? end : end - 1; // the place of source element 0
    if (first < beyond) {
      add(images, mirror - (beyond - 1), mirror - first + 1, beyond - 1, -1);
    }
  }

  private long reachLow() {
    return low(0);
  }

  private long reachHigh() {
    return target + after;
  }

  /** Adds the parts of an image that are in cells, one for each cell. */
  private void add(List<Image> images, long low, long high, long source, int step) {
    long end = Math.min(high, reachHigh());
    long begin = Math.max(low, reachLow());
    if (begin >= end) {
      return;
    }
    long lastCell = Math.min(target - 1, end - 1 + before) / cell;
    for (long part = Math.max(0, Math.floorDiv(begin - after, cell)); part <= lastCell; part++) {
      long from = Math.max(begin, low(part));
      long to = Math.min(end, high(part));
      if (from < to) {
        images.add(
            new Image(part, from, to, source + step * (from - low), to - from == 1 ? 1 : step));
      }
    }
  }
}
