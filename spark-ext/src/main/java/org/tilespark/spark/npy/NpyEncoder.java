package org.tilespark.spark.npy;

import org.tilespark.kernels.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Turns a column's numbers into those of a file, in bulk; the inverse of {@link NpyDecoder}.
 *
 * <p>To an integer type, values must be whole and in range. To a floating-point type they are
 * rounded to the nearest, ties to even, but what is finite must stay finite. A file's own type that
 * is restored ({@code exact}) must hold every value as it is. Callers have checked all ranges of
 * memory. Stateless.
 */
final class NpyEncoder {
  private static final Unsafe MEMORY = HostMemory.unsafe();

  /** 2^63, the first double above the range of long. */
  private static final double LONG_LIMIT = 0x1p63;

  private NpyEncoder() {}

  /**
   * Encodes one part of {@code count} elements.
   *
   * @param from the column's type
   * @param to the file's type
   * @param exact true if a rounded value is an error too
   * @param base the array that holds the numbers, or null if they lie off the heap
   * @param offset where in {@code base}, as {@link HostMemory} has it
   * @param out address of the first number; the next lies {@code to.elementBytes()} further
   * @return -1, or the index of the first value that the file's type cannot hold
   */
  static long encode(
      ElementType from, NpyType to, boolean exact, Object base, long offset, long out, long count) {
    if (NpyDecoder.isCopy(to, from)) {
      MEMORY.copyMemory(base, offset, null, out, count * from.bytes());
      return -1;
    }
    if (to.columnType() == from && !exact && to == NpyType.FLOAT16) {
      return rounded(from, to, base, offset, out, count);
    }
    if (to.columnType() == from) {
      return natural(to, base, offset, out, count);
    }
    return to.isInteger()
        ? integers(from, to, base, offset, out, count)
        : rounded(from, to, base, offset, out, count);
  }

  private static long natural(NpyType to, Object base, long offset, long out, long count) {
    switch (to) {
      case UINT8 -> {
        for (long i = 0; i < count; i++) {
          int value = MEMORY.getShort(base, offset + 2 * i);
          if (value != (value & 0xff)) {
            return i;
          }
          MEMORY.putByte(out + i, (byte) value);
        }
      }
      case UINT16 -> {
        for (long i = 0; i < count; i++) {
          int value = MEMORY.getInt(base, offset + 4 * i);
          if (value != (value & 0xffff)) {
            return i;
          }
          MEMORY.putShort(out + 2 * i, (short) value);
        }
      }
      case UINT32 -> {
        for (long i = 0; i < count; i++) {
          long value = MEMORY.getLong(base, offset + 8 * i);
          if (value != (value & 0xffffffffL)) {
            return i;
          }
          MEMORY.putInt(out + 4 * i, (int) value);
        }
      }
      case FLOAT16 -> {
        for (long i = 0; i < count; i++) {
          int bits = MEMORY.getInt(base, offset + 4 * i);
          short half = HalfFloat.fromFloatBits(bits);
          if (HalfFloat.toFloatBits(half) != bits && !Float.isNaN(Float.intBitsToFloat(bits))) {
            return i;
          }
          MEMORY.putShort(out + 2 * i, half);
        }
      }
      case COMPLEX64 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putInt(out + 8 * i, MEMORY.getInt(base, offset + 4 * i));
        }
      }
      case COMPLEX128 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putLong(out + 16 * i, MEMORY.getLong(base, offset + 8 * i));
        }
      }
      case INT8, INT16, INT32, INT64, FLOAT32, FLOAT64 ->
          throw new IllegalStateException(to + " is copied");
    }
    return -1;
  }

  private static long integers(
      ElementType from, NpyType to, Object base, long offset, long out, long count) {
    boolean floating = isFloating(from);
    for (long i = 0; i < count; i++) {
      long at = offset + i * from.bytes();
      long value;
      if (floating) {
        double real = floating(from, base, at);
        value = (long) real;
        if (real != (double) value || real >= LONG_LIMIT) {
          return i;
        }
      } else {
        value = integer(from, base, at);
      }
      if (value < min(to) || value > max(to)) {
        return i;
      }
      long target = out + i * to.partBytes();
      switch (to.partBytes()) {
        case 1 -> MEMORY.putByte(target, (byte) value);
        case 2 -> MEMORY.putShort(target, (short) value);
        case 4 -> MEMORY.putInt(target, (int) value);
        default -> MEMORY.putLong(target, value);
      }
    }
    return -1;
  }

  private static long rounded(
      ElementType from, NpyType to, Object base, long offset, long out, long count) {
    boolean floating = isFloating(from);
    for (long i = 0; i < count; i++) {
      long at = offset + i * from.bytes();
      long target = out + i * to.elementBytes();
      // A long keeps its low bits on the way to a float only if it does not pass through a double.
      long whole = floating ? 0 : integer(from, base, at);
      double value = floating ? floating(from, base, at) : (double) whole;
      boolean finite = !Double.isInfinite(value);
      if (to.partBytes() == 8) {
        MEMORY.putDouble(target, value);
      } else if (to.partBytes() == 4) {
        float single = floating ? (float) value : (float) whole;
        if (finite && Float.isInfinite(single)) {
          return i;
        }
        MEMORY.putFloat(target, single);
      } else {
        short half = HalfFloat.fromFloatBits(toOddFloatBits(value));
        if (finite && (half & 0x7fff) == 0x7c00) {
          return i;
        }
        MEMORY.putShort(target, half);
      }
    }
    return -1;
  }

  /**
   * The float next to {@code value} with an odd last bit if it is not exact, so that rounding it
   * once more gives what rounding the double at once would (Boldo and Melquiond, "Emulation of a
   * FMA and correctly rounded sums", 2008, section 3).
   */
  private static int toOddFloatBits(double value) {
    float single = (float) value;
    int bits = Float.floatToRawIntBits(single);
    if (Double.isNaN(value) || (double) single == value) {
      return bits;
    }
    boolean above = Math.abs((double) single) > Math.abs(value);
    return (above ? bits - 1 : bits) | 1;
  }

  /** Smallest value of an integer type. */
  static long min(NpyType type) {
    return switch (type) {
      case INT8 -> Byte.MIN_VALUE;
      case INT16 -> Short.MIN_VALUE;
      case INT32 -> Integer.MIN_VALUE;
      case INT64 -> Long.MIN_VALUE;
      case UINT8, UINT16, UINT32 -> 0;
      case FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 ->
          throw new IllegalArgumentException(type + " is no integer type");
    };
  }

  /** Largest value of an integer type. */
  static long max(NpyType type) {
    return switch (type) {
      case INT8 -> Byte.MAX_VALUE;
      case INT16 -> Short.MAX_VALUE;
      case INT32 -> Integer.MAX_VALUE;
      case INT64 -> Long.MAX_VALUE;
      case UINT8 -> 0xff;
      case UINT16 -> 0xffff;
      case UINT32 -> 0xffffffffL;
      case FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 ->
          throw new IllegalArgumentException(type + " is no integer type");
    };
  }

  /** The value at {@code at} as messages show it. */
  static String show(ElementType type, Object base, long at) {
    return isFloating(type)
        ? type == ElementType.FLOAT32
            ? Float.toString(MEMORY.getFloat(base, at))
            : Double.toString(MEMORY.getDouble(base, at))
        : Long.toString(integer(type, base, at));
  }

  private static boolean isFloating(ElementType type) {
    return type == ElementType.FLOAT32 || type == ElementType.FLOAT64;
  }

  private static long integer(ElementType type, Object base, long at) {
    return switch (type) {
      case INT8 -> MEMORY.getByte(base, at);
      case INT16 -> MEMORY.getShort(base, at);
      case INT32 -> MEMORY.getInt(base, at);
      case INT64 -> MEMORY.getLong(base, at);
      case FLOAT32, FLOAT64 -> throw new IllegalStateException(type + " is no integer type");
    };
  }

  private static double floating(ElementType type, Object base, long at) {
    return type == ElementType.FLOAT32 ? MEMORY.getFloat(base, at) : MEMORY.getDouble(base, at);
  }
}
