package org.tilespark.kernels.host;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import sun.misc.Unsafe;

/**
 * Fourier transforms on the CPU, on the calling thread: the oracle and the fallback of the device's
 * ones. Complex arrays are two planes, real and imaginary parts, each dense and row-major.
 *
 * <p>One axis after another is transformed line by line in double precision on the heap, whatever
 * the type; single precision as such would cost as much time and some accuracy (relative errors of
 * 1e-7 to 4e-7 a line, where rounding the result costs 3e-8). Lines that lie apart in memory are
 * taken several at a time, neighbouring ones, so that whole cache lines are read and written.
 *
 * <p>Real values are transformed as complex numbers, which takes twice the time on the halved axis
 * alone: the real transforms of JTransforms lose accuracy where a length has large prime factors.
 *
 * <p>For one thread at a time; it keeps tables for the lengths it has met.
 */
public final class HostFourier {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /** Neighbouring lines taken together: 64 bytes, a cache line, of FLOAT32. */
  private static final int LINES = 16;

  /** Most complex numbers of the lines taken together: 4 MiB, which caches hold. */
  private static final long BLOCK_ELEMENTS = 1 << 18;

  /** Between lines, so that those of a power of two do not fall on the same part of the cache. */
  private static final int PAD = 8;

  private static final int TABLES = 16;

  private final Map<Long, FourierLine> lines =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, FourierLine> eldest) {
          return size() > TABLES;
        }
      };

  private double[] line = new double[0]; // lines taken together, (lines, length, 2)

  /** One plane or two, as raw memory. */
  private record Planes(Object reBase, long re, Object imBase, long im, boolean isComplex) {
    static Planes of(List<HostMemory> planes) {
      HostMemory re = planes.get(0);
      HostMemory im = planes.get(planes.size() - 1);
      return new Planes(re.base(), re.offset(), im.base(), im.offset(), planes.size() == 2);
    }
  }

  /**
   * Transforms an array.
   *
   * @param problem what is asked
   * @param scale factor of every result
   * @param in planes of the input, each of the input's length; with {@link Kind#HALF_TO_REAL} over
   *     several axes they are overwritten
   * @param out planes of the output; those of the input where both are complex, and then
   *     transformed in place; otherwise apart from it
   * @throws IllegalArgumentException if the planes are too few, too many or of another length, or
   *     an axis is too long for the host
   */
  public void transform(
      FourierProblem problem, double scale, List<HostMemory> in, List<HostMemory> out) {
    require("input", in, problem.inputIsComplex(), problem.shape(), problem.type());
    require("output", out, problem.outputIsComplex(), problem.outputShape(), problem.type());
    Planes from = Planes.of(in);
    Planes to = Planes.of(out);
    List<Integer> rest = problem.complexAxes();
    int passes = problem.axes().size();
    int pass = 0;
    if (problem.kind() == Kind.REAL_TO_HALF) {
      pass++;
      along(
          problem,
          problem.halvedAxis(),
          problem.shape(),
          problem.outputShape(),
          pass == passes ? scale : 1,
          from,
          to);
      from = to;
    }
    for (int axis : rest) {
      pass++;
      // The half spectrum stays as it is on its side of the transform.
      Shape shape = problem.kind() == Kind.REAL_TO_HALF ? problem.outputShape() : problem.shape();
      Planes target = problem.kind() == Kind.HALF_TO_REAL ? from : to;
      along(problem, axis, shape, shape, pass == passes ? scale : 1, from, target);
      from = target;
    }
    if (problem.kind() == Kind.HALF_TO_REAL) {
      along(problem, problem.halvedAxis(), problem.shape(), problem.outputShape(), scale, from, to);
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
          "Fourier "
              + side
              + " of "
              + planes.stream().map(HostMemory::bytes).toList()
              + " bytes; expected "
              + count
              + " planes of "
              + bytes);
    }
  }

  /** Transforms along one axis, of which input and output may have different extents. */
  private void along(
      FourierProblem problem,
      int axis,
      Shape inShape,
      Shape outShape,
      double scale,
      Planes in,
      Planes out) {
    boolean isFloat = problem.type() == ElementType.FLOAT32;
    boolean inverse = problem.kind().isInverse();
    long inLength = inShape.extent(axis);
    long outLength = outShape.extent(axis);
    int n = (int) Math.min(Integer.MAX_VALUE, Math.max(inLength, outLength));
    FourierLine transform = lines.computeIfAbsent(Math.max(inLength, outLength), FourierLine::new);
    long inner = 1;
    for (int a = axis + 1; a < inShape.rank(); a++) {
      inner *= inShape.extent(a);
    }
    long outer = inShape.elements() / inLength / inner;
    int together = (int) Math.max(1, Math.min(LINES, Math.min(inner, BLOCK_ELEMENTS / n)));
    int pitch = 2 * n + PAD;
    if (line.length < together * pitch) {
      line = new double[together * pitch];
    }
    for (long o = 0; o < outer; o++) {
      for (long c = 0; c < inner; c += together) {
        int count = (int) Math.min(together, inner - c);
        long start = o * inLength * inner + c;
        if (isFloat) {
          readFloats(in, start, inner, (int) inLength, count, pitch);
        } else {
          readDoubles(in, start, inner, (int) inLength, count, pitch);
        }
        for (int l = 0; l < count; l++) {
          if (inLength < n) {
            mirror(l * pitch, (int) inLength, n);
          }
          transform.transform(line, l * pitch, inverse);
        }
        long end = o * outLength * inner + c;
        if (isFloat) {
          writeFloats(out, end, inner, (int) outLength, count, pitch, scale);
        } else {
          writeDoubles(out, end, inner, (int) outLength, count, pitch, scale);
        }
      }
    }
  }

  /** The frequencies above n / 2 from those below, whose conjugates they are. */
  private void mirror(int start, int half, int n) {
    for (int k = half; k < n; k++) {
      line[start + 2 * k] = line[start + 2 * (n - k)];
      line[start + 2 * k + 1] = -line[start + 2 * (n - k) + 1];
    }
  }

  private void readFloats(Planes in, long start, long stride, int length, int count, int pitch) {
    if (count == 1 && in.isComplex) { // the loop below would do, a quarter slower
      long re = in.re + start * 4;
      long im = in.im + start * 4;
      for (int i = 0; i < length; i++) {
        line[2 * i] = UNSAFE.getFloat(in.reBase, re);
        line[2 * i + 1] = UNSAFE.getFloat(in.imBase, im);
        re += stride * 4;
        im += stride * 4;
      }
      return;
    }
    for (int i = 0; i < length; i++) {
      long at = (start + i * stride) * 4;
      for (int l = 0; l < count; l++) {
        int to = l * pitch + 2 * i;
        line[to] = UNSAFE.getFloat(in.reBase, in.re + at + l * 4L);
        line[to + 1] = in.isComplex ? UNSAFE.getFloat(in.imBase, in.im + at + l * 4L) : 0;
      }
    }
  }

  private void writeFloats(
      Planes out, long start, long stride, int length, int count, int pitch, double scale) {
    for (int i = 0; i < length; i++) {
      long at = (start + i * stride) * 4;
      for (int l = 0; l < count; l++) {
        int from = l * pitch + 2 * i;
        UNSAFE.putFloat(out.reBase, out.re + at + l * 4L, (float) (line[from] * scale));
        if (out.isComplex) {
          UNSAFE.putFloat(out.imBase, out.im + at + l * 4L, (float) (line[from + 1] * scale));
        }
      }
    }
  }

  private void readDoubles(Planes in, long start, long stride, int length, int count, int pitch) {
    if (count == 1 && in.isComplex) { // the loop below would do, a quarter slower
      long re = in.re + start * 8;
      long im = in.im + start * 8;
      for (int i = 0; i < length; i++) {
        line[2 * i] = UNSAFE.getDouble(in.reBase, re);
        line[2 * i + 1] = UNSAFE.getDouble(in.imBase, im);
        re += stride * 8;
        im += stride * 8;
      }
      return;
    }
    for (int i = 0; i < length; i++) {
      long at = (start + i * stride) * 8;
      for (int l = 0; l < count; l++) {
        int to = l * pitch + 2 * i;
        line[to] = UNSAFE.getDouble(in.reBase, in.re + at + l * 8L);
        line[to + 1] = in.isComplex ? UNSAFE.getDouble(in.imBase, in.im + at + l * 8L) : 0;
      }
    }
  }

  private void writeDoubles(
      Planes out, long start, long stride, int length, int count, int pitch, double scale) {
    for (int i = 0; i < length; i++) {
      long at = (start + i * stride) * 8;
      for (int l = 0; l < count; l++) {
        int from = l * pitch + 2 * i;
        UNSAFE.putDouble(out.reBase, out.re + at + l * 8L, (line[from] * scale));
        if (out.isComplex) {
          UNSAFE.putDouble(out.imBase, out.im + at + l * 8L, (line[from + 1] * scale));
        }
      }
    }
  }
}
