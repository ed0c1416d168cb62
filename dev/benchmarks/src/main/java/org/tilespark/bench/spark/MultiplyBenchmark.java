package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.bench.arrow.PinnedCopies;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;

/**
 * Measures the product of two cached matrices to the noop sink, on the GPU and on the CPU, and
 * MLlib's BlockMatrix with the same elements in the same session, for several block sizes and
 * numMidDimSplits.
 *
 * <p>Prints with each of our results where the time went, from the metrics of the query and its
 * stages, and a lower bound, the floor: the longest of the times that the query's shuffle, its
 * copies to and from the device and its arithmetic take alone. This benchmark measures the three
 * times with a shuffle of as many bytes of the same blocks to the noop sink, with plain pinned
 * copies of as many bytes, and with one large product whose operands are in memory.
 */
public final class MultiplyBenchmark extends SparkBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "multiply-bench [options]",
          """
          Measures products of generated matrices, ours beside MLlib's.

            --commit ID               what is measured, for the head of the output
            --shape M,K,N             A is M x K, B is K x N (default: 2048,2048,2048)
            --matrices N              so many products of that shape, told apart by a grouping column;
                                      each matrix is one block, and MLlib has none (default: 1)
            --type float|double       (default: double; MLlib computes in double whatever it is)
            --block-shape R,C         rows and columns of a block of ours (default: 1024,1024)
            --partitions N            of each matrix (default: four for each core)
            --strategy WORD           auto, broadcast or cuboid(P,Q,R) (default: auto)
            --precision WORD          full, tf32, bfloat16, float16 (default: full)
            --cases A,B,...           gpu, cpu, mllib (default: all that this machine can)
            --mllib-blocks N,N,...    block sizes to try (default: 512,1024,2048)
            --mllib-splits N,N,...    numMidDimSplits to try (default: 1,2,4)
            --no-cache                make our blocks anew in each run; the shuffle alone then has that
                                      in it too
            --storage-level LEVEL     where the cached blocks lie (default: MEMORY_ONLY)
            --warmups N, --rounds N   products before the measured ones, and those (default: 1, 3)
            --peak-gflops X           what the device can, for the floor (default: what its kernels do on
                                      one large product, on the CPU in all cores)
            --csv FILE
            --seed N                  seed of the elements (default: a new one)
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.checked("shape", MultiplyBenchmark::extents),
              Option.checked("matrices", Long::parseLong),
              Option.checked("type", MultiplyBenchmark::type),
              Option.checked("block-shape", BlockTransposeBenchmark::blockShape),
              Option.checked("partitions", Integer::parseInt),
              Option.checked("strategy", word -> MultiplyOptions.of(Map.of("strategy", word))),
              Option.checked("precision", word -> MultiplyOptions.of(Map.of("precision", word))),
              Option.text("cases"),
              Option.checked("mllib-blocks", MultiplyBenchmark::counts),
              Option.checked("mllib-splits", MultiplyBenchmark::counts),
              Option.flag("no-cache"),
              Option.checked("storage-level", StorageLevel::fromString),
              Option.checked("warmups", Integer::parseInt),
              Option.checked("rounds", Integer::parseInt),
              Option.checked("peak-gflops", Double::parseDouble),
              Option.text("csv"),
              Option.SEED));

  private static final int SAMPLES = 256;
  private static final long CHECKED_PRODUCTS = 1L << 30;

  private final long matrices; // number of products; an operand stacks its matrices by rows
  private final GeneratedMatrix a;
  private final GeneratedMatrix b;
  private final int partitions;
  private final StorageLevel level;
  private final List<Times> all = new ArrayList<>();
  private final Map<String, Double> floors = new HashMap<>();
  private boolean right = true;

  private MultiplyBenchmark(SparkSession spark, JobArguments arguments, PrintStream out) {
    super(spark, arguments, out);
    long[] shape = extents(arguments.option("shape").orElse("2048,2048,2048"));
    int[] block =
        BlockTransposeBenchmark.blockShape(arguments.option("block-shape").orElse("1024,1024"));
    ElementType type = type(arguments.option("type").orElse("double"));
    long seed = arguments.seed();
    report.line("seed", "%d", seed);
    this.matrices = arguments.option("matrices").map(Long::parseLong).orElse(1L);
    this.a = matrices(shape[0], shape[1], block, type, seed);
    this.b = matrices(shape[1], shape[2], block, type, seed + 1);
    this.partitions =
        arguments
            .option("partitions")
            .map(Integer::parseInt)
            .orElse(4 * spark.sparkContext().defaultParallelism());
    this.level = StorageLevel.fromString(arguments.option("storage-level").orElse("MEMORY_ONLY"));
  }

  private GeneratedMatrix matrices(long rows, long cols, int[] block, ElementType type, long seed) {
    return matrices == 1
        ? new GeneratedMatrix(rows, cols, block[0], block[1], type, Content.FRACTIONS, seed)
        : new GeneratedMatrix(
            Math.multiplyExact(matrices, rows),
            cols,
            Math.toIntExact(rows),
            Math.toIntExact(cols),
            type,
            Content.FRACTIONS,
            seed);
  }

  /** The blocks of one operand: of a single matrix or, in a batch, one block per matrix. */
  private Dataset<Row> blocks(GeneratedMatrix side) {
    Dataset<Row> blocks = side.read(spark, partitions);
    long rows = side.rows() / matrices;
    return matrices == 1
        ? blocks
        : blocks
            .selectExpr(
                "row div " + rows + "L AS matrix", "0L AS row", "col", "rows", "cols", "values")
            .withMetadata(
                "values",
                ArrayMetadata.empty()
                    .withExtents(Shape.of(rows, side.cols()))
                    .withBlockShape(Shape.of(rows, side.cols()))
                    .toMetadata());
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return run(USAGE, args, MultiplyBenchmark::new, out, err);
  }

  @Override
  boolean run() throws IOException, InterruptedException {
    ExecutorRuntime runtime = ExecutorRuntime.current();
    Optional<Gpu> gpu = runtime.gpu(Backend.AUTO, null);
    List<String> cases =
        arguments
            .option("cases")
            .map(text -> List.of(text.split(",")))
            .orElseGet(() -> usual(gpu.isPresent()));
    for (String each : cases) {
      if (!List.of("gpu", "cpu", "mllib").contains(each)) {
        throw new IllegalArgumentException(
            "There is no case " + each + "; expected some of gpu, cpu, mllib");
      }
      if (each.equals("mllib") && matrices > 1) {
        throw new IllegalArgumentException("Case mllib has one matrix on each side");
      }
      if (each.equals("gpu") && gpu.isEmpty()) {
        throw new IllegalArgumentException("Case gpu needs a GPU; there is none");
      }
    }
    String machine = SparkMachine.describe(spark, gpu, arguments);
    String data =
        String.format(
            Locale.ROOT,
            "%d times A %d x %d, B %d x %d of %s, blocks of %d x %d, %d partitions each",
            matrices,
            a.rows() / matrices,
            a.cols(),
            b.rows() / matrices,
            b.cols(),
            a.type() == ElementType.FLOAT32 ? "FLOAT" : "DOUBLE",
            a.blockRows(),
            a.blockCols(),
            partitions);
    report.line("machine", "%s", machine);
    report.line("data", "%s", data);
    if (cases.contains("gpu") || cases.contains("cpu")) {
      measureOurs(cases, runtime, gpu);
    }
    if (cases.contains("mllib")) {
      measureMllib();
    }
    print();
    if (arguments.option("csv").isPresent()) {
      writeCsv(Path.of(arguments.option("csv").get()), machine + "; " + data);
    }
    return right;
  }

  private List<String> usual(boolean hasGpu) {
    List<String> cases = new ArrayList<>(hasGpu ? List.of("gpu", "cpu") : List.of("cpu"));
    if (matrices == 1) {
      cases.add("mllib");
    }
    return cases;
  }

  // --- ours ---

  private void measureOurs(List<String> cases, ExecutorRuntime runtime, Optional<Gpu> gpu)
      throws InterruptedException {
    Dataset<Row> left = blocks(a);
    Dataset<Row> right = blocks(b);
    try {
      if (!arguments.flag("no-cache")) {
        noop(left.persist(level));
        noop(right.persist(level));
      }
      SparkMachine.reportCache(spark, report);
      MultiplyOptions options =
          MultiplyOptions.of(
              Map.of(
                  "strategy", arguments.option("strategy").orElse("auto"),
                  "precision", arguments.option("precision").orElse("full")));
      for (String name : List.of("gpu", "cpu")) {
        if (!cases.contains(name)) {
          continue;
        }
        spark.conf().set(TileSparkConf.BACKEND.name(), name);
        Dataset<Row> product = MatrixBlocks.multiply(left, right, options);
        check(name, product);
        Times times = measure(name, () -> noop(product));
        PlanMetrics metrics = reported(name, product);
        floor(name, times, metrics, left.union(right), runtime, gpu);
      }
    } finally {
      spark.conf().unset(TileSparkConf.BACKEND.name());
      left.unpersist(true);
      right.unpersist(true);
    }
  }

  /** Reports the floor: the longest time of the product's shuffle, copies or arithmetic alone. */
  private void floor(
      String name,
      Times times,
      PlanMetrics metrics,
      Dataset<Row> blocks,
      ExecutorRuntime runtime,
      Optional<Gpu> gpu)
      throws InterruptedException {
    // A shuffle counts half for its writes and half for its reads, since several tasks may read the
    // same bytes.
    long moved = (metrics.writtenBytes() + metrics.readBytes()) / 2;
    double shuffle = moved == 0 ? 0 : shuffleAlone(blocks, moved);
    double copies = 0;
    String copied = "none";
    if (name.equals("gpu")) {
      // Both directions run concurrently. Assumes one executor, which uploads every panel once.
      long up = metrics.total("bytes up");
      long down = metrics.total("bytes down");
      try (PinnedCopies pinned =
          new PinnedCopies(gpu.orElseThrow().device(), runtime.memory(gpu))) {
        pinned.nanos(1L << 30);
        copies = pinned.nanos(Math.max(up, down)) / 1e9;
      }
      copied =
          String.format(
              Locale.ROOT,
              "%.3f s for %.3f GiB up, %.3f GiB down",
              copies,
              up / (double) (1L << 30),
              down / (double) (1L << 30));
    }
    double operations = metrics.total("floating-point operations");
    double peak = arguments.option("peak-gflops").map(Double::parseDouble).orElse(0.0);
    if (peak == 0) {
      peak =
          name.equals("cpu")
              ? HostPeak.gigaflops(a.type())
              : DevicePeak.gigaflops(
                  gpu.orElseThrow().device(), gpu.orElseThrow().multiplier(), a.type());
    }
    double arithmetic = operations / (peak * 1e9);
    double floor = Math.max(shuffle, Math.max(copies, arithmetic));
    floors.put(name, floor);
    report.line(
        name,
        "floor %.3f s: shuffle %.3f s for %.3f GiB written and %.3f GiB read; copies %s; arithmetic"
            + " %.3f s for %.4g operations at %.1f GFLOP/s; measured %.3f s, %.2f times the floor",
        floor,
        shuffle,
        metrics.writtenBytes() / (double) (1L << 30),
        metrics.readBytes() / (double) (1L << 30),
        copied,
        arithmetic,
        operations,
        peak,
        times.median(),
        times.median() / floor);
  }

  /**
   * Seconds of a shuffle of {@code bytes} bytes, from the operands' blocks to the noop sink.
   * Shuffles the operands a whole number of times and scales the time. The shortest of several
   * rounds, for a lower bound.
   */
  private double shuffleAlone(Dataset<Row> blocks, long bytes) throws InterruptedException {
    long copies = Math.max(1, Math.round((double) bytes / (a.bytes() + b.bytes())));
    Dataset<Row> shuffled =
        blocks
            .withColumn(
                "copy",
                functions.explode(functions.sequence(functions.lit(1L), functions.lit(copies))))
            .repartition(
                partitions, functions.col("row"), functions.col("col"), functions.col("copy"));
    long carried = PlanMetrics.of(spark, () -> noop(shuffled)).writtenBytes();
    int rounds = Math.max(1, arguments.option("rounds").map(Integer::parseInt).orElse(3));
    double[] seconds = new double[rounds];
    for (int round = 0; round < rounds; round++) {
      long start = System.nanoTime();
      noop(shuffled);
      seconds[round] = (System.nanoTime() - start) / 1e9;
    }
    Arrays.sort(seconds);
    report.line(
        "shuffle",
        "%.3f GiB of the same blocks alone in %.3f to %.3f s, at best %.2f GB/s",
        carried / (double) (1L << 30),
        seconds[0],
        seconds[rounds - 1],
        carried / seconds[0] / 1e9);
    return seconds[0] * bytes / carried;
  }

  /** Compares some elements with sums in twice the digits of double. */
  private void check(String name, Dataset<Row> product) {
    int[] places = new Random(a.seed()).ints(4, 0, Integer.MAX_VALUE).toArray();
    String elements =
        String.join(
            ", ",
            Arrays.stream(places)
                .mapToObj(place -> "double(values[" + place + " % (rows * cols)])")
                .toList());
    List<Row> blocks =
        new ArrayList<>(
            product
                .selectExpr(
                    "row",
                    "col",
                    "rows",
                    "cols",
                    "array(" + elements + ")",
                    (matrices == 1 ? "0L" : "matrix") + " AS number")
                .collectAsList());
    Collections.shuffle(blocks, new Random(a.seed()));
    double unit = unit();
    double allowed = 2 * unit * Math.sqrt((double) a.cols()) * (1 + unit);
    long most = Math.max(4, Math.min(SAMPLES, CHECKED_PRODUCTS / a.cols()));
    double worst = 0;
    int checked = 0;
    for (Row block : blocks) {
      for (int s = 0; s < places.length && checked < most; s++, checked++) {
        int place = places[s] % Math.multiplyExact(block.getInt(2), block.getInt(3));
        long i = block.getLong(0) + place / block.getInt(3);
        long j = block.getLong(1) + place % block.getInt(3);
        double found = block.<Double>getList(4).get(s);
        worst = Math.max(worst, difference(block.getLong(5), i, j, found) / allowed);
      }
    }
    long covered =
        blocks.stream()
            .mapToLong(block -> Math.multiplyExact((long) block.getInt(2), (long) block.getInt(3)))
            .sum();
    verdict(name, checked, worst, covered == Math.multiplyExact(a.rows(), b.cols()));
  }

  private void verdict(String name, int checked, double worst, boolean whole) {
    boolean good = worst <= 1 && whole;
    right &= good;
    report.line(
        "check",
        "%s %s: %d elements off by at most %.2g of what rounding explains%s",
        name,
        good ? "right" : "WRONG",
        checked,
        worst,
        whole ? "" : ", and blocks do not fill the product");
  }

  /** The error of an element, relative to the sum of its products' magnitudes. */
  private double difference(long matrix, long i, long j, double found) {
    long above = matrix * (a.rows() / matrices);
    double sum = 0;
    double error = 0;
    double magnitude = 0;
    for (long k = 0; k < a.cols(); k++) {
      double x = a.value(above + i, k);
      double y = b.value(matrix * a.cols() + k, j);
      double p = x * y;
      double t = sum + p;
      double rounded = t - sum;
      // The rounding errors of product and sum (Ogita, Rump and Oishi 2005, Dot2).
      error += Math.fma(x, y, -p) + ((sum - (t - rounded)) + (p - rounded));
      sum = t;
      magnitude += Math.abs(p);
    }
    double off = Math.abs(found - (sum + error));
    return off == 0 ? 0 : off / magnitude;
  }

  private double unit() {
    return switch (arguments.option("precision").orElse("full")) {
      case "tf32", "float16" -> 0x1p-11;
      case "bfloat16" -> 0x1p-8;
      default -> a.type() == ElementType.FLOAT32 ? 0x1p-24 : 0x1p-53;
    };
  }

  // --- MLlib ---

  private void measureMllib() throws InterruptedException {
    for (int block : counts(arguments.option("mllib-blocks").orElse("512,1024,2048"))) {
      try (MllibMultiply mllib = new MllibMultiply(spark, a, b, block, partitions, level)) {
        for (int splits : counts(arguments.option("mllib-splits").orElse("1,2,4"))) {
          String name = "mllib block " + block + " splits " + splits;
          try {
            List<MllibMultiply.Corner> corners = new ArrayList<>();
            measure(
                name,
                () -> {
                  corners.clear();
                  corners.addAll(mllib.multiply(splits));
                });
            checkMllib(name, corners, block);
          } catch (InterruptedException e) {
            throw e;
          } catch (Exception e) { // Spark throws undeclared exceptions, as for too little memory
            report.line(
                "mllib", "%s failed: %s", name, e.toString().lines().findFirst().orElse(""));
          }
        }
      }
    }
  }

  private void checkMllib(String name, List<MllibMultiply.Corner> corners, int block) {
    double allowed = 2 * 0x1p-53 * Math.sqrt((double) a.cols()) * (1 + 0x1p-53);
    long most = Math.max(4, Math.min(SAMPLES, CHECKED_PRODUCTS / a.cols()));
    Collections.shuffle(corners, new Random(a.seed()));
    double worst = 0;
    int checked = 0;
    for (MllibMultiply.Corner corner : corners) {
      if (checked++ < most) {
        worst =
            Math.max(worst, difference(0, corner.row(), corner.col(), corner.value()) / allowed);
      }
    }
    long expected =
        -Math.floorDiv(-a.rows(), (long) block) * -Math.floorDiv(-b.cols(), (long) block);
    verdict(name, (int) Math.min(checked, most), worst, corners.size() == expected);
  }

  // --- times and tables ---

  private Times measure(String name, Times.Timed product) throws InterruptedException {
    Times times = Times.measure(name, arguments, product);
    all.add(times);
    // Printed at once, in case the run is stopped before the table.
    report.line("measured", "%s: %.3f s", name, times.median());
    return times;
  }

  private double operations() {
    return 2.0 * a.rows() * a.cols() * b.cols();
  }

  private Optional<Times> bestOfMllib() {
    return all.stream()
        .filter(times -> times.name().startsWith("mllib"))
        .min(java.util.Comparator.comparingDouble(Times::median));
  }

  private void print() {
    out.printf(
        "%-32s %9s %10s %20s   %s%n",
        "case", "s", "GFLOP/s", "least to most s", "MLlib's best / it");
    for (Times times : all) {
      out.printf(
          Locale.ROOT,
          "%-32s %9.3f %10.1f %20s   %s%n",
          times.name(),
          times.median(),
          operations() / times.median() / 1e9,
          String.format(Locale.ROOT, "%.3f to %.3f", times.least(), times.most()),
          bestOfMllib()
              .map(best -> String.format(Locale.ROOT, "%.2f", best.median() / times.median()))
              .orElse(""));
    }
  }

  private void writeCsv(Path file, String head) throws IOException {
    StringBuilder csv = new StringBuilder("# " + head + "\n");
    csv.append("case,m,k,n,type,median_s,least_s,most_s,gflops,floor_s,of_floor\n");
    for (Times times : all) {
      csv.append(
          String.format(
              Locale.ROOT,
              "%s,%d,%d,%d,%s,%.4f,%.4f,%.4f,%.6g,%s%n",
              times.name(),
              a.rows(),
              a.cols(),
              b.cols(),
              a.type() == ElementType.FLOAT32 ? "float" : "double",
              times.median(),
              times.least(),
              times.most(),
              operations() / times.median() / 1e9,
              floors.containsKey(times.name())
                  ? String.format(
                      Locale.ROOT,
                      "%.4f,%.3f",
                      floors.get(times.name()),
                      times.median() / floors.get(times.name()))
                  : ","));
    }
    Files.writeString(file, csv);
  }

  private static long[] extents(String text) {
    long[] shape = Arrays.stream(text.split(",", -1)).mapToLong(Long::parseLong).toArray();
    if (shape.length != 3 || Arrays.stream(shape).anyMatch(extent -> extent < 1)) {
      throw new IllegalArgumentException("expected M,K,N");
    }
    return shape;
  }

  private static int[] counts(String text) {
    int[] counts = Arrays.stream(text.split(",", -1)).mapToInt(Integer::parseInt).toArray();
    if (Arrays.stream(counts).anyMatch(count -> count < 1)) {
      throw new IllegalArgumentException("expected numbers of 1 or more, separated by commas");
    }
    return counts;
  }

  private static ElementType type(String text) {
    return switch (text) {
      case "float" -> ElementType.FLOAT32;
      case "double" -> ElementType.FLOAT64;
      default -> throw new IllegalArgumentException("expected float or double");
    };
  }
}
