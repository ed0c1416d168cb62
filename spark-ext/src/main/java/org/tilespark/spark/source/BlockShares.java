package org.tilespark.spark.source;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/**
 * The assignment of a tiling's blocks to tasks: each takes the blocks from its first one up to the
 * next task's first. Immutable.
 *
 * @param firsts number in the tiling of each task's first block, ascending
 */
record BlockShares(List<Long> firsts) {
  /** Copies the list. */
  BlockShares {
    firsts = List.copyOf(firsts);
  }

  /** Gives the cost of a block for a task. */
  @FunctionalInterface
  interface Cost {
    /**
     * Bytes that a task reads for a block.
     *
     * @param size extents of the block
     */
    long bytes(long[] size);
  }

  /**
   * About equal shares for as few tasks as a limit of their bytes allows.
   *
   * @param read for each scan that uses these shares, the ranges of blocks that it reads, as in
   *     {@link BlockRanges}
   * @param limit gives the limit of a task's bytes from the bytes of all tasks
   */
  static BlockShares of(BlockGrid grid, List<long[]> read, Cost cost, LongUnaryOperator limit) {
    long[] ranges = union(read);
    long[] offset = new long[grid.rank()];
    long[] size = offset.clone();
    long total = 0;
    for (int i = 0; i < ranges.length; i += 2) {
      for (long block = ranges[i]; block < ranges[i + 1]; block++) {
        grid.locate(block, offset, size);
        total += cost.bytes(size);
      }
    }
    double tasks = Math.max(1, Math.ceil((double) total / limit.applyAsLong(total)));
    List<Long> firsts = new ArrayList<>(List.of(0L));
    long before = 0;
    for (int i = 0; i < ranges.length; i += 2) {
      for (long block = ranges[i]; block < ranges[i + 1]; block++) {
        grid.locate(block, offset, size);
        long bytes = cost.bytes(size);
        boolean isNearerToNext = before + bytes / 2.0 > total / tasks * firsts.size();
        if (before > 0 && isNearerToNext && firsts.size() < tasks) {
          firsts.add(block);
        }
        before += bytes;
      }
    }
    return new BlockShares(firsts);
  }

  /** The union of several lists of ranges. */
  private static long[] union(List<long[]> all) {
    List<long[]> pairs = new ArrayList<>();
    for (long[] ranges : all) {
      for (int i = 0; i < ranges.length; i += 2) {
        pairs.add(new long[] {ranges[i], ranges[i + 1]});
      }
    }
    pairs.sort((one, other) -> Long.compare(one[0], other[0]));
    List<Long> union = new ArrayList<>();
    for (long[] pair : pairs) {
      int last = union.size() - 1;
      if (last >= 0 && pair[0] <= union.get(last)) {
        union.set(last, Math.max(union.get(last), pair[1]));
      } else {
        union.add(pair[0]);
        union.add(pair[1]);
      }
    }
    return union.stream().mapToLong(Long::longValue).toArray();
  }

  /**
   * The part of these ranges that each task reads, in the order of the tasks; some may be empty.
   */
  List<long[]> of(long[] ranges) {
    List<long[]> parts = new ArrayList<>();
    int next = 0;
    for (int task = 0; task < firsts.size(); task++) {
      long low = firsts.get(task);
      long high = task + 1 < firsts.size() ? firsts.get(task + 1) : Long.MAX_VALUE;
      List<Long> part = new ArrayList<>();
      while (next < ranges.length && ranges[next] < high) {
        part.add(Math.max(low, ranges[next]));
        part.add(Math.min(high, ranges[next + 1]));
        if (ranges[next + 1] > high) {
          break; // the next task takes the rest
        }
        next += 2;
      }
      parts.add(part.stream().mapToLong(Long::longValue).toArray());
    }
    return parts;
  }
}
