package org.tilespark.spark.block;

import java.util.Arrays;
import java.util.Optional;

/**
 * Checks that boxes tile an array: each element in exactly one of them.
 *
 * <p>The array is cut in two at box edges, recursively, until one box alone covers a whole piece
 * (good), another touches it too (an overlap), or no box touches it (a hole). For the tilings that
 * occur this takes {@code n log n} steps, about a second for a million boxes. Calls share no state.
 */
public final class Coverage {
  /**
   * Receives holes and overlaps. Places are counted in elements of the array, one number per axis.
   */
  public interface Findings {
    /**
     * No box holds the elements from {@code low} to before {@code high}.
     *
     * @return true to continue the search
     */
    boolean hole(long[] low, long[] high);

    /**
     * Two boxes hold an element. A pair is reported at least once, perhaps more often.
     *
     * @param first index of one box
     * @param second index of the other box
     * @return true to continue the search
     */
    boolean overlap(int first, int second);
  }

  /** Most box edges of which the median is taken when a cut is chosen. */
  private static final int SAMPLE = 31;

  /** The value that stands for no edge; edges may be negative. */
  private static final long NO_EDGE = Long.MIN_VALUE;

  private final int rank;
  private final long[] boxes; // (boxes, 2, rank): offsets, then sizes
  private final Findings findings;

  private Coverage(int rank, long[] boxes, Findings findings) {
    this.rank = rank;
    this.boxes = boxes;
    this.findings = findings;
  }

  /**
   * Finds the elements of a region that are in no box or in several.
   *
   * @param low place of the region's first element
   * @param high end of the region, exclusive
   * @param boxes offsets and sizes of the boxes, {@code 2 * rank} numbers each, of sizes of 1 or
   *     more and ends below 2^63; they may be partly or wholly outside the region
   */
  public static void check(long[] low, long[] high, long[] boxes, Findings findings) {
    for (int axis = 0; axis < low.length; axis++) {
      if (low[axis] >= high[axis]) {
        return;
      }
    }
    Coverage coverage = new Coverage(low.length, boxes, findings);
    int count = boxes.length / (2 * low.length);
    int[] touching = new int[count];
    int kept = 0;
    for (int box = 0; box < count; box++) {
      if (coverage.touches(box, low, high)) {
        touching[kept++] = box;
      }
    }
    coverage.check(low, high, touching, kept);
  }

  /** {@link #defect(ArrayAxes, long[], long[], boolean, String)} where holes count as defects. */
  public static Optional<String> defect(ArrayAxes axes, long[] extents, long[] boxes) {
    return defect(axes, extents, boxes, false, "");
  }

  /**
   * The first defect of boxes that should tile an array, in words.
   *
   * @param axes the array's axes, for the message
   * @param extents extents of the array
   * @param boxes offsets and sizes as {@link #check} takes them, all inside the array
   * @param mayHaveHoles true if elements may be in no box
   * @param advice text for the end of a message about a hole, or ""
   * @return text of the defect; empty if the boxes tile the array
   */
  public static Optional<String> defect(
      ArrayAxes axes, long[] extents, long[] boxes, boolean mayHaveHoles, String advice) {
    int rank = axes.rank();
    String[] found = new String[1];
    check(
        new long[rank],
        extents,
        boxes,
        new Findings() {
          @Override
          public boolean hole(long[] low, long[] high) {
            if (mayHaveHoles) {
              return true;
            }
            long[] size = new long[rank];
            Arrays.setAll(size, axis -> high[axis] - low[axis]);
            found[0] =
                "no %s: expected blocks to hold the %s elements from there, found none%s"
                    .formatted(axes.describe(low), sizeText(size), advice);
            return false;
          }

          @Override
          public boolean overlap(int first, int second) {
            found[0] =
                ("%s and %s overlap: both hold the element at %s; expected each"
                        + " element in one block")
                    .formatted(
                        describe(axes, boxes, first),
                        describe(axes, boxes, second),
                        axes.describe(sharedElement(rank, boxes, first, second))
                            .substring("block at ".length()));
            return false;
          }
        });
    return Optional.ofNullable(found[0]);
  }

  /** The first element, in row-major order, that two overlapping boxes share. */
  public static long[] sharedElement(int rank, long[] boxes, int first, int second) {
    long[] shared = new long[rank];
    Arrays.setAll(
        shared, axis -> Math.max(boxes[2 * rank * first + axis], boxes[2 * rank * second + axis]));
    return shared;
  }

  /** A box in words: {@code block at row 0, col 0 (4 x 3)}. */
  public static String describe(ArrayAxes axes, long[] boxes, int box) {
    int rank = axes.rank();
    int at = 2 * rank * box;
    return axes.describe(Arrays.copyOfRange(boxes, at, at + rank))
        + " ("
        + sizeText(Arrays.copyOfRange(boxes, at + rank, at + 2 * rank))
        + ")";
  }

  /** Extents in words: {@code 4 x 3}. */
  public static String sizeText(long[] size) {
    StringBuilder text = new StringBuilder();
    for (long extent : size) {
      text.append(text.length() == 0 ? "" : " x ").append(extent);
    }
    return text.toString();
  }

  /**
   * Checks the boxes that touch the piece of the array from {@code low} to {@code high}; false if
   * the search should stop.
   */
  private boolean check(long[] low, long[] high, int[] touching, int count) {
    if (count == 0) {
      return findings.hole(low, high);
    }
    int covering = -1;
    for (int i = 0; i < count && covering < 0; i++) {
      covering = covers(touching[i], low, high) ? i : -1;
    }
    if (covering >= 0) {
      for (int i = 0; i < count; i++) {
        if (i != covering && !findings.overlap(touching[covering], touching[i])) {
          return false;
        }
      }
      return true;
    }
    int axis = -1;
    long cut = 0;
    int fewest = Integer.MAX_VALUE;
    for (int candidate = 0; candidate < rank; candidate++) {
      long edge = medianEdge(candidate, low[candidate], high[candidate], touching, count);
      if (edge == NO_EDGE) {
        continue;
      }
      int parted = larger(candidate, edge, touching, count);
      if (parted < fewest) {
        fewest = parted;
        axis = candidate;
        cut = edge;
      }
    }
    int[] below = new int[count];
    int[] above = new int[count];
    int belowCount = 0;
    int aboveCount = 0;
    for (int i = 0; i < count; i++) {
      int box = touching[i];
      if (start(box, axis) < cut) {
        below[belowCount++] = box;
      }
      if (end(box, axis) > cut) {
        above[aboveCount++] = box;
      }
    }
    long[] middleHigh = high.clone();
    middleHigh[axis] = cut;
    long[] middleLow = low.clone();
    middleLow[axis] = cut;
    return check(low, middleHigh, below, belowCount) && check(middleLow, high, above, aboveCount);
  }

  /** A box edge strictly between two places, near the median of all; NO_EDGE if there is none. */
  private long medianEdge(int axis, long low, long high, int[] touching, int count) {
    long[] sample = new long[SAMPLE];
    int found = 0;
    int step = Math.max(1, 2 * count / SAMPLE);
    for (int first = 0; first < step; first++) {
      for (int i = first; i < count && found < SAMPLE; i += step) {
        long start = start(touching[i], axis);
        long end = end(touching[i], axis);
        if (start > low) {
          sample[found++] = start;
        } else if (end < high) {
          sample[found++] = end;
        }
      }
      if (found > 0) {
        Arrays.sort(sample, 0, found);
        return sample[found / 2];
      }
    }
    return NO_EDGE;
  }

  /** The number of boxes on the fuller side of a cut; boxes that it divides count on both sides. */
  private int larger(int axis, long cut, int[] touching, int count) {
    int below = 0;
    int above = 0;
    for (int i = 0; i < count; i++) {
      below += start(touching[i], axis) < cut ? 1 : 0;
      above += end(touching[i], axis) > cut ? 1 : 0;
    }
    return Math.max(below, above);
  }

  private boolean covers(int box, long[] low, long[] high) {
    for (int axis = 0; axis < rank; axis++) {
      if (start(box, axis) > low[axis] || end(box, axis) < high[axis]) {
        return false;
      }
    }
    return true;
  }

  private boolean touches(int box, long[] low, long[] high) {
    for (int axis = 0; axis < rank; axis++) {
      if (start(box, axis) >= high[axis] || end(box, axis) <= low[axis]) {
        return false;
      }
    }
    return true;
  }

  private long start(int box, int axis) {
    return boxes[2 * rank * box + axis];
  }

  private long end(int box, int axis) {
    return start(box, axis) + boxes[2 * rank * box + rank + axis];
  }
}
