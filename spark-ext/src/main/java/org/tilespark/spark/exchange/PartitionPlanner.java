package org.tilespark.spark.exchange;

import java.util.Arrays;
import java.util.PriorityQueue;
import org.tilespark.layout.Cuts;
import org.tilespark.layout.PieceCursor;

/**
 * Chooses the number of partitions of an exchange of blocks: a pure function of their bytes, their
 * places and the cores.
 *
 * <p>Few partitions start few tasks; many keep all cores at work to the end. Spark's hash sends
 * several blocks to one partition and none to another, so for up to {@value #MOST_PLACED} blocks
 * each candidate count is simulated with Spark's scheduling, and the one that ends first is chosen.
 *
 * @param cores tasks that run at the same time, 1 or more
 */
record PartitionPlanner(int cores) {
  /**
   * Seconds for which the driver is busy with one task. 201 tasks without work took 0.13 of the
   * 0.20 s of a 64^3 transform on 16 cores (docs/benchmarks/earlier).
   */
  static final double TASK_SECONDS = 0.65e-3;

  /**
   * Seconds for which adaptive execution keeps the driver busy after an exchange: 13 to 16 ms of
   * CPU time for re-blocks and products of 64 x 64 elements.
   */
  static final double ADAPTIVE_SECONDS = 13e-3;

  /** Bytes of pieces that a task reads and assembles in a second (docs/benchmarks/earlier). */
  static final double BYTES_PER_SECOND = 1e9;

  /**
   * Seconds that a task takes for a block of any size: reading its mark, sorting and making its
   * row.
   */
  static final double BLOCK_SECONDS = 20e-6;

  /** Most bytes of a partition, unless a single block is larger. */
  static final long MOST_BYTES = 256L << 20;

  /** Most blocks whose partitions are computed one by one. */
  static final int MOST_PLACED = 1024;

  /** Most partitions per block that are tried: with more, two blocks rarely share a partition. */
  private static final int MOST_PER_BLOCK = 4;

  /** Tasks for each core if there are too many blocks to simulate. */
  private static final int TASKS_PER_CORE = 4;

  /** The candidate count after {@code n} is {@code n + 1 + n / STEP}. */
  private static final int STEP = 8;

  /**
   * The count of partitions for blocks whose places are known.
   *
   * @param bytes bytes of all pieces together
   * @param blocks tiling of the blocks; pieces are hashed by the places of its cells
   */
  int partitions(long bytes, Cuts blocks) {
    long cells = blocks.cells();
    if (cells == 0) {
      return 1;
    }
    double work = bytes / BYTES_PER_SECOND + cells * BLOCK_SECONDS;
    long least = Math.min(cells, bytes / MOST_BYTES + 1);
    return cells > MOST_PLACED
        ? spread(work, least)
        : placed(work / cells, least, hashes(blocks, (int) cells));
  }

  /**
   * The count of partitions for blocks whose places are not known.
   *
   * @param bytes bytes of all pieces together
   */
  int partitions(long bytes) {
    return spread(bytes / BYTES_PER_SECOND, bytes / MOST_BYTES + 1);
  }

  /**
   * True if the tasks of empty partitions, which adaptive execution would save, cost the driver
   * less time than adaptive execution itself.
   *
   * @param blocks tiling of the blocks, which are hashed by the places of its cells
   */
  boolean areFilled(int partitions, Cuts blocks) {
    long cells = blocks.cells();
    if (cells > MOST_PLACED) {
      return true;
    }
    long filled =
        Arrays.stream(hashes(blocks, (int) cells))
            .map(hash -> Math.floorMod(hash, partitions))
            .distinct()
            .count();
    return (partitions - filled) * TASK_SECONDS < ADAPTIVE_SECONDS;
  }

  /** The count of tasks for {@code seconds} seconds of arbitrarily divisible work. */
  int tasks(double seconds) {
    return spread(seconds, 1);
  }

  /**
   * The count of tasks, at least {@code least}, for which the driver's time equals a task's time,
   * if that leaves no core idle.
   */
  private int spread(double work, long least) {
    long wanted =
        Math.min((long) TASKS_PER_CORE * cores, (long) Math.ceil(Math.sqrt(work / TASK_SECONDS)));
    long count = Math.max(least, Math.max(1, wanted));
    long rounded = count < cores ? count : (count + cores - 1) / cores * cores;
    return (int) Math.min(rounded, Integer.MAX_VALUE / 2);
  }

  private int placed(double blockSeconds, long least, int[] hashes) {
    int best = (int) least;
    double bestSeconds = Double.POSITIVE_INFINITY;
    int most = Math.max(best, MOST_PER_BLOCK * hashes.length);
    for (int count = best;
        count <= most && count * TASK_SECONDS < bestSeconds;
        count += 1 + count / STEP) {
      double seconds = count * TASK_SECONDS + blockSeconds * longest(hashes, count);
      if (seconds < bestSeconds) {
        bestSeconds = seconds;
        best = count;
      }
    }
    return best;
  }

  /**
   * The most blocks that one core gets if blocks are in {@code count} partitions by their hashes.
   */
  private long longest(int[] hashes, int count) {
    long[] blocks = new long[count];
    for (int hash : hashes) {
      blocks[Math.floorMod(hash, count)]++;
    }
    return longest(blocks);
  }

  /**
   * The most work that one core gets, if each core takes the next of {@code tasks} when it is free.
   */
  long longest(long[] tasks) {
    PriorityQueue<Long> busy = new PriorityQueue<>();
    long longest = 0;
    for (long each : tasks) {
      if (each > 0) {
        long end = (busy.size() < cores ? 0 : busy.poll()) + each;
        busy.add(end);
        longest = Math.max(longest, end);
      }
    }
    return longest;
  }

  private static int[] hashes(Cuts blocks, int cells) {
    long[] extents = new long[blocks.rank()];
    for (int axis = 0; axis < extents.length; axis++) {
      extents[axis] = blocks.axis(axis).extent();
    }
    int[] hashes = new int[cells];
    PieceCursor cursor = new PieceCursor(blocks);
    cursor.start(new long[extents.length], extents);
    for (int cell = 0; cell < cells && cursor.advance(); cell++) {
      hashes[cell] = Exchange.hash(cursor.low());
    }
    return hashes;
  }
}
