package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;

/** Boxes copied between blocks, against a copy element by element. */
class BoxCopyTest {
  @Test
  void copiesTheBoxAndNothingElse() {
    Random random = new Random(1);
    for (int round = 0; round < 3000; round++) {
      int rank = 1 + random.nextInt(3);
      int width = 1 << random.nextInt(4);
      int most = random.nextInt(4) == 0 ? 40 : 8; // short runs and long ones
      long[] low = new long[rank];
      long[] high = new long[rank];
      long[] sourceLow = new long[rank];
      long[] targetLow = new long[rank];
      long[] sourceSize = new long[rank];
      long[] targetSize = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        low[axis] = 100L + random.nextInt(50);
        high[axis] = low[axis] + 1 + random.nextInt(most);
        // Often without a margin, so that axes join into one run.
        sourceLow[axis] = low[axis] - margin(random);
        targetLow[axis] = low[axis] - margin(random);
        sourceSize[axis] = high[axis] + margin(random) - sourceLow[axis];
        targetSize[axis] = high[axis] + margin(random) - targetLow[axis];
      }
      byte[] source = new byte[Math.toIntExact(product(sourceSize)) * width];
      random.nextBytes(source);
      byte[] target = new byte[Math.toIntExact(product(targetSize)) * width];
      random.nextBytes(target);
      byte[] expected = target.clone();
      for (long[] at = low.clone(); at != null; at = next(at, low, high)) {
        System.arraycopy(
            source,
            index(at, sourceLow, sourceSize) * width,
            expected,
            index(at, targetLow, targetSize) * width,
            width);
      }
      boolean offHeap = random.nextBoolean();
      ByteBuffer direct = ByteBuffer.allocateDirect(source.length).put(source);
      BoxCopy.copy(
          new BoxCopy.Block(
              offHeap ? HostMemory.ofDirectBuffer(direct) : HostMemory.ofArray(source),
              sourceLow,
              sourceSize),
          new BoxCopy.Block(HostMemory.ofArray(target), targetLow, targetSize),
          low,
          high,
          width);
      assertArrayEquals(
          expected, target, () -> Arrays.toString(low) + " to " + Arrays.toString(high));
    }
  }

  /** Reversed, repeated and moved along each axis. */
  @Test
  void copiesInOtherOrders() {
    Random random = new Random(2);
    for (int round = 0; round < 3000; round++) {
      int rank = 1 + random.nextInt(3);
      int width = 1 << random.nextInt(4);
      long[] low = new long[rank];
      long[] high = new long[rank];
      long[] from = new long[rank];
      int[] step = new int[rank];
      long[] sourceLow = new long[rank];
      long[] targetLow = new long[rank];
      long[] sourceSize = new long[rank];
      long[] targetSize = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        low[axis] = random.nextInt(50) - 25L;
        long size = 1L + random.nextInt(6);
        high[axis] = low[axis] + size;
        step[axis] = random.nextInt(3) - 1;
        sourceLow[axis] = 100L + random.nextInt(9);
        long first = sourceLow[axis] + margin(random);
        long span = step[axis] == 0 ? 1 : size;
        from[axis] = step[axis] < 0 ? first + span - 1 : first;
        sourceSize[axis] = first + span + margin(random) - sourceLow[axis];
        targetLow[axis] = low[axis] - margin(random);
        targetSize[axis] = high[axis] + margin(random) - targetLow[axis];
      }
      byte[] source = new byte[Math.toIntExact(product(sourceSize)) * width];
      random.nextBytes(source);
      byte[] target = new byte[Math.toIntExact(product(targetSize)) * width];
      byte[] expected = target.clone();
      long[] origin = new long[rank];
      for (long[] at = low.clone(); at != null; at = next(at, low, high)) {
        for (int axis = 0; axis < rank; axis++) {
          origin[axis] = from[axis] + step[axis] * (at[axis] - low[axis]);
        }
        System.arraycopy(
            source,
            index(origin, sourceLow, sourceSize) * width,
            expected,
            index(at, targetLow, targetSize) * width,
            width);
      }
      BoxCopy.copy(
          new BoxCopy.Block(HostMemory.ofArray(source), sourceLow, sourceSize),
          new BoxCopy.Origin(from, step),
          new BoxCopy.Block(HostMemory.ofArray(target), targetLow, targetSize),
          low,
          high,
          width);
      assertArrayEquals(
          expected, target, () -> Arrays.toString(from) + " by " + Arrays.toString(step));
    }
  }

  @Test
  void neverReadsOutside() {
    byte[] bytes = new byte[16];
    for (int step : new int[] {-1, 1}) {
      assertThrows(
          IndexOutOfBoundsException.class,
          () ->
              BoxCopy.copy(
                  new BoxCopy.Block(HostMemory.ofArray(bytes), new long[1], new long[] {16}),
                  new BoxCopy.Origin(new long[] {step < 0 ? 6 : 9}, new int[] {step}),
                  new BoxCopy.Block(HostMemory.ofArray(new byte[8]), new long[1], new long[] {8}),
                  new long[] {0},
                  new long[] {8},
                  1));
    }
  }

  @Test
  void neverWritesOutside() {
    long[] zero = {0, 0};
    assertThrows(
        IndexOutOfBoundsException.class,
        () ->
            BoxCopy.copy(
                new BoxCopy.Block(HostMemory.ofArray(new byte[16]), zero, new long[] {4, 4}),
                new BoxCopy.Block(HostMemory.ofArray(new byte[15]), zero, new long[] {4, 4}),
                zero,
                new long[] {4, 4},
                1));
  }

  private static long margin(Random random) {
    return Math.max(0, random.nextInt(5) - 2);
  }

  private static long product(long[] size) {
    return Arrays.stream(size).reduce(1, (a, b) -> a * b);
  }

  private static int index(long[] at, long[] low, long[] size) {
    long index = 0;
    for (int axis = 0; axis < at.length; axis++) {
      index = index * size[axis] + at[axis] - low[axis];
    }
    return (int) index;
  }

  private static long[] next(long[] at, long[] low, long[] high) {
    for (int axis = at.length - 1; axis >= 0; axis--) {
      if (++at[axis] < high[axis]) {
        return at;
      }
      at[axis] = low[axis];
    }
    return null;
  }
}
