package org.tilespark.spark.fourier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.stage.BlockStageExec;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.TestField;

/** Stages and exchanges of transforms of volumes, as planned and as run. */
class FourierPlanTest extends FourierTestBase {
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
    for (Map<String, String> mode : sampledModes()) {
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
            assertEquals(List.of(), PlanNodes.all(plan(product), SortExec.class));
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
    assertEquals(3, PlanNodes.computing(plan(there).executedPlan()).size(), explained(there));
    assertEquals(0, PlanNodes.assembling(plan(there).executedPlan()).size());
    assertEquals(0, PlanNodes.cutting(plan(there).executedPlan()).size());
  }

  private static void assertExchanges(int count, Dataset<Row> df) {
    assertEquals(count, shuffles(df).size(), () -> explained(df));
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
    PlanNodes.computing(plan(natural).executedPlan())
        .forEach(stage -> assertFalse(stage.spec().toString().contains("permute"), "yzx, zxy"));
    // Between, in another order than a transform leaves.
    Dataset<Row> back = VolumeBlocks.ifft(VolumeBlocks.permute(spectrum, "yxz"), options);
    back.collectAsList();
    assertNoPermutationAlone(back);
    TestField.of(back, new int[] {8, 5, 6})
        .assertNear(field.permuted(2, 1, 0), DOUBLE, "back by " + way);
    // Above a projection that drops what is grouped by, and in front of one.
    Dataset<Row> chosen = VolumeBlocks.permute(spectrum.drop("s"), "yxz").drop("nx");
    chosen.collectAsList();
    assertNoPermutationAlone(chosen);
    // A real result.
    Dataset<Row> power = VolumeBlocks.permute(VolumeBlocks.powerSpectrum(spectrum), "zxy");
    power.collectAsList();
    assertEquals(stages, PlanNodes.computing(plan(power).executedPlan()).size());
    assertNoPermutationAlone(power);
  }

  private static void assertNoPermutationAlone(Dataset<Row> df) {
    for (BlockStageExec stage : PlanNodes.computing(plan(df).executedPlan())) {
      assertTrue(stage.spec().program().needsTransforms(), explained(df));
    }
  }

  private static void assertOnlyStages(Dataset<Row> df, int stages, TestField expected) {
    assertEquals(df.count(), df.where("s = 7").count());
    df.collectAsList();
    assertEquals(stages, PlanNodes.computing(plan(df).executedPlan()).size(), explained(df));
    assertNoPermutationAlone(df);
    TestField.of(df, expected.shape()).assertNear(expected, DOUBLE, explained(df));
  }

  /** Plans alone: no block is made. */
  @Test
  void plansOfLargeVolumes() {
    Dataset<Row> any =
        TestField.zeros(1, 1, 1).blocks(spark, FLOAT, true, 1, 1, 1).localCheckpoint();
    // 128 MiB: one task. 1 GiB: x-slabs, then y-slabs.
    assertStages(
        VolumeBlocks.fft(stated(any, new int[] {256, 256, 256}, 64, 64, 64)),
        "volume (256, 256, 256) in one task: transform over xyz, permute yzx");
    Dataset<Row> cube = stated(any, new int[] {512, 512, 512}, 64, 64, 64);
    assertStages(
        VolumeBlocks.fft(cube),
        "volume (512, 512, 512): transform over x, permute yzx",
        "volume (512, 512, 512): transform over yz");
    // Of 1 GiB four blocks for each task, none of less than 64 MiB.
    int slabs = Math.min(16, 4 * spark.sparkContext().defaultParallelism());
    assertEquals("(" + 512 / slabs + ", 512, 512)", blockShape(VolumeBlocks.fft(cube)));
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

  /** Zeros that are added count as elements do. */
  @Test
  void plansOfPaddedVolumes() {
    Dataset<Row> any =
        TestField.zeros(1, 1, 1).blocks(spark, FLOAT, true, 1, 1, 1).localCheckpoint();
    for (int[] tiling : new int[][] {{2, 2, 2}, {8, 8, 8}, {2, 8, 8}}) {
      Dataset<Row> cube = stated(any, new int[] {8, 8, 8}, tiling);
      Dataset<Row> padded = VolumeBlocks.fft(cube, FftOptions.defaults().withPadTo("2000"));
      assertStages(
          padded,
          "volume (8, 2000, 2000): pad to (2000, 2000, 2000), transform over x, permute yzx",
          "volume (8, 8, 8): pad to (8, 2000, 2000), transform over yz");
      assertSmall(padded);
      assertStages(
          VolumeBlocks.fft(cube, FftOptions.defaults().withPadTo("64")),
          tiling[0] + tiling[1] + tiling[2] == 24
              ? "volume (8, 8, 8): pad to (64, 64, 64), transform over xyz, permute yzx"
              : "volume (8, 8, 8) in one task: pad to (64, 64, 64), transform over xyz,"
                  + " permute yzx");
    }
    // Over one or two axes, where blocks are whole along them.
    Dataset<Row> slabs = stated(any, new int[] {512, 8, 8}, 256, 8, 8);
    for (String axes : List.of("yz", "zy")) {
      Dataset<Row> wide =
          VolumeBlocks.fft(slabs, FftOptions.defaults().withAxes(axes).withPadTo("2000"));
      assertStages(wide, "volume (512, 8, 8): pad to (512, 2000, 2000), transform over " + axes);
      assertEquals(1, count("CutBlocks", wide));
      assertSmall(wide);
    }
    Dataset<Row> deep =
        VolumeBlocks.fft(
            stated(any, new int[] {512, 512, 8}, 512, 512, 8),
            FftOptions.defaults().withAxes("z").withPadTo("4000").withDecomposition("pencils"));
    assertEquals(1, count("CutBlocks", deep));
    assertSmall(deep);
    // In one task, if that is asked for: results are cut.
    assertSmall(
        VolumeBlocks.fft(
            stated(any, new int[] {8, 8, 8}, 8, 8, 8),
            FftOptions.defaults().withPadTo("600").withDecomposition("task")));
    assertFails(
        () ->
            VolumeBlocks.fft(
                stated(any, new int[] {8, 8, 8}, 8, 8, 8),
                FftOptions.defaults().withPadTo("3000000000")),
        "VolumeBlocks.fft: padTo makes the extents [3000000000, 3000000000, 3000000000]; expected"
            + " fewer than 2^58 elements");
  }

  /** No block of the result has much more than 256 MiB. */
  private static void assertSmall(Dataset<Row> df) {
    long elements = metadata(df).blockShape(3).orElseThrow().elements();
    assertTrue(8 * elements <= 300L << 20, () -> blockShape(df));
  }

  private static void assertStages(Dataset<Row> df, String... stages) {
    List<String> found =
        plan(df)
            .analyzed()
            .toString()
            .lines()
            .filter(line -> line.contains("ProgramBlocks "))
            .map(line -> line.substring(line.indexOf("ProgramBlocks ") + 14))
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
        PlanNodes.all(plan(spectrum), BlockStageExec.class).stream()
            .filter(stage -> stage.assembled().isDefined())
            .forEach(stage -> predicted.add(stage.assembled().get().predicted().bytes()));
        predicted.sort(null);
        assertEquals(measured, predicted, explained(spectrum));
        assertEquals(output.equals("natural") ? 2 : 1, measured.size());
        for (long bytes : predicted) {
          assertTrue(explained(spectrum).contains("shuffle predicted " + bytes + " bytes"));
        }
      }
    }
  }
}
