package org.tilespark.spark.fourier;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.FastLength;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.testing.TestField;

/** Input of transforms of volumes: broken blocks, options, SQL, files. */
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
          ": no block of the input holds the ",
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

  /**
   * Spark's optimizer knows that a filter of {@code relation} keeps nothing, and drops the join
   * with the trend; of {@code rows} it does not know that.
   */
  @ParameterizedTest
  @ValueSource(strings = {"auto", "slabs", "pencils", "task"})
  void emptyInputs(String way) {
    int[] shape = {4, 4, 4};
    TestField field = TestField.random(62, false, shape);
    Dataset<Row> relation =
        spark
            .createDataFrame(
                field.blocks(spark, DOUBLE, false, 2, 4, 4).collectAsList(),
                TestField.schema(DOUBLE, false))
            .where("x > 100");
    Dataset<Row> rows = field.blocks(spark, DOUBLE, false, 2, 4, 4).where("x > 100");
    for (Dataset<Row> df : List.of(relation, rows)) {
      df.createOrReplaceTempView("nothing");
      Dataset<Row> stated = VolumeBlocks.withExtents(df, 4, 4, 4);
      for (String detrend : List.of("none", "mean", "linear")) {
        FftOptions options = FftOptions.defaults().withDecomposition(way).with("detrend", detrend);
        assertFails(
            () -> VolumeBlocks.fft(stated, options).collectAsList(),
            " elements from there",
            "VolumeBlocks.fft");
        FftOptions zero = options.withMissing(Missing.ZERO);
        assertZeros(TestField.of(VolumeBlocks.fft(stated, zero), shape), way + " " + detrend);
        if (way.equals("auto")) {
          String sql =
              "volume_fft(TABLE(nothing), detrend => '" + detrend + "', extents => '4,4,4'";
          assertFails(() -> sql(sql + ")").collectAsList(), " elements from there", "volume_fft");
          assertZeros(TestField.of(sql(sql + ", missing => 'zero')"), shape), "SQL " + detrend);
        }
        // Volumes that further columns distinguish: there is none.
        assertEquals(0, VolumeBlocks.fft(stated.withColumn("s", functions.lit(1)), zero).count());
      }
    }
  }

  private static void assertZeros(TestField field, String what) {
    double[] zeros = new double[field.re().length];
    assertArrayEquals(zeros, field.re(), what);
    assertArrayEquals(zeros, field.im(), what);
  }

  /** Grouping by -0.0 and 0.0, or by NaN of any bits, makes one group. */
  /** Two results of 65 MiB: rows that each have a buffer of their own. */
  @Test
  void largeResults() {
    long elements = 128L * 256 * 260;
    Dataset<Row> ones =
        spark.sql(
            """
            SELECT 0L AS x, 0L AS y, 0L AS z, 128 AS nx, 256 AS ny, 260 AS nz,
              array_repeat(CAST(sample AS FLOAT), 8519680) AS values,
              array_repeat(CAST(0 AS FLOAT), 8519680) AS imag, sample
            FROM VALUES 1, 2 AS samples(sample)
            """);
    for (Row row :
        VolumeBlocks.fft(ones, FftOptions.defaults().withDecomposition("task"))
            .selectExpr(
                "sample",
                "element_at(values, 1) AS first",
                "aggregate(values, 0D, (sum, v) -> sum + abs(v))"
                    + " + aggregate(imag, 0D, (sum, v) -> sum + abs(v)) AS all",
                "size(values) + size(imag) AS size")
            .collectAsList()) {
      double sum = row.<Integer>getAs("sample") * (double) elements;
      assertEquals((float) sum, row.<Float>getAs("first"), row::toString);
      assertEquals(sum, row.<Double>getAs("all"), 1e-3 * sum, row::toString);
      assertEquals(2 * elements, row.<Integer>getAs("size").longValue(), row::toString);
    }
  }

  @Test
  void volumesAreToldApartByEquality() {
    int[] shape = {4, 4, 4};
    TestField a = TestField.random(63, false, shape);
    TestField b = TestField.random(64, false, shape);
    spark
        .udf()
        .register(
            "nan_of_bits", (UDF1<Long, Double>) Double::longBitsToDouble, DataTypes.DoubleType);
    String zero = "IF(x = 0, 0.0D, -0.0D)";
    String nan = "nan_of_bits(IF(x = 0, " + 0x7ff8000000000000L + ", " + 0x7ff8000000000123L + "))";
    for (String column : List.of("%s", "named_struct('a', %s)", "array(%s, 1)")) {
      Dataset<Row> both =
          a.blocks(spark, DOUBLE, false, 1, 4, 4)
              .withColumn("g", functions.expr(column.formatted(zero)))
              .unionByName(
                  b.blocks(spark, DOUBLE, false, 1, 4, 4)
                      .withColumn("g", functions.expr(column.formatted(nan))));
      both = VolumeBlocks.withExtents(both, 4, 4, 4);
      for (String way : List.of("task", "slabs", "pencils")) {
        for (Missing missing : Missing.values()) {
          for (String detrend : List.of("none", "mean")) {
            boolean plain = missing == Missing.ZERO && detrend.equals("none");
            if (!Sampling.FULL && !column.equals("%s") && (!plain || way.equals("pencils"))) {
              continue;
            }
            if (missing == Missing.ZERO || way.equals("task")) {
              FftOptions options =
                  FftOptions.defaults()
                      .withDecomposition(way)
                      .withMissing(missing)
                      .with("detrend", detrend)
                      .withOutput("natural");
              Dataset<Row> spectra = VolumeBlocks.fft(both, options);
              String isZero =
                  column.contains("array") ? "g[0] = 0" : "g = " + column.formatted("0D");
              String what = column + " by " + way + ", " + missing + ", " + detrend;
              // The number at frequency 0 is the sum, which has no mean to be taken off.
              TestField first = TestField.of(spectra.where(isZero), shape);
              TestField second = TestField.of(spectra.where("NOT " + isZero), shape);
              first.withoutSum().assertNear(a.fft("xyz").withoutSum(), DOUBLE, what);
              second.withoutSum().assertNear(b.fft("xyz").withoutSum(), DOUBLE, what);
            }
          }
        }
      }
    }
    // Two blocks at one place.
    Dataset<Row> twice =
        a.blocks(spark, DOUBLE, false, 4, 4, 4)
            .withColumn("g", functions.lit(0.0))
            .unionByName(
                a.blocks(spark, DOUBLE, false, 4, 4, 4).withColumn("g", functions.lit(-0.0)));
    assertFails(
        () -> VolumeBlocks.multiplyPointwise(twice, twice).collectAsList(),
        "block at x 0, y 0, z 0: two blocks of the input hold the element there");
  }

  @Test
  void streams() {
    Dataset<Row> stream =
        spark
            .readStream()
            .format("rate")
            .load()
            .selectExpr(
                "0L AS x",
                "0L AS y",
                "0L AS z",
                "1 AS nx",
                "1 AS ny",
                "1 AS nz",
                "array(1D) AS values",
                "array(1D) AS imag");
    Dataset<Row> blocks = TestField.zeros(1, 1, 1).blocks(spark, DOUBLE, true, 1, 1, 1);
    Map<String, Executable> calls =
        Map.of(
            "fft", () -> VolumeBlocks.fft(stream),
            "ifft", () -> VolumeBlocks.ifft(stream),
            "lowPass", () -> VolumeBlocks.lowPass(stream, 1),
            "powerSpectrum", () -> VolumeBlocks.powerSpectrum(stream),
            "radialAverage", () -> VolumeBlocks.radialAverage(stream),
            "frequencies", () -> VolumeBlocks.frequencies(stream),
            "multiplyPointwise", () -> VolumeBlocks.multiplyPointwise(blocks, stream));
    calls.forEach(
        (name, call) ->
            assertFails(
                call,
                "VolumeBlocks."
                    + name
                    + " of a streaming DataFrame: it needs all blocks of the array at once; write"
                    + " the stream's blocks to a table and read that"));
  }

  /** Metadata of others under our keys: refused by name, and the message's advice helps. */
  @Test
  void metadataThatCannotBeRead() {
    int[] shape = {4, 4, 4};
    TestField field = TestField.random(65, false, shape);
    Dataset<Row> df = field.blocks(spark, DOUBLE, false, 2, 4, 4);
    Map<String, Metadata> unreadable =
        Map.of(
            "tilespark.extents is Long 4; expected a string",
            new MetadataBuilder().putLong(ArrayMetadata.EXTENTS, 4).build(),
            "tilespark.blockShape is an array; expected a string",
            new MetadataBuilder().putLongArray(ArrayMetadata.BLOCK_SHAPE, new long[] {2}).build(),
            "tilespark.spectrum is null; expected a string",
            new MetadataBuilder().putNull(ArrayMetadata.SPECTRUM).build(),
            "tilespark.axes is 'xxx'; expected each letter once",
            new MetadataBuilder().putString(ArrayMetadata.AXES, "xxx").build());
    unreadable.forEach(
        (message, metadata) -> {
          Dataset<Row> stale =
              df.withColumn("values", functions.col("values").as("values", metadata));
          assertFails(
              () -> VolumeBlocks.fft(stale), "Column metadata " + message, "withoutExtents(df)");
          stale.createOrReplaceTempView("stale");
          assertFails(() -> sql("volume_fft(TABLE(stale))"), "Column metadata " + message);
          for (Dataset<Row> mended :
              List.of(
                  VolumeBlocks.fft(VolumeBlocks.withoutExtents(stale)),
                  VolumeBlocks.fft(VolumeBlocks.withExtents(stale, 4, 4, 4)),
                  sql("volume_fft(TABLE(stale), extents => '4,4,4')"))) {
            TestField.of(mended, shape)
                .assertNear(field.fft("xyz").permuted(1, 2, 0), DOUBLE, message);
          }
        });
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
