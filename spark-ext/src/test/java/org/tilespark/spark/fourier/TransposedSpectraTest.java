package org.tilespark.spark.fourier;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.TestField;

/**
 * Spectra whose axes a user reordered: the inverse keeps that order. The order that a transform
 * itself leaves is undone.
 */
class TransposedSpectraTest extends FourierTestBase {
  private static final List<String> ORDERS = List.of("xyz", "xzy", "yxz", "yzx", "zxy", "zyx");

  @ParameterizedTest
  @CsvSource({
    "xyz,false,natural,backward,none",
    "xyz,true,natural,ortho,none",
    "xyz,false,permuted,ortho,spectrum",
    "xyz,true,permuted,forward,both",
    "yz,false,natural,forward,volume",
    "yz,true,natural,backward,spectrum",
    "zx,true,natural,ortho,none",
    "y,true,natural,backward,none",
  })
  void theInverseKeepsTheOrderThatAUserChose(
      String axes, boolean half, String output, String norm, String shift) {
    int[] shape = {2, 3, 4};
    TestField field = TestField.random(81, !half, shape);
    Dataset<Row> spectrum =
        VolumeBlocks.fft(
            field.blocks(spark, DOUBLE, !half, 1, 3, 4),
            FftOptions.defaults()
                .withAxes(axes)
                .withReal(half)
                .withOutput(output)
                .withNorm(norm)
                .withShift(shift));
    spectrum = spectrum.localCheckpoint();
    String left = output.equals("permuted") ? "yzx" : "xyz";
    assertEquals(left, metadata(spectrum).axes().orElseThrow());
    for (String order : ORDERS) {
      Dataset<Row> moved = VolumeBlocks.permute(spectrum, order);
      TestField expected =
          order.equals("xyz") ? field : field.permuted(axes(left)).permuted(axes(order));
      TestField.of(VolumeBlocks.ifft(moved), expected.shape())
          .assertNear(expected, DOUBLE, order + " of " + left);
    }
    // A permutation and the one that undoes it leave no trace.
    Dataset<Row> twice = VolumeBlocks.permute(VolumeBlocks.permute(spectrum, "yzx"), "zxy");
    TestField.of(VolumeBlocks.ifft(twice), shape).assertNear(field, DOUBLE, "there and back");
  }

  /** Letters mean current axes: of the second transform, and of options that name the first's. */
  @Test
  void transformsAfterAPermutation() {
    int[] shape = {2, 3, 4};
    TestField field = TestField.random(82, true, shape);
    Dataset<Row> once =
        VolumeBlocks.fft(
            field.blocks(spark, DOUBLE, true, 2, 3, 4), FftOptions.defaults().withAxes("x"));
    Dataset<Row> turned = VolumeBlocks.permute(once, "zyx");
    for (String output : List.of("natural", "permuted")) {
      Dataset<Row> twice = VolumeBlocks.fft(turned, FftOptions.defaults().withOutput(output));
      Dataset<Row> back = VolumeBlocks.ifft(twice);
      assertEquals("zyx", metadata(back).axes().orElseThrow());
      TestField expected = field.permuted(2, 1, 0);
      TestField.of(VolumeBlocks.ifft(back, FftOptions.defaults().withAxes("z")), expected.shape())
          .assertNear(expected, DOUBLE, output);
    }
    assertFails(
        () -> VolumeBlocks.ifft(turned, FftOptions.defaults().withAxes("x")),
        "axes is 'x'; the column metadata tilespark.spectrum says that the axes z were transformed");
  }

  /** Elements at equal places are combined, whatever letters their axes had before. */
  @Test
  void aSpectrumCombinedWithItsTranspose() {
    int[] shape = {3, 3, 3};
    TestField field = TestField.random(83, true, shape);
    Dataset<Row> v = field.blocks(spark, DOUBLE, true, 3, 3, 3);
    FftOptions natural = FftOptions.defaults().withOutput("natural");
    Dataset<Row> spectrum = VolumeBlocks.fft(v, natural);
    TestField turned = field.permuted(2, 1, 0);
    TestField sum = field.plus(turned);
    Dataset<Row> transposed = VolumeBlocks.permute(spectrum, "zyx");
    TestField.of(VolumeBlocks.ifft(VolumeBlocks.add(spectrum, transposed)), shape)
        .assertNear(sum, DOUBLE, "S + S.T");
    TestField.of(VolumeBlocks.ifft(VolumeBlocks.add(transposed, spectrum)), shape)
        .assertNear(sum, DOUBLE, "S.T + S");
    TestField.of(
            VolumeBlocks.fft(
                VolumeBlocks.ifft(VolumeBlocks.multiplyPointwise(spectrum, transposed)), natural),
            shape)
        .assertNear(field.fft("xyz").times(turned.fft("xyz")), DOUBLE, "S * S.T");
    // A transform's own order, brought back by hand: the natural spectrum.
    Dataset<Row> left = VolumeBlocks.fft(v);
    TestField.of(
            VolumeBlocks.ifft(VolumeBlocks.add(spectrum, VolumeBlocks.permute(left, "zxy"))), shape)
        .assertNear(field.plus(field), DOUBLE, "natural and by hand");
    assertFails(
        () -> VolumeBlocks.add(spectrum, left),
        "differ in order of the axes after the inverse: 'xyz' of the first, 'zxy' of the second");
    // Along other axes of the cube, or another half of it.
    Dataset<Row> partial = VolumeBlocks.fft(v, natural.withAxes("xy"));
    assertFails(
        () -> VolumeBlocks.add(partial, VolumeBlocks.permute(partial, "zyx")),
        "differ in transformed axes: 'xy' of the first, 'yz' of the second");
    Dataset<Row> half =
        VolumeBlocks.fft(
            TestField.random(84, false, 3, 3, 4).blocks(spark, DOUBLE, false, 3, 3, 4),
            natural.withReal(true));
    assertFails(
        () -> VolumeBlocks.multiplyPointwise(half, VolumeBlocks.permute(half, "zyx")),
        "differ in halved axis: 'z of 4 values' of the first, 'x of 4 values' of the second");
    // Plain volumes have no order to respect.
    TestField.of(VolumeBlocks.add(v, VolumeBlocks.permute(v, "zyx")), shape)
        .assertNear(sum, DOUBLE, "a + a.T");
  }

  /** A filter before a spectrum gives the same as a filter after it: a spectrum. */
  @Test
  void aFilterMayStandFirst() {
    int[] shape = {2, 3, 4};
    TestField field = TestField.random(85, true, shape);
    Dataset<Row> v = field.blocks(spark, DOUBLE, true, 2, 3, 4);
    Dataset<Row> spectrum = VolumeBlocks.fft(v, FftOptions.defaults().withOutput("natural"));
    Dataset<Row> ones =
        VolumeBlocks.fft(
                TestField.random(86, false, shape).blocks(spark, DOUBLE, false, 2, 3, 4),
                FftOptions.defaults().withOutput("natural"))
            .selectExpr("x", "y", "z", "nx", "ny", "nz", "transform(values, v -> 1D) AS values");
    TestField.of(VolumeBlocks.ifft(VolumeBlocks.multiplyPointwise(ones, spectrum)), shape)
        .assertNear(field, DOUBLE, "filter * S");
  }

  private static int[] axes(String order) {
    return order.chars().map("xyz"::indexOf).toArray();
  }
}
