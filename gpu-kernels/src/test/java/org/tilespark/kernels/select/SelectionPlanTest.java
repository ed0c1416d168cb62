package org.tilespark.kernels.select;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;

/** Layout of the bounds and results of a device's selection, and its launch. */
class SelectionPlanTest {
  private static final DeviceLimits LIMITS =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
  private static final DeviceKernels DEVICE =
      new DeviceKernels(
          LIMITS,
          KernelIndex.parse(
              """
              kernel select_columns select_columns_w4_1x4096x256 sm_90a
              """));

  @Test
  void launches() {
    ColumnSelection selection =
        SelectionCases.random(ElementType.FLOAT32, 3, 5000, 10, 0, new Random(1)).selection();
    SelectionPlan plan = SelectionPlan.of(3, 5000);
    assertEquals(2, plan.segments());
    assertEquals(
        new KernelLaunch(
            "select_columns_w4_1x4096x256",
            new LaunchConfig(6, 256, 0),
            3,
            5000,
            10,
            15_000,
            Double.doubleToRawLongBits(1e20)),
        plan.launch(selection, DEVICE));
    ColumnSelection doubles =
        SelectionCases.random(ElementType.FLOAT64, 3, 50, 10, 0, new Random(1)).selection();
    assertTrue(
        assertThrows(
                UnsupportedOperationException.class,
                () -> SelectionPlan.of(3, 50).launch(doubles, DEVICE))
            .getMessage()
            .contains("no kernel that selects columns of FLOAT64"));
  }

  /** There is room for a part of a large tile's columns. */
  @Test
  void room() {
    assertEquals(4096 * 8192 / 16, SelectionPlan.of(4096, 8192).capacity());
    assertEquals(1 << 16, SelectionPlan.of(300, 300).capacity());
    assertEquals(12, SelectionPlan.of(4, 3).capacity());
    assertEquals(8 + 2 * 4 * 8 + 4 * 20_000, SelectionPlan.of(4, 5000).foundBytes());
  }

  @Test
  void boundsOfRowsThenOfColumns() {
    ColumnSelection selection =
        SelectionCases.random(ElementType.FLOAT32, 2, 3, 1, 0, new Random(4)).selection();
    SelectionPlan plan = SelectionPlan.of(2, 3);
    double[] bounds = new double[(int) plan.boundsBytes() / Double.BYTES];
    assertEquals(4 * 2 + 5 * 3, bounds.length);
    plan.putBounds(selection, HostMemory.ofArray(bounds));
    assertEquals(selection.rows().norms()[1], bounds[1]);
    assertEquals(selection.rows().least()[0], bounds[4]);
    assertEquals(selection.rows().least()[1] - selection.widest(1), bounds[7]);
    assertEquals(selection.columns().scale()[0], bounds[8]);
    assertEquals(selection.columns().norms()[2], bounds[22]);
  }

  @Test
  void columnsOfSeveralSegments() {
    SelectionPlan plan = SelectionPlan.of(2, 9000); // three segments
    int[] found = {
      5, 0, // the count
      3, 1, 0, 0, 4, 1, // row 0: where, and how many
      0, 0, 0, 3, 0, 0, // row 1
      4097, 4098, 5000, 7, 8500
    };
    SelectedColumns columns = plan.columns(HostMemory.ofArray(found));
    assertEquals(5, SelectionPlan.count(HostMemory.ofArray(found)));
    assertEquals(2, columns.select(0));
    assertEquals(7, columns.column(0));
    assertEquals(8500, columns.column(1));
    assertEquals(3, columns.select(1));
    assertEquals(4097, columns.column(0));
    assertEquals(5000, columns.column(2));
  }
}
