package org.tilespark.spark.numpy;

import java.io.Serializable;
import java.util.Objects;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import sun.misc.Unsafe;

/**
 * Converts a column's numbers to numpy's elements, in bulk; the inverse of {@link NpyDecoder}. Both
 * may be on the heap or off it. Elements are little-endian.
 *
 * <p>For an integer type, values must be whole and in range. For a floating-point type they are
 * rounded to the nearest, ties to even, and finite values must stay finite.
 *
 * @param from the column's type
 * @param to the type of the elements
 * @param exact true if a rounded value is an error too, as when the type of the original file is
 *     restored
 */
public record NpyEncoder(ElementType from, NpyType to, boolean exact) implements Serializable {
  private static final Unsafe MEMORY = HostMemory.unsafe();

  /** 2^63, the first double above the range of long. */
  private static final double LONG_LIMIT = 0x1p63;

  private static final int HALF_INFINITY = 0x7c00;
  private static final int FLOAT_INFINITY = 0x7f800000;

  /** Checks that both types are given. */
  public NpyEncoder {
    Objects.requireNonNull(from);
    Objects.requireNonNull(to);
  }

  /**
   * Encodes one part of some elements.
   *
   * @param numbers numbers of the column, one for each element
   * @param elements memory for the elements: {@code to.elementBytes()} for each number, bytes of
   *     the other part are left unchanged
   * @param part 0 for values, 1 for the imaginary parts of complex types
   * @return -1, or the index of the first value that the type cannot hold
   * @throws IndexOutOfBoundsException if there is less room than the numbers take
   */
  public long encode(HostMemory numbers, HostMemory elements, int part) {
    Objects.checkIndex(part, to.parts());
    long count = numbers.bytes() / from.bytes();
    Objects.checkFromIndexSize(0, Math.multiplyExact(count, to.elementBytes()), elements.bytes());
    if (NpyDecoder.isCopy(to, from)) {
      numbers.copyTo(elements);
      return -1;
    }
    Object base = numbers.base();
    long at = numbers.offset();
    Object target = elements.base();
    long out = elements.offset() + (long) part * to.partBytes();
    if (to.columnType() == from) {
      return natural(base, at, target, out, count);
    }
    return to.isInteger()
        ? integers(base, at, target, out, count)
        : rounded(base, at, target, out, count);
  }

  private long natural(Object base, long offset, Object target, long out, long count) {
    switch (to) {
      case UINT8 -> {
        for (long i = 0; i < count; i++) {
          int value = MEMORY.getShort(base, offset + 2 * i);
          if (value != (value & 0xff)) {
            return i;
          }
          MEMORY.putByte(target, out + i, (byte) value);
        }
      }
      case BOOL -> {
        for (long i = 0; i < count; i++) {
          byte value = MEMORY.getByte(base, offset + i);
          if (value != (value & 1)) {
            return i;
          }
          MEMORY.putByte(target, out + i, value);
        }
      }
      case UINT16 -> {
        for (long i = 0; i < count; i++) {
          int value = MEMORY.getInt(base, offset + 4 * i);
          if (value != (value & 0xffff)) {
            return i;
          }
          MEMORY.putShort(target, out + 2 * i, (short) value);
        }
      }
      case UINT32 -> {
        for (long i = 0; i < count; i++) {
          long value = MEMORY.getLong(base, offset + 8 * i);
          if (value != (value & 0xffffffffL)) {
            return i;
          }
          MEMORY.putInt(target, out + 4 * i, (int) value);
        }
      }
      case FLOAT16 -> {
        for (long i = 0; i < count; i++) {
          int bits = MEMORY.getInt(base, offset + 4 * i);
          short half = HalfFloat.fromFloatBits(bits);
          if (exact
              ? HalfFloat.toFloatBits(half) != bits && !Float.isNaN(Float.intBitsToFloat(bits))
              : (half & 0x7fff) == HALF_INFINITY && (bits & 0x7fffffff) != FLOAT_INFINITY) {
            return i;
          }
          MEMORY.putShort(target, out + 2 * i, half);
        }
      }
      case COMPLEX64 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putInt(target, out + 8 * i, MEMORY.getInt(base, offset + 4 * i));
        }
      }
      case COMPLEX128 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putLong(target, out + 16 * i, MEMORY.getLong(base, offset + 8 * i));
        }
      }
      case INT8, INT16, INT32, INT64, FLOAT32, FLOAT64 ->
          throw new IllegalStateException(to + " is copied");
    }
    return -1;
  }

  private long integers(Object base, long offset, Object target, long out, long count) {
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
      long place = out + i * to.elementBytes();
      switch (to.partBytes()) {
        case 1 -> MEMORY.putByte(target, place, (byte) value);
        case 2 -> MEMORY.putShort(target, place, (short) value);
        case 4 -> MEMORY.putInt(target, place, (int) value);
        default -> MEMORY.putLong(target, place, value);
      }
    }
    return -1;
  }

  private long rounded(Object base, long offset, Object target, long out, long count) {
    boolean floating = isFloating(from);
    for (long i = 0; i < count; i++) {
      long at = offset + i * from.bytes();
      long place = out + i * to.elementBytes();
      // A long is converted to float directly, since a conversion through double would lose its low
      // bits.
      long whole = floating ? 0 : integer(from, base, at);
      double value = floating ? floating(from, base, at) : (double) whole;
      boolean finite = !Double.isInfinite(value);
      if (to.partBytes() == 8) {
        MEMORY.putDouble(target, place, value);
      } else if (to.partBytes() == 4) {
        float single = floating ? (float) value : (float) whole;
        if (finite && Float.isInfinite(single)) {
          return i;
        }
        MEMORY.putFloat(target, place, single);
      } else {
        short half = HalfFloat.fromFloatBits(toOddFloatBits(value));
        if (finite && (half & 0x7fff) == HALF_INFINITY) {
          return i;
        }
        MEMORY.putShort(target, place, half);
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

  /**
   * The message about a value that {@link #encode} did not accept: the value, its place, and a type
   * that would accept it.
   *
   * @param numbers numbers of the whole block
   * @param index index of the value among them
   * @param offset place of the block's first element, per axis
   * @param size extents of the block
   * @param remedy way to choose another type: {@code "the option dtype with another type"}
   */
  public String misfit(
      HostMemory numbers, int part, long index, long[] offset, long[] size, String remedy) {
    StringBuilder element = new StringBuilder();
    long rest = index;
    for (int axis = size.length - 1; axis >= 0; axis--) {
      element.insert(0, (axis == 0 ? "" : ", ") + (offset[axis] + rest % size[axis]));
      rest /= size[axis];
    }
    String range =
        to.isInteger()
            ? "whole numbers " + min(to) + " to " + max(to)
            : "values it can hold" + (exact ? " exactly" : " as finite numbers");
    return ("%s has %s at (%s), which %s%s does not hold; expected %s, or %s, such as %s")
        .formatted(
            part == 0 ? BlockKind.VALUES : BlockKind.IMAG,
            show(numbers.base(), numbers.offset() + index * from.bytes()),
            element,
            to.numpyName(),
            exact ? " (the type of the file that was read)" : "",
            range,
            remedy,
            NpyType.ofColumn(from, to.isComplex()).numpyName());
  }

  /** The smallest value of an integer type. */
  static long min(NpyType type) {
    return switch (type) {
      case INT8 -> Byte.MIN_VALUE;
      case INT16 -> Short.MIN_VALUE;
      case INT32 -> Integer.MIN_VALUE;
      case INT64 -> Long.MIN_VALUE;
      case UINT8, UINT16, UINT32, BOOL -> 0;
      case FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 ->
          throw new IllegalArgumentException(type + " is no integer type");
    };
  }

  /** The largest value of an integer type. */
  static long max(NpyType type) {
    return switch (type) {
      case INT8 -> Byte.MAX_VALUE;
      case INT16 -> Short.MAX_VALUE;
      case INT32 -> Integer.MAX_VALUE;
      case INT64 -> Long.MAX_VALUE;
      case BOOL -> 1;
      case UINT8 -> 0xff;
      case UINT16 -> 0xffff;
      case UINT32 -> 0xffffffffL;
      case FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 ->
          throw new IllegalArgumentException(type + " is no integer type");
    };
  }

  /** The value at {@code at} as messages show it. */
  private String show(Object base, long at) {
    return isFloating(from)
        ? from == ElementType.FLOAT32
            ? Float.toString(MEMORY.getFloat(base, at))
            : Double.toString(MEMORY.getDouble(base, at))
        : Long.toString(integer(from, base, at));
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
