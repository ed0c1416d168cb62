package org.tilespark.arrow.blocks;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * An array in double precision and what the steps of a program make of it, written down as they are
 * defined: the transforms are sums over one axis after another. {@code im} is null for real values.
 */
record OracleArray(Shape shape, double[] re, double[] im) {
  static OracleArray random(Shape shape, boolean isComplex, ElementType type, long seed) {
    Random random = new Random(seed);
    int count = Math.toIntExact(shape.elements());
    double[] re = new double[count];
    double[] im = isComplex ? new double[count] : null;
    for (int i = 0; i < count; i++) {
      re[i] = rounded(random.nextGaussian(), type);
      if (isComplex) {
        im[i] = rounded(random.nextGaussian(), type);
      }
    }
    return new OracleArray(shape, re, im);
  }

  /** An array whose planes hold FLOAT32 or FLOAT64. */
  static OracleArray ofBytes(Shape shape, ElementType type, List<byte[]> planes) {
    List<double[]> parts = new ArrayList<>();
    for (byte[] plane : planes) {
      ByteBuffer bytes = ByteBuffer.wrap(plane).order(ByteOrder.nativeOrder());
      double[] part = new double[plane.length / type.bytes()];
      Arrays.setAll(
          part, i -> type == ElementType.FLOAT32 ? bytes.getFloat(4 * i) : bytes.getDouble(8 * i));
      parts.add(part);
    }
    return new OracleArray(shape, parts.get(0), parts.size() == 2 ? parts.get(1) : null);
  }

  private static double rounded(double value, ElementType type) {
    return type == ElementType.FLOAT32 ? (float) value : value;
  }

  boolean isComplex() {
    return im != null;
  }

  private OracleArray ofShape(Shape other) {
    int count = Math.toIntExact(other.elements());
    return new OracleArray(other, new double[count], im == null ? null : new double[count]);
  }

  /** Takes a part of an array: neighbours along each axis, from {@code low} on. */
  static Slice crop(Shape shape, List<Long> low) {
    return new Slice(
        IntStream.range(0, low.size())
            .mapToObj(axis -> new AxisRange(low.get(axis), 1, shape.extent(axis)))
            .toList());
  }

  /** The array after a step. */
  OracleArray after(BlockStep step) {
    if (step instanceof Fourier fourier) {
      return transformed(fourier);
    } else if (step instanceof Permute permute) {
      Permutation permutation = permute.permutation();
      OracleArray out = ofShape(permutation.apply(shape));
      forEach(index -> move(index, permutation.apply(index), out));
      return out;
    } else if (step instanceof Pad pad) {
      OracleArray out = ofShape(pad.shape());
      forEach(
          index -> {
            long[] to = index.clone();
            Arrays.setAll(to, axis -> index[axis] + pad.low().get(axis));
            move(index, to, out);
          });
      return out;
    } else if (step instanceof Slice slice) {
      OracleArray out = ofShape(slice.shape());
      out.forEach(
          index -> {
            long[] from = index.clone();
            Arrays.setAll(from, axis -> slice.ranges().get(axis).at(index[axis]));
            move(from, index, out);
          });
      return out;
    } else if (step instanceof Roll roll) {
      OracleArray out = ofShape(shape);
      forEach(
          index -> {
            long[] to = index.clone();
            Arrays.setAll(
                to,
                axis -> Math.floorMod(index[axis] + roll.shifts().get(axis), shape.extent(axis)));
            move(index, to, out);
          });
      return out;
    } else if (step instanceof ElementwiseBlock computed) {
      return OracleElements.of(computed, List.of(this));
    }
    throw new AssertionError(step);
  }

  /** The result of a program that only moves elements, on a plane of any type. */
  static byte[] moved(BlockProgram program, byte[] plane) {
    int width = program.type().bytes();
    double[] numbers = new double[plane.length / width]; // each element's own, and 0 for none
    Arrays.setAll(numbers, i -> i + 1);
    double[] moved = new OracleArray(program.shape(), numbers, null).after(program.steps()).re;
    byte[] result = new byte[moved.length * width];
    for (int i = 0; i < moved.length; i++) {
      int from = (int) moved[i] - 1;
      if (from >= 0) {
        System.arraycopy(plane, from * width, result, i * width, width);
      }
    }
    return result;
  }

  OracleArray after(List<BlockStep> steps) {
    OracleArray array = this;
    for (BlockStep step : steps) {
      array = array.after(step);
    }
    return array;
  }

  /** The result of a program on its inputs, in their order. */
  static OracleArray result(BlockProgram program, Iterator<OracleArray> inputs) {
    OracleArray array = inputs.next();
    for (BlockStep step : program.steps()) {
      if (step instanceof ElementwiseBlock computed) {
        List<OracleArray> arrays = new ArrayList<>(List.of(array));
        computed.otherBlocks().forEach(other -> arrays.add(result(other, inputs)));
        array = OracleElements.of(computed, arrays);
      } else {
        array = array.after(step);
      }
    }
    return array;
  }

  /** A part, dense. */
  OracleArray part(Part part) {
    OracleArray out = ofShape(Shape.of(part.size().stream().mapToLong(Long::longValue).toArray()));
    out.forEach(
        index -> {
          long[] from = index.clone();
          Arrays.setAll(from, axis -> index[axis] + part.low().get(axis));
          move(from, index, out);
        });
    return out;
  }

  private OracleArray transformed(Fourier step) {
    boolean inverse = step.direction() == Fourier.Direction.INVERSE;
    OracleArray array =
        new OracleArray(shape, re.clone(), im == null ? new double[re.length] : im.clone());
    int halved = step.axes().get(step.axes().size() - 1);
    if (step.form() == Fourier.Form.REAL && inverse) {
      array = array.mirrored(step.axes(), halved, step.realExtent());
    }
    for (int axis : step.axes()) {
      array = array.along(axis, inverse);
    }
    if (step.form() == Fourier.Form.REAL && !inverse) {
      long[] extents = array.shape.toArray();
      extents[halved] = extents[halved] / 2 + 1;
      array =
          array.part(
              new Part(
                  Arrays.stream(new long[extents.length]).boxed().toList(),
                  Arrays.stream(extents).boxed().toList()));
    }
    for (int i = 0; i < array.re.length; i++) {
      array.re[i] *= step.scale();
      array.im[i] *= step.scale();
    }
    boolean real = step.form() == Fourier.Form.REAL && inverse;
    return real ? new OracleArray(array.shape, array.re, null) : array;
  }

  /** The whole spectrum of real values from its half: S(-k) is the conjugate of S(k). */
  private OracleArray mirrored(List<Integer> axes, int halved, long extent) {
    long[] extents = shape.toArray();
    extents[halved] = extent;
    OracleArray out = ofShape(Shape.of(extents));
    out.forEach(
        index -> {
          long[] from = index.clone();
          boolean mirror = index[halved] >= shape.extent(halved);
          if (mirror) {
            for (int axis : axes) {
              from[axis] = Math.floorMod(-index[axis], out.shape.extent(axis));
            }
          }
          int to = at(out.shape, index);
          int at = at(shape, from);
          out.re[to] = re[at];
          out.im[to] = mirror ? -im[at] : im[at];
        });
    return out;
  }

  /** The sum over one axis, as it is written down. */
  private OracleArray along(int axis, boolean inverse) {
    int n = (int) shape.extent(axis);
    double[] cos = new double[n];
    double[] sin = new double[n];
    for (int i = 0; i < n; i++) {
      cos[i] = Math.cos(2 * Math.PI * i / n);
      sin[i] = (inverse ? 1 : -1) * Math.sin(2 * Math.PI * i / n);
    }
    int inner = 1;
    for (int a = axis + 1; a < shape.rank(); a++) {
      inner *= (int) shape.extent(a);
    }
    OracleArray out = ofShape(shape);
    for (int o = 0; o < re.length / n / inner; o++) {
      for (int k = 0; k < n; k++) {
        for (int j = 0; j < n; j++) {
          int angle = (int) ((long) j * k % n);
          double c = cos[angle];
          double s = sin[angle];
          int from = (o * n + j) * inner;
          int to = (o * n + k) * inner;
          for (int i = 0; i < inner; i++) {
            out.re[to + i] += re[from + i] * c - im[from + i] * s;
            out.im[to + i] += re[from + i] * s + im[from + i] * c;
          }
        }
      }
    }
    return out;
  }

  interface Each {
    void at(long[] index);
  }

  void forEach(Each each) {
    long[] index = new long[shape.rank()];
    for (int i = 0; i < re.length; i++) {
      each.at(index.clone());
      for (int axis = index.length - 1; axis >= 0 && ++index[axis] == shape.extent(axis); axis--) {
        index[axis] = 0;
      }
    }
  }

  private void move(long[] from, long[] to, OracleArray out) {
    out.re[at(out.shape, to)] = re[at(shape, from)];
    if (im != null) {
      out.im[at(out.shape, to)] = im[at(shape, from)];
    }
  }

  static int at(Shape shape, long[] index) {
    return (int) BoxMoves.element(shape, index);
  }

  /** Sum of the squares of all absolute values. */
  double energy() {
    double energy = 0;
    for (int i = 0; i < re.length; i++) {
      energy += re[i] * re[i] + (im == null ? 0 : im[i] * im[i]);
    }
    return energy;
  }

  /** The norm of the difference over the norm of this. */
  double relativeError(OracleArray found) {
    double error = 0;
    for (int i = 0; i < re.length; i++) {
      double a = found.re[i] - re[i];
      double b = im == null ? 0 : found.im[i] - im[i];
      error += a * a + b * b;
    }
    double energy = energy();
    return Math.sqrt(energy == 0 ? error : error / energy);
  }
}
