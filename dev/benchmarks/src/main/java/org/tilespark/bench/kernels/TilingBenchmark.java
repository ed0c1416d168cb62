package org.tilespark.bench.kernels;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.Tiling;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposePlanner;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.tune.Autotuner;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Creates the table of tilings in the released jar: tunes many problem classes on this machine's
 * device, with random data and without hits in the L2 cache. The table keeps the tilings that save
 * at least {@value #LEAST_GAIN} of the time of the planner's rule.
 *
 * <p>{@code java org.tilespark.bench.kernels.TilingBenchmark --commit ID --out FILE [--only TEXT]}
 * prints a line for each class with its gain over the planner's rule, and writes the table; FILE is
 * {@code gpu-kernels/src/main/resources/org/tilespark/kernels/transpose/sm_NN.tilings}. {@code
 * --only} selects the problems whose line contains a text.
 */
public final class TilingBenchmark {
  private static final Duration BUDGET = Duration.ofSeconds(10);
  private static final long MOST_BYTES = 2L << 30;
  private static final long BATCH_BYTES = 64L << 20;
  private static final int RUNS = 2;
  private static final double LEAST_GAIN = 0.03; // of the rule's time

  private TilingBenchmark() {}

  /** Tunes all classes; exits with status 1 if there is no device. */
  public static void main(String[] args) throws IOException {
    KernelRun run =
        KernelRun.start(args, "TilingBenchmark --commit ID --out FILE [--only TEXT]", 1, "--out");
    try (CudaDevice device = CudaDevice.open(0)) {
      String header =
          String.format(
              "# Measured by TilingBenchmark on %s; commit %s; %s",
              device.description(), run.options().get("--commit"), LocalDate.now(ZoneOffset.UTC));
      System.out.println(header);
      TuningTable<ProblemClass, Tiling> table = tune(device, run.option("--only", ""));
      Files.writeString(Path.of(run.options().get("--out")), header + "\n" + table.toText());
    }
  }

  private static TuningTable<ProblemClass, Tiling> tune(CudaDevice device, String only) {
    Autotuner tuner = Autotuner.undisturbed(device.ownKernels(), BUDGET, LEAST_GAIN);
    TuningTable<ProblemClass, Tiling> faster = TuningTable.empty();
    try (DeviceTransposer transposer = new DeviceTransposer(device)) {
      for (TransposeProblem problem : problems()) {
        TransposePlan plan =
            TransposePlanner.plan(problem, TransposePlanner.MAX_ALIGNMENT, device.ownKernels())
                .get();
        String line = problem.shape() + " " + problem.permutation() + " " + problem.elementBytes();
        if (line.contains(only) && problem.bytes() <= MOST_BYTES && tuner.isOpen(plan)) {
          faster = faster.with(tune(device, transposer, tuner, plan));
        }
      }
    }
    return faster;
  }

  /**
   * Tunes a problem's class; returns a table with its tiling, empty unless that is faster than the
   * rule's.
   */
  private static TuningTable<ProblemClass, Tiling> tune(
      CudaDevice device, DeviceTransposer transposer, Autotuner tuner, TransposePlan plan) {
    Map<Tiling, Double> millis = new HashMap<>();
    try (DeviceTimer timer = new DeviceTimer(device, plan.problem().bytes(), RUNS, 1)) {
      tuner.tune(
          plan,
          trial -> {
            double least =
                timer
                    .time(
                        (in, out, at) ->
                            transposer.enqueue(trial, in, at, out, at, timer.stream()))[0];
            millis.merge(TransposePlanner.tiling(trial).orElseThrow(), least, Math::min);
            return least;
          });
      ProblemClass problems = TransposePlanner.problemClass(plan).orElseThrow();
      Optional<Tiling> found = tuner.table().find(problems);
      Tiling rule = TransposePlanner.tiling(plan).orElseThrow();
      double before = millis.get(rule);
      double after = found.map(millis::get).orElse(before);
      System.out.printf(
          Locale.ROOT,
          "%-36s %-52s %7.0f GB/s, %.3f of the copy, %.3f of the rule%n",
          problems,
          found.map(Tiling::toString).orElse("undecided"),
          2.0 * plan.problem().bytes() / after / 1e6,
          timer.timeCopy()[0] / after,
          before / after);
      return found
          .filter(tiling -> !tiling.equals(rule))
          .map(tiling -> TuningTable.<ProblemClass, Tiling>empty().with(problems, tiling))
          .orElseGet(TuningTable::empty);
    }
  }

  /** Typical transposes of users and of the benchmarks, with aligned and unaligned rows. */
  private static List<TransposeProblem> problems() {
    List<TransposeProblem> problems = new ArrayList<>();
    for (int width = 1; width <= 16; width *= 2) {
      for (long n = 512; n <= 32768; n *= 2) {
        addMatrix(problems, n, n, width);
        addMatrix(problems, n - 16, n - 16, width); // aligned rows, and edge tiles
        addMatrix(problems, n - 1, n - 3, width);
      }
      addMatrix(problems, 8192, 32768, width);
      addMatrix(problems, 32768, 8192, width);
      addMatrix(problems, 10007, 7919, width);
      for (long narrow = 32; narrow <= 1024; narrow *= 2) {
        long wide = Math.min(1 << 20, (1L << 29) / narrow / width);
        for (long less : new long[] {0, 1, 16}) {
          addMatrix(problems, wide, narrow - less, width);
          addMatrix(problems, wide - less, narrow - less, width);
          addMatrix(problems, narrow - less, wide, width);
          addMatrix(problems, narrow - less, wide - less, width);
        }
      }
      for (long n : new long[] {32, 48, 64, 80, 96, 100, 127, 128, 200, 255, 256, 511, 512}) {
        addBatch(problems, n, width);
      }
      for (long n : new long[] {1000, 1023, 1024, 2032, 2047, 2048, 4095, 4096}) {
        addBatch(problems, n, width);
      }
      for (String order : new String[] {"xzy", "yzx", "zxy", "zyx"}) {
        for (Shape volume :
            new Shape[] {
              Shape.of(256, 256, 256),
              Shape.of(512, 512, 512),
              Shape.of(1024, 768, 640),
              Shape.of(2048, 64, 1000),
              Shape.of(511, 513, 509)
            }) {
          problems.add(new TransposeProblem(volume, Permutation.parse(order), width));
        }
      }
    }
    return problems;
  }

  private static void addMatrix(List<TransposeProblem> problems, long rows, long cols, int width) {
    problems.add(new TransposeProblem(Shape.of(rows, cols), Permutation.of(1, 0), width));
  }

  /**
   * Adds batches of square matrices: as many as a pipeline's batch holds by default, and eight
   * times as many.
   */
  private static void addBatch(List<TransposeProblem> problems, long n, int width) {
    long count = Math.max(1, BATCH_BYTES / (n * n * width));
    problems.add(new TransposeProblem(Shape.of(count, n, n), Permutation.of(0, 2, 1), width));
    problems.add(new TransposeProblem(Shape.of(8 * count, n, n), Permutation.of(0, 2, 1), width));
  }
}
