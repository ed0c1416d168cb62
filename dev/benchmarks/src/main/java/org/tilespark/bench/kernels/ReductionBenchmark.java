package org.tilespark.bench.kernels;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.device.DeviceReducer;
import org.tilespark.kernels.reduce.Reduction;
import org.tilespark.kernels.reduce.ReductionProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Measures reductions on the device and a device-to-device copy in the same process.
 *
 * <p>{@code java org.tilespark.bench.kernels.ReductionBenchmark --commit ID [--runs 15]} prints one
 * line a case: milliseconds (median, by CUDA events), GB/s (bytes of the array / time), the spread
 * (maximum over minimum) and the ratio to the copy's rate, which counts bytes read and written. The
 * ratio shows how much a faster kernel could gain.
 */
public final class ReductionBenchmark {
  private static final long BYTES = 1L << 30;

  private final DeviceReducer reducer;
  private final DeviceTimer timer;
  private final int runs;
  private final double copyRate;

  private ReductionBenchmark(DeviceReducer reducer, DeviceTimer timer, int runs) {
    this.reducer = reducer;
    this.timer = timer;
    this.runs = runs;
    double[] copy = timer.timeCopy();
    copyRate = 2.0 * BYTES / copy[runs / 2] / 1e6;
    print("copy by the driver", copy, 2);
  }

  /** Runs all cases; exits with status 1 if there is no device. */
  public static void main(String[] args) {
    KernelRun run = KernelRun.start(args, "ReductionBenchmark --commit ID [--runs N]", 15);
    try (CudaDevice device = CudaDevice.open(0);
        DeviceTimer timer = new DeviceTimer(device, BYTES, run.runs())) {
      System.out.println(run.machine(device));
      new ReductionBenchmark(new DeviceReducer(device), timer, run.runs()).all();
    }
  }

  private void all() {
    for (ElementType type :
        List.of(ElementType.FLOAT32, ElementType.FLOAT64, ElementType.INT8, ElementType.INT32)) {
      shapes(BYTES / type.bytes())
          .forEach((shape, axes) -> axes.forEach(each -> run(shape, each, type, Reduction.SUM)));
    }
    Shape matrix = Shape.of(BYTES / Double.BYTES / 8192, 8192);
    for (Reduction reduction : List.of(Reduction.MAXIMUM, Reduction.ARGMAX)) {
      for (Set<Integer> axes : List.of(Set.of(0), Set.of(1), Set.of(0, 1))) {
        run(matrix, axes, ElementType.FLOAT64, reduction);
      }
    }
  }

  /** Shapes of about {@code elements} elements, each with the sets of axes to reduce. */
  private static Map<Shape, List<Set<Integer>>> shapes(long elements) {
    Map<Shape, List<Set<Integer>>> shapes = new LinkedHashMap<>();
    shapes.put(Shape.of(elements / 8192, 8192), List.of(Set.of(0), Set.of(1), Set.of(0, 1)));
    shapes.put(
        Shape.of(elements / (512 * 512), 512, 512),
        List.of(Set.of(0), Set.of(1), Set.of(2), Set.of(0, 2), Set.of(1, 2)));
    shapes.put(Shape.of(elements / 16, 16), List.of(Set.of(1)));
    shapes.put(Shape.of(16, elements / 16), List.of(Set.of(0)));
    shapes.put(Shape.of(elements / 128, 128), List.of(Set.of(1)));
    // Extents that are not powers of two; the arrays are a few bytes smaller.
    shapes.put(Shape.of(elements / 25, 25), List.of(Set.of(1)));
    shapes.put(Shape.of(25, elements / 25), List.of(Set.of(0)));
    shapes.put(Shape.of(elements / 300, 300), List.of(Set.of(1)));
    shapes.put(Shape.of(300, elements / 300), List.of(Set.of(0)));
    return shapes;
  }

  private void run(Shape shape, Set<Integer> axes, ElementType type, Reduction reduction) {
    ReductionProblem problem = new ReductionProblem(shape, axes, type, reduction);
    print(
        "%s of %s, %s, axes %s".formatted(reduction, type, shape, axes),
        timer.time(
            (in, out, at) ->
                reducer.reduce(
                    problem,
                    new At(in, at),
                    new At(out, at),
                    new At(out, at + BYTES / 2),
                    timer.stream())),
        1);
  }

  private void print(String name, double[] millis, double moved) {
    double rate = moved * BYTES / millis[runs / 2] / 1e6;
    System.out.printf(
        Locale.ROOT,
        "%-56s %9.4f ms %6.0f GB/s  spread %5.2f  %5.2f of the copy%n",
        name,
        millis[runs / 2],
        rate,
        millis[millis.length - 1] / millis[0],
        rate / copyRate);
  }
}
