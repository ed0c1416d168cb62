package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is done with spectra of volumes before the way back. */
@Tag("long")
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
            VolumeBlocks.multiplyPointwise(a.blocks(spark, FLOAT, true, 2, 5, 8), other)
                .collectAsList(),
        "it is 2 x 5 x 8 in the first volume and 3 x 5 x 8 in the second");
    assertFails(
        () ->
            VolumeBlocks.multiplyPointwise(
                    other, b.blocks(spark, FLOAT, true, 3, 5, 8).where("x = 3"))
                .collectAsList(),
        "block at x 0, y 0, z 0: only the first volume has a block there (3 x 5 x 8)");
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
    assertEquals(5, VolumeBlocks.frequencies(line).count());
  }

  private static double signed(int index, int extent) {
    return index < extent - extent / 2 ? index : index - extent;
  }

  /** A permutation or a re-block of a spectrum changes nothing for the inverse. */
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
        TestField.of(VolumeBlocks.ifft(moved, options), shape)
            .assertNear(field, DOUBLE, axes + " by " + way);
      }
    }
  }
}
