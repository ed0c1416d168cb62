package org.tilespark.bench.kernels;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.tilespark.bench.kernels.MultiplyLadderBenchmark.Options;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyPlanner;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.kernels.multiply.ProductKind;
import org.tilespark.layout.ElementType;

class MultiplyLadderBenchmarkTest {
  private static final DeviceLimits H200 =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
  private static final KernelIndex.Kernel NAIVE =
      KernelIndex.parse("kernel ladder_multiply ladder_multiply_naive_w4_8x32x256 sm_90a")
          .kernels()
          .iterator()
          .next();

  @Test
  void optionsHaveDefaults() {
    assertEquals(
        new Options("abc", 4096, List.of(ProductKind.FLOAT, ProductKind.DOUBLE), 9, List.of()),
        Options.parse("--commit", "abc"));
  }

  @Test
  void optionsAreRead() {
    assertEquals(
        new Options(
            "abc", 256, List.of(ProductKind.DOUBLE, ProductKind.TF32), 3, List.of(Path.of("lib"))),
        Options.parse(
            "--runs",
            "3",
            "--types",
            "double,tf32",
            "--extent",
            "256",
            "--library-path",
            "lib",
            "--commit",
            "abc"));
  }

  @Test
  void optionsNotUnderstoodAreNamed() {
    assertRefused("Arguments []; expected --commit, and a value for each");
    assertRefused("Arguments [--commit]; expected --commit, and a value for each", "--commit");
    assertRefused(
        "Arguments [--commit, a, --extend, 256]; expected --commit, and a value for each",
        "--commit",
        "a",
        "--extend",
        "256");
    assertRefused(
        "--extent 4095; expected a multiple of 128, as the rungs 1 to 5 make whole tiles alone",
        "--commit",
        "a",
        "--extent",
        "4095");
    assertRefused("--extent 0; expected at least 1", "--commit", "a", "--extent", "0");
    assertRefused("--runs many; expected a number", "--commit", "a", "--runs", "many");
    assertRefused(
        "Kind of products 'half'; expected one of float, tf32, bfloat16, float16, double",
        "--commit",
        "a",
        "--types",
        "half");
  }

  /** Each rung is there for both types, wherever our own tiles are, and makes what is asked. */
  @Test
  void rungsOfThisJar() {
    KernelIndex index = KernelIndex.ofThisJar().with(LadderKernels.index());
    Assumptions.assumeFalse(index.isEmpty(), "built without nvcc");
    for (Map.Entry<String, String> family : MultiplyLadderBenchmark.FAMILIES) {
      for (ElementType type : Set.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
        List<KernelIndex.Kernel> found =
            index.kernels().stream()
                .filter(kernel -> kernel.family().equals(family.getValue()))
                .filter(kernel -> kernel.elementBytes() == type.bytes())
                .toList();
        assertEquals(1, found.size(), family + " " + type);
        KernelIndex.Kernel kernel = found.get(0);
        assertEquals(
            index.kernels().stream()
                .filter(tiled -> tiled.family().equals(MultiplyPlanner.FAMILY))
                .findFirst()
                .orElseThrow()
                .architectures(),
            kernel.architectures(),
            kernel.name());
        assertEquals(
            0, MultiplyLadderBenchmark.EXTENT_MULTIPLE % kernel.shape().rows(), kernel.name());
        assertEquals(
            0, MultiplyLadderBenchmark.EXTENT_MULTIPLE % kernel.shape().cols(), kernel.name());
      }
    }
  }

  @Test
  void plannerTakesNoRung() {
    KernelIndex index = KernelIndex.ofThisJar().with(LadderKernels.index());
    Assumptions.assumeFalse(index.isEmpty(), "built without nvcc");
    for (MultiplyProblem problem : MultiplyLadderBenchmark.problems(4096, ProductKind.FLOAT)) {
      List<MultiplyPlan> ways =
          new MultiplyPlanner(
                  new DeviceKernels(H200, index), Availability.of("cuBLAS"), MultiplyEngine.AUTO)
              .candidates(problem, problem.k());
      assertTrue(ways.size() > 1, ways::toString);
      assertTrue(ways.stream().noneMatch(way -> way.describe().contains("ladder")), ways::toString);
    }
  }

  @Test
  void launchOfARung() {
    MultiplyPlan plan =
        new MultiplyRung(NAIVE)
            .plan(MultiplyProblem.dense(16, 32, 96, ElementType.FLOAT32, false, false), H200);
    assertEquals("ladder_multiply_naive_w4_8x32x256, one chain", plan.describe());
    assertEquals(0, plan.workspaceBytes());
    KernelLaunch launch = plan.launch().orElseThrow();
    assertEquals(2 * 3, launch.config().blocks());
    assertEquals(256, launch.config().threads());
    assertEquals(0, launch.config().sharedBytes());
    assertArrayEquals(new long[] {32, 96, 3}, launch.words());
  }

  @Test
  void rungsRefuseWhatTheyDoNotMake() {
    assertNotMade(MultiplyProblem.dense(17, 32, 96, ElementType.FLOAT32, false, false));
    assertNotMade(MultiplyProblem.dense(16, 33, 96, ElementType.FLOAT32, false, false));
    assertNotMade(MultiplyProblem.dense(16, 32, 95, ElementType.FLOAT32, false, false));
    assertNotMade(MultiplyProblem.dense(16, 0, 96, ElementType.FLOAT32, false, false));
    assertNotMade(MultiplyProblem.dense(16, 32, 96, ElementType.FLOAT64, false, false));
    assertNotMade(MultiplyProblem.dense(16, 32, 96, ElementType.FLOAT32, true, false));
    assertNotMade(
        new MultiplyProblem(
            new Extents(16, 32, 96),
            ElementType.FLOAT32,
            Precision.FULL,
            new Stored(false, 32),
            new Stored(false, 100),
            96,
            Factors.OVERWRITE,
            Batch.ONE));
    assertNotMade(
        new MultiplyProblem(
            new Extents(16, 32, 96),
            ElementType.FLOAT32,
            Precision.FULL,
            new Stored(false, 32),
            new Stored(false, 96),
            96,
            Factors.ADD,
            Batch.ONE));
  }

  private static void assertNotMade(MultiplyProblem problem) {
    MultiplyRung rung = new MultiplyRung(NAIVE);
    assertEquals(
        "ladder_multiply_naive_w4_8x32x256 makes whole tiles of dense C = A B alone: M a multiple"
            + " of 8, K of 32, N of 32; found "
            + problem,
        assertThrows(IllegalArgumentException.class, () -> rung.plan(problem, H200)).getMessage());
  }

  private static void assertRefused(String message, String... args) {
    assertEquals(
        message,
        assertThrows(IllegalArgumentException.class, () -> Options.parse(args)).getMessage());
  }
}
