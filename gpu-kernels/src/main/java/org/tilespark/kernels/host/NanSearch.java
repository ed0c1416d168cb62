package org.tilespark.kernels.host;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Looks for NaN in numbers as they lie in memory, by their bits: without the sign, those of a NaN
 * are above those of infinity. Safe for several threads.
 */
public final class NanSearch {
  // Added to the bits of a number without its sign, these make a negative number of a NaN alone.
  static final int FLOAT_CARRY = 0x007fffff;
  static final long DOUBLE_CARRY = 0x000fffffffffffffL;

  private static final long PAIR_MASK = 0x7fffffff7fffffffL;
  private static final long PAIR_CARRY = 0x007fffff007fffffL;
  private static final long PAIR_SIGNS = 0x8000000080000000L;
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private final boolean isVectorized;

  /**
   * @param isVectorized true if the JVM makes vector instructions of the Vector API
   */
  NanSearch(boolean isVectorized) {
    this.isVectorized = isVectorized;
  }

  /** The fastest search that this JVM can do. */
  public static NanSearch ofThisMachine() {
    return new NanSearch(Vectors.bits() > 0);
  }

  /** True if there is a NaN; integers are none. */
  public boolean hasNan(HostMemory values, ElementType type) {
    return switch (type) {
      case FLOAT32 -> hasNanFloat(values);
      case FLOAT64 -> hasNanDouble(values);
      case INT8, INT16, INT32, INT64 -> false;
    };
  }

  private boolean hasNanFloat(HostMemory values) {
    long done = 0;
    if (isVectorized && values.base() instanceof byte[] bytes) {
      int start = (int) (values.offset() - Unsafe.ARRAY_BYTE_BASE_OFFSET);
      done = NanVectors.bound(values.bytes());
      if (NanVectors.hasNanFloat(bytes, start, start + (int) done)) {
        return true;
      }
    }
    Object base = values.base();
    long at = values.offset() + done;
    long end = values.offset() + values.bytes();
    // Four sums, since each would wait for the one before it.
    long a = 0;
    long b = 0;
    long c = 0;
    long d = 0;
    for (; at + 32 <= end; at += 32) {
      a |= (UNSAFE.getLong(base, at) & PAIR_MASK) + PAIR_CARRY;
      b |= (UNSAFE.getLong(base, at + 8) & PAIR_MASK) + PAIR_CARRY;
      c |= (UNSAFE.getLong(base, at + 16) & PAIR_MASK) + PAIR_CARRY;
      d |= (UNSAFE.getLong(base, at + 24) & PAIR_MASK) + PAIR_CARRY;
    }
    for (; at + 8 <= end; at += 8) {
      a |= (UNSAFE.getLong(base, at) & PAIR_MASK) + PAIR_CARRY;
    }
    return ((a | b | c | d) & PAIR_SIGNS) != 0
        || (at < end && Float.isNaN(UNSAFE.getFloat(base, at)));
  }

  private boolean hasNanDouble(HostMemory values) {
    long done = 0;
    if (isVectorized && values.base() instanceof byte[] bytes) {
      int start = (int) (values.offset() - Unsafe.ARRAY_BYTE_BASE_OFFSET);
      done = NanVectors.bound(values.bytes());
      if (NanVectors.hasNanDouble(bytes, start, start + (int) done)) {
        return true;
      }
    }
    Object base = values.base();
    long end = values.offset() + values.bytes();
    long found = 0;
    for (long at = values.offset() + done; at < end; at += 8) {
      found |= (UNSAFE.getLong(base, at) & Long.MAX_VALUE) + DOUBLE_CARRY;
    }
    return found < 0;
  }
}
