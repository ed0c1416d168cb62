package org.tilespark.kernels.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.tilespark.kernels.multiply.PlannerFixture.ONE_FLOAT;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
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

/** Whose kernels multiply with less than full precision, on each compute capability. */
class LowerPrecisionPlanTest {
  /** The kernels of lower precisions, made for what the build makes them for. */
  private static final KernelIndex INDEX = KernelIndex.parse(index());

  private static final Availability<?> ABSENT = Availability.not("no such library");

  private static String index() {
    StringBuilder text = new StringBuilder();
    for (String kind : List.of("float16_w2", "bfloat16_w2", "tf32_w4")) {
      if (kind.startsWith("tf32")) {
        text.append("kernel multiply_tensor multiply_tf32_w4_256x128x384 sm_90a\n");
      }
      for (String tile : List.of("128x256x384", "128x128x384", "128x64x384")) {
        text.append("kernel multiply_tensor multiply_%s_%s sm_90a\n".formatted(kind, tile));
      }
      for (String ways : List.of("nn", "nt", "tn", "tt")) {
        if (!kind.startsWith("tf32") || !ways.equals("nt")) {
          text.append(
              "kernel multiply_fused multiply_fused_%s_%s_w4_128x256x384 sm_90a dynamicBytes=197632\n"
                  .formatted(kind.split("_")[0], ways));
        }
        if (!kind.startsWith("tf32")) {
          text.append(
              """
              kernel multiply_fused multiply_fused_%s_%s_w4_128x128x256 sm_90a \
              dynamicBytes=115712 blocksPerProcessor=2
              """
                  .formatted(kind.split("_")[0], ways));
        }
      }
      for (String arch : List.of("sm_80", "compute_80")) {
        text.append(
            """
            kernel multiply_mma multiply_mma_%1$s_128x128x256 %2$s dynamicBytes=98304
            kernel multiply_mma multiply_mma_%1$s_64x64x128 %2$s dynamicBytes=49152 \
            blocksPerProcessor=2
            """
                .formatted(kind, arch));
      }
      for (String arch : List.of("sm_80", "sm_90a", "compute_80")) {
        text.append("kernel pack pack_%s_256 %s\n".formatted(kind, arch));
      }
    }
    for (String arch : List.of("sm_80", "sm_90a", "compute_80")) {
      text.append(
          """
          kernel multiply_parts multiply_parts_w4_256 %1$s
          kernel multiply_narrow multiply_skinny_tf32_along_w4_256x16x256 %1$s
          kernel multiply_narrow multiply_skinny_float16_along_w4_256x16x256 %1$s
          kernel multiply_narrow multiply_skinny_bfloat16_depth4_w4_64x512x256 %1$s
          kernel multiply_skinny multiply_skinny_sum_w4_256 %1$s
          """
              .formatted(arch));
    }
    text.append("kernel multiply_skinny multiply_skinny_sum_w4_256 compute_75\n");
    return text.toString();
  }

  private static DeviceLimits device(int major, int minor, int processors) {
    return new DeviceLimits(major, minor, processors, 1024, Integer.MAX_VALUE, 48 << 10, 40L << 30);
  }

  private static MultiplyProblem problem(long m, long k, long n, Precision precision) {
    return new MultiplyProblem(
        new Extents(m, k, n),
        ElementType.FLOAT32,
        precision,
        new Stored(false, k),
        new Stored(true, k),
        n,
        Factors.OVERWRITE,
        Batch.ONE);
  }

  private static Availability<MultiplyPlan> plan(
      MultiplyProblem problem, MultiplyEngine engine, Availability<?> cublas, DeviceLimits limits) {
    return new MultiplyPlanner(new DeviceKernels(limits, INDEX), cublas, engine)
        .plan(problem, problem.k());
  }

  private static String way(Availability<MultiplyPlan> decision) {
    return way(decision.get());
  }

  private static String way(MultiplyPlan plan) {
    return plan.strategy().way().orElseThrow().name();
  }

  /** Ours by rule, whether cuBLAS is there or not. */
  @ParameterizedTest
  @CsvSource({
    "8, 0, 108, multiply_mma_",
    "8, 6, 84, multiply_mma_",
    "8, 9, 128, multiply_mma_",
    "9, 0, 132, multiply_",
    "10, 0, 148, multiply_mma_",
    "12, 0, 170, multiply_mma_",
  })
  void byRule(int major, int minor, int processors, String prefix) {
    DeviceLimits limits = device(major, minor, processors);
    for (Precision precision : List.of(Precision.FLOAT16, Precision.BFLOAT16, Precision.TF32)) {
      for (long extent : new long[] {5, 100, 1024, 8192}) {
        for (Availability<?> cublas : List.of(ABSENT, Availability.of("cuBLAS"))) {
          for (MultiplyEngine engine : List.of(MultiplyEngine.AUTO, MultiplyEngine.OWN)) {
            String way =
                way(plan(problem(extent, extent, extent, precision), engine, cublas, limits));
            String expected = prefix + precision.name().toLowerCase(Locale.ROOT) + "_w";
            assertTrue(way.startsWith(expected), precision + " of " + extent + ": " + way);
          }
        }
      }
    }
  }

  /** Small tiles where large ones would leave multiprocessors idle. */
  @Test
  void tilesFillTheDevice() {
    DeviceLimits limits = device(8, 0, 108);
    Object[][] cases = {
      {8192L, 8192L, "multiply_mma_float16_w2_128x128x256"},
      {640L, 640L, "multiply_mma_float16_w2_64x64x128"},
      {100L, 100L, "multiply_mma_float16_w2_64x64x128"},
    };
    for (Object[] each : cases) {
      MultiplyProblem problem = problem((long) each[0], 512, (long) each[1], Precision.FLOAT16);
      assertEquals(each[2], way(plan(problem, MultiplyEngine.AUTO, ABSENT, limits)));
    }
  }

  /** All that a device can run are candidates, wgmma's first where there are any. */
  @Test
  void candidates() {
    MultiplyProblem problem = problem(512, 512, 512, Precision.TF32);
    Object[][] cases = {
      {device(8, 0, 108), List.of("mma_tf32_w4_128x128x256", "mma_tf32_w4_64x64x128")},
      {
        device(9, 0, 132),
        List.of(
            "tf32_w4_256x128x384",
            "tf32_w4_128x256x384",
            "tf32_w4_128x128x384",
            "tf32_w4_128x64x384",
            "mma_tf32_w4_128x128x256",
            "mma_tf32_w4_64x64x128")
      },
      {device(7, 5, 40), List.of()},
    };
    for (Object[] each : cases) {
      List<String> ways =
          new MultiplyPlanner(
                  new DeviceKernels((DeviceLimits) each[0], INDEX), ABSENT, MultiplyEngine.AUTO)
              .candidates(problem, 512).stream()
                  .map(plan -> plan.strategy().way().orElseThrow().name())
                  .map(name -> name.replace("multiply_", ""))
                  .toList();
      assertEquals(each[1], ways);
    }
  }

  /**
   * Products with a small extent go by once, unless so little goes by that tiles take no longer.
   */
  @Test
  void skinnyByRule() {
    String along = "multiply_skinny_%s_along_w4_256x16x256";
    Object[][] cases = {
      {problem(16_384, 16_384, 16, Precision.FLOAT16), along.formatted("float16")},
      {problem(16_384, 16_383, 1, Precision.TF32), along.formatted("tf32")},
      {problem(1000, 16_384, 1, Precision.TF32), along.formatted("tf32")},
      {problem(16_384, 4, 16_384, Precision.BFLOAT16), "multiply_skinny_bfloat16_depth4"},
      {problem(16_384, 5, 16_384, Precision.BFLOAT16), "multiply_"},
      {problem(16_384, 16_384, 17, Precision.FLOAT16), "multiply_"},
      {problem(400, 400, 5, Precision.FLOAT16), "multiply_"},
      {problem(500, 500, 5, Precision.FLOAT16), along.formatted("float16")},
      {problem(1000, 16, 1000, Precision.FLOAT16), "multiply_"},
    };
    for (Object[] each : cases) {
      for (DeviceLimits limits : List.of(device(8, 0, 108), device(9, 0, 132))) {
        for (Availability<?> cublas : List.of(ABSENT, Availability.of("cuBLAS"))) {
          String way = way(plan((MultiplyProblem) each[0], MultiplyEngine.AUTO, cublas, limits));
          boolean isSkinny = each[1].toString().contains("skinny");
          assertTrue(way.startsWith(each[1].toString()), each[0] + ": " + way);
          assertEquals(isSkinny, way.contains("skinny"), each[0] + ": " + way);
        }
      }
    }
  }

  /** If the copy engine rounds a large A as it reads it, tiles of the tensor cores do as well. */
  @Test
  void tf32IsReadOnceByTiles() {
    for (MultiplyProblem problem :
        List.of(problem(65_536, 256, 16, Precision.TF32), problem(2000, 2000, 1, Precision.TF32))) {
      assertEquals(
          "multiply_tf32_w4_128x64x384",
          way(plan(problem, MultiplyEngine.AUTO, ABSENT, device(9, 0, 132))));
      assertEquals(
          "multiply_skinny_tf32_along_w4_256x16x256",
          way(plan(problem, MultiplyEngine.AUTO, ABSENT, device(8, 0, 108))));
    }
    for (MultiplyProblem other :
        List.of(
            problem(16, 16_384, 20_000, Precision.TF32), // B is large
            problem(65_536, 255, 16, Precision.TF32), // A would be copied
            batch(problem(65_536, 256, 16, Precision.TF32), 3, 65_536 * 256 + 4))) {
      assertEquals(
          "multiply_skinny_tf32_along_w4_256x16x256",
          way(plan(other, MultiplyEngine.AUTO, ABSENT, device(9, 0, 132))));
    }
  }

  private static MultiplyProblem batch(MultiplyProblem one, long count, long strideA) {
    return one.withBatch(
        new MultiplyProblem.Batch(count, strideA, one.k() * one.n(), one.m() * one.n()));
  }

  /**
   * The tuner tries the device's kernels for it, but no older kernels together with newer ones, nor
   * cuBLAS, which does not round as asked; with an engine named, ways that make the same bits.
   */
  @Test
  void choices() {
    MultiplyProblem problem = problem(512, 512, 512, Precision.FLOAT16);
    List<String> ours =
        List.of("float16_w2_128x64x384", "float16_w2_128x128x384", "float16_w2_128x256x384");
    List<String> fused =
        List.of("fused_float16_nt_w4_128x256x384", "fused_float16_nt_w4_128x128x256");
    List<String> mma = List.of("mma_float16_w2_64x64x128", "mma_float16_w2_128x128x256");
    List<String> all = new ArrayList<>(ours);
    all.addAll(fused);
    for (MultiplyEngine engine : List.of(MultiplyEngine.AUTO, MultiplyEngine.OWN)) {
      assertEquals(Set.copyOf(all), choices(problem, engine, device(9, 0, 132)));
      assertEquals(Set.copyOf(mma), choices(problem, engine, device(8, 0, 108)));
      assertEquals(Set.copyOf(mma), choices(problem, engine, device(12, 0, 170)));
    }
    // A large operand by once, which makes other sums.
    MultiplyProblem narrow = problem(16_384, 16_384, 16, Precision.FLOAT16);
    String once = "skinny_float16_along_w4_256x16x256";
    Set<String> ways = choices(narrow, MultiplyEngine.AUTO, device(9, 0, 132));
    assertTrue(ways.contains(once) && ways.contains(ours.get(0)), ways.toString());
    assertEquals(Set.of(once), choices(narrow, MultiplyEngine.OWN, device(9, 0, 132)));
  }

  /** The names, after what goes by rule was seen to be the first. */
  private static Set<String> choices(
      MultiplyProblem problem, MultiplyEngine engine, DeviceLimits limits) {
    MultiplyPlan byRule = plan(problem, engine, Availability.of("cuBLAS"), limits).get();
    List<MultiplyPlan> choices =
        new MultiplyPlanner(new DeviceKernels(limits, INDEX), Availability.of("cuBLAS"), engine)
            .choices(byRule, problem, problem.k());
    assertEquals(byRule.strategy().way(), choices.get(0).strategy().way());
    return choices.stream()
        .map(plan -> way(plan).replace("multiply_", ""))
        .collect(Collectors.toSet());
  }

  /** 528 high tiles are four for each multiprocessor; of wide ones some have five. */
  @Test
  void tilesOfTf32FillTheDevice() {
    Object[][] cases = {
      {4095L, 4097L, "multiply_tf32_w4_256x128x384"},
      {4097L, 4095L, "multiply_tf32_w4_128x256x384"},
      {4096L, 4096L, "multiply_tf32_w4_128x256x384"},
    };
    for (Object[] each : cases) {
      MultiplyProblem problem = problem((long) each[0], 4099, (long) each[1], Precision.TF32);
      assertEquals(each[2], way(plan(problem, MultiplyEngine.AUTO, ABSENT, device(9, 0, 132))));
    }
  }

  private static MultiplyProblem stored(
      long extent, long count, Precision precision, String ways, long pad) {
    long lead = extent + pad;
    return new MultiplyProblem(
            new Extents(extent, extent, extent),
            ElementType.FLOAT32,
            precision,
            new Stored(ways.charAt(0) == 't', lead),
            new Stored(ways.charAt(1) == 't', lead),
            lead,
            Factors.OVERWRITE,
            Batch.ONE)
        .withBatch(new MultiplyProblem.Batch(count, extent * lead, extent * lead, extent * lead));
  }

  /** Fused where packing takes longer than reading operands again for each tile: small products. */
  @Test
  void fusedByRule() {
    DeviceLimits limits = device(9, 0, 132);
    for (Precision precision : List.of(Precision.FLOAT16, Precision.BFLOAT16, Precision.TF32)) {
      String kind = precision.name().toLowerCase(Locale.ROOT);
      String packed = "multiply_" + kind + (precision == Precision.TF32 ? "_w4_" : "_w2_");
      for (String ways : List.of("nn", "nt", "tn", "tt")) {
        // Of tf32 the copy engine rounds what has K along its rows.
        String fused =
            precision == Precision.TF32 && ways.equals("nt")
                ? packed + "128x256x384"
                : "multiply_fused_" + kind + "_" + ways + "_w4_128x256x384";
        // Two thread blocks to a multiprocessor where memory is what takes the time.
        String shared = fused.replace("128x256x384", "128x128x256");
        String small = precision == Precision.TF32 ? fused : shared;
        Object[][] rules = {
          // C is of whole columns of wide tiles.
          {256L, 512L, 0L, fused},
          {256L, 1024L, 0L, fused},
          {256L, 1024L, 4L, fused},
          {256L, 2048L, 0L, fused},
          {128L, 4096L, 0L, precision == Precision.TF32 ? "multiply_" : shared},
          {128L, 8192L, 0L, precision == Precision.TF32 ? "multiply_" : shared}, // of one tile each
          // As Spark makes batches.
          {64L, 1365L, 0L, precision == Precision.TF32 ? "multiply_" : fused},
          // Of tf32 it is about as long where B is transposed.
          {512L, 128L, 0L, precision == Precision.TF32 && ways.equals("nn") ? "multiply_" : fused},
          {256L, 1024L, 1L, packed + "128x256x384"}, // rows begin unevenly
          {1024L, 1L, 0L, packed + "128x64x384"},
          {2048L, 1L, 0L, packed + "128x256x384"},
          {4096L, 1L, 0L, packed + "128x256x384"},
          {512L, 1L, 0L, packed + "128x"},
        };
        for (Object[] rule : rules) {
          MultiplyProblem problem =
              stored((long) rule[0], (long) rule[1], precision, ways, (long) rule[2]);
          String way = way(plan(problem, MultiplyEngine.AUTO, Availability.of("cuBLAS"), limits));
          assertTrue(way.startsWith((String) rule[3]), problem + ": " + way);
        }
      }
    }
  }

  /** Two thread blocks share a multiprocessor where wide tiles would be half empty. */
  @Test
  void narrowProductsShare() {
    for (long n : new long[] {128, 256, 384}) {
      MultiplyProblem problem =
          new MultiplyProblem(
                  new Extents(256, 64, n),
                  ElementType.FLOAT32,
                  Precision.FLOAT16,
                  new Stored(false, 64),
                  new Stored(true, 64),
                  n,
                  Factors.OVERWRITE,
                  Batch.ONE)
              .withBatch(new MultiplyProblem.Batch(4096, 256 * 64, 64 * n, 256 * n));
      assertEquals(
          "multiply_fused_float16_nt_w4_" + (n == 256 ? "128x256x384" : "128x128x256"),
          way(plan(problem, MultiplyEngine.AUTO, ABSENT, device(9, 0, 132))),
          problem.toString());
    }
  }

  /** Operands are read as stored, unless one begins unevenly: then both are packed. */
  @Test
  void fusedSteps() {
    DeviceLimits limits = device(9, 0, 132);
    MultiplyProblem problem = stored(256, 1024, Precision.FLOAT16, "nt", 4);
    MultiplyPlan plan = plan(problem, MultiplyEngine.AUTO, ABSENT, limits).get();
    List<MultiplyStep> fused = plan.strategy().steps(problem, true, true);
    assertEquals(
        List.of(
            new MultiplyStep(
                // Fields of FusedArguments.
                new KernelLaunch(
                    "multiply_fused_float16_nt_w4_128x256x384",
                    new LaunchConfig(128, 384, 197_632), // 2048 tiles in 16 rounds
                    256,
                    256,
                    260,
                    4,
                    2,
                    1,
                    ONE_FLOAT,
                    0,
                    1024,
                    1,
                    1,
                    256 * 260,
                    0,
                    1,
                    1),
                List.of(map(MultiplyStep.Side.A, 32), map(MultiplyStep.Side.B, 64)),
                List.of(new MultiplyStep.Place(MultiplyStep.Side.C, 0)))),
        fused);
    for (boolean even : new boolean[] {true, false}) {
      List<String> kernels =
          plan.strategy().steps(problem, even, !even).stream()
              .map(step -> step.launch().kernel())
              .toList();
      assertEquals(List.of("pack_float16_w2_256", "multiply_float16_w2_128x256x384"), kernels);
    }
    // The same sums in the same order.
    assertEquals("FLOAT16", plan.strategy().order());
    // Only what is packed takes memory.
    long packed = 2L * 1024 * 256 * 256 * 2;
    assertEquals(packed, plan.workspaceBytes());
    for (boolean evenA : new boolean[] {true, false}) {
      for (boolean evenB : new boolean[] {true, false}) {
        assertEquals(evenA && evenB ? 0 : packed, plan.workspaceBytes(evenA, evenB));
      }
    }
  }

  /** Slots are filled by one copy where the columns of an operand are whole boxes of 32. */
  @Test
  void columnsThatAreNoWholeBoxes() {
    for (long n : new long[] {256, 224, 252}) {
      for (long k : new long[] {256, 192, 100}) {
        MultiplyProblem problem =
            new MultiplyProblem(
                    new Extents(256, k, n),
                    ElementType.FLOAT32,
                    Precision.BFLOAT16,
                    new Stored(false, k),
                    new Stored(false, n),
                    n,
                    Factors.OVERWRITE,
                    Batch.ONE)
                .withBatch(new MultiplyProblem.Batch(1024, 256 * k, k * n, 256 * n));
        MultiplyPlan plan =
            new MultiplyPlanner(
                    new DeviceKernels(device(9, 0, 132), INDEX), ABSENT, MultiplyEngine.AUTO)
                .plan(problem, k, new MultiplyWay("multiply_fused_bfloat16_nn_w4_128x256x384"))
                .get();
        List<MultiplyStep> steps = plan.strategy().steps(problem, true, true);
        assertEquals(1, steps.size());
        List<MultiplyStep.TensorMap> maps = steps.get(0).maps();
        assertEquals(List.of(32, 32, k % 32 == 0 ? 2 : 1, 1), maps.get(0).box());
        assertEquals(List.of(32, 64, n % 32 == 0 ? 2 : 1, 1), maps.get(1).box());
        assertEquals(128, steps.get(0).launch().config().blocks());
      }
    }
  }

  /** Two thread blocks leave no room to write C's uneven rows through. */
  @Test
  void unevenRowsOfCAreForLoneThreadBlocks() {
    for (long leadC : new long[] {256, 257, 260}) {
      for (long strideC : new long[] {256 * 260, 256 * 260 + 1}) {
        MultiplyProblem problem =
            new MultiplyProblem(
                    new Extents(256, 256, 256),
                    ElementType.FLOAT32,
                    Precision.FLOAT16,
                    new Stored(false, 256),
                    new Stored(false, 256),
                    leadC,
                    Factors.OVERWRITE,
                    Batch.ONE)
                .withBatch(new MultiplyProblem.Batch(1024, 65536, 65536, strideC));
        boolean even = leadC % 4 == 0 && strideC % 4 == 0;
        for (String tile : List.of("128x128x256", "128x256x384")) {
          String name = "multiply_fused_float16_nn_w4_" + tile;
          assertEquals(
              even || tile.startsWith("128x256"),
              new MultiplyPlanner(
                      new DeviceKernels(device(9, 0, 132), INDEX), ABSENT, MultiplyEngine.AUTO)
                  .candidates(problem, 256).stream()
                      .anyMatch(plan -> plan.strategy().way().orElseThrow().name().equals(name)),
              problem + ": " + name);
        }
      }
    }
  }

  private static MultiplyStep.TensorMap map(MultiplyStep.Side side, int high) {
    return new MultiplyStep.TensorMap(
        new MultiplyStep.Place(side, 0),
        MultiplyStep.Element.FLOAT32,
        List.of(32L, 256L, 8L, 1024L),
        List.of(260L * 4, 32L * 4, 256L * 260 * 4),
        List.of(32, high, 2, 1),
        true,
        MultiplyStep.TensorMap.Fetch.BYTES_128);
  }

  /** A way that was named is taken, and sums of the two kinds of kernels differ in their order. */
  @Test
  void namedWays() {
    MultiplyProblem problem = problem(512, 512, 512, Precision.FLOAT16);
    List<String> orders = new ArrayList<>();
    for (String name :
        List.of(
            "multiply_float16_w2_128x128x384",
            "multiply_mma_float16_w2_128x128x256",
            "multiply_mma_float16_w2_64x64x128")) {
      MultiplyPlan plan =
          new MultiplyPlanner(
                  new DeviceKernels(device(9, 0, 132), INDEX), ABSENT, MultiplyEngine.AUTO)
              .plan(problem, 512, new MultiplyWay(name))
              .get();
      assertEquals(Optional.of(new MultiplyWay(name)), plan.strategy().way());
      orders.add(plan.strategy().order());
    }
    assertEquals(List.of("FLOAT16", "FLOAT16_mma", "FLOAT16_mma"), orders);
  }

  /** No tensor maps: the copy engine that reads them is sm_90's. */
  @ParameterizedTest
  @EnumSource(
      value = Precision.class,
      names = {"TF32", "BFLOAT16", "FLOAT16"})
  void steps(Precision precision) {
    MultiplyProblem problem =
        problem(300, 1000, 200, precision)
            .withBatch(new MultiplyProblem.Batch(3, 300_000, 0, 60_000));
    MultiplyPlan plan = plan(problem, MultiplyEngine.AUTO, ABSENT, device(8, 6, 20)).get();
    MultiplyStrategy.Tensor strategy =
        assertInstanceOf(MultiplyStrategy.Tensor.class, plan.strategy());
    List<MultiplyStep> steps = strategy.steps(problem, true, true);
    assertEquals(2, steps.size());
    for (MultiplyStep step : steps) {
      assertTrue(step.maps().isEmpty());
    }
    MultiplyStep product = steps.get(1);
    long panel = precision == Precision.TF32 ? 32 : 64;
    long panels = (1000 + panel - 1) / panel;
    long rowBytes = panels * 128;
    assertEquals(
        List.of(
            new MultiplyStep.Place(MultiplyStep.Side.WORKSPACE, 0),
            new MultiplyStep.Place(MultiplyStep.Side.WORKSPACE, 3 * 320 * rowBytes),
            new MultiplyStep.Place(MultiplyStep.Side.C, 0)),
        product.pointers());
    KernelIndex.Kernel kernel = strategy.kernel();
    long rowTiles = (300L + kernel.shape().rows() - 1) / kernel.shape().rows();
    long colTiles = (200L + kernel.shape().cols() - 1) / kernel.shape().cols();
    assertEquals(
        new KernelLaunch(
            kernel.name(),
            new LaunchConfig(
                (int) Math.min(3 * rowTiles * colTiles, 20L * kernel.traits().blocksPerProcessor()),
                kernel.shape().threads(),
                kernel.traits().dynamicBytes()),
            300,
            200,
            200,
            3 * 320,
            256,
            panels,
            panels,
            rowTiles,
            colTiles,
            ONE_FLOAT,
            0,
            3,
            320,
            0,
            60_000,
            0),
        product.launch());
  }

  /** If no kernel of ours runs, cuBLAS is needed, and the reason names the architecture. */
  @Test
  void beforeTensorCoresOfFloat() {
    DeviceLimits turing = device(7, 5, 40);
    MultiplyProblem problem = problem(100, 100, 100, Precision.BFLOAT16);
    assertEquals(
        "cublas", way(plan(problem, MultiplyEngine.AUTO, Availability.of("cuBLAS"), turing)));
    Availability<MultiplyPlan> none = plan(problem, MultiplyEngine.AUTO, ABSENT, turing);
    assertFalse(none.isPresent());
    assertEquals(
        "Precision BFLOAT16 on sm_75 needs cuBLAS, which is not there: no such library; ask for"
            + " precision FULL, or install cuBLAS",
        none.whyNot());
    assertEquals(
        "Precision BFLOAT16 on sm_75 needs cuBLAS, which is ruled out by engine OWN; ask for"
            + " precision FULL, or install cuBLAS",
        plan(problem, MultiplyEngine.OWN, Availability.of("cuBLAS"), turing).whyNot());
  }

  /** Packed operands may take a part of the device's memory; beyond, cuBLAS is needed. */
  @Test
  void operandsTooLargeToPack() {
    MultiplyProblem problem = problem(1 << 20, 1 << 16, 1 << 20, Precision.TF32);
    DeviceLimits limits = device(8, 0, 108);
    assertEquals(
        "cublas", way(plan(problem, MultiplyEngine.AUTO, Availability.of("cuBLAS"), limits)));
    assertEquals(
        "Precision TF32 of operands as large as these needs cuBLAS, which is not there: no such"
            + " library; ask for precision FULL, or install cuBLAS",
        plan(problem, MultiplyEngine.AUTO, ABSENT, limits).whyNot());
  }

  /** A way that was chosen for smaller ones of the class does not take cuBLAS away. */
  @Test
  void operandsTooLargeForTheChosenWay() {
    DeviceLimits limits = device(8, 0, 108);
    MultiplyWay chosen = new MultiplyWay("multiply_mma_tf32_w4_64x64x128");
    MultiplyProblem large = problem(700_000, 8192, 64, Precision.TF32);
    assertEquals(
        "cublas",
        way(
            new MultiplyPlanner(
                    new DeviceKernels(limits, INDEX),
                    Availability.of("cuBLAS"),
                    MultiplyEngine.AUTO)
                .plan(large, 8192, chosen)));
    assertFalse(
        new MultiplyPlanner(new DeviceKernels(limits, INDEX), ABSENT, MultiplyEngine.AUTO)
            .plan(large, 8192, chosen)
            .isPresent());
    MultiplyProblem smaller = problem(70_000, 8192, 64, Precision.TF32);
    assertEquals(
        chosen.name(),
        way(
            new MultiplyPlanner(
                    new DeviceKernels(limits, INDEX),
                    Availability.of("cuBLAS"),
                    MultiplyEngine.AUTO)
                .plan(smaller, 8192, chosen)));
  }

  /** The kernels in this jar are those that the cases above assume. */
  @Test
  void kernelsOfThisJar() {
    KernelIndex jar = KernelIndex.ofThisJar();
    Assumptions.assumeTrue(
        jar.architectures().containsAll(List.of("sm_80", "sm_90a", "compute_80")),
        "built without nvcc, or for some architectures");
    for (KernelIndex.Kernel kernel : INDEX.kernels()) {
      KernelIndex.Kernel found = jar.find(kernel.name()).orElseThrow();
      assertEquals(kernel.source(), found.source());
      assertEquals(kernel.architectures(), found.architectures(), kernel.name());
      if (kernel.traits().dynamicBytes() > 0) {
        assertEquals(kernel.traits().dynamicBytes(), found.traits().dynamicBytes(), kernel.name());
        assertEquals(
            kernel.traits().blocksPerProcessor(),
            found.traits().blocksPerProcessor(),
            kernel.name());
      }
    }
  }
}
