package org.tilespark.spark.block;

import java.util.Arrays;
import java.util.Objects;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Copies a box of elements from one dense block to another: run by run, where a run is contiguous
 * in both. Stateless.
 */
public final class BoxCopy {
  /** Longest runs that are copied word by word, which is faster than a call of copyMemory. */
  private static final long SHORT_RUN_BYTES = 32;

  private BoxCopy() {}

  /**
   * A block in memory.
   *
   * @param values the block's elements, row-major
   * @param low place of the block's first element in the array
   * @param size the block's extents
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record Block(HostMemory values, long[] low, long[] size) {}

  /**
   * The source of a box's elements.
   *
   * @param low place in the source array of the box's first element
   * @param step steps in the source from one element of the box to the next, along each axis: 1, -1
   *     for the reverse order, or 0 to repeat one element
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record Origin(long[] low, int[] step) {
    /** An origin in the same array: each element is copied from its own place. */
    static Origin same(long[] low) {
      int[] step = new int[low.length];
      Arrays.fill(step, 1);
      return new Origin(low, step);
    }
  }

  /**
   * Copies the box from {@code low} to {@code high}, places in the whole array; both blocks hold
   * the box.
   *
   * @param width bytes of an element
   */
  public static void copy(Block source, Block target, long[] low, long[] high, int width) {
    copy(source, Origin.same(low), target, low, high, width);
  }

  /**
   * Copies elements to the box from {@code low} to {@code high}, places in the target's array.
   *
   * @param origin places of the box's elements in the source's array
   * @param width bytes of an element
   */
  public static void copy(
      Block source, Origin origin, Block target, long[] low, long[] high, int width) {
    int rank = low.length;
    // Distance in bytes between neighbours along each axis; then the place in bytes of the first
    // element.
    long[] sourceStride = new long[rank];
    long[] targetStride = new long[rank];
    long from = 0;
    long to = 0;
    long sourceBytes = width;
    long targetBytes = width;
    for (int axis = rank - 1; axis >= 0; axis--) {
      sourceStride[axis] = sourceBytes * origin.step[axis];
      targetStride[axis] = targetBytes;
      from += (origin.low[axis] - source.low[axis]) * sourceBytes;
      to += (low[axis] - target.low[axis]) * targetBytes;
      sourceBytes *= source.size[axis];
      targetBytes *= target.size[axis];
    }
    // The innermost axes that the box fills in both blocks form one run.
    int outer = rank;
    long run = width;
    while (outer > 0 && run == sourceStride[outer - 1] && run == targetStride[outer - 1]) {
      outer--;
      run *= high[outer] - low[outer];
    }
    long before = 0; // bytes from the first run's start back to the start of the lowest run
    long last = 0; // bytes from the first run's start on to the start of the highest run
    long lastTarget = 0;
    for (int axis = 0; axis < outer; axis++) {
      long span = (high[axis] - low[axis] - 1) * sourceStride[axis];
      before += Math.max(0, -span);
      last += Math.max(0, span);
      lastTarget += (high[axis] - low[axis] - 1) * targetStride[axis];
    }
    Objects.checkFromIndexSize(from - before, before + last + run, source.values.bytes());
    Objects.checkFromIndexSize(to, lastTarget + run, target.values.bytes());
    long[] index = new long[outer];
    while (true) {
      move(source.values, from, target.values, to, run);
      int axis = outer - 1;
      while (axis >= 0 && ++index[axis] == high[axis] - low[axis]) {
        from -= (index[axis] - 1) * sourceStride[axis];
        to -= (index[axis] - 1) * targetStride[axis];
        index[axis] = 0;
        axis--;
      }
      if (axis < 0) {
        return;
      }
      from += sourceStride[axis];
      to += targetStride[axis];
    }
  }

  private static void move(HostMemory source, long from, HostMemory target, long to, long bytes) {
    Unsafe unsafe = HostMemory.unsafe();
    long in = source.offset() + from;
    long out = target.offset() + to;
    if (bytes > SHORT_RUN_BYTES) {
      unsafe.copyMemory(source.base(), in, target.base(), out, bytes);
      return;
    }
    long done = 0;
    for (; done + 8 <= bytes; done += 8) {
      unsafe.putLong(target.base(), out + done, unsafe.getLong(source.base(), in + done));
    }
    if ((bytes & 4) != 0) {
      unsafe.putInt(target.base(), out + done, unsafe.getInt(source.base(), in + done));
      done += 4;
    }
    if ((bytes & 2) != 0) {
      unsafe.putShort(target.base(), out + done, unsafe.getShort(source.base(), in + done));
      done += 2;
    }
    if ((bytes & 1) != 0) {
      unsafe.putByte(target.base(), out + done, unsafe.getByte(source.base(), in + done));
    }
  }
}
