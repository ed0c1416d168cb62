package org.tilespark.bench.kernels;

import java.util.List;
import java.util.Locale;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.transpose.MatrixBatch;
import org.tilespark.kernels.transpose.Move;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposePlanner;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Measures the steps of matrix-transpose tutorials ("rungs") on the user's GPU: naive with
 * coalesced reads, naive with coalesced writes, tiles with bank conflicts on read or on write,
 * padded and swizzled tiles, then our kernels.
 *
 * <p>{@code java org.tilespark.bench.kernels.LadderBenchmark --commit ID [--peak GBPS] [--runs 15]}
 * prints a line for each rung: milliseconds (median), GB/s (2 x bytes / time), percent of a
 * device-to-device copy in the same process and, if {@code --peak} gives the datasheet's memory
 * bandwidth, percent of it. Cases: matrices of 4- and 8-byte elements, square and odd; the
 * permutation {@code zyx} of a volume, by slices.
 *
 * <p>The rungs are those of Lei Mao, "CuTe Matrix Transpose" (2024), who reports for an RTX 3090,
 * in percent of peak: 27.5 naive read, 68.3 naive write, 71.5 and 71.8 conflicting tiles, 71.6
 * padded, 73.0 swizzled. The slices are those of Lung-Sheng Chien, "Matrix transpose". The
 * tutorials of Triton-C have the same rungs.
 */
public final class LadderBenchmark {
  private static final List<String> RUNGS =
      List.of(
          "ladder_naive_read",
          "ladder_naive_write",
          "ladder_conflicting_read",
          "ladder_conflicting_write",
          "ladder_padded",
          "ladder_swizzled");

  private final CudaDevice device;
  private final DeviceTransposer transposer;
  private final int runs;
  private final double peak; // GB/s, NaN if unknown

  private LadderBenchmark(CudaDevice device, DeviceTransposer transposer, int runs, double peak) {
    this.device = device;
    this.transposer = transposer;
    this.runs = runs;
    this.peak = peak;
  }

  /** Prints the table; exits with status 1 if there is no device. */
  public static void main(String[] args) {
    KernelRun run =
        KernelRun.start(args, "LadderBenchmark --commit ID [--peak GBPS] [--runs N]", 15);
    try (CudaDevice device = LadderKernels.openDevice();
        DeviceTransposer transposer = new DeviceTransposer(device)) {
      System.out.println(run.machine(device));
      double peak = Double.parseDouble(run.option("--peak", "NaN"));
      LadderBenchmark ladder = new LadderBenchmark(device, transposer, run.runs(), peak);
      for (int width = 4; width <= 8; width *= 2) {
        ladder.climb(Shape.of(16384, 16384), Permutation.of(1, 0), width, RUNGS);
        ladder.climb(Shape.of(10007, 7919), Permutation.of(1, 0), width, RUNGS);
      }
      List<String> slices = List.of(TransposeRung.SLICES);
      for (int width = 4; width <= 8; width *= 2) {
        ladder.climb(Shape.of(512, 512, 512), Permutation.of(2, 1, 0), width, slices);
        ladder.climb(Shape.of(511, 513, 509), Permutation.of(2, 1, 0), width, slices);
      }
    }
  }

  private void climb(Shape shape, Permutation order, int width, List<String> families) {
    TransposeProblem problem = new TransposeProblem(shape, order, width);
    Move move = Move.of(problem);
    MatrixBatch matrices =
        MatrixBatch.of(move, move.outInnermost().getAsInt(), move.inInnermost().getAsInt());
    System.out.printf("%s %s, %d-byte elements%n", shape, order, width);
    try (DeviceTimer timer = new DeviceTimer(device, problem.bytes(), runs)) {
      double copy = timer.timeCopy()[runs / 2];
      for (String family : families) {
        KernelIndex.Kernel kernel =
            device
                .kernels()
                .index()
                .find(family, width, device.limits())
                .orElseThrow(() -> new IllegalStateException("No kernel " + family));
        TransposeRung rung = new TransposeRung(matrices, kernel);
        TransposePlan plan = new TransposePlan(problem, rung, rung.launch(device.limits()));
        print(kernel.name(), timeAt(timer, plan), copy, problem.bytes());
      }
      TransposePlan ours =
          TransposePlanner.plan(problem, TransposePlanner.MAX_ALIGNMENT, device.ownKernels()).get();
      print(ours.launch().orElseThrow().kernel(), timeAt(timer, ours), copy, problem.bytes());
      print("device copy", copy, copy, problem.bytes());
    }
  }

  private double timeAt(DeviceTimer timer, TransposePlan plan) {
    return timer
        .time((in, out, at) -> transposer.enqueue(plan, in, at, out, at, timer.stream()))[runs / 2];
  }

  private void print(String name, double millis, double copyMillis, long bytes) {
    double rate = 2.0 * bytes / millis / 1e6;
    System.out.printf(
        Locale.ROOT,
        "  %-40s %9.4f ms %6.0f GB/s %6.1f %% of the copy%s%n",
        name,
        millis,
        rate,
        100 * copyMillis / millis,
        Double.isNaN(peak)
            ? ""
            : String.format(Locale.ROOT, " %6.1f %% of the peak", 100 * rate / peak));
  }
}
