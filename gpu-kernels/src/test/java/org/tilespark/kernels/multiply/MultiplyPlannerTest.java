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
import static org.tilespark.kernels.multiply.PlannerFixture.LATER;
import static org.tilespark.kernels.multiply.PlannerFixture.OLD;
import static org.tilespark.kernels.multiply.PlannerFixture.ONE_FLOAT;
import static org.tilespark.kernels.multiply.PlannerFixture.batch;
import static org.tilespark.kernels.multiply.PlannerFixture.cutting;
import static org.tilespark.kernels.multiply.PlannerFixture.doubles;
import static org.tilespark.kernels.multiply.PlannerFixture.problem;
import static org.tilespark.kernels.multiply.PlannerFixture.square;
import static org.tilespark.kernels.multiply.PlannerFixture.strategy;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.layout.ElementType;

/** The rules by which a way is chosen, and the launches of what is one. */
class MultiplyPlannerTest {
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
            new Extents(300, 1000, 65),
            ElementType.FLOAT32,
            Precision.FULL,
            new Stored(true, 301),
            new Stored(false, 70),
            67,
            Factors.ADD,
            Batch.ONE);
    KernelLaunch launch =
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), ABSENT, MultiplyEngine.AUTO)
            .candidates(problem, problem.k())
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
            ONE_FLOAT,
            ONE_FLOAT,
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

  /** Without a product, C is scaled by a tiled kernel, or left as it is. */
  @Test
  void noProduct() {
    for (MultiplyEngine engine : MultiplyEngine.values()) {
      for (Availability<?> cublas : List.of(ABSENT, Availability.of("cuBLAS"))) {
        MultiplyProblem all =
            MultiplyProblem.dense(3000, 4000, 5000, ElementType.FLOAT32, true, false)
                .withPrecision(Precision.TF32);
        MultiplyProblem kept = all.withFactors(new MultiplyProblem.Factors(0, 1));
        MultiplyPlan plan =
            new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, engine)
                .plan(kept, 4000)
                .get();
        assertInstanceOf(MultiplyStrategy.Nothing.class, plan.strategy());
        assertEquals(
            List.of(),
            new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, MultiplyEngine.AUTO)
                .candidates(kept, 4000));
        MultiplyProblem scaled = all.withFactors(new MultiplyProblem.Factors(0, -3));
        plan =
            new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, engine)
                .plan(scaled, 4000)
                .get();
        assertInstanceOf(MultiplyStrategy.Tiled.class, plan.strategy());
        assertEquals(0, plan.problem().k());
        assertEquals(0, plan.problem().bytesA() + plan.problem().bytesB());
        assertEquals(scaled.bytesC(), plan.problem().bytesC());
        List<MultiplyPlan> ways =
            new MultiplyPlanner(new DeviceKernels(H200, INDEX), cublas, MultiplyEngine.AUTO)
                .candidates(scaled, 4000);
        assertEquals(3, ways.size());
        assertTrue(ways.stream().allMatch(way -> way.strategy() instanceof MultiplyStrategy.Tiled));
      }
    }
  }

  /** The launch of a batch; A is read in place, B is one for all. */
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
            ONE_FLOAT,
            0,
            32,
            5,
            2,
            7,
            300_001,
            0,
            20_000,
            1000),
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), ABSENT, MultiplyEngine.AUTO)
            .candidates(problem, problem.k())
            .get(1)
            .launch()
            .orElseThrow());
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
          new MultiplyPlanner(new DeviceKernels(H200, INDEX), ABSENT, MultiplyEngine.AUTO)
              .plan(problem(extents[0], extents[1], extents[2], ElementType.FLOAT64), extents[1])
              .get();
      assertInstanceOf(MultiplyStrategy.Nothing.class, plan.strategy());
      assertTrue(plan.launch().isEmpty());
    }
    assertInstanceOf(
        MultiplyStrategy.Tiled.class, // writes zeros
        strategy(
            problem(5, 0, 5, ElementType.FLOAT32), MultiplyEngine.AUTO, Availability.of("cuBLAS")));
    assertInstanceOf(
        MultiplyStrategy.Nothing.class,
        strategy(square(Precision.TF32, 0, true), MultiplyEngine.AUTO, ABSENT));
  }

  @Test
  void cublasForLargeProblemsWhereItIs() {
    MultiplyProblem large = problem(1024, 1024, 1024, ElementType.FLOAT64);
    MultiplyProblem small = problem(100, 100, 100, ElementType.FLOAT64);
    Availability<?> present = Availability.of("cuBLAS");
    MultiplyStrategy.Cublas cublas =
        assertInstanceOf(
            MultiplyStrategy.Cublas.class, strategy(large, MultiplyEngine.AUTO, present));
    assertEquals(32 << 20, cublas.workspaceBytes());
    assertInstanceOf(MultiplyStrategy.Tiled.class, strategy(small, MultiplyEngine.AUTO, present));
    assertInstanceOf(
        MultiplyStrategy.Cublas.class, strategy(small, MultiplyEngine.CUBLAS, present));
    assertInstanceOf(MultiplyStrategy.Tiled.class, strategy(large, MultiplyEngine.OWN, present));
    assertInstanceOf(MultiplyStrategy.Tiled.class, strategy(large, MultiplyEngine.AUTO, ABSENT));
    assertEquals(
        3,
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), present, MultiplyEngine.AUTO)
            .candidates(large, 1024)
            .size());
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
          new MultiplyPlanner(
                  new DeviceKernels(H200, INDEX), Availability.of("cuBLAS"), MultiplyEngine.CUBLAS)
              .plan(panel, terms)
              .get()
              .strategy());
    }
  }

  @Test
  void additionsOfTiles() {
    assertEquals(
        new KernelLaunch("add_tile_w4_256", new LaunchConfig(2, 256, 0), 1025),
        MultiplyPlanner.addition(ElementType.FLOAT32, 1025, new DeviceKernels(H200, INDEX)));
    assertEquals(
        new KernelLaunch("add_tile_w8_256", new LaunchConfig(132 * 16, 256, 0), 1L << 33),
        MultiplyPlanner.addition(ElementType.FLOAT64, 1L << 33, new DeviceKernels(H200, INDEX)));
    Exception e =
        assertThrows(
            UnsupportedOperationException.class,
            () -> MultiplyPlanner.addition(ElementType.FLOAT64, 1, new DeviceKernels(OLD, INDEX)));
    assertEquals("This jar has no kernel that adds tiles of FLOAT64 on sm_70", e.getMessage());
  }

  @Test
  void workspace() {
    assertEquals(
        32 << 20,
        new MultiplyPlanner(
                new DeviceKernels(H200, KernelIndex.EMPTY),
                Availability.of("cuBLAS"),
                MultiplyEngine.AUTO)
            .mostWorkspaceBytes());
    assertEquals(
        4 << 20,
        new MultiplyPlanner(
                new DeviceKernels(OLD, KernelIndex.EMPTY),
                Availability.of("cuBLAS"),
                MultiplyEngine.AUTO)
            .mostWorkspaceBytes());
    assertEquals(
        0,
        new MultiplyPlanner(new DeviceKernels(H200, KernelIndex.EMPTY), ABSENT, MultiplyEngine.AUTO)
            .mostWorkspaceBytes());
  }

  @Test
  void whatCannotBeDoneSaysWhy() {
    Availability<MultiplyPlan> decision =
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), ABSENT, MultiplyEngine.AUTO)
            .plan(square(Precision.TF32, 100, false), 100);
    assertFalse(decision.isPresent());
    assertEquals(
        "Precision TF32 on sm_90 needs cuBLAS, which is not there: no such library; ask for"
            + " precision FULL, or install cuBLAS",
        decision.whyNot());
    assertThrows(
        UnsupportedOperationException.class,
        () -> decision.orElseThrow(UnsupportedOperationException::new));
    assertInstanceOf(
        MultiplyStrategy.Cublas.class,
        strategy(
            square(Precision.TF32, 100, false), MultiplyEngine.AUTO, Availability.of("cuBLAS")));
    assertEquals(
        "Engine CUBLAS is asked for, but it is not there: no such library",
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), ABSENT, MultiplyEngine.CUBLAS)
            .plan(square(Precision.FULL, 100, false), 100)
            .whyNot());
    assertEquals(
        "This jar has no kernel that multiplies FLOAT32 on sm_70",
        new MultiplyPlanner(new DeviceKernels(OLD, INDEX), ABSENT, MultiplyEngine.AUTO)
            .plan(square(Precision.FULL, 100, false), 100)
            .whyNot());
    assertTrue(
        new MultiplyPlanner(
                new DeviceKernels(OLD, INDEX), Availability.of("cuBLAS"), MultiplyEngine.AUTO)
            .plan(square(Precision.FULL, 100, false), 100)
            .isPresent());
    assertEquals(
        List.of(),
        new MultiplyPlanner(new DeviceKernels(H200, INDEX), ABSENT, MultiplyEngine.AUTO)
            .candidates(square(Precision.TF32, 100, false), 100));
  }

  /** The choice by rule on a device that has all the kernels: the way's name, or a prefix. */
  @Test
  void tensorCoresByRule() {
    MultiplyEngine auto = MultiplyEngine.AUTO;
    MultiplyEngine own = MultiplyEngine.OWN;
    Availability<?> present = Availability.of("cuBLAS");
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
      {problem(4096, 4096, 4096, d), auto, present, "multiply_double_nt_w8_64x128x384"},
      {problem(4096, 4096, 4096, d), auto, ABSENT, "multiply_double_nt_w8_64x128x384"},
      {problem(4096, 4096, 4096, d), own, present, "multiply_double_nt_w8_64x128x384"},
      {problem(4095, 4099, 4097, d), auto, present, "multiply_double_nt_w8_64x128x384"},
      {problem(4096, 512, 4096, d), auto, present, "multiply_double_nt"}, // too short for cuBLAS
      {doubles(4096, false, false), auto, present, "multiply_double_tt_w8_64x128x384"},
      {doubles(4096, true, false), auto, present, "multiply_double_tn_w8_64x128x384"},
      {doubles(4096, true, true), auto, present, "multiply_double_tt_w8_64x128x384"},
      {doubles(1024, false, false), auto, present, "multiply_double_tt_w8_64x128x384"},
      {problem(1024, 1024, 1023, d), auto, present, "cublas"},
      {doubles(1024, false, false), auto, ABSENT, "multiply_double_tt_w8_64x128x384"},
      {problem(256, 1_000_000, 256, d), auto, present, "cublas"},
      {problem(100, 100, 100, d), auto, ABSENT, "multiply_tiled"},
      // Lower precisions of any size: cuBLAS would not round.
      {square(Precision.FLOAT16, 4096, false), auto, present, "multiply_float16_w2_128x256x384"},
      {square(Precision.FLOAT16, 100, false), auto, present, "multiply_float16"},
      {square(Precision.FLOAT16, 100, false), auto, ABSENT, "multiply_float16_w2_128x128x384"},
      {square(Precision.BFLOAT16, 3, true), own, present, "multiply_bfloat16"},
      {square(Precision.BFLOAT16, 2048, true), auto, present, "multiply_bfloat16"},
      {square(Precision.BFLOAT16, 2047, true), auto, present, "multiply_bfloat16"},
      {square(Precision.TF32, 4096, true), auto, ABSENT, "multiply_tf32"},
      {square(Precision.TF32, 4096, true), auto, present, "multiply_tf32"},
      {square(Precision.TF32, 23, false), auto, present, "multiply_tf32"},
      {square(Precision.TF32, 4096, true), MultiplyEngine.CUBLAS, present, "cublas"},
    };
    for (Object[] rule : rules) {
      MultiplyProblem problem = (MultiplyProblem) rule[0];
      String way =
          new MultiplyPlanner(
                  new DeviceKernels(H200, HOPPER),
                  (Availability<?>) rule[2],
                  (MultiplyEngine) rule[1])
              .plan(problem, problem.k())
              .get()
              .strategy()
              .way()
              .orElseThrow()
              .name();
      assertTrue(way.startsWith((String) rule[3]), problem + " " + rule[1] + ": " + way);
    }
    // On other architectures nothing of this runs.
    for (DeviceLimits limits : List.of(OLD, LATER)) {
      assertFalse(
          new MultiplyPlanner(new DeviceKernels(limits, HOPPER), present, MultiplyEngine.AUTO)
              .candidates(problem(4096, 4096, 4096, f), 4096).stream()
                  .anyMatch(plan -> plan.strategy() instanceof MultiplyStrategy.Tensor));
      assertFalse(
          new MultiplyPlanner(new DeviceKernels(limits, HOPPER), ABSENT, own)
              .plan(square(Precision.TF32, 4096, true), 4096)
              .isPresent());
      assertEquals(
          0,
          new MultiplyPlanner(new DeviceKernels(limits, HOPPER), ABSENT, MultiplyEngine.AUTO)
              .mostWorkspaceBytes(problem(4096, 4096, 4096, f)));
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
        new MultiplyPlanner(new DeviceKernels(H200, noRepair), ABSENT, MultiplyEngine.AUTO)
            .candidates(problem(4096, 4096, 4096, f), 4096));
  }

  /** Tiles and products of all are what count; parts of K where tiles are few. */
  @Test
  void batchesAndPartsByRule() {
    MultiplyEngine auto = MultiplyEngine.AUTO;
    MultiplyEngine own = MultiplyEngine.OWN;
    Availability<?> present = Availability.of("cuBLAS");
    ElementType f = ElementType.FLOAT32;
    ElementType d = ElementType.FLOAT64;
    Object[][] rules = { // way, parts of K, products at once
      {batch(problem(256, 256, 256, f), 1024), auto, present, "multiply_split", 1L, 1024L},
      {batch(problem(256, 256, 256, f), 8), auto, present, "multiply_tiled", 0L, 0L}, // 32 tiles
      {batch(problem(256, 256, 256, f), 9), auto, present, "multiply_split", 1L, 9L},
      {batch(problem(32, 32, 32, f), 100_000), auto, present, "multiply_tiled", 0L, 0L},
      {batch(problem(256, 256, 256, f), 1024), MultiplyEngine.CUBLAS, present, "cublas", 0L, 0L},
      {
        batch(square(Precision.FLOAT16, 256, false), 1024),
        auto,
        present,
        "multiply_float",
        1L,
        1024L
      },
      {
        batch(square(Precision.TF32, 64, false), 65_536), auto, ABSENT, "multiply_tf32", 1L, 32_768L
      },
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
      // Four tiles, of DOUBLE eight, in enough parts that the 132 multiprocessors have one each.
      {problem(256, 1_000_000, 256, f), auto, present, "multiply_split", 33L, 1L},
      {problem(256, 1_000_000, 256, f), own, ABSENT, "multiply_split", 33L, 1L},
      {problem(256, 1_000_000, 256, d), own, ABSENT, "multiply_double_nt", 16L, 1L},
      {problem(256, 1_000_000, 256, d), auto, present, "multiply_double_nt", 16L, 1L},
      {batch(problem(256, 100_000, 256, f), 3), auto, present, "multiply_split", 33L, 1L},
      {batch(problem(256, 100_000, 256, f), 17), auto, present, "multiply_split", 1L, 17L},
      {problem(1024, 1024, 1024, f), auto, present, "multiply_split", 2L, 1L}, // 64 tiles
      {problem(1024, 1024, 1024, d), auto, present, "multiply_double_nt", 1L, 1L},
      {problem(1536, 1536, 1536, d), auto, present, "multiply_double_nt_w8_64x128", 1L, 1L}, // 288
      {problem(2048, 2048, 2048, d), auto, present, "multiply_double_nt_w8_64x128", 1L, 1L},
      {problem(1024, 1024, 1152, f), auto, present, "multiply_split", 1L, 1L}, // 72
      {problem(512, 2048, 512, f), auto, present, "multiply_split", 8L, 1L},
      {problem(512, 512, 512, f), auto, present, "multiply_tiled", 0L, 0L},
      // Four panels to a part at least.
      {problem(128, 16_384, 128, f), auto, present, "multiply_split", 128L, 1L},
      // Of these forms there are smaller tiles: parts where 128 x 128 are fewer than a third.
      {square(Precision.FLOAT16, 1024, false), own, ABSENT, "multiply_float16_w2_128x128", 1L, 1L},
      {square(Precision.FLOAT16, 640, false), own, ABSENT, "multiply_float16_w2_128x128", 2L, 1L},
    };
    for (Object[] rule : rules) {
      MultiplyProblem problem = (MultiplyProblem) rule[0];
      MultiplyStrategy strategy =
          cutting(problem, (MultiplyEngine) rule[1], (Availability<?>) rule[2]);
      String way = strategy.way().orElseThrow().name();
      assertTrue(way.startsWith((String) rule[3]), problem + " " + rule[1] + ": " + way);
      if (strategy instanceof MultiplyStrategy.Tensor tensor) {
        assertEquals(rule[4], tensor.sums().parts(), problem.toString());
        assertEquals(rule[5], tensor.atOnce(), problem.toString());
        assertEquals(
            tensor.sums().parts() > 1,
            tensor.describe().endsWith(" in " + tensor.sums().parts() + " parts"));
      } else {
        assertEquals(0L, rule[4], way);
      }
    }
    // Kernels of other tiles have the same parts, and so the same bits.
    MultiplyProblem few = problem(300, 50_000, 300, d);
    assertEquals(
        Set.of("FLOAT64 8"),
        new MultiplyPlanner(new DeviceKernels(H200, CUTTING), ABSENT, MultiplyEngine.AUTO)
            .candidates(few, few.k()).stream()
                .map(MultiplyPlan::strategy)
                .filter(MultiplyStrategy.Tensor.class::isInstance)
                .map(
                    strategy ->
                        strategy.order()
                            + " "
                            + ((MultiplyStrategy.Tensor) strategy).sums().parts())
                .collect(Collectors.toSet()));
  }

  /** A way whose operands do not fit is none; frugal ways pack nothing. */
  @Test
  void withoutMemoryToPack() {
    DeviceLimits small = new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 1L << 30);
    MultiplyProblem large = problem(16_384, 16_384, 16_384, ElementType.FLOAT32);
    Availability<?> present = Availability.of("cuBLAS");
    MultiplyEngine auto = MultiplyEngine.AUTO;
    assertEquals(
        Optional.of(MultiplyWay.CUBLAS),
        new MultiplyPlanner(new DeviceKernels(small, HOPPER), present, auto)
            .plan(large, 16_384)
            .get()
            .strategy()
            .way());
    assertEquals(
        1L << 28,
        new MultiplyPlanner(new DeviceKernels(small, HOPPER), present, MultiplyEngine.AUTO)
            .mostWorkspaceBytes(large));
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
      {square(Precision.TF32, 4096, false), auto, present, Optional.of("cublas")},
      {square(Precision.TF32, 4096, false), auto, ABSENT, Optional.empty()},
    };
    for (Object[] each : cases) {
      MultiplyProblem problem = (MultiplyProblem) each[0];
      assertEquals(
          each[3],
          new MultiplyPlanner(
                  new DeviceKernels(H200, HOPPER),
                  (Availability<?>) each[2],
                  (MultiplyEngine) each[1])
              .lowMemoryWay(problem, problem.k())
              .map(MultiplyWay::name),
          problem.toString());
    }
  }
}
