package org.tilespark.spark.npy;

import java.util.Arrays;
import java.util.Optional;
import org.tilespark.spark.BlockKind;

/**
 * Checks that boxes tile an array: each element in exactly one of them.
 *
 * <p>The array is cut in two at box edges, again and again, until one box covers all of a piece
 * (good), two do (an overlap), or none touches it (a hole): {@code n log n} for the tilings that
 * occur, about a second for a million boxes.
 */
final class Coverage {
  /** Edges looked at to choose a cut near the median. */
  private static final int SAMPLE = 31;

  private final BlockKind kind;
  private final int rank;
  private final long[] boxes; // (boxes, 2, rank): offsets, then sizes

  private Coverage(BlockKind kind, long[] boxes) {
    this.kind = kind;
    this.rank = kind.rank();
    this.boxes = boxes;
  }

  /**
   * The first defect found.
   *
   * @param kind whose words the defect is told in
   * @param extents of the array
   * @param boxes offsets and sizes of the boxes, {@code 2 * rank} numbers each; all inside the
   *     array with sizes of 1 or more
   * @return what is wrong, or nothing if the boxes tile the array
   */
  static Optional<String> defect(BlockKind kind, long[] extents, long[] boxes) {
    for (long extent : extents) {
      if (extent == 0) {
        return Optional.empty(); // no elements, and so no boxes inside
      }
    }
    Coverage coverage = new Coverage(kind, boxes);
    int[] all = new int[boxes.length / (2 * kind.rank())];
    Arrays.setAll(all, i -> i);
    return Optional.ofNullable(
        coverage.check(new long[kind.rank()], extents.clone(), all, all.length));
  }

  /** The first defect inside the piece from {@code low} to {@code high}, which the boxes touch. */
  private String check(long[] low, long[] high, int[] touching, int count) {
    if (count == 0) {
      return hole(low, high);
    }
    int covering = -1;
    for (int i = 0; i < count && covering < 0; i++) {
      covering = covers(touching[i], low, high) ? i : -1;
    }
    if (covering >= 0) {
      return count == 1 ? null : overlap(touching[covering], touching[covering == 0 ? 1 : 0], low);
    }
    int axis = -1;
    long cut = 0;
    int fewest = Integer.MAX_VALUE;
    for (int candidate = 0; candidate < rank; candidate++) {
      long edge = medianEdge(candidate, low[candidate], high[candidate], touching, count);
      if (edge < 0) {
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
    String defect = check(low, middleHigh, below, belowCount);
    if (defect != null) {
      return defect;
    }
    long[] middleLow = low.clone();
    middleLow[axis] = cut;
    return check(middleLow, high, above, aboveCount);
  }

  /** A box edge strictly between two places, near the median of all such; -1 if there is none. */
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
    return -1;
  }

  /** Boxes on the fuller side of a cut; those that it parts are on both. */
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

  private long start(int box, int axis) {
    return boxes[2 * rank * box + axis];
  }

  private long end(int box, int axis) {
    return start(box, axis) + boxes[2 * rank * box + rank + axis];
  }

  private String hole(long[] low, long[] high) {
    long[] size = new long[rank];
    Arrays.setAll(size, axis -> high[axis] - low[axis]);
    return "no "
        + kind.describe(low)
        + ": expected blocks to hold the "
        + sizeText(size)
        + " elements from there, found none";
  }

  private String overlap(int first, int second, long[] low) {
    long[] shared = new long[rank];
    Arrays.setAll(
        shared, axis -> Math.max(low[axis], Math.max(start(first, axis), start(second, axis))));
    return kind.describe(offset(first))
        + " ("
        + sizeText(size(first))
        + ") and "
        + kind.describe(offset(second))
        + " ("
        + sizeText(size(second))
        + ") overlap: both hold the element at "
        + kind.describe(shared).substring("block at ".length())
        + "; expected each element in one block";
  }

  private long[] offset(int box) {
    return Arrays.copyOfRange(boxes, 2 * rank * box, 2 * rank * box + rank);
  }

  private long[] size(int box) {
    return Arrays.copyOfRange(boxes, 2 * rank * box + rank, 2 * rank * (box + 1));
  }

  private static String sizeText(long[] size) {
    StringBuilder text = new StringBuilder();
    for (long extent : size) {
      text.append(text.length() == 0 ? "" : " x ").append(extent);
    }
    return text.toString();
  }
}
