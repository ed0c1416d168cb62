package org.tilespark.bench.kernels;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.host.fourier.HostFourier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Measures Fourier transforms on the CPU, in off-heap memory, alternating with scipy: contiguous
 * lines on one thread, and volumes of real floats over three axes on one and two threads. Lines are
 * timed in pieces of an array that exceeds all caches. The best piece counts, for both libraries,
 * since other processes disturb only few pieces. One thread is timed by its CPU time, two by
 * elapsed time.
 *
 * <p>Two threads transform one half of a volume each: first along two axes and then, with the
 * volume halved the other way, along the third. The exchange between the two steps is not timed.
 */
public final class HostFourierBenchmark {
  private static final int LINES = 4096;
  private static final int PIECES = 16;
  private static final long[] LENGTHS = {240, 256, 509, 512, 1000, 1024, 2048};
  private static final long[] VOLUMES = {256, 512};

  private static final String HELP =
      """
      usage: dev/bench host-fourier [OPTION]...
        --scipy PYTHON   take turns with scipy of this Python
        --runs N         timed runs of each, of which the best counts (default 15)
        --only WORD      cases whose name has it, such as float-complex or volume
        --lengths N,...  lengths of lines (default 240,256,509,512,1000,1024,2048)
      """;

  private final int runs;
  private final PythonPeer peer; // null without scipy

  private HostFourierBenchmark(int runs, PythonPeer peer) {
    this.runs = runs;
    this.peer = peer;
  }

  /** Runs all cases, or those that the options select. */
  public static void main(String[] args) throws IOException {
    int runs = 15;
    String python = null;
    String only = "";
    long[] lengths = LENGTHS;
    for (int i = 0; i < args.length; i += 2) {
      if (i + 1 == args.length || args[i].equals("--help")) {
        System.out.print(HELP);
        return;
      }
      switch (args[i]) {
        case "--scipy" -> python = args[i + 1];
        case "--runs" -> runs = Integer.parseInt(args[i + 1]);
        case "--only" -> only = args[i + 1];
        case "--lengths" ->
            lengths =
                java.util.Arrays.stream(args[i + 1].split(",", -1))
                    .mapToLong(Long::parseLong)
                    .toArray();
        default -> throw new IllegalArgumentException(args[i] + "; expected\n" + HELP);
      }
    }
    try (PythonPeer peer = python == null ? null : PythonPeer.ofScipy(python)) {
      System.out.printf(
          Locale.ROOT,
          "%s %s, %s; %s; best of %d%n",
          System.getProperty("java.vm.name"),
          System.getProperty("java.version"),
          System.getProperty("os.arch"),
          peer == null ? "no scipy" : peer + " in turns",
          runs);
      System.out.printf(
          "%-24s %10s %9s %9s %6s  %s%n",
          "case", "ms", "GFLOP/s", "scipy", "ratio", "relative error, scipy's");
      new HostFourierBenchmark(runs, peer).all(only, lengths);
    }
  }

  private void all(String only, long[] lengths) throws IOException {
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      for (Kind kind : List.of(Kind.FORWARD, Kind.REAL_TO_HALF, Kind.HALF_TO_REAL)) {
        for (long n : lengths) {
          String name = name(type) + "-" + name(kind) + "-" + n;
          if (name.contains(only)) {
            lines(name, type, kind, n);
          }
        }
      }
    }
    for (long n : VOLUMES) {
      for (int threads = 1; threads <= 2; threads++) {
        String name = "volume-" + n + "-threads-" + threads;
        if (name.contains(only)) {
          volume(name, n, threads);
        }
      }
    }
  }

  private static String name(ElementType type) {
    return type == ElementType.FLOAT32 ? "float" : "double";
  }

  private static String name(Kind kind) {
    return switch (kind) {
      case FORWARD, INVERSE -> "complex";
      case REAL_TO_HALF -> "half";
      case HALF_TO_REAL -> "real";
    };
  }

  private void lines(String name, ElementType type, Kind kind, long n) throws IOException {
    FourierProblem problem =
        new FourierProblem(
            Shape.of(LINES, kind == Kind.HALF_TO_REAL ? n / 2 + 1 : n),
            type,
            List.of(1),
            kind,
            kind == Kind.HALF_TO_REAL ? n : 0);
    HostFourier fourier = new HostFourier();
    try (Planes in = Planes.of(problem.shape(), type, problem.inputIsComplex());
        Planes out = Planes.of(problem.outputShape(), type, problem.outputIsComplex())) {
      fourier.transform(problem, 1, in.memories, out.memories);
      String dtype = type == ElementType.FLOAT32 ? "f4" : "f8";
      String errors = peer == null ? "" : errors(problem, dtype, n, in, out);
      boolean inPlace = kind == Kind.FORWARD;
      double scale = 1 / Math.sqrt((double) n);
      FourierProblem part =
          new FourierProblem(
              Shape.of(LINES / PIECES, problem.shape().extent(1)),
              type,
              problem.axes(),
              kind,
              problem.realExtent());
      List<Runnable> pieces = new ArrayList<>();
      for (int p = 0; p < PIECES; p++) {
        List<HostMemory> from = in.piece(p);
        List<HostMemory> to = inPlace ? from : out.piece(p);
        pieces.add(() -> fourier.transform(part, scale, from, to));
      }
      long[] best =
          turns(pieces, String.format("prepare %s %s %d %d", name(kind), dtype, LINES, n), 1);
      double flops =
          (inPlace ? 5.0 : 2.5) * (double) n * Math.log((double) n) / Math.log(2) * LINES;
      print(name, best, flops, errors);
    }
  }

  private String errors(FourierProblem problem, String dtype, long n, Planes in, Planes out)
      throws IOException {
    Path folder = Files.createTempDirectory("fourier");
    int lines = 64; // compares only the first 64
    try {
      in.write(folder, "in", lines * problem.shape().extent(1) * problem.type().bytes());
      out.write(folder, "out", lines * problem.outputShape().extent(1) * problem.type().bytes());
      return peer.ask(String.format("errors %s %s %d %s", name(problem.kind()), dtype, n, folder));
    } finally {
      try (java.util.stream.Stream<Path> files = Files.list(folder)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
    }
  }

  private void volume(String name, long n, int threads) {
    long half = n / 2 + 1;
    long part = n / threads;
    FourierProblem slab = problem(Shape.of(part, n, n), Kind.REAL_TO_HALF, List.of(1, 2));
    FourierProblem pencils = problem(Shape.of(n, part, half), Kind.FORWARD, List.of(0));
    List<Planes> memory = new ArrayList<>();
    List<Runnable> first = new ArrayList<>();
    List<Runnable> second = new ArrayList<>();
    double scale = Math.pow((double) n, -1.5);
    try {
      for (int t = 0; t < threads; t++) {
        Planes in = Planes.of(slab.shape(), ElementType.FLOAT32, false);
        memory.add(in);
        Planes out = Planes.of(slab.outputShape(), ElementType.FLOAT32, true);
        memory.add(out);
        HostFourier fourier = new HostFourier();
        first.add(() -> fourier.transform(slab, 1, in.memories, out.memories));
        second.add(() -> fourier.transform(pencils, scale, out.memories, out.memories));
      }
      long[] best =
          turns(
              List.of(
                  () -> {
                    together(first);
                    together(second);
                  }),
              String.format("prepare volume f4 %d %d %d", n, n, n),
              threads);
      double flops = 2.5 * n * n * n * 3 * Math.log((double) n) / Math.log(2);
      print(name, best, flops, "");
    } finally {
      memory.forEach(Planes::close);
    }
  }

  private static FourierProblem problem(Shape shape, Kind kind, List<Integer> axes) {
    return new FourierProblem(shape, ElementType.FLOAT32, axes, kind, 0);
  }

  private static void together(List<Runnable> works) {
    List<Thread> threads = new ArrayList<>();
    for (Runnable work : works.subList(1, works.size())) {
      Thread thread = new Thread(work);
      thread.start();
      threads.add(thread);
    }
    works.get(0).run();
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /**
   * The least nanoseconds of our code (the best piece times their number) and of scipy (0 without
   * it).
   */
  private long[] turns(List<Runnable> pieces, String prepare, int threads) {
    if (peer != null) {
      peer.ask(prepare);
      peer.ask("run " + threads);
    }
    long start = System.nanoTime();
    do { // warm-up for the JIT compiler
      pieces.forEach(Runnable::run);
    } while (System.nanoTime() - start < 700_000_000L);
    long[] best = {Long.MAX_VALUE, peer == null ? 0 : Long.MAX_VALUE};
    for (int run = 0; run < runs; run++) {
      for (Runnable piece : pieces) {
        long from = clock(threads);
        piece.run();
        best[0] = Math.min(best[0], (clock(threads) - from) * pieces.size());
      }
      if (peer != null) {
        best[1] = Math.min(best[1], Long.parseLong(peer.ask("run " + threads)));
      }
    }
    return best;
  }

  private static long clock(int threads) {
    return threads == 1
        ? ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime()
        : System.nanoTime();
  }

  private static void print(String name, long[] best, double flops, String errors) {
    System.out.printf(
        Locale.ROOT,
        "%-24s %10.3f %9.1f %9s %6s  %s%n",
        name,
        best[0] / 1e6,
        flops / best[0],
        best[1] == 0 ? "-" : String.format(Locale.ROOT, "%.1f", flops / best[1]),
        best[1] == 0 ? "-" : String.format(Locale.ROOT, "%.2f", (double) best[1] / best[0]),
        errors);
  }

  /** Real, or real and imaginary, planes of normally distributed numbers. */
  private record Planes(List<HostMemory> memories) implements AutoCloseable {
    static Planes of(Shape shape, ElementType type, boolean isComplex) {
      SplittableRandom random = new SplittableRandom(1);
      List<HostMemory> planes = new ArrayList<>();
      for (int p = 0; p < (isComplex ? 2 : 1); p++) {
        planes.add(NormalNumbers.of(shape.elements() * type.bytes(), type, random));
      }
      return new Planes(planes);
    }

    List<HostMemory> piece(int p) {
      return memories.stream()
          .map(plane -> plane.slice(p * (plane.bytes() / PIECES), plane.bytes() / PIECES))
          .toList();
    }

    void write(Path folder, String name, long bytes) throws IOException {
      for (int p = 0; p < memories.size(); p++) {
        byte[] array = new byte[Math.toIntExact(bytes)];
        memories.get(p).slice(0, bytes).copyTo(HostMemory.ofArray(array));
        Files.write(folder.resolve(name + p), array);
      }
    }

    @Override
    public void close() {
      memories.forEach(NormalNumbers::free);
    }
  }
}
