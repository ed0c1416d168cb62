package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.Tiling;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposePlanner;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.kernels.transpose.TransposerContract;
import org.tilespark.kernels.tune.Autotuner;
import org.tilespark.kernels.tune.TuningStore;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

@RequiresGpu
class DeviceTransposerIT extends TransposerContract {
  private CudaDevice device;
  private DeviceTransposer transposer;

  @BeforeAll
  void open() {
    device = CudaDevice.open(0);
    transposer = new DeviceTransposer(device);
  }

  @AfterAll
  void close() {
    if (device == null) {
      return;
    }
    transposer.close();
    transposer.close();
    long deviceBytes = device.liveDeviceBytes();
    long pinnedBytes = device.livePinnedBytes();
    device.close();
    assertEquals(0, deviceBytes, "device bytes alive");
    assertEquals(0, pinnedBytes, "pinned bytes alive");
  }

  @Override
  protected Transposer transposer() {
    return transposer;
  }

  /** Offsets inside larger buffers, at every alignment, with guards on both sides. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void offsetsInsideBuffers(int width) {
    Object[][] problems = {
      {Shape.of(67, 129), Permutation.of(1, 0)},
      {Shape.of(5, 33, 64), Permutation.of(1, 0, 2)},
      {Shape.of(5, 33, 2), Permutation.of(1, 0, 2)},
      {Shape.of(3, 40, 41), Permutation.of(0, 2, 1)},
      {Shape.of(31, 17), Permutation.identity(2)},
      {Shape.of(4099, 3), Permutation.of(1, 0)},
      {Shape.of(3, 4099), Permutation.of(1, 0)},
      {Shape.of(2, 531, 31), Permutation.of(0, 2, 1)},
      {Shape.of(2, 31, 531), Permutation.of(0, 2, 1)},
      {Shape.of(67, 45, 3), Permutation.of(2, 1, 0)},
      {Shape.of(5, 45, 67), Permutation.of(2, 1, 0)},
      {Shape.of(67, 45, 7), Permutation.of(1, 0, 2)},
      {Shape.of(150, 7, 9), Permutation.of(0, 2, 1)},
    };
    for (Object[] each : problems) {
      TransposeProblem problem =
          new TransposeProblem((Shape) each[0], (Permutation) each[1], width);
      for (int shift = 0; shift < 3; shift++) {
        insideBuffers(problem, 64 + (long) shift * width, 64 + (2L - shift) * width);
      }
    }
  }

  /** Every tile and order that the tuner may choose, with full and with partial tiles. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void everyTiling(int width) {
    Shape[] shapes = {
      Shape.of(512, 512), Shape.of(592, 688), Shape.of(593, 691), Shape.of(2, 300, 273)
    };
    Set<String> kernels = new HashSet<>();
    for (Shape shape : shapes) {
      Permutation order = shape.rank() == 2 ? Permutation.of(1, 0) : Permutation.of(0, 2, 1);
      TransposeProblem problem = new TransposeProblem(shape, order, width);
      TransposePlan chosen = transposer.plan(problem).get();
      for (TransposePlan plan : TransposePlanner.alternatives(chosen, device.ownKernels())) {
        kernels.add(plan.launch().orElseThrow().kernel());
        insideBuffers(problem, 0, 0, Optional.of(plan));
      }
    }
    for (KernelIndex.Kernel kernel : device.kernels().index().kernels()) {
      if (kernel.elementBytes() == width
          && kernel.family().matches("transpose_(vector|vector_exact|shifted)")) {
        assertTrue(kernels.contains(kernel.name()), () -> "not run: " + kernel.name());
      }
    }
  }

  /** Blocks of many sizes between the same buffers, in few launches, with guards between them. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void blocksOfManySizes(int width) {
    SplittableRandom random = new SplittableRandom(width);
    List<DeviceTransposer.Part> parts = new ArrayList<>();
    long at = 0;
    for (int i = 0; i < 230; i++) {
      long rows = 1L + random.nextInt(i % 3 == 0 ? 200 : 70);
      long cols = 1L + random.nextInt(i % 5 == 0 ? 150 : 70);
      boolean volume = i % 11 == 0;
      TransposeProblem problem =
          volume
              ? new TransposeProblem(Shape.of(3, rows, cols), Permutation.of(2, 1, 0), width)
              : i % 13 == 0
                  ? new TransposeProblem(Shape.of(rows, cols), Permutation.identity(2), width)
                  : new TransposeProblem(Shape.of(rows, cols), Permutation.of(1, 0), width);
      parts.add(new DeviceTransposer.Part(problem, at, at + 16L * width));
      at += problem.bytes() + (i % 2 == 0 ? 64 - problem.bytes() % 64 : width);
    }
    parts.add(
        new DeviceTransposer.Part(
            new TransposeProblem(Shape.of(0, 5), Permutation.of(1, 0), width), at, at));
    int room = Math.toIntExact(at + 32L * width + 256);
    byte[] in = new byte[room];
    random.nextBytes(in);
    byte[] expected = new byte[room];
    Arrays.fill(expected, (byte) 0x5A);
    try (HostTransposer host = new HostTransposer()) {
      for (DeviceTransposer.Part part : parts) {
        long bytes = part.problem().bytes();
        host.transpose(
            part.problem(),
            HostMemory.ofArray(in).slice(part.inOffset(), bytes),
            HostMemory.ofArray(expected).slice(part.outOffset(), bytes));
      }
    }
    byte[] actual = new byte[room];
    try (PinnedBuffer pinned = device.allocatePinned(room);
        CudaStream stream = device.newStream();
        DeviceBuffer source = device.allocate(room, stream);
        DeviceBuffer target = device.allocate(room, stream)) {
      HostMemory.ofArray(in).copyTo(pinned.memory());
      stream.upload(pinned.memory(), source, 0);
      stream.fill(target, (byte) 0x5A);
      transposer.enqueueAll(parts, source, target, stream);
      stream.download(target, 0, pinned.memory());
      stream.synchronize();
      pinned.memory().copyTo(HostMemory.ofArray(actual));
    }
    assertArrayEquals(expected, actual);
  }

  /** The first problem of a class is tuned, gives the right answer, and is remembered. */
  @Test
  void tuning(@TempDir Path directory) {
    KernelIndex index = device.kernels().index();
    TuningStore<ProblemClass, Tiling> store =
        TuningStore.ofTilings(directory.resolve("tilings"), device.description(), index.hash());
    Autotuner tuner =
        new Autotuner(
            new DeviceKernels(device.limits(), index),
            TuningTable.empty(),
            Optional.of(store),
            Duration.ofSeconds(30));
    TransposeProblem problem =
        new TransposeProblem(Shape.of(3, 700, 900), Permutation.of(0, 2, 1), 4);
    byte[] in = new byte[Math.toIntExact(problem.bytes())];
    new SplittableRandom(7).nextBytes(in);
    byte[] expected = new byte[in.length];
    byte[] actual = new byte[in.length];
    try (HostTransposer host = new HostTransposer();
        DeviceTransposer tuned = new DeviceTransposer(device, tuner)) {
      host.transpose(problem, HostMemory.ofArray(in), HostMemory.ofArray(expected));
      tuned.transpose(problem, HostMemory.ofArray(in), HostMemory.ofArray(actual));
      assertArrayEquals(expected, actual);
      assertEquals(1, tuner.table().entries().size());
      assertEquals(tuner.table(), store.load());
      assertEquals(
          tuner.table().entries().values().iterator().next(),
          TransposePlanner.tiling(tuned.plan(problem).get()).orElseThrow());
      Arrays.fill(actual, (byte) 0);
      tuned.transpose(problem, HostMemory.ofArray(in), HostMemory.ofArray(actual));
      assertArrayEquals(expected, actual);
    }
  }

  private void insideBuffers(TransposeProblem problem, long inOffset, long outOffset) {
    insideBuffers(problem, inOffset, outOffset, Optional.empty());
  }

  private void insideBuffers(
      TransposeProblem problem, long inOffset, long outOffset, Optional<TransposePlan> plan) {
    int bytes = Math.toIntExact(problem.bytes());
    int room = bytes + 256;
    byte[] in = new byte[room];
    new SplittableRandom(bytes).nextBytes(in);
    byte[] expected = new byte[room];
    Arrays.fill(expected, (byte) 0x5A);
    try (HostTransposer host = new HostTransposer()) {
      host.transpose(
          problem,
          HostMemory.ofArray(in).slice(inOffset, bytes),
          HostMemory.ofArray(expected).slice(outOffset, bytes));
    }
    byte[] actual = new byte[room];
    try (PinnedBuffer pinned = device.allocatePinned(room);
        CudaStream stream = device.newStream();
        DeviceBuffer source = device.allocate(room, stream);
        DeviceBuffer target = device.allocate(room, stream)) {
      HostMemory.ofArray(in).copyTo(pinned.memory());
      stream.upload(pinned.memory(), source, 0);
      stream.fill(target, (byte) 0x5A);
      if (plan.isPresent()) {
        transposer.enqueue(plan.get(), source, inOffset, target, outOffset, stream);
      } else {
        transposer.enqueue(problem, source, inOffset, target, outOffset, stream);
      }
      stream.download(target, 0, pinned.memory());
      stream.synchronize();
      pinned.memory().copyTo(HostMemory.ofArray(actual));
    }
    assertArrayEquals(expected, actual, () -> problem + " at " + inOffset + ", " + outOffset);
  }

  @Test
  void badOffsetsAreRefusedBeforeAnyWork() {
    TransposeProblem problem = new TransposeProblem(Shape.of(8, 8), Permutation.of(1, 0), 4);
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(1024, stream);
        DeviceBuffer b = device.allocate(256, stream)) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class,
              () -> transposer.enqueue(problem, a, 2, b, 0, stream));
      assertEquals("Offsets 2 and 0; expected multiples of the width 4", e.getMessage());
      assertThrows(
          IndexOutOfBoundsException.class, () -> transposer.enqueue(problem, a, 0, b, 4, stream));
      e =
          assertThrows(
              IllegalArgumentException.class,
              () -> transposer.enqueue(problem, a, 0, a, 128, stream));
      assertTrue(e.getMessage().startsWith("Input and output overlap: 256 bytes"));
      transposer.enqueue(problem, a, 0, a, 256, stream);
    }
  }

  @Test
  void severalThreadsShareOneDevice() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> results = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        int rows = 100 + 37 * (i % 7);
        int cols = 900 - 53 * (i % 11);
        int width = 1 << i % 5;
        results.add(
            threads.submit(
                () -> {
                  TransposeProblem problem =
                      new TransposeProblem(Shape.of(rows, cols), Permutation.of(1, 0), width);
                  byte[] in = new byte[Math.toIntExact(problem.bytes())];
                  new SplittableRandom(rows).nextBytes(in);
                  byte[] expected = new byte[in.length];
                  byte[] actual = new byte[in.length];
                  try (HostTransposer host = new HostTransposer()) {
                    host.transpose(problem, HostMemory.ofArray(in), HostMemory.ofArray(expected));
                  }
                  transposer.transpose(problem, HostMemory.ofArray(in), HostMemory.ofArray(actual));
                  assertArrayEquals(expected, actual, problem::toString);
                }));
      }
      for (Future<?> result : results) {
        result.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** More than 2^32 bytes, so that offsets need 64 bits; values are checked at sampled places. */
  @Test
  void arraysBeyondFourGibibytes() {
    long rows = 65_537;
    long cols = 70_001;
    TransposeProblem problem = new TransposeProblem(Shape.of(rows, cols), Permutation.of(1, 0), 1);
    Assumptions.assumeTrue(
        device.memoryInfo().freeBytes() > 3 * problem.bytes(), "too little device memory");
    try (PinnedBuffer pinned = device.allocatePinned(1 << 20);
        CudaStream stream = device.newStream();
        DeviceBuffer source = device.allocate(problem.bytes(), stream);
        DeviceBuffer target = device.allocate(problem.bytes(), stream)) {
      stream.fill(source, (byte) 0);
      stream.fill(target, (byte) 1);
      // One marked piece near the end of the input: row rows - 2, columns cols - 300 on.
      int marked = 256;
      HostMemory mark = pinned.memory().slice(0, marked);
      for (int k = 0; k < marked; k++) {
        HostMemory.unsafe().putByte(mark.offset() + k, (byte) (k | 1));
      }
      stream.upload(mark, source, (rows - 2) * cols + cols - 300);
      transposer.enqueue(problem, source, 0, target, 0, stream);
      HostMemory found = pinned.memory().slice(4096, 4096);
      for (int k = 0; k < marked; k += 51) {
        long at = (cols - 300 + k) * rows + rows - 2;
        stream.download(target, at - 1, found.slice(k, 3));
        stream.synchronize();
        assertEquals(0, HostMemory.unsafe().getByte(found.offset() + k));
        assertEquals((byte) (k | 1), HostMemory.unsafe().getByte(found.offset() + k + 1));
        assertEquals(0, HostMemory.unsafe().getByte(found.offset() + k + 2));
      }
    }
  }
}
