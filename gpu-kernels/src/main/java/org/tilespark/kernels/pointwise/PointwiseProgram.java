package org.tilespark.kernels.pointwise;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * What becomes of each element of a dense array by itself, in one pass over the array: what the
 * kernels of {@code fourier_pointwise.cu} are launched with. Everything is computed in double
 * precision. The vectors of all steps lie in one buffer in the order of {@link #vectors()}.
 *
 * @param shape extents, 1 to 3 axes
 * @param type FLOAT32 or FLOAT64, of the parts of complex numbers too
 * @param isComplex true if the input is complex
 * @param steps first to last, at most {@link #MOST_STEPS}
 * @param end what comes out
 */
public record PointwiseProgram(
    Shape shape, ElementType type, boolean isComplex, List<Step> steps, End end) {
  /** Steps of one launch; {@code MAX_STEPS} in the kernel. */
  public static final int MOST_STEPS = 16;

  private static final int AXES = 3;

  /** What comes out. */
  public enum End {
    /** What went in; in place if wanted. */
    SAME,
    /** The square of the absolute value of a complex number. */
    POWER,
    /** The real part of a complex number. */
    REAL_PART,
    /** A complex number without imaginary part from a real one. */
    COMPLEX
  }

  /** What a step does; in the order of {@code StepKind} in the kernel. */
  public enum Kind {
    /** Subtracts the sum of one number per axis. */
    SUBTRACT,
    /** Multiplies by the product of one number per axis. */
    SCALE,
    /** Makes zero where the sum of one number per axis is above the constant. */
    KEEP_UP_TO,
    /** Multiplies by the constant. */
    FACTOR
  }

  /**
   * One step.
   *
   * @param re one vector per axis; empty for {@link Kind#FACTOR}
   * @param im those for the imaginary parts, for {@link Kind#SUBTRACT} of complex numbers; else
   *     empty
   * @param constant the limit or the factor; else 0
   */
  public record Step(Kind kind, List<double[]> re, List<double[]> im, double constant) {
    /** Copies the lists, not the vectors. */
    public Step {
      re = List.copyOf(re);
      im = List.copyOf(im);
    }
  }

  /** Checks that inputs and ends go together and every vector is as long as its axis. */
  public PointwiseProgram {
    steps = List.copyOf(steps);
    if (steps.size() > MOST_STEPS) {
      throw new IllegalArgumentException(
          steps.size() + " steps in one pass; expected at most " + MOST_STEPS);
    }
    if (end != End.SAME && isComplex == (end == End.COMPLEX)) {
      throw new IllegalArgumentException(
          end + " of " + (isComplex ? "complex numbers" : "real values"));
    }
    for (Step step : steps) {
      boolean fits =
          step.kind() == Kind.FACTOR ? step.re().isEmpty() : step.re().size() == shape.rank();
      boolean two = step.kind() == Kind.SUBTRACT && isComplex;
      fits &= step.im().size() == (two ? shape.rank() : 0);
      for (List<double[]> vectors : List.of(step.re(), step.im())) {
        for (int axis = 0; fits && axis < vectors.size(); axis++) {
          fits = vectors.get(axis).length == shape.extent(axis);
        }
      }
      if (!fits) {
        throw new IllegalArgumentException(
            "The vectors of a step " + step.kind() + " do not fit an array " + shape);
      }
    }
  }

  /** Numbers that {@link #vectors()} has. */
  public long vectorElements() {
    return vectors().stream().mapToLong(vector -> vector.length).sum();
  }

  /**
   * The vectors, in the order in which they lie back to back. Of an axis that is not there a step
   * has a vector of one number that changes nothing.
   */
  public List<double[]> vectors() {
    List<double[]> all = new ArrayList<>();
    for (Step step : steps) {
      double neutral = step.kind() == Kind.SCALE ? 1 : 0;
      for (List<double[]> vectors : List.of(step.re(), step.im())) {
        for (int axis = vectors.size(); axis < AXES && !vectors.isEmpty(); axis++) {
          all.add(new double[] {neutral});
        }
        all.addAll(vectors);
      }
    }
    return all;
  }

  /** True if the output is complex. */
  public boolean outputIsComplex() {
    return end == End.SAME ? isComplex : end == End.COMPLEX;
  }

  /** The launch; it takes the addresses of the input, the vectors and the output. */
  public KernelLaunch launch(DeviceKernels device) {
    String family =
        "fourier_pointwise_"
            + (isComplex ? "complex" : "real")
            + (outputIsComplex() ? "_complex" : "_real");
    long cols = shape.extent(shape.rank() - 1);
    // The kernel with the most elements a thread that divide a row.
    KernelIndex.Kernel kernel =
        device.findAll(family, type.bytes()).stream()
            .filter(each -> cols % each.shape().cols() == 0)
            .max((a, b) -> Integer.compare(a.shape().cols(), b.shape().cols()))
            .orElseThrow(
                () ->
                    new UnsupportedOperationException(
                        "This jar has no kernel %s for %s"
                            .formatted(family, device.limits().architecture())));
    List<Long> words =
        new ArrayList<>(
            List.of(
                shape.rank() > 1 ? shape.extent(shape.rank() - 2) : 1L,
                cols,
                shape.elements(),
                (long) steps.size(),
                end == End.POWER ? 1L : 0L));
    long at = 0;
    for (Step step : steps) {
      words.add((long) step.kind().ordinal());
      for (List<double[]> vectors : List.of(step.re(), step.im())) {
        for (int axis = 0; axis < AXES; axis++) {
          int given = axis - (AXES - vectors.size());
          words.add(vectors.isEmpty() ? 0L : at);
          at += vectors.isEmpty() ? 0 : given < 0 ? 1 : vectors.get(given).length;
        }
      }
      words.add(Double.doubleToRawLongBits(step.constant()));
    }
    int threads = kernel.shape().threads();
    long each = (long) threads * kernel.shape().cols();
    return new KernelLaunch(
        kernel.name(),
        LaunchConfig.forPieces((shape.elements() + each - 1) / each, threads, 0, device.limits()),
        words.stream().mapToLong(Long::longValue).toArray());
  }
}
