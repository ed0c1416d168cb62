package org.tilespark.spark.fourier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.TestField;

/** Transforms of volumes agree with their definition, from any tiling, in every mode. */
class FourierTest extends FourierTestBase {
  @ParameterizedTest
  @ValueSource(strings = {"15,25,10", "9,11,5", "1,1,64", "64,1,1", "2,3,5", "7,1,12"})
  void forwardAndBack(String text) {
    int[] shape = shape(text);
    int[][] tilings = {
      {(shape[0] + 2) / 3, shape[1], shape[2]}, // x-slabs
      {4, 5, 3}, // bricks
      {shape[0], shape[1], 2}, // z-slabs
      {shape[0], 3, shape[2]}, // y-slabs
      {2, 2, shape[2]}, // pencils
      shape // one block
    };
    String[] ways = {"slabs", "pencils", "task", "auto"};
    int round = 0;
    for (int[] tiling : tilings) {
      ElementType type = round % 2 == 0 ? DOUBLE : FLOAT;
      FftOptions way = FftOptions.defaults().withDecomposition(ways[round % ways.length]);
      round++;
      TestField field = TestField.random(round, true, shape);
      Dataset<Row> df = field.blocks(spark, type, true, tiling[0], tiling[1], tiling[2]);
      Dataset<Row> input = round % 3 == 0 ? df : stated(df, shape, tiling);
      Dataset<Row> spectrum = VolumeBlocks.fft(input, way);
      String what = text + " in " + Arrays.toString(tiling) + " by " + way;
      TestField expected = field.fft("xyz").permuted(1, 2, 0);
      TestField found = TestField.of(spectrum, expected.shape());
      found.assertNear(expected, type, what);
      assertEquals(
          1, found.energy() / (field.energy() * field.re().length), 1e-5, "Parseval, " + what);
      ArrayMetadata metadata = metadata(spectrum);
      assertEquals("yzx", metadata.axes().orElseThrow());
      assertEquals(
          expected.shape()[0] + "," + expected.shape()[1] + "," + expected.shape()[2],
          metadata.extents(3).orElseThrow().text());
      Dataset<Row> back = VolumeBlocks.ifft(spectrum, way);
      TestField.of(back, shape).assertNear(field, type, "back, " + what);
      assertEquals("xyz", metadata(back).axes().orElseThrow());
      assertTrue(metadata(back).spectrum().isEmpty());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"slabs", "pencils", "task"})
  void raggedTilings(String way) {
    int[] shape = {12, 9, 14};
    FftOptions options = FftOptions.defaults().withDecomposition(way);
    TestField field = TestField.random(7, true, shape);
    List<Box> boxes = new ArrayList<>();
    // Two x-slabs of different thickness, the second in ragged bricks.
    boxes.add(Box.between(new long[] {0, 0, 0}, new long[] {5, 9, 14}));
    boxes.add(Box.between(new long[] {5, 0, 0}, new long[] {12, 4, 3}));
    boxes.add(Box.between(new long[] {5, 0, 3}, new long[] {7, 4, 14}));
    boxes.add(Box.between(new long[] {7, 0, 3}, new long[] {12, 4, 14}));
    boxes.add(Box.between(new long[] {5, 4, 0}, new long[] {12, 9, 14}));
    Dataset<Row> spectrum = VolumeBlocks.fft(field.blocks(spark, DOUBLE, true, boxes), options);
    TestField.of(spectrum, 9, 14, 12)
        .assertNear(field.fft("xyz").permuted(1, 2, 0), DOUBLE, "ragged bricks");
    // Slabs of any thickness stay as they are.
    List<Box> slabs = new ArrayList<>();
    int[] cuts = {0, 1, 6, 8, 12};
    for (int i = 1; i < cuts.length; i++) {
      slabs.add(Box.between(new long[] {cuts[i - 1], 0, 0}, new long[] {cuts[i], 9, 14}));
    }
    Dataset<Row> df = field.blocks(spark, DOUBLE, true, slabs).localCheckpoint();
    Dataset<Row> ragged = VolumeBlocks.fft(df, options);
    TestField.of(ragged, 9, 14, 12)
        .assertNear(field.fft("xyz").permuted(1, 2, 0), DOUBLE, "ragged slabs");
    if (way.equals("slabs")) {
      assertEquals(1, shuffles(ragged).size(), explained(ragged));
    }
  }

  @Test
  void halfSpectra() {
    halfSpectra(2);
  }

  @Test
  @Tag("full")
  void halfSpectraOfAllExtents() {
    halfSpectra(1);
  }

  /** Every {@code step}-th of the axes for each extent, each axes with odd and even ones. */
  private void halfSpectra(int step) {
    String[] ways = {"slabs", "pencils", "task"};
    List<String> allAxes = List.of("xyz", "zyx", "zxy", "yz", "zy", "xz", "z", "x");
    int[] extents = {1, 2, 7, 10};
    int round = 0;
    for (int e = 0; e < extents.length; e++) {
      int[] shape = {6, 9, extents[e]};
      for (int a = (e + 1) / 2 % step; a < allAxes.size(); a += step) {
        String axes = allAxes.get(a);
        FftOptions options =
            FftOptions.defaults()
                .withReal(true)
                .withAxes(axes)
                .withDecomposition(ways[round % ways.length]);
        round++;
        TestField field = TestField.random(round, false, shape);
        int halved = "xyz".indexOf(axes.charAt(axes.length() - 1));
        Dataset<Row> df = field.blocks(spark, DOUBLE, false, 2, 9, 4);
        Dataset<Row> spectrum = VolumeBlocks.fft(df, options);
        TestField expected = field.fft(axes).half(halved);
        expected = axes.length() == 3 ? expected.permuted(1, 2, 0) : expected;
        String what = axes + " of " + Arrays.toString(shape) + " by " + options;
        TestField.of(spectrum, expected.shape()).assertNear(expected, DOUBLE, what);
        Dataset<Row> back =
            VolumeBlocks.ifft(
                spectrum, FftOptions.defaults().withDecomposition(ways[round % ways.length]));
        assertTrue(!Arrays.asList(back.columns()).contains("imag"), what);
        TestField.of(back, shape).assertNear(field, DOUBLE, "back, " + what);
      }
    }
  }

  @Test
  void normsAndAxes() {
    int[] shape = {5, 6, 7};
    TestField field = TestField.random(11, true, shape);
    Dataset<Row> df = stated(field.blocks(spark, DOUBLE, true, 2, 6, 7), shape, 2, 6, 7).cache();
    for (String norm : List.of("backward", "ortho", "forward")) {
      for (String axes : List.of("x", "y", "z", "xy", "zx", "yz", "xyz")) {
        FftOptions options =
            FftOptions.defaults()
                .withNorm(norm)
                .withAxes(axes)
                .withOutput("natural")
                .withDecomposition("slabs");
        double count = 1;
        for (char axis : axes.toCharArray()) {
          count *= shape["xyz".indexOf(axis)];
        }
        double scale =
            norm.equals("ortho") ? 1 / Math.sqrt(count) : norm.equals("forward") ? 1 / count : 1;
        Dataset<Row> spectrum = VolumeBlocks.fft(df, options);
        String what = norm + " over " + axes;
        assertEquals("xyz", metadata(spectrum).axes().orElseThrow(), what);
        TestField.of(spectrum, shape).assertNear(field.fft(axes).scaled(scale), DOUBLE, what);
        Dataset<Row> back = VolumeBlocks.ifft(spectrum, FftOptions.defaults());
        TestField.of(back, shape).assertNear(field, DOUBLE, "back, " + what);
      }
    }
    df.unpersist(true);
  }

  /** One transform after another is undone last to first. */
  @Test
  void transformsOneAfterAnother() {
    int[] shape = {5, 6, 7};
    TestField field = TestField.random(12, false, shape);
    Dataset<Row> df = field.blocks(spark, DOUBLE, false, 2, 3, 7);
    Dataset<Row> first = VolumeBlocks.fft(df, FftOptions.defaults().withAxes("z").withReal(true));
    Dataset<Row> both =
        VolumeBlocks.fft(first, FftOptions.defaults().withAxes("xy").withNorm("ortho"));
    TestField.of(both, 5, 6, 4)
        .assertNear(field.fft("xyz").half(2).scaled(1 / Math.sqrt(30)), DOUBLE, "both");
    Dataset<Row> one = VolumeBlocks.ifft(both);
    TestField.of(one, 5, 6, 4).assertNear(field.fft("z").half(2), DOUBLE, "one undone");
    TestField.of(VolumeBlocks.ifft(one), 5, 6, 7).assertNear(field, DOUBLE, "both undone");
  }

  @Test
  void preprocessing() {
    int[] shape = {6, 7, 8};
    TestField field = TestField.random(13, true, shape);
    TestField real = TestField.random(14, false, shape);
    for (String way : List.of("slabs", "pencils", "task")) {
      FftOptions base = FftOptions.defaults().withDecomposition(way);
      Dataset<Row> df = field.blocks(spark, DOUBLE, true, 2, 7, 8);
      // Padding: after the last elements, before the transform.
      Dataset<Row> padded = VolumeBlocks.fft(df, base.withPadTo("7,none,fast"));
      TestField.of(padded, 7, 8, 7)
          .assertNear(field.padded(7, 7, 8).fft("xyz").permuted(1, 2, 0), DOUBLE, "padded " + way);
      TestField.of(VolumeBlocks.ifft(padded), 7, 7, 8)
          .assertNear(field.padded(7, 7, 8), DOUBLE, "padded and back " + way);
      // A window along each axis.
      Dataset<Row> tapered = VolumeBlocks.fft(df, base.withWindow("hann,none,blackman"));
      TestField windowed =
          field.weighted(
              index ->
                  (0.5 - 0.5 * Math.cos(2 * Math.PI * index[0] / 5))
                      * (0.42
                          - 0.5 * Math.cos(2 * Math.PI * index[2] / 7)
                          + 0.08 * Math.cos(4 * Math.PI * index[2] / 7)));
      TestField.of(tapered, 7, 8, 6)
          .assertNear(windowed.fft("xyz").permuted(1, 2, 0), DOUBLE, "windowed " + way);
      // Origins in the middle.
      Dataset<Row> shifted = VolumeBlocks.fft(df, base.withShift("both").withOutput("natural"));
      TestField.of(shifted, shape)
          .assertNear(
              field.rolled(-3, -3, -4).fft("xyz").rolled(3, 3, 4), DOUBLE, "shifted " + way);
      TestField.of(VolumeBlocks.ifft(shifted, base), shape)
          .assertNear(field, DOUBLE, "shifted and back " + way);
      // Of half a spectrum the last axis stays.
      Dataset<Row> half =
          VolumeBlocks.fft(
              real.blocks(spark, DOUBLE, false, 2, 7, 8),
              base.withReal(true).withShift("true").withOutput("natural"));
      TestField.of(half, 6, 7, 5)
          .assertNear(real.fft("xyz").half(2).rolled(3, 3, 0), DOUBLE, "half, shifted " + way);
      TestField.of(VolumeBlocks.ifft(half, base), shape)
          .assertNear(real, DOUBLE, "half, shifted and back " + way);
    }
  }

  @Test
  void trends() {
    int[] shape = {6, 7, 8};
    // A plane and what has no mean and no slope along any axis.
    TestField noise = TestField.zeros(shape);
    TestField field = TestField.zeros(shape);
    TestField.forEach(
        shape,
        i -> {
          double odd = (i[0] % 2 == 0 ? 1 : -1) * (i[1] == 0 || i[1] == 6 ? 1 : 0) * (i[2] - 3.5);
          noise.re()[noise.at(i)] = odd;
          noise.im()[noise.at(i)] = 2 * odd;
          field.re()[field.at(i)] = odd + 3 + 0.5 * i[0] - 2 * i[1] + 0.25 * i[2];
          field.im()[field.at(i)] = 2 * odd - 1 + i[2];
        });
    TestField flat = residual(field);
    // Least squares of the noise itself are not zero along z: what is left is what they leave.
    for (int[] tiling : new int[][] {{2, 7, 8}, {4, 3, 5}, shape}) {
      for (String way : List.of("slabs", "task", "pencils")) {
        if (Sampling.skips(tiling[0] / 2 + way.length(), 2)) {
          continue;
        }
        Dataset<Row> df = field.blocks(spark, DOUBLE, true, tiling[0], tiling[1], tiling[2]);
        FftOptions options = FftOptions.defaults().withDecomposition(way);
        String what = Arrays.toString(tiling) + " by " + way;
        Dataset<Row> linear = VolumeBlocks.fft(df, options.withDetrend("linear"));
        TestField.of(linear, 7, 8, 6)
            .assertNear(flat.fft("xyz").permuted(1, 2, 0), DOUBLE, "linear, " + what);
        Dataset<Row> mean = VolumeBlocks.fft(df, options.withDetrend("mean"));
        TestField spectrum = field.fft("xyz");
        spectrum.re()[0] = 0;
        spectrum.im()[0] = 0;
        TestField found = TestField.of(mean, 7, 8, 6);
        assertEquals(0, found.re()[0], 1e-9);
        found.assertNear(spectrum.permuted(1, 2, 0), DOUBLE, "mean, " + what);
      }
    }
    // Each volume its own, several times larger.
    Dataset<Row> df = field.blocks(spark, DOUBLE, true, 4, 3, 5);
    Dataset<Row> two =
        df.withColumn("sample", functions.lit(null).cast("int"))
            .unionAll(
                field
                    .scaled(5)
                    .blocks(spark, DOUBLE, true, 3, 7, 2)
                    .withColumn("sample", functions.lit(1)));
    Dataset<Row> linear = VolumeBlocks.fft(two, FftOptions.defaults().withDetrend("linear"));
    TestField.of(linear.where("sample = 1").drop("sample"), 7, 8, 6)
        .assertNear(flat.scaled(5).fft("xyz").permuted(1, 2, 0), DOUBLE, "the one");
    TestField.of(linear.where("sample IS NULL").drop("sample"), 7, 8, 6)
        .assertNear(flat.fft("xyz").permuted(1, 2, 0), DOUBLE, "the other");
  }

  /**
   * The residual of the best plane, by normal equations solved by hand: coordinates are orthogonal.
   */
  private static TestField residual(TestField field) {
    int[] shape = field.shape();
    TestField left = field.scaled(1);
    for (double[] plane : List.of(left.re(), left.im())) {
      double[] slope = new double[3];
      double[] norm = new double[3];
      double[] mean = new double[1];
      TestField.forEach(
          shape,
          i -> {
            mean[0] += plane[field.at(i)] / plane.length;
            for (int axis = 0; axis < 3; axis++) {
              double at = i[axis] - (shape[axis] - 1) / 2.0;
              slope[axis] += plane[field.at(i)] * at;
              norm[axis] += at * at;
            }
          });
      TestField.forEach(
          shape,
          i -> {
            plane[field.at(i)] -= mean[0];
            for (int axis = 0; axis < 3; axis++) {
              plane[field.at(i)] -= slope[axis] / norm[axis] * (i[axis] - (shape[axis] - 1) / 2.0);
            }
          });
    }
    return left;
  }

  @Test
  void furtherColumnsTellVolumesApart() {
    furtherColumnsTellVolumesApart(2);
    Dataset<Row> different =
        TestField.random(21, true, 7, 6, 5)
            .blocks(spark, FLOAT, true, 2, 6, 5)
            .withColumn("sample", functions.lit(1))
            .unionByName(
                TestField.random(23, true, 7, 6, 4)
                    .blocks(spark, FLOAT, true, 2, 6, 4)
                    .withColumn("sample", functions.lit(2)));
    assertFails(
        () -> VolumeBlocks.fft(different),
        "VolumeBlocks.fft: the volumes that further columns tell apart have different extents");
  }

  @Test
  @Tag("full")
  void furtherColumnsTellVolumesApartInEveryModeAndWay() {
    furtherColumnsTellVolumesApart(1);
  }

  /** Every {@code step}-th way for each mode. */
  private void furtherColumnsTellVolumesApart(int step) {
    int[] shape = {7, 6, 5};
    TestField a = TestField.random(21, true, shape);
    TestField b = TestField.random(22, true, shape);
    List<String> ways = List.of("slabs", "pencils", "task");
    int m = 0;
    for (Map<String, String> mode : sampledModes()) {
      for (int w = m % step; w < ways.size(); w += step) {
        String way = ways.get(w);
        int[] tiling = (m / 2 + w) % 2 == 0 ? new int[] {2, 6, 5} : new int[] {3, 4, 2};
        Dataset<Row> both =
            a.blocks(spark, FLOAT, true, tiling[0], tiling[1], tiling[2])
                .withColumn("sample", functions.lit("a"))
                .unionByName(
                    b.blocks(spark, FLOAT, true, tiling[0], tiling[1], tiling[2])
                        .withColumn("sample", functions.lit(null).cast("string")))
                // Somewhere among the block's columns.
                .select("x", "y", "z", "values", "sample", "nx", "imag", "ny", "nz");
        with(
            mode,
            () -> {
              FftOptions options = FftOptions.defaults().withDecomposition(way);
              Dataset<Row> spectra = VolumeBlocks.fft(both, options);
              TestField.of(spectra.where("sample = 'a'"), 6, 5, 7)
                  .assertNear(a.fft("xyz").permuted(1, 2, 0), FLOAT, way);
              TestField.of(spectra.where("sample IS NULL"), 6, 5, 7)
                  .assertNear(b.fft("xyz").permuted(1, 2, 0), FLOAT, way);
              Dataset<Row> back = VolumeBlocks.ifft(spectra, options);
              TestField.of(back.where("sample IS NULL"), shape).assertNear(b, FLOAT, way);
            });
      }
      m++;
    }
  }

  /** The shapes of the issue that take longer, against the definition. */
  @Test
  void oddAndPrimeExtents() {
    int[][] shapes = {{37, 41, 29}, {128, 4, 131}};
    for (int[] shape : shapes) {
      TestField field = TestField.random(101, false, shape);
      TestField expected = field.fft("xyz").half(2).permuted(1, 2, 0);
      for (ElementType type : List.of(FLOAT, DOUBLE)) {
        Dataset<Row> spectrum =
            VolumeBlocks.fft(
                field.blocks(spark, type, false, 10, shape[1], shape[2]),
                FftOptions.defaults().withReal(true).withDecomposition("slabs"));
        TestField.of(spectrum, expected.shape()).assertNear(expected, type, Arrays.toString(shape));
      }
    }
  }

  /** The large shapes of the issue; the second is split over the tasks in bricks. */
  @Test
  @Tag("full")
  void extentsOfVolumesFromLife() {
    int[] head = {181, 217, 181};
    TestField volume = TestField.random(111, false, head);
    TestField half = volume.fft("xyz").half(2).permuted(1, 2, 0);
    Dataset<Row> slabs = volume.blocks(spark, FLOAT, false, 20, 217, 181);
    Dataset<Row> spectrum =
        VolumeBlocks.fft(slabs, FftOptions.defaults().withReal(true).withDecomposition("slabs"));
    TestField.of(spectrum, half.shape()).assertNear(half, FLOAT, Arrays.toString(head));
    TestField.of(VolumeBlocks.ifft(spectrum), head)
        .assertNear(volume, FLOAT, "back " + Arrays.toString(head));
    int[] box = {128, 124, 132};
    TestField complex = TestField.random(112, true, box);
    for (String way : List.of("slabs", "pencils", "task")) {
      TestField.of(
              VolumeBlocks.fft(
                  complex.blocks(spark, DOUBLE, true, 50, 60, 70),
                  FftOptions.defaults().withDecomposition(way)),
              124,
              132,
              128)
          .assertNear(complex.fft("xyz").permuted(1, 2, 0), DOUBLE, way);
    }
  }
}
