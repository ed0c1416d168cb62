package org.tilespark.spark.npy;

import org.tilespark.kernels.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Turns a file's numbers into those of the columns, in bulk. Addresses are off the heap; callers
 * have checked all ranges. Stateless.
 */
final class NpyDecoder {
  private static final Unsafe MEMORY = HostMemory.unsafe();

  private NpyDecoder() {}

  /** True if the columns hold the file's own bytes, up to their order inside a number. */
  static boolean isCopy(NpyType from, ElementType to) {
    return !from.isComplex() && NpyType.ofColumn(to, false) == from;
  }

  /** Reverses the bytes of each of {@code count} numbers of {@code width} bytes, in place. */
  static void swapBytes(long address, long count, int width) {
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
   * Decodes {@code count} elements.
   *
   * @param from the file's type; numbers are in the machine's byte order
   * @param to the columns' type: {@code from.columnType()}, FLOAT32 or FLOAT64
   * @param in {@code count * from.elementBytes()} bytes
   * @param values where to put the numbers (of complex types the real parts), or 0 not to
   * @param imag where to put the imaginary parts of complex types, or 0 not to
   */
  static void decode(NpyType from, ElementType to, long in, long values, long imag, long count) {
    if (values != 0) {
      part(from, to, in, values, count);
    }
    if (imag != 0) {
      part(from, to, in + from.partBytes(), imag, count);
    }
  }

  private static void part(NpyType from, ElementType to, long in, long out, long count) {
    if (isCopy(from, to)) {
      MEMORY.copyMemory(in, out, count * to.bytes());
    } else if (to == from.columnType()) {
      natural(from, in, out, count);
    } else if (from.isInteger()) {
      integers(from, to, in, out, count);
    } else {
      floats(from, to, in, out, count);
    }
  }

  private static void natural(NpyType from, long in, long out, long count) {
    switch (from) {
      case UINT8 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putShort(out + 2 * i, (short) (MEMORY.getByte(in + i) & 0xff));
        }
      }
      case UINT16 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putInt(out + 4 * i, MEMORY.getShort(in + 2 * i) & 0xffff);
        }
      }
      case UINT32 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putLong(out + 8 * i, MEMORY.getInt(in + 4 * i) & 0xffffffffL);
        }
      }
      case FLOAT16 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putInt(out + 4 * i, HalfFloat.toFloatBits(MEMORY.getShort(in + 2 * i)));
        }
      }
      case COMPLEX64 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putInt(out + 4 * i, MEMORY.getInt(in + 8 * i));
        }
      }
      case COMPLEX128 -> {
        for (long i = 0; i < count; i++) {
          MEMORY.putLong(out + 8 * i, MEMORY.getLong(in + 16 * i));
        }
      }
      case INT8, INT16, INT32, INT64, FLOAT32, FLOAT64 ->
          throw new IllegalStateException(from + " is copied");
    }
  }

  private static void integers(NpyType from, ElementType to, long in, long out, long count) {
    int width = from.partBytes();
    for (long i = 0; i < count; i++) {
      long value = integer(from, in + i * width);
      if (to == ElementType.FLOAT32) {
        MEMORY.putFloat(out + 4 * i, (float) value);
      } else {
        MEMORY.putDouble(out + 8 * i, (double) value);
      }
    }
  }

  private static void floats(NpyType from, ElementType to, long in, long out, long count) {
    int stride = from.elementBytes();
    for (long i = 0; i < count; i++) {
      double value = floating(from, in + i * stride);
      if (to == ElementType.FLOAT32) {
        MEMORY.putFloat(out + 4 * i, (float) value);
      } else {
        MEMORY.putDouble(out + 8 * i, value);
      }
    }
  }

  private static long integer(NpyType from, long at) {
    return switch (from) {
      case INT8 -> MEMORY.getByte(at);
      case INT16 -> MEMORY.getShort(at);
      case INT32 -> MEMORY.getInt(at);
      case INT64 -> MEMORY.getLong(at);
      case UINT8 -> MEMORY.getByte(at) & 0xff;
      case UINT16 -> MEMORY.getShort(at) & 0xffff;
      case UINT32 -> MEMORY.getInt(at) & 0xffffffffL;
      case FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128 ->
          throw new IllegalStateException(from + " is no integer type");
    };
  }

  private static double floating(NpyType from, long at) {
    return switch (from) {
      case FLOAT16 -> Float.intBitsToFloat(HalfFloat.toFloatBits(MEMORY.getShort(at)));
      case FLOAT32, COMPLEX64 -> MEMORY.getFloat(at);
      case FLOAT64, COMPLEX128 -> MEMORY.getDouble(at);
      case INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32 ->
          throw new IllegalStateException(from + " is an integer type");
    };
  }
}
