package org.tilespark.kernels.host.fourier;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Fourier transforms on the CPU, on the calling thread: the oracle of tests and the fallback for
 * {@code DeviceFourier}. Complex arrays are two planes, real and imaginary parts, each dense and
 * row-major.
 *
 * <p>One axis after another is transformed, in the precision of the type. Neighbouring lines are
 * taken several at a time, one in each lane of a vector; whole cache lines are read and written. A
 * line's result does not depend on its neighbours, nor on their number. Real lines take half the
 * work of complex ones, except where their length is odd and has a prime factor above {@value
 * ComplexTransform#LARGEST_PRIME}.
 *
 * <p>For one thread at a time; it keeps tables for the lengths it has met.
 */
public final class HostFourier {
  /**
   * The longest line that can be transformed: its tables and rows are Java arrays, and those of a
   * chirp are four times as long.
   */
  static final int LONGEST = 1 << 26;

  /**
   * Bytes in one plane of the lines that are transformed together: caches hold four of these
   * planes.
   */
  private static final int GROUP_BYTES = 1 << 20;

  private static final int TABLES = 16;

  private final Lines<float[]> floats;
  private final Lines<double[]> doubles;

  /** A transformer that uses vectors if the JVM has them. */
  public HostFourier() {
    this(FourierKernels.FLOAT, FourierKernels.DOUBLE);
  }

  HostFourier(FourierKernels<float[]> floats, FourierKernels<double[]> doubles) {
    this.floats = new Lines<>(floats);
    this.doubles = new Lines<>(doubles);
  }

  /**
   * The lines along one axis: their lengths in input and output, their distance, and their number.
   */
  private record Axis(long inLength, long outLength, long inner, long count) {
    static Axis of(Shape in, Shape out, int axis) {
      long inner = 1;
      for (int a = axis + 1; a < in.rank(); a++) {
        inner *= in.extent(a);
      }
      return new Axis(in.extent(axis), out.extent(axis), inner, in.elements() / in.extent(axis));
    }
  }

  /** Transforms lines of one element type. */
  private static final class Lines<A> {
    private final FourierKernels<A> kernels;
    private final Workspace<A> work;
    private final Map<List<Object>, LineTransform<A>> tables =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<List<Object>, LineTransform<A>> eldest) {
            return size() > TABLES;
          }
        };

    Lines(FourierKernels<A> kernels) {
      this.kernels = kernels;
      this.work = new Workspace<>(kernels);
    }

    void along(Kind kind, Axis axis, double scale, List<HostMemory> in, List<HostMemory> out) {
      long n = Math.max(axis.inLength, axis.outLength);
      if (n > LONGEST) {
        throw new IllegalArgumentException(
            "A Fourier transform on the host along an axis of %s elements; expected 1 to %s"
                .formatted(n, LONGEST));
      }
      LineTransform<A> transform =
          tables.computeIfAbsent(List.of(kind, n), key -> new LineTransform<>(work, kind, (int) n));
      long together = Math.max(1, Math.min(kernels.lanes(), GROUP_BYTES / kernels.bytes() / n));
      for (long first = 0; first < axis.count; first += together) {
        int lanes = (int) Math.min(together, axis.count - first);
        transform.run(
            group(in, axis.inLength, axis.inner, first, lanes),
            group(out, axis.outLength, axis.inner, first, lanes),
            scale);
      }
    }

    private static LineMoves.Group group(
        List<HostMemory> planes, long length, long inner, long first, int lanes) {
      HostMemory im = planes.get(planes.size() - 1);
      return new LineMoves.Group(planes.get(0), im, length, inner, first, lanes);
    }
  }

  /**
   * Transforms an array.
   *
   * @param problem the transform
   * @param scale factor by which every result is multiplied
   * @param in planes of the input, each of the input's length; with {@link Kind#HALF_TO_REAL} over
   *     several axes, the transform overwrites them
   * @param out planes of the output; if both sides are complex, they may be those of the input,
   *     which is then transformed in place; otherwise they do not overlap the input
   * @throws IllegalArgumentException if the planes are too few, too many or of another length, or
   *     an axis is too long for the host
   */
  public void transform(
      FourierProblem problem, double scale, List<HostMemory> in, List<HostMemory> out) {
    require("input", in, problem.inputIsComplex(), problem.shape(), problem.type());
    require("output", out, problem.outputIsComplex(), problem.outputShape(), problem.type());
    Kind kind = problem.kind();
    List<HostMemory> from = in;
    int left = problem.axes().size();
    if (kind == Kind.REAL_TO_HALF) {
      left--;
      Axis halved = Axis.of(problem.shape(), problem.outputShape(), problem.halvedAxis());
      along(problem.type(), kind, halved, left == 0 ? scale : 1, in, out);
      from = out;
    }
    // The other axes are complex. In a real transform they are done while the halved axis has its
    // half extent: after it forward, before it inverse.
    Shape shape = kind == Kind.REAL_TO_HALF ? problem.outputShape() : problem.shape();
    Kind complex = kind.isInverse() ? Kind.INVERSE : Kind.FORWARD;
    for (int axis : problem.complexAxes()) {
      left--;
      List<HostMemory> to = kind == Kind.HALF_TO_REAL ? from : out;
      along(problem.type(), complex, Axis.of(shape, shape, axis), left == 0 ? scale : 1, from, to);
      from = to;
    }
    if (kind == Kind.HALF_TO_REAL) {
      Axis halved = Axis.of(problem.shape(), problem.outputShape(), problem.halvedAxis());
      along(problem.type(), kind, halved, scale, from, out);
    }
  }

  private void along(
      ElementType type,
      Kind kind,
      Axis axis,
      double scale,
      List<HostMemory> in,
      List<HostMemory> out) {
    if (type == ElementType.FLOAT32) {
      floats.along(kind, axis, scale, in, out);
    } else {
      doubles.along(kind, axis, scale, in, out);
    }
  }

  private static void require(
      String side, List<HostMemory> planes, boolean isComplex, Shape shape, ElementType type) {
    long bytes = Math.multiplyExact(shape.elements(), (long) type.bytes());
    int count = isComplex ? 2 : 1;
    boolean fits = planes.size() == count;
    for (HostMemory plane : planes) {
      fits &= plane.bytes() == bytes;
    }
    if (!fits) {
      throw new IllegalArgumentException(
          "Fourier %s of %s bytes; expected %s planes of %s"
              .formatted(side, planes.stream().map(HostMemory::bytes).toList(), count, bytes));
    }
  }
}
