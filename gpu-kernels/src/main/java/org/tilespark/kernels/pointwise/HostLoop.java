package org.tilespark.kernels.pointwise;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;

/**
 * Applies one operator to arrays of numbers. Every operator gets its own copy of the loop's class,
 * in which the operator is a constant. So the JVM compiles a separate loop for it, with vector
 * instructions where possible. A class shared by all operators would make a call for each number.
 *
 * <p>INT8, INT16 and INT32 are {@code int[]} here, INT64 {@code long[]}, FLOAT32 {@code float[]},
 * FLOAT64 {@code double[]}. Safe for several threads.
 */
public abstract class HostLoop {
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

  /** For the copies of the classes below. */
  HostLoop() {}

  /**
   * Computes {@code count} numbers.
   *
   * @param x first operands
   * @param y second operands; any array for a function of one number
   * @param out results; may be an operand's array
   */
  public abstract void run(Object x, Object y, Object out, int count);

  /** An operator on two floats. */
  @FunctionalInterface
  interface FloatOperator {
    float apply(float x, float y);
  }

  /** A test of two integers. */
  @FunctionalInterface
  interface LongTest {
    boolean test(long x, long y);
  }

  /** A test of two floating-point numbers. */
  @FunctionalInterface
  interface DoubleTest {
    boolean test(double x, double y);
  }

  /** A loop of {@code operator} in a new class, a copy of {@code template}. */
  static HostLoop of(Class<? extends HostLoop> template, Object operator) {
    String file = template.getName().substring(template.getPackageName().length() + 1) + ".class";
    try (InputStream in = template.getResourceAsStream(file)) {
      MethodHandles.Lookup copy =
          LOOKUP.defineHiddenClassWithClassData(in.readAllBytes(), operator, true);
      return (HostLoop)
          copy.findConstructor(copy.lookupClass(), MethodType.methodType(void.class)).invoke();
    } catch (IOException | ReflectiveOperationException e) {
      throw new IllegalStateException("Cannot copy the class " + template, e);
    } catch (Throwable e) { // the constructor throws nothing
      throw new IllegalStateException("Cannot make a copy of " + template, e);
    }
  }

  /**
   * The operator of the copied class to which {@code lookup} belongs; that class is no nest mate of
   * this one, so the operator comes through {@code lookup}.
   */
  static <T> T operator(MethodHandles.Lookup lookup, Class<T> type) {
    try {
      return MethodHandles.classData(lookup, "_", type);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A loop over arrays of type {@code int[]}. */
  static final class Ints extends HostLoop {
    private static final IntBinaryOperator OPERATOR =
        operator(MethodHandles.lookup(), IntBinaryOperator.class);

    @Override
    public void run(Object x, Object y, Object out, int count) {
      int[] a = (int[]) x;
      int[] b = (int[]) y;
      int[] o = (int[]) out;
      for (int i = 0; i < count; i++) {
        o[i] = OPERATOR.applyAsInt(a[i], b[i]);
      }
    }
  }

  /** A loop over arrays of type {@code long[]}. */
  static final class Longs extends HostLoop {
    private static final LongBinaryOperator OPERATOR =
        operator(MethodHandles.lookup(), LongBinaryOperator.class);

    @Override
    public void run(Object x, Object y, Object out, int count) {
      long[] a = (long[]) x;
      long[] b = (long[]) y;
      long[] o = (long[]) out;
      for (int i = 0; i < count; i++) {
        o[i] = OPERATOR.applyAsLong(a[i], b[i]);
      }
    }
  }

  /** A loop over arrays of type {@code float[]}. */
  static final class Floats extends HostLoop {
    private static final FloatOperator OPERATOR =
        operator(MethodHandles.lookup(), FloatOperator.class);

    @Override
    public void run(Object x, Object y, Object out, int count) {
      float[] a = (float[]) x;
      float[] b = (float[]) y;
      float[] o = (float[]) out;
      for (int i = 0; i < count; i++) {
        o[i] = OPERATOR.apply(a[i], b[i]);
      }
    }
  }

  /** A loop over arrays of type {@code double[]}. */
  static final class Doubles extends HostLoop {
    private static final DoubleBinaryOperator OPERATOR =
        operator(MethodHandles.lookup(), DoubleBinaryOperator.class);

    @Override
    public void run(Object x, Object y, Object out, int count) {
      double[] a = (double[]) x;
      double[] b = (double[]) y;
      double[] o = (double[]) out;
      for (int i = 0; i < count; i++) {
        o[i] = OPERATOR.applyAsDouble(a[i], b[i]);
      }
    }
  }

  /** A test of numbers in {@code int[]}, with truths as results. */
  static final class IntTests extends HostLoop {
    private static final LongTest TEST = operator(MethodHandles.lookup(), LongTest.class);

    @Override
    public void run(Object x, Object y, Object out, int count) {
      int[] a = (int[]) x;
      int[] b = (int[]) y;
      int[] o = (int[]) out;
      for (int i = 0; i < count; i++) {
        o[i] = TEST.test(a[i], b[i]) ? 1 : 0;
      }
    }
  }

  /** A test of numbers in {@code long[]}, with truths as results. */
  static final class LongTests extends HostLoop {
    private static final LongTest TEST = operator(MethodHandles.lookup(), LongTest.class);

    @Override
    public void run(Object x, Object y, Object out, int count) {
      long[] a = (long[]) x;
      long[] b = (long[]) y;
      int[] o = (int[]) out;
      for (int i = 0; i < count; i++) {
        o[i] = TEST.test(a[i], b[i]) ? 1 : 0;
      }
    }
  }

  /** A test of numbers in {@code float[]}, with truths as results. */
  static final class FloatTests extends HostLoop {
    private static final DoubleTest TEST = operator(MethodHandles.lookup(), DoubleTest.class);

    @Override
    public void run(Object x, Object y, Object out, int count) {
      float[] a = (float[]) x;
      float[] b = (float[]) y;
      int[] o = (int[]) out;
      for (int i = 0; i < count; i++) {
        o[i] = TEST.test(a[i], b[i]) ? 1 : 0;
      }
    }
  }

  /** A test of numbers in {@code double[]}, with truths as results. */
  static final class DoubleTests extends HostLoop {
    private static final DoubleTest TEST = operator(MethodHandles.lookup(), DoubleTest.class);

    @Override
    public void run(Object x, Object y, Object out, int count) {
      double[] a = (double[]) x;
      double[] b = (double[]) y;
      int[] o = (int[]) out;
      for (int i = 0; i < count; i++) {
        o[i] = TEST.test(a[i], b[i]) ? 1 : 0;
      }
    }
  }
}
