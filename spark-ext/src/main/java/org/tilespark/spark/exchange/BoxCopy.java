package org.tilespark.spark.exchange;

import java.util.Objects;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Copies a box of elements from one dense block to another, both of one array: run by run, where a
 * run is all that lies together in both. Stateless.
 */
public final class BoxCopy {
  /** Runs up to here are copied word by word, which is faster than a call. */
  private static final long SHORT_RUN_BYTES = 32;

  private BoxCopy() {}

  /**
   * Copies the box from {@code low} to {@code high}; all places are in elements of the whole array.
   *
   * @param source values of a row-major block
   * @param sourceLow its first element
   * @param sourceSize its elements along each axis; it holds the box
   * @param target values of another
   * @param targetLow its first element
   * @param targetSize its elements along each axis; it holds the box
   * @param width bytes of an element
   */
  static void copy(
      HostMemory source,
      long[] sourceLow,
      long[] sourceSize,
      HostMemory target,
      long[] targetLow,
      long[] targetSize,
      long[] low,
      long[] high,
      int width) {
    int rank = low.length;
    // Bytes between neighbours along each axis, and of the first element.
    long[] sourceStride = new long[rank];
    long[] targetStride = new long[rank];
    long from = 0;
    long to = 0;
    long sourceBytes = width;
    long targetBytes = width;
    for (int axis = rank - 1; axis >= 0; axis--) {
      sourceStride[axis] = sourceBytes;
      targetStride[axis] = targetBytes;
      from += (low[axis] - sourceLow[axis]) * sourceBytes;
      to += (low[axis] - targetLow[axis]) * targetBytes;
      sourceBytes *= sourceSize[axis];
      targetBytes *= targetSize[axis];
    }
    // Axes from the last one on that the box fills in both blocks join into one run.
    int outer = rank - 1;
    long run = (high[outer] - low[outer]) * width;
    while (outer > 0 && run == sourceStride[outer - 1] && run == targetStride[outer - 1]) {
      outer--;
      run *= high[outer] - low[outer];
    }
    long last = 0; // bytes from the first run's start to the last one's
    long lastTarget = 0;
    for (int axis = 0; axis < outer; axis++) {
      last += (high[axis] - low[axis] - 1) * sourceStride[axis];
      lastTarget += (high[axis] - low[axis] - 1) * targetStride[axis];
    }
    java.util.Objects.checkFromIndexSize(from, last + run, source.bytes());
    java.util.Objects.checkFromIndexSize(to, lastTarget + run, target.bytes());
    long[] index = new long[outer];
    while (true) {
      move(source, from, target, to, run);
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

  /**
   * Copies rows that lie apart.
   *
   * @param fromStart first byte read
   * @param fromPitch bytes from one row's start to the next one's
   * @param toStart first byte written
   * @param toPitch the same of the target
   * @param rowBytes length of each row
   * @param rows count of rows, 0 or more
   * @throws IndexOutOfBoundsException if a row does not lie in its range
   */
  public static void copyRows(
      HostMemory from,
      long fromStart,
      long fromPitch,
      HostMemory to,
      long toStart,
      long toPitch,
      long rowBytes,
      long rows) {
    if (rows == 0 || rowBytes == 0) {
      return;
    }
    Objects.checkFromIndexSize(fromStart, (rows - 1) * fromPitch + rowBytes, from.bytes());
    Objects.checkFromIndexSize(toStart, (rows - 1) * toPitch + rowBytes, to.bytes());
    Unsafe unsafe = HostMemory.unsafe();
    if (fromPitch == rowBytes && toPitch == rowBytes) {
      unsafe.copyMemory(
          from.base(),
          from.offset() + fromStart,
          to.base(),
          to.offset() + toStart,
          rows * rowBytes);
      return;
    }
    for (long row = 0; row < rows; row++) {
      unsafe.copyMemory(
          from.base(),
          from.offset() + fromStart + row * fromPitch,
          to.base(),
          to.offset() + toStart + row * toPitch,
          rowBytes);
    }
  }
}
