package org.tilespark.spark.multiply;

import java.util.Arrays;
import java.util.Optional;

/**
 * Tracks the elements of a panel that have been filled: finds overlaps and holes, element by
 * element.
 */
final class PanelCover {
  /** An element, in rows and columns of the panel. */
  record Place(long row, long col) {}

  private static final int WORD = 64;

  private long rows;
  private long cols;
  private long filled;
  private long[] bits = new long[0]; // true for filled elements, row-major; valid if bitsUsed
  private boolean bitsUsed;

  /** Begins a panel that is all empty. */
  void clear(long newRows, long newCols) {
    rows = newRows;
    cols = newCols;
    filled = 0;
    bitsUsed = false;
  }

  /** True if every element is filled. */
  boolean isFull() {
    return filled == rows * cols;
  }

  /**
   * Fills a rectangle inside the panel.
   *
   * @return the first element that was filled before, if any; the filled elements are then
   *     undefined
   */
  Optional<Place> fill(long row, long col, long height, long width) {
    long area = height * width;
    if (filled == rows * cols) {
      return area == 0 ? Optional.empty() : Optional.of(new Place(row, col));
    }
    if (area == rows * cols && filled == 0) {
      filled = area; // the usual case: one block is the panel
      return Optional.empty();
    }
    if (!bitsUsed) {
      int words = Math.toIntExact((rows * cols + WORD - 1) / WORD);
      if (bits.length < words) {
        bits = new long[words];
      } else {
        Arrays.fill(bits, 0, words, 0);
      }
      bitsUsed = true;
    }
    boolean whole = width == cols;
    long runs = whole ? 1 : height;
    long length = whole ? area : width;
    for (long run = 0; run < runs; run++) {
      long clash = set((row + run) * cols + col, length);
      if (clash >= 0) {
        return Optional.of(new Place(clash / cols, clash % cols));
      }
    }
    filled += area;
    return Optional.empty();
  }

  /** The first element that is not filled; there must be one. */
  Place firstHole() {
    if (!bitsUsed) {
      return new Place(0, 0);
    }
    int word = 0;
    while (bits[word] == -1L) {
      word++;
    }
    long at = (long) word * WORD + Long.numberOfTrailingZeros(~bits[word]);
    return new Place(at / cols, at % cols);
  }

  /**
   * Sets {@code length} bits from {@code start} on; returns the first that was set before, or -1.
   */
  private long set(long start, long length) {
    long at = start;
    long end = start + length;
    while (at < end) {
      int word = (int) (at / WORD);
      int from = (int) (at % WORD);
      int to = (int) Math.min(WORD, from + (end - at));
      long mask = (to == WORD ? -1L : (1L << to) - 1) & (-1L << from);
      long clash = bits[word] & mask;
      if (clash != 0) {
        return (long) word * WORD + Long.numberOfTrailingZeros(clash);
      }
      bits[word] |= mask;
      at += to - from;
    }
    return -1;
  }
}
