package org.tilespark.spark.numpy;

import java.util.Objects;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Converts numpy's elements to the numbers of columns, in bulk; the inverse of {@link NpyEncoder}.
 * Both may be on the heap or off it. Stateless.
 */
public final class NpyDecoder {
  private static final Unsafe MEMORY = HostMemory.unsafe();

  private NpyDecoder() {}

  /** True if the columns hold numpy's own bytes, except for the byte order. */
  public static boolean isCopy(NpyType from, ElementType to) {
    return !from.isComplex() && NpyType.ofColumn(to, false) == from;
  }

  /**
   * Reverses the bytes of each of {@code count} numbers of {@code width} bytes, in place and off
   * the heap.
   */
  public static void swapBytes(long address, long count, int width) {
    long end = address + count * width;
    switch (width) {
      case 1 -> {}
      case 2 -> {
        for (long at = address; at < end; at += 2) {
          MEMORY.putShort(at, Short.reverseBytes(MEMORY.getShort(at)));
        }
      }
      case 4 -> {
        for (long at = address; at < end; at += 4) {
          MEMORY.putInt(at, Integer.reverseBytes(MEMORY.getInt(at)));
        }
      }
      case 8 -> {
        for (long at = address; at < end; at += 8) {
          MEMORY.putLong(at, Long.reverseBytes(MEMORY.getLong(at)));
        }
      }
      default -> throw new IllegalArgumentException("Numbers of " + width + " bytes");
    }
  }

  /**
   * Decodes one part of some elements.
   *
   * @param from type of the elements; numbers are in the machine's byte order
   * @param to the column's type: {@code from.columnType()}, FLOAT32 or FLOAT64
   * @param elements memory of a whole number of elements
   * @param part 0 for values, 1 for the imaginary parts of complex types
   * @param numbers memory for the numbers: {@code to.bytes()} for each element
   * @throws IndexOutOfBoundsException if there is less room than the numbers take
   */
  public static void decode(
      NpyType from, ElementType to, HostMemory elements, int part, HostMemory numbers) {
    Objects.checkIndex(part, from.parts());
    long count = elements.bytes() / from.elementBytes();
    Objects.checkFromIndexSize(0, Math.multiplyExact(count, (long) to.bytes()), numbers.bytes());
    Object base = elements.base();
    long in = elements.offset() + (long) part * from.partBytes();
    Object target = numbers.base();
    long out = numbers.offset();
    if (isCopy(from, to)) {
      elements.copyTo(numbers);
    } else if (to == from.columnType()) {
      natural(from, base, in, target, out, count);
    } else if (from.isInteger()) {
      integers(from, to, base, in, target, out, count);
    } else {
      floats(from, to, base, in, target, out, count);
    }
  }

  private static void natural(
      NpyType from, Object base, long in, Object target, long out, long count) {
    switch (from) {
      case UINT8 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putShort(target, out + 2 * i, (short) (MEMORY.getByte(base, in + i) & 0xff));
        }
      }
      case BOOL -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putByte(target, out + i, (byte) (MEMORY.getByte(base, in + i) == 0 ? 0 : 1));
        }
      }
      case UINT16 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putInt(target, out + 4 * i, MEMORY.getShort(base, in + 2 * i) & 0xffff);
        }
      }
      case UINT32 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putLong(target, out + 8 * i, MEMORY.getInt(base, in + 4 * i) & 0xffffffffL);
        }
      }
      case FLOAT16 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putInt(
              target, out + 4 * i, HalfFloat.toFloatBits(MEMORY.getShort(base, in + 2 * i)));
        }
      }
      case COMPLEX64 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putInt(target, out + 4 * i, MEMORY.getInt(base, in + 8 * i));
        }
      }
      case COMPLEX128 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putLong(target, out + 8 * i, MEMORY.getLong(base, in + 16 * i));
        }
      }
      case INT8, INT16, INT32, INT64, FLOAT32, FLOAT64 ->
          throw new IllegalStateException(from + " is copied");
    }
  }

  private static void integers(
      NpyType from, ElementType to, Object base, long in, Object target, long out, long count) {
    int width = from.partBytes();
    for (long i = 0; i < count; i++) {
      long value = integer(from, base, in + i * width);
      if (to == ElementType.FLOAT32) {
        MEMORY.putFloat(target, out + 4 * i, (float) value);
      } else {
        MEMORY.putDouble(target, out + 8 * i, (double) value);
      }
    }
  }

  private static void floats(
      NpyType from, ElementType to, Object base, long in, Object target, long out, long count) {
    int stride = from.elementBytes();
    for (long i = 0; i < count; i++) {
      double value = floating(from, base, in + i * stride);
      if (to == ElementType.FLOAT32) {
        MEMORY.putFloat(target, out + 4 * i, (float) value);
      } else {
        MEMORY.putDouble(target, out + 8 * i, value);
      }
    }
  }

  private static long integer(NpyType from, Object base, long at) {
    return switch (from) {
      case INT8 -> MEMORY.getByte(base, at);
      case INT16 -> MEMORY.getShort(base, at);
      case INT32 -> MEMORY.getInt(base, at);
      case INT64 -> MEMORY.getLong(base, at);
      case BOOL -> MEMORY.getByte(base, at) == 0 ? 0 : 1;
      case UINT8 -> MEMORY.getByte(base, at) & 0xff;
      case UINT16 -> MEMORY.getShort(base, at) & 0xffff;
      case UINT32 -> MEMORY.getInt(base, at) & 0xffffffffL;
      case FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 ->
          throw new IllegalStateException(from + " is no integer type");
    };
  }

  private static double floating(NpyType from, Object base, long at) {
    return switch (from) {
      case FLOAT16 -> Float.intBitsToFloat(HalfFloat.toFloatBits(MEMORY.getShort(base, at)));
      case FLOAT32, COMPLEX64 -> MEMORY.getFloat(base, at);
      case FLOAT64, COMPLEX128 -> MEMORY.getDouble(base, at);
      case INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, BOOL ->
          throw new IllegalStateException(from + " is an integer type");
    };
  }

  /**
   * Replaces each value {@code v} by {@code slope * v + intercept}, computed in double.
   *
   * @param type FLOAT32 or FLOAT64
   */
  public static void scale(HostMemory values, ElementType type, double slope, double intercept) {
    Unsafe memory = HostMemory.unsafe();
    long at = values.offset();
    long end = at + values.bytes();
    if (type == ElementType.FLOAT64) {
      for (; at < end; at += Double.BYTES) {
        memory.putDouble(at, memory.getDouble(at) * slope + intercept);
      }
    } else {
      for (; at < end; at += Float.BYTES) {
        memory.putFloat(at, (float) (memory.getFloat(at) * slope + intercept));
      }
    }
  }
}
