package org.tilespark.kernels.device;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStrategy;
import org.tilespark.kernels.multiply.ProductKind;
import org.tilespark.layout.ElementType;

/** Plans that several streams and threads run at a time. */
@RequiresGpu
class SharedPlansIT extends MultiplyWays {
  /**
   * One plan, many times on several streams and threads, wherever matrices begin: always the same
   * bits.
   */
  @Test
  void onePlanOnSeveralStreamsAndThreads() throws Exception {
    long seed = System.nanoTime();
    System.out.println("one plan on several streams, seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      for (ProductKind kind : ProductKind.values()) {
        // In parts, of many tiles, and with a small extent.
        for (long[] shape : new long[][] {{200, 2100, 150}, {700, 100, 600}, {300, 1001, 5}}) {
          MultiplyProblem one =
              MultiplyProblem.dense(
                  shape[0],
                  shape[1],
                  shape[2],
                  kind.type(),
                  random.nextBoolean(),
                  random.nextBoolean());
          MultiplyProblem problem = batch(one.withPrecision(kind.precision()), 2, Lie.BEHIND);
          for (MultiplyPlan plan : multiplier.planner().candidates(problem, problem.k())) {
            if (!(plan.strategy() instanceof MultiplyStrategy.Cublas)) {
              checkSameBits(plan, threads, random);
            }
          }
        }
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /**
   * Large products of random data of each kind, by the rule's own way, make the same bits in each
   * of a thousand runs.
   */
  @Test
  @Tag("full")
  void largeProductsAThousandTimes() {
    long n = 4096;
    SplittableRandom random = new SplittableRandom(61);
    try (DeviceMultiplier own =
        new DeviceMultiplier(device, MultiplyEngine.OWN, List.of(), DeviceMultiplier.Tuning.OFF)) {
      for (ProductKind kind : ProductKind.values()) {
        MultiplyProblem problem =
            MultiplyProblem.dense(n, n, n, kind.type(), random.nextBoolean(), random.nextBoolean())
                .withPrecision(kind.precision());
        MultiplyPlan plan = own.plan(problem).get();
        System.out.println(kind + ", 1000 runs of " + plan.describe());
        checkSameBits(own, plan, 1000, random);
      }
    }
  }

  private void checkSameBits(
      DeviceMultiplier own, MultiplyPlan plan, int runs, SplittableRandom random) {
    MultiplyProblem problem = plan.problem();
    try (PinnedBuffer operand = device.allocatePinned(problem.bytesA());
        PinnedBuffer expected = device.allocatePinned(problem.bytesC());
        PinnedBuffer found = device.allocatePinned(problem.bytesC());
        CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(problem.bytesA(), stream);
        DeviceBuffer b = device.allocate(problem.bytesB(), stream);
        DeviceBuffer c = device.allocate(problem.bytesC(), stream);
        DeviceBuffer workspace = device.allocate(plan.workspaceBytes(), stream)) {
      for (DeviceBuffer side : List.of(a, b)) {
        fillRandom(operand.memory(), problem.type(), random);
        stream.upload(operand.memory(), side, 0);
        stream.synchronize();
      }
      for (int run = 0; run < runs; run++) {
        PinnedBuffer to = run == 0 ? expected : found;
        stream.fill(c, (byte) 0xff); // NaN
        own.enqueue(plan, new DeviceMultiplier.Operands(a, 0, b, 0, c, 0), workspace, stream);
        stream.download(c, 0, to.memory());
        stream.synchronize();
        if (run > 0 && mismatch(expected, found) >= 0) {
          requireSame(expected, found, plan); // names the element
        }
      }
    }
  }

  /** The first byte that differs; -1 if none does. */
  private static long mismatch(PinnedBuffer expected, PinnedBuffer found) {
    for (long at = 0; at < expected.memory().bytes(); at += Long.BYTES) {
      if (bits(expected.memory(), at, Long.BYTES) != bits(found.memory(), at, Long.BYTES)) {
        return at;
      }
    }
    return -1;
  }

  private void checkSameBits(MultiplyPlan plan, ExecutorService threads, SplittableRandom random)
      throws Exception {
    MultiplyProblem problem = plan.problem();
    try (PinnedBuffer a = device.allocatePinned(problem.bytesA());
        PinnedBuffer b = device.allocatePinned(problem.bytesB());
        PinnedBuffer expected = device.allocatePinned(problem.bytesC());
        CudaStream stream = device.newStream()) {
      for (PinnedBuffer matrix : List.of(a, b)) {
        fillRandom(matrix.memory(), problem.type(), random);
      }
      queue(plan, a, b, expected, 0, stream);
      stream.synchronize();
      List<Future<?>> results = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        SplittableRandom shifts = random.split();
        results.add(
            threads.submit(
                () -> {
                  checkRounds(plan, a, b, expected, shifts);
                  return null;
                }));
      }
      for (Future<?> result : results) {
        result.get();
      }
    }
  }

  /** On two streams by turns, each round from another element on. */
  private void checkRounds(
      MultiplyPlan plan,
      PinnedBuffer a,
      PinnedBuffer b,
      PinnedBuffer expected,
      SplittableRandom shifts) {
    long bytes = expected.memory().bytes();
    try (PinnedBuffer even = device.allocatePinned(bytes);
        PinnedBuffer odd = device.allocatePinned(bytes);
        CudaStream evenStream = device.newStream();
        CudaStream oddStream = device.newStream()) {
      for (int round = 0; round < 12; round++) {
        PinnedBuffer found = round % 2 == 0 ? even : odd;
        CudaStream stream = round % 2 == 0 ? evenStream : oddStream;
        stream.synchronize(); // the round before the last
        if (round > 1) {
          requireSame(expected, found, plan);
        }
        found.memory().fill((byte) 0xff);
        queue(plan, a, b, found, shifts.nextInt(9), stream);
      }
      evenStream.synchronize();
      oddStream.synchronize();
      requireSame(expected, even, plan);
      requireSame(expected, odd, plan);
    }
  }

  /** Queues a plan twice, of matrices that begin at element {@code shift}. */
  private void queue(
      MultiplyPlan plan,
      PinnedBuffer a,
      PinnedBuffer b,
      PinnedBuffer c,
      int shift,
      CudaStream stream) {
    long at = (long) shift * plan.problem().type().bytes();
    try (DeviceBuffer deviceA = device.allocate(at + a.memory().bytes(), stream);
        DeviceBuffer deviceB = device.allocate(at + b.memory().bytes(), stream);
        DeviceBuffer deviceC = device.allocate(at + c.memory().bytes(), stream);
        DeviceBuffer workspace = device.allocate(plan.workspaceBytes(), stream)) {
      stream.upload(a.memory(), deviceA, at);
      stream.upload(b.memory(), deviceB, at);
      for (int run = 0; run < 2; run++) {
        stream.fill(deviceC, (byte) 0xff); // NaN
        multiplier.enqueue(
            plan,
            new DeviceMultiplier.Operands(deviceA, at, deviceB, at, deviceC, at),
            workspace,
            stream);
      }
      stream.download(deviceC, at, c.memory());
    }
  }

  private static void requireSame(PinnedBuffer expected, PinnedBuffer found, MultiplyPlan plan) {
    int width = plan.problem().type().bytes();
    for (long at = 0; at < expected.memory().bytes(); at += width) {
      long wanted = bits(expected.memory(), at, width);
      if (wanted != bits(found.memory(), at, width)) {
        throw new AssertionError(
            plan.describe() + " of " + plan.problem() + " differs at element " + at / width);
      }
    }
  }

  private static long bits(HostMemory memory, long at, int width) {
    return width == Float.BYTES
        ? HostMemory.unsafe().getInt(memory.offset() + at)
        : HostMemory.unsafe().getLong(memory.offset() + at);
  }

  private static void fillRandom(HostMemory memory, ElementType type, SplittableRandom random) {
    for (long at = memory.offset(); at < memory.offset() + memory.bytes(); at += type.bytes()) {
      double value = 2 * random.nextDouble() - 1;
      if (type == ElementType.FLOAT32) {
        HostMemory.unsafe().putFloat(at, (float) value);
      } else {
        HostMemory.unsafe().putDouble(at, value);
      }
    }
  }
}
