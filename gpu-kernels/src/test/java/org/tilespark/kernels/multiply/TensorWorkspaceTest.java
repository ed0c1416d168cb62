package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.tilespark.kernels.multiply.PlannerFixture.ABSENT;
import static org.tilespark.kernels.multiply.PlannerFixture.CUTTING;
import static org.tilespark.kernels.multiply.PlannerFixture.H200;
import static org.tilespark.kernels.multiply.PlannerFixture.batch;
import static org.tilespark.kernels.multiply.PlannerFixture.problem;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

class TensorWorkspaceTest {
  /** Of no product of parts of the panels more is wanted than was reserved for the panels. */
  @Test
  void workspaceIsEnoughForSmallerProducts() {
    SplittableRandom random = new SplittableRandom(31);
    for (int round = 0; round < 2000; round++) {
      boolean isDouble = random.nextBoolean();
      ElementType type = isDouble ? ElementType.FLOAT64 : ElementType.FLOAT32;
      Precision precision =
          isDouble ? Precision.FULL : Precision.values()[random.nextInt(Precision.values().length)];
      boolean transposeA = random.nextBoolean();
      boolean transposeB = random.nextBoolean();
      long[] most = {
        random.nextLong(1, 3000), random.nextLong(1, 100_000), random.nextLong(1, 3000)
      };
      long count = random.nextInt(3) == 0 ? random.nextLong(1, 100) : 1;
      long reserved =
          new MultiplyPlanner(new DeviceKernels(H200, CUTTING), ABSENT, MultiplyEngine.AUTO)
              .mostWorkspaceBytes(
                  batch(sized(most, type, precision, transposeA, transposeB), count));
      long[] less = {
        random.nextLong(1, most[0] + 1),
        random.nextLong(1, most[1] + 1),
        random.nextLong(1, most[2] + 1)
      };
      for (long[] extents : new long[][] {less, most}) {
        MultiplyProblem problem =
            batch(
                sized(extents, type, precision, transposeA, transposeB),
                extents == most ? count : random.nextLong(1, count + 1));
        for (MultiplyPlan plan :
            new MultiplyPlanner(new DeviceKernels(H200, CUTTING), ABSENT, MultiplyEngine.AUTO)
                .candidates(problem, 1 << 20)) {
          assertTrue(plan.workspaceBytes() <= reserved, problem + " of " + most[0] + ": " + plan);
          if (plan.strategy() instanceof MultiplyStrategy.Tensor tensor) {
            requireInside(tensor, problem);
          }
        }
      }
    }
  }

  private static MultiplyProblem sized(
      long[] extents,
      ElementType type,
      Precision precision,
      boolean transposeA,
      boolean transposeB) {
    return new MultiplyProblem(
        new Extents(extents[0], extents[1], extents[2]),
        type,
        precision,
        new Stored(transposeA, transposeA ? extents[0] : extents[1]),
        new Stored(transposeB, transposeB ? extents[1] : extents[2]),
        extents[2],
        Factors.ADD,
        Batch.ONE);
  }

  /** The ranges of maps are in the workspace or in the operand. */
  static void requireInside(MultiplyStrategy.Tensor strategy, MultiplyProblem problem) {
    for (MultiplyStep step : strategy.steps(problem, false, true)) {
      for (MultiplyStep.TensorMap map : step.maps()) {
        long end = map.from().bytes() + map.extents().get(0) * map.element().bytes();
        for (int axis = 1; axis < map.extents().size(); axis++) {
          end += (map.extents().get(axis) - 1) * map.strideBytes().get(axis - 1);
        }
        long bytes =
            switch (map.from().side()) {
              case A -> problem.bytesA();
              case B -> problem.bytesB();
              case C, NOWHERE -> 0;
              case WORKSPACE -> strategy.workspaceBytes();
            };
        assertTrue(end <= bytes, problem + ": " + map);
        // A begins at 8 bytes beyond a multiple of 16.
        long begins = map.from().bytes() + (map.from().side() == MultiplyStep.Side.A ? 8 : 0);
        assertEquals(0, begins % 16);
      }
    }
  }

  /** Tiles are counted in 32 bits. */
  @Test
  void doublesOfTooManyTiles() {
    for (long extent : new long[] {1L << 21, 1L << 22}) {
      assertEquals(
          extent == 1L << 21,
          TensorWorkspace.canCount(
              problem(extent, 16, extent, ElementType.FLOAT64), TensorForm.FLOAT64));
    }
  }
}
