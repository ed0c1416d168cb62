package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestField;

/** Multiples and sums of volumes, compared with loops over plain arrays. */
class VolumeElementwiseTest extends SparkTest {
  private static final ElementType FLOAT = ElementType.FLOAT32;
  private static final ElementType DOUBLE = ElementType.FLOAT64;
  private static final int[] SHAPE = {6, 5, 7};

  @Test
  void scalesAndAddsInEveryMode() {
    TestField a = TestField.random(1, true, SHAPE);
    TestField b = TestField.random(2, true, SHAPE);
    a.re()[3] = Double.NaN;
    a.re()[4] = Double.POSITIVE_INFINITY;
    b.re()[4] = Double.NEGATIVE_INFINITY;
    b.im()[5] = -0.0;
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            for (boolean isComplex : new boolean[] {false, true}) {
              Dataset<Row> doubles = a.blocks(spark, DOUBLE, isComplex, 2, 5, 3);
              Dataset<Row> floats = a.blocks(spark, FLOAT, isComplex, 4, 2, 7);
              assertSame(a, a, isComplex, (x, y) -> -0.1 * x, VolumeBlocks.scale(doubles, -0.1));
              assertSame(
                  a,
                  a,
                  isComplex,
                  (x, y) -> (float) (-0.1 * (float) x),
                  VolumeBlocks.scale(floats, -0.1));
              assertSame(
                  a,
                  b,
                  isComplex,
                  Double::sum,
                  VolumeBlocks.add(doubles, b.blocks(spark, DOUBLE, isComplex, 2, 5, 3)));
              assertSame(
                  a,
                  b,
                  isComplex,
                  (x, y) -> (float) x + (float) y,
                  VolumeBlocks.add(floats, b.blocks(spark, FLOAT, isComplex, 4, 2, 7)));
              assertSame(a, a, isComplex, Double::sum, VolumeBlocks.add(doubles, doubles));
            }
          });
    }
  }

  private interface Both {
    double of(double x, double y);
  }

  private static void assertSame(
      TestField a, TestField b, boolean isComplex, Both expected, Dataset<Row> df) {
    TestField found = TestField.of(df, a.shape());
    double[] re = new double[a.re().length];
    double[] im = new double[re.length];
    Arrays.setAll(re, i -> expected.of(a.re()[i], b.re()[i]));
    Arrays.setAll(im, i -> isComplex ? expected.of(a.im()[i], b.im()[i]) : 0);
    for (int i = 0; i < re.length; i++) {
      assertEquals(re[i], found.re()[i], "re " + i);
      assertEquals(im[i], found.im()[i], "im " + i);
    }
    assertEquals(isComplex, Arrays.asList(df.columns()).contains("imag"));
  }

  /** The sum is cut as the first. */
  @Test
  void differentCuts(@TempDir Path directory) {
    TestField a = TestField.random(3, false, SHAPE);
    TestField b = TestField.random(4, false, SHAPE);
    Dataset<Row> first = file(a, directory.resolve("a.npy"), "2,5,7");
    Dataset<Row> second = file(b, directory.resolve("b.npy"), "6,2,3");
    Dataset<Row> sum = VolumeBlocks.add(first, second);
    assertEquals("(2, 5, 7)", metadata(sum).blockShape(3).orElseThrow().toString());
    assertEquals("(6, 5, 7)", metadata(sum).extents(3).orElseThrow().toString());
    assertEquals("<f8", metadata(sum).fileType().orElseThrow());
    assertSame(a, b, false, Double::sum, sum);
    Dataset<Row> slabs = VolumeBlocks.slabs(second, "z", 2);
    assertSame(a, b, false, Double::sum, VolumeBlocks.add(VolumeBlocks.pencils(first, "y"), slabs));
    Dataset<Row> unstated =
        VolumeBlocks.add(
            a.blocks(spark, DOUBLE, false, 4, 5, 7), b.blocks(spark, DOUBLE, false, 3, 2, 7));
    assertEquals("(4, 5, 7)", metadata(unstated).blockShape(3).orElseThrow().toString());
    assertSame(a, b, false, Double::sum, unstated);
  }

  private static Dataset<Row> file(TestField field, Path path, String blockShape) {
    field.blocks(spark, DOUBLE, false, 6, 5, 7).write().format("npy").save(path.toString());
    return spark.read().format("npy").option("blockShape", blockShape).load(path.toString());
  }

  @Test
  void blocksThatOneLacks() {
    TestField a = TestField.random(5, false, SHAPE);
    TestField b = TestField.random(6, false, SHAPE);
    Dataset<Row> whole = a.blocks(spark, DOUBLE, false, 2, 5, 7);
    Dataset<Row> hole = b.blocks(spark, DOUBLE, false, 2, 5, 7).where("x <> 4");
    assertFails(
        () -> VolumeBlocks.add(whole, hole).collectAsList(),
        "block at x 4, y 0, z 0: no block of the input holds the 2 x 5 x 7 elements from there",
        "VolumeBlocks.add, second volume");
    assertFails(
        () -> VolumeBlocks.add(hole, whole).where("y = 0 AND nz > 6").collectAsList(),
        "block at x 4, y 0, z 0: no block of the input holds the 2 x 5 x 7 elements from there",
        "VolumeBlocks.add, first volume");
    TestField kept = new TestField(SHAPE, b.re().clone(), b.im());
    Arrays.fill(kept.re(), kept.at(4, 0, 0), kept.re().length, 0);
    assertSame(a, kept, false, Double::sum, VolumeBlocks.add(whole, hole, Missing.ZERO));
    assertSame(kept, a, false, Double::sum, VolumeBlocks.add(hole, whole, Missing.ZERO));
  }

  @Test
  void furtherColumnsTellVolumesApart() {
    TestField a = TestField.random(7, false, SHAPE);
    TestField b = TestField.random(8, false, SHAPE);
    Dataset<Row> both =
        a.blocks(spark, DOUBLE, false, 3, 5, 7)
            .withColumn("sample", functions.lit(1))
            .union(
                b.blocks(spark, DOUBLE, false, 3, 5, 7)
                    .withColumn("sample", functions.lit(null).cast("int")));
    Dataset<Row> sum = VolumeBlocks.add(both, VolumeBlocks.scale(both, 2));
    assertEquals(List.of(both.columns()), List.of(sum.columns()));
    assertSame(a, a, false, (x, y) -> x + 2 * x, sum.where("sample = 1"));
    assertSame(b, b, false, (x, y) -> x + 2 * x, sum.where("sample IS NULL"));
    assertFails(
        () -> VolumeBlocks.add(both, both.drop("sample")),
        "VolumeBlocks.add: further columns tell several volumes apart and must be the same on both"
            + " sides; the first has (sample INT), the second ()");
  }

  /** A transform is linear. */
  @Test
  void spectraStaySpectra() {
    TestField a = TestField.random(9, false, SHAPE);
    TestField b = TestField.random(10, false, SHAPE);
    FftOptions options = FftOptions.defaults().withReal(true).withDecomposition("slabs");
    Dataset<Row> left = VolumeBlocks.fft(a.blocks(spark, DOUBLE, false, 2, 5, 7), options);
    Dataset<Row> right = VolumeBlocks.fft(b.blocks(spark, DOUBLE, false, 3, 5, 7), options);
    Dataset<Row> sum = VolumeBlocks.add(VolumeBlocks.scale(left, 3), right);
    assertEquals(metadata(left).spectrum(), metadata(sum).spectrum());
    TestField expected = new TestField(SHAPE, new double[a.re().length], new double[a.re().length]);
    Arrays.setAll(expected.re(), i -> 3 * a.re()[i] + b.re()[i]);
    TestField.of(VolumeBlocks.ifft(sum), SHAPE).assertNear(expected, DOUBLE, "3 a + b");

    assertFails(
        () -> VolumeBlocks.add(left, VolumeBlocks.permute(right, "zxy")),
        "VolumeBlocks.add: ",
        "expected the same");
    TestField cube = TestField.random(11, false, 4, 4, 4);
    Dataset<Row> v = cube.blocks(spark, DOUBLE, false, 2, 4, 4);
    FftOptions natural = FftOptions.defaults().withOutput("natural");
    Dataset<Row> spectrum = VolumeBlocks.fft(v, natural);
    assertFails(
        () -> VolumeBlocks.add(spectrum, VolumeBlocks.fft(v, natural.withNorm("ortho"))),
        "VolumeBlocks.add: the two spectra differ in norm: 'backward' of the first, 'ortho' of"
            + " the");
    assertFails(
        () -> VolumeBlocks.add(spectrum, VolumeBlocks.fft(v)),
        "VolumeBlocks.add: the two spectra differ in order of the axes after the inverse: 'xyz' of",
        "'zxy' of the second");
    // Of volumes that are no spectra the axes may differ: a volume and its mirror image.
    Dataset<Row> mirrored = VolumeBlocks.permute(VolumeBlocks.withExtents(v, 4, 4, 4), "xzy");
    assertEquals(2, VolumeBlocks.add(VolumeBlocks.withExtents(v, 4, 4, 4), mirrored).count());
  }

  @Test
  void whatDoesNotFitIsRefused() {
    TestField a = TestField.random(12, true, SHAPE);
    Dataset<Row> real = a.blocks(spark, DOUBLE, false, 2, 5, 7);
    assertFails(
        () -> VolumeBlocks.add(real, a.blocks(spark, DOUBLE, true, 2, 5, 7)),
        "the values of the first volume are ARRAY<DOUBLE>, of the second ARRAY<DOUBLE> with imag");
    assertFails(
        () ->
            VolumeBlocks.add(
                VolumeBlocks.withExtents(real, 6, 5, 7), VolumeBlocks.withExtents(real, 6, 5, 8)),
        "the extents of the first volume are (6, 5, 7), of the second (6, 5, 8)");
    Dataset<Row> ints = real.withColumn("values", functions.expr("CAST(values AS ARRAY<INT>)"));
    assertFails(
        () -> VolumeBlocks.scale(ints, 2), "VolumeBlocks.scale: column values is ARRAY<INT>");
    assertFails(
        () -> VolumeBlocks.add(ints, ints),
        "VolumeBlocks.add, first volume: column values is ARRAY<INT>");
    assertFails(
        () -> VolumeBlocks.scale(real.withColumn("nz", functions.lit(3)), 2).collectAsList(),
        "values has 70 elements; expected nx x ny x nz = 2 x 5 x 3");
    assertFails(
        () -> VolumeBlocks.scale(VolumeBlocks.withExtents(real, 5, 5, 7), 2).collectAsList(),
        "it ends at x 6, the column metadata tilespark.extents says [5, 5, 7]");
  }

  @Test
  void nothingGivesNothing() {
    Dataset<Row> none =
        TestField.random(13, false, SHAPE).blocks(spark, FLOAT, false, 6, 5, 7).where("x < 0");
    assertEquals(0, VolumeBlocks.scale(none, 2).collectAsList().size());
    assertEquals(0, VolumeBlocks.add(none, none).collectAsList().size());
    assertTrue(optimized(VolumeBlocks.scale(none, 2)).contains("ProgramBlocks"));
  }

  private static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }
}
