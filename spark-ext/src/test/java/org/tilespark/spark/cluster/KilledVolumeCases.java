package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;

/**
 * Transforms and re-blocks of volumes while executors are killed and shuffle files lost: what
 * {@link KilledExecutorJob} does to matrices.
 */
final class KilledVolumeCases {
  private static final ElementType TYPE = ElementType.FLOAT64;
  private static final FftOptions BY_SLABS = FftOptions.defaults().withDecomposition("slabs");

  /** Extents of the volume that is transformed, x-slabs of one plane each. */
  private static final int[] SHAPE = {24, 10, 9};

  /** By how much the convolution moves it along each axis. */
  private static final int[] MOVED = {5, 3, 7};

  private static final int PARTITIONS = 6; // of 4 blocks each
  private static final int MIDDLE = 3;

  /** There are few blocks after a shuffle, some of them in one task. */
  private static final int SECOND = 1;

  private final SparkSession spark;
  private final Killing killing;
  private final TestField field = TestField.random(1, true, SHAPE);
  private final TestArray array = TestArray.volume(ElementType.FLOAT32, 24, 20, 18, 4, 10, 9);

  KilledVolumeCases(SparkSession spark, Killing killing) {
    this.spark = spark;
    this.killing = killing;
  }

  void run(Cases cases) {
    cases.run("fft, before its shuffle", this::fftBeforeItsShuffle);
    cases.run("fft, behind its shuffle", this::fftBehindItsShuffle);
    cases.run("fft, pointwise product and ifft", this::convolution);
    cases.run("volume reblock, before its shuffle", this::reblockBeforeItsShuffle);
    cases.run("pencils of slabs, behind their shuffles", this::pencilsOfSlabs);
    cases.run("fft, executor lost between stages", this::executorLostBetweenStages);
    cases.run("fft, shuffle files lost between stages", this::shuffleFilesLostBetweenStages);
  }

  private void fftBeforeItsShuffle() throws Exception {
    TestField right = rightSpectrum();
    killing.atRow(
        "fft-before",
        MIDDLE,
        killer ->
            assertSame(
                right,
                VolumeBlocks.fft(Interference.through(spark, slabs(field), killer), BY_SLABS)));
  }

  private void fftBehindItsShuffle() throws Exception {
    TestField right = rightSpectrum();
    killing.atRow(
        "fft-behind",
        SECOND,
        killer -> assertSame(right, Interference.through(spark, spectrum(field), killer)));
  }

  /** A product with the spectrum of a single 1 moves the volume to where that is. */
  private void convolution() throws Exception {
    TestField one = TestField.zeros(SHAPE);
    one.re()[one.at(MOVED)] = 1;
    TestField right = TestField.of(convolved(one), SHAPE);
    right.assertNear(field.rolled(MOVED), TYPE, "convolution");
    killing.atRow(
        "convolution",
        SECOND,
        killer -> assertSame(right, Interference.through(spark, convolved(one), killer)));
  }

  private Dataset<Row> convolved(TestField with) {
    return VolumeBlocks.ifft(
        VolumeBlocks.multiplyPointwise(spectrum(field), spectrum(with)), BY_SLABS);
  }

  private void reblockBeforeItsShuffle() throws Exception {
    TestArray target = TestArray.volume(ElementType.FLOAT32, 24, 20, 18, 5, 6, 7);
    killing.atRow(
        "reblock-before",
        MIDDLE,
        killer ->
            assertHolds(
                target,
                VolumeBlocks.reblock(Interference.through(spark, bricks(), killer), 5, 6, 7)));
  }

  private void pencilsOfSlabs() throws Exception {
    TestArray target = TestArray.volume(ElementType.FLOAT32, 24, 20, 18, 4, 5, 18);
    killing.atRow(
        "pencils",
        MIDDLE,
        killer -> {
          Dataset<Row> slabs = VolumeBlocks.slabs(bricks(), "y", 3);
          Dataset<Row> pencils = VolumeBlocks.pencils(slabs, "z", 4, 5);
          assertHolds(target, Interference.through(spark, pencils, killer));
        });
  }

  private void executorLostBetweenStages() throws Exception {
    TestField right = rightSpectrum();
    killing.executorBetweenStages(spectrum(field), df -> assertSame(right, df));
  }

  private void shuffleFilesLostBetweenStages() throws Exception {
    TestField right = rightSpectrum();
    killing.shuffleFilesBetweenStages(spectrum(field), df -> assertSame(right, df));
  }

  private Dataset<Row> spectrum(TestField of) {
    return VolumeBlocks.fft(slabs(of), BY_SLABS);
  }

  private TestField rightSpectrum() {
    TestField expected = field.fft("xyz").permuted(1, 2, 0);
    TestField right = TestField.of(spectrum(field), expected.shape());
    right.assertNear(expected, TYPE, "fft");
    return right;
  }

  /** Slabs that are said to be some, so that the transform begins with what it is given. */
  private Dataset<Row> slabs(TestField of) {
    ArrayMetadata metadata =
        ArrayMetadata.empty()
            .withExtents(Shape.of(SHAPE[0], SHAPE[1], SHAPE[2]))
            .withBlockShape(Shape.of(1, SHAPE[1], SHAPE[2]));
    return of.blocks(spark, TYPE, true, 1, SHAPE[1], SHAPE[2])
        .repartition(PARTITIONS)
        .withMetadata(BlockKind.VALUES, metadata.toMetadata());
  }

  /** With the extents, nothing but the re-block looks at the blocks. */
  private Dataset<Row> bricks() {
    return VolumeBlocks.withExtents(array.toDataFrame(spark, PARTITIONS).drop("tag"), 24, 20, 18);
  }

  private static void assertSame(TestField right, Dataset<Row> df) {
    TestField found = TestField.of(df, right.shape());
    assertArrayEquals(right.re(), found.re());
    assertArrayEquals(right.im(), found.im());
  }

  private static void assertHolds(TestArray target, Dataset<Row> df) {
    target.assertPermuted(
        Permutation.of(0, 1, 2), df.selectExpr("*", "cast(null AS STRING) AS tag"));
  }
}
