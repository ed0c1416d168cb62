package org.tilespark.kernels.fourier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.fourier.FourierPass.Side;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.host.fourier.HostFourier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

class FourierPlannerTest {
  private static final List<Shape> SHAPES =
      List.of(
          Shape.of(4, 5, 6),
          Shape.of(3, 1, 4),
          Shape.of(1, 7, 2),
          Shape.of(5, 3, 1),
          Shape.of(2, 9, 11),
          Shape.of(6, 5),
          Shape.of(1, 8),
          Shape.of(12));

  /** The passes, done as their layouts say, give what the host's transform gives. */
  @Test
  void everyWayDoesWhatIsAsked() {
    for (Shape shape : SHAPES) {
      for (List<Integer> axes : subsets(shape.rank())) {
        for (int way = 0; way < FourierPlanner.WAYS; way++) {
          for (Kind kind : Kind.values()) {
            int halved = axes.get(axes.size() - 1);
            boolean isReal = kind == Kind.REAL_TO_HALF || kind == Kind.HALF_TO_REAL;
            if (isReal && shape.extent(halved) == 1) {
              continue;
            }
            long[] extents = shape.toArray();
            if (kind == Kind.HALF_TO_REAL) {
              extents[halved] = extents[halved] / 2 + 1;
            }
            FourierProblem problem =
                new FourierProblem(
                    Shape.of(extents),
                    ElementType.FLOAT64,
                    axes,
                    kind,
                    kind == Kind.HALF_TO_REAL ? shape.extent(halved) : 0);
            assertDoes(problem, way);
          }
        }
      }
    }
  }

  private static void assertDoes(FourierProblem problem, int way) {
    int count = (int) problem.shape().elements();
    int outCount = (int) problem.outputShape().elements();
    double[] re = random(count, 1);
    double[] im = problem.inputIsComplex() ? random(count, 2) : new double[count];
    double[] expectedRe = new double[outCount];
    double[] expectedIm = new double[outCount];
    List<HostMemory> in = planes(re.clone(), im.clone(), problem.inputIsComplex());
    List<HostMemory> out = planes(expectedRe, expectedIm, problem.outputIsComplex());
    new HostFourier().transform(problem, 1, in, out);

    // Complex numbers side by side, as on a device; of real arrays the imaginary parts are unused.
    double[] source = interleaved(re, im);
    boolean inPlace = problem.inputIsComplex() && problem.outputIsComplex();
    double[] target = inPlace ? source : new double[2 * outCount];
    if (!inPlace) {
      Arrays.fill(target, Double.NaN);
    }
    List<FourierPass> passes = FourierPlanner.passes(problem, way);
    for (FourierPass pass : passes) {
      double[] from = pass.kind() == Kind.FORWARD ? target : source;
      double[] to = pass.kind() == Kind.INVERSE ? source : target;
      execute(pass, from, to);
    }
    for (int i = 0; i < outCount; i++) {
      assertEquals(expectedRe[i], target[2 * i], 1e-12, problem + " way " + way + " re " + i);
      if (problem.outputIsComplex()) {
        assertEquals(expectedIm[i], target[2 * i + 1], 1e-12, problem + " way " + way + " im " + i);
      }
    }
  }

  /** The computation of cuFFT, as its manual describes the layouts. */
  private static void execute(FourierPass pass, double[] in, double[] out) {
    int rank = pass.lengths().size();
    long[] n = new long[3];
    Arrays.fill(n, 1);
    for (int i = 0; i < rank; i++) {
      n[3 - rank + i] = pass.lengths().get(i);
    }
    Shape full = Shape.of(n);
    Kind kind = pass.kind();
    long half = n[2] / 2 + 1;
    List<Integer> axes = List.of(0, 1, 2);
    for (long repeat = 0; repeat < pass.repeats(); repeat++) {
      for (long b = 0; b < pass.batch(); b++) {
        long inCols = kind == Kind.HALF_TO_REAL ? half : n[2];
        long outCols = kind == Kind.REAL_TO_HALF ? half : n[2];
        double[] re = new double[(int) (n[0] * n[1] * inCols)];
        double[] im = new double[re.length];
        for (int i = 0; i < re.length; i++) {
          int at = place(pass.in(), b, repeat, i, n[1], inCols, rank);
          re[i] = in[2 * at];
          im[i] = kind == Kind.REAL_TO_HALF ? 0 : in[2 * at + 1];
        }
        double[] toRe = new double[(int) (n[0] * n[1] * outCols)];
        double[] toIm = new double[toRe.length];
        Shape shape = kind == Kind.HALF_TO_REAL ? Shape.of(n[0], n[1], half) : full;
        FourierProblem one =
            new FourierProblem(
                shape, ElementType.FLOAT64, axes, kind, kind == Kind.HALF_TO_REAL ? n[2] : 0);
        new HostFourier()
            .transform(
                one,
                1,
                planes(re, im, one.inputIsComplex()),
                planes(toRe, toIm, one.outputIsComplex()));
        for (int i = 0; i < toRe.length; i++) {
          int at = place(pass.out(), b, repeat, i, n[1], outCols, rank);
          out[2 * at] = toRe[i];
          out[2 * at + 1] = toIm[i];
        }
      }
    }
  }

  private static int place(
      Side side, long b, long repeat, int element, long rows, long cols, int rank) {
    long k = element % cols;
    long j = element / cols % rows;
    long i = element / cols / rows;
    long last = rank > 1 ? side.embed().get(rank - 1) : 0;
    long middle = rank > 2 ? side.embed().get(1) : 0;
    long inside = (i * middle + j) * last + k;
    return (int)
        (side.start() + repeat * side.step() + b * side.distance() + inside * side.stride());
  }

  @Test
  void axesThatLieTogetherAreOnePlan() {
    assertEquals(1, passes(List.of(0, 1, 2), 0).size());
    assertEquals(1, passes(List.of(1, 2), 0).size());
    assertEquals(1, passes(List.of(0, 1), 0).size());
    assertEquals(2, passes(List.of(2, 0), 0).size());
    assertEquals(3, passes(List.of(0, 1, 2), 1).size());
    FourierPass middle = passes(List.of(1), 0).get(0);
    assertEquals(4, middle.repeats());
    assertEquals(6, middle.batch());
  }

  @Test
  void batchesAreCutIntoParts() {
    FourierProblem problem =
        new FourierProblem(
            Shape.of(1000, 7), ElementType.FLOAT32, List.of(1), Kind.REAL_TO_HALF, 0);
    for (int way = 2; way < FourierPlanner.WAYS; way++) {
      List<FourierPass> passes = FourierPlanner.passes(problem, way);
      long lines = 0;
      for (FourierPass pass : passes) {
        assertTrue(pass.batch() <= 1000 / (1 << (way - 1)) + 2, "batch " + pass.batch());
        assertEquals(0, pass.in().start() % 2, "begins at a whole complex number");
        assertTrue(pass.repeats() == 1 || pass.in().step() % 2 == 0, "and so do the others");
        lines += pass.batch() * pass.repeats();
      }
      assertEquals(1000, lines);
      assertTrue(passes.size() <= 2, "plans");
    }
  }

  @Test
  void nothingToDo() {
    FourierProblem ones =
        new FourierProblem(Shape.of(1, 5, 1), ElementType.FLOAT32, List.of(0, 2), Kind.FORWARD, 0);
    assertEquals(List.of(), FourierPlanner.passes(ones, 0));
    FourierProblem half =
        new FourierProblem(
            Shape.of(5, 1), ElementType.FLOAT32, List.of(0, 1), Kind.REAL_TO_HALF, 0);
    assertThrows(IllegalArgumentException.class, () -> FourierPlanner.passes(half, 0));
  }

  private static List<FourierPass> passes(List<Integer> axes, int way) {
    return FourierPlanner.passes(
        new FourierProblem(Shape.of(4, 5, 6), ElementType.FLOAT32, axes, Kind.FORWARD, 0), way);
  }

  private static double[] random(int count, long seed) {
    Random random = new Random(seed);
    return random.doubles(count, -1, 1).toArray();
  }

  private static List<HostMemory> planes(double[] re, double[] im, boolean isComplex) {
    return isComplex
        ? List.of(HostMemory.ofArray(re), HostMemory.ofArray(im))
        : List.of(HostMemory.ofArray(re));
  }

  private static double[] interleaved(double[] re, double[] im) {
    double[] both = new double[2 * re.length];
    for (int i = 0; i < re.length; i++) {
      both[2 * i] = re[i];
      both[2 * i + 1] = im[i];
    }
    return both;
  }

  private static List<List<Integer>> subsets(int rank) {
    List<List<Integer>> subsets = new ArrayList<>();
    for (int set = 1; set < 1 << rank; set++) {
      List<Integer> axes = new ArrayList<>();
      for (int axis = 0; axis < rank; axis++) {
        if ((set >> axis & 1) == 1) {
          axes.add(axis);
        }
      }
      subsets.add(axes);
    }
    return subsets;
  }
}
