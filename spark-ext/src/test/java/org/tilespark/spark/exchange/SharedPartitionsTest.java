package org.tilespark.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SharedPartitionsTest {
  private static final PartitionPlanner CORES = new PartitionPlanner(16);
  private static final long EMPTY = 16; // what Spark says of a partition without rows

  @Test
  void partitionsWithoutRowsJoinOthers() {
    long[] bytes = {EMPTY, 1 << 20, EMPTY, EMPTY, 1 << 20, 1 << 20, EMPTY};
    assertEquals(
        List.of(List.of(0, 1), List.of(2, 3, 4), List.of(5, 6)),
        SharedPartitions.shares(bytes, 3, CORES));
  }

  @Test
  void equalPartitionsAreSharedOutEvenly() {
    long[] bytes = LongStream.generate(() -> 1000).limit(16).toArray();
    for (int tasks : new int[] {1, 2, 4, 8, 16}) {
      List<List<Integer>> shares = SharedPartitions.shares(bytes, tasks, CORES);
      assertEquals(tasks, shares.size());
      shares.forEach(share -> assertEquals(16 / tasks, share.size()));
    }
  }

  @Test
  void tasksThatEndAsSoonAreFewer() {
    long[] bytes = LongStream.generate(() -> 1000).limit(64).toArray();
    List<List<Integer>> shares = SharedPartitions.shares(bytes, 48, CORES);
    assertEquals(32, shares.size());
    shares.forEach(share -> assertEquals(2, share.size()));
  }

  /** With 17 tasks of two partitions one core would have two of them, and end last. */
  @Test
  void noCoreIsIdleForFewerTasks() {
    long[] bytes = LongStream.generate(() -> 1000).limit(34).toArray();
    assertEquals(32, SharedPartitions.shares(bytes, 32, CORES).size());
  }

  @Test
  void eachPartitionIsInOneShareAndNoShareIsMuchLarger() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int i = 0; i < 1000; i++) {
      long[] bytes = random.longs(1 + random.nextInt(40), 1, 1 << 20).toArray();
      int tasks = 1 + random.nextInt(bytes.length);
      List<List<Integer>> shares = SharedPartitions.shares(bytes, tasks, CORES);
      assertEquals(
          IntStream.range(0, bytes.length).boxed().toList(),
          shares.stream().flatMap(List::stream).toList(),
          () -> "seed " + seed);
      assertTrue(shares.size() <= tasks, () -> "seed " + seed);
      double most =
          shares.stream()
              .mapToDouble(share -> share.stream().mapToLong(each -> bytes[each]).sum())
              .max()
              .orElseThrow();
      double even = (double) LongStream.of(bytes).sum() / tasks;
      long largest = LongStream.of(bytes).max().orElseThrow();
      assertTrue(most <= even + largest, () -> "seed " + seed);
    }
  }
}
