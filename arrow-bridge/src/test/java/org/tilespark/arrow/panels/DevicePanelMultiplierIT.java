package org.tilespark.arrow.panels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.PinnedMemorySource;
import org.tilespark.arrow.panels.PanelMultiplier.PanelProduct;
import org.tilespark.arrow.panels.PanelMultiplier.Panels;
import org.tilespark.arrow.panels.PanelMultiplier.Tile;
import org.tilespark.arrow.panels.PanelMultiplier.Wanted;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.DeviceElementwise;
import org.tilespark.kernels.device.DeviceMultiplier;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

@RequiresGpu
class DevicePanelMultiplierIT extends PanelMultiplierContract {
  private static CudaDevice device;
  private static DeviceMultiplier multiplier;
  private static DeviceElementwise elementwise;
  private static PinnedPool pool;
  private static ArrowMemory memory;

  private PipelineListener listener = PipelineListener.NONE;
  private long mostPinnedBytes = 1 << 20;

  @BeforeAll
  static void openDevice() {
    device = CudaDevice.open(0);
    multiplier = new DeviceMultiplier(device);
    elementwise = new DeviceElementwise(device);
    pool = device.newPinnedPool(1 << 26);
    memory = new ArrowMemory(new PinnedMemorySource(pool));
  }

  @AfterAll
  static void closeDevice() {
    if (device != null) {
      memory.close();
      multiplier.close();
      elementwise.close();
      assertEquals(0, pool.liveBytes());
      pool.close();
      assertEquals(0, device.liveDeviceBytes());
      device.close();
    }
  }

  @Override
  void withMultiplier(Consumer<PanelMultiplier> body) {
    withMultiplier(multiplier, body);
  }

  private void withMultiplier(DeviceMultiplier kernels, Consumer<PanelMultiplier> body) {
    long limit = (1 << 26) + kernels.planner().mostWorkspaceBytes();
    MemoryGovernor governor = new MemoryGovernor(limit, new AllocationFaults(3, 5), "none");
    try (NativeMemorySource source = new NativeMemorySource(1 << 20);
        ArrowMemory unpinned = new ArrowMemory(source);
        BufferAllocator allocator = memory.newChild("test");
        BufferAllocator plain = unpinned.newChild("test");
        DevicePanels shared = new DevicePanels(device, governor);
        DevicePanels.Stage stage = shared.join("test")) {
      try (PanelMultiplier panels =
          new DevicePanelMultiplier(
              new DevicePlace(
                  device, memory, governor, allocator, new DeviceTask(() -> {}), listener),
              kernels,
              elementwise,
              new DevicePanelMultiplier.Results(plain, mostPinnedBytes),
              stage)) {
        body.accept(panels);
      }
      assertEquals(0, allocator.getAllocatedMemory());
      assertEquals(0, plain.getAllocatedMemory());
    }
    assertEquals(0, governor.usedBytes());
    assertEquals(0, device.liveDeviceBytes());
    assertTrue(governor.peakBytes() <= limit);
  }

  @Override
  PinnedOrNot room(long bytes, boolean pinned) {
    PinnedBuffer buffer = pinned ? pool.take(bytes) : device.allocatePinned(bytes);
    return new PinnedOrNot(HostMemory.ofAddress(buffer.address(), bytes), buffer::close);
  }

  @Override
  boolean writesRectangles() {
    return true;
  }

  @Override
  void settle(PanelMultiplier panels) {
    ((DevicePanelMultiplier) panels).settleUnderWay();
  }

  /** Tiles that are too large for their share of the pinned memory come down in pieces. */
  @Test
  void tilesLargerThanThePool() {
    mostPinnedBytes = 0;
    theTileInRectangles();
    tilesOfManyPanels();
    onePanelServesAsBoth();
    aTileOfNothingIsZero();
    longSumsOfParts();
    int n = 2300; // more than two pieces
    long pinnedBefore = pool.liveBytes();
    withMultiplier(
        panels -> {
          MultiplyProblem problem =
              new MultiplyProblem(
                  new Extents(n, 1, n),
                  ElementType.FLOAT64,
                  Precision.FULL,
                  new Stored(false, 1),
                  new Stored(true, 1),
                  n,
                  Factors.ADD,
                  Batch.ONE);
          panels.begin(new Tile(problem, false, 1));
          Panels filled = panels(panels, problem.bytesA(), problem.bytesB());
          double[] counted = new double[n];
          for (int i = 0; i < n; i++) {
            counted[i] = i + 1;
          }
          filled.a().orElseThrow().put(HostMemory.ofArray(counted));
          filled.b().orElseThrow().put(HostMemory.ofArray(counted));
          panels.multiply(List.of(new PanelProduct(problem, 0, 0, 0)));
          double[] found = new double[n * n];
          panels.finish().copyTo(HostMemory.ofArray(found));
          for (int at = 0; at < found.length; at++) {
            double expected = counted[at / n] * counted[at % n];
            if (found[at] != expected) {
              assertEquals(expected, found[at], "element " + at);
            }
          }
        });
    assertEquals(pinnedBefore, pool.liveBytes());
    assertTrue(memory.peakBytes() < (long) n * n * Double.BYTES, "the tile was not pinned");
  }

  /** The way is chosen before the first product, and all panels of a tile go by it. */
  @Test
  void tunesBeforeTheFirstProduct(@TempDir Path directory) throws IOException {
    int n = 384;
    int depth = 256;
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(n, depth, n),
            ElementType.FLOAT64,
            Precision.FULL,
            new Stored(false, depth),
            new Stored(true, depth),
            n,
            Factors.ADD,
            Batch.ONE);
    Path kept = directory.resolve("tilespark");
    for (int run = 0; run < 2; run++) { // the second takes what the first kept
      try (DeviceMultiplier tuned =
          new DeviceMultiplier(
              device,
              MultiplyEngine.AUTO,
              List.of(),
              new DeviceMultiplier.Tuning(Duration.ofSeconds(5), Optional.of(kept)))) {
        withMultiplier(
            tuned,
            panels -> {
              for (int tile = 0; tile < 2; tile++) {
                Random random = new Random(tile);
                double[] expected = new double[n * n];
                panels.begin(new Tile(problem, false, 3));
                for (int panel = 0; panel < 3; panel++) {
                  double[] a = numbers(random, n * depth);
                  double[] b = numbers(random, n * depth);
                  Panels filled = panels(panels, problem.bytesA(), problem.bytesB());
                  filled.a().orElseThrow().put(HostMemory.ofArray(a));
                  filled.b().orElseThrow().put(HostMemory.ofArray(b));
                  panels.multiply(List.of(new PanelProduct(problem, 0, 0, 0)));
                  add(expected, n, a, b, depth, 0, n, 0, depth, 0, n);
                }
                assertTile(expected, panels.finish());
              }
            });
        assertTrue(
            tuned.choose(problem, depth, null, null, null, null, null).isPresent(),
            "chosen, and not tried again");
      }
      try (Stream<Path> files = Files.list(kept)) {
        assertEquals(
            1,
            files.filter(file -> file.toString().endsWith(".txt")).count(),
            "one file of choices");
      }
    }
  }

  @Test
  void tellsBytesAndTimes() {
    long[] heard = new long[5];
    listener =
        new PipelineListener() {
          @Override
          public void moved(long up, long down) {
            heard[0] += up;
            heard[1] += down;
          }

          @Override
          public void copiedUp(long nanos) {
            heard[2] += nanos;
          }

          @Override
          public void computed(long nanos) {
            heard[3] += nanos;
          }

          @Override
          public void copiedDown(long nanos) {
            heard[4] += nanos;
          }
        };
    withMultiplier(
        panels -> {
          long n = 128;
          long bytes = n * n * Float.BYTES;
          MultiplyProblem problem =
              new MultiplyProblem(
                  new Extents(n, n, n),
                  ElementType.FLOAT32,
                  Precision.FULL,
                  new Stored(false, n),
                  new Stored(false, n),
                  n,
                  Factors.ADD,
                  Batch.ONE);
          panels.begin(new Tile(problem, false, 5));
          for (int i = 0; i < 5; i++) {
            Panels filled = panels(panels, bytes, bytes);
            filled.a().orElseThrow().put(HostMemory.ofArray(new float[(int) (n * n)]));
            filled.b().orElseThrow().put(HostMemory.ofArray(new float[(int) (n * n)]));
            panels.multiply(List.of(new PanelProduct(problem, 0, 0, 0)));
          }
          panels.finish();
          assertEquals(10 * bytes, heard[0]);
          assertEquals(bytes, heard[1]);
          for (int i = 2; i < 5; i++) {
            assertTrue(heard[i] > 0, "time " + i);
          }
        });
  }

  private static final int TILES = 4; // along M, and along N
  private static final int EXTENT = 200;
  private static final int DEPTH = 96;
  private static final int PANELS = 6;

  /**
   * Tiles of a grid on several threads, which share panels: each goes up once where there is room,
   * and as often as it is used where there is none; the result is right either way.
   */
  @Test
  void tilesThatSharePanels() throws Exception {
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(EXTENT, DEPTH, EXTENT),
            ElementType.FLOAT64,
            Precision.FULL,
            new Stored(false, DEPTH),
            new Stored(true, DEPTH),
            EXTENT,
            Factors.ADD,
            Batch.ONE);
    long one =
        new Tile(problem, false, PANELS).deviceBytes()
            + multiplier.planner().mostWorkspaceBytes(problem);
    long once = 2L * TILES * PANELS * problem.bytesA();
    long[] roomy = sharing(problem, new MemoryGovernor(1L << 30, AllocationFaults.NONE, "none"));
    assertEquals(once, roomy[0], "every panel went up once");
    assertEquals((TILES - 1) * once, roomy[1]);
    long[] tight = sharing(problem, new MemoryGovernor(one, AllocationFaults.NONE, "none"));
    assertEquals(TILES * once, tight[0], "every task sent its own");
    assertEquals(0, tight[1]);
    for (int seed = 0; seed < 3; seed++) {
      long[] mixed =
          sharing(problem, new MemoryGovernor(3 * one, new AllocationFaults(4, seed), ""));
      assertEquals(TILES * once, mixed[0] + mixed[1]);
    }
  }

  /** Bytes sent, and bytes found on the device. */
  private long[] sharing(MultiplyProblem problem, MemoryGovernor governor) throws Exception {
    AtomicLong up = new AtomicLong();
    AtomicLong reused = new AtomicLong();
    PipelineListener counts =
        new PipelineListener() {
          @Override
          public void moved(long bytesUp, long bytesDown) {
            up.addAndGet(bytesUp);
          }

          @Override
          public void reused(long bytes) {
            reused.addAndGet(bytes);
          }
        };
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try (DevicePanels shared = new DevicePanels(device, governor);
        NativeMemorySource source = new NativeMemorySource(1 << 20);
        ArrowMemory unpinned = new ArrowMemory(source)) {
      List<Future<?>> tiles = new ArrayList<>();
      for (int i = 0; i < TILES; i++) {
        for (int j = 0; j < TILES; j++) {
          int row = i;
          int col = j;
          tiles.add(
              threads.submit(
                  () -> {
                    try (BufferAllocator allocator = memory.newChild("test");
                        BufferAllocator plain = unpinned.newChild("test");
                        DevicePanels.Stage stage = shared.join("stage");
                        PanelMultiplier panels =
                            new DevicePanelMultiplier(
                                new DevicePlace(
                                    device,
                                    memory,
                                    governor,
                                    allocator,
                                    new DeviceTask(() -> {}),
                                    counts),
                                multiplier,
                                elementwise,
                                new DevicePanelMultiplier.Results(plain, 1 << 20),
                                stage)) {
                      sharedTile(problem, panels, row, col);
                    }
                  }));
        }
      }
      for (Future<?> tile : tiles) {
        tile.get();
      }
      assertEquals(0, governor.usedBytes(), "all tiles have had all panels");
    } finally {
      threads.shutdownNow();
    }
    assertEquals(0, device.liveDeviceBytes());
    return new long[] {up.get(), reused.get()};
  }

  private static void sharedTile(
      MultiplyProblem problem, PanelMultiplier panels, int row, int col) {
    double[] expected = new double[EXTENT * EXTENT];
    panels.begin(new Tile(problem, false, PANELS));
    for (int inner = 0; inner < PANELS; inner++) {
      double[] a = numbers(new Random(row * 100L + inner), EXTENT * DEPTH);
      double[] b = numbers(new Random(10_000 + col * 100L + inner), EXTENT * DEPTH);
      Panels filled =
          panels.panels(
              new Wanted(
                  problem.bytesA(), Optional.of(new PanelId("A" + row, inner, TILES, col, true))),
              Optional.of(
                  new Wanted(
                      problem.bytesB(),
                      Optional.of(new PanelId("B" + col, inner, TILES, row, false)))));
      filled.a().ifPresent(panel -> panel.put(HostMemory.ofArray(a)));
      filled.b().ifPresent(panel -> panel.put(HostMemory.ofArray(b)));
      panels.multiply(List.of(new PanelProduct(problem, 0, 0, 0)));
      add(expected, EXTENT, a, b, DEPTH, 0, EXTENT, 0, DEPTH, 0, EXTENT);
    }
    double[] found = new double[EXTENT * EXTENT];
    panels.finish().copyTo(HostMemory.ofArray(found));
    for (int at = 0; at < found.length; at++) {
      if (found[at] != expected[at]) {
        assertEquals(expected[at], found[at], "element " + at);
      }
    }
  }
}
