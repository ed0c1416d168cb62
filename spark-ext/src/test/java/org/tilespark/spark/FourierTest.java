package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.distribution.Box;
import org.tilespark.spark.exec.AssembleBlocksExec;
import org.tilespark.spark.exec.BlockStageExec;
import org.tilespark.spark.exec.CutBlocksExec;
import org.tilespark.spark.exec.FourierBlocksExec;
import org.tilespark.spark.fourier.FastLength;

/** Transforms of volumes agree with their definition, from any tiling, in every mode. */
@Tag("long")
class FourierTest extends SparkTest {
  private static final ElementType FLOAT = ElementType.FLOAT32;
  private static final ElementType DOUBLE = ElementType.FLOAT64;

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
          ArrayMetadata.text(metadata.extents(3).orElseThrow()));
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
    String[] ways = {"slabs", "pencils", "task"};
    int round = 0;
    for (int last : new int[] {1, 2, 7, 10}) {
      int[] shape = {6, 9, last};
      for (String axes : List.of("xyz", "zyx", "zxy", "yz", "zy", "xz", "z", "x")) {
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
      // Padding: behind the last elements, before the transform.
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

  /** What the best plane leaves, by normal equations solved by hand: coordinates are orthogonal. */
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
    int[] shape = {7, 6, 5};
    TestField a = TestField.random(21, true, shape);
    TestField b = TestField.random(22, true, shape);
    int round = 0;
    for (Map<String, String> mode : executionModes()) {
      for (String way : List.of("slabs", "pencils", "task")) {
        int[] tiling = round++ % 2 == 0 ? new int[] {2, 6, 5} : new int[] {3, 4, 2};
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
    }
    Dataset<Row> different =
        a.blocks(spark, FLOAT, true, 2, 6, 5)
            .withColumn("sample", functions.lit(1))
            .unionByName(
                TestField.random(23, true, 7, 6, 4)
                    .blocks(spark, FLOAT, true, 2, 6, 4)
                    .withColumn("sample", functions.lit(2)));
    assertFails(
        () -> VolumeBlocks.fft(different),
        "VolumeBlocks.fft: the volumes that further columns tell apart have different extents");
  }

  /** One exchange each way; none where blocks are whole; none in one task. */
  @Test
  void exchanges() {
    int[] shape = {16, 12, 10};
    TestField field = TestField.random(31, true, shape);
    Dataset<Row> slabs = stated(field.blocks(spark, FLOAT, true, 4, 12, 10), shape, 4, 12, 10);
    Dataset<Row> bricks = stated(field.blocks(spark, FLOAT, true, 4, 5, 6), shape, 4, 5, 6);
    Dataset<Row> df = slabs.localCheckpoint();
    Dataset<Row> cut = bricks.localCheckpoint();
    FftOptions bySlabs = FftOptions.defaults().withDecomposition("slabs");
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            assertExchanges(1, VolumeBlocks.fft(df, bySlabs));
            assertExchanges(2, VolumeBlocks.fft(cut, bySlabs));
            assertExchanges(2, VolumeBlocks.fft(df, bySlabs.withOutput("natural")));
            assertExchanges(2, VolumeBlocks.ifft(VolumeBlocks.fft(df, bySlabs), bySlabs));
            assertExchanges(2, VolumeBlocks.fft(df, bySlabs.withDecomposition("pencils")));
            assertExchanges(0, VolumeBlocks.fft(df, FftOptions.defaults().withAxes("yz")));
            assertExchanges(0, VolumeBlocks.fft(df));
            assertExchanges(0, VolumeBlocks.fft(cut));
            assertExchanges(0, VolumeBlocks.ifft(VolumeBlocks.fft(cut)));
            // There, a product, a low pass, and back: one exchange forward for each, one back.
            Dataset<Row> a = VolumeBlocks.fft(df, bySlabs);
            Dataset<Row> b =
                VolumeBlocks.fft(df.withColumn("values", functions.col("imag")), bySlabs);
            Dataset<Row> product = VolumeBlocks.multiplyPointwise(a, b);
            assertExchanges(2, product);
            assertEquals(
                0,
                PlanNodes.all(plan(product), SortExec.class).stream()
                    .filter(sort -> sort.child() instanceof FourierBlocksExec)
                    .count());
            assertExchanges(3, VolumeBlocks.ifft(VolumeBlocks.lowPass(product, 0.3), bySlabs));
          });
    }
    with(
        Map.of("spark.tilespark.fourier.taskSize", "14k"),
        () -> assertExchanges(1, VolumeBlocks.fft(df)));
    // Programs that follow each other are one stage, from pieces to pieces.
    Dataset<Row> there =
        VolumeBlocks.ifft(VolumeBlocks.lowPass(VolumeBlocks.fft(df, bySlabs), 0.3), bySlabs);
    there.collectAsList();
    assertEquals(3, PlanNodes.all(plan(there), FourierBlocksExec.class).size(), explained(there));
    assertEquals(0, PlanNodes.all(plan(there), AssembleBlocksExec.class).size());
    assertEquals(0, PlanNodes.all(plan(there), CutBlocksExec.class).size());
  }

  /** No device trip of their own: counted in the plan. */
  @ParameterizedTest
  @ValueSource(strings = {"slabs", "task"})
  void permutationsAreStepsOfTheTransformsStages(String way) {
    int[] shape = {6, 5, 8};
    FftOptions options = FftOptions.defaults().withDecomposition(way);
    int stages = way.equals("slabs") ? 2 : 1;
    TestField field = TestField.random(51, true, shape);
    Dataset<Row> df =
        stated(field.blocks(spark, DOUBLE, true, 2, 5, 8), shape, 2, 5, 8)
            .withColumn("s", functions.lit(7))
            .localCheckpoint();
    // Before: x-slabs become z-slabs.
    Dataset<Row> turned = VolumeBlocks.permute(df, "yzx");
    assertOnlyStages(
        VolumeBlocks.fft(turned, options),
        stages,
        field.permuted(1, 2, 0).fft("xyz").permuted(1, 2, 0));
    // After: the natural order without an exchange more; blocks are y-slabs still.
    Dataset<Row> spectrum = VolumeBlocks.fft(df, options);
    Dataset<Row> natural = VolumeBlocks.permute(spectrum, "zxy");
    assertOnlyStages(natural, stages, field.fft("xyz"));
    assertEquals("xyz", metadata(natural).axes().orElseThrow());
    assertEquals(shuffles(spectrum).size(), shuffles(natural).size(), explained(natural));
    PlanNodes.all(plan(natural), FourierBlocksExec.class)
        .forEach(stage -> assertFalse(stage.spec().toString().contains("permute"), "yzx, zxy"));
    // Between, in another order than a transform leaves.
    Dataset<Row> back = VolumeBlocks.ifft(VolumeBlocks.permute(spectrum, "yxz"), options);
    back.collectAsList();
    assertEquals(0, PlanNodes.all(plan(back), BlockStageExec.class).size(), explained(back));
    TestField.of(back, shape).assertNear(field, DOUBLE, "back by " + way);
    // Above a projection that drops what is grouped by, and in front of one.
    Dataset<Row> chosen = VolumeBlocks.permute(spectrum.drop("s"), "yxz").drop("nx");
    chosen.collectAsList();
    assertEquals(0, PlanNodes.all(plan(chosen), BlockStageExec.class).size(), explained(chosen));
    // A real result.
    Dataset<Row> power = VolumeBlocks.permute(VolumeBlocks.powerSpectrum(spectrum), "zxy");
    power.collectAsList();
    assertEquals(stages, PlanNodes.all(plan(power), FourierBlocksExec.class).size());
    assertEquals(0, PlanNodes.all(plan(power), BlockStageExec.class).size(), explained(power));
  }

  private static void assertOnlyStages(Dataset<Row> df, int stages, TestField expected) {
    assertEquals(df.count(), df.where("s = 7").count());
    df.collectAsList();
    assertEquals(stages, PlanNodes.all(plan(df), FourierBlocksExec.class).size(), explained(df));
    assertEquals(0, PlanNodes.all(plan(df), BlockStageExec.class).size(), explained(df));
    TestField.of(df, expected.shape()).assertNear(expected, DOUBLE, explained(df));
  }

  /** What is asked of the planner alone: no block is made. */
  @Test
  void plansOfLargeVolumes() {
    Dataset<Row> any =
        TestField.zeros(1, 1, 1).blocks(spark, FLOAT, true, 1, 1, 1).localCheckpoint();
    // 128 MiB: one task. 1 GiB: x-slabs, then y-slabs, none of more than 256 MiB.
    assertStages(
        VolumeBlocks.fft(stated(any, new int[] {256, 256, 256}, 64, 64, 64)),
        "volume (256, 256, 256) in one task: transform over xyz, permute yzx");
    Dataset<Row> cube = stated(any, new int[] {512, 512, 512}, 64, 64, 64);
    assertStages(
        VolumeBlocks.fft(cube),
        "volume (512, 512, 512): transform over x, permute yzx",
        "volume (512, 512, 512): transform over yz");
    assertEquals("(128, 512, 512)", blockShape(VolumeBlocks.fft(cube)));
    // Slabs of any axis serve; the halved axis must be whole first.
    Dataset<Row> zSlabs = stated(any.drop("imag"), new int[] {512, 512, 512}, 512, 512, 64);
    assertStages(
        VolumeBlocks.fft(zSlabs),
        "volume (512, 512, 512): transform over z, permute yzx",
        "volume (512, 512, 512): transform over xy");
    assertStages(
        VolumeBlocks.fft(zSlabs, FftOptions.defaults().withReal(true)),
        "volume (512, 512, 257): transform over x, permute yzx",
        "volume (512, 512, 512): real transform over yz");
    assertEquals(1, count("CutBlocks", VolumeBlocks.fft(zSlabs)));
    assertEquals(2, count("CutBlocks", VolumeBlocks.fft(cube)));
    assertEquals(
        3, count("CutBlocks", VolumeBlocks.fft(cube, FftOptions.defaults().withOutput("natural"))));
    // A plane of 3 GiB; fewer planes than tasks.
    for (int[] shape : new int[][] {{64, 20000, 20000}, {3, 20000, 2000}}) {
      String text = "volume (" + shape[0] + ", " + shape[1] + ", " + shape[2] + ")";
      assertStages(
          VolumeBlocks.fft(stated(any, shape, 2, 100, 100)),
          text + ": transform over x, permute yzx",
          text + ": transform over y",
          text + ": transform over z");
    }
    assertStages(
        VolumeBlocks.ifft(
            VolumeBlocks.fft(
                cube.drop("imag"),
                FftOptions.defaults().withReal(true).withDecomposition("pencils"))),
        // Letters are the axes as each stage finds them: here y, z, x.
        "volume (512, 257, 512): inverse real transform over xy, permute zxy",
        "volume (512, 257, 512): inverse transform over z",
        "volume (512, 512, 257): transform over x, permute yzx",
        "volume (512, 512, 257): transform over y",
        "volume (512, 512, 512): real transform over z");
  }

  private static void assertStages(Dataset<Row> df, String... stages) {
    List<String> found =
        plan(df)
            .analyzed()
            .toString()
            .lines()
            .filter(line -> line.contains("FourierBlocks "))
            .map(line -> line.substring(line.indexOf("FourierBlocks ") + 14))
            .toList();
    assertEquals(List.of(stages), found, () -> plan(df).analyzed().toString());
  }

  private static long count(String node, Dataset<Row> df) {
    return plan(df).analyzed().toString().lines().filter(line -> line.contains(node)).count();
  }

  private static String blockShape(Dataset<Row> df) {
    return metadata(df).blockShape(3).orElseThrow().toString();
  }

  @Test
  void exchangesMoveWhatWasPredicted() {
    int[] shape = {33, 28, 21};
    TestField field = TestField.random(32, true, shape);
    for (boolean isReal : new boolean[] {false, true}) {
      for (String output : List.of("permuted", "natural")) {
        Dataset<Row> df =
            stated(field.blocks(spark, FLOAT, !isReal, 5, 28, 21), shape, 5, 28, 21)
                .localCheckpoint();
        Dataset<Row> spectrum =
            VolumeBlocks.fft(
                df,
                FftOptions.defaults()
                    .withDecomposition("slabs")
                    .withReal(isReal)
                    .withOutput(output));
        List<Long> measured =
            shuffles(spectrum).stream()
                .map(shuffle -> shuffle.metrics().apply("dataSize").value())
                .sorted()
                .toList();
        List<Long> predicted = new ArrayList<>();
        PlanNodes.all(plan(spectrum), FourierBlocksExec.class).stream()
            .filter(stage -> stage.assembled().isDefined())
            .forEach(stage -> predicted.add(stage.assembled().get().predicted().bytes()));
        PlanNodes.all(plan(spectrum), AssembleBlocksExec.class)
            .forEach(assemble -> predicted.add(assemble.spec().predicted().bytes()));
        predicted.sort(null);
        assertEquals(measured, predicted, explained(spectrum));
        assertEquals(output.equals("natural") ? 2 : 1, measured.size());
        for (long bytes : predicted) {
          assertTrue(explained(spectrum).contains("shuffle predicted " + bytes + " bytes"));
        }
      }
    }
  }

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

  @Test
  void badInput() {
    int[] shape = {8, 6, 4};
    TestField field = TestField.random(61, true, shape);
    FftOptions bySlabs = FftOptions.defaults().withDecomposition("slabs");
    Dataset<Row> slabs = stated(field.blocks(spark, DOUBLE, true, 2, 6, 4), shape, 2, 6, 4);
    for (String way : List.of("slabs", "pencils", "task")) {
      FftOptions options = FftOptions.defaults().withDecomposition(way);
      assertFails(
          () -> VolumeBlocks.fft(slabs.where("x <> 4"), options).collectAsList(),
          "block at x 4, y 0, z 0: no block of the input holds the ",
          "missing=zero",
          "VolumeBlocks.fft");
      assertFails(
          () -> VolumeBlocks.fft(slabs.union(slabs.where("x = 2")), options).collectAsList(),
          "two blocks of the input hold the element there");
      assertFails(
          () -> VolumeBlocks.fft(slabs.where("x < 0"), options).collectAsList(),
          "no block of the input holds");
      TestField holed = field.weighted(index -> index[0] / 2 == 2 ? 0 : 1);
      Dataset<Row> zeros =
          VolumeBlocks.fft(slabs.where("x <> 4"), options.withMissing(Missing.ZERO));
      TestField.of(zeros, 6, 4, 8)
          .assertNear(holed.fft("xyz").permuted(1, 2, 0), DOUBLE, "zeros by " + way);
    }
    // The metadata says slabs, a block is none.
    assertFails(
        () ->
            VolumeBlocks.fft(
                    stated(field.blocks(spark, DOUBLE, true, 2, 3, 4), shape, 2, 6, 4), bySlabs)
                .collectAsList(),
        "block at x ",
        "it has 3 of 6 elements along y",
        "withoutExtents(df)");
    assertFails(
        () -> VolumeBlocks.fft(slabs.withColumn("nz", functions.lit(3)), bySlabs).collectAsList(),
        "values has 48 elements; expected nx x ny x nz = 2 x 6 x 3 = 36");
    assertFails(
        () ->
            VolumeBlocks.fft(
                slabs.selectExpr(
                    "x",
                    "y",
                    "z",
                    "nx",
                    "ny",
                    "nz",
                    "transform(values, v -> CAST(v AS INT)) AS values")),
        "column values is ARRAY<INT>; expected ARRAY<FLOAT> or ARRAY<DOUBLE> (CAST it)");
    assertFails(
        () -> VolumeBlocks.fft(slabs, FftOptions.defaults().withReal(true)),
        "real=true, but the blocks are complex");
    assertFails(
        () -> VolumeBlocks.fft(slabs, FftOptions.defaults().withPadTo("7")),
        "VolumeBlocks.fft: padTo asks for 7 along an axis of 8 elements");
    assertFails(
        () -> VolumeBlocks.fft(slabs, FftOptions.defaults().withWindow("hann,none")),
        "window is 'hann,none'; expected one word, or one for each of 3 axes");
    assertFails(
        () -> VolumeBlocks.fft(VolumeBlocks.withoutExtents(slabs.where("x < 0"))),
        "the extents are (0, 0, 0); expected at least one element");
    assertFails(() -> VolumeBlocks.ifft(slabs.drop("imag")), "state axes: those to transform");
    assertFails(
        () -> VolumeBlocks.ifft(slabs.drop("imag"), FftOptions.defaults().withAxes("z")),
        "the blocks are real (no column imag); expected the complex ones of a spectrum");
    // A permuted spectrum that lost its metadata.
    Dataset<Row> spectrum = VolumeBlocks.fft(slabs, bySlabs);
    Dataset<Row> lost = spark.createDataFrame(spectrum.toJavaRDD(), TestField.schema(DOUBLE, true));
    assertFails(
        () -> VolumeBlocks.ifft(lost),
        "VolumeBlocks.ifft: the column metadata does not tell which transform made the spectrum",
        "as 'yzx' for what fft leaves");
    TestField.of(VolumeBlocks.ifft(lost, FftOptions.defaults().withAxes("yzx")), shape)
        .assertNear(field, DOUBLE, "with axes stated");
    assertFails(
        () -> VolumeBlocks.ifft(spectrum, FftOptions.defaults().withAxes("x")),
        "axes is 'x'; the column metadata tilespark.spectrum says");
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

  @Test
  void files(@TempDir Path dir) {
    int[] shape = {8, 6, 4};
    TestField field = TestField.random(81, false, shape);
    String in = dir.resolve("in.npy").toString();
    field.blocks(spark, FLOAT, false, 2, 6, 4).write().format("npy").save(in);
    Dataset<Row> read = spark.read().format("npy").option("blockShape", "2,6,4").load(in);
    for (String way : List.of("slabs", "task")) {
      Dataset<Row> spectrum =
          VolumeBlocks.fft(
              read, FftOptions.defaults().withOutput("natural").withDecomposition(way));
      String out = dir.resolve(way + ".npy").toString();
      spectrum.write().format("npy").save(out);
      Dataset<Row> again = spark.read().format("npy").option("blockShape", "8,3,4").load(out);
      assertEquals("<c8", metadata(again).fileType().orElseThrow());
      TestField.of(again, shape).assertNear(field.fft("xyz"), FLOAT, way);
    }
  }

  @Test
  void fromSql() {
    int[] shape = {6, 5, 8};
    TestField field = TestField.random(91, false, shape);
    field.blocks(spark, DOUBLE, false, 2, 5, 8).createOrReplaceTempView("v");
    TestField.of(sql("volume_fft(TABLE(v))"), 5, 8, 6)
        .assertNear(field.fft("xyz").permuted(1, 2, 0), DOUBLE, "plain");
    TestField.of(sql("volume_fft(TABLE(v), 'yz', norm => 'forward', real => true)"), 6, 5, 5)
        .assertNear(field.fft("yz").half(2).scaled(1 / 40.0), DOUBLE, "options");
    TestField.of(
            sql("volume_ifft(TABLE(SELECT * FROM volume_fft(TABLE(v), real => 'true')))"), shape)
        .assertNear(field, DOUBLE, "back");
    TestField.of(sql("volume_fft(TABLE(v), 'z', padTo => 9)"), 6, 5, 9)
        .assertNear(field.padded(6, 5, 9).fft("z"), DOUBLE, "padded");
    spark.sql("CREATE OR REPLACE TEMP VIEW s AS SELECT * FROM volume_fft(TABLE(v))");
    TestField.of(sql("volume_ifft(TABLE(SELECT * FROM volume_low_pass(TABLE(s), 10)))"), shape)
        .assertNear(field, DOUBLE, "all kept");
    assertEquals(
        240L,
        sql("volume_radial_average(TABLE(SELECT * FROM volume_power_spectrum(TABLE(s))), 0.1)")
            .selectExpr("sum(count)")
            .first()
            .getLong(0));
    assertEquals(
        sql("volume_power_spectrum(TABLE(s))").count(),
        sql("volume_multiply_pointwise(TABLE(s), TABLE(s))").count());
    assertFails(() -> sql("volume_fft(TABLE(v), 'xw')"), "axes is 'xw'; expected some of");
    assertFails(() -> sql("volume_fft(TABLE(v), output => 'any')"), "output is 'any'; expected");
    assertFails(() -> sql("volume_ifft(TABLE(v))"), "volume_ifft: the column metadata does not");
  }

  @Test
  void optionsAsTexts() {
    FftOptions options =
        FftOptions.of(
            Map.of(
                "AXES",
                "zx",
                "padto",
                "Fast, 12",
                "shift",
                "TRUE",
                "spacing",
                "2",
                "real",
                "true"));
    assertEquals(List.of(10L, 12L), options.padTo(List.of(10L, 11L)));
    assertEquals(List.of(2.0, 2.0), options.spacing(2).orElseThrow());
    assertEquals("spectrum", options.shift().orElseThrow().toString());
    assertEquals(options, FftOptions.of(options.toMap()));
    for (Map.Entry<String, String> bad :
        Map.of(
                "axes", "xx",
                "norm", "unit",
                "real", "yes",
                "output", "both",
                "window", "hann,box",
                "padTo", "0",
                "spacing", "-1",
                "realExtent", "many",
                "detrend", "cubic",
                "decomposition", "cubes")
            .entrySet()) {
      assertFails(
          () -> FftOptions.defaults().with(bad.getKey(), bad.getValue()), bad.getKey() + " is '");
    }
    assertFails(() -> FftOptions.of(Map.of("axis", "x")), "There is no option axis; expected axes");
    assertEquals(9, FastLength.next(9));
    assertEquals(12, FastLength.next(11));
    assertEquals(224, FastLength.next(221));
    assertEquals(1, FastLength.next(1));
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

  private static void assertExchanges(int count, Dataset<Row> df) {
    assertEquals(count, shuffles(df).size(), () -> explained(df));
  }

  // ---- helpers

  private static int[] shape(String text) {
    return Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
  }

  private static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }

  private static Dataset<Row> sql(String call) {
    return spark.sql("SELECT * FROM " + call);
  }

  private static Dataset<Row> stated(Dataset<Row> df, int[] shape, int... tiling) {
    Metadata metadata =
        ArrayMetadata.empty()
            .withExtents(Shape.of(shape[0], shape[1], shape[2]))
            .withBlockShape(Shape.of(tiling[0], tiling[1], tiling[2]))
            .toMetadata();
    return df.withColumn("values", functions.col("values").as("values", metadata));
  }

  private static List<ShuffleExchangeExec> shuffles(Dataset<Row> df) {
    df.collectAsList();
    return PlanNodes.all(plan(df), ShuffleExchangeExec.class);
  }
}
