package org.tilespark.bench.arrow;

import java.io.IOException;
import java.io.PrintStream;
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
import java.util.Optional;
import java.util.Set;
import java.util.function.DoubleSupplier;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram;
import org.tilespark.arrow.blocks.BlockStep;
import org.tilespark.arrow.blocks.Fourier;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.arrow.blocks.HostBlockPipeline;
import org.tilespark.arrow.blocks.Permute;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Measures Fourier transforms of volumes through the pipeline that Spark tasks use, from pinned
 * memory to pinned memory, without Spark; and, in the same process, their parts alone: plain copies
 * up, plain copies down, and cuFFT on device memory.
 *
 * <p>{@code java -Xmx4g org.tilespark.bench.arrow.FourierBenchmark --commit ID} prints a table of
 * milliseconds: median, minimum and maximum of the runs. It transforms a whole cube of complex
 * FLOATs, one at a time and with two in flight; then a larger cube in slabs, in two stages as in
 * Spark, with the cells between them in memory. The first stage transforms planes and cuts them
 * into cells; the second assembles cells, permutes the slab and transforms the axis that was cut.
 * The first run of each case is checked. Without a device one CPU thread computes. Options:
 *
 * <pre>
 *   --backend auto|gpu|cpu   where to compute (auto: on the GPU if there is one, with cuFFT)
 *   --library-path DIRECTORY where cuFFT is, if the system does not find it
 *   --extent 512             extent of the cube that is transformed whole
 *   --slabs 1024             extent of the cube that is transformed in slabs; 0 for none
 *   --thickness 64           planes of a slab
 *   --runs 5                 measured runs, after a warm-up run that is checked
 *   --host true|false        whether to measure the Java implementation too, once (true)
 *   --csv FILE
 * </pre>
 */
public final class FourierBenchmark {
  private static final Set<String> OPTIONS =
      Set.of(
          "commit",
          "backend",
          "library-path",
          "extent",
          "slabs",
          "thickness",
          "runs",
          "host",
          "csv");

  private static final List<Integer> ALL = List.of(0, 1, 2);

  /** Number of arrays in a run that keeps two in flight. */
  private static final int MANY = 6;

  /** Promised time of a whole cube on an H200, relative to the sum of its copies and transform. */
  private static final double PROMISED = 1.25;

  private final DeviceMachine machine;
  private final Map<String, String> options;
  private final PrintStream out;
  private final int runs;
  private final List<Row> rows = new ArrayList<>();
  private boolean checked; // true once a whole cube's spectrum was checked

  /**
   * One row of the table.
   *
   * @param millis milliseconds of the runs, sorted
   * @param bytes bytes copied in this time; 0 for no rate
   */
  private record Row(String what, double[] millis, long bytes) {
    double median() {
      return (millis[(millis.length - 1) / 2] + millis[millis.length / 2]) / 2;
    }

    String rate() {
      return bytes == 0 ? "" : String.format(Locale.ROOT, "%.2f GB/s", bytes / median() / 1e6);
    }
  }

  /** The real and the imaginary plane of a cube or of a part of it. */
  private record Volume(Shape shape, List<ArrowBuf> buffers) implements AutoCloseable {
    List<Plane> planes() {
      long bytes = shape.elements() * Float.BYTES;
      return buffers.stream()
          .map(
              buffer ->
                  new Plane(
                      HostMemory.ofAddress(buffer.memoryAddress(), bytes), Optional.of(buffer)))
          .toList();
    }

    @Override
    public void close() {
      buffers.forEach(ArrowBuf::close);
    }
  }

  private FourierBenchmark(DeviceMachine machine, Map<String, String> options, PrintStream out) {
    this.machine = machine;
    this.options = options;
    this.out = out;
    this.runs = Integer.parseInt(options.getOrDefault("runs", "5"));
  }

  /** Runs all cases; exits with status 1 if a requested device is missing. */
  public static void main(String[] args) throws IOException {
    System.exit(run(args, System.out, System.err));
  }

  /**
   * Runs all cases; returns the exit status: 0, 1 for a wrong answer or no device, 2 for bad
   * options.
   */
  static int run(String[] args, PrintStream out, PrintStream err) throws IOException {
    Map<String, String> options = new HashMap<>();
    boolean understood = args.length % 2 == 0;
    for (int i = 0; i + 1 < args.length; i += 2) {
      understood &= args[i].startsWith("--") && OPTIONS.contains(args[i].substring(2));
      options.put(args[i].substring(Math.min(2, args[i].length())), args[i + 1]);
    }
    if (!understood || !options.containsKey("commit")) {
      err.println("usage: FourierBenchmark --commit ID [--OPTION VALUE ...] with options");
      err.println("  " + String.join(", ", OPTIONS.stream().sorted().toList()));
      return 2;
    }
    String backend = options.getOrDefault("backend", "auto");
    Availability<DeviceProbe> probe = DeviceProbe.run();
    String absence = probe.isPresent() ? "" : "No CUDA device: " + probe.whyNot();
    DeviceMachine device = null;
    if (absence.isEmpty() && !backend.equals("cpu")) {
      Availability<DeviceMachine> opened =
          DeviceMachine.ofDevice(
              options.containsKey("library-path")
                  ? List.of(Path.of(options.get("library-path")))
                  : List.of());
      absence = opened.whyNot();
      device = opened.thing().orElse(null);
    }
    if (device == null && backend.equals("gpu")) {
      err.println(absence);
      return 1;
    }
    try (DeviceMachine machine = device == null ? DeviceMachine.ofHost() : device) {
      FourierBenchmark benchmark = new FourierBenchmark(machine, options, out);
      String head =
          String.format(
              Locale.ROOT,
              "%s; commit %s; %s; complex FLOAT, milliseconds, median of %d",
              machine.description(),
              options.get("commit"),
              LocalDate.now(ZoneOffset.UTC),
              benchmark.runs);
      out.println(head);
      benchmark.runAll();
      if (options.containsKey("csv")) {
        benchmark.writeCsv(Path.of(options.get("csv")), head);
      }
      return 0;
    } catch (WrongAnswer e) {
      err.println("WRONG: " + e.getMessage());
      return 1;
    }
  }

  private void runAll() {
    out.printf("%-52s %10s %22s  %s%n", "what", "median", "least to most", "rate");
    int extent = Integer.parseInt(options.getOrDefault("extent", "512"));
    whole(extent);
    int slabs = Integer.parseInt(options.getOrDefault("slabs", "1024"));
    if (slabs > 0) {
      inSlabs(slabs, Integer.parseInt(options.getOrDefault("thickness", "64")));
    }
    if (Boolean.parseBoolean(options.getOrDefault("host", "true")) && machine.isDevice()) {
      hostTwin(extent);
    }
  }

  // --- a whole cube ---

  private void whole(int extent) {
    Shape cube = Shape.of(extent, extent, extent);
    String name = extent + "^3";
    try (BufferAllocator upstream = machine.memory().newChild("upstream");
        Volume volume = random(cube, upstream)) {
      long bytes = 2 * cube.elements() * Float.BYTES;
      double parts = Double.NaN;
      if (machine.isDevice()) {
        Row up = measure(name + " copy up", bytes, () -> machine.copyUp(volume.planes()));
        Row down = measure(name + " copy down", bytes, () -> machine.copyDown(volume.planes()));
        Row transform = measure(name + " cuFFT alone", 0, () -> machine.transform(cube, ALL));
        parts = up.median() + down.median() + transform.median();
        print(new Row(name + " sum of the three", new double[] {parts}, 0));
        kernels(cube);
      }
      double[] phases = new double[3];
      Fourier forward = new Fourier(ALL, Form.COMPLEX, Direction.FORWARD, 0, 1);
      Row one =
          measure(
              name + " pipeline, one at a time",
              2 * bytes,
              () -> {
                Arrays.fill(phases, 0);
                return throughPipeline(volume, List.of(forward), 1, heard(phases));
              });
      if (machine.isDevice()) {
        out.printf(
            Locale.ROOT,
            "%-52s %10.2f %22s  device time: up %.2f, kernels %.2f, down %.2f%n",
            "  of the last run",
            phases[0] + phases[1] + phases[2],
            "",
            phases[0],
            phases[1],
            phases[2]);
        double ratio = one.median() / parts;
        out.printf(
            Locale.ROOT,
            "%-52s %10.3f %22s  at most %.2f promised: %s%n",
            "  of the sum",
            ratio,
            "",
            PROMISED,
            ratio <= PROMISED ? "met" : "MISSED");
      }
      measure(
          name + " pipeline, of " + MANY + " with two under way, each",
          2 * bytes,
          () -> throughPipeline(volume, List.of(forward), MANY, PipelineListener.NONE) / MANY);
    }
  }

  /** Measures the kernels before and after a transform, relative to a device copy of the array. */
  private void kernels(Shape cube) {
    long bytes = 2 * cube.elements() * Float.BYTES;
    Row copy = measure("  device copy of the array", 2 * bytes, () -> machine.copyOnDevice(bytes));
    for (DeviceMachine.Kernel kernel : DeviceMachine.Kernel.values()) {
      Row row = measure("  " + kernel.description(), 2 * bytes, () -> machine.kernel(kernel, cube));
      out.printf(
          Locale.ROOT,
          "%-52s %10.3f%n",
          "    of the speed of the copy",
          copy.median() / row.median());
    }
  }

  private static PipelineListener heard(double[] phases) {
    return new PipelineListener() {
      @Override
      public void copiedUp(long nanos) {
        phases[0] += nanos / 1e6;
      }

      @Override
      public void computed(long nanos) {
        phases[1] += nanos / 1e6;
      }

      @Override
      public void copiedDown(long nanos) {
        phases[2] += nanos / 1e6;
      }
    };
  }

  /**
   * Milliseconds of a number of arrays through one pipeline; checks the first result of the
   * process.
   */
  private double throughPipeline(
      Volume volume, List<BlockStep> steps, int arrays, PipelineListener listener) {
    BlockProgram program = new BlockProgram(volume.shape(), ElementType.FLOAT32, true, steps);
    List<Part> whole = List.of(Part.whole(volume.shape()));
    try (BufferAllocator allocator = machine.memory().newChild("task")) {
      long start = System.nanoTime();
      try (BlockPipeline pipeline = machine.open(allocator, listener)) {
        for (int i = 0; i < arrays; i++) {
          if (pipeline.isFull()) {
            take(pipeline, volume);
          }
          pipeline.begin(program);
          pipeline.put(whole.get(0), volume.planes());
          pipeline.run(whole);
        }
        while (pipeline.inFlight() > 0) {
          take(pipeline, volume);
        }
      }
      return (System.nanoTime() - start) / 1e6;
    }
  }

  private void take(BlockPipeline pipeline, Volume volume) {
    List<ArrowBuf> taken = pipeline.take();
    try {
      if (!checked) {
        checked = true;
        checkWhole(volume, taken);
      }
    } finally {
      taken.forEach(ArrowBuf::close);
    }
  }

  /** Checks frequency 0, which is the sum of the input, and the energy (Parseval's theorem). */
  private static void checkWhole(Volume volume, List<ArrowBuf> spectrum) {
    long n = volume.shape().elements();
    double sum = 0;
    double energy = 0;
    double after = 0;
    for (int plane = 0; plane < 2; plane++) {
      ArrowBuf in = volume.buffers().get(plane);
      ArrowBuf found = spectrum.get(plane);
      double planeSum = 0;
      for (long i = 0; i < n; i++) {
        float value = in.getFloat(i * Float.BYTES);
        planeSum += value;
        energy += (double) value * value;
        float there = found.getFloat(i * Float.BYTES);
        after += (double) there * there;
      }
      sum = Math.max(sum, Math.abs(planeSum - found.getFloat(0)));
    }
    requireClose("Parseval's sum", energy, after / n, 1e-5);
    requireClose("the sum of all", Math.sqrt(energy * n), Math.sqrt(energy * n) + sum, 1e-5);
  }

  private static void requireClose(String what, double expected, double found, double tolerance) {
    if (!(Math.abs(expected - found) <= tolerance * Math.abs(expected))) {
      throw new WrongAnswer(what + " is " + found + ", expected " + expected);
    }
  }

  // --- in slabs ---

  private void inSlabs(int extent, int thickness) {
    if (extent % thickness != 0) {
      throw new IllegalArgumentException(
          "--thickness " + thickness + " does not divide --slabs " + extent);
    }
    Shape slab = Shape.of(thickness, extent, extent);
    Shape other = Shape.of(extent, thickness, extent);
    int slabs = extent / thickness;
    String name = extent + "^3 in " + slabs + " slabs";
    long bytes = 2L * extent * extent * extent * Float.BYTES;
    try (BufferAllocator upstream = machine.memory().newChild("upstream");
        Volume volume = random(slab, upstream)) {
      double parts = Double.NaN;
      if (machine.isDevice()) {
        Row up = measure("  a slab up", bytes / slabs, () -> machine.copyUp(volume.planes()));
        Row down = measure("  a slab down", bytes / slabs, () -> machine.copyDown(volume.planes()));
        Row planes =
            measure("  its planes by cuFFT", 0, () -> machine.transform(slab, List.of(1, 2)));
        Row lines = measure("  its lines by cuFFT", 0, () -> machine.transform(slab, List.of(2)));
        parts = slabs * (2 * up.median() + 2 * down.median() + planes.median() + lines.median());
        print(new Row(name + ", sum of all these", new double[] {parts}, 0));
      }
      double[][] stages = new double[2][runs + 1];
      int[] run = new int[1];
      Row both =
          measure(
              name + ", both stages",
              4 * bytes,
              () -> {
                double[] millis = slabStages(volume, other, slabs, run[0] == 0);
                stages[0][run[0]] = millis[0];
                stages[1][run[0]] = millis[1];
                run[0]++;
                return millis[0] + millis[1];
              });
      for (int stage = 0; stage < 2; stage++) {
        double[] measured = Arrays.copyOfRange(stages[stage], 1, runs + 1);
        Arrays.sort(measured);
        print(
            new Row(
                "  " + (stage == 0 ? "planes, cut into cells" : "cells, permuted, lines"),
                measured,
                2 * bytes));
      }
      if (machine.isDevice()) {
        out.printf(Locale.ROOT, "%-52s %10.3f%n", "  of the sum", both.median() / parts);
      }
    }
  }

  /** Milliseconds of the two stages. All slabs share one input. */
  private double[] slabStages(Volume slab, Shape other, int slabs, boolean check) {
    long thickness = slab.shape().extent(0);
    long extent = slab.shape().extent(1);
    BlockProgram first =
        new BlockProgram(
            slab.shape(),
            ElementType.FLOAT32,
            true,
            List.of(new Fourier(List.of(1, 2), Form.COMPLEX, Direction.FORWARD, 0, 1)));
    BlockProgram second =
        new BlockProgram(
            other,
            ElementType.FLOAT32,
            true,
            List.of(
                new Permute(Permutation.parse("yzx")),
                new Fourier(List.of(2), Form.COMPLEX, Direction.FORWARD, 0, 1)));
    List<Long> cell = List.of(thickness, thickness, extent);
    List<Part> cuts = new ArrayList<>();
    for (long t = 0; t < slabs; t++) {
      cuts.add(new Part(List.of(0L, t * thickness, 0L), cell));
    }
    List<List<Volume>> cells = new ArrayList<>(); // [y-slab][x-slab]
    cuts.forEach(cut -> cells.add(new ArrayList<>()));
    Shape cellShape = Shape.of(thickness, thickness, extent);
    double[] millis = new double[2];
    try (BufferAllocator allocator = machine.memory().newChild("tasks")) {
      try {
        long start = System.nanoTime();
        try (BlockPipeline pipeline = machine.open(allocator, PipelineListener.NONE)) {
          int taken = 0;
          for (int s = 0; s < slabs; s++) {
            while (pipeline.isFull()) {
              cells.get(taken++ % slabs).add(new Volume(cellShape, pipeline.take()));
            }
            pipeline.begin(first);
            pipeline.put(Part.whole(slab.shape()), slab.planes());
            pipeline.run(cuts);
          }
          while (pipeline.inFlight() > 0) {
            cells.get(taken++ % slabs).add(new Volume(cellShape, pipeline.take()));
          }
        }
        millis[0] = (System.nanoTime() - start) / 1e6;
        start = System.nanoTime();
        try (BlockPipeline pipeline = machine.open(allocator, PipelineListener.NONE)) {
          Part result = Part.whole(second.output().shape());
          boolean open = check;
          for (List<Volume> pieces : cells) {
            while (pipeline.isFull()) {
              open = takeSlab(pipeline, slab, slabs, open);
            }
            pipeline.begin(second);
            for (int s = 0; s < slabs; s++) {
              pipeline.put(new Part(List.of(s * thickness, 0L, 0L), cell), pieces.get(s).planes());
              pieces.get(s).close();
            }
            pieces.clear();
            pipeline.run(List.of(result));
          }
          while (pipeline.inFlight() > 0) {
            open = takeSlab(pipeline, slab, slabs, open);
          }
        }
        millis[1] = (System.nanoTime() - start) / 1e6;
      } finally {
        cells.forEach(pieces -> pieces.forEach(Volume::close));
      }
    }
    return millis;
  }

  /**
   * Takes a slab of the result. If {@code check}, frequency 0 must be the sum of the input and the
   * next one 0, since all slabs are equal.
   */
  private static boolean takeSlab(BlockPipeline pipeline, Volume slab, int slabs, boolean check) {
    List<ArrowBuf> taken = pipeline.take();
    try {
      if (check) {
        long n = slab.shape().elements();
        double energy = 0;
        for (int plane = 0; plane < 2; plane++) {
          double sum = 0;
          for (long i = 0; i < n; i++) {
            float value = slab.buffers().get(plane).getFloat(i * Float.BYTES);
            sum += value;
            energy += (double) value * value;
          }
          double scale = Math.sqrt((double) n) * slabs;
          requireClose("the sum", scale, scale + taken.get(plane).getFloat(0) - sum * slabs, 1e-3);
          requireClose("beside it", scale, scale + taken.get(plane).getFloat(4), 1e-3);
        }
        if (energy == 0) {
          throw new WrongAnswer("the input is zero");
        }
      }
    } finally {
      taken.forEach(ArrowBuf::close);
    }
    return false;
  }

  // --- the host twin ---

  private void hostTwin(int extent) {
    Shape cube = Shape.of(extent, extent, extent);
    try (NativeMemorySource source = new NativeMemorySource(0);
        ArrowMemory memory = new ArrowMemory(source);
        HostTransposer transposer = new HostTransposer();
        BufferAllocator allocator = memory.newChild("host");
        Volume volume = random(cube, allocator)) {
      BlockProgram program =
          new BlockProgram(
              cube,
              ElementType.FLOAT32,
              true,
              List.of(new Fourier(ALL, Form.COMPLEX, Direction.FORWARD, 0, 1)));
      long start = System.nanoTime();
      try (BlockPipeline pipeline =
          new HostBlockPipeline(transposer, allocator, PipelineListener.NONE)) {
        pipeline.begin(program);
        pipeline.put(Part.whole(cube), volume.planes());
        pipeline.run(List.of(Part.whole(cube)));
        pipeline.take().forEach(ArrowBuf::close);
      }
      double millis = (System.nanoTime() - start) / 1e6;
      print(new Row(extent + "^3 host twin, one thread", new double[] {millis}, 0));
    }
  }

  // --- measuring ---

  /** Allocates random floats, uniform in [-0.5, 0.5). */
  private static Volume random(Shape shape, BufferAllocator allocator) {
    long bytes = shape.elements() * Float.BYTES;
    List<ArrowBuf> buffers = new ArrayList<>();
    for (int plane = 0; plane < 2; plane++) {
      ArrowBuf buffer = allocator.buffer(bytes);
      buffers.add(buffer);
      int state = 12345 + plane;
      for (long at = 0; at < bytes; at += Float.BYTES) {
        state = state * 1664525 + 1013904223; // generator of Numerical Recipes
        buffer.setFloat(at, (state >> 8) * 0x1p-24f);
      }
    }
    return new Volume(shape, buffers);
  }

  /** Measures one warm-up run, which is not counted, and the other runs. */
  private Row measure(String what, long bytes, DoubleSupplier millis) {
    double[] all = new double[runs + 1];
    for (int run = 0; run <= runs; run++) {
      all[run] = millis.getAsDouble();
    }
    double[] measured = Arrays.copyOfRange(all, 1, all.length);
    Arrays.sort(measured);
    Row row = new Row(what, measured, bytes);
    print(row);
    return row;
  }

  private void print(Row row) {
    rows.add(row);
    out.printf(
        Locale.ROOT,
        "%-52s %10.2f %22s  %s%n",
        row.what(),
        row.median(),
        String.format(
            Locale.ROOT, "%.2f to %.2f", row.millis()[0], row.millis()[row.millis().length - 1]),
        row.rate());
  }

  private void writeCsv(Path file, String head) throws IOException {
    StringBuilder csv = new StringBuilder("# " + head + "\nwhat,millis,least,most,bytes\n");
    for (Row row : rows) {
      csv.append(
          String.format(
              Locale.ROOT,
              "\"%s\",%.3f,%.3f,%.3f,%d%n",
              row.what().strip(),
              row.median(),
              row.millis()[0],
              row.millis()[row.millis().length - 1],
              row.bytes()));
    }
    Files.writeString(file, csv);
  }

  private static final class WrongAnswer extends RuntimeException {
    private static final long serialVersionUID = 1;

    private WrongAnswer(String message) {
      super(message);
    }
  }
}
