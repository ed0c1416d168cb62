package org.tilespark.kernels.transpose;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

class MixedLaunchTest {
  private static final DeviceLimits LIMITS =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 49152, 141L << 30);
  private static final String KERNELS =
      """
      kernel v transpose_vector_w4_64x64x256 sm_90a
      kernel s transpose_shifted_w4_64x64x256 sm_90a
      kernel n split_narrow_w4_128 sm_90a
      """;
  private static final String MIXED =
      """
      kernel v transpose_vector_mixed_w4_64x64x256 sm_90a
      kernel s transpose_shifted_mixed_w4_32x64x128 sm_90a
      """;
  private static final KernelIndex INDEX = KernelIndex.parse(KERNELS + MIXED);

  private static OffsetPlan part(KernelIndex index, long at, int alignment, long... extents) {
    Permutation order = extents.length == 2 ? Permutation.of(1, 0) : Permutation.of(0, 2, 1);
    TransposeProblem problem = new TransposeProblem(Shape.of(extents), order, 4);
    return new OffsetPlan(
        TransposePlanner.plan(problem, alignment, new DeviceKernels(LIMITS, index)).get(), at, at);
  }

  @Test
  void severalSizesShareOneLaunch() {
    List<MixedLaunch.OffsetLaunch> launches =
        MixedLaunch.of(
            List.of(part(INDEX, 0, 16, 128, 100), part(INDEX, 51200, 16, 3, 40, 64)),
            new DeviceKernels(LIMITS, INDEX));
    assertEquals(1, launches.size());
    KernelLaunch launch = launches.get(0).launch().orElseThrow();
    assertEquals("transpose_vector_mixed_w4_64x64x256", launch.kernel());
    assertEquals(new LaunchConfig(2 * 2 + 3, 256, 0), launch.config());
    long[] none = {1, 0, 0};
    long[] expected =
        concat(
            new long[] {7, 2},
            // first tile, offsets, rows, cols, strides, tiles, row tiles, column tiles, order
            new long[] {0, 0, 0, 128, 100, 100, 128, 4, 2, 2, 0},
            none,
            none,
            none,
            none,
            new long[] {4, 51200, 51200, 40, 64, 64, 40, 3, 1, 1, 0},
            none,
            none,
            none,
            new long[] {3, 2560, 2560});
    assertArrayEquals(expected, launch.words());
  }

  @Test
  void eachFamilyHasItsLaunchAndTheRestOneEach() {
    List<MixedLaunch.OffsetLaunch> launches =
        MixedLaunch.of(
            List.of(
                part(INDEX, 0, 16, 128, 128),
                part(INDEX, 65536, 16, 101, 103),
                part(INDEX, 107148, 4, 101, 103),
                part(INDEX, 1 << 20, 16, 128, 128),
                part(INDEX, 1 << 21, 16, 4096, 3)),
            new DeviceKernels(LIMITS, INDEX));
    assertEquals(
        List.of(
            "split_narrow_w4_128",
            "transpose_vector_mixed_w4_64x64x256",
            "transpose_shifted_mixed_w4_32x64x128"),
        launches.stream().map(each -> each.launch().orElseThrow().kernel()).toList());
    assertEquals(1 << 21, launches.get(0).inOffset());
    assertEquals(0, launches.get(1).inOffset(), "the offsets are among the words");
  }

  @Test
  void oneOfAFamilyIsLaunchedAsItWouldBeAlone() {
    OffsetPlan alone = part(INDEX, 256, 16, 128, 128);
    List<MixedLaunch.OffsetLaunch> launches =
        MixedLaunch.of(List.of(alone), new DeviceKernels(LIMITS, INDEX));
    assertEquals(alone.plan().launch(), launches.get(0).launch());
    assertEquals(256, launches.get(0).outOffset());
  }

  @Test
  void moreThanALaunchHoldsMakesSeveral() {
    List<OffsetPlan> plans = new ArrayList<>();
    for (int i = 0; i < 2 * MixedLaunch.MAX_PARTS + 1; i++) {
      plans.add(part(INDEX, 16384L * i, 16, 64, 4L * (8 + i % 8)));
    }
    List<MixedLaunch.OffsetLaunch> launches =
        MixedLaunch.of(plans, new DeviceKernels(LIMITS, INDEX));
    assertEquals(3, launches.size());
    assertEquals(MixedLaunch.MAX_PARTS, launches.get(0).launch().orElseThrow().words()[1]);
    assertTrue(
        launches.get(2).launch().orElseThrow().kernel().startsWith("transpose_vector_w4"),
        "the last is alone");
    int structBytes = 8 * (2 + launches.get(0).launch().orElseThrow().words().length);
    assertTrue(structBytes <= KernelLaunch.MOST_STRUCT_BYTES, structBytes + " bytes");
  }

  @Test
  void withoutAMixedKernelEachIsLaunchedAlone() {
    KernelIndex plain = KernelIndex.parse(KERNELS);
    List<MixedLaunch.OffsetLaunch> launches =
        MixedLaunch.of(
            List.of(part(plain, 0, 16, 128, 128), part(plain, 65536, 16, 64, 64)),
            new DeviceKernels(LIMITS, plain));
    assertEquals(2, launches.size());
  }

  private static long[] concat(long[]... parts) {
    return java.util.Arrays.stream(parts).flatMapToLong(java.util.Arrays::stream).toArray();
  }
}
