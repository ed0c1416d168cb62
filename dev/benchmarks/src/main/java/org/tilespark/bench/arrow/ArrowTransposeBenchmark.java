package org.tilespark.bench.arrow;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.blocks.BlockProgram;
import org.tilespark.arrow.blocks.Permute;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Measures transposes of square FLOAT blocks from Arrow buffers to Arrow buffers, through the
 * pipeline that Spark tasks use, but without Spark: bytes per second, each counted once, of several
 * concurrent tasks. Compares plain copies of as many bytes in the same process: pinned copies up
 * and down concurrently or, without a device, copies from memory to memory.
 *
 * <p>{@code java -Xmx4g org.tilespark.bench.arrow.ArrowTransposeBenchmark --commit ID} prints a
 * line for each extent, source and count of tasks: median, minimum and maximum of the runs, the
 * rate of the copies (a run of copies precedes each run of the pipeline), and the ratio of the
 * rates. Source {@code arrow}: blocks in pinned Arrow buffers, as from a neighbouring operator;
 * {@code heap}: each block in a heap array, as from rows. Options:
 *
 * <pre>
 *   --backend auto|gpu|cpu   where to compute (auto: on the GPU if there is one)
 *   --extents 128,1024,...   rows and columns of a block (128,1024,2048,4096,8192)
 *   --tasks 1,2,...          concurrent tasks (1,2,4,8,16)
 *   --sources arrow,heap     memory that holds the blocks (both)
 *   --gib 8                  bytes of one run
 *   --source-mib 1024        memory for blocks, which a run reads repeatedly
 *   --batch-mib 64           bytes of a batch; a larger block is a batch of its own
 *   --pool-mib 24576         pinned or plain memory kept for reuse
 *   --runs 5                 measured runs, after a warm-up run that is checked
 *   --csv FILE
 * </pre>
 */
public final class ArrowTransposeBenchmark {
  private static final Set<String> OPTIONS =
      Set.of(
          "commit",
          "backend",
          "extents",
          "tasks",
          "sources",
          "gib",
          "source-mib",
          "batch-mib",
          "pool-mib",
          "runs",
          "csv");

  /** Elements of each block that the warm-up run checks. */
  private static final int SAMPLES_PER_BLOCK = 16;

  /**
   * Blocks of this extent and larger promise {@link #LEAST_OF_LARGE} of the rate of pinned copies,
   * smaller blocks {@link #LEAST_OF_SMALL}.
   */
  private static final int LARGE_EXTENT = 1024;

  private static final double LEAST_OF_LARGE = 0.90;
  private static final double LEAST_OF_SMALL = 0.50;

  private final BenchMachine machine;
  private final Map<String, String> options;
  private final int runs;

  /** Square blocks in memory, which tasks read in turn, again and again. */
  private record Blocks(
      TransposeProblem problem, List<Plane> planes, int perBatch, List<ArrowBuf> owned)
      implements AutoCloseable {
    @Override
    public void close() {
      owned.forEach(ArrowBuf::close);
    }

    /** Returns block {@code index} of batch {@code batch}. */
    Plane plane(long batch, int index) {
      return planes.get((int) ((batch * perBatch + index) % planes.size()));
    }

    long batchBytes() {
      return perBatch * problem.bytes();
    }
  }

  private record Result(
      int extent,
      String source,
      int tasks,
      long bytes,
      double[] rates, // GB/s, sorted
      double[] copyRates,
      long heldBytes) {
    double ratio() {
      return median(rates) / median(copyRates);
    }
  }

  private ArrowTransposeBenchmark(BenchMachine machine, Map<String, String> options, int runs) {
    this.machine = machine;
    this.options = options;
    this.runs = runs;
  }

  /** Runs all cases; exits with status 1 if a requested device is missing. */
  public static void main(String[] args) throws Exception {
    System.exit(run(args, System.out, System.err));
  }

  /**
   * Runs all cases; returns the exit status: 0, 1 for a wrong answer or no device, 2 for bad
   * options.
   */
  static int run(String[] args, PrintStream out, PrintStream err) throws Exception {
    Map<String, String> options = new HashMap<>();
    boolean understood = args.length % 2 == 0;
    for (int i = 0; i + 1 < args.length; i += 2) {
      understood &= args[i].startsWith("--") && OPTIONS.contains(args[i].substring(2));
      options.put(args[i].substring(Math.min(2, args[i].length())), args[i + 1]);
    }
    if (!understood || !options.containsKey("commit")) {
      err.println("usage: ArrowTransposeBenchmark --commit ID [--OPTION VALUE ...] with options");
      err.println("  " + String.join(", ", OPTIONS.stream().sorted().toList()));
      return 2;
    }
    Availability<DeviceProbe> probe = DeviceProbe.run();
    String backend = options.getOrDefault("backend", "auto");
    if (backend.equals("gpu") && !probe.isPresent()) {
      err.println("No CUDA device: " + probe.whyNot());
      return 1;
    }
    boolean onDevice = !backend.equals("cpu") && probe.isPresent();
    long pool = Long.parseLong(options.getOrDefault("pool-mib", "24576")) << 20;
    int runs = Integer.parseInt(options.getOrDefault("runs", "5"));
    try (BenchMachine machine =
        onDevice ? BenchMachine.ofDevice(pool) : BenchMachine.ofHost(pool)) {
      String head =
          String.format(
              Locale.ROOT,
              "%s; commit %s; %s; median of %d; copies: %s",
              machine.description(),
              options.get("commit"),
              LocalDate.now(ZoneOffset.UTC),
              runs,
              machine.copies());
      out.println(head);
      List<Result> results = new ArrowTransposeBenchmark(machine, options, runs).runAll(out);
      if (onDevice) {
        promises(results, out);
      }
      if (options.containsKey("csv")) {
        writeCsv(Path.of(options.get("csv")), head, results);
      }
      return 0;
    } catch (WrongAnswer e) {
      err.println("WRONG: " + e.getMessage());
      return 1;
    }
  }

  private List<Result> runAll(PrintStream out) throws Exception {
    out.printf(
        "%-12s %-6s %5s %8s %18s %8s %18s %6s %9s%n",
        "block",
        "source",
        "tasks",
        "GB/s",
        "least to most",
        "copies",
        "least to most",
        "ratio",
        "held MiB");
    List<Result> results = new ArrayList<>();
    for (int extent : numbers("extents", "128,1024,2048,4096,8192")) {
      for (String source : options.getOrDefault("sources", "arrow,heap").split(",")) {
        try (BufferAllocator upstream = machine.memory().newChild("upstream");
            Blocks blocks = blocks(extent, source, upstream)) {
          for (int tasks : numbers("tasks", "1,2,4,8,16")) {
            Result result = measure(extent, source, blocks, tasks);
            results.add(result);
            print(result, out);
          }
        }
      }
    }
    return results;
  }

  private Result measure(int extent, String source, Blocks blocks, int tasks) throws Exception {
    double gib = Double.parseDouble(options.getOrDefault("gib", "8"));
    long batches = Math.max(1, Math.round(gib * (1L << 30) / blocks.batchBytes()));
    long bytes = batches * blocks.batchBytes();
    ExecutorService threads = Executors.newFixedThreadPool(tasks);
    try {
      transposeNanos(blocks, batches, tasks, threads, true);
      machine.copyNanos(bytes, threads, tasks);
      double[] rates = new double[runs];
      double[] copyRates = new double[runs];
      for (int run = 0; run < runs; run++) {
        copyRates[run] = bytes / (double) machine.copyNanos(bytes, threads, tasks);
        rates[run] = bytes / (double) transposeNanos(blocks, batches, tasks, threads, false);
      }
      Arrays.sort(rates);
      Arrays.sort(copyRates);
      return new Result(extent, source, tasks, bytes, rates, copyRates, machine.heldBytes());
    } finally {
      threads.shutdown();
    }
  }

  private long transposeNanos(
      Blocks blocks, long batches, int tasks, ExecutorService threads, boolean checked)
      throws Exception {
    List<Callable<Void>> work = new ArrayList<>();
    for (int task = 0; task < tasks; task++) {
      int first = task;
      work.add(
          () -> {
            transpose(blocks, first, tasks, batches, checked);
            return null;
          });
    }
    long start = System.nanoTime();
    all(threads, work);
    return System.nanoTime() - start;
  }

  /** Runs one task's batches through a pipeline, as an operator in Spark does. */
  private void transpose(Blocks blocks, long first, int step, long batches, boolean checked) {
    try (BufferAllocator allocator = machine.memory().newChild("task");
        BlockPipeline pipeline = machine.open(allocator, batchBytes())) {
      Shape shape = blocks.problem().shape();
      BlockProgram program =
          new BlockProgram(
              shape,
              ElementType.FLOAT32,
              false,
              List.of(new Permute(blocks.problem().permutation())));
      List<BlockPipeline.Part> out =
          List.of(BlockPipeline.Part.whole(blocks.problem().outputShape()));
      Deque<Block> underWay = new ArrayDeque<>();
      for (long batch = first; batch < batches; batch += step) {
        for (int i = 0; i < blocks.perBatch(); i++) {
          while (pipeline.isFull()) {
            take(pipeline, blocks, underWay.remove(), checked);
          }
          pipeline.begin(program);
          pipeline.putWhole(List.of(blocks.plane(batch, i)));
          pipeline.run(out);
          underWay.add(new Block(batch, i));
        }
      }
      while (!underWay.isEmpty()) {
        take(pipeline, blocks, underWay.remove(), checked);
      }
    }
  }

  private record Block(long batch, int index) {}

  private static void take(BlockPipeline pipeline, Blocks blocks, Block block, boolean checked) {
    try (ArrowBuf result = pipeline.take().get(0)) {
      if (checked) {
        check(blocks, block, result);
      }
    }
  }

  // --- blocks ---

  private long batchBytes() {
    return Long.parseLong(options.getOrDefault("batch-mib", "64")) << 20;
  }

  private Blocks blocks(int extent, String source, BufferAllocator upstream) {
    TransposeProblem problem =
        new TransposeProblem(Shape.of(extent, extent), Permutation.of(1, 0), Float.BYTES);
    int perBatch = (int) Math.max(1, batchBytes() / problem.bytes());
    long sourceBytes = Long.parseLong(options.getOrDefault("source-mib", "1024")) << 20;
    long buffers = Math.max(1, sourceBytes / (perBatch * problem.bytes()));
    List<Plane> planes = new ArrayList<>();
    List<ArrowBuf> owned = new ArrayList<>();
    SplittableRandom random = new SplittableRandom(extent);
    for (long b = 0; b < buffers; b++) {
      switch (source) {
        case "arrow" -> {
          ArrowBuf buffer = upstream.buffer(perBatch * problem.bytes());
          owned.add(buffer);
          for (int i = 0; i < perBatch; i++) {
            HostMemory values =
                HostMemory.ofAddress(buffer.memoryAddress() + i * problem.bytes(), problem.bytes());
            planes.add(new Plane(values, Optional.of(buffer)));
          }
        }
        case "heap" -> {
          for (int i = 0; i < perBatch; i++) {
            float[] values = new float[Math.toIntExact(problem.shape().elements())];
            planes.add(new Plane(HostMemory.ofArray(values)));
          }
        }
        default ->
            throw new IllegalArgumentException(
                "--sources is '" + source + "'; expected arrow or heap, or both");
      }
    }
    planes.forEach(plane -> fillRandom(plane.values(), random.nextLong()));
    return new Blocks(problem, planes, perBatch, owned);
  }

  private static void fillRandom(HostMemory values, long seed) {
    long state = seed;
    for (long at = 0; at < values.bytes(); at += Long.BYTES) {
      // Knuth's MMIX linear congruential generator fills 1 GiB in a fraction of a second.
      state = state * 6364136223846793005L + 1442695040888963407L;
      HostMemory.unsafe().putLong(values.base(), values.offset() + at, state);
    }
  }

  private static void check(Blocks blocks, Block block, ArrowBuf result) {
    SplittableRandom random = new SplittableRandom(block.batch());
    int extent = (int) blocks.problem().shape().extent(0);
    HostMemory in = blocks.plane(block.batch(), block.index()).values();
    long out = result.memoryAddress();
    for (int sample = 0; sample < SAMPLES_PER_BLOCK; sample++) {
      long row = random.nextInt(extent);
      long col = random.nextInt(extent);
      int expected =
          HostMemory.unsafe().getInt(in.base(), in.offset() + (row * extent + col) * Float.BYTES);
      int found = HostMemory.unsafe().getInt(out + (col * extent + row) * Float.BYTES);
      if (found != expected) {
        throw new WrongAnswer(
            String.format(
                "%s: element (%d, %d) of the transposed %d x %d is %#x, expected %#x",
                block, col, row, extent, extent, found, expected));
      }
    }
  }

  private static final class WrongAnswer extends RuntimeException {
    private static final long serialVersionUID = 1;

    private WrongAnswer(String message) {
      super(message);
    }
  }

  // --- tables ---

  private static void print(Result result, PrintStream out) {
    out.printf(
        Locale.ROOT,
        "%-12s %-6s %5d %8.2f %18s %8.2f %18s %6.3f %9d%n",
        result.extent() + "^2",
        result.source(),
        result.tasks(),
        median(result.rates()),
        spread(result.rates()),
        median(result.copyRates()),
        spread(result.copyRates()),
        result.ratio(),
        result.heldBytes() >> 20);
  }

  /**
   * Prints for each extent the best count of tasks, and whether the rate promised on an H200 is
   * met.
   */
  private static void promises(List<Result> results, PrintStream out) {
    results.stream()
        .filter(result -> result.source().equals("arrow"))
        .mapToInt(Result::extent)
        .distinct()
        .forEach(
            extent -> {
              Result best =
                  results.stream()
                      .filter(r -> r.extent() == extent && r.source().equals("arrow"))
                      .max((a, b) -> Double.compare(a.ratio(), b.ratio()))
                      .orElseThrow();
              double least = extent >= LARGE_EXTENT ? LEAST_OF_LARGE : LEAST_OF_SMALL;
              out.printf(
                  Locale.ROOT,
                  "%-12s best with %d tasks: %.3f of the copies, at least %.2f promised: %s%n",
                  extent + "^2",
                  best.tasks(),
                  best.ratio(),
                  least,
                  best.ratio() >= least ? "met" : "MISSED");
            });
  }

  private static void writeCsv(Path file, String head, List<Result> results) throws IOException {
    StringBuilder csv = new StringBuilder("# " + head + "\n");
    csv.append(
        "extent,source,tasks,bytes,gb_per_s,least_gb_per_s,most_gb_per_s,copies_gb_per_s,"
            + "least_copies_gb_per_s,most_copies_gb_per_s,ratio,held_bytes\n");
    for (Result result : results) {
      csv.append(
          String.format(
              Locale.ROOT,
              "%d,%s,%d,%d,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.4f,%d%n",
              result.extent(),
              result.source(),
              result.tasks(),
              result.bytes(),
              median(result.rates()),
              result.rates()[0],
              result.rates()[result.rates().length - 1],
              median(result.copyRates()),
              result.copyRates()[0],
              result.copyRates()[result.copyRates().length - 1],
              result.ratio(),
              result.heldBytes()));
    }
    Files.writeString(file, csv);
  }

  private static String spread(double[] sorted) {
    return String.format(Locale.ROOT, "%.2f to %.2f", sorted[0], sorted[sorted.length - 1]);
  }

  private static double median(double[] sorted) {
    return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
  }

  private int[] numbers(String option, String byDefault) {
    return Arrays.stream(options.getOrDefault(option, byDefault).split(","))
        .mapToInt(Integer::parseInt)
        .toArray();
  }

  /** Runs all work concurrently; rethrows the first exception. */
  static void all(ExecutorService threads, List<? extends Callable<Void>> work) throws Exception {
    for (Future<Void> done : threads.invokeAll(work)) {
      try {
        done.get();
      } catch (java.util.concurrent.ExecutionException e) {
        throw e.getCause() instanceof Exception cause ? cause : e;
      }
    }
  }
}
