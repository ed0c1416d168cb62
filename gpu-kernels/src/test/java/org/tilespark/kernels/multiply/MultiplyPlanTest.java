package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import org.tilespark.layout.ElementType;

class MultiplyPlanTest {
  private static final MultiplyProblem PROBLEM =
      MultiplyProblem.dense(40, 50, 60, ElementType.FLOAT32, false, false);

  @Test
  void aSingleLaunchIsAStepWithThreePointers() {
    MultiplyStrategy.Tiled tiled =
        new MultiplyStrategy.Tiled("multiply_any", new KernelIndex.TileShape(32, 32, 64), 16);
    KernelLaunch launch = new KernelLaunch("multiply_any", new LaunchConfig(4, 64, 0), 1, 2);
    assertEquals(
        List.of(
            new MultiplyStep(
                launch,
                List.of(),
                List.of(new Place(Side.A, 0), new Place(Side.B, 0), new Place(Side.C, 0)))),
        new MultiplyPlan(PROBLEM, tiled, Optional.of(launch)).steps(false, true));
  }

  @Test
  void withoutOwnKernelsThereAreNoSteps() {
    MultiplyStrategy library = new MultiplyStrategy.Cublas(Precision.FULL, 50, 0);
    assertEquals(List.of(), new MultiplyPlan(PROBLEM, library, Optional.empty()).steps(true, true));
    MultiplyStrategy nothing = new MultiplyStrategy.Nothing();
    assertEquals(List.of(), new MultiplyPlan(PROBLEM, nothing, Optional.empty()).steps(true, true));
  }
}
