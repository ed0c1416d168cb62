package org.tilespark.kernels.host;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Looks for NaN in numbers in memory, by their bits: without the sign, those of a NaN are above
 * those of infinity. Safe for several threads.
 */
public final class NanSearch {
  // Added to the bits of a number without its sign, each of these gives a negative integer only for
  // NaN.
  static final int FLOAT_CARRY = 0x007fffff;
  static final long DOUBLE_CARRY = 0x000fffffffffffffL;
  // Added likewise, this gives a negative integer for an infinite number too.
  private static final int NOT_FINITE_CARRY = 0x00800000;

  private static final long PAIR_MASK = 0x7fffffff7fffffffL;
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

  /** True if one of the values is NaN; integers never are. */
  public boolean hasNan(HostMemory values, ElementType type) {
    return switch (type) {
      case FLOAT32 -> hasNanFloat(values);
      case FLOAT64 -> hasNanDouble(values);
      case INT8, INT16, INT32, INT64 -> false;
    };
  }

  /** True if one of these floats is infinite or NaN. */
  public static boolean hasNotFiniteFloat(HostMemory values) {
    long at = values.offset();
    return hasFloatAbove(values.base(), at, at + values.bytes(), NOT_FINITE_CARRY);
  }

  /**
   * Copies numbers; true if one of them is NaN. Between arrays of bytes, each number is read once.
   *
   * @param from the numbers
   * @param to memory of as many bytes, which does not overlap {@code from}
   */
  public boolean copyHasNan(HostMemory from, HostMemory to, ElementType type) {
    boolean isFloating = type == ElementType.FLOAT32 || type == ElementType.FLOAT64;
    if (isVectorized
        && isFloating
        && from.bytes() == to.bytes()
        && from.base() instanceof byte[] source
        && to.base() instanceof byte[] target) {
      int size = (int) NanVectors.bound(from.bytes());
      int start = index(from);
      boolean hasNan =
          type == ElementType.FLOAT32
              ? NanVectors.copyHasNanFloat(source, start, target, index(to), size)
              : NanVectors.copyHasNanDouble(source, start, target, index(to), size);
      long rest = from.bytes() - size;
      return rest == 0
          ? hasNan
          : copyHasNanPlain(from.slice(size, rest), to.slice(size, rest), type) | hasNan;
    }
    return copyHasNanPlain(from, to, type);
  }

  private boolean copyHasNanPlain(HostMemory from, HostMemory to, ElementType type) {
    from.copyTo(to);
    return hasNan(to, type);
  }

  /** The index of a range's first byte in its array of bytes. */
  private static int index(HostMemory memory) {
    return (int) (memory.offset() - Unsafe.ARRAY_BYTE_BASE_OFFSET);
  }

  private boolean hasNanFloat(HostMemory values) {
    long done = 0;
    if (isVectorized && values.base() instanceof byte[] bytes) {
      int start = index(values);
      done = NanVectors.bound(values.bytes());
      if (NanVectors.hasNanFloat(bytes, start, start + (int) done)) {
        return true;
      }
    }
    long at = values.offset();
    return hasFloatAbove(values.base(), at + done, at + values.bytes(), FLOAT_CARRY);
  }

  /**
   * True if, for one of the floats from {@code at} to {@code end}, its bits without the sign plus
   * {@code carry} make a negative number.
   *
   * @param end end of the floats in memory, exclusive
   */
  private static boolean hasFloatAbove(Object base, long at, long end, int carry) {
    long pairCarry = (long) carry << 32 | carry;
    // Four sums, since the additions of one sum wait for each other.
    long a = 0;
    long b = 0;
    long c = 0;
    long d = 0;
    for (; at + 32 <= end; at += 32) {
      a |= (UNSAFE.getLong(base, at) & PAIR_MASK) + pairCarry;
      b |= (UNSAFE.getLong(base, at + 8) & PAIR_MASK) + pairCarry;
      c |= (UNSAFE.getLong(base, at + 16) & PAIR_MASK) + pairCarry;
      d |= (UNSAFE.getLong(base, at + 24) & PAIR_MASK) + pairCarry;
    }
    for (; at + 8 <= end; at += 8) {
      a |= (UNSAFE.getLong(base, at) & PAIR_MASK) + pairCarry;
    }
    return ((a | b | c | d) & PAIR_SIGNS) != 0
        || (at < end && (UNSAFE.getInt(base, at) & Integer.MAX_VALUE) + carry < 0);
  }

  private boolean hasNanDouble(HostMemory values) {
    long done = 0;
    if (isVectorized && values.base() instanceof byte[] bytes) {
      int start = index(values);
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
