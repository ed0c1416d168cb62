package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.tilespark.kernels.multiply.PlannerFixture.ABSENT;
import static org.tilespark.kernels.multiply.PlannerFixture.CUTTING;
import static org.tilespark.kernels.multiply.PlannerFixture.H200;
import static org.tilespark.kernels.multiply.PlannerFixture.HOPPER;
import static org.tilespark.kernels.multiply.PlannerFixture.ONE_DOUBLE;
import static org.tilespark.kernels.multiply.PlannerFixture.at;
import static org.tilespark.kernels.multiply.PlannerFixture.cutting;
import static org.tilespark.kernels.multiply.PlannerFixture.doubles;
import static org.tilespark.kernels.multiply.PlannerFixture.problem;
import static org.tilespark.kernels.multiply.PlannerFixture.tensor;
import static org.tilespark.kernels.multiply.TensorWorkspaceTest.requireInside;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

/** Steps of products of DOUBLE; the words are fields of structs in the kernels. */
class DoubleStepsTest {
  /**
   * Operands of DOUBLE are read in place where rows begin at multiples of 16 bytes, and are copied
   * elsewhere.
   */
  @Test
  void stepsOfDoubles() {
    MultiplyProblem problem =
        new MultiplyProblem(
            new Extents(304, 1000, 65),
            ElementType.FLOAT64,
            Precision.FULL,
            new Stored(true, 306),
            new Stored(false, 67),
            67,
            Factors.ADD,
            Batch.ONE);
    MultiplyStrategy.Tensor strategy = tensor("multiply_double_tn_w8_64x128x384", problem);
    MultiplyStep.Side workspace = MultiplyStep.Side.WORKSPACE;
    long packedB = 304 * 1000 * 8;
    assertEquals(packedB + 528_128, strategy.workspaceBytes()); // 1000 x 66 in whole 256 bytes
    assertEquals(
        List.of(
            new MultiplyStep(
                new KernelLaunch(
                    "pack_rows_w8_256", new LaunchConfig(1000, 256, 0), 1000, 65, 67, 66, 1, 0),
                List.of(),
                List.of(at(MultiplyStep.Side.B, 0), at(workspace, packedB))),
            new MultiplyStep(
                new KernelLaunch(
                    "multiply_double_tn_w8_64x128x384",
                    new LaunchConfig(5, 384, 197_120),
                    304, // rows, cols and their steps in C
                    65,
                    67,
                    1,
                    63, // panels, and 16 to a chain
                    16,
                    5, // tiles
                    1,
                    ONE_DOUBLE, // is added
                    ONE_DOUBLE,
                    1,
                    0,
                    1, // all of K is one part
                    63,
                    0,
                    0,
                    0),
                List.of(
                    map(at(MultiplyStep.Side.A, 0), 304, 1000, 306, true, 64),
                    map(at(workspace, packedB), 65, 1000, 66, true, 64)),
                List.of(at(MultiplyStep.Side.C, 0)))),
        strategy.steps(problem, true, true));
    assertEquals(3, strategy.steps(problem, false, true).size());
    assertTrue(strategy.describe().endsWith(", sums of 256"), strategy.describe());

    // Without transposes B is the left operand, and C is written across.
    MultiplyProblem plain =
        new MultiplyProblem(
            new Extents(300, 1001, 192),
            ElementType.FLOAT64,
            Precision.FULL,
            new Stored(false, 1001),
            new Stored(false, 192),
            195,
            Factors.OVERWRITE,
            Batch.ONE);
    MultiplyStep pad =
        new MultiplyStep(
            new KernelLaunch(
                "pack_rows_w8_256", new LaunchConfig(300, 256, 0), 300, 1001, 1001, 1002, 1, 0),
            List.of(),
            List.of(at(MultiplyStep.Side.A, 0), at(workspace, 0)));
    String name = "multiply_double_tt_w8_64x128x384";
    assertEquals(
        List.of(
            pad,
            new MultiplyStep(
                new KernelLaunch(
                    name,
                    new LaunchConfig(9, 384, 197_120),
                    192,
                    300,
                    1,
                    195,
                    63,
                    16,
                    3,
                    3,
                    ONE_DOUBLE,
                    0,
                    1,
                    0,
                    1,
                    63,
                    0,
                    0,
                    0),
                List.of(
                    map(at(MultiplyStep.Side.B, 0), 192, 1001, 192, true, 64),
                    map(at(workspace, 0), 1001, 300, 1002, false, 64)),
                List.of(at(MultiplyStep.Side.C, 0)))),
        tensor(name, plain).steps(plain, true, true));

    // A thread block to a multiprocessor.
    MultiplyProblem large = problem(4096, 4096, 4096, ElementType.FLOAT64);
    MultiplyStep run =
        tensor("multiply_double_nt_w8_64x128x384", large).steps(large, true, true).get(0);
    assertEquals(new LaunchConfig(132, 384, 197_120), run.launch().config());
    assertEquals(map(at(MultiplyStep.Side.B, 0), 4096, 4096, 4096, false, 64), run.maps().get(1));

    // Rows may end anywhere, as long as the next ones begin evenly.
    MultiplyProblem padded =
        new MultiplyProblem(
            new Extents(303, 1001, 65),
            ElementType.FLOAT64,
            Precision.FULL,
            new Stored(true, 304),
            new Stored(false, 66),
            67,
            Factors.ADD,
            Batch.ONE);
    List<MultiplyStep> alone =
        tensor("multiply_double_tn_w8_64x128x384", padded).steps(padded, true, true);
    assertEquals(1, alone.size());
    assertEquals(
        List.of(
            map(at(MultiplyStep.Side.A, 0), 303, 1001, 304, true, 64),
            map(at(MultiplyStep.Side.B, 0), 65, 1001, 66, true, 64)),
        alone.get(0).maps());
  }

  /**
   * A quarter of a unit for each step of a chain and for each of its sums is within 2 sqrt(K), and
   * up to chains of 256 steps little more than 64.
   */
  @Test
  void chainsOfDoubles() {
    for (long k = 1; k < 1L << 40; k += 1 + k / 7) {
      long chain = 16 * MultiplyStrategy.Tensor.chain(k);
      // The first chain of a tile may be shorter than the others.
      double units = Math.min(k, chain) / 4.0 + (Math.ceil((double) k / chain) + 1) / 4;
      double most = k > 1100 ? 2 * Math.sqrt((double) k) : 256 / 4.0 + 1.5;
      assertTrue(units <= most, k + ": " + units);
    }
    // By the terms of the whole sum: a panel of a long one is one chain.
    MultiplyProblem panel = problem(4096, 512, 4096, ElementType.FLOAT64);
    assertTrue(
        new MultiplyPlanner(new DeviceKernels(H200, HOPPER), ABSENT, MultiplyEngine.AUTO)
            .candidates(panel, 1 << 20).stream()
                .map(MultiplyPlan::describe)
                .anyMatch(
                    text -> text.contains("multiply_double_chain_nt_w8_128x64x384, sums of 6144")));
  }

  /** If tiles of DOUBLE are some rounds and a few more, those few are made in parts of K. */
  @Test
  void restsOfDoubles() {
    ElementType d = ElementType.FLOAT64;
    MultiplyProblem problem = problem(1536, 1536, 1536, d);
    MultiplyStrategy.Tensor strategy =
        (MultiplyStrategy.Tensor) cutting(problem, MultiplyEngine.OWN, ABSENT);
    assertTrue(strategy.describe().endsWith(", the last columns in 5 parts"), strategy.describe());
    long scratch = 5L * 1536 * 128 * 8;
    assertEquals(2L * 1536 * 1536 * 8 + scratch, strategy.workspaceBytes());
    List<MultiplyStep> steps = strategy.steps(problem, true, true);
    assertEquals(3, steps.size());
    MultiplyStep whole = steps.get(0);
    MultiplyStep rest = steps.get(1);
    MultiplyStep sum = steps.get(2);
    assertEquals(1408, whole.launch().words()[1]); // 11 columns of tiles, two rounds
    assertEquals(128, rest.launch().words()[1]);
    assertEquals(5, rest.launch().words()[12]);
    assertEquals(at(MultiplyStep.Side.B, 1408 * 1536 * 8), rest.maps().get(1).from());
    MultiplyStep.Place parts = at(MultiplyStep.Side.WORKSPACE, 2L * 1536 * 1536 * 8);
    assertEquals(List.of(parts), rest.pointers());
    assertEquals(List.of(parts, at(MultiplyStep.Side.C, 1408 * 8)), sum.pointers());
    assertEquals(
        new KernelLaunch(
            "multiply_parts_w8_256",
            new LaunchConfig(768, 256, 0),
            1536,
            128,
            1536,
            1,
            5,
            ONE_DOUBLE,
            0,
            1,
            0),
        sum.launch());
    // Rounds that are full, or nearly; a rest of many tiles; a rest of so few that it saves little.
    Object[][] none = {{1408, 1536}, {2048, 2048}, {3072, 3072}, {8192, 8192}, {1024, 1024}};
    for (Object[] each : none) {
      MultiplyProblem even =
          MultiplyProblem.dense((int) each[0], 4096, (int) each[1], d, false, true);
      assertFalse(
          cutting(even, MultiplyEngine.OWN, ABSENT).describe().contains("the last columns"),
          even.toString());
    }
    MultiplyProblem exchanged = doubles(2560, false, false);
    assertTrue(
        cutting(exchanged, MultiplyEngine.OWN, ABSENT)
            .describe()
            .endsWith(", the last columns in 3 parts"));
  }

  /**
   * Extents that are no multiples of tiles, rows that begin unevenly, plain sums and others: whole
   * rounds go to C, the rest to scratch after all copies, and its sums to the rest of C.
   */
  @Test
  void restsWithRaggedEdges() {
    MultiplyProblem.Factors[] factors = {
      MultiplyProblem.Factors.OVERWRITE,
      MultiplyProblem.Factors.ADD,
      new MultiplyProblem.Factors(-3, 0),
      new MultiplyProblem.Factors(-3, 0.5)
    };
    for (int which = 0; which < 16; which++) {
      boolean transposeA = (which & 1) != 0;
      boolean transposeB = (which & 2) != 0;
      MultiplyProblem problem =
          new MultiplyProblem(
                  new Extents(1530, 520, 1540),
                  ElementType.FLOAT64,
                  Precision.FULL,
                  new Stored(transposeA, transposeA ? 1533 : 521),
                  new Stored(transposeB, transposeB ? 523 : 1541),
                  1543,
                  Factors.OVERWRITE,
                  Batch.ONE)
              .withFactors(factors[which >> 2]);
      List<MultiplyStrategy.Tensor> withRest =
          new MultiplyPlanner(new DeviceKernels(H200, CUTTING), ABSENT, MultiplyEngine.AUTO)
              .candidates(problem, problem.k()).stream()
                  .filter(plan -> plan.describe().contains("the last columns"))
                  .map(plan -> (MultiplyStrategy.Tensor) plan.strategy())
                  .toList();
      assertEquals(1, withRest.size(), problem.toString());
      for (MultiplyStrategy.Tensor strategy : withRest) {
        requireInside(strategy, problem);
        for (boolean even : new boolean[] {false, true}) {
          requireRest(strategy, problem, strategy.steps(problem, even, even));
        }
      }
    }
  }

  /**
   * The last steps make two columns of tiles of 64 x 128, after 11, or 10 where B is the left
   * operand.
   */
  private static void requireRest(
      MultiplyStrategy.Tensor strategy, MultiplyProblem problem, List<MultiplyStep> steps) {
    boolean exchanged = !problem.a().transposed() && !problem.b().transposed();
    long rows = exchanged ? 1540 : 1530;
    long cols = exchanged ? 1530 : 1540;
    long from = exchanged ? 10 * 128 : 11 * 128;
    long rest = cols - from;
    long parts = 2;
    long partPanels = 17; // of 33
    String text = problem + ": " + strategy;
    assertEquals(new MultiplyStrategy.Tensor.Rest(from, parts), strategy.sums().rest(), text);
    long scratchBytes = (parts * rows * rest * 8 + 255) / 256 * 256;
    MultiplyStep.Place scratch =
        at(MultiplyStep.Side.WORKSPACE, strategy.workspaceBytes() - scratchBytes);
    int copies = steps.size() - 3;
    for (MultiplyStep copy : steps.subList(0, copies)) {
      long[] words = copy.launch().words(); // rows, and columns as they are padded
      long end = copy.pointers().get(1).bytes() + words[0] * words[3] * 8;
      assertTrue(end <= scratch.bytes(), text);
    }

    MultiplyStep whole = steps.get(copies);
    assertEquals(List.of(at(MultiplyStep.Side.C, 0)), whole.pointers(), text);
    long alpha = Double.doubleToRawLongBits(problem.factors().alpha());
    long beta = Double.doubleToRawLongBits(problem.factors().beta());
    long[] wholeWords = whole.launch().words();
    assertArrayEquals(
        new long[] {
          rows,
          from,
          exchanged ? 1 : 1543,
          exchanged ? 1543 : 1,
          33,
          16,
          exchanged ? 25 : 24,
          from / 128,
          alpha,
          beta,
          1,
          0,
          1,
          33,
          0,
          0,
          0
        },
        wholeWords,
        text);

    MultiplyStep last = steps.get(copies + 1);
    assertEquals(whole.launch().kernel(), last.launch().kernel());
    assertEquals(List.of(scratch), last.pointers(), text);
    long[] lastWords = last.launch().words();
    assertArrayEquals(
        new long[] {
          rows,
          rest,
          exchanged ? 1 : rest,
          exchanged ? rows : 1,
          33,
          16,
          exchanged ? 25 : 24,
          (rest + 127) / 128,
          ONE_DOUBLE,
          0,
          1,
          0,
          parts,
          partPanels,
          rows * rest,
          0,
          0
        },
        lastWords,
        text);
    // The left operand is the same; the right one goes on where the first columns end.
    assertEquals(whole.maps().get(0), last.maps().get(0), text);
    MultiplyStep.TensorMap first = whole.maps().get(1);
    MultiplyStep.TensorMap second = last.maps().get(1);
    assertEquals(first.strideBytes(), second.strideBytes(), text);
    boolean across = !exchanged && !problem.b().transposed();
    long leadBytes = first.strideBytes().get(0);
    assertEquals(
        first.from().bytes() + from * (across ? 8 : leadBytes), second.from().bytes(), text);

    MultiplyStep sum = steps.get(copies + 2);
    assertEquals(
        List.of(scratch, at(MultiplyStep.Side.C, from * (exchanged ? 1543 : 1) * 8)),
        sum.pointers(),
        text);
    assertArrayEquals(
        new long[] {
          exchanged ? rest : 1530, exchanged ? 1540 : rest, 1543, 1, parts, alpha, beta, 1, 0
        },
        sum.launch().words(),
        text);
  }

  /** The last columns are made in parts where nothing else is cut, and are summed. */
  @Test
  void restsThatCannotBe() {
    MultiplyStrategy.Tensor good =
        (MultiplyStrategy.Tensor)
            cutting(problem(1536, 1536, 1536, ElementType.FLOAT64), MultiplyEngine.OWN, ABSENT);
    Optional<KernelIndex.Kernel> summing = good.kernels().summing();
    assertEquals(good, withRest(good, TensorForm.FLOAT64, 1, summing, 1));
    String message =
        "The last columns in 5 parts; expected doubles, K whole for the others, one product at"
            + " once, and a kernel that sums parts";
    for (Executable each :
        List.<Executable>of(
            () -> withRest(good, TensorForm.FLOAT64, 1, Optional.empty(), 1),
            () -> withRest(good, TensorForm.FLOAT64, 2, summing, 1),
            () -> withRest(good, TensorForm.FLOAT64, 1, summing, 2),
            () -> withRest(good, TensorForm.SPLIT, 1, summing, 1))) {
      assertEquals(message, assertThrows(IllegalArgumentException.class, each).getMessage());
    }
  }

  private static MultiplyStrategy.Tensor withRest(
      MultiplyStrategy.Tensor of,
      TensorForm form,
      long parts,
      Optional<KernelIndex.Kernel> summing,
      long atOnce) {
    return new MultiplyStrategy.Tensor(
        form,
        new MultiplyStrategy.Tensor.Kernels(of.kernel(), of.kernels().packers(), summing),
        new MultiplyStrategy.Tensor.Sums(
            of.sums().chunk(), of.sums().chain(), parts, of.sums().rest()),
        of.processors(),
        atOnce,
        of.workspaceBytes());
  }

  /** The map of DOUBLE operands for DoubleArguments, along K or across. */
  private static MultiplyStep.TensorMap map(
      MultiplyStep.Place from, long cols, long rows, long lead, boolean across, int tile) {
    return new MultiplyStep.TensorMap(
        from,
        MultiplyStep.Element.FLOAT64,
        List.of(cols, rows, 1L),
        List.of(lead * 8, lead * 8),
        List.of(16, across ? 16 : tile, 1));
  }
}
