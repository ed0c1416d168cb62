package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyPlanner;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.MultiplyStep;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

class BoundPlanTest {
  private static final DeviceLimits H200 =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel multiply_tiled multiply_tiled_w8_32x32x128 sm_90a
          kernel multiply_double multiply_double_nt_w8_64x64x128 sm_90a blocksPerProcessor=3
          kernel pack pack_rows_w8_256 sm_90a
          kernel multiply_tensor multiply_tf32_w4_128x128x384 sm_90a
          kernel pack pack_tf32_w4_256 sm_90a
          kernel multiply_parts multiply_parts_w4_256 sm_90a
          kernel multiply_parts multiply_parts_w8_256 sm_90a
          """);

  private final List<List<MultiplyStep>> bound = new ArrayList<>();

  private BoundSteps bind(List<MultiplyStep> steps) {
    bound.add(steps);
    return new BoundSteps(null, List.of());
  }

  private static MultiplyPlan plan(MultiplyProblem problem) {
    return new MultiplyPlanner(
            new DeviceKernels(H200, INDEX),
            Availability.not("it is not asked for"),
            MultiplyEngine.OWN)
        .plan(problem, problem.k())
        .get();
  }

  /** Once for each way in which A and B may begin, each with the steps for it. */
  @Test
  void stepsAreBoundOnce() {
    MultiplyPlan plan =
        plan(MultiplyProblem.dense(1024, 1024, 1024, ElementType.FLOAT64, false, true));
    BoundPlan steps = new BoundPlan(plan, this::bind);
    List<BoundSteps> first = new ArrayList<>();
    for (int round = 0; round < 3; round++) {
      for (int which = 0; which < 4; which++) {
        long a = 0x1000 + 16L * round + 8L * (which & 1);
        long b = 0x2000 + 16L * round + 4L * (which & 2);
        BoundSteps found = steps.steps(a, b);
        if (round == 0) {
          assertEquals(plan.steps((which & 1) == 0, (which & 2) == 0), bound.get(which));
          first.add(found);
        }
        assertSame(first.get(which), found);
      }
    }
    assertEquals(4, bound.size());
    // What begins unevenly is copied.
    assertTrue(bound.get(0).size() < bound.get(1).size());
    assertTrue(bound.get(0).size() < bound.get(2).size());
    assertTrue(bound.get(1).size() < bound.get(3).size());
  }

  /** Very long products are bound anew. */
  @Test
  void longListsAreNotKept() {
    long k = 2_000_000; // of tiles enough for all multiprocessors, so in chunks one after the other
    MultiplyPlan plan =
        plan(
            new MultiplyProblem(
                new Extents(2048, k, 2048),
                ElementType.FLOAT32,
                Precision.TF32,
                new Stored(false, k),
                new Stored(true, k),
                2048,
                Factors.OVERWRITE,
                Batch.ONE));
    assertTrue(plan.steps(true, true).size() > BoundPlan.MOST_KEPT_STEPS);
    BoundPlan steps = new BoundPlan(plan, this::bind);
    assertNotSame(steps.steps(0, 0), steps.steps(0, 0));
  }
}
