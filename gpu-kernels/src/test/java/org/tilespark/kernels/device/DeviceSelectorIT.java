package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.select.SelectionCases;
import org.tilespark.kernels.select.SelectionCases.Case;
import org.tilespark.kernels.select.SelectionPlan;
import org.tilespark.layout.ElementType;

/** Selections of columns on a device, against the definition. */
@RequiresGpu
class DeviceSelectorIT {
  private static CudaDevice device;
  private static DeviceSelector selector;

  @BeforeAll
  static void openDevice() {
    device = CudaDevice.open(0);
    selector = new DeviceSelector(device);
  }

  @AfterAll
  static void closeDevice() {
    if (device != null) {
      device.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, device.liveDeviceBytes());
    assertEquals(0, device.livePinnedBytes());
  }

  @Test
  void randomTiles() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      int cols = 1 + random.nextInt(random.nextBoolean() ? 300 : 6000);
      int wanted = random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(seed % 5 == 0 ? cols + 3 : 40);
      check(
          SelectionCases.random(
              seed % 2 == 0 ? ElementType.FLOAT32 : ElementType.FLOAT64,
              1 + random.nextInt(6),
              cols,
              wanted,
              random.nextInt(4) * 20,
              random));
    }
  }

  /** Extents about those of threads and segments. */
  @Test
  void edges() {
    Random random = new Random(7);
    for (int cols : new int[] {1, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 8192, 12_289}) {
      for (int wanted : new int[] {0, 1, 10, cols - 1, cols, 4096}) {
        if (wanted >= 0) {
          check(SelectionCases.random(ElementType.FLOAT32, 3, cols, wanted, 50, random));
        }
      }
    }
  }

  /** More rows than thread blocks: each goes on by the whole grid. */
  @Test
  void manyRows() {
    check(SelectionCases.random(ElementType.FLOAT32, 9000, 70, 5, 0, new Random(3)));
  }

  /** Of wide rows little more is found than what is wanted of each segment. */
  @Test
  void fewAreSelected() {
    Case given = SelectionCases.random(ElementType.FLOAT32, 4, 4096, 7, 0, new Random(1));
    Arrays.fill(given.selection().rows().least(), Double.NEGATIVE_INFINITY);
    long count = check(given);
    assertTrue(count >= 28 && count < 400, count + " columns");
  }

  private static long check(Case given) {
    int rows = given.selection().rows().count();
    int cols = given.selection().columns().count();
    SelectionPlan plan = SelectionPlan.of(rows, cols);
    HostMemory tile = given.tile();
    try (CudaStream stream = device.newStream();
        PinnedBuffer values = device.allocatePinned(tile.bytes());
        PinnedBuffer bounds = device.allocatePinned(plan.boundsBytes());
        PinnedBuffer found = device.allocatePinned(plan.foundBytes());
        DeviceBuffer tileThere = device.allocate(tile.bytes(), stream);
        DeviceBuffer rest = device.allocate(plan.boundsBytes() + plan.foundBytes(), stream)) {
      tile.copyTo(values.memory());
      plan.putBounds(given.selection(), bounds.memory());
      stream.upload(values.memory(), tileThere, 0);
      stream.upload(bounds.memory(), rest, 0);
      selector.select(
          given.selection(),
          plan,
          new At(tileThere, 0),
          new At(rest, 0),
          new At(rest, plan.boundsBytes()),
          stream);
      stream.download(rest, plan.boundsBytes(), found.memory());
      stream.synchronize();
      long count = SelectionPlan.count(found.memory());
      assertTrue(count <= (long) rows * cols, count + " columns of " + given);
      if (count <= plan.capacity()) {
        SelectionCases.check(given, plan.columns(found.memory()));
      }
      return count;
    }
  }
}
