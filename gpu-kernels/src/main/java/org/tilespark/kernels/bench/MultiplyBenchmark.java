package org.tilespark.kernels.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.plan.MultiplyEngine;
import org.tilespark.kernels.plan.MultiplyPlan;
import org.tilespark.kernels.plan.MultiplyProblem;
import org.tilespark.kernels.plan.MultiplyStrategy;
import org.tilespark.layout.ElementType;

/**
 * Measures every way the device multiplier has, own kernels and cuBLAS, in the same process.
 *
 * <p>{@code java org.tilespark.kernels.bench.MultiplyBenchmark --commit ID [--runs 9] [--csv FILE]
 * [--only TEXT] [--shapes MxKxN,...] [--library-path DIR] [--chunks N,...]} prints one line for
 * each case and way: milliseconds of one multiply (median, by CUDA events, after warm-up), TFLOP/s
 * (2 x M x K x N / time), the spread (maximum over minimum), and the ratio of the rate to that of
 * cuBLAS in a single call, which stands last; a star marks what the planner takes by rule. With
 * {@code --chunks} cuBLAS is also called once for so many steps of K at a time, which is what its
 * accuracy costs ({@link MultiplyStrategy.Cublas}). The ways take turns in each run, so that a
 * change of clocks meets all of them. Data is uniform in -1..1. Matrices that fit the L2 cache are
 * served from there, as in a chain of multiplies. A run repeats a short multiply, and before its
 * first event the device is given other work, so that it never waits for a launch. {@code --only}
 * takes the cases whose line contains a text.
 */
public final class MultiplyBenchmark {
  private static final int WARM_UPS = 2;
  private static final int RANDOM_BYTES = 64 << 20;

  /** Operations of a run at least, some milliseconds of work, unless that is too many steps. */
  private static final double RUN_OPERATIONS = 1e11;

  private static final int MOST_STEPS = 50;

  private static final String SHAPES =
      "1024x1024x1024,4096x4096x4096,8192x8192x8192,4095x4099x4097,16384x16384x128,256x1000000x256";

  private record Case(MultiplyProblem problem) {
    String key() {
      return String.format(
          "%dx%dx%d %s %s%s",
          problem.m(),
          problem.k(),
          problem.n(),
          problem.type() == ElementType.FLOAT32 ? "float" : "double",
          problem.transposeA() ? "T" : "N",
          problem.transposeB() ? "T" : "N");
    }

    double operations() {
      return 2.0 * problem.m() * problem.k() * problem.n();
    }
  }

  private record Result(Case of, String way, boolean chosen, double[] millis) {
    double median() {
      return millis[millis.length / 2];
    }

    double teraflops() {
      return of.operations() / median() / 1e9;
    }

    double spread() {
      return millis[millis.length - 1] / millis[0];
    }
  }

  private final CudaDevice device;
  private final DeviceMultiplier multiplier;
  private final int runs;
  private final long[] chunks;

  private MultiplyBenchmark(
      CudaDevice device, DeviceMultiplier multiplier, int runs, long[] chunks) {
    this.chunks = chunks;
    this.device = device;
    this.multiplier = multiplier;
    this.runs = runs;
  }

  /** Runs all cases; without a device it prints the reason and exits with status 1. */
  public static void main(String[] args) throws IOException {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      options.put(args[i], args[i + 1]);
    }
    if (args.length % 2 != 0 || !options.containsKey("--commit")) {
      System.err.println(
          "usage: MultiplyBenchmark --commit ID [--runs N] [--csv FILE] [--only TEXT]"
              + " [--shapes MxKxN,...] [--library-path DIR] [--chunks N,...]");
      System.exit(2);
    }
    DeviceProbe probe = DeviceProbe.run();
    if (!probe.available()) {
      System.err.println("No CUDA device: " + probe.reason());
      System.exit(1);
    }
    int runs = Integer.parseInt(options.getOrDefault("--runs", "9"));
    List<Case> cases = cases(options.getOrDefault("--shapes", SHAPES));
    cases.removeIf(each -> !each.key().contains(options.getOrDefault("--only", "")));
    StringBuilder csv = new StringBuilder();
    try (CudaDevice device = CudaDevice.open(0);
        DeviceMultiplier multiplier =
            new DeviceMultiplier(
                device,
                MultiplyEngine.AUTO,
                Stream.ofNullable(options.get("--library-path")).map(Path::of).toList(),
                DeviceMultiplier.Tuning.OFF)) {
      String machine =
          String.format(
              "%s; %s; commit %s; %s; %s; median of %d",
              device.description(),
              multiplier
                  .cublasVersion()
                  .map(version -> "cuBLAS " + version)
                  .orElseGet(() -> multiplier.cublas().absence().orElse("")),
              options.get("--commit"),
              device.kernels().index().compiler(),
              LocalDate.now(ZoneOffset.UTC),
              runs);
      System.out.println(machine);
      csv.append("# ").append(machine).append('\n');
      csv.append("case,way,chosen,median_ms,min_ms,max_ms,tflop_per_s,ratio_to_cublas\n");
      System.out.printf(
          "%-34s %10s %9s %7s %8s  %s%n", "case", "ms", "TFLOP/s", "spread", "/cuBLAS", "way");
      long[] chunks =
          Stream.ofNullable(options.get("--chunks"))
              .flatMapToLong(text -> Arrays.stream(text.split(",", -1)).mapToLong(Long::parseLong))
              .toArray();
      MultiplyBenchmark benchmark = new MultiplyBenchmark(device, multiplier, runs, chunks);
      for (Case each : cases) {
        print(benchmark.measure(each), csv);
      }
    }
    if (options.containsKey("--csv")) {
      Files.writeString(Path.of(options.get("--csv")), csv);
    }
  }

  private static List<Case> cases(String shapes) {
    List<Case> cases = new ArrayList<>();
    for (ElementType type : new ElementType[] {ElementType.FLOAT32, ElementType.FLOAT64}) {
      for (String text : shapes.split(",", -1)) {
        long[] shape = Arrays.stream(text.split("x", -1)).mapToLong(Long::parseLong).toArray();
        for (int which = 0; which < 4; which++) {
          cases.add(
              new Case(
                  MultiplyProblem.dense(
                      shape[0], shape[1], shape[2], type, (which & 2) != 0, (which & 1) != 0)));
        }
      }
    }
    return cases;
  }

  private List<Result> measure(Case each) {
    MultiplyProblem problem = each.problem();
    List<MultiplyPlan> ways = withChunks(multiplier.candidates(problem));
    MultiplyPlan chosen = multiplier.plan(problem).orElseThrow();
    int steps = (int) Math.max(1, Math.min(MOST_STEPS, RUN_OPERATIONS / each.operations()));
    double[][] millis = new double[ways.size()][runs];
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(problem.bytesA(), stream);
        DeviceBuffer b = device.allocate(problem.bytesB(), stream);
        DeviceBuffer c = device.allocate(problem.bytesC(), stream)) {
      fillRandom(a, problem.type(), stream);
      fillRandom(b, problem.type(), stream);
      for (int run = -WARM_UPS; run < runs; run++) {
        for (int way = 0; way < ways.size(); way++) {
          stream.fill(c, (byte) 0);
          try (CudaEvent before = stream.record()) {
            for (int step = 0; step < steps; step++) {
              multiplier.enqueue(ways.get(way), a, 0, b, 0, c, 0, stream);
            }
            try (CudaEvent after = stream.record()) {
              after.synchronize();
              if (run >= 0) {
                millis[way][run] = after.millisSince(before) / steps;
              }
            }
          }
        }
      }
    }
    List<Result> results = new ArrayList<>();
    for (int way = 0; way < ways.size(); way++) {
      Arrays.sort(millis[way]);
      MultiplyPlan plan = ways.get(way);
      results.add(new Result(each, plan.describe(), plan.equals(chosen), millis[way]));
    }
    return results;
  }

  /** The ways, then cuBLAS in the chunks asked for, last in a single call. */
  private List<MultiplyPlan> withChunks(List<MultiplyPlan> ways) {
    List<MultiplyPlan> all = new ArrayList<>(ways);
    for (MultiplyPlan way : ways) {
      if (way.strategy() instanceof MultiplyStrategy.Cublas cublas) {
        long k = way.problem().k();
        LongStream.concat(Arrays.stream(chunks), LongStream.of(k))
            .filter(chunk -> chunk <= k)
            .distinct()
            .mapToObj(
                chunk ->
                    new MultiplyStrategy.Cublas(cublas.precision(), chunk, cublas.workspaceBytes()))
            .forEach(strategy -> all.add(new MultiplyPlan(way.problem(), strategy, way.launch())));
      }
    }
    return all;
  }

  private void fillRandom(DeviceBuffer buffer, ElementType type, CudaStream stream) {
    try (PinnedBuffer random = device.allocatePinned(RANDOM_BYTES)) {
      SplittableRandom generator = new SplittableRandom(buffer.bytes());
      long start = random.memory().offset();
      for (long at = 0; at < RANDOM_BYTES; at += type.bytes()) {
        double value = 2 * generator.nextDouble() - 1;
        if (type == ElementType.FLOAT32) {
          HostMemory.unsafe().putFloat(start + at, (float) value);
        } else {
          HostMemory.unsafe().putDouble(start + at, value);
        }
      }
      for (long at = 0; at < buffer.bytes(); at += RANDOM_BYTES) {
        long part = Math.min(RANDOM_BYTES, buffer.bytes() - at);
        stream.upload(random.memory().slice(0, part), buffer, at);
      }
      stream.synchronize();
    }
  }

  private static void print(List<Result> results, StringBuilder csv) {
    double cublas =
        results.stream()
            .filter(result -> result.way().startsWith("cuBLAS"))
            .mapToDouble(Result::teraflops)
            .reduce((earlier, last) -> last)
            .orElse(Double.NaN);
    for (Result result : results) {
      double ratio = result.teraflops() / cublas;
      System.out.printf(
          Locale.ROOT,
          "%-34s %10.4f %9.2f %7.2f %8.3f %s%s%n",
          result.of().key(),
          result.median(),
          result.teraflops(),
          result.spread(),
          ratio,
          result.chosen() ? "*" : " ",
          result.way());
      csv.append(
          String.format(
              Locale.ROOT,
              "%s,\"%s\",%b,%.5f,%.5f,%.5f,%.3f,%s%n",
              result.of().key(),
              result.way(),
              result.chosen(),
              result.median(),
              result.millis()[0],
              result.millis()[result.millis().length - 1],
              result.teraflops(),
              Double.isNaN(ratio) ? "" : String.format(Locale.ROOT, "%.4f", ratio)));
    }
  }
}
