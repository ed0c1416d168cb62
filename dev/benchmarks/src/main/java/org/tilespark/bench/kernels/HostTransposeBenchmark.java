package org.tilespark.bench.kernels;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Measures the host transposer on one core, {@code System.arraycopy} of the same bytes and, if
 * {@code python3} has numpy, {@code ascontiguousarray(a.transpose(...))}, in the same run.
 *
 * <p>{@code java -Xmx4g org.tilespark.bench.kernels.HostTransposeBenchmark [runs]} prints one line
 * a case: milliseconds (median), nanoseconds an element, GB/s (2 x bytes / time), the spread
 * (maximum over minimum), arraycopy's time over ours, and numpy's time over ours ("-" without
 * numpy).
 */
public final class HostTransposeBenchmark {
  private record Case(Shape shape, Permutation permutation, int elementBytes) {
    static Case of(int elementBytes, int[] permutation, long... extents) {
      return new Case(Shape.of(extents), Permutation.of(permutation), elementBytes);
    }
  }

  private static final int[] MATRIX = {1, 0};
  private static final List<Case> CASES =
      List.of(
          Case.of(4, MATRIX, 8192, 8192),
          Case.of(8, MATRIX, 8192, 8192),
          Case.of(1, MATRIX, 8192, 8192),
          Case.of(2, MATRIX, 8192, 8192),
          Case.of(16, MATRIX, 4096, 4096),
          Case.of(4, MATRIX, 10007, 7919),
          Case.of(8, MATRIX, 10007, 7919),
          Case.of(1, MATRIX, 10000, 784),
          Case.of(4, MATRIX, 2048, 2048),
          Case.of(4, MATRIX, 256, 256),
          Case.of(4, MATRIX, 4_194_304, 8),
          Case.of(4, MATRIX, 8, 4_194_304),
          Case.of(4, MATRIX, 3, 8_388_608),
          Case.of(4, MATRIX, 8_388_608, 3),
          Case.of(1, new int[] {1, 2, 0}, 181, 217, 181),
          Case.of(1, new int[] {2, 0, 1}, 181, 217, 181),
          Case.of(1, new int[] {0, 2, 1}, 181, 217, 181),
          Case.of(1, new int[] {1, 0, 2}, 181, 217, 181),
          Case.of(1, new int[] {2, 1, 0}, 181, 217, 181),
          Case.of(4, new int[] {1, 2, 0}, 256, 256, 256),
          Case.of(4, new int[] {2, 0, 1}, 256, 256, 256),
          Case.of(4, new int[] {0, 2, 1}, 256, 256, 256),
          Case.of(4, new int[] {1, 0, 2}, 256, 256, 256),
          Case.of(4, new int[] {2, 1, 0}, 256, 256, 256),
          Case.of(4, new int[] {1, 0, 2}, 2048, 2048, 3),
          Case.of(4, new int[] {0, 2, 1}, 4096, 64, 64));

  private HostTransposeBenchmark() {}

  /** Runs all cases. The optional argument is the number of timed runs, 11 by default. */
  public static void main(String[] args) {
    int runs = args.length > 0 ? Integer.parseInt(args[0]) : 11;
    System.out.printf(
        Locale.ROOT,
        "%s %s, %s; one thread; median of %d%n",
        System.getProperty("java.vm.name"),
        System.getProperty("java.version"),
        System.getProperty("os.arch"),
        runs);
    System.out.printf(
        "%-18s %-10s %5s %10s %8s %8s %7s %9s %7s%n",
        "shape", "order", "width", "ms", "ns/elem", "GB/s", "spread", "arraycopy", "numpy");
    try (HostTransposer transposer = new HostTransposer()) {
      for (Case each : CASES) {
        measure(each, transposer, runs);
      }
    }
  }

  private static void measure(Case each, HostTransposer transposer, int runs) {
    TransposeProblem problem =
        new TransposeProblem(each.shape(), each.permutation(), each.elementBytes());
    byte[] in = new byte[Math.toIntExact(problem.bytes())];
    byte[] out = new byte[in.length];
    new SplittableRandom(1).nextBytes(in);
    HostMemory from = HostMemory.ofArray(in);
    HostMemory to = HostMemory.ofArray(out);
    long[] transpose = time(() -> transposer.transpose(problem, from, to), runs);
    long[] copy = time(() -> System.arraycopy(in, 0, out, 0, in.length), runs);
    double nanos = transpose[runs / 2];
    System.out.printf(
        Locale.ROOT,
        "%-18s %-10s %5d %10.3f %8.3f %8.2f %7.2f %9.2f %7s%n",
        each.shape(),
        each.permutation(),
        each.elementBytes(),
        nanos / 1e6,
        nanos / each.shape().elements(),
        2.0 * problem.bytes() / nanos,
        (double) transpose[runs - 1] / transpose[0],
        copy[runs / 2] / nanos,
        times(numpyNanos(each, runs), nanos));
  }

  private static String times(OptionalDouble peerNanos, double nanos) {
    return peerNanos.isPresent()
        ? String.format(Locale.ROOT, "%.1f", peerNanos.getAsDouble() / nanos)
        : "-";
  }

  /** Median nanoseconds of numpy's transpose on one thread; empty without numpy. */
  private static OptionalDouble numpyNanos(Case each, int runs) {
    String dtype = each.elementBytes() == 16 ? "c16" : "u" + each.elementBytes();
    String program =
        String.join(
            "\n",
            "import numpy, time",
            "a = numpy.frombuffer(numpy.random.default_rng(1).bytes("
                + each.shape().elements() * each.elementBytes()
                + "), dtype='"
                + dtype
                + "').reshape"
                + each.shape(),
            "def run():",
            "    start = time.perf_counter_ns()",
            "    numpy.ascontiguousarray(a.transpose(" + each.permutation() + "))",
            "    return time.perf_counter_ns() - start",
            "run()",
            "print(sorted(run() for _ in range(" + runs + "))[" + runs + " // 2])");
    try {
      Process python =
          new ProcessBuilder("python3", "-c", program)
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String printed =
          new String(python.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      return python.waitFor() == 0
          ? OptionalDouble.of(Double.parseDouble(printed.trim()))
          : OptionalDouble.empty();
    } catch (IOException e) {
      return OptionalDouble.empty(); // no python3 here
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return OptionalDouble.empty();
    }
  }

  /** Nanoseconds of each run, sorted. Short work is repeated and its time divided. */
  private static long[] time(Runnable work, int runs) {
    long start = System.nanoTime();
    int repeats = 0;
    do { // warm-up for the JIT compiler and page faults
      work.run();
      repeats++;
    } while (System.nanoTime() - start < 300_000_000L || repeats < 3);
    int each = (int) Math.max(1, repeats * 5_000_000L / (System.nanoTime() - start));
    long[] nanos =
        LongStream.range(0, runs)
            .map(
                run -> {
                  long from = System.nanoTime();
                  for (int i = 0; i < each; i++) {
                    work.run();
                  }
                  return (System.nanoTime() - from) / each;
                })
            .toArray();
    Arrays.sort(nanos);
    return nanos;
  }
}
