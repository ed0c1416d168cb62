package org.tilespark.kernels.fourier;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * A discrete Fourier transform: a dense, row-major array of {@code shape}, transformed over some of
 * its axes; the others make a batch. The result is not normalised.
 *
 * <p>Worked case: {@code (4, 6, 9)} real values, {@link Kind#REAL_TO_HALF} over the axes 1 and 2,
 * give {@code (4, 6, 5)} complex numbers; {@link Kind#HALF_TO_REAL} with a real extent of 9 takes
 * them back, times 6 x 9.
 *
 * @param shape input extents, outermost first; all at least 1
 * @param type type of real numbers and of the parts of complex ones: FLOAT32 or FLOAT64
 * @param axes transformed axes, each once; with a half spectrum the last one is the halved axis
 * @param kind kinds of numbers of input and output, and the sign of the exponent
 * @param realExtent with {@link Kind#HALF_TO_REAL} the extent of the halved axis of the output;
 *     otherwise 0
 */
public record FourierProblem(
    Shape shape, ElementType type, List<Integer> axes, Kind kind, long realExtent) {
  /** The four transforms. */
  public enum Kind {
    /** Complex to complex, {@code exp(-2 pi i j k / n)}. */
    FORWARD,
    /** Complex to complex, {@code exp(+2 pi i j k / n)}. */
    INVERSE,
    /** Forward from n real values to the frequencies 0 to n / 2 of the halved axis. */
    REAL_TO_HALF,
    /** Inverse from the frequencies 0 to n / 2 of the halved axis to n real values. */
    HALF_TO_REAL;

    /** True if the exponent is positive. */
    public boolean isInverse() {
      return this == INVERSE || this == HALF_TO_REAL;
    }
  }

  /**
   * Checks the components against each other.
   *
   * @throws IllegalArgumentException if an extent is 0, the type is not FLOAT32 or FLOAT64, axes
   *     are missing, repeated or out of range, or the half spectrum is not that of the real extent
   */
  public FourierProblem {
    axes = List.copyOf(axes);
    if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
      throw new IllegalArgumentException(
          "A Fourier transform of " + type + "; expected FLOAT32 or FLOAT64");
    }
    if (shape.elements() == 0) {
      throw new IllegalArgumentException("A Fourier transform of the empty shape " + shape);
    }
    if (axes.isEmpty() || new HashSet<>(axes).size() != axes.size()) {
      throw new IllegalArgumentException(
          "A Fourier transform over the axes " + axes + "; expected one or more, each once");
    }
    for (int axis : axes) {
      if (axis < 0 || axis >= shape.rank()) {
        throw new IllegalArgumentException(
            "A Fourier transform over axis " + axis + " of shape " + shape);
      }
    }
    long half = shape.extent(axes.get(axes.size() - 1));
    if (kind == Kind.HALF_TO_REAL) {
      if (realExtent < 1 || half != realExtent / 2 + 1) {
        throw new IllegalArgumentException(
            ("Half a spectrum with %s frequencies of axis %s, of %s real values; expected"
                    + " %s or %s real values")
                .formatted(
                    half, axes.get(axes.size() - 1), realExtent, 2 * half - 2, 2 * half - 1));
      }
    } else if (realExtent != 0) {
      throw new IllegalArgumentException(
          kind + " with a real extent of " + realExtent + "; expected 0");
    }
  }

  /**
   * The axis that has half a spectrum in the input or output, with {@link Kind#REAL_TO_HALF} and
   * {@link Kind#HALF_TO_REAL}.
   */
  public int halvedAxis() {
    return axes.get(axes.size() - 1);
  }

  /** True if the output has complex numbers. */
  public boolean outputIsComplex() {
    return kind != Kind.HALF_TO_REAL;
  }

  /** True if the input has complex numbers. */
  public boolean inputIsComplex() {
    return kind != Kind.REAL_TO_HALF;
  }

  /** Extents of the output, outermost first. */
  public Shape outputShape() {
    return switch (kind) {
      case FORWARD, INVERSE -> shape;
      case REAL_TO_HALF -> withHalved(shape.extent(halvedAxis()) / 2 + 1);
      case HALF_TO_REAL -> withHalved(realExtent);
    };
  }

  private Shape withHalved(long extent) {
    long[] extents = shape.toArray();
    extents[halvedAxis()] = extent;
    return Shape.of(extents);
  }

  /**
   * The axes that are transformed from complex to complex numbers: all but the halved one, if there
   * is one.
   */
  public List<Integer> complexAxes() {
    boolean halved = kind == Kind.REAL_TO_HALF || kind == Kind.HALF_TO_REAL;
    return halved ? axes.subList(0, axes.size() - 1) : axes;
  }

  /**
   * The extents of the transformed axes, in order of axes: of each axis the longer of its extents
   * in input and output.
   */
  public List<Long> lengths() {
    List<Long> lengths = new ArrayList<>();
    for (int axis : axes) {
      lengths.add(
          kind == Kind.HALF_TO_REAL && axis == halvedAxis() ? realExtent : shape.extent(axis));
    }
    return lengths;
  }
}
