package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.tilespark.kernels.multiply.PlannerFixture.ABSENT;
import static org.tilespark.kernels.multiply.PlannerFixture.CUTTING;
import static org.tilespark.kernels.multiply.PlannerFixture.ONE_FLOAT;
import static org.tilespark.kernels.multiply.PlannerFixture.at;
import static org.tilespark.kernels.multiply.PlannerFixture.by;
import static org.tilespark.kernels.multiply.PlannerFixture.problem;
import static org.tilespark.kernels.multiply.PlannerFixture.tensor;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

/** Steps where float operands are packed; the words are fields of structs in the kernels. */
class PackedStepsTest {
  private static final long TWO_FLOAT = Float.floatToRawIntBits(2);
  private static final long THREE_FLOAT = Float.floatToRawIntBits(3);

  /**
   * Two chunks of K, A read in place if possible; the words are fields of structs in the kernels.
   */
  @Test
  void stepsOfASplit() {
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(300, 8200, 129),
            ElementType.FLOAT32,
            Precision.FULL,
            new Stored(false, 8204),
            new Stored(false, 131),
            140,
            new MultiplyProblem.Factors(2, 3),
            MultiplyProblem.Batch.ONE);
    String name = "multiply_split_w4_128x128x384";
    MultiplyStrategy.Tensor strategy = tensor(name, problem);
    MultiplyStep.Side workspace = MultiplyStep.Side.WORKSPACE;
    long packedA = 256;
    long packedB = packedA + 320L * 8192 * 4;
    assertEquals(packedB + 3L * 256 * 8192 * 2, strategy.workspaceBytes());
    List<MultiplyStep> steps = strategy.steps(problem, true, true);
    assertEquals(6, steps.size());
    assertEquals(
        new MultiplyStep(
            new KernelLaunch(
                "pack_split_mixed_w2_256",
                new LaunchConfig(4 * 128, 256, 0),
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                129,
                8192,
                131,
                1,
                256,
                8192,
                1,
                0),
            List.of(),
            List.of(
                MultiplyStep.Place.NOWHERE,
                MultiplyStep.Place.NOWHERE,
                at(MultiplyStep.Side.B, 0),
                at(workspace, packedB))),
        steps.get(0));
    assertEquals(
        new MultiplyStep(
            new KernelLaunch(
                name,
                new LaunchConfig(6, 384, 205_824),
                300,
                129,
                140,
                256,
                3,
                2,
                256,
                TWO_FLOAT,
                THREE_FLOAT,
                1,
                0,
                0,
                0,
                0),
            List.of(
                new MultiplyStep.TensorMap(
                    at(MultiplyStep.Side.A, 0),
                    MultiplyStep.Element.FLOAT32,
                    8192,
                    300,
                    8204 * 4,
                    32,
                    128),
                new MultiplyStep.TensorMap(
                    at(workspace, packedB),
                    MultiplyStep.Element.BFLOAT16,
                    8192,
                    3 * 256,
                    8192 * 2,
                    32,
                    128)),
            List.of(at(MultiplyStep.Side.C, 0), at(workspace, 0))),
        steps.get(1));
    assertEquals(
        new MultiplyStep(
            new KernelLaunch(
                "repair_split_w4_64x64x128",
                new LaunchConfig(15, 128, 0),
                300,
                8192,
                129,
                8204,
                131,
                140,
                0,
                0,
                TWO_FLOAT,
                THREE_FLOAT,
                96,
                5,
                3,
                1,
                0,
                0,
                0,
                8192),
            List.of(),
            List.of(
                at(workspace, 0),
                at(MultiplyStep.Side.A, 0),
                at(MultiplyStep.Side.B, 0),
                at(MultiplyStep.Side.C, 0))),
        steps.get(2));
    // The second chunk adds, from where the first one ends.
    MultiplyStep second = steps.get(4);
    assertEquals(at(MultiplyStep.Side.A, 8192 * 4), second.maps().get(0).from());
    assertEquals(8, second.maps().get(0).extents().get(0));
    assertEquals(1, second.launch().words()[3], "panels");
    assertEquals(TWO_FLOAT, second.launch().words()[7], "alpha");
    assertEquals(ONE_FLOAT, second.launch().words()[8], "beta");
    MultiplyStep secondRepair = steps.get(5);
    assertEquals(TWO_FLOAT, secondRepair.launch().words()[8], "alpha");
    assertEquals(ONE_FLOAT, secondRepair.launch().words()[9], "beta");
    MultiplyStep packed = steps.get(3);
    assertEquals(at(MultiplyStep.Side.B, 8192L * 131 * 4), packed.pointers().get(2));
    assertEquals(8, packed.launch().words()[9]);
    // An A that begins unevenly is copied, as B is.
    List<MultiplyStep> uneven = strategy.steps(problem, false, true);
    assertEquals(6, uneven.size());
    assertEquals(
        new MultiplyStep(
            new KernelLaunch(
                "pack_split_mixed_w2_256",
                new LaunchConfig(5 * 128 + 4 * 128, 256, 0),
                300,
                8192,
                8204,
                0,
                320,
                8192,
                1,
                0,
                129,
                8192,
                131,
                1,
                256,
                8192,
                1,
                0),
            List.of(),
            List.of(
                at(MultiplyStep.Side.A, 0),
                at(workspace, packedA),
                at(MultiplyStep.Side.B, 0),
                at(workspace, packedB))),
        uneven.get(0));
    MultiplyStep product = uneven.get(1);
    assertEquals(at(workspace, packedA), product.maps().get(0).from());
    assertEquals(320, product.maps().get(0).extents().get(1));
  }

  /** An A that is stored across stays so, and B is packed as that wants it. */
  @Test
  void stepsOfASplitAcross() {
    MultiplyStep.Side workspace = MultiplyStep.Side.WORKSPACE;
    String name = "multiply_split_across_w4_128x128x384";
    for (long lead : new long[] {300, 301}) {
      MultiplyProblem problem =
          new MultiplyProblem(
              new Extents(300, 70, 129),
              ElementType.FLOAT32,
              Precision.FULL,
              new Stored(true, lead),
              new Stored(true, 70),
              129,
              Factors.ADD,
              Batch.ONE);
      MultiplyStrategy.Tensor strategy = tensor(name, problem);
      List<MultiplyStep> steps = strategy.steps(problem, true, false);
      MultiplyStep pack = steps.get(steps.size() - 3);
      assertEquals("pack_split_w2_256", pack.launch().kernel());
      MultiplyStep product = steps.get(steps.size() - 2);
      assertEquals(name, product.launch().kernel());
      boolean even = lead == 300;
      assertEquals(3, steps.size());
      assertEquals(even ? 0 : 1, pack.launch().words()[6], "copies of A");
      assertEquals(
          new MultiplyStep.TensorMap(
              even ? at(MultiplyStep.Side.A, 0) : at(workspace, 256),
              MultiplyStep.Element.FLOAT32,
              even ? 300 : 320,
              even ? 70 : 128,
              even ? 1200 : 1280,
              32,
              32),
          product.maps().get(0));
      assertEquals(256 + 128 * 320 * 4 + 3 * 256 * 96 * 2, strategy.workspaceBytes());
    }
  }

  @Test
  void stepsOfARoundedProduct() {
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(300, 100, 500),
            ElementType.FLOAT32,
            Precision.FLOAT16,
            new Stored(true, 301),
            new Stored(true, 104),
            500,
            Factors.ADD,
            Batch.ONE);
    MultiplyStrategy.Tensor strategy = tensor("multiply_float16_w2_128x256x384", problem);
    MultiplyStep.Side workspace = MultiplyStep.Side.WORKSPACE;
    long packedB = 320 * 128 * 2;
    assertEquals(packedB + 512 * 128 * 2, strategy.workspaceBytes());
    assertEquals(
        List.of(
            new MultiplyStep(
                new KernelLaunch(
                    "pack_float16_w2_256",
                    new LaunchConfig(5 * 2 + 512 * 128 / 4096, 256, 0),
                    300,
                    100,
                    301,
                    1,
                    320,
                    128,
                    1,
                    0,
                    500,
                    100,
                    104,
                    0,
                    512,
                    128,
                    1,
                    0),
                List.of(),
                List.of(
                    at(MultiplyStep.Side.A, 0),
                    at(workspace, 0),
                    at(MultiplyStep.Side.B, 0),
                    at(workspace, packedB))),
            new MultiplyStep(
                new KernelLaunch(
                    "multiply_float16_w2_128x256x384",
                    new LaunchConfig(6, 384, 197_632),
                    300,
                    500,
                    500,
                    2,
                    3,
                    2,
                    ONE_FLOAT,
                    ONE_FLOAT,
                    1,
                    0,
                    0,
                    0,
                    0),
                List.of(
                    new MultiplyStep.TensorMap(
                        at(workspace, 0), MultiplyStep.Element.FLOAT16, 128, 320, 256, 64, 128),
                    new MultiplyStep.TensorMap(
                        at(workspace, packedB),
                        MultiplyStep.Element.FLOAT16,
                        128,
                        512,
                        256,
                        64,
                        256)),
                List.of(at(MultiplyStep.Side.C, 0)))),
        strategy.steps(problem, true, true));
  }

  /** Operands of tf32 with K along even rows are rounded by the copy engine; others are packed. */
  @Test
  void stepsOfTf32() {
    MultiplyStep.TensorMap storedA =
        new MultiplyStep.TensorMap(
            at(MultiplyStep.Side.A, 0), MultiplyStep.Element.TF32, 100, 300, 416, 32, 128);
    MultiplyStep.TensorMap storedB =
        new MultiplyStep.TensorMap(
            at(MultiplyStep.Side.B, 0), MultiplyStep.Element.TF32, 100, 500, 416, 32, 256);
    for (int which = 0; which < 16; which++) {
      boolean transposeA = (which & 1) != 0;
      boolean transposeB = (which & 2) != 0;
      long pad = (which & 4) != 0 ? 4 : 3;
      boolean evenB = (which & 8) != 0;
      MultiplyProblem problem =
          new MultiplyProblem(
              new Extents(300, 100, 500),
              ElementType.FLOAT32,
              Precision.TF32,
              new Stored(transposeA, (transposeA ? 300 : 100) + pad),
              new Stored(transposeB, (transposeB ? 100 : 500) + 4),
              500,
              Factors.OVERWRITE,
              Batch.ONE);
      MultiplyStrategy.Tensor strategy = tensor("multiply_tf32_w4_128x256x384", problem);
      List<MultiplyStep> steps = strategy.steps(problem, true, evenB);
      boolean mappedA = !transposeA && pad == 4;
      boolean mappedB = transposeB && evenB;
      assertEquals(mappedA && mappedB ? 1 : 2, steps.size());
      MultiplyStep product = steps.get(steps.size() - 1);
      MultiplyStep.Side workspace = MultiplyStep.Side.WORKSPACE;
      assertEquals(
          mappedA
              ? storedA
              : new MultiplyStep.TensorMap(
                  at(workspace, 0), MultiplyStep.Element.FLOAT32, 128, 320, 512, 32, 128),
          product.maps().get(0));
      assertEquals(
          mappedB
              ? storedB
              : new MultiplyStep.TensorMap(
                  at(workspace, 320 * 128 * 4),
                  MultiplyStep.Element.FLOAT32,
                  128,
                  512,
                  512,
                  32,
                  256),
          product.maps().get(1));
      if (steps.size() == 2) {
        long[] words = steps.get(0).launch().words();
        assertEquals(mappedA ? 0 : 1, words[6], "copies of A");
        assertEquals(mappedB ? 0 : 1, words[14], "copies of B");
      }
    }
  }

  /** A batch in one launch each; where the copy engine cannot distinguish products, A is packed. */
  @Test
  void stepsOfABatch() {
    MultiplyStep.Side workspace = MultiplyStep.Side.WORKSPACE;
    MultiplyProblem one = MultiplyProblem.dense(192, 64, 136, ElementType.FLOAT32, false, true);
    String name = "multiply_split_w4_128x128x384";
    for (long strideA : new long[] {210 * 64, 210 * 64 + 4}) {
      boolean direct = strideA % 64 == 0;
      MultiplyProblem problem =
          one.withBatch(new MultiplyProblem.Batch(10, strideA, 136 * 64, 30_000));
      MultiplyStrategy.Tensor strategy = tensor(name, problem);
      assertEquals(10, strategy.atOnce());
      long packedA = 256; // flags of 10 x 2 x 2 tiles
      long packedB = packedA + 10L * 192 * 64 * 4;
      assertEquals(packedB + 10L * 3 * 256 * 64 * 2, strategy.workspaceBytes());
      List<MultiplyStep> steps = strategy.steps(problem, true, true);
      assertEquals(3, steps.size());
      MultiplyStep pack = steps.get(0);
      assertEquals(direct ? 0 : 10, pack.launch().words()[6], "copies of A");
      assertEquals(10, pack.launch().words()[14], "copies of B");
      MultiplyStep product = steps.get(1);
      assertEquals(
          new KernelLaunch(
              name,
              new LaunchConfig(40, 384, 205_824),
              192,
              136,
              136,
              2,
              2,
              2,
              10 * 256,
              ONE_FLOAT,
              0,
              10,
              direct ? 210 : 192,
              256,
              30_000,
              0),
          product.launch());
      assertEquals(
          direct
              ? new MultiplyStep.TensorMap(
                  at(MultiplyStep.Side.A, 0),
                  MultiplyStep.Element.FLOAT32,
                  64,
                  9 * 210 + 192,
                  256,
                  32,
                  128)
              : new MultiplyStep.TensorMap(
                  at(workspace, packedA), MultiplyStep.Element.FLOAT32, 64, 10 * 192, 256, 32, 128),
          product.maps().get(0));
    }
  }

  /** Parts go to the workspace, all in one launch, and are summed. */
  @Test
  void stepsOfParts() {
    MultiplyProblem problem = problem(130, 3000, 100, ElementType.FLOAT32); // 94 panels
    MultiplyStrategy.Tensor strategy =
        assertInstanceOf(
            MultiplyStrategy.Tensor.class,
            by("multiply_split_w4_128x128x384", problem, ABSENT, CUTTING));
    assertEquals(19, strategy.sums().parts()); // of five panels each, the last one of four
    List<MultiplyStep> steps = strategy.steps(problem, true, true);
    assertEquals(4, steps.size());
    long scratch = strategy.workspaceBytes() - 988_160; // 19 of 130 x 100, whole 256 bytes
    MultiplyStep product = steps.get(1);
    assertEquals(at(MultiplyStep.Side.WORKSPACE, scratch), product.pointers().get(0));
    MultiplyStep sum = steps.get(3);
    assertEquals(
        new KernelLaunch(
            "multiply_parts_w4_256",
            new LaunchConfig(51, 256, 0),
            130,
            100,
            100,
            1,
            19,
            ONE_FLOAT,
            0,
            1,
            0),
        sum.launch());
    assertEquals(
        List.of(at(MultiplyStep.Side.WORKSPACE, scratch), at(MultiplyStep.Side.C, 0)),
        sum.pointers());
  }
}
