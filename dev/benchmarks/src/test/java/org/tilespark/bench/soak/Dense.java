package org.tilespark.bench.soak;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.UnaryOperator;

/**
 * A dense array, and what plain loops make of it.
 *
 * @param extents 2 or 3
 * @param values row-major; of complex numbers the real parts
 * @param imag the imaginary parts, of complex numbers only
 */
record Dense(long[] extents, double[] values, Optional<double[]> imag) {
  /** Elements are whole numbers up to this, of either sign. */
  static final int LARGEST_ELEMENT = 9;

  static Dense zeros(long... extents) {
    int length = Math.toIntExact(Arrays.stream(extents).reduce(1, Math::multiplyExact));
    return new Dense(extents, new double[length], Optional.empty());
  }

  static Dense random(Random random, long... extents) {
    Dense dense = zeros(extents);
    fill(dense.values, random);
    return dense;
  }

  private static void fill(double[] numbers, Random random) {
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = random.nextInt(2 * LARGEST_ELEMENT + 1) - LARGEST_ELEMENT;
    }
  }

  /** Another random array of this shape and kind. */
  Dense renewed(Random random) {
    Dense other = random(random, extents);
    return isComplex() ? other.withRandomImag(random) : other;
  }

  Dense withRandomImag(Random random) {
    double[] numbers = new double[values.length];
    fill(numbers, random);
    return new Dense(extents, values, Optional.of(numbers));
  }

  /** This array as complex numbers. */
  Dense asComplex() {
    return isComplex() ? this : new Dense(extents, values, Optional.of(new double[values.length]));
  }

  boolean isComplex() {
    return imag.isPresent();
  }

  /** Real parts, and the imaginary ones if there are some. */
  List<double[]> planes() {
    return imag.map(parts -> List.of(values, parts)).orElse(List.of(values));
  }

  int index(long... at) {
    long index = 0;
    for (int axis = 0; axis < at.length; axis++) {
      index = index * extents[axis] + at[axis];
    }
    return Math.toIntExact(index);
  }

  /** The inverse of {@link #index}. */
  void unravel(int index, long[] at) {
    int rest = index;
    for (int axis = extents.length - 1; axis >= 0; axis--) {
      at[axis] = rest % extents[axis];
      rest /= Math.toIntExact(extents[axis]);
    }
  }

  double at(long... at) {
    return values[index(at)];
  }

  long rows() {
    return extents[0];
  }

  long cols() {
    return extents[1];
  }

  /** The root of the mean square of the elements. */
  double magnitude() {
    double squares = Arrays.stream(values).map(v -> v * v).sum();
    squares += imag.stream().flatMapToDouble(Arrays::stream).map(v -> v * v).sum();
    return Math.sqrt(squares / values.length);
  }

  Dense transposed() {
    return permuted(1, 0);
  }

  /** Axis {@code i} of the result is this one's {@code axes[i]}. */
  Dense permuted(int... axes) {
    long[] out = new long[axes.length];
    Arrays.setAll(out, i -> extents[axes[i]]);
    Dense result = isComplex() ? zeros(out).asComplex() : zeros(out);
    long[] to = new long[axes.length];
    long[] from = new long[axes.length];
    for (int i = 0; i < result.values.length; i++) {
      result.unravel(i, to);
      for (int axis = 0; axis < axes.length; axis++) {
        from[axes[axis]] = to[axis];
      }
      result.copy(i, this, index(from));
    }
    return result;
  }

  /** Sets an element to one of another array that is complex if this one is. */
  void copy(int index, Dense from, int source) {
    values[index] = from.values[source];
    if (isComplex()) {
      imag.get()[index] = from.imag.orElseThrow()[source];
    }
  }

  /** This array with zeros after the last elements of each axis. */
  Dense padded(long... to) {
    Dense result = isComplex() ? zeros(to).asComplex() : zeros(to);
    long[] at = new long[to.length];
    for (int i = 0; i < values.length; i++) {
      unravel(i, at);
      result.copy(result.index(at), this, i);
    }
    return result;
  }

  /**
   * An array of other extents whose elements are this one's.
   *
   * @param source makes the place here of an element's place there; null for {@code fill}
   */
  Dense gathered(long[] to, UnaryOperator<long[]> source, double fill) {
    Dense result = isComplex() ? zeros(to).asComplex() : zeros(to);
    long[] at = new long[to.length];
    for (int i = 0; i < result.values.length; i++) {
      result.unravel(i, at);
      long[] from = source.apply(at.clone());
      if (from == null) {
        result.values[i] = fill;
      } else {
        result.copy(i, this, index(from));
      }
    }
    return result;
  }

  /** Each column without its mean. */
  Dense centered() {
    Dense centered = zeros(extents);
    for (long j = 0; j < cols(); j++) {
      double sum = 0;
      for (long i = 0; i < rows(); i++) {
        sum += at(i, j);
      }
      for (long i = 0; i < rows(); i++) {
        centered.values[index(i, j)] = at(i, j) - sum / rows();
      }
    }
    return centered;
  }

  Dense times(Dense other) {
    Dense product = zeros(rows(), other.cols());
    for (long i = 0; i < rows(); i++) {
      for (long k = 0; k < cols(); k++) {
        double a = at(i, k);
        for (long j = 0; j < other.cols(); j++) {
          product.values[product.index(i, j)] += a * other.at(k, j);
        }
      }
    }
    return product;
  }
}
