package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplierContract;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyStrategy;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/** One multiplier of a device, as tasks use it: what all multipliers do, and what it does alone. */
@RequiresGpu
class DeviceMultiplierIT extends MultiplierContract {
  private OpenMultiplier open;
  private CudaDevice device;
  private DeviceMultiplier multiplier;

  @BeforeAll
  void open() {
    open = OpenMultiplier.first();
    device = open.device();
    multiplier = open.multiplier();
  }

  @AfterAll
  void close() {
    if (open != null) {
      open.close();
    }
  }

  @Override
  protected Multiplier multiplier() {
    return multiplier;
  }

  @Override
  protected boolean refuses(MultiplyProblem problem) {
    return !multiplier.plan(problem).isPresent();
  }

  @Override
  protected boolean roundsInputs(MultiplyProblem problem) {
    return !(multiplier.plan(problem).get().strategy() instanceof MultiplyStrategy.Cublas);
  }

  @Override
  protected int chainOfDoubles() {
    return OpenMultiplier.CHAIN_OF_DOUBLES;
  }

  /** Tasks share one multiplier; each result has the same bits, whatever runs at the same time. */
  @Test
  void severalThreadsShareOneDevice() throws Exception {
    MultiplyProblem problem =
        MultiplyProblem.dense(700, 900, 600, ElementType.FLOAT32, false, true);
    SplittableRandom random = new SplittableRandom(7);
    float[] a = floats(700 * 900, random);
    float[] b = floats(900 * 600, random);
    float[] expected = product(problem, a, b);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<float[]>> results = new ArrayList<>();
      for (int i = 0; i < 48; i++) {
        results.add(threads.submit(() -> product(problem, a, b)));
      }
      for (Future<float[]> result : results) {
        assertArrayEquals(expected, result.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private float[] product(MultiplyProblem problem, float[] a, float[] b) {
    float[] c = new float[Math.toIntExact(problem.m() * problem.n())];
    multiplier.multiply(
        problem, HostMemory.ofArray(a), HostMemory.ofArray(b), HostMemory.ofArray(c));
    return c;
  }

  /** Totals take the partial sums, which are cleared; the bytes after them stay. */
  @Test
  void additionsOfTiles() {
    for (int elements : new int[] {1, 2, 3, 4, 5, 1023, 1024, 1025, 3_000_001}) {
      double[] doubles = new double[elements + 1];
      float[] floats = new float[elements + 1];
      for (int at = 0; at <= elements; at++) {
        doubles[at] = 3 * at + 1;
        floats[at] = at % 1000 + 1;
      }
      checkAddition(ElementType.FLOAT64, HostMemory.ofArray(doubles));
      checkAddition(ElementType.FLOAT32, HostMemory.ofArray(floats));
    }
  }

  /** Adds all but the last element to itself. */
  private void checkAddition(ElementType type, HostMemory values) {
    long bytes = values.bytes();
    long added = bytes - type.bytes();
    try (CudaStream stream = device.newStream();
        PinnedBuffer before = device.allocatePinned(bytes);
        PinnedBuffer after = device.allocatePinned(2 * bytes);
        DeviceBuffer partials = device.allocate(bytes, stream);
        DeviceBuffer totals = device.allocate(bytes, stream)) {
      values.copyTo(before.memory());
      stream.upload(before.memory(), partials, 0);
      stream.upload(before.memory(), totals, 0);
      multiplier.enqueueAddition(type, partials, totals, added, stream);
      stream.download(partials, 0, after.memory().slice(0, bytes));
      stream.download(totals, 0, after.memory().slice(bytes, bytes));
      stream.synchronize();
      for (long at = 0; at < bytes; at += type.bytes()) {
        double value = value(before.memory(), at, type);
        boolean last = at == added;
        assertEquals(last ? value : 0, value(after.memory(), at, type), type + " at " + at);
        assertEquals(
            last ? value : 2 * value, value(after.memory(), bytes + at, type), type + " at " + at);
      }
    }
  }

  private static double value(HostMemory memory, long at, ElementType type) {
    return type == ElementType.FLOAT32
        ? HostMemory.unsafe().getFloat(memory.offset() + at)
        : HostMemory.unsafe().getDouble(memory.offset() + at);
  }

  /**
   * All threads get the same choice, and so does the next process; without a budget there is none.
   */
  @ParameterizedTest
  @EnumSource(
      value = Precision.class,
      names = {"FULL", "FLOAT16"})
  void oneChoiceForAll(Precision precision, @TempDir Path directory) throws Exception {
    MultiplyProblem problem =
        MultiplyProblem.dense(500, 1100, 700, ElementType.FLOAT32, true, false)
            .withPrecision(precision);
    assertTrue(choose(multiplier, problem).isEmpty());
    DeviceMultiplier.Tuning tuning =
        new DeviceMultiplier.Tuning(
            Duration.ofSeconds(5), Optional.of(directory.resolve("tilespark")));
    Set<Optional<MultiplyWay>> choices = new HashSet<>();
    for (int process = 0; process < 2; process++) {
      ExecutorService threads = Executors.newFixedThreadPool(4);
      try (DeviceMultiplier tuned =
          new DeviceMultiplier(device, MultiplyEngine.AUTO, List.of(), tuning)) {
        List<Future<Optional<MultiplyWay>>> results = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          results.add(threads.submit(() -> choose(tuned, problem)));
        }
        for (Future<Optional<MultiplyWay>> result : results) {
          choices.add(result.get());
        }
        MultiplyWay way = choices.iterator().next().orElseThrow();
        System.out.println("500 x 1100 x 700 TN, " + precision + ", by " + way);
        assertEquals(
            Optional.of(way), tuned.plan(problem, 1100, Optional.of(way)).get().strategy().way());
      } finally {
        threads.shutdownNow();
      }
    }
    assertEquals(1, choices.size(), choices.toString());
    // Forced engines have nothing to choose from, or choose among their own.
    try (DeviceMultiplier own =
        new DeviceMultiplier(device, MultiplyEngine.OWN, List.of(), tuning)) {
      assertFalse(choose(own, problem).orElseThrow().isCublas());
    }
    try (DeviceMultiplier library =
        new DeviceMultiplier(device, MultiplyEngine.CUBLAS, List.of(), tuning)) {
      assertTrue(choose(library, problem).isEmpty());
    }
  }

  /** Without a product nothing is tried, and nothing is kept. */
  @Test
  void noChoiceWithoutAProduct(@TempDir Path directory) throws Exception {
    DeviceMultiplier.Tuning tuning =
        new DeviceMultiplier.Tuning(
            Duration.ofSeconds(5), Optional.of(directory.resolve("tilespark")));
    for (MultiplyEngine engine : List.of(MultiplyEngine.AUTO, MultiplyEngine.OWN)) {
      for (double beta : new double[] {0, 1, 2}) {
        MultiplyProblem problem =
            MultiplyProblem.dense(500, 1100, 700, ElementType.FLOAT32, true, false)
                .withFactors(new MultiplyProblem.Factors(0, beta));
        try (DeviceMultiplier tuned = new DeviceMultiplier(device, engine, List.of(), tuning)) {
          assertTrue(choose(tuned, problem).isEmpty(), engine + ", " + problem);
        }
      }
    }
    try (Stream<Path> files = Files.walk(directory)) {
      assertEquals(List.of(), files.filter(Files::isRegularFile).toList());
    }
  }

  /** With alpha 0, C is scaled, whatever A and B hold. */
  @Test
  void noProductOfBuffers() {
    SplittableRandom random = new SplittableRandom(33);
    for (ElementType type : TYPES) {
      HostMemory values =
          type == ElementType.FLOAT32
              ? HostMemory.ofArray(floats(50 * 70, random))
              : HostMemory.ofArray(random.doubles(50 * 70).toArray());
      for (double beta : new double[] {0, 1, -2}) {
        MultiplyProblem problem =
            MultiplyProblem.dense(50, 60, 70, type, false, true)
                .withFactors(new MultiplyProblem.Factors(0, beta));
        try (CudaStream stream = device.newStream();
            PinnedBuffer before = device.allocatePinned(problem.bytesC());
            PinnedBuffer after = device.allocatePinned(problem.bytesC());
            DeviceBuffer a = device.allocate(problem.bytesA(), stream);
            DeviceBuffer b = device.allocate(problem.bytesB(), stream);
            DeviceBuffer c = device.allocate(problem.bytesC(), stream)) {
          values.copyTo(before.memory());
          stream.fill(a, (byte) -1); // NaN
          stream.fill(b, (byte) -1);
          stream.upload(before.memory(), c, 0);
          multiplier.enqueue(problem, new DeviceMultiplier.Operands(a, 0, b, 0, c, 0), stream);
          stream.download(c, 0, after.memory());
          stream.synchronize();
          for (long at = 0; at < problem.bytesC(); at += type.bytes()) {
            double expected = beta == 0 ? 0 : beta * value(before.memory(), at, type);
            assertEquals(expected, value(after.memory(), at, type), problem + " at byte " + at);
          }
        }
      }
    }
  }

  private Optional<MultiplyWay> choose(DeviceMultiplier chooser, MultiplyProblem problem) {
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(problem.bytesA(), stream);
        DeviceBuffer b = device.allocate(problem.bytesB(), stream);
        DeviceBuffer c = device.allocate(problem.bytesC(), stream);
        DeviceBuffer workspace =
            device.allocate(chooser.planner().mostWorkspaceBytes(problem), stream)) {
      return chooser.choose(problem, problem.k(), a, b, c, workspace, stream);
    }
  }

  @Test
  void enginesAreObeyed() {
    MultiplyProblem large =
        MultiplyProblem.dense(2048, 2048, 2048, ElementType.FLOAT32, false, false);
    try (DeviceMultiplier own =
        new DeviceMultiplier(device, MultiplyEngine.OWN, List.of(), DeviceMultiplier.Tuning.OFF)) {
      assertFalse(own.plan(large).get().strategy() instanceof MultiplyStrategy.Cublas);
    }
    try (DeviceMultiplier library =
        new DeviceMultiplier(
            device, MultiplyEngine.CUBLAS, List.of(), DeviceMultiplier.Tuning.OFF)) {
      if (library.cublas().isPresent()) {
        assertInstanceOf(MultiplyStrategy.Cublas.class, library.plan(large).get().strategy());
      } else {
        assertFalse(library.plan(large).isPresent());
        assertTrue(
            library.plan(large).whyNot().contains("cuBLAS was not found"),
            library.plan(large).whyNot());
      }
    }
  }

  @Test
  void badOffsetsAreRefusedBeforeAnyWork() {
    MultiplyProblem problem = MultiplyProblem.dense(8, 8, 8, ElementType.FLOAT32, false, false);
    try (CudaStream stream = device.newStream();
        DeviceBuffer a = device.allocate(1024, stream);
        DeviceBuffer b = device.allocate(256, stream)) {
      Exception e =
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  multiplier.enqueue(
                      problem, new DeviceMultiplier.Operands(a, 0, b, 0, a, 258), stream));
      assertEquals("Offsets 0, 0 and 258; expected multiples of the width 4", e.getMessage());
      assertThrows(
          IndexOutOfBoundsException.class,
          () ->
              multiplier.enqueue(
                  problem, new DeviceMultiplier.Operands(a, 0, b, 4, a, 256), stream));
      e =
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  multiplier.enqueue(
                      problem, new DeviceMultiplier.Operands(a, 0, b, 0, a, 252), stream));
      assertEquals("C overlaps A: they begin 252 bytes apart in one buffer", e.getMessage());
      stream.fill(a, (byte) 0);
      stream.fill(b, (byte) 0);
      multiplier.enqueue(problem, new DeviceMultiplier.Operands(a, 0, b, 0, a, 256), stream);
      multiplier.enqueue(problem, new DeviceMultiplier.Operands(a, 0, a, 0, b, 0), stream);
    }
  }
}
