package org.tilespark.kernels.pointwise;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.pointwise.PointwiseProgram.End;
import org.tilespark.kernels.pointwise.PointwiseProgram.Kind;
import org.tilespark.kernels.pointwise.PointwiseProgram.Step;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

class PointwiseProgramTest {
  private static final DeviceLimits H200 =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel fourier_pointwise fourier_pointwise_complex_complex_w4_1x1x256 sm_90a
          kernel fourier_pointwise fourier_pointwise_complex_complex_w4_1x2x256 sm_90a
          kernel fourier_pointwise fourier_pointwise_complex_real_w8_1x1x256 sm_90a
          """);

  private static final Step FACTOR = new Step(Kind.FACTOR, List.of(), List.of(), 2);

  @Test
  void wordsAndVectorsAgree() {
    List<double[]> re = List.of(new double[] {1, 2}, new double[] {3, 4, 5});
    List<double[]> im = List.of(new double[] {6, 7}, new double[] {8, 9, 10});
    PointwiseProgram program =
        new PointwiseProgram(
            Shape.of(2, 3),
            ElementType.FLOAT32,
            true,
            List.of(
                new Step(Kind.SUBTRACT, re, im, 0),
                FACTOR,
                new Step(Kind.KEEP_UP_TO, re, List.of(), 0.5),
                new Step(Kind.SCALE, im, List.of(), 0)),
            End.SAME);
    double[] expected = {0, 1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4, 5, 1, 6, 7, 8, 9, 10};
    double[] found = program.vectors().stream().flatMapToDouble(java.util.Arrays::stream).toArray();
    assertArrayEquals(expected, found);
    assertEquals(expected.length, program.vectorElements());
    KernelLaunch launch = program.launch(new DeviceKernels(H200, INDEX));
    assertEquals("fourier_pointwise_complex_complex_w4_1x1x256", launch.kernel());
    long half = Double.doubleToRawLongBits(0.5);
    long two = Double.doubleToRawLongBits(2);
    assertArrayEquals(
        new long[] {
          2, 3, 6, 4, 0, //
          0, 0, 1, 3, 6, 7, 9, 0, //
          3, 0, 0, 0, 0, 0, 0, two, //
          2, 12, 13, 15, 0, 0, 0, half, //
          1, 18, 19, 21, 0, 0, 0, 0
        },
        launch.words());
  }

  @Test
  void wideKernelsForRowsTheyDivide() {
    PointwiseProgram even =
        new PointwiseProgram(
            Shape.of(4, 4, 512), ElementType.FLOAT32, true, List.of(FACTOR), End.SAME);
    KernelLaunch launch = even.launch(new DeviceKernels(H200, INDEX));
    assertEquals("fourier_pointwise_complex_complex_w4_1x2x256", launch.kernel());
    assertEquals(16, launch.config().blocks());
    assertEquals(4, launch.words()[0]);
  }

  @Test
  void ends() {
    PointwiseProgram power =
        new PointwiseProgram(Shape.of(7), ElementType.FLOAT64, true, List.of(), End.POWER);
    assertTrue(!power.outputIsComplex());
    assertEquals(1, power.launch(new DeviceKernels(H200, INDEX)).words()[4]);
    assertEquals(1, power.launch(new DeviceKernels(H200, INDEX)).words()[0]);
    PointwiseProgram part =
        new PointwiseProgram(Shape.of(7), ElementType.FLOAT64, true, List.of(), End.REAL_PART);
    assertEquals(0, part.launch(new DeviceKernels(H200, INDEX)).words()[4]);
    assertTrue(
        new PointwiseProgram(Shape.of(7), ElementType.FLOAT64, false, List.of(), End.COMPLEX)
            .outputIsComplex());
    assertThrows(
        UnsupportedOperationException.class,
        () ->
            new PointwiseProgram(Shape.of(7), ElementType.FLOAT64, false, List.of(), End.SAME)
                .launch(new DeviceKernels(H200, INDEX)));
  }

  @Test
  void mistakes() {
    List<double[]> seven = List.of(new double[7]);
    assertRefused(true, List.of(), End.COMPLEX);
    assertRefused(false, List.of(), End.POWER);
    assertRefused(true, Collections.nCopies(PointwiseProgram.MOST_STEPS + 1, FACTOR), End.SAME);
    assertRefused(true, List.of(new Step(Kind.SUBTRACT, seven, List.of(), 0)), End.SAME);
    assertRefused(false, List.of(new Step(Kind.SUBTRACT, seven, seven, 0)), End.SAME);
    assertRefused(
        false, List.of(new Step(Kind.SCALE, List.of(new double[6]), List.of(), 0)), End.SAME);
    assertRefused(false, List.of(new Step(Kind.FACTOR, seven, List.of(), 0)), End.SAME);
  }

  private static void assertRefused(boolean isComplex, List<Step> steps, End end) {
    assertThrows(
        IllegalArgumentException.class,
        () -> new PointwiseProgram(Shape.of(7), ElementType.FLOAT32, isComplex, steps, end));
  }
}
