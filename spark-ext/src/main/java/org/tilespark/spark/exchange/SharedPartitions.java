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

/** Gives each task partitions of a shuffle or of a cached frame, which other tasks may read too. */
public record SharedPartitions(int expected, List<List<Integer>> partitions)
    implements PartitionCoalescer, Serializable {

  /**
   * Bytes that a task works on in a second where nobody knows what it computes: few, so that
   * partitions are joined only where the driver would need longer to start their tasks.
   */
  private static final double BYTES_PER_SECOND = PartitionPlanner.BYTES_PER_SECOND / 10;

  /**
   * Rows from which pieces for an exchange are cut, in as many partitions as there is work for, if
   * they are made partition by partition of a cached frame in the memory of this process. Spark has
   * a task for each of its partitions: also for one without rows, which hashing leaves where blocks
   * are few, and for one of few bytes. Other rows stay as they are.
   */
  public static <T> RDD<T> asWorkAsks(RDD<T> rows) {
    Optional<long[]> bytes = CachedFrames.bytes(rows);
    if (bytes.isEmpty()) {
      return rows;
    }
    int tasks =
        new PartitionPlanner(rows.sparkContext().defaultParallelism())
            .tasks(LongStream.of(bytes.get()).sum() / BYTES_PER_SECOND);
    List<List<Integer>> shares = shares(bytes.get(), Math.min(tasks, bytes.get().length));
    return shares.size() == bytes.get().length ? rows : of(rows, bytes.get().length, shares);
  }

  /**
   * Neighbouring partitions for each task, about as many bytes for one as for another; no partition
   * is parted.
   *
   * @param bytes of each partition, more than 0
   * @param tasks how many there are at most
   */
  static List<List<Integer>> shares(long[] bytes, int tasks) {
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
   * @param partitions that each task reads, one after another, task by task
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
