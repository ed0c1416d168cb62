package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.tilespark.kernels.multiply.PlannerFixture.ABSENT;
import static org.tilespark.kernels.multiply.PlannerFixture.CUTTING;
import static org.tilespark.kernels.multiply.PlannerFixture.H200;
import static org.tilespark.kernels.multiply.PlannerFixture.HOPPER;
import static org.tilespark.kernels.multiply.PlannerFixture.INDEX;
import static org.tilespark.kernels.multiply.PlannerFixture.by;
import static org.tilespark.kernels.multiply.PlannerFixture.doubles;
import static org.tilespark.kernels.multiply.PlannerFixture.problem;
import static org.tilespark.kernels.multiply.PlannerFixture.strategy;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.multiply.MultiplyPlanner.CublasPresence;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

/** The ways to choose from by trying, and what is done with one that was chosen. */
class MultiplyChoicesTest {
  /** In short sums cuBLAS would err by more than is allowed, however fast it is. */
  @Test
  void shortSumsAreNotLeftToCublas() {
    CublasPresence present = CublasPresence.PRESENT;
    MultiplyProblem flat = problem(8192, 512, 8192, ElementType.FLOAT32);
    assertInstanceOf(MultiplyStrategy.Tiled.class, strategy(flat, MultiplyEngine.AUTO, present));
    assertInstanceOf(MultiplyStrategy.Cublas.class, strategy(flat, MultiplyEngine.CUBLAS, present));
    for (long terms : new long[] {512, 1023, 1024, 8192}) {
      MultiplyPlan byRule =
          MultiplyPlanner.plan(flat, terms, MultiplyEngine.AUTO, present, H200, INDEX)
              .orElseThrow();
      List<MultiplyPlan> choices =
          MultiplyPlanner.choices(
              byRule,
              MultiplyPlanner.trial(flat),
              terms,
              MultiplyEngine.AUTO,
              present,
              H200,
              INDEX);
      boolean longEnough = terms >= 1024;
      assertEquals(longEnough, byRule.strategy() instanceof MultiplyStrategy.Cublas);
      assertEquals(byRule.strategy().way(), choices.get(0).strategy().way());
      assertEquals(longEnough ? 4 : 3, choices.size());
      assertEquals(
          longEnough,
          choices.stream().anyMatch(way -> way.strategy() instanceof MultiplyStrategy.Cublas));
    }
  }

  /** Where the engine is named for the sake of bits, only ways of the same bits are tried. */
  @Test
  void choicesOfOneOrder() {
    MultiplyProblem large = problem(4096, 4096, 4096, ElementType.FLOAT64);
    for (MultiplyEngine engine : new MultiplyEngine[] {MultiplyEngine.AUTO, MultiplyEngine.OWN}) {
      CublasPresence cublas = engine == MultiplyEngine.AUTO ? CublasPresence.PRESENT : ABSENT;
      MultiplyPlan byRule =
          MultiplyPlanner.plan(large, 4096, engine, cublas, H200, HOPPER).orElseThrow();
      List<String> names =
          MultiplyPlanner.choices(byRule, large, 4096, engine, cublas, H200, HOPPER).stream()
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
          MultiplyPlanner.plan(
                  problem, extent, new MultiplyWay(way), CublasPresence.PRESENT, H200, HOPPER)
              .orElseThrow()
              .strategy()
              .way());
    }
  }

  /**
   * Extents of one class may differ in whether rows would be copied, and so in the rule's order.
   */
  @Test
  void aNamedEngineTakesNoOtherOrder() {
    MultiplyProblem even = doubles(4096, false, false);
    MultiplyProblem ragged =
        MultiplyProblem.dense(4096, 4096, 4094, ElementType.FLOAT64, false, false);
    MultiplyPlan ofEven = byRule(even);
    MultiplyPlan ofRagged = byRule(ragged);
    assertEquals("FLOAT64", ofEven.strategy().order());
    assertEquals("FLOAT64, phased", ofRagged.strategy().order(), ofRagged.describe());
    assertTrue(keepsBits(ofEven, ofEven, MultiplyEngine.OWN));
    assertFalse(keepsBits(ofRagged, ofEven, MultiplyEngine.OWN));
    assertTrue(keepsBits(ofEven, ofRagged, MultiplyEngine.OWN)); // cannot be phased: by rule
    assertTrue(keepsBits(ofRagged, ofEven, MultiplyEngine.AUTO));
  }

  /** With the last columns in parts of K sums are made in another order than without. */
  @Test
  void restsAreAnOrderOfTheirOwn() {
    MultiplyProblem problem = problem(768, 256, 1536, ElementType.FLOAT64);
    MultiplyPlan rule =
        MultiplyPlanner.plan(problem, 256, MultiplyEngine.OWN, ABSENT, H200, CUTTING).orElseThrow();
    assertEquals("FLOAT64, the last columns apart", rule.strategy().order(), rule.describe());
    List<String> orders =
        MultiplyPlanner.choices(rule, problem, 256, MultiplyEngine.OWN, ABSENT, H200, CUTTING)
            .stream()
            .map(plan -> plan.strategy().order())
            .distinct()
            .toList();
    assertEquals(List.of(rule.strategy().order()), orders);
    MultiplyWay whole = new MultiplyWay("multiply_double_chain_nt_w8_128x64x384");
    assertTrue(
        MultiplyPlanner.candidates(problem, 256, ABSENT, H200, CUTTING).stream()
            .anyMatch(plan -> plan.strategy().way().equals(Optional.of(whole))));
    assertFalse(
        MultiplyPlanner.keepsBits(rule, 256, whole, MultiplyEngine.OWN, ABSENT, H200, CUTTING));
  }

  private static MultiplyPlan byRule(MultiplyProblem problem) {
    return (MultiplyPlan)
        MultiplyPlanner.plan(problem, problem.k(), MultiplyEngine.OWN, ABSENT, H200, HOPPER);
  }

  private static boolean keepsBits(MultiplyPlan plan, MultiplyPlan other, MultiplyEngine engine) {
    return MultiplyPlanner.keepsBits(
        plan,
        plan.problem().k(),
        other.strategy().way().orElseThrow(),
        engine,
        ABSENT,
        H200,
        HOPPER);
  }

  @Test
  void aChosenWayIsTaken() {
    CublasPresence present = CublasPresence.PRESENT;
    MultiplyProblem large = problem(4096, 4096, 4096, ElementType.FLOAT32);
    MultiplyProblem small = problem(10, 10, 10, ElementType.FLOAT32);
    for (MultiplyPlan plan : MultiplyPlanner.candidates(large, 4096, present, H200, INDEX)) {
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

  /** All of C, of K what takes a few milliseconds, in the memory of the whole. */
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
