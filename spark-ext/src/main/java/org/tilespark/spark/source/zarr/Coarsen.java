package org.tilespark.spark.source.zarr;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Reduces boxes of neighbouring elements to one element each: their mean, or the first of them.
 * Sums of integers are exact, and their mean is rounded to the nearest, ties to even. Boxes at the
 * far edges are clipped to the array. Axes before the last three have the factor 1. Stateless.
 */
final class Coarsen {
  private static final Unsafe MEMORY = HostMemory.unsafe();

  private Coarsen() {}

  /**
   * A dense box of elements, row-major, outside the heap.
   *
   * @param address address of the box's first byte
   * @param size elements of the box along each axis
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Box(long address, long[] size) {}

  /**
   * Coarsens a box.
   *
   * @param factors number of elements along each axis that become one element
   * @param first true to take the first element of each box, false for their mean
   * @param to receives an element for each box of neighbours
   */
  static void run(ElementType type, Box from, long[] factors, boolean first, Box to) {
    int rank = from.size.length;
    long[] place = new long[rank];
    int width = type.bytes();
    long out = to.address;
    while (true) {
      long[] high = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        high[axis] = Math.min(from.size[axis], (place[axis] + 1) * factors[axis]);
      }
      put(type, from, factors, place, first ? null : high, out);
      out += width;
      int axis = rank - 1;
      while (axis >= 0 && ++place[axis] == to.size[axis]) {
        place[axis] = 0;
        axis--;
      }
      if (axis < 0) {
        return;
      }
    }
  }

  /**
   * @param high ends of the box of neighbours; null to take the first of them
   */
  private static void put(
      ElementType type, Box from, long[] factors, long[] place, long[] high, long out) {
    boolean isFloating = type == ElementType.FLOAT32 || type == ElementType.FLOAT64;
    int rank = place.length;
    int width = type.bytes();
    long rows = rank >= 3 ? from.size[rank - 2] : 1;
    long cols = from.size[rank - 1];
    long before = 0; // index of the volume, whose leading axes are not coarsened
    for (int axis = 0; axis < rank - 3; axis++) {
      before = before * from.size[axis] + place[axis];
    }
    before *= rank >= 3 ? from.size[rank - 3] : 0;
    long x0 = rank >= 3 ? before + place[rank - 3] * factors[rank - 3] : 0;
    long y0 = place[rank - 2] * factors[rank - 2];
    long z0 = place[rank - 1] * factors[rank - 1];
    if (high == null) {
      MEMORY.copyMemory(from.address + ((x0 * rows + y0) * cols + z0) * width, out, width);
      return;
    }
    long x1 = rank >= 3 ? before + high[rank - 3] : 1;
    double sum = 0;
    long upper = 0; // sums of the upper and lower 32 bits
    long lower = 0;
    for (long x = x0; x < x1; x++) {
      for (long y = y0; y < high[rank - 2]; y++) {
        long at = from.address + ((x * rows + y) * cols + z0) * width;
        for (long z = z0; z < high[rank - 1]; z++, at += width) {
          if (isFloating) {
            sum += type == ElementType.FLOAT32 ? MEMORY.getFloat(at) : MEMORY.getDouble(at);
          } else {
            long value = integer(type, at);
            upper += value >> 32;
            lower += value & 0xffffffffL;
          }
        }
      }
    }
    long count = (x1 - x0) * (high[rank - 2] - y0) * (high[rank - 1] - z0);
    switch (type) {
      case FLOAT32 -> MEMORY.putFloat(out, (float) (sum / count));
      case FLOAT64 -> MEMORY.putDouble(out, sum / count);
      case INT8 -> MEMORY.putByte(out, (byte) mean(upper, lower, count));
      case INT16 -> MEMORY.putShort(out, (short) mean(upper, lower, count));
      case INT32 -> MEMORY.putInt(out, (int) mean(upper, lower, count));
      case INT64 -> MEMORY.putLong(out, mean(upper, lower, count));
    }
  }

  private static long integer(ElementType type, long at) {
    return switch (type) {
      case INT8 -> MEMORY.getByte(at);
      case INT16 -> MEMORY.getShort(at);
      case INT32 -> MEMORY.getInt(at);
      case INT64 -> MEMORY.getLong(at);
      case FLOAT32, FLOAT64 -> throw new IllegalStateException(type + " is no integer type");
    };
  }

  /** The mean of {@code count} numbers of the sum {@code upper * 2^32 + lower}, rounded. */
  private static long mean(long upper, long lower, long count) {
    long whole = Math.floorDiv(upper, count);
    long rest = (Math.floorMod(upper, count) << 32) + lower;
    long mean = (whole << 32) + Math.floorDiv(rest, count);
    long twice = 2 * Math.floorMod(rest, count);
    boolean isUp = twice > count || (twice == count && (mean & 1) != 0);
    return isUp ? mean + 1 : mean;
  }
}
