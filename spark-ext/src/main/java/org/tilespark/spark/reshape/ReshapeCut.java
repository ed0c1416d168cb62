package org.tilespark.spark.reshape;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.tilespark.layout.Shape;

/**
 * A cut of an array in which each block is also a block of the array in another shape, with its
 * values in the same order. A pure function of the two shapes.
 *
 * <p>Axes fall into groups of equal counts of elements: {@code (4, 5, 6)} and {@code (20, 6)} into
 * {@code (4, 5) -> (20)} and {@code (6) -> (6)}. Within a group a block is a run of elements along
 * one axis, with all of the axes after it and one element of those before it, in both shapes. So
 * the length of the runs must be a multiple of the number of elements of the later axes; unless the
 * axis is the first, it must also divide the axis, so that no run crosses its end.
 *
 * @param from shape of a full block of the array in its given shape
 * @param to shape of a full block of the array in its other shape
 */
record ReshapeCut(Shape from, Shape to) {
  /** Runs of at least this number of elements may be much shorter than wanted. */
  private static final long FEW = 4096;

  private static final long SHORTER = 16;

  /** Largest divisor that is tried. */
  private static final long MOST_TRIED = 1L << 22;

  /**
   * A range of axes of one shape and one of the other, with equal counts of elements; ends are
   * exclusive.
   */
  private record Group(int from, int fromEnd, int to, int toEnd) {}

  /**
   * A cut for two shapes of equally many elements, at least one.
   *
   * @param source given extents of the array
   * @param target extents of the array in its other shape
   * @param like wanted extents of blocks in the given shape
   * @param most most elements of a block
   * @return empty if runs would be too short or too long
   */
  static Optional<ReshapeCut> of(Shape source, Shape target, Shape like, long most) {
    long[] from = new long[source.rank()];
    long[] to = new long[target.rank()];
    long left = most;
    List<Group> plain = new ArrayList<>();
    for (Group group : groups(source, target)) {
      if (isPlain(group, source, target)) {
        plain.add(group);
        continue;
      }
      long[] extents = Arrays.copyOfRange(source.toArray(), group.from, group.fromEnd);
      long[] others = Arrays.copyOfRange(target.toArray(), group.to, group.toEnd);
      long wanted = 1;
      for (int axis = group.from; axis < group.fromEnd; axis++) {
        wanted *= Math.min(like.extent(axis), source.extent(axis));
      }
      Optional<Long> run = run(extents, others, Math.min(wanted, left), left);
      if (run.isEmpty()) {
        return Optional.empty();
      }
      left /= run.get();
      System.arraycopy(block(extents, run.get()), 0, from, group.from, extents.length);
      System.arraycopy(block(others, run.get()), 0, to, group.to, others.length);
    }
    for (Group group : plain) {
      Arrays.fill(from, group.from, group.fromEnd, 1);
      Arrays.fill(to, group.to, group.toEnd, 1);
      for (int axis = group.from; axis < group.fromEnd; axis++) {
        if (source.extent(axis) > 1) {
          from[axis] =
              Math.max(1, Math.min(Math.min(like.extent(axis), source.extent(axis)), left));
          left = Math.max(1, left / from[axis]);
          for (int other = group.to; other < group.toEnd; other++) {
            to[other] = target.extent(other) > 1 ? from[axis] : 1;
          }
        }
      }
    }
    return Optional.of(new ReshapeCut(Shape.of(from), Shape.of(to)));
  }

  /**
   * The place and size in the other shape of a block with the same values.
   *
   * @param source given extents of the array
   * @param target extents of the array in its other shape
   * @param low place of the block's first element
   * @param size elements of the block along each axis
   * @return the place along each axis of the other shape, then the sizes
   */
  static long[] moved(Shape source, Shape target, long[] low, long[] size) {
    int rank = target.rank();
    long[] moved = new long[2 * rank];
    for (Group group : groups(source, target)) {
      long first = 0;
      long count = 1;
      for (int axis = group.from; axis < group.fromEnd; axis++) {
        first = first * source.extent(axis) + low[axis];
        count *= size[axis];
      }
      for (int axis = group.toEnd - 1; axis >= group.to; axis--) {
        long extent = target.extent(axis);
        moved[axis] = first % extent;
        first /= extent;
        moved[rank + axis] = Math.min(extent, count);
        count /= moved[rank + axis];
      }
    }
    return moved;
  }

  /** The smallest groups, in order. Trailing axes of extent 1 belong to the last group. */
  private static List<Group> groups(Shape source, Shape target) {
    List<Group> groups = new ArrayList<>();
    int from = 0;
    int to = 0;
    while (from < source.rank() && to < target.rank()) {
      int firstFrom = from;
      int firstTo = to;
      long one = source.extent(from++);
      long two = target.extent(to++);
      while (one != two) {
        if (one < two) {
          one *= source.extent(from++);
        } else {
          two *= target.extent(to++);
        }
      }
      boolean isLast =
          IntStream.range(from, source.rank()).allMatch(axis -> source.extent(axis) == 1)
              && IntStream.range(to, target.rank()).allMatch(axis -> target.extent(axis) == 1);
      if (isLast) {
        from = source.rank();
        to = target.rank();
      }
      groups.add(new Group(firstFrom, from, firstTo, to));
    }
    return groups;
  }

  /** True if the group is one axis in both shapes, except for axes of extent 1. */
  private static boolean isPlain(Group group, Shape source, Shape target) {
    return IntStream.range(group.from, group.fromEnd)
                .filter(axis -> source.extent(axis) > 1)
                .count()
            <= 1
        && IntStream.range(group.to, group.toEnd).filter(axis -> target.extent(axis) > 1).count()
            <= 1;
  }

  /** The length of runs closest to the wanted one; empty if that is not close enough. */
  private static Optional<Long> run(long[] source, long[] target, long wanted, long most) {
    long total = Arrays.stream(source).reduce(1, (a, b) -> a * b);
    long best = 0;
    for (int i = 0; i < source.length; i++) {
      for (int j = 0; j < target.length; j++) {
        long one = behind(source, i);
        long two = behind(target, j);
        double least = (double) one / gcd(one, two) * two; // may exceed the range of long
        if (least > Math.min(most, total)) {
          continue;
        }
        long unit = one / gcd(one, two) * two;
        long all = gcd(bound(source, i), bound(target, j));
        if (all == 0) { // if the axis is the first in both shapes, runs may end anywhere
          best = closer(best, Math.max(1, wanted / unit) * unit, wanted, total);
          best = closer(best, (wanted / unit + 1) * unit, wanted, Math.min(most, total));
        } else if (all % unit == 0) {
          long times = all / unit;
          for (long d = 1; d <= MOST_TRIED && d * d <= times; d++) {
            if (times % d == 0) {
              best = closer(best, d * unit, wanted, most);
              best = closer(best, times / d * unit, wanted, most);
            }
          }
        }
      }
    }
    boolean isUseful = best > 0 && (best >= FEW || best >= wanted / SHORTER);
    return isUseful ? Optional.of(best) : Optional.empty();
  }

  /**
   * The number that a run's length along an axis must divide; 0 for no condition, if all earlier
   * axes have extent 1.
   */
  private static long bound(long[] extents, int axis) {
    boolean isFirst = Arrays.stream(extents, 0, axis).allMatch(extent -> extent == 1);
    return isFirst ? 0 : behind(extents, axis) * extents[axis];
  }

  /**
   * The better of two lengths: the one with the smaller ratio to the wanted length, if it is not
   * too long.
   */
  private static long closer(long best, long other, long wanted, long most) {
    if (other > most) {
      return best;
    }
    double ratio = Math.abs(Math.log((double) other / wanted));
    return best == 0 || ratio < Math.abs(Math.log((double) best / wanted)) ? other : best;
  }

  /** The shape of a block that is a run of {@code run} elements. */
  private static long[] block(long[] extents, long run) {
    long[] block = new long[extents.length];
    long left = run;
    for (int axis = extents.length - 1; axis >= 0; axis--) {
      block[axis] = Math.min(extents[axis], left);
      left = Math.max(1, left / block[axis]);
    }
    return block;
  }

  /** Count of elements of all axes after one axis. */
  private static long behind(long[] extents, int axis) {
    long product = 1;
    for (int inner = axis + 1; inner < extents.length; inner++) {
      product *= extents[inner];
    }
    return product;
  }

  private static long gcd(long a, long b) {
    return b == 0 ? a : gcd(b, a % b);
  }
}
