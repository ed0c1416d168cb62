package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.tilespark.kernels.multiply.PlannerFixture.ABSENT;
import static org.tilespark.kernels.multiply.PlannerFixture.CUTTING;
import static org.tilespark.kernels.multiply.PlannerFixture.H200;
import static org.tilespark.kernels.multiply.PlannerFixture.HOPPER;
import static org.tilespark.kernels.multiply.PlannerFixture.INDEX;
import static org.tilespark.kernels.multiply.PlannerFixture.by;
import static org.tilespark.kernels.multiply.PlannerFixture.problem;
import static org.tilespark.kernels.multiply.PlannerFixture.strategy;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

/** The ways to choose from by trying, and what is done with one that was chosen. */
class MultiplyChoicesTest {
  /** In short sums cuBLAS would err by more than is allowed, however fast it is. */
  @Test
  void shortSumsAreNotLeftToCublas() {
    Availability<?> present = Availability.of("cuBLAS");
    MultiplyProblem flat = problem(8192, 512, 8192, ElementType.FLOAT32);
    assertInstanceOf(MultiplyStrategy.Tiled.class, strategy(flat, MultiplyEngine.AUTO, present));
    assertInstanceOf(MultiplyStrategy.Cublas.class, strategy(flat, MultiplyEngine.CUBLAS, present));
    for (long terms : new long[] {512, 1023, 1024, 8192}) {
      MultiplyPlan byRule =
          new MultiplyPlanner(new DeviceKernels(H200, INDEX), present, MultiplyEngine.AUTO)
              .plan(flat, terms)
              .get();
      List<MultiplyPlan> choices =
          new MultiplyPlanner(new DeviceKernels(H200, INDEX), present, MultiplyEngine.AUTO)
              .choices(byRule, MultiplyPlanner.trial(flat), terms);
      boolean longEnough = terms >= 1024;
      assertEquals(longEnough, byRule.strategy() instanceof MultiplyStrategy.Cublas);
      assertEquals(byRule.strategy().way(), choices.get(0).strategy().way());
      assertEquals(longEnough ? 4 : 3, choices.size());
      assertEquals(
          longEnough,
          choices.stream().anyMatch(way -> way.strategy() instanceof MultiplyStrategy.Cublas));
    }
  }

  /** If the engine is named for the sake of bits, only ways of the same bits are tried. */
  @Test
  void choicesOfOneOrder() {
    MultiplyProblem large = problem(4096, 4096, 4096, ElementType.FLOAT64);
    for (MultiplyEngine engine : new MultiplyEngine[] {MultiplyEngine.AUTO, MultiplyEngine.OWN}) {
      Availability<?> cublas = engine == MultiplyEngine.AUTO ? Availability.of("cuBLAS") : ABSENT;
      MultiplyPlan byRule =
          new MultiplyPlanner(new DeviceKernels(H200, HOPPER), cublas, engine)
              .plan(large, 4096)
              .get();
      List<String> names =
          new MultiplyPlanner(new DeviceKernels(H200, HOPPER), cublas, engine)
              .choices(byRule, large, 4096).stream()
                  .map(plan -> plan.strategy().way().orElseThrow().name())
                  .toList();
      assertEquals(byRule.strategy().way().orElseThrow().name(), names.get(0));
      assertEquals(engine == MultiplyEngine.AUTO ? 4 : 1, names.size(), names.toString());
      assertTrue(names.contains("multiply_double_nt_w8_64x128x384"));
      assertEquals(engine == MultiplyEngine.AUTO, names.contains("cublas"));
    }
    // What was chosen is taken, whatever the rule says, and for smaller products too.
    for (long extent : new long[] {10, 4096}) {
      MultiplyProblem problem = problem(extent, extent, extent, ElementType.FLOAT64);
      String way = "multiply_double_nt_w8_64x128x384";
      assertEquals(
          Optional.of(new MultiplyWay(way)),
          new MultiplyPlanner(
                  new DeviceKernels(H200, HOPPER), Availability.of("cuBLAS"), MultiplyEngine.AUTO)
              .plan(problem, extent, new MultiplyWay(way))
              .get()
              .strategy()
              .way());
    }
  }

  /** With the last columns in parts of K sums are made in another order than without. */
  @Test
  void restsAreAnOrderOfTheirOwn() {
    MultiplyProblem problem = problem(768, 256, 1536, ElementType.FLOAT64);
    MultiplyPlan rule =
        new MultiplyPlanner(new DeviceKernels(H200, CUTTING), ABSENT, MultiplyEngine.OWN)
            .plan(problem, 256)
            .get();
    assertEquals("FLOAT64, the last columns apart", rule.strategy().order(), rule.describe());
    List<String> orders =
        new MultiplyPlanner(new DeviceKernels(H200, CUTTING), ABSENT, MultiplyEngine.OWN)
            .choices(rule, problem, 256).stream()
                .map(plan -> plan.strategy().order())
                .distinct()
                .toList();
    assertEquals(List.of(rule.strategy().order()), orders);
    MultiplyWay whole = new MultiplyWay("multiply_double_chain_nt_w8_128x64x384");
    assertTrue(
        new MultiplyPlanner(new DeviceKernels(H200, CUTTING), ABSENT, MultiplyEngine.AUTO)
            .candidates(problem, 256).stream()
                .anyMatch(plan -> plan.strategy().way().equals(Optional.of(whole))));
    for (MultiplyEngine engine : MultiplyEngine.values()) {
      MultiplyPlanner planner =
          new MultiplyPlanner(new DeviceKernels(H200, CUTTING), ABSENT, engine);
      assertTrue(planner.keepsBits(rule, 256, rule.strategy().way().orElseThrow()));
      assertEquals(engine == MultiplyEngine.AUTO, planner.keepsBits(rule, 256, whole));
    }
  }

  @Test
  void aChosenWayIsTaken() {
    Availability<?> present = Availability.of("cuBLAS");
    MultiplyProblem large = problem(4096, 4096, 4096, ElementType.FLOAT32);
    MultiplyProblem small = problem(10, 10, 10, ElementType.FLOAT32);
    for (MultiplyPlan plan :
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), present, MultiplyEngine.AUTO)
            .candidates(large, 4096)) {
      MultiplyWay way = plan.strategy().way().orElseThrow();
      assertEquals(plan.strategy(), by(way.name(), large, present));
      assertEquals(Optional.of(way), by(way.name(), small, present).way());
    }
    // What it cannot do goes by rule, on the same engine: other sums would have other bits.
    assertInstanceOf(MultiplyStrategy.Tiled.class, by("multiply_tiled_w4_8x8x8", large, present));
    assertInstanceOf(
        MultiplyStrategy.Tiled.class,
        by("multiply_tiled_w4_32x32x64", problem(9, 9, 9, ElementType.FLOAT64), present));
    assertInstanceOf(
        MultiplyStrategy.Nothing.class,
        by("cublas", problem(0, 9, 9, ElementType.FLOAT64), present));
    assertInstanceOf(
        MultiplyStrategy.Tiled.class, by("cublas", problem(9, 0, 9, ElementType.FLOAT64), present));
    assertThrows(IllegalArgumentException.class, () -> new MultiplyWay("two words"));
    assertThrows(IllegalArgumentException.class, () -> new MultiplyWay(""));
  }

  /**
   * Trials take all of C, and of K as much as takes a few milliseconds, in the memory of the whole.
   */
  @Test
  void trialsAreShort() {
    MultiplyProblem tall =
        new MultiplyProblem(
            new Extents(256, 1_000_000, 300),
            ElementType.FLOAT32,
            Precision.FULL,
            new Stored(false, 1_000_003),
            new Stored(true, 1_000_007),
            301,
            Factors.ADD,
            Batch.ONE);
    MultiplyProblem trial = MultiplyPlanner.trial(tall);
    assertEquals(0x1p35 / (2 * 256 * 300), (double) trial.k(), 256);
    assertEquals(0, trial.k() % 256);
    assertTrue(trial.bytesA() <= tall.bytesA() && trial.bytesB() <= tall.bytesB());
    assertEquals(tall.bytesC(), trial.bytesC());
    assertEquals(256, MultiplyPlanner.trial(problem(16_384, 512, 16_384, ElementType.FLOAT64)).k());
    MultiplyProblem small = problem(100, 100, 100, ElementType.FLOAT64);
    assertEquals(small, MultiplyPlanner.trial(small));
  }
}
