package org.tilespark.kernels.fourier;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import org.tilespark.kernels.fourier.FourierPass.Side;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.layout.Shape;

/**
 * Chooses plans of cuFFT that together compute a {@link FourierProblem}. Axes of extent 1 need no
 * plan. Adjacent transformed axes form one plan. The axes before them or those after them can be
 * its batch; if there are both, the plan is executed once for each index of the axes before. (A
 * caller with many plans over a middle axis alone does better to permute first.)
 *
 * <p>There are several ways, each with less work area and more executions than the one before:
 * {@code 0} as above, {@code 1} axis by axis, and {@code n} axis by axis with batches in 2^(n - 1)
 * parts. cuFFT needs a work area as large as the array for lengths with small prime factors, and
 * several times as large for other lengths, unless batches are cut.
 */
public final class FourierPlanner {
  /** The number of ways, which are numbered from 0. */
  public static final int WAYS = 7;

  private FourierPlanner() {}

  /**
   * The passes that compute a problem, in their order. The first reads the input. If the input is
   * real, the first pass converts to complex numbers; if the output is real, the last pass converts
   * to real ones. All other passes work in place on the complex array.
   *
   * @param way from 0 to {@link #WAYS} - 1
   * @return the passes; none if all transformed axes have extent 1
   */
  public static List<FourierPass> passes(FourierProblem problem, int way) {
    SortedSet<Integer> axes = new TreeSet<>();
    List<Long> lengths = problem.lengths();
    for (int i = 0; i < lengths.size(); i++) {
      if (lengths.get(i) > 1) {
        axes.add(problem.axes().get(i));
      }
    }
    Kind kind = problem.kind();
    if (kind == Kind.FORWARD || kind == Kind.INVERSE) {
      return complex(problem, problem.shape(), axes, way);
    }
    int halved = problem.halvedAxis();
    if (!axes.remove(halved)) {
      throw new IllegalArgumentException(
          "Half a spectrum of an axis of extent 1 is no transform: " + problem);
    }
    List<FourierPass> passes = new ArrayList<>();
    Shape full = kind == Kind.REAL_TO_HALF ? problem.shape() : problem.outputShape();
    Shape half = kind == Kind.REAL_TO_HALF ? problem.outputShape() : problem.shape();
    // The adjacent transformed axes before the halved one go into the same plan.
    int first = halved;
    while (way == 0 && axes.contains(first - 1)) {
      first--;
      axes.remove(first);
    }
    Kind complexKind = kind == Kind.REAL_TO_HALF ? Kind.FORWARD : Kind.INVERSE;
    List<FourierPass> real = group(kind, problem, full, half, first, halved, way);
    List<FourierPass> others = complex(problem, complexKind, half, axes, way);
    passes.addAll(kind == Kind.REAL_TO_HALF ? real : others);
    passes.addAll(kind == Kind.REAL_TO_HALF ? others : real);
    return passes;
  }

  private static List<FourierPass> complex(
      FourierProblem problem, Shape shape, SortedSet<Integer> axes, int way) {
    return complex(problem, problem.kind(), shape, axes, way);
  }

  /** Passes that work in place on complex numbers, those over the innermost axes first. */
  private static List<FourierPass> complex(
      FourierProblem problem, Kind kind, Shape shape, SortedSet<Integer> axes, int way) {
    List<Integer> left = new ArrayList<>(axes);
    Collections.reverse(left);
    List<FourierPass> passes = new ArrayList<>();
    for (int i = 0; i < left.size(); i++) {
      int last = left.get(i);
      int first = last;
      // Axes of extent 1 between two others do not separate them.
      while (way == 0 && i + 1 < left.size() && volume(shape, left.get(i + 1) + 1, first) == 1) {
        first = left.get(++i);
      }
      passes.addAll(group(kind, problem, shape, shape, first, last, way));
    }
    return passes;
  }

  /**
   * The passes of one transform over the axes from {@code first} to {@code last}, except those of
   * extent 1.
   *
   * @param full shape of the real array if the input or the output is real, otherwise of the
   *     complex array
   * @param half shape of the complex array, whose halved axis has its half extent
   */
  private static List<FourierPass> group(
      Kind kind, FourierProblem problem, Shape full, Shape half, int first, int last, int way) {
    List<Long> lengths = new ArrayList<>();
    List<Long> halfLengths = new ArrayList<>();
    for (int axis = first; axis <= last; axis++) {
      if (full.extent(axis) > 1 || axis == last) {
        lengths.add(full.extent(axis));
        halfLengths.add(half.extent(axis));
      }
    }
    long outer = volume(full, 0, first);
    long inner = volume(full, last + 1, full.rank());
    long fullElements = volume(full, first, last + 1);
    long halfElements = volume(half, first, last + 1);
    boolean loops = outer > 1 && inner > 1;
    long batch = inner > 1 ? inner : outer;
    long parts = Math.min(batch, way < 2 || loops ? 1 : 1L << (way - 1));
    long each = (batch + parts - 1) / parts;
    if (kind == Kind.REAL_TO_HALF || kind == Kind.HALF_TO_REAL) {
      // Executions begin at even offsets of the real side, since cuFFT aligns to complex numbers.
      each += each % 2;
    }
    List<FourierPass> passes = new ArrayList<>();
    long done = 0;
    while (done < batch) {
      // First as many executions of equal size as fit, then one for the remaining transforms.
      long count = Math.min(each, batch - done);
      long repeats = loops ? outer : (batch - done) / count;
      Side fullSide = side(lengths, inner, fullElements, done, count, loops);
      Side halfSide = side(halfLengths, inner, halfElements, done, count, loops);
      boolean fromFull = kind != Kind.HALF_TO_REAL;
      passes.add(
          new FourierPass(
              kind,
              problem.type(),
              lengths,
              fromFull ? fullSide : halfSide,
              fromFull ? halfSide : fullSide,
              count,
              repeats));
      done += loops ? batch : count * repeats;
    }
    return passes;
  }

  /**
   * The layout of the input or output of a transform over adjacent axes, which have {@code
   * elements} elements at distance {@code inner} from each other.
   */
  private static Side side(
      List<Long> embed, long inner, long elements, long done, long count, boolean loops) {
    long distance = inner > 1 ? 1 : elements;
    return new Side(
        embed, inner, distance, done * distance, loops ? elements * inner : count * distance);
  }

  private static long volume(Shape shape, int from, int to) {
    long volume = 1;
    for (int axis = from; axis < to; axis++) {
      volume *= shape.extent(axis);
    }
    return volume;
  }
}
