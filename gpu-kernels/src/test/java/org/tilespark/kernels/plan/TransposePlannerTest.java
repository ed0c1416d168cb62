package org.tilespark.kernels.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

class TransposePlannerTest {
  private static final DeviceLimits H200 = limits(9, 0);

  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel t transpose_tiled_w1_64x64x256 sm_90a
          kernel t transpose_tiled_w2_64x64x256 sm_90a
          kernel t transpose_tiled_w4_64x64x256 sm_90a
          kernel t transpose_tiled_w8_32x32x256 sm_90a
          kernel t transpose_tiled_w16_32x32x256 sm_90a
          kernel c copy_strided_w1_256 sm_90a
          kernel c copy_strided_w2_256 sm_90a
          kernel c copy_strided_w4_256 sm_90a
          kernel c copy_strided_w8_256 sm_90a
          kernel c copy_strided_w16_256 sm_90a
          """);

  private static DeviceLimits limits(int major, int minor) {
    return new DeviceLimits(
        major, minor, 132, 1024, Integer.MAX_VALUE, 65535, 65535, 49152, 141L << 30);
  }

  @ParameterizedTest(name = "{0} under {1}, width {2}")
  @CsvSource(
      delimiter = '|',
      value = {
        "4096,64    | 1,0     | 4  | Tiled 4096 x 64 by transpose_tiled_w4_64x64x256",
        "4096,64    | 0,1     | 4  | Copy of 1048576 bytes",
        "1,64       | 1,0     | 4  | Copy of 256 bytes",
        "0,64       | 1,0     | 4  | Copy of 0 bytes",
        "20,30,50   | 0,1,2   | 8  | Copy of 240000 bytes",
        "20,30,50   | 1,2,0   | 8  | Tiled 20 x 1500 by transpose_tiled_w8_32x32x256",
        "20,30,50   | 2,0,1   | 8  | Tiled 600 x 50 by transpose_tiled_w8_32x32x256",
        "20,30,50   | 0,2,1   | 8  | Tiled 20 x 30 x 50 by transpose_tiled_w8_32x32x256",
        "20,30,50   | 2,1,0   | 8  | Tiled 30 x 20 x 50 by transpose_tiled_w8_32x32x256",
        "20,30,50   | 1,0,2   | 8  | StridedCopy of runs of 400 bytes by copy_strided_w16_256",
        "20,30,51   | 1,0,2   | 8  | StridedCopy of runs of 408 bytes by copy_strided_w8_256",
        "20,30,3    | 1,0,2   | 1  | StridedCopy of runs of 3 bytes by copy_strided_w1_256",
        "20,30,6    | 1,0,2   | 1  | StridedCopy of runs of 6 bytes by copy_strided_w2_256",
        "20,30,3    | 1,0,2   | 4  | StridedCopy of runs of 12 bytes by copy_strided_w4_256",
        "20,30,32   | 1,0,2   | 1  | StridedCopy of runs of 32 bytes by copy_strided_w16_256",
        "20,30,2    | 1,0,2   | 16 | StridedCopy of runs of 32 bytes by copy_strided_w16_256",
        "20,30,2    | 1,0,2   | 4  | Tiled 20 x 30 by transpose_tiled_w8_32x32x256",
        "20,30,4    | 1,0,2   | 4  | Tiled 20 x 30 by transpose_tiled_w16_32x32x256",
        "20,30,4    | 1,0,2   | 1  | Tiled 20 x 30 by transpose_tiled_w4_64x64x256",
        "7,20,30,50 | 0,2,3,1 | 2  | Tiled 7 x 20 x 1500 by transpose_tiled_w2_64x64x256",
        "7,20,30,50 | 0,3,1,2 | 2  | Tiled 7 x 600 x 50 by transpose_tiled_w2_64x64x256",
        "7,20,30,50 | 0,3,2,1 | 2  | Tiled 210 x 20 x 50 by transpose_tiled_w2_64x64x256",
        "7,20,30,50 | 0,1,3,2 | 2  | Tiled 140 x 30 x 50 by transpose_tiled_w2_64x64x256",
        "7,20,30,50 | 0,2,1,3 | 2  | StridedCopy of runs of 100 bytes by copy_strided_w4_256",
        "7,20,30,50 | 3,2,1,0 | 2  | Tiled 600 x 7 x 50 by transpose_tiled_w2_64x64x256",
      })
  void strategies(String shape, String order, int width, String expected) {
    assertEquals(expected, plan(shape, order, width, 16).describe());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "20,30,50 | 1,0,2 | 8 | 8 | StridedCopy of runs of 400 bytes by copy_strided_w8_256",
        "20,30,50 | 1,0,2 | 1 | 1 | StridedCopy of runs of 50 bytes by copy_strided_w1_256",
        "20,30,2  | 1,0,2 | 4 | 4 | StridedCopy of runs of 8 bytes by copy_strided_w4_256",
        "20,30,2  | 1,0,2 | 4 | 8 | Tiled 20 x 30 by transpose_tiled_w8_32x32x256",
        "20,30,2  | 1,0,2 | 4 | 256 | Tiled 20 x 30 by transpose_tiled_w8_32x32x256",
      })
  void accessesNeverExceedTheAlignment(
      String shape, String order, int width, int alignment, String expected) {
    assertEquals(expected, plan(shape, order, width, alignment).describe());
  }

  @Test
  void argumentsOfATiledLaunch() {
    TransposePlan plan = plan("30,20,50", "2,1,0", 8, 16).orElseThrow();
    KernelLaunch launch = plan.launch().orElseThrow();
    assertEquals("transpose_tiled_w8_32x32x256", launch.kernel());
    // y is the batch; tiles of (x, z): 1 x 2 for each.
    assertEquals(new LaunchConfig(40, 256, 0), launch.config());
    assertEquals(
        new KernelLaunch(
            launch.kernel(),
            launch.config(),
            30,
            50,
            1000,
            600,
            40,
            1,
            2, // rows, cols, strides, tiles
            1,
            0,
            0,
            1,
            0,
            0,
            1,
            0,
            0, // three unused outer axes
            20,
            50,
            30),
        launch);
  }

  @Test
  void argumentsOfAStridedLaunch() {
    TransposePlan plan = plan("7,20,30,50", "2,0,1,3", 2, 16).orElseThrow();
    KernelLaunch launch = plan.launch().orElseThrow();
    // (140, 30, 50) under [1, 0, 2], in units of 4 bytes: runs of 25.
    assertEquals(
        new KernelLaunch(
            "copy_strided_w4_256",
            new LaunchConfig(103, 256, 0), // ceil(105000 / 1024)
            105000,
            25,
            1,
            0,
            0,
            1,
            0,
            0, //
            30,
            25,
            3500,
            140,
            750,
            25),
        launch);
  }

  @Test
  void aCopyLaunchesNothing() {
    assertTrue(plan("4,5", "0,1", 4, 16).orElseThrow().launch().isEmpty());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void theGridStaysWithinLimitsForAnyExtent(int width) {
    long most = 1L << 40;
    for (String shape :
        new String[] {
          (most / 3) + ",3",
          "3," + (most / 3),
          "1048576,1048576",
          "2,65536,4194304,2",
          "65536,65536,256",
          "1099511627,1000"
        }) {
      int rank = shape.split(",").length;
      String order = rank == 2 ? "1,0" : rank == 3 ? "2,1,0" : "0,2,1,3";
      TransposePlan plan = plan(shape, order, width, width).orElseThrow();
      LaunchConfig config = plan.launch().orElseThrow().config();
      assertTrue(config.blocks() >= 1 && config.threads() == 256, () -> shape + " " + config);
    }
    DeviceLimits narrow = new DeviceLimits(9, 0, 1, 1024, 65535, 65535, 65535, 49152, 1 << 30);
    PlanDecision looped =
        TransposePlanner.plan(problem("1048576,1048576", "1,0", width), 16, narrow, INDEX);
    assertEquals(65535, looped.orElseThrow().launch().orElseThrow().config().blocks());
  }

  @Test
  void declinesWithTheReason() {
    TransposeProblem matrix = problem("4,5", "1,0", 4);
    PlanDecision noKernels = TransposePlanner.plan(matrix, 16, H200, KernelIndex.EMPTY);
    assertFalse(noKernels.isSupported());
    assertEquals("this jar was built without nvcc and has no device kernels", noKernels.describe());
    assertEquals(
        "no kernel of width 4 for sm_80; this jar has 10 kernels for sm_90a",
        TransposePlanner.plan(matrix, 16, limits(8, 0), INDEX).describe());
    PlanDecision manyAxes = plan("2,3,2,3,2,3,2", "6,4,2,0,5,3,1", 4, 16);
    assertEquals(
        "Shape (2, 3, 2, 3, 2, 3, 2) under [6, 4, 2, 0, 5, 3, 1] has 5 outer axes after fusion;"
            + " device kernels take at most 4",
        manyAxes.describe());
    Exception e = assertThrows(UnsupportedOperationException.class, manyAxes::orElseThrow);
    assertEquals(manyAxes.describe(), e.getMessage());
  }

  @Test
  void alignmentBelowTheWidthIsRefused() {
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () -> TransposePlanner.plan(problem("4,5", "1,0", 8), 4, H200, INDEX));
    assertEquals(
        "Buffers aligned to 4 bytes; elements of 8 bytes need a multiple of their width",
        e.getMessage());
  }

  @Test
  void aThreadBlockTooLargeForTheDeviceIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> LaunchConfig.forPieces(10, 2048, 0, H200));
    assertThrows(
        IllegalArgumentException.class, () -> LaunchConfig.forPieces(10, 256, 1 << 20, H200));
  }

  @Test
  void whatTheBuildMadeServesEveryWidthOnEveryDevice() {
    KernelIndex built = KernelIndex.ofThisJar();
    Assumptions.assumeTrue(
        built.architectures().contains("compute_75"), "built without nvcc or narrowed: " + built);
    int[][] devices = {{7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}};
    for (int[] device : devices) {
      for (int width = 1; width <= 16; width *= 2) {
        DeviceLimits limits = limits(device[0], device[1]);
        for (String order : new String[] {"2,1,0", "1,0,2"}) {
          PlanDecision plan =
              TransposePlanner.plan(problem("20,30,50", order, width), width, limits, built);
          assertTrue(plan.isSupported(), () -> limits.architecture() + ": " + plan.describe());
        }
      }
    }
  }

  @Test
  void theCacheForgetsWhatIsUnusedForLongest() {
    PlanCache<Integer, String> cache = new PlanCache<>(2);
    assertEquals("1", cache.get(1, String::valueOf));
    assertEquals("2", cache.get(2, String::valueOf));
    assertEquals("1", cache.get(1, key -> "planned again"));
    assertEquals("3", cache.get(3, String::valueOf));
    assertEquals(2, cache.size());
    assertEquals("planned again", cache.get(2, key -> "planned again"));
    assertThrows(IllegalArgumentException.class, () -> new PlanCache<Integer, String>(0));
  }

  private static PlanDecision plan(String shape, String order, int width, int alignment) {
    return TransposePlanner.plan(problem(shape, order, width), alignment, H200, INDEX);
  }

  private static TransposeProblem problem(String shape, String order, int width) {
    long[] extents = java.util.Arrays.stream(shape.split(",")).mapToLong(Long::parseLong).toArray();
    int[] axes = java.util.Arrays.stream(order.split(",")).mapToInt(Integer::parseInt).toArray();
    return new TransposeProblem(Shape.of(extents), Permutation.of(axes), width);
  }
}
