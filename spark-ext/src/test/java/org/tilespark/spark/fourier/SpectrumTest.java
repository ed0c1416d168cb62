package org.tilespark.spark.fourier;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.TestField;

/** Operators on spectra of volumes before the way back. */
class SpectrumTest extends FourierTestBase {
  @Test
  void productsOfSpectraAreConvolutions() {
    int[] shape = {6, 5, 8};
    TestField a = TestField.random(41, true, shape);
    TestField b = TestField.random(42, true, shape);
    FftOptions bySlabs = FftOptions.defaults().withDecomposition("slabs");
    for (boolean isGrouped : new boolean[] {false, true}) {
      Dataset<Row> left = a.blocks(spark, DOUBLE, true, 2, 5, 8);
      Dataset<Row> right = b.blocks(spark, DOUBLE, true, 3, 2, 8);
      if (isGrouped) {
        left = left.withColumn("s", functions.lit(null).cast("int"));
        right = right.withColumn("s", functions.lit(null).cast("int"));
      }
      Dataset<Row> product =
          VolumeBlocks.multiplyPointwise(
              VolumeBlocks.fft(left, bySlabs), VolumeBlocks.fft(right, bySlabs));
      TestField convolved = TestField.zeros(shape);
      for (int by = 0; by < b.re().length; by++) {
        int[] shift = {by / 40, by / 8 % 5, by % 8};
        TestField moved = a.rolled(shift);
        for (int i = 0; i < moved.re().length; i++) {
          convolved.re()[i] += moved.re()[i] * b.re()[by] - moved.im()[i] * b.im()[by];
          convolved.im()[i] += moved.re()[i] * b.im()[by] + moved.im()[i] * b.re()[by];
        }
      }
      TestField.of(VolumeBlocks.ifft(product, bySlabs), shape)
          .assertNear(convolved, DOUBLE, "convolution, grouped: " + isGrouped);
    }
    // With itself, and complex with real.
    Dataset<Row> spectrum =
        VolumeBlocks.fft(a.blocks(spark, FLOAT, true, 2, 5, 8), bySlabs.withOutput("natural"));
    TestField of = a.fft("xyz");
    TestField.of(VolumeBlocks.multiplyPointwise(spectrum, spectrum), shape)
        .assertNear(
            new TestField(
                shape,
                combine(of, (re, im) -> re * re - im * im),
                combine(of, (re, im) -> 2 * re * im)),
            FLOAT,
            "square");
    Dataset<Row> filter = VolumeBlocks.powerSpectrum(spectrum);
    TestField power =
        new TestField(shape, combine(of, (re, im) -> re * re + im * im), new double[240]);
    TestField.of(filter, shape).assertNear(power, FLOAT, "power");
    TestField.of(VolumeBlocks.multiplyPointwise(spectrum, filter), shape)
        .assertNear(
            new TestField(
                shape,
                combine(of, (re, im) -> re * (re * re + im * im)),
                combine(of, (re, im) -> im * (re * re + im * im))),
            FLOAT,
            "complex x real");
    // What does not fit.
    Dataset<Row> other = b.blocks(spark, FLOAT, true, 3, 5, 8);
    assertFails(
        () ->
            VolumeBlocks.multiplyPointwise(
                    other, b.blocks(spark, FLOAT, true, 3, 5, 8).where("x = 3"))
                .collectAsList(),
        "block at x 0, y 0, z 0: no block of the input holds the 3 x 5 x 8 elements from there",
        "VolumeBlocks.multiplyPointwise, second volume");
    assertFails(
        () -> VolumeBlocks.multiplyPointwise(other, a.blocks(spark, DOUBLE, true, 2, 5, 8)),
        "expected one type");
    assertFails(
        () -> VolumeBlocks.multiplyPointwise(other, other.withColumn("s", functions.lit(1))),
        "further columns tell several volumes apart");
    assertFails(
        () -> VolumeBlocks.multiplyPointwise(spectrum, VolumeBlocks.permute(spectrum, "yxz")),
        "the extents of the first volume are (6, 5, 8), of the second (5, 6, 8)");
  }

  private static double[] combine(TestField field, java.util.function.DoubleBinaryOperator of) {
    double[] result = new double[field.re().length];
    Arrays.setAll(result, i -> of.applyAsDouble(field.re()[i], field.im()[i]));
    return result;
  }

  @Test
  void frequencies() {
    int[] shape = {6, 5, 8};
    TestField field = TestField.random(51, false, shape);
    for (boolean isReal : new boolean[] {false, true}) {
      for (String shift : List.of("none", "spectrum")) {
        Dataset<Row> spectrum =
            VolumeBlocks.fft(
                field.blocks(spark, DOUBLE, false, 2, 5, 8),
                FftOptions.defaults()
                    .withReal(isReal)
                    .withShift(shift)
                    .withSpacing(0.5, 1, 2)
                    .withDecomposition("slabs"));
        // Kept up to a cutoff: what the definition keeps.
        double cutoff = 0.36;
        TestField full = field.fft("xyz");
        double[] energy = new double[1];
        TestField kept =
            full.weighted(
                index -> {
                  double square =
                      Math.pow(signed(index[0], 6) / 3.0, 2)
                          + Math.pow(signed(index[1], 5) / 5.0, 2)
                          + Math.pow(signed(index[2], 8) / 16.0, 2);
                  return square <= cutoff * cutoff ? 1 : 0;
                });
        TestField smooth =
            kept.transformed(0, 1, 1 / 6.0).transformed(1, 1, 1 / 5.0).transformed(2, 1, 1 / 8.0);
        Dataset<Row> back = VolumeBlocks.ifft(VolumeBlocks.lowPass(spectrum, cutoff));
        TestField.of(back, shape).assertNear(smooth, DOUBLE, shift + " real " + isReal);
        // What the low pass keeps is what lower and upper band keep; no element is in both.
        assertEquals(
            0,
            VolumeBlocks.add(
                    VolumeBlocks.bandPass(spectrum, 0, 0.2),
                    VolumeBlocks.bandPass(spectrum, Math.nextUp(0.2), cutoff))
                .select("x", "y", "z", "values", "imag")
                .exceptAll(
                    VolumeBlocks.lowPass(spectrum, cutoff).select("x", "y", "z", "values", "imag"))
                .count());
        // Rings hold every element of the full spectrum once, with its power.
        Dataset<Row> rings = VolumeBlocks.radialAverage(spectrum, 0.25).cache();
        TestField.forEach(
            shape,
            index -> {
              double frequency =
                  Math.sqrt(
                      Math.pow(signed(index[0], 6) / 3.0, 2)
                          + Math.pow(signed(index[1], 5) / 5.0, 2)
                          + Math.pow(signed(index[2], 8) / 16.0, 2));
              int at = full.at(index);
              energy[0] +=
                  Math.round(frequency / 0.25) == 2
                      ? full.re()[at] * full.re()[at] + full.im()[at] * full.im()[at]
                      : 0;
            });
        assertEquals(240L, rings.selectExpr("sum(count)").first().getLong(0));
        assertEquals(
            energy[0],
            rings.where("frequency = 0.5").selectExpr("power * count").first().getDouble(0),
            1e-9 * energy[0]);
        assertEquals(
            full.energy(),
            VolumeBlocks.radialAverage(VolumeBlocks.powerSpectrum(spectrum))
                .selectExpr("sum(power * count)")
                .first()
                .getDouble(0),
            1e-9 * full.energy());
        rings.unpersist(true);
        // yzx: axis x of the result is y.
        List<Row> along =
            VolumeBlocks.frequencies(spectrum).where("axis = 'x'").orderBy("index").collectAsList();
        List<Double> expected =
            shift.equals("none")
                ? List.of(0.0, 0.2, 0.4, -0.4, -0.2)
                : List.of(-0.4, -0.2, 0.0, 0.2, 0.4);
        assertEquals(expected, along.stream().map(row -> row.<Double>getAs("frequency")).toList());
        assertEquals(
            isReal ? 5 : 8, VolumeBlocks.frequencies(spectrum).where("axis = 'y'").count());
      }
    }
    assertFails(
        () -> VolumeBlocks.lowPass(field.blocks(spark, DOUBLE, false, 2, 5, 8), 1),
        "the column metadata does not say that this is a spectrum (tilespark.spectrum)");
    Dataset<Row> line =
        VolumeBlocks.fft(
            field.blocks(spark, DOUBLE, false, 2, 5, 8), FftOptions.defaults().withAxes("y"));
    assertFails(() -> VolumeBlocks.lowPass(line, -1), "cutoff is -1.0; expected 0 or more");
    assertFails(
        () -> VolumeBlocks.bandPass(line, 2, 1),
        "the band is from 2.0 to 1.0; expected 0 or more, and no end before its start");
    assertEquals(5, VolumeBlocks.frequencies(line).count());
  }

  /** Each axis has the frequencies of its own transform, whatever came later. */
  @Test
  void severalTransforms() {
    int[] shape = {6, 5, 8};
    TestField field = TestField.random(52, false, shape);
    Dataset<Row> df = field.blocks(spark, DOUBLE, false, 2, 5, 8);
    FftOptions options = FftOptions.defaults().withOutput("natural").withShift("spectrum");
    for (boolean isReal : new boolean[] {false, true}) {
      Dataset<Row> together = VolumeBlocks.fft(df, options.withReal(isReal).withSpacing(0.5, 1, 2));
      Dataset<Row> apart =
          VolumeBlocks.fft(
              VolumeBlocks.fft(
                  df,
                  options
                      .withReal(isReal)
                      .withAxes(isReal ? "z" : "x")
                      .withSpacing(isReal ? 2 : 0.5)),
              isReal
                  ? options.withAxes("xy").withSpacing(0.5, 1)
                  : options.withAxes("yz").withSpacing(1, 2));
      assertEquals(
          sorted(VolumeBlocks.frequencies(together)), sorted(VolumeBlocks.frequencies(apart)));
      int[] of = {6, 5, isReal ? 5 : 8};
      TestField.of(VolumeBlocks.lowPass(apart, 0.36), of)
          .assertNear(
              TestField.of(VolumeBlocks.lowPass(together, 0.36), of), DOUBLE, "real " + isReal);
      List<Row> rings = sorted(VolumeBlocks.radialAverage(together));
      List<Row> others = sorted(VolumeBlocks.radialAverage(VolumeBlocks.powerSpectrum(apart)));
      assertEquals(rings.size(), others.size());
      for (int i = 0; i < rings.size(); i++) {
        assertEquals(rings.get(i).getDouble(0), others.get(i).getDouble(0));
        assertEquals(rings.get(i).getDouble(1), others.get(i).getDouble(1), 1e-9 * field.energy());
        assertEquals(rings.get(i).getLong(2), others.get(i).getLong(2));
      }
      // They fit each other, as elements at equal places have equal frequencies.
      assertEquals(
          3,
          VolumeBlocks.multiplyPointwise(
                  VolumeBlocks.reblock(apart, 2, 5, 8), VolumeBlocks.reblock(together, 2, 5, 8))
              .count());
    }
    Dataset<Row> twice =
        VolumeBlocks.fft(
            VolumeBlocks.fft(df, FftOptions.defaults().withAxes("xy")),
            FftOptions.defaults().withAxes("yz"));
    for (Executable call :
        List.<Executable>of(
            () -> VolumeBlocks.lowPass(twice, 1),
            () -> VolumeBlocks.frequencies(twice),
            () -> VolumeBlocks.radialAverage(twice))) {
      assertFails(
          call, "axis y was transformed more than once, by the column metadata tilespark.spectrum");
    }
    TestField.of(VolumeBlocks.ifft(VolumeBlocks.ifft(twice)), shape)
        .assertNear(field, DOUBLE, "each undone");
  }

  private static List<Row> sorted(Dataset<Row> df) {
    return df.orderBy(df.columns()[0], df.columns()[1]).collectAsList();
  }

  /** Elements at equal places must be of equal frequencies, and one inverse must undo both. */
  @Test
  void productsOfSpectraThatDoNotFit() {
    int[] shape = {4, 4, 6};
    Dataset<Row> v = TestField.random(53, false, shape).blocks(spark, DOUBLE, false, 2, 4, 6);
    Dataset<Row> longer =
        TestField.random(54, false, 4, 4, 7).blocks(spark, DOUBLE, false, 2, 4, 7);
    FftOptions natural = FftOptions.defaults().withOutput("natural");
    Dataset<Row> spectrum = VolumeBlocks.fft(v, natural);
    String help = "expected the same, so transform both volumes with the same options";
    assertDoNotFit(
        spectrum,
        VolumeBlocks.fft(v, natural.withShift("spectrum")),
        "shift: 'none' of the first, 'spectrum' of the second",
        help);
    assertDoNotFit(
        spectrum,
        VolumeBlocks.fft(v, natural.withShift("volume")),
        "shift: 'none' of the first, 'volume' of the second");
    assertDoNotFit(
        spectrum,
        VolumeBlocks.fft(v, natural.withNorm("ortho")),
        "norm: 'backward' of the first, 'ortho' of the second");
    assertDoNotFit(
        VolumeBlocks.fft(v, natural.withAxes("x")),
        spectrum,
        "transformed axes: 'x' of the first, 'xyz' of the second");
    assertDoNotFit(
        VolumeBlocks.fft(VolumeBlocks.fft(v, natural.withAxes("x")), natural.withAxes("x")),
        VolumeBlocks.fft(v, natural.withAxes("x")),
        "transformed axes: 'xx' of the first, 'x' of the second");
    // Half spectra of 6 and of 7 values, by the volumes and by padding, have 4 frequencies.
    FftOptions half = natural.withReal(true);
    for (Dataset<Row> of7 :
        List.of(
            VolumeBlocks.fft(longer, half), VolumeBlocks.fft(v, half.withPadTo("none,none,7")))) {
      assertDoNotFit(
          VolumeBlocks.fft(v, half),
          of7,
          "halved axis: 'z of 6 values' of the first, 'z of 7 values' of the second");
    }
    assertDoNotFit(
        VolumeBlocks.fft(v.where("z < 1"), half.withAxes("xz").withPadTo("none,6")),
        VolumeBlocks.withExtents(
            VolumeBlocks.fft(v, natural.withAxes("xz").withPadTo("none,6")), 4, 4, 4),
        "halved axis: 'z of 6 values' of the first, 'none' of the second");
    assertDoNotFit(
        VolumeBlocks.fft(v, natural.withAxes("xy")),
        VolumeBlocks.fft(
            VolumeBlocks.fft(v, natural.withAxes("x")), natural.withAxes("y").withNorm("forward")),
        "norm: 'backward' of the first, 'x backward, y forward' of the second");
    // A filter that no transform made fits, and a spectrum fits with its power.
    assertEquals(
        spectrum.count(),
        VolumeBlocks.multiplyPointwise(spectrum, VolumeBlocks.powerSpectrum(spectrum)).count());
    assertEquals(
        v.count(),
        VolumeBlocks.multiplyPointwise(VolumeBlocks.reblock(spectrum, 2, 4, 6), v).count());
  }

  private static void assertDoNotFit(Dataset<Row> a, Dataset<Row> b, String... parts) {
    assertFails(
        () -> VolumeBlocks.multiplyPointwise(a, b),
        "VolumeBlocks.multiplyPointwise: the two spectra differ in "
            + parts[0]
            + ", by the column metadata tilespark.spectrum; "
            + (parts.length > 1 ? parts[1] : ""));
  }

  private static double signed(int index, int extent) {
    return index < extent - extent / 2 ? index : index - extent;
  }

  /** A re-block changes nothing for the inverse, a permutation the order of its axes. */
  @Test
  void spectraMayBeMoved() {
    int[] shape = {8, 6, 4};
    TestField field = TestField.random(71, false, shape);
    Dataset<Row> spectrum =
        VolumeBlocks.fft(
            field.blocks(spark, DOUBLE, false, 2, 6, 4),
            FftOptions.defaults().withReal(true).withDecomposition("slabs"));
    for (String way : List.of("slabs", "pencils", "task")) {
      FftOptions options = FftOptions.defaults().withDecomposition(way);
      for (String axes : List.of("xyz", "zxy", "yxz")) {
        Dataset<Row> moved = VolumeBlocks.reblock(VolumeBlocks.permute(spectrum, axes), 3, 2, 2);
        // The second one is natural, the third swaps the first two of yzx.
        TestField expected = axes.equals("yxz") ? field.permuted(2, 1, 0) : field;
        TestField.of(VolumeBlocks.ifft(moved, options), expected.shape())
            .assertNear(expected, DOUBLE, axes + " by " + way);
      }
    }
  }
}
