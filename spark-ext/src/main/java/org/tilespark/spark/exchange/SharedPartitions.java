package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.apache.spark.Partition;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import org.tilespark.spark.cache.CachedFrames;
import org.tilespark.spark.error.ErrorBoundary;
import scala.Option;

/**
 * Assigns to each task partitions of a shuffle or of a cached frame; several tasks may read the
 * same partition.
 */
public record SharedPartitions(int expected, List<List<Integer>> partitions)
    implements PartitionCoalescer, Serializable {

  /** Bytes that a task cuts or copies in a second. */
  private static final double BYTES_MOVED_PER_SECOND = PartitionPlanner.BYTES_PER_SECOND;

  /**
   * Bytes per second of a task with unknown computation: a low value, so that partitions are joined
   * only if starting separate tasks would take the driver longer.
   */
  private static final double BYTES_COMPUTED_PER_SECOND = BYTES_MOVED_PER_SECOND / 10;

  /**
   * Rows from which pieces for an exchange are cut, with small partitions joined to fit the work,
   * if they are computed partition by partition from a cached frame in the memory of this process.
   * Spark runs a task for each partition, even if it has few bytes or, as happens when few blocks
   * are hashed, none. Other rows are returned unchanged.
   *
   * @param onlyMoves true if tasks cut and copy blocks, and compute nothing
   */
  public static <T> RDD<T> asWorkAsks(RDD<T> rows, boolean onlyMoves) {
    Optional<long[]> bytes = CachedFrames.bytes(rows);
    if (bytes.isEmpty()) {
      return rows;
    }
    double rate = onlyMoves ? BYTES_MOVED_PER_SECOND : BYTES_COMPUTED_PER_SECOND;
    PartitionPlanner planner = new PartitionPlanner(rows.sparkContext().defaultParallelism());
    int tasks = planner.tasks(LongStream.of(bytes.get()).sum() / rate);
    List<List<Integer>> shares = shares(bytes.get(), Math.min(tasks, bytes.get().length), planner);
    return shares.size() == bytes.get().length ? rows : of(rows, bytes.get().length, shares);
  }

  /**
   * Assigns neighbouring partitions to tasks, with about equal bytes for each task; no partition is
   * divided. It uses fewer tasks if they end as soon: for 64 equal partitions on 16 cores, 32 tasks
   * of two each instead of 48.
   *
   * @param bytes bytes of each partition, more than 0 each
   * @param tasks most tasks to use
   */
  static List<List<Integer>> shares(long[] bytes, int tasks, PartitionPlanner planner) {
    List<List<Integer>> even = evenShares(bytes, tasks);
    long[] ofEven = bytes(bytes, even);
    List<List<Integer>> full = fullShares(bytes, LongStream.of(ofEven).max().orElse(0));
    return full.size() < even.size()
            && planner.longest(bytes(bytes, full)) <= planner.longest(ofEven)
        ? full
        : even;
  }

  private static long[] bytes(long[] bytes, List<List<Integer>> shares) {
    return shares.stream()
        .mapToLong(share -> share.stream().mapToLong(each -> bytes[each]).sum())
        .toArray();
  }

  /**
   * Neighbouring partitions in as few lists as possible, with at most {@code most} bytes in each
   * list; a larger partition has a list of its own.
   */
  private static List<List<Integer>> fullShares(long[] bytes, long most) {
    List<List<Integer>> shares = new ArrayList<>();
    long ofLast = 0;
    for (int partition = 0; partition < bytes.length; partition++) {
      if (shares.isEmpty() || ofLast + bytes[partition] > most) {
        shares.add(new ArrayList<>());
        ofLast = 0;
      }
      shares.get(shares.size() - 1).add(partition);
      ofLast += bytes[partition];
    }
    return shares;
  }

  private static List<List<Integer>> evenShares(long[] bytes, int tasks) {
    double all = LongStream.of(bytes).sum();
    List<List<Integer>> shares = new ArrayList<>();
    int last = -1;
    double before = 0;
    for (int partition = 0; partition < bytes.length; partition++) {
      int share = (int) Math.min(tasks - 1, tasks * (before + bytes[partition] / 2.0) / all);
      if (share != last) {
        shares.add(new ArrayList<>());
      }
      shares.get(shares.size() - 1).add(partition);
      last = share;
      before += bytes[partition];
    }
    return shares;
  }

  /**
   * The rows of each task.
   *
   * @param expected count of {@code rows}' partitions
   * @param partitions for each task, the partitions that it reads one after another
   */
  public static <T> RDD<T> of(RDD<T> rows, int expected, List<List<Integer>> partitions) {
    return rows.coalesce(
        partitions.size(),
        false,
        Option.apply(new SharedPartitions(expected, List.copyOf(partitions))),
        null);
  }

  @Override
  public PartitionGroup[] coalesce(int maxPartitions, RDD<?> parent) {
    Partition[] all = parent.partitions();
    if (all.length != expected) {
      throw ErrorBoundary.defect(
          all.length
              + " partitions to share among "
              + partitions.size()
              + " tasks; expected "
              + expected
              + "; please report this with the plan");
    }
    return partitions.stream()
        .map(
            ofTask -> {
              PartitionGroup group = new PartitionGroup(Option.empty());
              ofTask.forEach(partition -> group.partitions().addOne(all[partition]));
              return group;
            })
        .toArray(PartitionGroup[]::new);
  }
}
