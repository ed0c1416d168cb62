package org.tilespark.bench.kernels;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyPlanner;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStrategy;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.multiply.ProductKind;

/**
 * Measures the steps of matrix-multiply tutorials ("rungs") on the user's GPU: one thread an
 * element, tiles in shared memory, then also in registers, prefetch, several stages; then our
 * kernels, and cuBLAS in a single call.
 *
 * <p>{@code java org.tilespark.bench.kernels.MultiplyLadderBenchmark --commit ID [--extent 4096]
 * [--types float,double,tf32,...] [--runs 9] [--library-path DIR]} multiplies square matrices and
 * prints a line for each rung: milliseconds (median), TFLOP/s (2 x extent^3 / time), the ratio to
 * the rate of cuBLAS, and the error (max |C - C*| / |A||B|, of random elements). The extent must be
 * a multiple of {@value #EXTENT_MULTIPLE}, since rungs 1 to 5 have no edge tiles. {@link
 * KernelMultiplyBenchmark} describes how time is measured.
 *
 * <p>Rungs 1 to 5 support NN only; the others also NT, TN and TT. Rung 6 is each of our kernels
 * that read transposed operands directly, 7 the planner's choice among our kernels for the tensor
 * cores of sm_90a, 8 the tuner's choice among all strategies, at full precision with cuBLAS in
 * chunks. Lower precisions (tf32, bfloat16, float16) begin at 6, with {@code mma.sync} kernels and
 * kernels that round operands while loading them.
 *
 * <p>The rungs are those of the Triton-C tutorial on matrix multiplication; tiles of thread blocks,
 * warps and threads, and the pipeline of stages, are those of CUTLASS's documentation, "Efficient
 * GEMM in CUDA".
 */
public final class MultiplyLadderBenchmark {
  /** Rows and columns of the tiles of rungs 1 to 5. */
  static final int EXTENT_MULTIPLE = 128;

  /** Rungs 1 to 5, which the planner never chooses: name in the table and kernel family. */
  static final List<Map.Entry<String, String>> FAMILIES =
      List.of(
          Map.entry("1 one thread an element", "ladder_multiply_naive"),
          Map.entry("2 tiles in shared memory", "ladder_multiply_shared"),
          Map.entry("3 + in registers", "ladder_multiply_registers"),
          Map.entry("4 + prefetch", "ladder_multiply_prefetch"),
          Map.entry("5 + multi-stage", "ladder_multiply_stages"));

  /** A time limit that never cuts off the tuner's trials. */
  static final DeviceMultiplier.Tuning TUNING =
      new DeviceMultiplier.Tuning(Duration.ofSeconds(10), Optional.empty());

  private static final String USAGE =
      "usage: MultiplyLadderBenchmark --commit ID [--extent N]"
          + " [--types float,double,tf32,bfloat16,float16] [--runs N] [--library-path DIR]";

  /**
   * One line of the table.
   *
   * @param name the rung's name
   * @param decision the rung's plan, or the reason why it has none
   */
  record Rung(String name, Availability<MultiplyPlan> decision) {}

  record Options(
      String commit, long extent, List<ProductKind> types, int runs, List<Path> libraryPath) {
    private static final Set<String> KNOWN =
        Set.of("--commit", "--extent", "--types", "--runs", "--library-path");

    /**
     * Parses the command line.
     *
     * @throws IllegalArgumentException if an option is unknown or wrong
     */
    static Options parse(String... args) {
      Map<String, String> given = new HashMap<>();
      for (int i = 0; i + 1 < args.length; i += 2) {
        given.put(args[i], args[i + 1]);
      }
      if (args.length % 2 != 0
          || !given.containsKey("--commit")
          || !KNOWN.containsAll(given.keySet())) {
        throw new IllegalArgumentException(
            "Arguments " + Arrays.toString(args) + "; expected --commit, and a value for each");
      }
      long extent = number("--extent", given.getOrDefault("--extent", "4096"));
      if (extent % EXTENT_MULTIPLE != 0) {
        throw new IllegalArgumentException(
            "--extent "
                + extent
                + "; expected a multiple of "
                + EXTENT_MULTIPLE
                + ", as the rungs 1 to 5 make whole tiles alone");
      }
      return new Options(
          given.get("--commit"),
          extent,
          Stream.of(given.getOrDefault("--types", "float,double").split(",", -1))
              .map(ProductKind::of)
              .toList(),
          (int) Math.min(Integer.MAX_VALUE, number("--runs", given.getOrDefault("--runs", "9"))),
          Stream.ofNullable(given.get("--library-path")).map(Path::of).toList());
    }

    private static long number(String name, String value) {
      try {
        long number = Long.parseLong(value);
        if (number > 0) {
          return number;
        }
      } catch (NumberFormatException e) {
        throw new IllegalArgumentException(name + " " + value + "; expected a number", e);
      }
      throw new IllegalArgumentException(name + " " + value + "; expected at least 1");
    }
  }

  private final CudaDevice device;
  private final DeviceMultiplier multiplier;

  /** Borrows the device and the multiplier, which must allow tuning. */
  MultiplyLadderBenchmark(CudaDevice device, DeviceMultiplier multiplier) {
    this.device = device;
    this.multiplier = multiplier;
  }

  /** Prints the table; exits with status 1 if there is no device. */
  public static void main(String[] args) {
    Options options;
    try {
      options = Options.parse(args);
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.err.println(USAGE);
      System.exit(2);
      return;
    }
    KernelRun.requireDevice();
    try (CudaDevice device = LadderKernels.openDevice();
        DeviceMultiplier multiplier =
            new DeviceMultiplier(device, MultiplyEngine.AUTO, options.libraryPath(), TUNING)) {
      System.out.println(
          KernelMultiplyBenchmark.machine(device, multiplier, options.commit(), options.runs()));
      MultiplyLadderBenchmark ladder = new MultiplyLadderBenchmark(device, multiplier);
      KernelMultiplyBenchmark benchmark =
          new KernelMultiplyBenchmark(device, multiplier, options.runs(), new long[0], false);
      try {
        for (ProductKind kind : options.types()) {
          for (MultiplyProblem problem : problems(options.extent(), kind)) {
            ladder.climb(problem, benchmark);
          }
        }
      } finally {
        benchmark.close();
      }
    }
  }

  /** Returns the products NN, NT, TN and TT of square matrices. */
  static List<MultiplyProblem> problems(long extent, ProductKind kind) {
    List<MultiplyProblem> problems = new ArrayList<>();
    for (int which = 0; which < 4; which++) {
      problems.add(
          MultiplyProblem.dense(
                  extent, extent, extent, kind.type(), (which & 2) != 0, (which & 1) != 0)
              .withPrecision(kind.precision()));
    }
    return problems;
  }

  /** Returns the rungs for a problem, cuBLAS last. Runs the tuner. */
  List<Rung> rungs(MultiplyProblem problem) {
    List<Rung> rungs = new ArrayList<>();
    boolean full = problem.precision() == Precision.FULL;
    if (full && !problem.a().transposed() && !problem.b().transposed()) {
      for (Map.Entry<String, String> family : FAMILIES) {
        rungs.add(new Rung(family.getKey(), plan(problem, family.getValue())));
      }
    }
    List<MultiplyPlan> candidates = multiplier.planner().candidates(problem, problem.k());
    candidates.stream()
        .filter(plan -> plan.strategy() instanceof MultiplyStrategy.Tiled)
        .forEach(plan -> rungs.add(new Rung("6 fused N/T", Availability.of(plan))));
    if (!full) {
      addFamily("6 mma.sync", "multiply_mma_", candidates, rungs);
      addFamily("6 rounded on the way", "multiply_fused_", candidates, rungs);
    }
    rungs.add(new Rung("7 tensor cores", tensor(problem, candidates)));
    rungs.add(new Rung("8 autotuned", multiplier.plan(problem, problem.k(), tuned(problem))));
    rungs.add(new Rung("cuBLAS", cublas(candidates)));
    return rungs;
  }

  private static void addFamily(
      String name, String family, List<MultiplyPlan> candidates, List<Rung> rungs) {
    candidates.stream()
        .filter(plan -> plan.strategy().way().orElseThrow().name().startsWith(family))
        .forEach(plan -> rungs.add(new Rung(name, Availability.of(plan))));
  }

  private Availability<MultiplyPlan> plan(MultiplyProblem problem, String family) {
    Optional<KernelIndex.Kernel> kernel =
        device.kernels().index().find(family, problem.type().bytes(), device.limits());
    return Availability.of(
        kernel.map(found -> new MultiplyRung(found).plan(problem, device.limits())),
        () -> none(family));
  }

  /**
   * The planner's choice if it is a tensor-core kernel, else the first of these kernels, if any.
   */
  private Availability<MultiplyPlan> tensor(
      MultiplyProblem problem, List<MultiplyPlan> candidates) {
    Optional<MultiplyPlan> byRule =
        new MultiplyPlanner(device.ownKernels(), multiplier.cublas(), MultiplyEngine.OWN)
            .plan(problem, problem.k())
            .thing();
    return Availability.of(
        Stream.concat(byRule.stream(), candidates.stream())
            .filter(plan -> plan.strategy() instanceof MultiplyStrategy.Tensor)
            .findFirst(),
        () -> none("kernel with packed operands"));
  }

  private String none(String what) {
    return "This jar has no " + what + " for " + device.limits().architecture();
  }

  private Optional<MultiplyWay> tuned(MultiplyProblem problem) {
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(problem.bytesA(), stream);
        DeviceBuffer b = device.allocate(problem.bytesB(), stream);
        DeviceBuffer c = device.allocate(problem.bytesC(), stream);
        DeviceBuffer workspace =
            device.allocate(multiplier.planner().mostWorkspaceBytes(problem), stream)) {
      stream.fill(a, (byte) 0);
      stream.fill(b, (byte) 0);
      return multiplier.choose(problem, problem.k(), a, b, c, workspace, stream);
    }
  }

  /** cuBLAS in a single call, as in programs that use cuBLAS directly. */
  private Availability<MultiplyPlan> cublas(List<MultiplyPlan> candidates) {
    for (MultiplyPlan plan : candidates) {
      if (plan.strategy() instanceof MultiplyStrategy.Cublas cublas) {
        return Availability.of(
            new MultiplyPlan(
                plan.problem(),
                new MultiplyStrategy.Cublas(
                    cublas.precision(), plan.problem().k(), cublas.workspaceBytes()),
                plan.launch()));
      }
    }
    return Availability.not(multiplier.cublas().whyNot());
  }

  private void climb(MultiplyProblem problem, KernelMultiplyBenchmark benchmark) {
    KernelMultiplyBenchmark.Case of = new KernelMultiplyBenchmark.Case(problem);
    List<Rung> rungs = rungs(problem);
    List<KernelMultiplyBenchmark.Result> results =
        benchmark.measure(
            of,
            rungs.stream()
                .map(Rung::decision)
                .flatMap(decision -> decision.thing().stream())
                .toList());
    double cublas =
        rungs.get(rungs.size() - 1).decision().isPresent()
            ? results.get(results.size() - 1).teraflops()
            : Double.NaN;
    System.out.println(of.key());
    Iterator<KernelMultiplyBenchmark.Result> next = results.iterator();
    for (Rung rung : rungs) {
      System.out.println(
          rung.decision().isPresent()
              ? line(rung.name(), next.next(), cublas)
              : String.format(Locale.ROOT, "  %-25s %s", rung.name(), rung.decision().whyNot()));
    }
  }

  private static String line(String name, KernelMultiplyBenchmark.Result result, double cublas) {
    return String.format(
        Locale.ROOT,
        "  %-25s %9.4f ms %7.2f TFLOP/s %s of cuBLAS, error %8.2e  %s",
        name,
        result.median(),
        result.teraflops(),
        Double.isNaN(cublas)
            ? "    -"
            : String.format(Locale.ROOT, "%5.3f", result.teraflops() / cublas),
        result.error(),
        result.way());
  }
}
