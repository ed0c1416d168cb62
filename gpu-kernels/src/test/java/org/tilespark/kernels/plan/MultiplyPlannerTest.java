package org.tilespark.kernels.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.plan.MultiplyPlanner.CublasPresence;
import org.tilespark.layout.ElementType;

class MultiplyPlannerTest {
  private static final DeviceLimits H200 =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 65535, 65535, 48 << 10, 140L << 30);
  private static final DeviceLimits OLD =
      new DeviceLimits(7, 0, 80, 1024, Integer.MAX_VALUE, 65535, 65535, 48 << 10, 16L << 30);
  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel multiply_tiled multiply_tiled_w4_128x128x256 sm_90a
          kernel multiply_tiled multiply_tiled_w4_64x64x128 sm_90a
          kernel multiply_tiled multiply_tiled_w4_32x32x64 sm_90a
          kernel multiply_tiled multiply_tiled_w8_64x64x128 sm_90a
          kernel multiply_tiled multiply_tiled_w8_32x32x128 sm_90a
          kernel add_tile add_tile_w4_256 sm_90a
          kernel add_tile add_tile_w8_256 sm_90a
          """);
  private static final CublasPresence ABSENT = CublasPresence.absent("no such library");

  private static MultiplyProblem problem(long m, long k, long n, ElementType type) {
    return MultiplyProblem.dense(m, k, n, type, false, true);
  }

  private static MultiplyProblem of(Precision precision, long extent, boolean accumulate) {
    return new MultiplyProblem(
        extent,
        extent,
        extent,
        ElementType.FLOAT32,
        precision,
        false,
        false,
        Math.max(1, extent),
        Math.max(1, extent),
        Math.max(1, extent),
        accumulate);
  }

  private static MultiplyStrategy strategy(
      MultiplyProblem problem, MultiplyEngine engine, CublasPresence cublas) {
    return MultiplyPlanner.plan(problem, problem.k(), engine, cublas, H200, INDEX)
        .orElseThrow()
        .strategy();
  }

  private static String kernel(long m, long k, long n, ElementType type) {
    return assertInstanceOf(
            MultiplyStrategy.Tiled.class,
            strategy(problem(m, k, n, type), MultiplyEngine.OWN, ABSENT))
        .kernel();
  }

  @Test
  void tilesFillTheDevice() {
    assertEquals("multiply_tiled_w4_128x128x256", kernel(8192, 8192, 8192, ElementType.FLOAT32));
    assertEquals("multiply_tiled_w4_64x64x128", kernel(1000, 999, 1000, ElementType.FLOAT32));
    assertEquals("multiply_tiled_w4_32x32x64", kernel(1, 999, 5, ElementType.FLOAT32));
    assertEquals("multiply_tiled_w4_32x32x64", kernel(256, 1_000_000, 256, ElementType.FLOAT32));
    assertEquals("multiply_tiled_w8_64x64x128", kernel(8192, 8192, 8192, ElementType.FLOAT64));
    assertEquals("multiply_tiled_w8_32x32x128", kernel(100, 100, 100, ElementType.FLOAT64));
  }

  /** The launch as the kernel reads it. */
  @Test
  void launches() {
    MultiplyProblem problem =
        new MultiplyProblem(
            300, 1000, 65, ElementType.FLOAT32, Precision.FULL, true, false, 301, 70, 67, true);
    KernelLaunch launch =
        MultiplyPlanner.candidates(problem, problem.k(), ABSENT, H200, INDEX)
            .get(1)
            .launch()
            .orElseThrow();
    assertEquals(
        new KernelLaunch(
            "multiply_tiled_w4_64x64x128",
            new LaunchConfig(5 * 2, 128, 0),
            300,
            1000,
            65,
            301,
            70,
            67,
            1,
            0,
            1,
            32,
            5,
            2),
        launch);
  }

  /** Neither of the two chains is much longer than sqrt(K): chunk + K / chunk is near its least. */
  @Test
  void chainsAreShort() {
    for (long k : new long[] {1, 15, 16, 64, 1000, 4096, 1_000_000, 10_000_000, 1L << 40}) {
      long chunk = MultiplyStrategy.Tiled.chunk(k);
      assertEquals(0, chunk % 16);
      double chains = Math.min(k, chunk) + (double) k / chunk;
      assertTrue(chains <= 2 * Math.sqrt((double) k) + 16, k + ": " + chains);
    }
  }

  @Test
  void nothingToDo() {
    for (long[] extents : new long[][] {{0, 5, 5}, {5, 5, 0}}) {
      MultiplyPlan plan =
          MultiplyPlanner.plan(
                  problem(extents[0], extents[1], extents[2], ElementType.FLOAT64),
                  extents[1],
                  MultiplyEngine.AUTO,
                  ABSENT,
                  H200,
                  INDEX)
              .orElseThrow();
      assertInstanceOf(MultiplyStrategy.Nothing.class, plan.strategy());
      assertTrue(plan.launch().isEmpty());
    }
    assertInstanceOf(
        MultiplyStrategy.Tiled.class, // writes zeros
        strategy(
            problem(5, 0, 5, ElementType.FLOAT32), MultiplyEngine.AUTO, CublasPresence.PRESENT));
    assertInstanceOf(
        MultiplyStrategy.Nothing.class,
        strategy(of(Precision.TF32, 0, true), MultiplyEngine.AUTO, ABSENT));
  }

  @Test
  void cublasForLargeProblemsWhereItIs() {
    MultiplyProblem large = problem(1024, 1024, 1024, ElementType.FLOAT64);
    MultiplyProblem small = problem(100, 100, 100, ElementType.FLOAT64);
    CublasPresence present = CublasPresence.PRESENT;
    MultiplyStrategy.Cublas cublas =
        assertInstanceOf(
            MultiplyStrategy.Cublas.class, strategy(large, MultiplyEngine.AUTO, present));
    assertEquals(32 << 20, cublas.workspaceBytes());
    assertInstanceOf(MultiplyStrategy.Tiled.class, strategy(small, MultiplyEngine.AUTO, present));
    assertInstanceOf(
        MultiplyStrategy.Cublas.class, strategy(small, MultiplyEngine.CUBLAS, present));
    assertInstanceOf(MultiplyStrategy.Tiled.class, strategy(large, MultiplyEngine.OWN, present));
    assertInstanceOf(MultiplyStrategy.Tiled.class, strategy(large, MultiplyEngine.AUTO, ABSENT));
    assertEquals(3, MultiplyPlanner.candidates(large, 1024, present, H200, INDEX).size());
  }

  /** The longer the sums, the longer the chains that cuBLAS may make of them. */
  @Test
  void chunksOfCublas() {
    long[][] chunks = {
      {1, 256}, {4096, 256}, {16_384, 256}, {20_000, 320}, {1_000_000, 2048}, {1L << 40, 8192}
    };
    for (long[] each : chunks) {
      assertEquals(each[1], MultiplyStrategy.Cublas.chunk(Precision.FULL, each[0]), "" + each[0]);
    }
    // Half a unit for each addition of either chain is within what is allowed, from 4096 terms on.
    for (long terms : new long[] {4096, 16_384, 100_000, 1_000_000, 10_000_000}) {
      long chunk = MultiplyStrategy.Cublas.chunk(Precision.FULL, terms);
      double units = chunk / 2.0 + Math.ceil((double) terms / chunk) / 2;
      assertTrue(units <= 2 * Math.sqrt((double) terms) + 16, terms + ": " + units);
    }
    assertEquals(8192, MultiplyStrategy.Cublas.chunk(Precision.TF32, 100));
    // Panels of a long sum, and a problem of its own.
    MultiplyProblem panel = problem(1024, 512, 1024, ElementType.FLOAT32);
    for (long terms : new long[] {1, 512, 1_000_000}) {
      assertEquals(
          new MultiplyStrategy.Cublas(Precision.FULL, terms < 1_000_000 ? 256 : 2048, 32 << 20),
          MultiplyPlanner.plan(
                  panel, terms, MultiplyEngine.CUBLAS, CublasPresence.PRESENT, H200, INDEX)
              .orElseThrow()
              .strategy());
    }
  }

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

  private static MultiplyStrategy by(String way, MultiplyProblem problem, CublasPresence cublas) {
    return MultiplyPlanner.plan(problem, problem.k(), new MultiplyWay(way), cublas, H200, INDEX)
        .orElseThrow()
        .strategy();
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
            256,
            1_000_000,
            300,
            ElementType.FLOAT32,
            Precision.FULL,
            false,
            true,
            1_000_003,
            1_000_007,
            301,
            true);
    MultiplyProblem trial = MultiplyPlanner.trial(tall);
    assertEquals(0x1p35 / (2 * 256 * 300), (double) trial.k(), 256);
    assertEquals(0, trial.k() % 256);
    assertTrue(trial.bytesA() <= tall.bytesA() && trial.bytesB() <= tall.bytesB());
    assertEquals(tall.bytesC(), trial.bytesC());
    assertEquals(256, MultiplyPlanner.trial(problem(16_384, 512, 16_384, ElementType.FLOAT64)).k());
    MultiplyProblem small = problem(100, 100, 100, ElementType.FLOAT64);
    assertEquals(small, MultiplyPlanner.trial(small));
  }

  @Test
  void additionsOfTiles() {
    assertEquals(
        new KernelLaunch("add_tile_w4_256", new LaunchConfig(2, 256, 0), 1025),
        MultiplyPlanner.addition(ElementType.FLOAT32, 1025, H200, INDEX));
    assertEquals(
        new KernelLaunch("add_tile_w8_256", new LaunchConfig(132 * 16, 256, 0), 1L << 33),
        MultiplyPlanner.addition(ElementType.FLOAT64, 1L << 33, H200, INDEX));
    Exception e =
        assertThrows(
            UnsupportedOperationException.class,
            () -> MultiplyPlanner.addition(ElementType.FLOAT64, 1, OLD, INDEX));
    assertEquals("This jar has no kernel that adds tiles of FLOAT64 on sm_70", e.getMessage());
  }

  @Test
  void workspace() {
    assertEquals(32 << 20, MultiplyPlanner.mostWorkspaceBytes(CublasPresence.PRESENT, H200));
    assertEquals(4 << 20, MultiplyPlanner.mostWorkspaceBytes(CublasPresence.PRESENT, OLD));
    assertEquals(0, MultiplyPlanner.mostWorkspaceBytes(ABSENT, H200));
  }

  @Test
  void whatCannotBeDoneSaysWhy() {
    MultiplyDecision decision =
        MultiplyPlanner.plan(
            of(Precision.TF32, 100, false), 100, MultiplyEngine.AUTO, ABSENT, H200, INDEX);
    assertFalse(decision.isSupported());
    assertEquals(
        "Precision TF32 on a GPU needs cuBLAS, which is not there: no such library; ask for"
            + " precision FULL, or install cuBLAS",
        decision.describe());
    assertThrows(UnsupportedOperationException.class, decision::orElseThrow);
    assertInstanceOf(
        MultiplyStrategy.Cublas.class,
        strategy(of(Precision.TF32, 100, false), MultiplyEngine.AUTO, CublasPresence.PRESENT));
    assertEquals(
        "Engine CUBLAS is asked for, but it is not there: no such library",
        MultiplyPlanner.plan(
                of(Precision.FULL, 100, false), 100, MultiplyEngine.CUBLAS, ABSENT, H200, INDEX)
            .describe());
    assertEquals(
        "This jar has no kernel that multiplies FLOAT32 on sm_70",
        MultiplyPlanner.plan(
                of(Precision.FULL, 100, false), 100, MultiplyEngine.AUTO, ABSENT, OLD, INDEX)
            .describe());
    assertTrue(
        MultiplyPlanner.plan(
                of(Precision.FULL, 100, false),
                100,
                MultiplyEngine.AUTO,
                CublasPresence.PRESENT,
                OLD,
                INDEX)
            .isSupported());
    assertEquals(
        List.of(),
        MultiplyPlanner.candidates(of(Precision.TF32, 100, false), 100, ABSENT, H200, INDEX));
  }
}
