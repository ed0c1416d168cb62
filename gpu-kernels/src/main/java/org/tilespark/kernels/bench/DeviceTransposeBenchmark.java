package org.tilespark.kernels.bench;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.plan.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Measures the device transposer beside a device-to-device copy of the same bytes in the same run.
 *
 * <p>{@code java org.tilespark.kernels.bench.DeviceTransposeBenchmark COMMIT [runs]} prints one
 * line a case: the strategy, milliseconds (median, by CUDA events, after warm-up), GB/s (2 x bytes
 * / time), the spread (maximum over minimum) and the ratio to the copy; then the rates of pinned
 * copies up and down. Cases and copies rotate over buffer pairs, so that nothing is served from the
 * L2 cache.
 */
public final class DeviceTransposeBenchmark {
  /** Bytes touched before a buffer is used again: many times any L2 cache. */
  private static final long ROTATION_BYTES = 1L << 30;

  private static final long PCIE_BYTES = 256L << 20;

  private record Case(Shape shape, Permutation permutation, int elementBytes) {
    static Case of(int elementBytes, int[] permutation, long... extents) {
      return new Case(Shape.of(extents), Permutation.of(permutation), elementBytes);
    }
  }

  private final CudaDevice device;
  private final int runs;

  private DeviceTransposeBenchmark(CudaDevice device, int runs) {
    this.device = device;
    this.runs = runs;
  }

  /** Runs all cases; without a device it prints the reason and exits with status 1. */
  public static void main(String[] args) {
    if (args.length < 1) {
      System.err.println("usage: DeviceTransposeBenchmark COMMIT [runs]");
      System.exit(2);
    }
    DeviceProbe probe = DeviceProbe.run();
    if (!probe.available()) {
      System.err.println("No CUDA device: " + probe.reason());
      System.exit(1);
    }
    int runs = args.length > 1 ? Integer.parseInt(args[1]) : 21;
    try (CudaDevice device = CudaDevice.open(0)) {
      System.out.printf(
          "%s; commit %s; %s; %s; median of %d%n",
          device.description(),
          args[0],
          device.kernels().index().compiler(),
          LocalDate.now(),
          runs);
      new DeviceTransposeBenchmark(device, runs).all();
    }
  }

  private static List<Case> cases() {
    List<Case> cases = new ArrayList<>();
    int[] matrix = {1, 0};
    for (int width = 1; width <= 16; width *= 2) {
      cases.add(Case.of(width, matrix, 16384, 16384));
    }
    cases.add(Case.of(4, matrix, 10007, 7919));
    cases.add(Case.of(4, matrix, 1_048_576, 32));
    cases.add(Case.of(4, matrix, 32, 1_048_576));
    for (int width = 4; width <= 8; width *= 2) {
      for (String order : new String[] {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"}) {
        cases.add(new Case(Shape.of(512, 512, 512), Permutation.parse(order), width));
      }
    }
    for (String order : new String[] {"xzy", "yxz", "yzx", "zxy", "zyx"}) {
      cases.add(new Case(Shape.of(181, 217, 181), Permutation.parse(order), 1));
    }
    cases.add(Case.of(4, new int[] {0, 2, 1}, 4096, 128, 128));
    return cases;
  }

  private void all() {
    System.out.printf(
        "%-18s %-10s %5s %10s %8s %7s %6s  %s%n",
        "shape", "order", "width", "ms", "GB/s", "spread", "copy", "strategy");
    try (DeviceTransposer transposer = new DeviceTransposer(device)) {
      for (Case each : cases()) {
        measure(each, transposer);
      }
    }
    transfers();
  }

  private void measure(Case each, DeviceTransposer transposer) {
    TransposeProblem problem =
        new TransposeProblem(each.shape(), each.permutation(), each.elementBytes());
    long bytes = problem.bytes();
    int pairs = (int) Math.max(1, ROTATION_BYTES / (2 * bytes));
    // One allocation for each side; buffer k begins at k * pitch.
    long pitch = (bytes + 255) / 256 * 256;
    try (CudaStream stream = device.newStream();
        DeviceBuffer in = device.allocate(pitch * pairs, stream);
        DeviceBuffer out = device.allocate(pitch * pairs, stream)) {
      stream.fill(in, (byte) 0x5A);
      stream.fill(out, (byte) 0);
      Work transpose = k -> transposer.enqueue(problem, in, k * pitch, out, k * pitch, stream);
      Work copy = k -> stream.copy(in, k * pitch, out, k * pitch, bytes);
      double[] kernelMillis = time(stream, transpose, pairs);
      double[] copyMillis = time(stream, copy, pairs);
      double millis = kernelMillis[runs / 2];
      System.out.printf(
          Locale.ROOT,
          "%-18s %-10s %5d %10.4f %8.0f %7.2f %6.3f  %s%n",
          each.shape(),
          each.permutation(),
          each.elementBytes(),
          millis,
          2.0 * bytes / millis / 1e6,
          kernelMillis[runs - 1] / kernelMillis[0],
          copyMillis[runs / 2] / millis,
          transposer.plan(problem).describe());
    }
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
      double[] upload = time(one, k -> one.upload(up.memory(), in, 0), 1);
      double[] download = time(two, k -> two.download(out, 0, down.memory()), 1);
      System.out.printf(
          Locale.ROOT,
          "pinned copies of %d MiB: up %.1f GB/s, down %.1f GB/s%n",
          PCIE_BYTES >> 20,
          PCIE_BYTES / upload[runs / 2] / 1e6,
          PCIE_BYTES / download[runs / 2] / 1e6);
    }
  }

  /** One piece of work on buffer pair {@code k}, queued. */
  private interface Work {
    void queue(long k);
  }

  /** Milliseconds of one piece of work in each run, sorted; a run goes once over all pairs. */
  private double[] time(CudaStream stream, Work work, int pairs) {
    double[] millis = new double[runs];
    for (int run = -3; run < runs; run++) { // the first three warm up
      try (CudaEvent before = stream.record()) {
        for (int k = 0; k < pairs; k++) {
          work.queue(k);
        }
        try (CudaEvent after = stream.record()) {
          after.synchronize();
          if (run >= 0) {
            millis[run] = after.millisSince(before) / pairs;
          }
        }
      }
    }
    Arrays.sort(millis);
    return millis;
  }
}
