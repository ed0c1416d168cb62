package org.tilespark.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.mllib.linalg.distributed.RowMatrix;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobArguments.Option;
import org.tilespark.kernels.device.DeviceFactorizer;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.Svd;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;

/**
 * Compares least squares, singular values and principal components of cached matrices with numpy,
 * MLlib's computeSVD and dask's svd_compressed. Each round creates a new plan, since a plan keeps
 * its computed factors. The case {@code device} measures single routines of cuSOLVER and LAPACK.
 */
public final class FactorsBenchmark extends SparkBenchmark {
  private static final JobArguments.Usage USAGE =
      new JobArguments.Usage(
          "factors-bench [options]",
          """
          Measures factorizations.

            --commit ID               what is measured, for the head of the output
            --cases A,B,...           of lstsq, qr, svd, svd-tall, svd-wide, pca, pca-wide-columns, mllib, device
                                      (default: all)
            --device A,B,...          rows of the square matrices of doubles that the device's routines and
                                      the CPU's, on one core, factorise in turns (default: 128,256,512,1024,2048)
            --lstsq R,C               equations of doubles (default: 1000000,100)
            --svd R,C                 matrix of floats (default: 1000,500000)
            --k N                     its singular values, and principal components (default: 50)
            --tall R,C, --wide R,C    matrices of doubles of which we, MLlib and dask find 20 singular values
                                      and their vectors (default: 200000,100 and 100,200000)
            --pca R,C                 matrix of doubles (default: 20000,300)
            --pca-wide R,C            matrix of floats (default: 100000,4000)
            --partitions N            of the cached matrices (default: two for each core)
            --numpy PYTHON            numpy's times of this Python, too (default: without)
            --dask PYTHON             times of dask's svd_compressed in this Python, too (default: without)
            --warmups N, --rounds N   queries before the measured ones, and those (default: 1, 3)
            --explain                 print each plan with its figures too
            --seed N                  seed of the elements (default: a new one)
          """,
          List.of(),
          List.of(
              Option.text("commit"),
              Option.text("cases"),
              Option.text("lstsq"),
              Option.text("svd"),
              Option.checked("k", Integer::parseInt),
              Option.text("tall"),
              Option.text("wide"),
              Option.text("pca"),
              Option.text("pca-wide"),
              Option.text("device"),
              Option.checked("partitions", Integer::parseInt),
              Option.text("numpy"),
              Option.text("dask"),
              Option.checked("warmups", Integer::parseInt),
              Option.checked("rounds", Integer::parseInt),
              Option.flag("explain"),
              Option.SEED));

  /** Bytes of a block. */
  private static final long BLOCK = 8L << 20;

  private static final String DEVICE = "device";

  /** Number of singular values that the tall and the wide case compute. */
  private static final int FEW = 20;

  private final int k;

  private FactorsBenchmark(SparkSession spark, JobArguments arguments, PrintStream out) {
    super(spark, arguments, out);
    this.k = number("k", 50);
  }

  /** Runs the benchmark under spark-submit. */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    return run(USAGE, args, FactorsBenchmark::new, out, err);
  }

  /**
   * One comparison.
   *
   * @param ours our operator on the matrix
   * @param mllib the same by MLlib; empty if MLlib is not compared
   * @param python the same in Python on an array {@code a}
   */
  private record Case(
      Shape shape,
      ElementType type,
      Function<Dataset<Row>, Supplier<?>> ours,
      Optional<Function<Dataset<Row>, Supplier<?>>> mllib,
      Optional<Python> python) {
    static Case withNumpy(
        Shape shape,
        ElementType type,
        Function<Dataset<Row>, Supplier<?>> ours,
        String expression) {
      return new Case(
          shape, type, ours, Optional.empty(), Optional.of(new Python("numpy", "", expression)));
    }
  }

  /**
   * A Python library.
   *
   * @param option the option that names a Python interpreter with this library
   * @param setup preparation, which is not timed
   */
  private record Python(String option, String setup, String expression) {}

  private Map<String, Case> cases() {
    Map<String, Case> cases = new LinkedHashMap<>();
    Shape equations = shape("lstsq", "1000000,100");
    Shape svd = shape("svd", "1000,500000");
    cases.put(
        "lstsq",
        Case.withNumpy(
            equations,
            ElementType.FLOAT64,
            a -> {
              Dataset<Row> b = matrix(Shape.of(equations.extent(0), 1), ElementType.FLOAT64, 1);
              return () -> MatrixBlocks.lstsq(a, b).x().collectAsList();
            },
            "numpy.linalg.lstsq(a, a[:, 0] + 1, rcond=None)"));
    cases.put(
        "qr",
        Case.withNumpy(
            equations,
            ElementType.FLOAT64,
            a -> () -> done(MatrixBlocks.qr(a).q()),
            "numpy.linalg.qr(a)"));
    cases.put(
        "svd",
        Case.withNumpy(
            svd,
            ElementType.FLOAT32,
            a -> () -> done(MatrixBlocks.svd(a, k)),
            "numpy.linalg.svd(a, full_matrices=False)"));
    cases.put("pca", pca(shape("pca", "20000,300"), ElementType.FLOAT64));
    cases.put("pca-wide-columns", pca(shape("pca-wide", "100000,4000"), ElementType.FLOAT32));
    cases.put(
        "mllib",
        new Case(
            Shape.of(svd.extent(1), svd.extent(0)),
            ElementType.FLOAT32,
            a -> computeSvd(a, k),
            Optional.empty(),
            Optional.empty()));
    cases.put("svd-tall", few(shape("tall", "200000,100")));
    cases.put("svd-wide", few(shape("wide", "100,200000")));
    return cases;
  }

  /**
   * Computes a few singular values and compares MLlib and dask. MLlib gets a wide matrix
   * transposed.
   */
  private Case few(Shape shape) {
    boolean isTall = shape.extent(0) >= shape.extent(1);
    int count = (int) Math.min(FEW, Math.min(shape.extent(0), shape.extent(1)));
    return new Case(
        shape,
        ElementType.FLOAT64,
        a -> () -> done(MatrixBlocks.svd(a, count)),
        Optional.of(a -> computeSvd(isTall ? a : MatrixBlocks.transpose(a), count)),
        Optional.of(
            new Python(
                "dask",
                """
                import dask, dask.array
                x = dask.array.from_array(a, chunks=(%s))
                """
                    .formatted(isTall ? "'auto', a.shape[1]" : "a.shape[0], 'auto'"),
                "dask.compute(*dask.array.linalg.svd_compressed(x, %d, n_power_iter=4))"
                    .formatted(count))));
  }

  /** MLlib's computeSVD of cached rows, including U. */
  private static Supplier<?> computeSvd(Dataset<Row> a, int count) {
    var rows =
        MatrixBlocks.toRows(a, "vector")
            .select("vector")
            .toJavaRDD()
            .map(
                row ->
                    Vectors.dense(
                        row.<Number>getList(0).stream().mapToDouble(Number::doubleValue).toArray()))
            .persist(StorageLevel.MEMORY_AND_DISK());
    rows.count();
    return () -> new RowMatrix(rows.rdd()).computeSVD(count, true, 1e-9).U().rows().count();
  }

  private Case pca(Shape shape, ElementType type) {
    int count = (int) Math.min(10, shape.extent(1));
    return Case.withNumpy(
        shape,
        type,
        a -> () -> MatrixBlocks.pca(a, count).components().collectAsList(),
        "numpy.linalg.eigh(numpy.cov(a, rowvar=False))");
  }

  private static Object done(Svd found) {
    found.s().collectAsList();
    var ignored = done(found.u());
    return done(found.vt());
  }

  private static Object done(Dataset<Row> query) {
    noop(query);
    return query;
  }

  private Shape shape(String option, String byDefault) {
    return Shape.parse(option, arguments.option(option).orElse(byDefault), 2);
  }

  /** Generates a matrix whose blocks hold whole rows or, if the matrix is wide, whole columns. */
  private Dataset<Row> matrix(Shape shape, ElementType type, long more) {
    long rows = shape.extent(0);
    long cols = shape.extent(1);
    long shorter = Math.min(rows, cols);
    long longer = Math.max(1, BLOCK / (shorter * type.bytes()));
    return new GeneratedMatrix(
            rows,
            cols,
            Math.toIntExact(rows >= cols ? Math.min(rows, longer) : rows),
            Math.toIntExact(rows >= cols ? cols : Math.min(cols, longer)),
            type,
            Content.FRACTIONS,
            arguments.seed() + more)
        .read(spark, number("partitions", 2 * spark.sparkContext().defaultParallelism()));
  }

  @Override
  boolean run() throws IOException, InterruptedException {
    var gpu = ExecutorRuntime.current().gpu(Backend.AUTO, null);
    report.line("machine", "%s", SparkMachine.describe(spark, gpu, arguments));
    Map<String, Case> cases = cases();
    for (String name :
        arguments
            .option("cases")
            .orElse(String.join(",", cases.keySet()) + "," + DEVICE)
            .split(",")) {
      if (name.equals(DEVICE)) {
        measureDevice(gpu);
        continue;
      }
      if (!cases.containsKey(name)) {
        throw new IllegalArgumentException(
            "There is no case " + name + "; expected some of " + cases.keySet() + " or " + DEVICE);
      }
      measure(name, cases.get(name));
    }
    return true;
  }

  private void measureDevice(Optional<Gpu> gpu) {
    Availability<DeviceFactorizer> found =
        gpu.isEmpty()
            ? Availability.not("there is no GPU")
            : DeviceFactorizer.find(
                gpu.get().device(),
                gpu.get().transposer(),
                TileSparkConf.LIBRARY_PATH.read(
                    TileSparkConf.application(spark.sparkContext().getConf())));
    if (!found.isPresent()) {
      report.line(DEVICE, "left out: %s", found.whyNot());
      return;
    }
    try (DeviceFactorizer device = found.get()) {
      report.line(DEVICE, "cuSOLVER %s", device.version());
      Factorizer host = ExecutorRuntime.current().hostFactorizer();
      for (String size : arguments.option(DEVICE).orElse("128,256,512,1024,2048").split(",")) {
        int n = Integer.parseInt(size.trim());
        new FactorRoutines(n, arguments.seed())
            .all()
            .forEach(
                (routine, call) ->
                    report.line(
                        routine,
                        "%d: device %s, %s %s",
                        n,
                        seconds(FactorRoutines.seconds(device, call)),
                        host,
                        seconds(FactorRoutines.seconds(host, call))));
      }
    }
  }

  private static String seconds(Optional<Double> seconds) {
    return seconds.map("%.4f s"::formatted).orElse("refused");
  }

  private void measure(String name, Case each) throws IOException, InterruptedException {
    Dataset<Row> a = matrix(each.shape(), each.type(), 0).persist();
    try {
      noop(a);
      String line =
          "%s of %s: %s".formatted(each.shape(), each.type(), seconds(each.ours().apply(a)));
      if (each.mllib().isPresent()) {
        line += "; MLlib " + seconds(each.mllib().get().apply(a));
      }
      Optional<String> python = each.python().flatMap(peer -> arguments.option(peer.option()));
      if (python.isPresent()) {
        line += "; %s %.3f s".formatted(each.python().get().option(), of(python.get(), each));
      }
      report.line(name, "%s", line);
    } finally {
      a.unpersist(true);
    }
  }

  /** Runs the rounds; returns their median and least seconds as text. */
  private String seconds(Supplier<?> query) {
    for (int i = 0; i < number("warmups", 1); i++) {
      var ignored = query.get();
    }
    double[] seconds = new double[number("rounds", 3)];
    for (int i = 0; i < seconds.length; i++) {
      long start = System.nanoTime();
      var ignored = query.get();
      seconds[i] = (System.nanoTime() - start) / 1e9;
    }
    Arrays.sort(seconds);
    return "%.3f s (least %.3f)".formatted(seconds[seconds.length / 2], seconds[0]);
  }

  /** Runs the Python expression twice in a new process; returns the seconds of the second call. */
  private static double of(String python, Case each) throws IOException, InterruptedException {
    Python peer = each.python().orElseThrow();
    String script =
        """
        import time, numpy
        a = numpy.random.default_rng(0).random((%d, %d), dtype='f%d')
        %s
        for _ in range(2):
            start = time.perf_counter()
            %s
            seconds = time.perf_counter() - start
        print(seconds)
        """
            .formatted(
                each.shape().extent(0),
                each.shape().extent(1),
                each.type().bytes(),
                peer.setup(),
                peer.expression());
    Process process =
        new ProcessBuilder(python, "-c", script)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(peer.option() + "'s process ended with status " + process.exitValue());
    }
    return Double.parseDouble(printed.trim());
  }
}
