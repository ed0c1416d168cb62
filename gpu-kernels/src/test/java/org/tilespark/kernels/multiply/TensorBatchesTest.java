package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.tilespark.kernels.multiply.PlannerFixture.ABSENT;
import static org.tilespark.kernels.multiply.PlannerFixture.H200;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.Sampling;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.MultiplyStep.Place;
import org.tilespark.kernels.multiply.MultiplyStep.Side;
import org.tilespark.layout.ElementType;

/** Steps of batches and of products that are cut along K, by {@link SimulatedKernels}. */
class TensorBatchesTest {
  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel multiply_tiled multiply_tiled_w4_32x32x64 sm_90a
          kernel multiply_tiled multiply_tiled_w8_32x32x128 sm_90a
          kernel multiply_split multiply_split_w4_128x128x384 sm_90a
          kernel multiply_split multiply_split_across_w4_128x128x384 sm_90a
          kernel repair_split repair_split_w4_64x64x128 sm_90a
          kernel multiply_tensor multiply_float16_w2_128x256x384 sm_90a
          kernel multiply_tensor multiply_tf32_w4_128x128x384 sm_90a
          kernel multiply_tensor multiply_tf32_w4_256x128x384 sm_90a
          kernel multiply_mma multiply_mma_float16_w2_64x64x128 compute_80
          kernel multiply_mma multiply_mma_tf32_w4_128x128x256 compute_80
          kernel multiply_double multiply_double_tt_w8_64x128x384 sm_90a
          kernel multiply_double multiply_double_nt_w8_64x128x384 sm_90a
          kernel multiply_double multiply_double_tn_w8_64x128x384 sm_90a
          kernel multiply_double multiply_double_chain_tt_w8_128x64x384 sm_90a
          kernel multiply_fused multiply_fused_float16_nn_w4_128x256x384 sm_90a
          kernel multiply_fused multiply_fused_float16_nt_w4_128x256x384 sm_90a
          kernel multiply_fused multiply_fused_float16_tn_w4_128x256x384 sm_90a
          kernel multiply_fused multiply_fused_float16_tt_w4_128x256x384 sm_90a
          kernel multiply_fused multiply_fused_float16_nt_w4_128x128x256 sm_90a blocksPerProcessor=2
          kernel multiply_fused multiply_fused_tf32_nn_w4_128x256x384 sm_90a
          kernel multiply_fused multiply_fused_tf32_tn_w4_128x256x384 sm_90a
          kernel multiply_fused multiply_fused_tf32_tt_w4_128x256x384 sm_90a
          kernel pack pack_split_w2_256 sm_90a
          kernel pack pack_split_mixed_w2_256 sm_90a
          kernel pack pack_float16_w2_256 sm_90a
          kernel pack pack_tf32_w4_256 sm_90a
          kernel pack pack_rows_w8_256 sm_90a
          kernel multiply_parts multiply_parts_w4_256 sm_90a
          kernel multiply_parts multiply_parts_w8_256 sm_90a
          """);

  /** Layouts of a batch. */
  private enum Lie {
    BEHIND,
    APART,
    SAME_A,
    SAME_B,
    BESIDE
  }

  private static MultiplyProblem problem(
      long[] extents,
      Precision precision,
      ElementType type,
      int which,
      long pad,
      long count,
      Lie lie) {
    boolean transposeA = (which & 1) != 0;
    boolean transposeB = (which & 2) != 0;
    long m = extents[0];
    long k = extents[1];
    long n = extents[2];
    long leadA = (transposeA ? m : k) + pad;
    long leadB = (transposeB ? k : n) + pad;
    long leadC = n + pad;
    long beside = lie == Lie.BESIDE ? count : 1;
    long strideA = (transposeA ? k : m) * leadA;
    long strideB = (transposeB ? n : k) * leadB;
    MultiplyProblem.Batch batch =
        switch (lie) {
          case BEHIND -> new MultiplyProblem.Batch(count, strideA, strideB, m * leadC);
          case APART ->
              new MultiplyProblem.Batch(count, strideA + leadA, strideB + 3, m * leadC + 5);
          case SAME_A -> new MultiplyProblem.Batch(count, 0, strideB, m * leadC);
          case SAME_B -> new MultiplyProblem.Batch(count, strideA, 0, m * leadC);
          case BESIDE -> new MultiplyProblem.Batch(count, leadA, leadB, leadC);
        };
    return new MultiplyProblem(
        new Extents(m, k, n),
        type,
        precision,
        new Stored(transposeA, beside * leadA),
        new Stored(transposeB, beside * leadB),
        beside * leadC,
        pad == 0
            ? MultiplyProblem.Factors.OVERWRITE
            : pad % 2 == 1 ? new MultiplyProblem.Factors(2, 3) : new MultiplyProblem.Factors(-1, 0),
        batch);
  }

  /** Each form, storage and layout, with rows that begin evenly and not. */
  @Test
  void batches() {
    for (Object[] kind : kinds()) {
      for (Lie lie : Lie.values()) {
        for (int which = 0; which < 4; which++) {
          for (long pad : new long[] {0, 1, 4}) {
            if (Sampling.skips(lie.ordinal() + which + (int) pad, 2)) {
              continue;
            }
            MultiplyProblem problem =
                problem(
                    new long[] {10 + 6 * pad, 36 + pad, 16},
                    (Precision) kind[0],
                    (ElementType) kind[1],
                    which,
                    pad,
                    3,
                    lie);
            check(problem, which + pad);
          }
        }
      }
      // More than a tile, and more than a panel.
      check(
          problem(
              new long[] {130, 40, 131},
              (Precision) kind[0],
              (ElementType) kind[1],
              3,
              2,
              2,
              Lie.BEHIND),
          5);
    }
  }

  /**
   * Products of a split whose last half tile, or panel, would reach into the next one are copied
   * separately: the values there decide whether a tile is made in another order of sums.
   */
  @Test
  void raggedProductsOfASplitAreCopied() {
    Object[][] cases = {
      {new long[] {300, 256, 256}, 0, 8L, Side.WORKSPACE},
      {new long[] {320, 256, 256}, 0, 8L, Side.A},
      {new long[] {256, 250, 300}, 1, 8L, Side.WORKSPACE},
      {new long[] {256, 256, 300}, 1, 8L, Side.A},
    };
    for (Object[] each : cases) {
      MultiplyProblem problem =
          problem(
              (long[]) each[0],
              Precision.FULL,
              ElementType.FLOAT32,
              (int) each[1],
              0,
              (long) each[2],
              Lie.BEHIND);
      List<Side> seen =
          new MultiplyPlanner(new DeviceKernels(H200, INDEX), ABSENT, MultiplyEngine.AUTO)
              .candidates(problem, problem.k()).stream()
                  .filter(
                      plan ->
                          plan.strategy() instanceof MultiplyStrategy.Tensor tensor
                              && tensor.sums().parts() == 1)
                  .flatMap(
                      plan ->
                          ((MultiplyStrategy.Tensor) plan.strategy())
                              .steps(problem, true, true).stream())
                  .filter(step -> !step.maps().isEmpty())
                  .map(step -> step.maps().get(0).from().side())
                  .toList();
      assertEquals(List.of(each[3]), seen, problem.toString());
    }
  }

  /** Cut along K: one product, and products that go one after the other. */
  @Test
  void parts() {
    int cut = 0;
    for (Object[] kind : kinds()) {
      for (int which = 0; which < 4; which++) {
        for (long pad : new long[] {0, 3, 4}) {
          for (long count : new long[] {1, 2}) {
            if (Sampling.skips(which + (int) (pad + count), 2)) {
              continue;
            }
            MultiplyProblem problem =
                problem(
                    new long[] {5 + pad, 1100 - 7 * pad, 7},
                    (Precision) kind[0],
                    (ElementType) kind[1],
                    which,
                    pad,
                    count,
                    Lie.APART);
            cut += check(problem, which + pad);
          }
        }
      }
      // Several tiles; and more than a chunk.
      cut +=
          check(
              problem(
                  new long[] {130, 600, 12},
                  (Precision) kind[0],
                  (ElementType) kind[1],
                  0,
                  0,
                  1,
                  Lie.BEHIND),
              6);
      cut +=
          check(
              problem(
                  new long[] {3, 70_000, 2},
                  (Precision) kind[0],
                  (ElementType) kind[1],
                  3,
                  1,
                  1,
                  Lie.BEHIND),
              7);
    }
    assertTrue(cut >= (Sampling.FULL ? 4 * 24 : 4 * 12), cut + " products were cut");
  }

  /** A few tiles of DOUBLE more than a round: the last columns in parts of K. */
  @Test
  void rests() {
    DeviceLimits small = new DeviceLimits(9, 0, 4, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
    for (int which = 0; which < 4; which++) {
      for (long pad : new long[] {0, 3, 4}) {
        if (Sampling.skips(which + Long.bitCount(pad), 3)) {
          continue;
        }
        long[] extents = which == 0 ? new long[] {566, 400, 20} : new long[] {20, 400, 566};
        if (which == 1) {
          extents[0] = 32; // as many as may be read in place
        }
        MultiplyProblem problem =
            problem(extents, Precision.FULL, ElementType.FLOAT64, which, pad, 1, Lie.BEHIND);
        check(problem, which + pad, small);
        List<String> ways =
            new MultiplyPlanner(new DeviceKernels(small, INDEX), ABSENT, MultiplyEngine.AUTO)
                .candidates(problem, 1 << 20).stream()
                    .map(MultiplyPlan::describe)
                    .filter(text -> text.endsWith(", the last columns in 4 parts"))
                    .toList();
        assertTrue(!ways.isEmpty(), problem.toString());
      }
    }
  }

  private static List<Object[]> kinds() {
    return List.of(
        new Object[] {Precision.FULL, ElementType.FLOAT32},
        new Object[] {Precision.FULL, ElementType.FLOAT64},
        new Object[] {Precision.FLOAT16, ElementType.FLOAT32},
        new Object[] {Precision.TF32, ElementType.FLOAT32});
  }

  /** Checks all plans for a problem; returns how many of them cut K. */
  private static int check(MultiplyProblem problem, long seed) {
    return check(problem, seed, H200);
  }

  private static int check(MultiplyProblem problem, long seed, DeviceLimits limits) {
    int cut = 0;
    int tensors = 0;
    for (MultiplyPlan plan :
        new MultiplyPlanner(new DeviceKernels(limits, INDEX), ABSENT, MultiplyEngine.AUTO)
            .candidates(problem, 1 << 20)) {
      for (boolean even : new boolean[] {true, false}) {
        SimulatedKernels kernels =
            new SimulatedKernels(problem, plan.workspaceBytes(even, even), seed);
        if (plan.strategy() instanceof MultiplyStrategy.Tensor tensor) {
          tensors++;
          kernels.run(tensor.steps(problem, even, even));
          cut += tensor.sums().parts() > 1 ? 1 : 0;
        } else if (plan.launch().isPresent()) {
          kernels.tiled(
              plan.launch().get().words(),
              null,
              new Place(Side.A, 0),
              new Place(Side.B, 0),
              new Place(Side.C, 0));
        } else {
          continue;
        }
        kernels.check(plan);
      }
    }
    assertTrue(tensors > 0, problem.toString());
    return cut;
  }
}
