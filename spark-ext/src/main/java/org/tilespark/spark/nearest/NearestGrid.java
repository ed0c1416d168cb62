package org.tilespark.spark.nearest;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Assigns the strips of both sides to tasks: each task compares one part of the left side with one
 * part of the right side. A part is some partitions of the shuffle of its side, which several tasks
 * may read. Immutable.
 *
 * @param left partitions of each part of the left side
 * @param right partitions of each part of the right side
 */
record NearestGrid(List<List<Integer>> left, List<List<Integer>> right) implements Serializable {
  /** Most bytes of the left side that a task should hold. */
  static final long MOST_LEFT_BYTES = 256L << 20;

  /** Fixed cost of merging winners, in bytes read. */
  private static final long MERGE_BYTES = 32L << 20;

  /**
   * The cheapest grid with a task for each core, by the bytes that tasks read.
   *
   * @param left bytes of each partition of the left side
   * @param right bytes of each partition of the right side
   * @param cores cores of the cluster
   * @param mergeFactor bytes of winners for each byte of the left side
   */
  static NearestGrid of(long[] left, long[] right, int cores, double mergeFactor) {
    long leftBytes = LongStream.of(left).sum();
    long rightBytes = LongStream.of(right).sum();
    long mostLeft = Math.max(1, LongStream.of(left).filter(bytes -> bytes > 0).count());
    long mostRight = Math.max(1, LongStream.of(right).filter(bytes -> bytes > 0).count());
    long tasks = Math.min(cores, mostLeft * mostRight);
    long leastLeft = Math.min(mostLeft, (leftBytes + MOST_LEFT_BYTES - 1) / MOST_LEFT_BYTES);
    double least = Double.POSITIVE_INFINITY;
    int parts = 1;
    int partsOfRight = 1;
    for (int q = 1; q <= Math.min(tasks, mostRight); q++) {
      long p = Math.max(Math.max(1, leastLeft), (tasks + q - 1) / q);
      if (p > mostLeft) {
        continue;
      }
      double merged = q == 1 ? 0 : MERGE_BYTES + mergeFactor * leftBytes * q;
      double cost = (double) q * leftBytes + (double) p * rightBytes + merged;
      if (cost < least) {
        least = cost;
        parts = (int) p;
        partsOfRight = q;
      }
    }
    return new NearestGrid(cut(left, parts), cut(right, partsOfRight));
  }

  /**
   * A grid with a task for each partition of the side that stays, together with the whole other
   * side.
   *
   * @param sendsRight true if the other side is the right one
   */
  static NearestGrid besides(boolean sendsRight, int partitions) {
    List<List<Integer>> parts = IntStream.range(0, partitions).mapToObj(List::of).toList();
    List<List<Integer>> whole = List.of(List.of());
    return sendsRight ? new NearestGrid(parts, whole) : new NearestGrid(whole, parts);
  }

  /** Groups neighbouring partitions into parts of about the same bytes. */
  private static List<List<Integer>> cut(long[] bytes, int parts) {
    double all = LongStream.of(bytes).asDoubleStream().sum();
    List<List<Integer>> cut = new ArrayList<>();
    IntStream.range(0, parts).forEach(part -> cut.add(new ArrayList<>()));
    double before = 0;
    for (int partition = 0; partition < bytes.length; partition++) {
      double middle = before + bytes[partition] / 2.0;
      int part = all == 0 ? 0 : (int) Math.min(parts - 1, middle / all * parts);
      cut.get(part).add(partition);
      before += bytes[partition];
    }
    return cut.stream().map(List::copyOf).toList();
  }

  /** Count of tasks. */
  int tasks() {
    return left.size() * right.size();
  }

  /** Numbers of the partitions of one side that each task reads, task by task. */
  List<List<Integer>> ofTasks(boolean ofRight) {
    return IntStream.range(0, tasks())
        .mapToObj(task -> ofRight ? right.get(task % right.size()) : left.get(task / right.size()))
        .toList();
  }

  /** True if a task has the first part of the right side. */
  boolean isFirst(int task) {
    return task % right.size() == 0;
  }

  /** True if winners of several tasks are merged. */
  boolean isMerged() {
    return right.size() > 1;
  }

  /** The text in metrics and logs: {@code 4 x 2}. */
  @Override
  public String toString() {
    return left.size() + " x " + right.size();
  }
}
