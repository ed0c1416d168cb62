package org.tilespark.bench.kernels;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.DoubleSummaryStatistics;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStrategy;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.multiply.ProductKind;
import org.tilespark.layout.ElementType;

/**
 * Measures all strategies of the device multiplier, our kernels and cuBLAS, in the same process.
 *
 * <p>{@code java org.tilespark.bench.kernels.KernelMultiplyBenchmark --commit ID [--runs 9] [--csv
 * FILE] [--only TEXT] [--kinds float,double,tf32,bfloat16,float16] [--shapes [COUNT*]MxKxN,...]
 * [--library-path DIR] [--chunks N,...] [--ways all|chosen]} prints one line for each case and
 * strategy: milliseconds of one multiply (median, by CUDA events, after warm-up), TFLOP/s (2 x
 * COUNT x M x K x N / time), the spread (maximum over minimum), the ratio of the rate to that of
 * cuBLAS in a single call (the last line), the microseconds that the host needs to queue one
 * multiply (median), and the error (max |C - C*| / |A||B|, of random elements). A star marks the
 * planner's choice. At the end follow, for each product, the least and the greatest ratio of the
 * planner's choice.
 *
 * <p>COUNT products are consecutive in memory; cuBLAS multiplies them in one strided batched call.
 * Operands are FLOAT or DOUBLE in device memory for all kinds, so a time includes their conversion.
 * Data is uniform in -1..1. Matrices that fit the L2 cache are read from there, as in a chain of
 * multiplies. The strategies alternate within each run, so that a change of clocks affects all of
 * them, and share one workspace. Multiplies shorter than a millisecond are repeated between two
 * events, after enough warm-up for the JIT compiler; their time includes the host's if that is
 * longer.
 *
 * <p>{@code --chunks} also calls cuBLAS once for each chunk of K, to show the cost of higher
 * accuracy ({@link MultiplyStrategy.Cublas}). {@code --ways chosen} measures the planner's choice
 * and cuBLAS in a single call only: under a power cap, clocks and times depend on the strategy that
 * ran before. {@code --only} selects the cases whose line contains a text.
 */
public final class KernelMultiplyBenchmark {
  private static final int WARM_UPS = 2;
  private static final int RANDOM_BYTES = 64 << 20;

  /**
   * Floating-point operations of a run, a few milliseconds of work; {@link #MOST_STEPS} may limit
   * them.
   */
  private static final double RUN_OPERATIONS = 2.5e11;

  /**
   * Greatest number of multiplies in a run. The driver queues all their launches without blocking
   * the host.
   */
  private static final int MOST_STEPS = 100;

  /** Multiplies of less time count as short and get more warm-up. */
  private static final double SHORT_MILLIS = 1;

  /**
   * Greatest number of warm-up multiplies of a short multiply; their total time is limited as well.
   */
  private static final int SHORT_WARM_UPS = 2000;

  private static final long SHORT_WARM_UP_NANOS = 2_000_000_000;

  /** Number of elements of C that are compared with sums of more digits than double. */
  private static final int COMPARED = 64;

  private static final String KINDS = "float,double,tf32,bfloat16,float16";

  private static final String SHAPES =
      "1024x1024x1024,4096x4096x4096,8192x8192x8192,4095x4099x4097,16384x16384x128,256x1000000x256";

  record Case(MultiplyProblem problem) {
    String key() {
      return String.format(
          "%s %s%s",
          anyTransposition(),
          problem.a().transposed() ? "T" : "N",
          problem.b().transposed() ? "T" : "N");
    }

    /** The key without the transpositions: products that differ only in these have equal keys. */
    String anyTransposition() {
      return String.format(
          "%s%dx%dx%d %s",
          problem.batch().count() == 1 ? "" : problem.batch().count() + "*",
          problem.m(),
          problem.k(),
          problem.n(),
          kind(problem));
    }

    private static String kind(MultiplyProblem problem) {
      return problem.precision() != Precision.FULL
          ? problem.precision().name().toLowerCase(Locale.ROOT)
          : problem.type() == ElementType.FLOAT32 ? "float" : "double";
    }

    double operations() {
      return 2.0 * problem.batch().count() * problem.m() * problem.k() * problem.n();
    }
  }

  /**
   * The times of one strategy.
   *
   * @param millis milliseconds of one multiply in each run, sorted
   * @param hostMicros microseconds to queue one multiply in each run, sorted
   */
  record Result(
      Case of, String way, boolean chosen, double error, double[] millis, double[] hostMicros) {
    double median() {
      return millis[millis.length / 2];
    }

    double host() {
      return hostMicros[hostMicros.length / 2];
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
  private final boolean chosenAlone;
  private final Map<ElementType, PinnedBuffer[]> random = new EnumMap<>(ElementType.class);

  KernelMultiplyBenchmark(
      CudaDevice device,
      DeviceMultiplier multiplier,
      int runs,
      long[] chunks,
      boolean chosenAlone) {
    this.chunks = chunks;
    this.chosenAlone = chosenAlone;
    this.device = device;
    this.multiplier = multiplier;
    this.runs = runs;
  }

  /** Runs all cases; exits with status 1 if there is no device. */
  public static void main(String[] args) throws IOException {
    KernelRun run =
        KernelRun.start(
            args,
            "KernelMultiplyBenchmark --commit ID [--runs N] [--csv FILE] [--only TEXT]"
                + " [--kinds KIND,...] [--shapes [COUNT*]MxKxN,...] [--library-path DIR]"
                + " [--chunks N,...] [--ways all|chosen]",
            9);
    List<Case> cases = cases(run.option("--shapes", SHAPES), run.option("--kinds", KINDS));
    cases.removeIf(each -> !each.key().contains(run.option("--only", "")));
    StringBuilder csv = new StringBuilder();
    try (CudaDevice device = CudaDevice.open(0);
        DeviceMultiplier multiplier =
            new DeviceMultiplier(
                device,
                MultiplyEngine.AUTO,
                Stream.ofNullable(run.options().get("--library-path")).map(Path::of).toList(),
                DeviceMultiplier.Tuning.OFF)) {
      String machine = machine(device, multiplier, run.options().get("--commit"), run.runs());
      System.out.println(machine);
      csv.append("# ").append(machine).append('\n');
      csv.append(
          "case,way,chosen,median_ms,min_ms,max_ms,tflop_per_s,ratio_to_cublas,host_us,error\n");
      System.out.printf(
          "%-34s %10s %9s %7s %8s %8s %9s  %s%n",
          "case", "ms", "TFLOP/s", "spread", "/cuBLAS", "host us", "error", "way");
      long[] chunks =
          Stream.ofNullable(run.options().get("--chunks"))
              .flatMapToLong(text -> Arrays.stream(text.split(",", -1)).mapToLong(Long::parseLong))
              .toArray();
      KernelMultiplyBenchmark benchmark =
          new KernelMultiplyBenchmark(
              device, multiplier, run.runs(), chunks, run.option("--ways", "all").equals("chosen"));
      try {
        Map<String, DoubleSummaryStatistics> chosen = new LinkedHashMap<>();
        for (Case each : cases) {
          List<Result> results = benchmark.measure(each);
          print(results, csv);
          chosen
              .computeIfAbsent(each.anyTransposition(), key -> new DoubleSummaryStatistics())
              .accept(ratioOfChosen(results));
        }
        chosen.forEach((key, ratios) -> System.out.println(summary(key, ratios)));
      } finally {
        benchmark.close();
      }
    }
    if (run.options().containsKey("--csv")) {
      Files.writeString(Path.of(run.options().get("--csv")), csv);
    }
  }

  /** The hardware and software on which a table was measured. */
  static String machine(CudaDevice device, DeviceMultiplier multiplier, String commit, int runs) {
    Availability<String> cublas = multiplier.cublas();
    return String.format(
        "%s; %s; commit %s; %s; %s; median of %d",
        device.description(),
        cublas.thing().map(version -> "cuBLAS " + version).orElse(cublas.whyNot()),
        commit,
        device.kernels().index().compiler(),
        LocalDate.now(ZoneOffset.UTC),
        runs);
  }

  private static List<Case> cases(String shapes, String kinds) {
    List<Case> cases = new ArrayList<>();
    for (String word : kinds.split(",", -1)) {
      ProductKind kind = ProductKind.of(word);
      for (String text : shapes.split(",", -1)) {
        int star = text.indexOf('*');
        long count = star < 0 ? 1 : Long.parseLong(text.substring(0, star));
        long[] shape =
            Arrays.stream(text.substring(star + 1).split("x", -1))
                .mapToLong(Long::parseLong)
                .toArray();
        for (int which = 0; which < 4; which++) {
          cases.add(
              new Case(
                  MultiplyProblem.dense(
                          shape[0],
                          shape[1],
                          shape[2],
                          kind.type(),
                          (which & 2) != 0,
                          (which & 1) != 0)
                      .withPrecision(kind.precision())
                      .withBatch(
                          new MultiplyProblem.Batch(
                              count,
                              shape[0] * shape[1],
                              shape[1] * shape[2],
                              shape[0] * shape[2]))));
        }
      }
    }
    return cases;
  }

  private List<Result> measure(Case each) {
    List<MultiplyPlan> ways =
        withChunks(multiplier.planner().candidates(each.problem(), each.problem().k()));
    if (chosenAlone) {
      MultiplyPlan chosen = multiplier.plan(each.problem()).get();
      ways = List.of(chosen, ways.get(ways.size() - 1));
    }
    return measure(each, ways);
  }

  /** Measures the given strategies; results are in the same order. */
  List<Result> measure(Case each, List<MultiplyPlan> ways) {
    MultiplyProblem problem = each.problem();
    MultiplyPlan chosen = multiplier.plan(problem).get();
    int steps = (int) Math.max(1, Math.min(MOST_STEPS, RUN_OPERATIONS / each.operations()));
    double[][] millis = new double[ways.size()][runs];
    double[][] hostMicros = new double[ways.size()][runs];
    double[] errors = new double[ways.size()];
    long scratch = ways.stream().mapToLong(MultiplyPlan::workspaceBytes).max().orElse(0);
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(problem.bytesA(), stream);
        DeviceBuffer b = device.allocate(problem.bytesB(), stream);
        DeviceBuffer c = device.allocate(problem.bytesC(), stream);
        DeviceBuffer workspace = device.allocate(scratch, stream)) {
      fillRandom(a, problem.type(), 0, stream);
      fillRandom(b, problem.type(), 1, stream);
      Buffers buffers = new Buffers(a, b, c, workspace);
      for (int way = 0; way < ways.size(); way++) {
        stream.fill(c, (byte) 0xff); // NaN
        multiplier.enqueue(
            ways.get(way), new DeviceMultiplier.Operands(a, 0, b, 0, c, 0), workspace, stream);
        errors[way] = error(problem, c, stream);
      }
      for (MultiplyPlan way : ways) {
        warmUp(way, steps, buffers, stream);
      }
      for (int run = 0; run < runs; run++) {
        for (int way = 0; way < ways.size(); way++) {
          Times times = run(ways.get(way), steps, buffers, stream);
          millis[way][run] = times.millis();
          hostMicros[way][run] = times.hostMicros();
        }
      }
    }
    List<Result> results = new ArrayList<>();
    for (int way = 0; way < ways.size(); way++) {
      Arrays.sort(millis[way]);
      Arrays.sort(hostMicros[way]);
      MultiplyPlan plan = ways.get(way);
      results.add(
          new Result(
              each,
              plan.describe(),
              plan.equals(chosen),
              errors[way],
              millis[way],
              hostMicros[way]));
    }
    return results;
  }

  private record Buffers(DeviceBuffer a, DeviceBuffer b, DeviceBuffer c, DeviceBuffer workspace) {}

  /**
   * Times of one multiply.
   *
   * @param millis device time
   * @param hostMicros time that the host needs to queue it
   */
  private record Times(double millis, double hostMicros) {}

  private void warmUp(MultiplyPlan way, int steps, Buffers buffers, CudaStream stream) {
    long start = System.nanoTime();
    double last = 0;
    for (int run = 0; run < WARM_UPS; run++) {
      last = run(way, steps, buffers, stream).millis();
    }
    if (last < SHORT_MILLIS) {
      for (int done = WARM_UPS * steps;
          done < SHORT_WARM_UPS && System.nanoTime() - start < SHORT_WARM_UP_NANOS;
          done += steps) {
        run(way, steps, buffers, stream);
      }
    }
  }

  private Times run(MultiplyPlan way, int steps, Buffers buffers, CudaStream stream) {
    stream.fill(buffers.c(), (byte) 0);
    try (CudaEvent before = stream.record()) {
      long start = System.nanoTime();
      for (int step = 0; step < steps; step++) {
        multiplier.enqueue(
            way,
            new DeviceMultiplier.Operands(buffers.a(), 0, buffers.b(), 0, buffers.c(), 0),
            buffers.workspace(),
            stream);
      }
      long queued = System.nanoTime();
      try (CudaEvent after = stream.record()) {
        after.synchronize();
        return new Times(after.millisSince(before) / steps, (queued - start) / 1e3 / steps);
      }
    }
  }

  /** Appends cuBLAS with each chunk size of the options, and last cuBLAS in a single call. */
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

  /** The random values that fill operand {@code which}, 0 for A and 1 for B, repeatedly. */
  private HostMemory random(ElementType type, int which) {
    return random
        .computeIfAbsent(
            type, key -> new PinnedBuffer[] {randomBuffer(key, 1), randomBuffer(key, 2)})[which]
        .memory()
        .slice(0, RANDOM_BYTES);
  }

  private PinnedBuffer randomBuffer(ElementType type, long seed) {
    PinnedBuffer buffer = device.allocatePinned(RANDOM_BYTES);
    SplittableRandom generator = new SplittableRandom(seed);
    long start = buffer.memory().offset();
    for (long at = 0; at < RANDOM_BYTES; at += type.bytes()) {
      double value = 2 * generator.nextDouble() - 1;
      if (type == ElementType.FLOAT32) {
        HostMemory.unsafe().putFloat(start + at, (float) value);
      } else {
        HostMemory.unsafe().putDouble(start + at, value);
      }
    }
    return buffer;
  }

  private void fillRandom(DeviceBuffer buffer, ElementType type, int which, CudaStream stream) {
    HostMemory values = random(type, which);
    for (long at = 0; at < buffer.bytes(); at += RANDOM_BYTES) {
      stream.upload(values.slice(0, Math.min(RANDOM_BYTES, buffer.bytes() - at)), buffer, at);
    }
  }

  /**
   * The greatest error among random elements of C, relative to the sum of their products'
   * magnitudes.
   */
  private double error(MultiplyProblem problem, DeviceBuffer c, CudaStream stream) {
    int width = problem.type().bytes();
    HostMemory a = random(problem.type(), 0);
    HostMemory b = random(problem.type(), 1);
    SplittableRandom generator = new SplittableRandom(3);
    double worst = 0;
    try (PinnedBuffer found = device.allocatePinned(width)) {
      for (int element = 0; element < COMPARED; element++) {
        MultiplyProblem.Batch batch = problem.batch();
        long product = generator.nextLong(batch.count());
        long i = generator.nextLong(problem.m());
        long j = generator.nextLong(problem.n());
        long firstA = product * batch.strideA();
        long firstB = product * batch.strideB();
        stream.download(
            c, (product * batch.strideC() + i * problem.leadC() + j) * width, found.memory());
        stream.synchronize();
        double sum = 0;
        double lost = 0;
        double magnitude = 0;
        for (long p = 0; p < problem.k(); p++) {
          double left =
              value(
                  a,
                  firstA
                      + (problem.a().transposed()
                          ? p * problem.a().lead() + i
                          : i * problem.a().lead() + p),
                  problem.type());
          double right =
              value(
                  b,
                  firstB
                      + (problem.b().transposed()
                          ? j * problem.b().lead() + p
                          : p * problem.b().lead() + j),
                  problem.type());
          double term = left * right;
          lost += Math.fma(left, right, -term);
          double after = sum + term;
          double seen = after - sum;
          lost += (sum - (after - seen)) + (term - seen);
          sum = after;
          magnitude += Math.abs(term);
        }
        double error = Math.abs(value(found.memory(), 0, problem.type()) - sum - lost) / magnitude;
        worst = Double.isNaN(error) ? error : Math.max(worst, error);
      }
    }
    return worst;
  }

  private static double value(HostMemory values, long element, ElementType type) {
    long at = values.offset() + element * type.bytes() % RANDOM_BYTES;
    return type == ElementType.FLOAT32
        ? HostMemory.unsafe().getFloat(at)
        : HostMemory.unsafe().getDouble(at);
  }

  /** Frees the random values. The callers own and close the device and the multiplier. */
  void close() {
    random.values().stream().flatMap(Arrays::stream).forEach(PinnedBuffer::close);
  }

  /** TFLOP/s of cuBLAS in a single call, which is the last result; NaN without cuBLAS. */
  private static double cublas(List<Result> results) {
    return results.stream()
        .filter(result -> result.way().startsWith("cuBLAS"))
        .mapToDouble(Result::teraflops)
        .reduce((earlier, last) -> last)
        .orElse(Double.NaN);
  }

  private static double ratioOfChosen(List<Result> results) {
    return results.stream().filter(Result::chosen).findFirst().orElseThrow().teraflops()
        / cublas(results);
  }

  /** Formats a product's summary line; docs/benchmarks/claims.toml parses these lines. */
  static String summary(String product, DoubleSummaryStatistics ratios) {
    return String.format(
        Locale.ROOT,
        "%s: the way chosen has %.2f to %.2f x cuBLAS's rate, over %d transpositions",
        product,
        ratios.getMin(),
        ratios.getMax(),
        ratios.getCount());
  }

  private static void print(List<Result> results, StringBuilder csv) {
    double cublas = cublas(results);
    for (Result result : results) {
      double ratio = result.teraflops() / cublas;
      System.out.printf(
          Locale.ROOT,
          "%-34s %10.4f %9.2f %7.2f %8.3f %8.2f %9.2e %s%s%n",
          result.of().key(),
          result.median(),
          result.teraflops(),
          result.spread(),
          ratio,
          result.host(),
          result.error(),
          result.chosen() ? "*" : " ",
          result.way());
      csv.append(
          String.format(
              Locale.ROOT,
              "%s,\"%s\",%b,%.5f,%.5f,%.5f,%.3f,%s,%.2f,%.3e%n",
              result.of().key(),
              result.way(),
              result.chosen(),
              result.median(),
              result.millis()[0],
              result.millis()[result.millis().length - 1],
              result.teraflops(),
              Double.isNaN(ratio) ? "" : String.format(Locale.ROOT, "%.4f", ratio),
              result.host(),
              result.error()));
    }
  }
}
