package org.tilespark.bench.kernels;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.host.HostProfile;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;

/**
 * Measures matrix products on the CPU, of blocks in off-heap memory, alternating with numpy's BLAS;
 * both use one thread. Both are timed by their thread's CPU time, which other processes disturb
 * little.
 */
public final class HostMultiplyBenchmark {
  private static final String DEFAULT_SHAPES = "1536,1536,1536;1531,1543,1549";

  private static final String HELP =
      """
      usage: dev/bench host-multiply [OPTION]...
        --numpy PYTHON   take turns with numpy of this Python (default: that of dev/python-env; none: without)
        --runs N         timed turns of each case (default 15)
        --only WORD      cases whose name has it, such as double-NT
        --shapes M,K,N;...   extents of products (default 1536,1536,1536;1531,1543,1549)
      With the option --java -XX:UseAVX=2 vectors have 256 bits.
      """;

  /** Nanoseconds of one library's runs. */
  private record Times(long[] sorted) {
    static Times of(long[] nanos) {
      long[] sorted = nanos.clone();
      Arrays.sort(sorted);
      return new Times(sorted);
    }

    long median() {
      return sorted[sorted.length / 2];
    }

    long least() {
      return sorted[0];
    }

    double spread() {
      return (double) sorted[sorted.length - 1] / sorted[0];
    }
  }

  private final int runs;
  private final PythonPeer peer; // null without numpy

  private HostMultiplyBenchmark(int runs, PythonPeer peer) {
    this.runs = runs;
    this.peer = peer;
  }

  /** Runs all cases, or those that the options select. */
  public static void main(String[] args) throws IOException {
    int runs = 15;
    String python = "none";
    String only = "";
    String shapes = DEFAULT_SHAPES;
    for (int i = 0; i < args.length; i += 2) {
      if (i + 1 == args.length || args[i].equals("--help")) {
        System.out.print(HELP);
        return;
      }
      switch (args[i]) {
        case "--numpy" -> python = args[i + 1];
        case "--runs" -> runs = Integer.parseInt(args[i + 1]);
        case "--only" -> only = args[i + 1];
        case "--shapes" -> shapes = args[i + 1];
        default -> throw new IllegalArgumentException(args[i] + "; expected\n" + HELP);
      }
    }
    try (PythonPeer peer = python.equals("none") ? null : PythonPeer.ofNumpy(python)) {
      System.out.printf(
          Locale.ROOT,
          "%s%n%s%n%s %s, %s; %s; %d turns; load %.1f%n",
          cpu(),
          HostProfile.current(),
          System.getProperty("java.vm.name"),
          System.getProperty("java.version"),
          System.getProperty("os.arch"),
          peer == null ? "no numpy" : peer + ", one thread, in turns",
          runs,
          ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
      System.out.printf(
          "%-28s %8s %8s %7s %8s %8s %7s %7s %7s%n",
          "case", "GFLOP/s", "best", "spread", "numpy", "best", "spread", "ratio", "of best");
      new HostMultiplyBenchmark(runs, peer).all(only, shapes);
    }
  }

  private static String cpu() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"), StandardCharsets.UTF_8)) {
      return lines
          .filter(line -> line.startsWith("model name"))
          .findFirst()
          .map(line -> line.substring(line.indexOf(':') + 1).trim())
          .orElse("unknown CPU");
    } catch (IOException e) {
      return "unknown CPU";
    }
  }

  private void all(String only, String shapes) {
    try (HostMultiplier multiplier = new HostMultiplier()) {
      for (String shape : shapes.split(";", -1)) {
        long[] extents =
            Arrays.stream(shape.split(",", -1)).mapToLong(each -> Long.parseLong(each)).toArray();
        for (ElementType type : List.of(ElementType.FLOAT64, ElementType.FLOAT32)) {
          for (String form : List.of("NN", "TN", "NT", "TT")) {
            String name =
                (type == ElementType.FLOAT32 ? "float-" : "double-")
                    + form
                    + "-"
                    + shape.replace(',', 'x');
            if (name.contains(only)) {
              MultiplyProblem problem =
                  MultiplyProblem.dense(
                      extents[0],
                      extents[1],
                      extents[2],
                      type,
                      form.charAt(0) == 'T',
                      form.charAt(1) == 'T');
              measure(name, form, problem, multiplier);
            }
          }
        }
      }
    }
  }

  private void measure(
      String name, String form, MultiplyProblem problem, HostMultiplier multiplier) {
    HostMemory a = NormalNumbers.of(problem.bytesA(), problem.type(), new SplittableRandom(1));
    HostMemory b = NormalNumbers.of(problem.bytesB(), problem.type(), new SplittableRandom(2));
    HostMemory c = NormalNumbers.of(problem.bytesC(), problem.type(), new SplittableRandom(3));
    try {
      if (peer != null) {
        String dtype = problem.type() == ElementType.FLOAT32 ? "f4" : "f8";
        peer.ask(
            String.format(
                "prepare %s %s %d %d %d", dtype, form, problem.m(), problem.k(), problem.n()));
        peer.ask("run");
      }
      long start = System.nanoTime();
      do { // warm-up for the JIT compiler
        multiplier.multiply(problem, a, b, c);
      } while (System.nanoTime() - start < 1_500_000_000L);
      long[] ours = new long[runs];
      long[] theirs = new long[runs];
      for (int run = 0; run < runs; run++) {
        long from = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        multiplier.multiply(problem, a, b, c);
        ours[run] = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - from;
        theirs[run] = peer == null ? 0 : Long.parseLong(peer.ask("run"));
      }
      print(name, 2.0 * problem.m() * problem.k() * problem.n(), Times.of(ours), Times.of(theirs));
    } finally {
      for (HostMemory each : List.of(a, b, c)) {
        NormalNumbers.free(each);
      }
    }
  }

  private void print(String name, double operations, Times ours, Times theirs) {
    System.out.printf(
        Locale.ROOT,
        "%-28s %8.1f %8.1f %7.2f",
        name,
        operations / ours.median(),
        operations / ours.least(),
        ours.spread());
    if (peer != null) {
      System.out.printf(
          Locale.ROOT,
          " %8.1f %8.1f %7.2f %7.2f %7.2f",
          operations / theirs.median(),
          operations / theirs.least(),
          theirs.spread(),
          (double) theirs.median() / ours.median(),
          (double) theirs.least() / ours.least());
    }
    System.out.println();
  }
}
