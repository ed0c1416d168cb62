package org.tilespark.kernels.host.fourier;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.Sampling;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Lines of many lengths, at many distances and places, against {@link ExactFourier}; and that a
 * line's bits depend on nothing but the line.
 */
class HostFourierLinesTest {
  private static final List<ElementType> TYPES = List.of(ElementType.FLOAT32, ElementType.FLOAT64);

  /** Lengths of each way to transform: by butterflies of every radix, by chirps, odd and even. */
  private static final int[] LENGTHS = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 30, 31, 32, 37, 45, 49, 62, 64, 74, 77, 96, 105, 111,
    127, 128, 240, 243, 256, 509, 512, 625, 1000, 1018
  };

  /** Longer ones, among them a prime and twice a prime. */
  private static final int[] LONG = {1024, 2048, 3125, 4096, 4099, 6561, 8192, 10007, 20014, 65536};

  private final HostFourier fourier = new HostFourier();

  /** An array of one type and its planes, inside a larger one whose rest must stay. */
  private record Planes(ElementType type, int count, int start, List<Object> arrays) {
    static Planes of(ElementType type, int count, int start, boolean isComplex) {
      List<Object> arrays = new ArrayList<>();
      for (int p = 0; p < (isComplex ? 2 : 1); p++) {
        arrays.add(
            type == ElementType.FLOAT32
                ? new float[start + count + 3]
                : new double[start + count + 3]);
      }
      return new Planes(type, count, start, arrays);
    }

    Planes random(Random random) {
      for (int p = 0; p < arrays.size(); p++) {
        for (int i = 0; i < count; i++) {
          set(p, i, random.nextGaussian());
        }
      }
      return this;
    }

    double get(int plane, int i) {
      return arrays.get(plane) instanceof float[] floats
          ? floats[start + i]
          : ((double[]) arrays.get(plane))[start + i];
    }

    void set(int plane, int i, double value) {
      if (arrays.get(plane) instanceof float[] floats) {
        floats[start + i] = (float) value;
      } else {
        ((double[]) arrays.get(plane))[start + i] = value;
      }
    }

    List<HostMemory> memories() {
      return arrays.stream()
          .map(HostMemory::ofArray)
          .map(all -> all.slice((long) start * type.bytes(), (long) count * type.bytes()))
          .toList();
    }

    /** One line as a plane of DOUBLE. */
    double[] line(int plane, int first, int length, int step) {
      double[] line = new double[length];
      if (plane < arrays.size()) {
        Arrays.setAll(line, i -> get(plane, first + i * step));
      }
      return line;
    }

    void assertUntouchedAround() {
      for (int p = 0; p < arrays.size(); p++) {
        for (int i = 1; i <= start; i++) {
          assertEquals(0, get(p, -i), i + " before the array");
        }
        for (int i = 0; i < 3; i++) {
          assertEquals(0, get(p, count + i), i + " behind the array");
        }
      }
    }
  }

  private static FourierProblem problem(int outer, int n, int inner, ElementType type, Kind kind) {
    return new FourierProblem(
        Shape.of(outer, kind == Kind.HALF_TO_REAL ? n / 2 + 1 : n, inner),
        type,
        List.of(1),
        kind,
        kind == Kind.HALF_TO_REAL ? n : 0);
  }

  private static Planes transformed(
      HostFourier fourier, FourierProblem problem, double scale, Planes in) {
    Planes out =
        Planes.of(
            problem.type(),
            (int) problem.outputShape().elements(),
            in.start,
            problem.outputIsComplex());
    fourier.transform(problem, scale, in.memories(), out.memories());
    return out;
  }

  @Test
  void everyLengthAgreesWithTheSumInTwiceTheDigits() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int n = 1; n <= 600; n++) {
      ExactFourier exact = new ExactFourier(n);
      for (ElementType type : TYPES) {
        for (Kind kind : Kind.values()) {
          if (Sampling.skips(n + type.ordinal() + kind.ordinal(), 2)) {
            continue;
          }
          int inner = random.nextBoolean() ? 1 : 1 + random.nextInt(40);
          int outer = 1 + random.nextInt(inner == 1 ? 40 : 4);
          check(random, exact, problem(outer, n, inner, type, kind), n, "seed " + seed);
        }
      }
    }
  }

  @Test
  void longLinesAgreeWithTheSumInTwiceTheDigits() {
    Random random = new Random(5);
    for (int n : LONG) {
      ExactFourier exact = new ExactFourier(n);
      for (ElementType type : TYPES) {
        for (Kind kind : Kind.values()) {
          int inner = n > 10_000 ? 1 : 3;
          check(random, exact, problem(1, n, inner, type, kind), n, "seed 5");
        }
      }
    }
  }

  /** Transforms random lines and compares some numbers of some of them. */
  private void check(
      Random random, ExactFourier exact, FourierProblem problem, int n, String seed) {
    boolean isReal = problem.kind() == Kind.HALF_TO_REAL;
    boolean inverse = problem.kind().isInverse();
    int inner = (int) problem.shape().extent(2);
    int inLength = (int) problem.shape().extent(1);
    int outLength = (int) problem.outputShape().extent(1);
    Planes in =
        Planes.of(
                problem.type(),
                (int) problem.shape().elements(),
                random.nextInt(5),
                problem.inputIsComplex())
            .random(random);
    double scale = random.nextBoolean() ? 1 : 0.375;
    Planes out = transformed(fourier, problem, scale, in);
    out.assertUntouchedAround();
    in.assertUntouchedAround();
    double unit = problem.type() == ElementType.FLOAT32 ? 0x1p-24 : 0x1p-53;
    // In units of the last place of the number, or of what one is on the average if that is more.
    double bound =
        ComplexTransform.hasButterflies(n) ? 12 : 24; // 7.3 was the most seen of the first
    for (int repeat = 0; repeat < 2; repeat++) {
      int o = random.nextInt((int) problem.shape().extent(0));
      int c = random.nextInt(inner);
      double[] re = in.line(0, o * inLength * inner + c, inLength, inner);
      double[] im = in.line(1, o * inLength * inner + c, inLength, inner);
      if (isReal) {
        re = Arrays.copyOf(re, n);
        im = Arrays.copyOf(im, n);
        im[0] = 0;
        im[n / 2] = n % 2 == 0 ? 0 : im[n / 2];
        for (int k = n / 2 + 1; k < n; k++) {
          re[k] = re[n - k];
          im[k] = -im[n - k];
        }
      }
      double norm = 0;
      for (int j = 0; j < n; j++) {
        norm += re[j] * re[j] + im[j] * im[j];
      }
      for (int k : new int[] {0, outLength - 1, random.nextInt(outLength)}) {
        double[] sum = exact.at(k, re, im, inverse);
        int at = (o * outLength + k) * inner + c;
        double error = Math.abs(out.get(0, at) / scale - sum[0]);
        if (!isReal) {
          error = Math.hypot(error, out.get(1, at) / scale - sum[1]);
        }
        double size = Math.max(Math.sqrt(norm), Math.hypot(sum[0], isReal ? 0 : sum[1]));
        assertTrue(
            error <= bound * unit * size,
            problem + ", number " + k + ": error " + error / unit / size + " units, " + seed);
      }
    }
  }

  @Test
  void linesAreTheSameOneByOneAndTogetherAndAnywhere() {
    Random random = new Random(2);
    for (int n : LENGTHS) {
      for (ElementType type : TYPES) {
        for (Kind kind : Kind.values()) {
          int lines = 37;
          FourierProblem together = problem(lines, n, 1, type, kind);
          FourierProblem apart = problem(1, n, lines, type, kind);
          FourierProblem mixed = problem(3, n, lines, type, kind);
          Planes in =
              Planes.of(type, (int) together.shape().elements(), 1, together.inputIsComplex())
                  .random(random);
          Planes inApart = Planes.of(type, in.count, 0, together.inputIsComplex());
          Planes inMixed = Planes.of(type, 3 * in.count, 2, together.inputIsComplex());
          int inLength = (int) together.shape().extent(1);
          int outLength = (int) together.outputShape().extent(1);
          for (int p = 0; p < in.arrays.size(); p++) {
            for (int i = 0; i < in.count; i++) {
              int to = i % inLength * lines + i / inLength;
              inApart.set(p, to, in.get(p, i));
              for (int o = 0; o < 3; o++) {
                inMixed.set(p, o * in.count + to, in.get(p, i));
              }
            }
          }
          Planes outTogether = transformed(fourier, together, 0.7, in);
          Planes outApart = transformed(fourier, apart, 0.7, inApart);
          Planes outMixed = transformed(fourier, mixed, 0.7, inMixed);
          for (int line = 0; line < lines; line++) {
            FourierProblem one = problem(1, n, 1, type, kind);
            Planes alone = Planes.of(type, inLength, 0, together.inputIsComplex());
            for (int p = 0; p < in.arrays.size(); p++) {
              for (int i = 0; i < inLength; i++) {
                alone.set(p, i, in.get(p, line * inLength + i));
              }
            }
            Planes found = transformed(fourier, one, 0.7, alone);
            for (int p = 0; p < found.arrays.size(); p++) {
              double[] expected = found.line(p, 0, outLength, 1);
              String what = kind + " of " + n + " " + type + ", line " + line;
              int first = line * outLength;
              assertArrayEquals(expected, outTogether.line(p, first, outLength, 1), what);
              assertArrayEquals(expected, outApart.line(p, line, outLength, lines), what);
              int shift = line % 3 * lines * outLength;
              assertArrayEquals(
                  expected, outMixed.line(p, shift + line, outLength, lines), what + " of three");
            }
          }
        }
      }
    }
  }

  /** Without vectors both are the same anyway. */
  @Test
  void vectorsAndScalarsMakeTheSameBits() {
    HostFourier scalars =
        new HostFourier(FourierKernels.FLOAT.scalar(), FourierKernels.DOUBLE.scalar());
    Random random = new Random(3);
    for (int n : LENGTHS) {
      for (ElementType type : TYPES) {
        for (Kind kind : Kind.values()) {
          for (int lines : new int[] {1, 3, 16, 21}) {
            FourierProblem problem = problem(lines, n, 1, type, kind);
            Planes in =
                Planes.of(type, (int) problem.shape().elements(), 0, problem.inputIsComplex())
                    .random(random);
            Planes expected = transformed(scalars, problem, 0.3, in);
            Planes found = transformed(fourier, problem, 0.3, in);
            for (int p = 0; p < found.arrays.size(); p++) {
              assertArrayEquals(
                  expected.line(p, 0, expected.count, 1),
                  found.line(p, 0, found.count, 1),
                  kind + " of " + lines + " lines of " + n + " " + type);
            }
          }
        }
      }
    }
  }

  @Test
  void nothingLeavesItsLine() {
    for (int n : LENGTHS) {
      for (ElementType type : TYPES) {
        for (Kind kind : Kind.values()) {
          for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY, 1e30}) {
            FourierProblem problem = problem(19, n, 1, type, kind);
            int inLength = (int) problem.shape().extent(1);
            int outLength = (int) problem.outputShape().extent(1);
            Planes in = Planes.of(type, 19 * inLength, 0, problem.inputIsComplex());
            Random random = new Random(4);
            in.random(random);
            Planes clean = transformed(fourier, problem, 1, in);
            in.set(0, 7 * inLength + random.nextInt(inLength), bad);
            Planes found = transformed(fourier, problem, 1, in);
            for (int line = 0; line < 19; line++) {
              double[] sums = new double[outLength]; // of both parts
              for (int p = 0; p < found.arrays.size(); p++) {
                double[] values = found.line(p, line * outLength, outLength, 1);
                Arrays.setAll(sums, i -> sums[i] + values[i]);
                if (line != 7) {
                  assertArrayEquals(clean.line(p, line * outLength, outLength, 1), values);
                }
              }
              if (line == 7 && bad != 1e30) {
                assertTrue(
                    Arrays.stream(sums).noneMatch(Double::isFinite),
                    bad + " in " + kind + " of " + n + ": " + Arrays.toString(sums));
              }
            }
          }
        }
      }
    }
  }

  @Test
  void sumsOfRealNumbersHaveNoImaginaryPart() {
    for (int n : LENGTHS) {
      FourierProblem problem = problem(3, n, 1, ElementType.FLOAT32, Kind.REAL_TO_HALF);
      Planes in = Planes.of(ElementType.FLOAT32, 3 * n, 0, false).random(new Random(n));
      Planes out = transformed(fourier, problem, 1, in);
      int half = n / 2 + 1;
      for (int line = 0; line < 3; line++) {
        assertEquals(0, out.get(1, line * half), "frequency 0, n " + n);
        if (n % 2 == 0) {
          assertEquals(0, out.get(1, line * half + n / 2), "the last frequency, n " + n);
        }
      }
    }
  }

  @Test
  void rootsAreExactToTheLastBitButOne() {
    for (int n : new int[] {1, 2, 3, 5, 8, 12, 509, 1000, 4096}) {
      ExactFourier exact = new ExactFourier(n);
      for (int k = 0; k < n; k++) {
        assertEquals(exact.cos(k), Roots.cos(k, n), 1.2e-16, k + " of " + n);
        assertEquals(exact.sin(k), Roots.sin(k, n), 1.2e-16, k + " of " + n);
      }
    }
  }

  @Test
  void linesLongerThanArrays() {
    long n = HostFourier.LONGEST + 1L;
    FourierProblem problem =
        new FourierProblem(Shape.of(n), ElementType.FLOAT32, List.of(0), Kind.FORWARD, 0);
    HostMemory plane = HostMemory.ofAddress(1L << 20, n * Float.BYTES); // is not touched
    IllegalArgumentException found =
        assertThrows(
            IllegalArgumentException.class,
            () -> fourier.transform(problem, 1, List.of(plane, plane), List.of(plane, plane)));
    assertTrue(found.getMessage().contains("expected 1 to"), found.getMessage());
  }
}
