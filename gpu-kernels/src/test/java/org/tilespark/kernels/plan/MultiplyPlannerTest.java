package org.tilespark.kernels.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
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

  /** The same, and what sm_90a alone has, but for what sums parts of K. */
  private static final String UNCUT =
      """
          kernel multiply_tiled multiply_tiled_w4_128x128x256 sm_90a
          kernel multiply_tiled multiply_tiled_w4_64x64x128 sm_90a
          kernel multiply_tiled multiply_tiled_w4_32x32x64 sm_90a
          kernel multiply_tiled multiply_tiled_w4_32x32x64 compute_80
          kernel multiply_tiled multiply_tiled_w8_64x64x128 sm_90a
          kernel multiply_tiled multiply_tiled_w8_32x32x128 sm_90a
          kernel multiply_tiled multiply_tiled_w8_32x32x128 compute_80
          kernel multiply_split multiply_split_w4_128x128x384 sm_90a dynamicBytes=205824
          kernel multiply_split multiply_split_across_w4_128x128x384 sm_90a dynamicBytes=205824
          kernel repair_split repair_split_w4_64x64x128 sm_90a
          kernel multiply_tensor multiply_float16_w2_128x256x384 sm_90a dynamicBytes=197632
          kernel multiply_tensor multiply_float16_w2_128x128x384 sm_90a dynamicBytes=197633
          kernel multiply_tensor multiply_bfloat16_w2_128x256x384 sm_90a dynamicBytes=197632
          kernel multiply_tensor multiply_tf32_w4_128x256x384 sm_90a dynamicBytes=197632
          kernel multiply_double multiply_double_tt_w8_128x64x384 sm_90a dynamicBytes=230400
          kernel multiply_double multiply_double_nt_w8_128x64x384 sm_90a dynamicBytes=230400
          kernel multiply_double multiply_double_tn_w8_128x64x384 sm_90a dynamicBytes=230400
          kernel multiply_double multiply_double_chain_tt_w8_128x64x384 sm_90a dynamicBytes=197632
          kernel multiply_double multiply_double_chain_nt_w8_128x64x384 sm_90a dynamicBytes=197632
          kernel multiply_double multiply_double_chain_tn_w8_128x64x384 sm_90a dynamicBytes=197632
          kernel multiply_double multiply_double_halves_tt_w8_128x64x384 sm_90a dynamicBytes=230400
          kernel multiply_double multiply_double_halves_nt_w8_128x64x384 sm_90a dynamicBytes=230400
          kernel multiply_double multiply_double_halves_tn_w8_128x64x384 sm_90a dynamicBytes=230400
          kernel multiply_double multiply_double_phased_tt_w8_128x64x384 sm_90a dynamicBytes=232448
          kernel multiply_double multiply_double_phased_tn_w8_128x64x384 sm_90a dynamicBytes=232448
          kernel pack pack_split_w2_256 sm_90a
          kernel pack pack_split_mixed_w2_256 sm_90a
          kernel pack pack_float16_w2_256 sm_90a
          kernel pack pack_bfloat16_w2_256 sm_90a
          kernel pack pack_tf32_w4_256 sm_90a
          kernel pack pack_rows_w8_256 sm_90a
          """;

  private static final KernelIndex HOPPER = KernelIndex.parse(UNCUT);

  /** All of it. */
  private static final KernelIndex CUTTING =
      KernelIndex.parse(
          UNCUT
              + """
              kernel multiply_parts multiply_parts_w4_256 sm_90a
              kernel multiply_parts multiply_parts_w8_256 sm_90a
              """);

  private static final DeviceLimits LATER =
      new DeviceLimits(10, 0, 148, 1024, Integer.MAX_VALUE, 65535, 65535, 48 << 10, 180L << 30);
  private static final CublasPresence ABSENT = CublasPresence.absent("no such library");

  private static MultiplyProblem problem(long m, long k, long n, ElementType type) {
    return MultiplyProblem.dense(m, k, n, type, false, true);
  }

  private static MultiplyProblem doubles(long extent, boolean transposeA, boolean transposeB) {
    return MultiplyProblem.dense(
        extent, extent, extent, ElementType.FLOAT64, transposeA, transposeB);
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
            2,
            1,
            0,
            0,
            0,
            1000),
        launch);
  }

  /** Neither of the two chains is much longer than sqrt(K): chunk + K / chunk is near its least. */
  @Test
  void chainsAreShort() {
    for (long k : new long[] {1, 4, 9, 15, 16, 64, 1000, 4096, 1_000_000, 10_000_000, 1L << 40}) {
      long chunk = MultiplyStrategy.Tiled.chunk(k);
      assertTrue(chunk % 16 == 0 || k <= 16, k + ": " + chunk);
      double chains = Math.min(k, chunk) + Math.ceil((double) k / chunk);
      assertTrue(chains <= 2 * Math.sqrt((double) k) + (k <= 16 ? 0.3 : 16), k + ": " + chains);
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
    return by(way, problem, cublas, INDEX);
  }

  private static MultiplyStrategy by(
      String way, MultiplyProblem problem, CublasPresence cublas, KernelIndex index) {
    return MultiplyPlanner.plan(problem, problem.k(), new MultiplyWay(way), cublas, H200, index)
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
        "Precision TF32 on sm_90 needs cuBLAS, which is not there: no such library; ask for"
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

  /** What is taken by rule on a device that has all the kernels: the way's name, or a prefix. */
  @Test
  void tensorCoresByRule() {
    MultiplyEngine auto = MultiplyEngine.AUTO;
    MultiplyEngine own = MultiplyEngine.OWN;
    CublasPresence present = CublasPresence.PRESENT;
    ElementType f = ElementType.FLOAT32;
    ElementType d = ElementType.FLOAT64;
    String split = "multiply_split";
    Object[][] rules = {
      // Float is split where there is work enough, cuBLAS or not.
      {problem(4096, 4096, 4096, f), auto, present, split},
      {problem(4096, 4096, 4096, f), auto, ABSENT, split},
      {problem(4096, 4096, 4096, f), own, ABSENT, split},
      {problem(4096, 4096, 4096, f), MultiplyEngine.CUBLAS, present, "cublas"},
      {problem(1024, 1024, 1024, f), auto, present, split},
      {problem(16_384, 16_384, 128, f), auto, present, split},
      {problem(16_384, 128, 16_384, f), auto, present, split},
      {problem(500, 500, 500, f), auto, present, "multiply_tiled"},
      {problem(256, 1_000_000, 256, f), auto, present, "cublas"}, // four tiles
      {problem(256, 1_000_000, 256, f), own, present, "multiply_tiled"},
      {problem(8192, 32, 8192, f), auto, present, "multiply_tiled"},
      {problem(8192, 8192, 16, f), auto, present, "cublas"},
      // Double: large products.
      {problem(4096, 4096, 4096, d), auto, present, "multiply_double_nt_w8_128x64x384"},
      {problem(4096, 4096, 4096, d), auto, ABSENT, "multiply_double_nt_w8_128x64x384"},
      {problem(4096, 4096, 4096, d), own, present, "multiply_double_nt_w8_128x64x384"},
      {problem(4095, 4099, 4097, d), auto, present, "multiply_double_nt_w8_128x64x384"},
      {problem(4096, 512, 4096, d), auto, present, "multiply_double_nt"}, // too short for cuBLAS
      {doubles(4096, false, false), auto, present, "multiply_double_tt_w8_128x64x384"},
      {doubles(4096, true, false), auto, present, "multiply_double_tn_w8_128x64x384"},
      {doubles(4096, true, true), auto, present, "multiply_double_tt_w8_128x64x384"},
      {doubles(1024, false, false), auto, present, "multiply_double_halves_tt_w8_128x64x384"},
      {problem(1024, 1024, 1023, d), auto, present, "cublas"},
      {doubles(1024, false, false), auto, ABSENT, "multiply_double_halves_tt_w8_128x64x384"},
      {problem(256, 1_000_000, 256, d), auto, present, "cublas"},
      {problem(100, 100, 100, d), auto, ABSENT, "multiply_tiled"},
      // Lower precisions of any size: cuBLAS would not round.
      {of(Precision.FLOAT16, 4096, false), auto, present, "multiply_float16_w2_128x256x384"},
      {of(Precision.FLOAT16, 100, false), auto, present, "multiply_float16"},
      {of(Precision.FLOAT16, 100, false), auto, ABSENT, "multiply_float16_w2_128x128x384"},
      {of(Precision.BFLOAT16, 3, true), own, present, "multiply_bfloat16"},
      {of(Precision.BFLOAT16, 2048, true), auto, present, "multiply_bfloat16"},
      {of(Precision.BFLOAT16, 2047, true), auto, present, "multiply_bfloat16"},
      {of(Precision.TF32, 4096, true), auto, ABSENT, "multiply_tf32"},
      {of(Precision.TF32, 4096, true), auto, present, "multiply_tf32"},
      {of(Precision.TF32, 23, false), auto, present, "multiply_tf32"},
      {of(Precision.TF32, 4096, true), MultiplyEngine.CUBLAS, present, "cublas"},
    };
    for (Object[] rule : rules) {
      MultiplyProblem problem = (MultiplyProblem) rule[0];
      String way =
          MultiplyPlanner.plan(
                  problem,
                  problem.k(),
                  (MultiplyEngine) rule[1],
                  (CublasPresence) rule[2],
                  H200,
                  HOPPER)
              .orElseThrow()
              .strategy()
              .way()
              .orElseThrow()
              .name();
      assertTrue(way.startsWith((String) rule[3]), problem + " " + rule[1] + ": " + way);
    }
    // On other architectures nothing of this runs.
    for (DeviceLimits limits : List.of(OLD, LATER)) {
      assertFalse(
          MultiplyPlanner.candidates(problem(4096, 4096, 4096, f), 4096, present, limits, HOPPER)
              .stream()
              .anyMatch(plan -> plan.strategy() instanceof MultiplyStrategy.Tensor));
      assertFalse(
          MultiplyPlanner.plan(of(Precision.TF32, 4096, true), 4096, own, ABSENT, limits, HOPPER)
              .isSupported());
      assertEquals(
          0,
          MultiplyPlanner.mostWorkspaceBytes(problem(4096, 4096, 4096, f), ABSENT, limits, HOPPER));
    }
    // What lacks a part is not there.
    KernelIndex noRepair =
        KernelIndex.parse(
            """
            kernel multiply_split multiply_split_w4_128x128x384 sm_90a
            kernel pack pack_split_mixed_w2_256 sm_90a
            """);
    assertEquals(
        List.of(),
        MultiplyPlanner.candidates(problem(4096, 4096, 4096, f), 4096, ABSENT, H200, noRepair));
  }

  private static MultiplyStrategy.Tensor tensor(String kernel, MultiplyProblem problem) {
    return MultiplyPlanner.candidates(problem, problem.k(), ABSENT, H200, HOPPER).stream()
        .map(MultiplyPlan::strategy)
        .filter(strategy -> strategy.way().equals(Optional.of(new MultiplyWay(kernel))))
        .map(MultiplyStrategy.Tensor.class::cast)
        .findFirst()
        .orElseThrow();
  }

  private static MultiplyStep.Place at(MultiplyStep.Side side, long bytes) {
    return new MultiplyStep.Place(side, bytes);
  }

  /** Two chunks of K, A as it lies where it can; the words are fields of structs in the kernels. */
  @Test
  void stepsOfASplit() {
    MultiplyProblem problem =
        new MultiplyProblem(
            300,
            8200,
            129,
            ElementType.FLOAT32,
            Precision.FULL,
            false,
            false,
            8204,
            131,
            140,
            false);
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
                0,
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
                0,
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
    assertEquals(1, second.launch().words()[7], "adds");
    MultiplyStep packed = steps.get(3);
    assertEquals(at(MultiplyStep.Side.B, 8192L * 131 * 4), packed.pointers().get(2));
    assertEquals(8, packed.launch().words()[9]);
    // An A that begins unevenly is copied, beside B.
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
              300, 70, 129, ElementType.FLOAT32, Precision.FULL, true, true, lead, 70, 129, true);
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
            300, 100, 500, ElementType.FLOAT32, Precision.FLOAT16, true, true, 301, 104, 500, true);
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
                    1,
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
              300,
              100,
              500,
              ElementType.FLOAT32,
              Precision.TF32,
              transposeA,
              transposeB,
              (transposeA ? 300 : 100) + pad,
              (transposeB ? 100 : 500) + 4,
              500,
              false);
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

  /** The map of doubles as DoubleArguments says, along K or across. */
  private static MultiplyStep.TensorMap doubles(
      MultiplyStep.Place from, long cols, long rows, long lead, boolean across, int tile) {
    return new MultiplyStep.TensorMap(
        from,
        MultiplyStep.Element.FLOAT64,
        across ? List.of(16L, rows, (cols + 15) / 16, 1L) : List.of(cols, rows, 1L, 1L),
        List.of(lead * 8, across ? 128L : lead * 8, lead * 8),
        across ? List.of(16, 16, tile / 16, 1) : List.of(16, tile, 1, 1));
  }

  /** Kernels that are not phased read the first map of an operand alone. */
  private static List<MultiplyStep.TensorMap> twice(
      MultiplyStep.TensorMap left, MultiplyStep.TensorMap right) {
    return List.of(left, left, right, right);
  }

  /** The map of every other row, as DoubleArguments says. */
  private static MultiplyStep.TensorMap phase(
      MultiplyStep.Place from, long cols, long rows, long lead, int tile) {
    return new MultiplyStep.TensorMap(
        from,
        MultiplyStep.Element.FLOAT64,
        List.of(cols, rows, 1L),
        List.of(2 * lead * 8, 2 * lead * 8),
        List.of(tile + 2, 8, 1),
        false);
  }

  /**
   * Where stored across, doubles lie as they are for a phased kernel: even and odd rows apart,
   * those that begin at an odd double read from the one before on.
   */
  @Test
  void stepsOfPhasedDoubles() {
    MultiplyProblem problem =
        new MultiplyProblem(
            304, 1001, 65, ElementType.FLOAT64, Precision.FULL, true, false, 306, 67, 67, true);
    MultiplyStrategy.Tensor strategy = tensor("multiply_double_phased_tn_w8_128x64x384", problem);
    assertEquals("FLOAT64, phased", strategy.order());
    MultiplyStep.Side a = MultiplyStep.Side.A;
    MultiplyStep.Side b = MultiplyStep.Side.B;
    for (int which = 0; which < 4; which++) {
      int oddA = which & 1;
      int oddB = which >> 1;
      assertEquals(
          List.of(
              new MultiplyStep(
                  new KernelLaunch(
                      "multiply_double_phased_tn_w8_128x64x384",
                      new LaunchConfig(6, 384, 232_448),
                      304, // rows, cols and their steps in C
                      65,
                      67,
                      1,
                      63, // panels, and 16 to a chain
                      16,
                      3, // tiles
                      2,
                      1, // adds
                      1,
                      0,
                      1, // all of K is one part
                      63,
                      0,
                      0,
                      0,
                      oddA == 0 ? 0b00 : 0b11,
                      oddB == 0 ? 0b10 : 0b01),
                  List.of(
                      phase(at(a, -8L * oddA), 304 + oddA, 501, 306, 128),
                      phase(at(a, 306 * 8 - 8L * oddA), 304 + oddA, 500, 306, 128),
                      phase(at(b, -8L * oddB), 65 + oddB, 501, 67, 64),
                      phase(at(b, 66 * 8 + 8L * oddB), 66 - oddB, 500, 67, 64)),
                  List.of(at(MultiplyStep.Side.C, 0)))),
          strategy.steps(problem, oddA == 0, oddB == 0));
    }
    // What lies along K is copied as before.
    MultiplyProblem plain =
        new MultiplyProblem(
            300,
            1001,
            192,
            ElementType.FLOAT64,
            Precision.FULL,
            false,
            false,
            1001,
            193,
            195,
            false);
    List<MultiplyStep> steps =
        tensor("multiply_double_phased_tt_w8_128x64x384", plain).steps(plain, true, true);
    MultiplyStep.TensorMap copied =
        doubles(at(MultiplyStep.Side.WORKSPACE, 0), 1001, 300, 1002, false, 64);
    assertEquals(2, steps.size());
    assertEquals(
        List.of(
            phase(at(b, 0), 192, 501, 193, 128),
            phase(at(b, 192 * 8), 193, 500, 193, 128),
            copied,
            copied),
        steps.get(1).maps());
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

  /** Phased kernels are for ragged rows across, and by rule for long K. */
  @Test
  void phasedByRule() {
    Object[][] cases = { // transposed; extents; K; what the kernel's family ends with
      {true, false, 4095, 4099, "_phased_tn"},
      {true, false, 4095, 511, "_tn"},
      {true, false, 4095, 512, "_phased_tn"},
      {true, false, 4096, 4099, "_double_tn"},
      {false, false, 4095, 4099, "_phased_tt"},
      {false, false, 4095, 100, "_phased_tt"},
      {true, true, 4095, 4099, "_double_tt"},
      {false, true, 4095, 4099, "_double_nt"},
    };
    for (Object[] each : cases) {
      int extent = (int) each[2];
      MultiplyProblem problem =
          MultiplyProblem.dense(
              extent,
              (int) each[3],
              extent,
              ElementType.FLOAT64,
              (boolean) each[0],
              (boolean) each[1]);
      String name =
          MultiplyPlanner.plan(problem, 4099, MultiplyEngine.OWN, ABSENT, H200, HOPPER)
              .orElseThrow()
              .strategy()
              .way()
              .orElseThrow()
              .name();
      assertTrue(name.contains(each[4] + "_w8_"), problem + ": " + name);
      assertTrue(((String) each[4]).contains("phased") == name.contains("phased"), name);
    }
    for (long lead : new long[] {255, 256}) {
      MultiplyProblem one =
          new MultiplyProblem(
              255,
              255,
              255,
              ElementType.FLOAT64,
              Precision.FULL,
              true,
              true,
              lead,
              lead,
              lead,
              false);
      assertEquals(
          lead == 256,
          MultiplyPlanner.plan(batch(one, 1024), 255, MultiplyEngine.OWN, ABSENT, H200, HOPPER)
              .orElseThrow()
              .describe()
              .contains("phased"));
    }
    // Of one step of K there are no odd rows.
    for (long k : new long[] {1, 2}) {
      MultiplyProblem flat = MultiplyProblem.dense(65, k, 65, ElementType.FLOAT64, true, false);
      assertEquals(
          k == 2,
          MultiplyPlanner.candidates(flat, k, ABSENT, H200, HOPPER).stream()
              .anyMatch(plan -> plan.describe().contains("phased")));
    }
  }

  /**
   * Doubles lie as they are where rows begin at multiples of 16 bytes and, across, end at whole 16
   * columns.
   */
  @Test
  void stepsOfDoubles() {
    MultiplyProblem problem =
        new MultiplyProblem(
            304, 1000, 65, ElementType.FLOAT64, Precision.FULL, true, false, 306, 66, 67, true);
    MultiplyStrategy.Tensor strategy = tensor("multiply_double_tn_w8_128x64x384", problem);
    MultiplyStep.Side workspace = MultiplyStep.Side.WORKSPACE;
    long packedB = 304 * 1000 * 8;
    assertEquals(packedB + 1000 * 80 * 8, strategy.workspaceBytes()); // whole 256 bytes
    assertEquals(
        List.of(
            new MultiplyStep(
                new KernelLaunch(
                    "pack_rows_w8_256", new LaunchConfig(1000, 256, 0), 1000, 65, 66, 80, 1, 0),
                List.of(),
                List.of(at(MultiplyStep.Side.B, 0), at(workspace, packedB))),
            new MultiplyStep(
                new KernelLaunch(
                    "multiply_double_tn_w8_128x64x384",
                    new LaunchConfig(6, 384, 230_400),
                    304, // rows, cols and their steps in C
                    65,
                    67,
                    1,
                    63, // panels, and 16 to a chain
                    16,
                    3, // tiles
                    2,
                    1, // adds
                    1,
                    0,
                    1, // all of K is one part
                    63,
                    0,
                    0,
                    0,
                    0,
                    0),
                twice(
                    doubles(at(MultiplyStep.Side.A, 0), 304, 1000, 306, true, 128),
                    doubles(at(workspace, packedB), 65, 1000, 80, true, 64)),
                List.of(at(MultiplyStep.Side.C, 0)))),
        strategy.steps(problem, true, true));
    assertEquals(3, strategy.steps(problem, false, true).size());
    assertTrue(strategy.describe().endsWith(", sums of 256"), strategy.describe());

    // Without transposes B is the left operand, and C is written across.
    MultiplyProblem plain =
        new MultiplyProblem(
            300,
            1001,
            192,
            ElementType.FLOAT64,
            Precision.FULL,
            false,
            false,
            1001,
            192,
            195,
            false);
    MultiplyStep pad =
        new MultiplyStep(
            new KernelLaunch(
                "pack_rows_w8_256", new LaunchConfig(300, 256, 0), 300, 1001, 1001, 1002, 1, 0),
            List.of(),
            List.of(at(MultiplyStep.Side.A, 0), at(workspace, 0)));
    for (boolean halves : new boolean[] {false, true}) {
      String name = "multiply_double" + (halves ? "_halves" : "") + "_tt_w8_128x64x384";
      assertEquals(
          List.of(
              pad,
              new MultiplyStep(
                  new KernelLaunch(
                      name,
                      new LaunchConfig(10, 384, 230_400),
                      192,
                      300,
                      1,
                      195,
                      63,
                      16,
                      2,
                      5,
                      0,
                      1,
                      0,
                      1,
                      halves ? 32 : 63,
                      0,
                      0,
                      0,
                      0,
                      0),
                  twice(
                      doubles(at(MultiplyStep.Side.B, 0), 192, 1001, 192, true, 128),
                      doubles(at(workspace, 0), 1001, 300, 1002, false, 64)),
                  List.of(at(MultiplyStep.Side.C, 0)))),
          tensor(name, plain).steps(plain, true, true));
    }

    // A thread block to a multiprocessor, which makes two tiles at a time.
    MultiplyProblem large = problem(4096, 4096, 4096, ElementType.FLOAT64);
    MultiplyStep run =
        tensor("multiply_double_nt_w8_128x64x384", large).steps(large, true, true).get(0);
    assertEquals(new LaunchConfig(132, 384, 230_400), run.launch().config());
    assertEquals(
        doubles(at(MultiplyStep.Side.B, 0), 4096, 4096, 4096, false, 64), run.maps().get(2));
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
        MultiplyPlanner.candidates(panel, 1 << 20, ABSENT, H200, HOPPER).stream()
            .map(MultiplyPlan::describe)
            .anyMatch(
                text -> text.contains("multiply_double_chain_nt_w8_128x64x384, sums of 5120")));
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

  private static MultiplyProblem batch(MultiplyProblem one, long count) {
    return one.withBatch(
        new MultiplyProblem.Batch(
            count, one.rowsA() * one.leadA(), one.rowsB() * one.leadB(), one.m() * one.leadC()));
  }

  private static MultiplyStrategy cutting(
      MultiplyProblem problem, MultiplyEngine engine, CublasPresence cublas) {
    return MultiplyPlanner.plan(problem, problem.k(), engine, cublas, H200, CUTTING)
        .orElseThrow()
        .strategy();
  }

  /** Tiles and products of all are what count; parts of K where tiles are few. */
  @Test
  void batchesAndPartsByRule() {
    MultiplyEngine auto = MultiplyEngine.AUTO;
    MultiplyEngine own = MultiplyEngine.OWN;
    CublasPresence present = CublasPresence.PRESENT;
    ElementType f = ElementType.FLOAT32;
    ElementType d = ElementType.FLOAT64;
    Object[][] rules = { // way, parts of K, products at once
      {batch(problem(256, 256, 256, f), 1024), auto, present, "multiply_split", 1L, 1024L},
      {batch(problem(256, 256, 256, f), 8), auto, present, "multiply_tiled", 0L, 0L}, // 32 tiles
      {batch(problem(256, 256, 256, f), 9), auto, present, "multiply_split", 1L, 9L},
      {batch(problem(32, 32, 32, f), 100_000), auto, present, "multiply_tiled", 0L, 0L},
      {batch(problem(256, 256, 256, f), 1024), MultiplyEngine.CUBLAS, present, "cublas", 0L, 0L},
      {batch(of(Precision.FLOAT16, 256, false), 1024), auto, present, "multiply_float", 1L, 1024L},
      {batch(of(Precision.TF32, 64, false), 65_536), auto, ABSENT, "multiply_tf32", 1L, 32_768L},
      {batch(doubles(256, false, false), 1024), auto, present, "multiply_double_chain", 1L, 1024L},
      {batch(doubles(272, false, false), 1024), auto, present, "multiply_double_tt", 1L, 907L},
      {batch(doubles(256, false, false), 5000), own, ABSENT, "multiply_double_chain", 1L, 1024L},
      {
        batch(doubles(64, true, false), 16_384),
        own,
        ABSENT,
        "multiply_double_chain_tn_w8_128x64",
        1L,
        16_384L
      },
      // Four tiles, in so many parts that the 132 multiprocessors have one each.
      {problem(256, 1_000_000, 256, f), auto, present, "multiply_split", 33L, 1L},
      {problem(256, 1_000_000, 256, f), own, ABSENT, "multiply_split", 33L, 1L},
      {problem(256, 1_000_000, 256, d), own, ABSENT, "multiply_double_nt", 33L, 1L},
      {problem(256, 1_000_000, 256, d), auto, present, "multiply_double_nt", 33L, 1L},
      {batch(problem(256, 100_000, 256, f), 3), auto, present, "multiply_split", 33L, 1L},
      {batch(problem(256, 100_000, 256, f), 17), auto, present, "multiply_split", 1L, 17L},
      {problem(1024, 1024, 1024, f), auto, present, "multiply_split", 2L, 1L}, // 64 tiles
      {problem(1024, 1024, 1024, d), auto, present, "multiply_double_halves_nt", 1L, 1L},
      {problem(1536, 1536, 1536, d), auto, present, "multiply_double_nt_w8_128x64", 1L, 1L}, // 288
      {problem(2048, 2048, 2048, d), auto, present, "multiply_double_nt_w8_128x64", 1L, 1L},
      {problem(1024, 1024, 1152, f), auto, present, "multiply_split", 1L, 1L}, // 72
      {problem(512, 2048, 512, f), auto, present, "multiply_split", 8L, 1L},
      {problem(512, 512, 512, f), auto, present, "multiply_tiled", 0L, 0L},
      // Four panels to a part at least.
      {problem(128, 16_384, 128, f), auto, present, "multiply_split", 128L, 1L},
      // Of these forms there are smaller tiles: parts where 128 x 128 are fewer than a third.
      {of(Precision.FLOAT16, 1024, false), own, ABSENT, "multiply_float16_w2_128x128", 1L, 1L},
      {of(Precision.FLOAT16, 640, false), own, ABSENT, "multiply_float16_w2_128x128", 2L, 1L},
    };
    for (Object[] rule : rules) {
      MultiplyProblem problem = (MultiplyProblem) rule[0];
      MultiplyStrategy strategy =
          cutting(problem, (MultiplyEngine) rule[1], (CublasPresence) rule[2]);
      String way = strategy.way().orElseThrow().name();
      assertTrue(way.startsWith((String) rule[3]), problem + " " + rule[1] + ": " + way);
      if (strategy instanceof MultiplyStrategy.Tensor tensor) {
        assertEquals(rule[4], tensor.parts(), problem.toString());
        assertEquals(rule[5], tensor.atOnce(), problem.toString());
        assertEquals(
            tensor.parts() > 1, tensor.describe().endsWith(" in " + tensor.parts() + " parts"));
      } else {
        assertEquals(0L, rule[4], way);
      }
    }
    // Kernels of other tiles have the same parts, and so the same bits; halves are another order.
    MultiplyProblem few = problem(300, 50_000, 300, d);
    assertEquals(
        Set.of("FLOAT64 14", "FLOAT64, halves 1"),
        MultiplyPlanner.candidates(few, few.k(), ABSENT, H200, CUTTING).stream()
            .map(MultiplyPlan::strategy)
            .filter(MultiplyStrategy.Tensor.class::isInstance)
            .map(strategy -> strategy.order() + " " + ((MultiplyStrategy.Tensor) strategy).parts())
            .collect(Collectors.toSet()));
    // A short K is not halved.
    for (long k : new long[] {112, 128}) {
      MultiplyProblem flat = problem(1024, k, 1024, d);
      assertEquals(
          k == 128,
          MultiplyPlanner.candidates(flat, k, ABSENT, H200, CUTTING).stream()
              .anyMatch(plan -> plan.describe().endsWith(" in halves")));
    }
  }

  /** Where tiles of doubles are some rounds and a few more, those few are made in parts of K. */
  @Test
  void restsOfDoubles() {
    ElementType d = ElementType.FLOAT64;
    MultiplyProblem problem = problem(1536, 1536, 1536, d);
    MultiplyStrategy.Tensor strategy =
        (MultiplyStrategy.Tensor) cutting(problem, MultiplyEngine.OWN, ABSENT);
    assertTrue(strategy.describe().endsWith(", the last columns in 11 parts"), strategy.describe());
    long scratch = 11L * 1536 * 128 * 8;
    assertEquals(2L * 1536 * 1536 * 8 + scratch, strategy.workspaceBytes());
    List<MultiplyStep> steps = strategy.steps(problem, true, true);
    assertEquals(3, steps.size());
    MultiplyStep whole = steps.get(0);
    MultiplyStep rest = steps.get(1);
    MultiplyStep sum = steps.get(2);
    assertEquals(1408, whole.launch().words()[1]); // 22 columns of tiles, two rounds
    assertEquals(128, rest.launch().words()[1]);
    assertEquals(11, rest.launch().words()[11]);
    assertEquals(at(MultiplyStep.Side.B, 1408 * 1536 * 8), rest.maps().get(2).from());
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
            11,
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
            .endsWith(", the last columns in 13 parts"));
  }

  /** The last columns are made in parts where nothing else is cut, and are summed. */
  @Test
  void restsThatCannotBe() {
    MultiplyStrategy.Tensor good =
        (MultiplyStrategy.Tensor)
            cutting(problem(1536, 1536, 1536, ElementType.FLOAT64), MultiplyEngine.OWN, ABSENT);
    Optional<KernelIndex.Kernel> summing = good.summing();
    assertEquals(good, withRest(good, TensorForm.FLOAT64, 1, summing, 1));
    String message =
        "The last columns in 11 parts; expected doubles, K whole for the others, one product at"
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
        of.kernel(),
        of.packers(),
        of.chunk(),
        of.chain(),
        of.processors(),
        parts,
        summing,
        of.rest(),
        atOnce,
        of.workspaceBytes());
  }

  /** The launch of a batch; A is where it lies, B is one for all. */
  @Test
  void launchesOfBatches() {
    MultiplyProblem problem =
        MultiplyProblem.dense(300, 1000, 65, ElementType.FLOAT32, false, false)
            .withBatch(new MultiplyProblem.Batch(7, 300_001, 0, 20_000));
    assertEquals(
        new KernelLaunch(
            "multiply_tiled_w4_64x64x128",
            new LaunchConfig(7 * 5 * 2, 128, 0),
            300,
            1000,
            65,
            1000,
            65,
            65,
            0,
            0,
            0,
            32,
            5,
            2,
            7,
            300_001,
            0,
            20_000,
            1000),
        MultiplyPlanner.candidates(problem, problem.k(), ABSENT, H200, INDEX)
            .get(1)
            .launch()
            .orElseThrow());
  }

  /** A batch in one launch each; where the copy engine cannot tell products apart, A is packed. */
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
    assertEquals(19, strategy.parts()); // of five panels each, the last one of four
    List<MultiplyStep> steps = strategy.steps(problem, true, true);
    assertEquals(4, steps.size());
    long scratch = strategy.workspaceBytes() - 988_160; // 19 of 130 x 100, whole 256 bytes
    MultiplyStep product = steps.get(1);
    assertEquals(at(MultiplyStep.Side.WORKSPACE, scratch), product.pointers().get(0));
    MultiplyStep sum = steps.get(3);
    assertEquals(
        new KernelLaunch(
            "multiply_parts_w4_256", new LaunchConfig(51, 256, 0), 130, 100, 100, 1, 19, 0, 1, 0),
        sum.launch());
    assertEquals(
        List.of(at(MultiplyStep.Side.WORKSPACE, scratch), at(MultiplyStep.Side.C, 0)),
        sum.pointers());
  }

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
          MultiplyPlanner.mostWorkspaceBytes(
              batch(sized(most, type, precision, transposeA, transposeB), count),
              ABSENT,
              H200,
              CUTTING);
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
            MultiplyPlanner.candidates(problem, 1 << 20, ABSENT, H200, CUTTING)) {
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
        extents[0],
        extents[1],
        extents[2],
        type,
        precision,
        transposeA,
        transposeB,
        transposeA ? extents[0] : extents[1],
        transposeB ? extents[1] : extents[2],
        extents[2],
        true);
  }

  /** What maps reach lies in the workspace or in the operand. */
  private static void requireInside(MultiplyStrategy.Tensor strategy, MultiplyProblem problem) {
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

  /** A way whose operands do not fit is none; frugal ways pack nothing. */
  @Test
  void withoutMemoryToPack() {
    DeviceLimits small =
        new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 65535, 65535, 48 << 10, 1L << 30);
    MultiplyProblem large = problem(16_384, 16_384, 16_384, ElementType.FLOAT32);
    CublasPresence present = CublasPresence.PRESENT;
    MultiplyEngine auto = MultiplyEngine.AUTO;
    assertEquals(
        Optional.of(MultiplyWay.CUBLAS),
        MultiplyPlanner.plan(large, 16_384, auto, present, small, HOPPER)
            .orElseThrow()
            .strategy()
            .way());
    assertEquals(1L << 28, MultiplyPlanner.mostWorkspaceBytes(large, present, small, HOPPER));
    Object[][] cases = {
      {large, auto, present, Optional.of("cublas")},
      {large, auto, ABSENT, Optional.of("multiply_tiled_w4_128x128x256")},
      {large, MultiplyEngine.OWN, present, Optional.of("multiply_tiled_w4_128x128x256")},
      {
        problem(4096, 512, 4096, ElementType.FLOAT32),
        auto,
        present,
        Optional.of("multiply_tiled_w4_128x128x256")
      },
      {of(Precision.TF32, 4096, false), auto, present, Optional.of("cublas")},
      {of(Precision.TF32, 4096, false), auto, ABSENT, Optional.empty()},
    };
    for (Object[] each : cases) {
      MultiplyProblem problem = (MultiplyProblem) each[0];
      assertEquals(
          each[3],
          MultiplyPlanner.frugalWay(
                  problem,
                  problem.k(),
                  (MultiplyEngine) each[1],
                  (CublasPresence) each[2],
                  H200,
                  HOPPER)
              .map(MultiplyWay::name),
          problem.toString());
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
      assertEquals(engine == MultiplyEngine.AUTO ? 5 : 1, names.size(), names.toString());
      assertTrue(names.contains("multiply_double_nt_w8_128x64x384"));
      assertEquals(
          engine == MultiplyEngine.AUTO, names.contains("multiply_double_halves_nt_w8_128x64x384"));
    }
    // What was chosen is taken, whatever the rule says, and for smaller products too.
    for (long extent : new long[] {10, 4096}) {
      MultiplyProblem problem = problem(extent, extent, extent, ElementType.FLOAT64);
      String way = "multiply_double_nt_w8_128x64x384";
      assertEquals(
          Optional.of(new MultiplyWay(way)),
          MultiplyPlanner.plan(
                  problem, extent, new MultiplyWay(way), CublasPresence.PRESENT, H200, HOPPER)
              .orElseThrow()
              .strategy()
              .way());
    }
  }

  @Test
  void mapsThatCannotBe() {
    MultiplyStep.Place from = at(MultiplyStep.Side.A, 0);
    MultiplyStep.Element element = MultiplyStep.Element.FLOAT32;
    assertEquals(128, new MultiplyStep.TensorMap(from, element, 1, 1, 16, 32, 256).boxRowBytes());
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () -> new MultiplyStep.TensorMap(from, element, 7, 5, 28, 32, 128));
    assertEquals(
        "Boxes of [32, 128] FLOAT32 of [7, 5], [28] bytes apart, cannot be copied", e.getMessage());
    assertThrows(
        IllegalArgumentException.class,
        () -> new MultiplyStep.TensorMap(from, element, 8, 5, 32, 32, 257));
    assertThrows(
        IllegalArgumentException.class,
        () -> new MultiplyStep.TensorMap(from, element, 8, 5, 32, 24, 128));
    assertThrows(
        IllegalArgumentException.class,
        () -> new MultiplyStep.TensorMap(from, element, 8, 5, 1L << 40, 32, 128));
    // Without swizzle rows of a box may have any number of whole 16 bytes.
    List<Long> sides = List.of(8L, 5L);
    new MultiplyStep.TensorMap(from, element, sides, List.of(32L), List.of(36, 1), false);
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new MultiplyStep.TensorMap(from, element, sides, List.of(32L), List.of(38, 1), false));
    // As many strides as axes but one, a box of as many extents, and no more axes than there is
    // room for.
    List<Integer> box = List.of(32, 1, 1, 1, 1);
    for (int axes = 1; axes <= 5; axes++) {
      for (int strides = 1; strides <= 4; strides++) {
        List<Long> extents = Collections.nCopies(axes, 5L);
        List<Long> strideBytes = Collections.nCopies(strides, 16L);
        List<Integer> boxOfAxes = box.subList(0, axes);
        if (axes >= 2 && axes <= 4 && strides == axes - 1) {
          new MultiplyStep.TensorMap(from, element, extents, strideBytes, boxOfAxes);
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  new MultiplyStep.TensorMap(
                      from, element, extents, strideBytes, box.subList(0, 1)));
        } else {
          assertThrows(
              IllegalArgumentException.class,
              () -> new MultiplyStep.TensorMap(from, element, extents, strideBytes, boxOfAxes));
        }
      }
    }
  }
}
