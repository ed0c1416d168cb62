package org.tilespark.spark.fourier;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.fourier.FourierStages.Stage;
import org.tilespark.spark.fourier.FourierStages.Transform;
import org.tilespark.spark.options.FftOptions.Decomposition;

/** The order in which axes are transformed, without a session. */
class FourierStagesTest {
  private static final Transform FORWARD =
      new Transform(List.of(0, 1, 2), -1, false, Permutation.of(1, 2, 0), Map.of());
  private static final Transform REAL =
      new Transform(List.of(0, 1, 2), 2, false, Permutation.of(1, 2, 0), Map.of());
  private static final Transform INVERSE_REAL =
      new Transform(List.of(0, 1, 2), 2, true, Permutation.identity(3), Map.of());

  /** A volume in blocks, for 16 tasks that transform none alone. */
  private static FourierStages of(Shape extents, Shape blocks) {
    List<Boolean> whole =
        Stream.of(0, 1, 2).map(axis -> blocks.extent(axis) == extents.extent(axis)).toList();
    return new FourierStages(new KnownArray(extents, true, blocks, whole), 8, 16, 0);
  }

  private static Stage stage(List<Integer> axes, Integer... cut) {
    return new Stage(axes, List.of(cut));
  }

  @Test
  void slabsThatAreThereStay() {
    FourierStages stages = of(Shape.of(512, 512, 512), Shape.of(32, 512, 512));
    assertEquals(
        List.of(stage(List.of(1, 2)), stage(List.of(0), 1)),
        stages.stages(FORWARD, Decomposition.AUTO));
    // Bricks are cut into slabs first.
    FourierStages bricks = of(Shape.of(512, 512, 512), Shape.of(32, 32, 32));
    assertEquals(
        List.of(stage(List.of(1, 2), 0), stage(List.of(0), 1)),
        bricks.stages(FORWARD, Decomposition.AUTO));
  }

  /** It is transformed first on the way there, and last on the way back. */
  @Test
  void theHalvedAxisIsWhole() {
    FourierStages alongZ = of(Shape.of(512, 512, 512), Shape.of(512, 512, 32));
    assertEquals(
        List.of(stage(List.of(1, 2), 0), stage(List.of(0), 1)),
        alongZ.stages(REAL, Decomposition.AUTO));
    assertEquals(
        List.of(stage(List.of(0)), stage(List.of(1, 2), 0)),
        alongZ.stages(INVERSE_REAL, Decomposition.AUTO));
  }

  /** The axes that are whole come first. */
  @Test
  void pencilsWhereSlabsAreTooFewOrTooLarge() {
    FourierStages thin = of(Shape.of(8, 4096, 4096), Shape.of(8, 64, 64));
    assertEquals(
        List.of(stage(List.of(0)), stage(List.of(2), 1, 0), stage(List.of(1), 2, 0)),
        thin.stages(FORWARD, Decomposition.AUTO));
    FourierStages large = of(Shape.of(20_000, 20_000, 20_000), Shape.of(64, 64, 64));
    assertEquals(
        List.of(stage(List.of(2), 0, 1), stage(List.of(1), 0, 2), stage(List.of(0), 1, 2)),
        large.stages(FORWARD, Decomposition.AUTO));
    FourierStages small = of(Shape.of(8, 64, 64), Shape.of(4, 64, 64));
    assertEquals(2, small.stages(FORWARD, Decomposition.AUTO).size());
    assertEquals(3, small.stages(FORWARD, Decomposition.PENCILS).size());
  }

  @Test
  void oneTaskOrNoExchange() {
    KnownArray known = of(Shape.of(64, 64, 64), Shape.of(8, 64, 64)).known();
    FourierStages stages = new FourierStages(known, 8, 16, 64L * 64 * 64 * 8);
    assertEquals(
        List.of(new Stage(List.of(0, 1, 2), List.of(), true)),
        stages.stages(FORWARD, Decomposition.AUTO));
    assertEquals(2, stages.stages(FORWARD, Decomposition.SLABS).size());
    Transform planes = new Transform(List.of(1, 2), -1, false, Permutation.identity(3), Map.of());
    assertEquals(List.of(stage(List.of(1, 2))), stages.stages(planes, Decomposition.AUTO));
  }

  /** Blocks that are whole already are cut where zeros make them too large. */
  @Test
  void paddedExtentsCount() {
    Map<Integer, Long> padTo = Map.of(0, 2000L, 1, 2000L, 2, 2000L);
    Transform padded = new Transform(List.of(0, 1, 2), -1, false, Permutation.of(1, 2, 0), padTo);
    KnownArray known = of(Shape.of(32, 32, 32), Shape.of(32, 32, 32)).known();
    FourierStages stages = new FourierStages(known, 8, 16, 256L << 20);
    assertEquals(
        List.of(stage(List.of(1, 2), 0), stage(List.of(0), 1)),
        stages.stages(padded, Decomposition.AUTO));
    assertEquals(
        List.of(stage(List.of(0)), stage(List.of(1), 2, 0), stage(List.of(2), 1, 0)),
        stages.stages(padded, Decomposition.PENCILS));
    // A plane for each task at least: 8 planes are too few for 16 tasks.
    FourierStages thin =
        new FourierStages(of(Shape.of(8, 8, 8), Shape.of(4, 4, 4)).known(), 8, 16, 256L << 20);
    assertEquals(3, thin.stages(padded, Decomposition.AUTO).size());
    // Slabs that are there stay, if they are thin enough.
    FourierStages slabs =
        new FourierStages(of(Shape.of(32, 32, 32), Shape.of(8, 32, 32)).known(), 8, 16, 0);
    assertEquals(
        List.of(stage(List.of(1, 2)), stage(List.of(0), 1)),
        slabs.stages(padded, Decomposition.AUTO));
    assertArrayEquals(
        new long[] {32, 9, 2000},
        slabs.shape(List.of(1), Shape.of(32, 2000, 2000), Shape.of(2000, 2000, 2000)));
  }

  /** A block for each task, none above 256 MiB. */
  @Test
  void shapesOfBlocks() {
    FourierStages stages = of(Shape.of(512, 512, 512), Shape.of(32, 512, 512));
    assertArrayEquals(new long[] {512, 32, 512}, stages.shape(List.of(1), Shape.of(512, 512, 512)));
    assertArrayEquals(
        new long[] {128, 128, 512}, stages.shape(List.of(0, 1), Shape.of(512, 512, 512)));
    assertArrayEquals(
        new long[] {8, 2048, 2048}, stages.shape(List.of(0), Shape.of(2048, 2048, 2048)));
  }
}
