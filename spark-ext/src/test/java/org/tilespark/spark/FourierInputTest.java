package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.spark.fourier.FastLength;

/** What transforms of volumes are given: broken blocks, options, SQL, files. */
@Tag("long")
class FourierInputTest extends FourierTestBase {
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
    assertFails(
        () -> FftOptions.of(Map.of("axis", "x")),
        "There is no option axis; expected axes",
        "did you mean 'axes'?");
    assertEquals(9, FastLength.next(9));
    assertEquals(12, FastLength.next(11));
    assertEquals(224, FastLength.next(221));
    assertEquals(1, FastLength.next(1));
  }

  private static Dataset<Row> sql(String call) {
    return spark.sql("SELECT * FROM " + call);
  }
}
