package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * The steps of a {@link BlockProgram} that treat each element by itself, on the CPU, from a plane
 * to another or in place, in double precision whatever the type. Arrays have three axes here,
 * extents 1 first where there are fewer.
 */
final class HostPointwise {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private HostPointwise() {}

  /** What becomes of one element. */
  private interface Operation {
    double apply(double value, double ofRow, double ofColumn);
  }

  /** {@code value - (of axis 0 + of axis 1 + of axis 2)}. */
  static void subtract(State state, HostMemory from, HostMemory to, List<double[]> vectors) {
    each(state, from, to, padded(vectors, 0), Double::sum, (v, row, column) -> v - (row + column));
  }

  /** {@code value * (of axis 0 * of axis 1 * of axis 2)}. */
  static void scale(State state, HostMemory from, HostMemory to, List<double[]> vectors) {
    each(
        state,
        from,
        to,
        padded(vectors, 1),
        (a, b) -> a * b,
        (v, row, column) -> v * (row * column));
  }

  /** Zero where {@code of axis 0 + of axis 1 + of axis 2 > limit}. */
  static void keepUpTo(
      State state, HostMemory from, HostMemory to, List<double[]> vectors, double limit) {
    each(
        state,
        from,
        to,
        padded(vectors, 0),
        Double::sum,
        (v, row, column) -> row + column > limit ? 0 : v);
  }

  private static void each(
      State state,
      HostMemory from,
      HostMemory to,
      List<double[]> vectors,
      java.util.function.DoubleBinaryOperator join,
      Operation operation) {
    double[] columns = vectors.get(2);
    assert from.bytes() == to.bytes()
        && from.bytes()
            == (long) vectors.get(0).length
                * vectors.get(1).length
                * columns.length
                * state.type().bytes();
    long at = 0;
    for (double x : vectors.get(0)) {
      for (double y : vectors.get(1)) {
        double row = join.applyAsDouble(x, y);
        if (state.type() == ElementType.FLOAT32) {
          for (double column : columns) {
            double value = UNSAFE.getFloat(from.base(), from.offset() + at);
            UNSAFE.putFloat(
                to.base(), to.offset() + at, (float) operation.apply(value, row, column));
            at += Float.BYTES;
          }
        } else {
          for (double column : columns) {
            double value = UNSAFE.getDouble(from.base(), from.offset() + at);
            UNSAFE.putDouble(to.base(), to.offset() + at, operation.apply(value, row, column));
            at += Double.BYTES;
          }
        }
      }
    }
  }

  /** {@code (re re + im im) scale}, which may go where {@code re} is. */
  static void power(State state, HostMemory re, HostMemory im, HostMemory to, double scale) {
    int width = state.type().bytes();
    assert im.bytes() >= re.bytes() && re.bytes() % width == 0;
    for (long at = 0; at < re.bytes(); at += width) {
      if (state.type() == ElementType.FLOAT32) {
        double a = UNSAFE.getFloat(re.base(), re.offset() + at);
        double b = UNSAFE.getFloat(im.base(), im.offset() + at);
        UNSAFE.putFloat(to.base(), to.offset() + at, (float) ((a * a + b * b) * scale));
      } else {
        double a = UNSAFE.getDouble(re.base(), re.offset() + at);
        double b = UNSAFE.getDouble(im.base(), im.offset() + at);
        UNSAFE.putDouble(to.base(), to.offset() + at, (a * a + b * b) * scale);
      }
    }
  }

  /** Vectors of three axes; those of axes that are not there hold what changes nothing. */
  private static List<double[]> padded(List<double[]> vectors, double neutral) {
    List<double[]> three = new ArrayList<>(vectors);
    while (three.size() < 3) {
      three.add(0, new double[] {neutral});
    }
    return three;
  }
}
