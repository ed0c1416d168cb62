package org.tilespark.bench.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.bench.kernels.MultiplyLadderBenchmark.Rung;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlanner;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.multiply.ProductKind;

/**
 * Every rung multiplies small integers, whose sums are exact in any order, so that all bits of C
 * are known.
 */
@RequiresGpu
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MultiplyLadderBenchmarkIT {
  private static final int LARGEST = 8;

  private CudaDevice device;
  private DeviceMultiplier multiplier;
  private MultiplyLadderBenchmark ladder;

  @BeforeAll
  void open() {
    device = LadderKernels.openDevice();
    multiplier =
        new DeviceMultiplier(
            device, MultiplyEngine.AUTO, List.of(), MultiplyLadderBenchmark.TUNING);
    ladder = new MultiplyLadderBenchmark(device, multiplier);
  }

  @AfterAll
  void close() {
    if (device == null) {
      return;
    }
    multiplier.close();
    long deviceBytes = device.liveDeviceBytes();
    long pinnedBytes = device.livePinnedBytes();
    device.close();
    assertEquals(0, deviceBytes, "device bytes alive");
    assertEquals(0, pinnedBytes, "pinned bytes alive");
  }

  /** Square ones, and one of three extents for each storage, large enough for the tuner. */
  private static Stream<MultiplyProblem> problems() {
    return Stream.of(ProductKind.values())
        .flatMap(
            kind ->
                MultiplyLadderBenchmark.problems(256, kind).stream()
                    .flatMap(
                        square ->
                            Stream.of(
                                square,
                                MultiplyProblem.dense(
                                        512,
                                        384,
                                        640,
                                        kind.type(),
                                        square.a().transposed(),
                                        square.b().transposed())
                                    .withPrecision(kind.precision()))));
  }

  @ParameterizedTest
  @MethodSource("problems")
  void everyRung(MultiplyProblem problem) {
    List<Rung> rungs = ladder.rungs(problem);
    boolean full = problem.precision() == Precision.FULL;
    boolean plain = full && !problem.a().transposed() && !problem.b().transposed();
    assertEquals(
        plain ? MultiplyLadderBenchmark.FAMILIES.size() : 0,
        rungs.stream().filter(rung -> rung.name().matches("[1-5] .*")).count());
    int tiles =
        device
            .kernels()
            .index()
            .findAll(MultiplyPlanner.FAMILY, problem.type().bytes(), device.limits())
            .size();
    long sixes = rungs.stream().filter(rung -> rung.name().startsWith("6 ")).count();
    if (full) {
      assertEquals(tiles, sixes);
    } else if (device.limits().computeMajor() >= 8) {
      assertTrue(sixes >= 2, rungs::toString); // by mma.sync, at least
    }
    int[] a = integers(problem.m() * problem.k(), 1);
    int[] b = integers(problem.k() * problem.n(), 2);
    int[] expected = product(problem, a, b);
    int width = problem.type().bytes();
    try (CudaStream stream = device.newStream();
        PinnedBuffer hostA = device.allocatePinned(problem.bytesA());
        PinnedBuffer hostB = device.allocatePinned(problem.bytesB());
        PinnedBuffer hostC = device.allocatePinned(problem.bytesC());
        DeviceBuffer deviceA = device.allocate(problem.bytesA(), stream);
        DeviceBuffer deviceB = device.allocate(problem.bytesB(), stream);
        DeviceBuffer deviceC = device.allocate(problem.bytesC(), stream)) {
      put(a, hostA, width);
      put(b, hostB, width);
      stream.upload(hostA.memory(), deviceA, 0);
      stream.upload(hostB.memory(), deviceB, 0);
      for (Rung rung : rungs) {
        if (!rung.decision().isPresent()) {
          assertTrue(rung.name().startsWith("7 ") || rung.name().equals("cuBLAS"), rung::toString);
          continue;
        }
        stream.fill(deviceC, (byte) 0xff); // NaN
        multiplier.enqueue(
            rung.decision().get(),
            new DeviceMultiplier.Operands(deviceA, 0, deviceB, 0, deviceC, 0),
            stream);
        stream.download(deviceC, 0, hostC.memory());
        stream.synchronize();
        for (int at = 0; at < expected.length; at++) {
          double found = get(hostC, at, width);
          if (found != expected[at]) {
            assertEquals(expected[at], found, rung + ", element " + at);
          }
        }
      }
    }
  }

  private static int[] integers(long count, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    return random.ints(count, -LARGEST, LARGEST + 1).toArray();
  }

  /** All of C on the host. */
  private static int[] product(MultiplyProblem problem, int[] a, int[] b) {
    int m = Math.toIntExact(problem.m());
    int k = Math.toIntExact(problem.k());
    int n = Math.toIntExact(problem.n());
    int[] c = new int[m * n];
    for (int i = 0; i < m; i++) {
      for (int p = 0; p < k; p++) {
        int left = a[problem.a().transposed() ? p * m + i : i * k + p];
        for (int j = 0; j < n; j++) {
          c[i * n + j] += left * b[problem.b().transposed() ? j * k + p : p * n + j];
        }
      }
    }
    return c;
  }

  private static void put(int[] values, PinnedBuffer to, int width) {
    long start = to.memory().offset();
    for (int i = 0; i < values.length; i++) {
      long at = start + (long) i * width;
      if (width == Float.BYTES) {
        HostMemory.unsafe().putFloat(at, values[i]);
      } else {
        HostMemory.unsafe().putDouble(at, values[i]);
      }
    }
  }

  private static double get(PinnedBuffer from, int element, int width) {
    long at = from.memory().offset() + (long) element * width;
    return width == Float.BYTES
        ? HostMemory.unsafe().getFloat(at)
        : HostMemory.unsafe().getDouble(at);
  }
}
