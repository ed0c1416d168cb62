package org.tilespark.kernels.host;

import java.util.Arrays;
import org.tilespark.layout.ElementType;

/**
 * Copies and conversions of the arrays that hold values of elementwise programs: {@code int[]} for
 * INT8, INT16 and INT32; {@code long[]}, {@code float[]} and {@code double[]} for the other types.
 * Each loop has one operation, so that the JVM can vectorise it.
 */
final class HostNumbers {
  private static final float INT_END = 0x1p31f;
  private static final float LONG_END = 0x1p63f;

  private HostNumbers() {}

  /** A new array for values of a type. */
  static Object array(ElementType type, int length) {
    return switch (type) {
      case INT8, INT16, INT32 -> new int[length];
      case INT64 -> new long[length];
      case FLOAT32 -> new float[length];
      case FLOAT64 -> new double[length];
    };
  }

  /** Sets all values to a constant, by its bits as in {@code Instruction.Constant}. */
  static void fill(ElementType type, Object values, long bits) {
    switch (type) {
      case INT8, INT16, INT32 -> Arrays.fill((int[]) values, (int) bits);
      case INT64 -> Arrays.fill((long[]) values, bits);
      case FLOAT32 -> Arrays.fill((float[]) values, Float.intBitsToFloat((int) bits));
      case FLOAT64 -> Arrays.fill((double[]) values, Double.longBitsToDouble(bits));
    }
  }

  /**
   * Copies the element at {@code at} to the following places, so that there are {@code count} of
   * it.
   */
  static void repeat(Object array, int at, int count) {
    if (array instanceof double[] a) {
      Arrays.fill(a, at, at + count, a[at]);
    } else if (array instanceof float[] a) {
      Arrays.fill(a, at, at + count, a[at]);
    } else if (array instanceof int[] a) {
      Arrays.fill(a, at, at + count, a[at]);
    } else if (array instanceof long[] a) {
      Arrays.fill(a, at, at + count, a[at]);
    } else if (array instanceof short[] a) {
      Arrays.fill(a, at, at + count, a[at]);
    } else {
      byte[] a = (byte[]) array;
      Arrays.fill(a, at, at + count, a[at]);
    }
  }

  /**
   * Converts bytes or shorts to ints; does nothing if {@code from} and {@code to} are one array.
   */
  static void widen(Object from, Object to, int count) {
    if (from instanceof byte[] a) {
      int[] o = (int[]) to;
      for (int i = 0; i < count; i++) {
        o[i] = a[i];
      }
    } else if (from instanceof short[] a) {
      int[] o = (int[]) to;
      for (int i = 0; i < count; i++) {
        o[i] = a[i];
      }
    }
  }

  /**
   * Converts ints to bytes or shorts; does nothing if {@code from} and {@code to} are one array.
   */
  static void narrow(Object from, Object to, int count) {
    if (to instanceof byte[] o) {
      int[] a = (int[]) from;
      for (int i = 0; i < count; i++) {
        o[i] = (byte) a[i];
      }
    } else if (to instanceof short[] o) {
      int[] a = (int[]) from;
      for (int i = 0; i < count; i++) {
        o[i] = (short) a[i];
      }
    }
  }

  /**
   * Puts {@code yes} into {@code to} where the condition is not 0, else {@code no}; the three
   * arrays have one type. Uses masks: a branch on random conditions takes many times as long.
   */
  static void select(int[] condition, Object yes, Object no, Object to, int count) {
    if (to instanceof double[] o) {
      double[] y = (double[]) yes;
      double[] n = (double[]) no;
      for (int i = 0; i < count; i++) {
        long other = Double.doubleToRawLongBits(n[i]);
        long difference = Double.doubleToRawLongBits(y[i]) ^ other;
        o[i] = Double.longBitsToDouble(other ^ (difference & mask(condition[i])));
      }
    } else if (to instanceof float[] o) {
      float[] y = (float[]) yes;
      float[] n = (float[]) no;
      for (int i = 0; i < count; i++) {
        int other = Float.floatToRawIntBits(n[i]);
        int difference = Float.floatToRawIntBits(y[i]) ^ other;
        o[i] = Float.intBitsToFloat(other ^ (difference & mask(condition[i])));
      }
    } else if (to instanceof int[] o) {
      int[] y = (int[]) yes;
      int[] n = (int[]) no;
      for (int i = 0; i < count; i++) {
        o[i] = n[i] ^ ((y[i] ^ n[i]) & mask(condition[i]));
      }
    } else {
      long[] o = (long[]) to;
      long[] y = (long[]) yes;
      long[] n = (long[]) no;
      for (int i = 0; i < count; i++) {
        o[i] = n[i] ^ ((y[i] ^ n[i]) & mask(condition[i]));
      }
    }
  }

  /** A mask with all bits set if the truth is not 0, otherwise with none. */
  private static int mask(int truth) {
    return (truth | -truth) >> 31;
  }

  /**
   * Converts values to a type as {@code Instruction.Cast} says; {@code to} is an array for values
   * of the type.
   */
  static void cast(Object from, ElementType type, Object to, int count) {
    switch (type) {
      case INT8 -> {
        int[] o = (int[]) to;
        toInts(from, o, count);
        for (int i = 0; i < count; i++) {
          o[i] = (byte) o[i];
        }
      }
      case INT16 -> {
        int[] o = (int[]) to;
        toInts(from, o, count);
        for (int i = 0; i < count; i++) {
          o[i] = (short) o[i];
        }
      }
      case INT32 -> toInts(from, (int[]) to, count);
      case INT64 -> toLongs(from, (long[]) to, count);
      case FLOAT32 -> toFloats(from, (float[]) to, count);
      case FLOAT64 -> toDoubles(from, (double[]) to, count);
    }
  }

  private static void toInts(Object from, int[] o, int count) {
    if (from instanceof double[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i] < INT_END ? (int) a[i] : Integer.MIN_VALUE;
      }
    } else if (from instanceof float[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i] < INT_END ? (int) a[i] : Integer.MIN_VALUE;
      }
    } else if (from instanceof long[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = (int) a[i];
      }
    } else {
      System.arraycopy(from, 0, o, 0, count);
    }
  }

  private static void toLongs(Object from, long[] o, int count) {
    if (from instanceof double[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i] < LONG_END ? (long) a[i] : Long.MIN_VALUE;
      }
    } else if (from instanceof float[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i] < LONG_END ? (long) a[i] : Long.MIN_VALUE;
      }
    } else if (from instanceof int[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i];
      }
    } else {
      System.arraycopy(from, 0, o, 0, count);
    }
  }

  private static void toFloats(Object from, float[] o, int count) {
    if (from instanceof double[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = (float) a[i];
      }
    } else if (from instanceof int[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i];
      }
    } else if (from instanceof long[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i];
      }
    } else {
      System.arraycopy(from, 0, o, 0, count);
    }
  }

  private static void toDoubles(Object from, double[] o, int count) {
    if (from instanceof float[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i];
      }
    } else if (from instanceof int[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i];
      }
    } else if (from instanceof long[] a) {
      for (int i = 0; i < count; i++) {
        o[i] = a[i];
      }
    } else {
      System.arraycopy(from, 0, o, 0, count);
    }
  }
}
