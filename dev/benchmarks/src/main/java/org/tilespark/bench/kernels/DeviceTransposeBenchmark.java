package org.tilespark.bench.kernels;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Measures the device transposer and a device-to-device copy of the same bytes in the same process.
 *
 * <p>{@code java org.tilespark.bench.kernels.DeviceTransposeBenchmark --commit ID [--runs 15]
 * [--csv FILE] [--peers SCRIPT] [--only TEXT]} prints one line a case: milliseconds of one
 * transpose (median, by CUDA events, after warm-up), GB/s (2 x bytes / time), the copy's GB/s, the
 * spread (maximum over minimum), the ratio to the copy, the least ratio that we promise, and the
 * strategy; then the rates of pinned copies up and down. {@link DeviceTimer} describes how time is
 * measured.
 *
 * <p>{@code --peers} runs a script with {@code python3}, such as {@code
 * dev/benchmarks/transpose_peers.py}, which reads the cases from its standard input and prints the
 * GB/s of PyTorch and Triton for each. {@code --only} selects the cases whose line contains a text.
 */
public final class DeviceTransposeBenchmark {
  private static final long PCIE_BYTES = 256L << 20;
  private static final int MIXED_BLOCKS = 512;

  /** Other work that precedes a run while its launches are queued, in half milliseconds. */
  private static final int MIXED_LEADS = 100;

  /**
   * A case of the grid.
   *
   * @param floor the least ratio to the copy that we promise on an H200
   */
  record Case(Shape shape, Permutation permutation, int elementBytes, double floor) {
    /** The case in the peer script's format: extents, permutation and bytes per element. */
    String key() {
      return join(shape.toArray(), "x") + " " + permutation + " " + elementBytes;
    }

    private static String join(long[] values, String between) {
      return String.join(
          between, Arrays.stream(values).mapToObj(Long::toString).toArray(String[]::new));
    }
  }

  record Result(Case of, double[] millis, double copyMillis, long bytes, String strategy) {
    double median() {
      return millis[millis.length / 2];
    }

    double gigabytesPerSecond() {
      return 2.0 * bytes / median() / 1e6;
    }

    double copyGigabytesPerSecond() {
      return 2.0 * bytes / copyMillis / 1e6;
    }

    double spread() {
      return millis[millis.length - 1] / millis[0];
    }

    double ratio() {
      return copyMillis / median();
    }
  }

  /** Rates of PyTorch and Triton in GB/s; NaN for a case that they do not support. */
  record Peers(double torch, double triton) {
    static final Peers NONE = new Peers(Double.NaN, Double.NaN);

    double faster() {
      return Double.isNaN(torch) ? triton : Double.isNaN(triton) ? torch : Math.max(torch, triton);
    }
  }

  private final CudaDevice device;
  private final int runs;

  private DeviceTransposeBenchmark(CudaDevice device, int runs) {
    this.device = device;
    this.runs = runs;
  }

  /** Runs all cases; exits with status 1 if there is no device. */
  public static void main(String[] args) throws IOException, InterruptedException {
    KernelRun run =
        KernelRun.start(
            args,
            "DeviceTransposeBenchmark --commit ID [--runs N] [--csv FILE] [--peers SCRIPT]"
                + " [--only TEXT]",
            15);
    List<Case> cases = cases();
    cases.removeIf(each -> !each.key().contains(run.option("--only", "")));
    List<Result> results = new ArrayList<>();
    String machine;
    try (CudaDevice device = CudaDevice.open(0)) {
      machine = run.machine(device);
      System.out.println(machine);
      DeviceTransposeBenchmark benchmark = new DeviceTransposeBenchmark(device, run.runs());
      try (DeviceTransposer transposer = new DeviceTransposer(device)) {
        System.out.printf(
            "%-18s %-10s %5s %10s %8s %8s %7s %6s %6s  %s%n",
            "shape",
            "order",
            "width",
            "ms",
            "GB/s",
            "copy",
            "spread",
            "ratio",
            "least",
            "strategy");
        for (Case each : cases) {
          Result result = benchmark.measure(each, transposer);
          results.add(result);
          System.out.println(line(result));
        }
        benchmark.mixed(transposer);
      }
      benchmark.transfers();
    }
    Map<String, Peers> peers =
        run.options().containsKey("--peers")
            ? askPeers(run.options().get("--peers"), cases)
            : Map.of();
    if (!peers.isEmpty()) {
      printPeers(results, peers);
    }
    if (run.options().containsKey("--csv")) {
      Files.writeString(Path.of(run.options().get("--csv")), csv(machine, results, peers));
    }
  }

  private static List<Case> cases() {
    List<Case> cases = new ArrayList<>();
    for (int width = 1; width <= 16; width *= 2) {
      double floor = width == 1 ? 0.85 : width == 2 ? 0.90 : 0.92;
      cases.add(matrix(16384, 16384, width, floor));
      cases.add(matrix(8192, 32768, width, floor));
    }
    cases.add(matrix(10007, 7919, 8, 0.85));
    cases.add(matrix(10007, 7919, 4, 0.85));
    cases.add(matrix(10007, 7919, 2, 0.75));
    cases.add(matrix(10007, 7919, 1, 0.60));
    for (int width = 4; width <= 8; width *= 2) {
      cases.add(matrix(1_048_576, 32, width, 0.85));
      cases.add(matrix(32, 1_048_576, width, 0.85));
    }
    cases.add(matrix(33_554_432, 3, 4, 0.70));
    cases.add(matrix(3, 33_554_432, 4, 0.70));
    cases.add(new Case(Shape.of(4096, 128, 128), Permutation.of(0, 2, 1), 4, 0.88));
    cases.add(new Case(Shape.of(256, 1024, 1024), Permutation.of(0, 2, 1), 4, 0.88));
    Shape[] volumes = {Shape.of(512, 512, 512), Shape.of(1024, 768, 640), Shape.of(2048, 64, 1000)};
    for (Shape volume : volumes) {
      for (int width = 4; width <= 16; width *= 2) {
        addOrders(cases, volume, width, 0.88);
      }
    }
    addOrders(cases, Shape.of(511, 513, 509), 4, 0.80);
    addOrders(cases, Shape.of(511, 513, 509), 8, 0.80);
    return cases;
  }

  private static Case matrix(long rows, long cols, int elementBytes, double floor) {
    return new Case(Shape.of(rows, cols), Permutation.of(1, 0), elementBytes, floor);
  }

  private static void addOrders(List<Case> cases, Shape shape, int elementBytes, double floor) {
    for (String order : new String[] {"xzy", "yxz", "yzx", "zxy", "zyx"}) {
      cases.add(new Case(shape, Permutation.parse(order), elementBytes, floor));
    }
  }

  private Result measure(Case each, DeviceTransposer transposer) {
    TransposeProblem problem =
        new TransposeProblem(each.shape(), each.permutation(), each.elementBytes());
    long bytes = problem.bytes();
    try (DeviceTimer timer = new DeviceTimer(device, bytes, runs)) {
      double[] millis =
          timer.time((in, out, at) -> transposer.enqueue(problem, in, at, out, at, timer.stream()));
      double[] copyMillis = timer.timeCopy();
      return new Result(
          each, millis, copyMillis[runs / 2], bytes, transposer.plan(problem).get().describe());
    }
  }

  /** Measures many blocks: those of a matrix with short edge blocks, and blocks of random sizes. */
  private void mixed(DeviceTransposer transposer) {
    for (int width = 1; width <= 8; width *= 2) {
      List<TransposeProblem> ragged = new ArrayList<>();
      List<TransposeProblem> different = new ArrayList<>();
      SplittableRandom random = new SplittableRandom(width);
      for (int i = 0; i < MIXED_BLOCKS; i++) {
        ragged.add(block(i % 8 == 7 ? 112 : 256, 256, width));
        different.add(block(128 + random.nextInt(256), 128 + random.nextInt(256), width));
      }
      mixed("one in eight is shorter", ragged, transposer);
      mixed("all of other sizes", different, transposer);
    }
  }

  private static TransposeProblem block(long rows, long cols, int width) {
    return new TransposeProblem(Shape.of(rows, cols), Permutation.of(1, 0), width);
  }

  private void mixed(String name, List<TransposeProblem> blocks, DeviceTransposer transposer) {
    List<Long> offsets = new ArrayList<>();
    long bytes = 0;
    for (TransposeProblem block : blocks) {
      offsets.add(bytes);
      bytes += block.bytes();
    }
    try (DeviceTimer timer = new DeviceTimer(device, bytes, runs)) {
      DeviceTimer.Work inFew =
          (in, out, at) -> {
            List<DeviceTransposer.Part> parts = new ArrayList<>();
            for (int i = 0; i < blocks.size(); i++) {
              long place = at + offsets.get(i);
              parts.add(new DeviceTransposer.Part(blocks.get(i), place, place));
            }
            transposer.enqueueAll(parts, in, out, timer.stream());
          };
      DeviceTimer.Work oneByOne =
          (in, out, at) -> {
            for (int i = 0; i < blocks.size(); i++) {
              long place = at + offsets.get(i);
              transposer.enqueue(blocks.get(i), in, place, out, place, timer.stream());
            }
          };
      double together = timer.time(inFew, MIXED_LEADS)[runs / 2];
      double alone = timer.time(oneByOne, MIXED_LEADS)[runs / 2];
      System.out.printf(
          Locale.ROOT,
          "%d blocks, %s, width %d: %.0f GB/s in few launches, %.3f of the copy, %.0f us to queue;"
              + " %.0f GB/s one by one%n",
          blocks.size(),
          name,
          blocks.get(0).elementBytes(),
          2.0 * bytes / together / 1e6,
          timer.timeCopy()[runs / 2] / together,
          timer.queueMicros(inFew),
          2.0 * bytes / alone / 1e6);
    }
  }

  /** Formats a case as a line; docs/benchmarks/claims.toml parses these lines. */
  static String line(Result result) {
    return String.format(
        Locale.ROOT,
        "%-18s %-10s %5d %10.4f %8.0f %8.0f %7.2f %6.3f %6.2f%s %s",
        result.of().shape(),
        result.of().permutation(),
        result.of().elementBytes(),
        result.median(),
        result.gigabytesPerSecond(),
        result.copyGigabytesPerSecond(),
        result.spread(),
        result.ratio(),
        result.of().floor(),
        result.ratio() < result.of().floor() ? "!" : " ",
        result.strategy());
  }

  private void transfers() {
    try (PinnedBuffer up = device.allocatePinned(PCIE_BYTES);
        PinnedBuffer down = device.allocatePinned(PCIE_BYTES);
        CudaStream one = device.newStream();
        CudaStream two = device.newStream();
        DeviceBuffer in = device.allocate(PCIE_BYTES, one);
        DeviceBuffer out = device.allocate(PCIE_BYTES, two)) {
      up.memory().fill((byte) 1);
      down.memory().fill((byte) 2);
      two.fill(out, (byte) 3);
      two.synchronize();
      double[] upload =
          DeviceTimer.time(one, runs, 1, () -> {}, k -> one.upload(up.memory(), in, 0));
      double[] download =
          DeviceTimer.time(two, runs, 1, () -> {}, k -> two.download(out, 0, down.memory()));
      System.out.printf(
          Locale.ROOT,
          "pinned copies of %d MiB: up %.1f GB/s, down %.1f GB/s%n",
          PCIE_BYTES >> 20,
          PCIE_BYTES / upload[runs / 2] / 1e6,
          PCIE_BYTES / download[runs / 2] / 1e6);
    }
  }

  // --- peers ---

  /**
   * GB/s by case key. The script prints {@code KEY TORCH TRITON}, with {@code -} for a missing
   * rate.
   */
  private static Map<String, Peers> askPeers(String script, List<Case> cases)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder("python3", script)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    StringBuilder asked = new StringBuilder();
    cases.forEach(
        each ->
            asked
                .append(Case.join(each.shape().toArray(), "x"))
                .append(' ')
                .append(each.permutation().toString().replaceAll("[\\[\\] ]", ""))
                .append(' ')
                .append(each.elementBytes())
                .append('\n'));
    process.getOutputStream().write(asked.toString().getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().close();
    Map<String, Peers> peers = new HashMap<>();
    int next = 0;
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.strip().split(" ");
        if (words.length == 2 && next < cases.size()) {
          peers.put(cases.get(next++).key(), new Peers(rate(words[0]), rate(words[1])));
        } else {
          System.out.println("peers: " + line);
        }
      }
    }
    if (process.waitFor() != 0) {
      System.out.println("peers: " + script + " ended with status " + process.exitValue());
    }
    return peers;
  }

  private static double rate(String word) {
    return word.equals("-") ? Double.NaN : Double.parseDouble(word);
  }

  private static void printPeers(List<Result> results, Map<String, Peers> peers) {
    System.out.printf(
        "%-18s %-10s %5s %8s %8s %8s %12s%n",
        "shape", "order", "width", "ours", "torch", "triton", "ours/faster");
    for (Result result : results) {
      System.out.println(line(result, peers.getOrDefault(result.of().key(), Peers.NONE)));
    }
  }

  /** Formats a case and its peers as a line; docs/benchmarks/claims.toml parses these lines. */
  static String line(Result result, Peers peers) {
    double ratio = result.gigabytesPerSecond() / peers.faster();
    return String.format(
        Locale.ROOT,
        "%-18s %-10s %5d %8.0f %8.0f %8.0f %12.2f%s",
        result.of().shape(),
        result.of().permutation(),
        result.of().elementBytes(),
        result.gigabytesPerSecond(),
        peers.torch(),
        peers.triton(),
        ratio,
        ratio < 0.98 ? "!" : "");
  }

  private static String csv(String machine, List<Result> results, Map<String, Peers> peers) {
    StringBuilder csv = new StringBuilder("# " + machine + "\n");
    csv.append(
        "shape,order,width_bytes,bytes,median_ms,min_ms,max_ms,gb_per_s,copy_gb_per_s,ratio,"
            + "least_ratio,torch_gb_per_s,triton_gb_per_s,strategy\n");
    for (Result result : results) {
      Peers peer = peers.getOrDefault(result.of().key(), Peers.NONE);
      csv.append(
          String.format(
              Locale.ROOT,
              "%s,%s,%d,%d,%.5f,%.5f,%.5f,%.1f,%.1f,%.4f,%.2f,%s,%s,%s%n",
              Case.join(result.of().shape().toArray(), "x"),
              result.of().permutation().toString().replaceAll("[\\[\\] ]", "").replace(',', '-'),
              result.of().elementBytes(),
              result.bytes(),
              result.median(),
              result.millis()[0],
              result.millis()[result.millis().length - 1],
              result.gigabytesPerSecond(),
              result.copyGigabytesPerSecond(),
              result.ratio(),
              result.of().floor(),
              cell(peer.torch()),
              cell(peer.triton()),
              result.strategy()));
    }
    return csv.toString();
  }

  private static String cell(double rate) {
    return Double.isNaN(rate) ? "" : String.format(Locale.ROOT, "%.1f", rate);
  }
}
