package org.tilespark.spark.reshape;

import static org.apache.spark.sql.functions.lit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.DenseArray;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Arrays in other shapes have the same elements in row-major order. */
class ReshapeTest extends SparkTest {
  /** The cut of blocks like those given and at most this number of elements. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // Rows stay whole, and stay cut along the columns.
        "20,6 | 4,5,6 | 5,2 | 100 | 5,2 | 1,5,2",
        "20,6 | 4,5,6 | 7,6 | 100 | 5,6 | 1,5,6",
        "20,6 | 4,5,6 | 12,6 | 100 | 10,6 | 2,5,6",
        "4,5,6 | 20,6 | 1,5,6 | 100 | 1,5,6 | 5,6",
        "4,6,6 | 24,6 | 1,3,4 | 100 | 1,3,4 | 3,4",
        "4,5,6 | 4,30 | 2,5,6 | 100 | 2,5,6 | 2,30",
        "4,5,6 | 4,30 | 2,2,6 | 100 | 2,2,6 | 2,12",
        // Vectors.
        "1,120 | 4,5,6 | 1,50 | 100 | 1,60 | 2,5,6",
        "120,1 | 20,6 | 50,1 | 100 | 48,1 | 8,6",
        "4,5,6 | 1,120 | 2,3,4 | 100 | 1,5,6 | 1,30",
        "1,7 | 7,1 | 1,3 | 100 | 1,3 | 3,1",
        // Rows of both shapes have a common multiple.
        "4,6 | 6,4 | 2,6 | 100 | 2,6 | 3,4",
        "7,5 | 5,7 | 2,5 | 100 | 7,5 | 5,7",
        // Two groups of axes.
        "4,2,3 | 2,2,6 | 2,2,3 | 100 | 2,2,3 | 1,2,6",
        "1,1,1 | 1,1 | 1,1,1 | 100 | 1,1,1 | 1,1",
        "1,8 | 1,2,4 | 1,8 | 100 | 1,8 | 1,2,4",
      })
  void cuts(String source, String target, String like, long most, String from, String to) {
    ReshapeCut cut = ReshapeCut.of(shape(source), shape(target), shape(like), most).orElseThrow();
    assertEquals(new ReshapeCut(shape(from), shape(to)), cut);
  }

  @Test
  void rowsOfPrimesHaveNoCommonBlocks() {
    long prime = 1_000_003;
    Shape source = Shape.of(prime, 999_983);
    Shape target = Shape.of(999_983, prime);
    Shape vector = Shape.of(1, source.elements());
    long most = 1 << 25;
    assertEquals(Optional.empty(), ReshapeCut.of(source, target, Shape.of(1, 999_983), most));
    // By a vector there is a way.
    ReshapeCut first = ReshapeCut.of(source, vector, Shape.of(5, 999_983), most).orElseThrow();
    assertEquals(Shape.of(1, 5 * 999_983), first.to());
    assertEquals(
        Shape.of(5, prime), ReshapeCut.of(vector, target, first.to(), most).orElseThrow().to());
  }

  private static Shape shape(String text) {
    return Shape.of(Arrays.stream(text.split(",")).mapToLong(Long::parseLong).toArray());
  }

  /** Each block of a cut is one run of elements in both shapes, where the axes differ. */
  @Test
  void cutsOfManyShapes() {
    Random random = new Random(4);
    int found = 0;
    for (int round = 0; round < 3000; round++) {
      long elements = List.of(24L, 60L, 64L, 97L, 210L, 360L).get(random.nextInt(6));
      Shape source = randomShape(random, elements, 2 + random.nextInt(2));
      Shape target = randomShape(random, elements, 2 + random.nextInt(2));
      long[] like = source.toArray();
      Arrays.setAll(like, axis -> 1 + random.nextInt((int) source.extent(axis)));
      Optional<ReshapeCut> cut =
          ReshapeCut.of(source, target, Shape.of(like), 1 + random.nextInt(400));
      if (cut.isEmpty()) {
        continue;
      }
      found++;
      boolean[] seen = new boolean[(int) elements];
      for (long[] low : places(source, cut.get().from())) {
        long[] size = new long[low.length];
        Arrays.setAll(
            size, axis -> Math.min(cut.get().from().extent(axis), source.extent(axis) - low[axis]));
        long[] moved = ReshapeCut.moved(source, target, low, size);
        long[] to = Arrays.copyOf(moved, target.rank());
        long[] toSize = Arrays.copyOfRange(moved, target.rank(), moved.length);
        for (int axis = 0; axis < to.length; axis++) {
          assertEquals(0, to[axis] % cut.get().to().extent(axis));
          assertEquals(
              Math.min(cut.get().to().extent(axis), target.extent(axis) - to[axis]), toSize[axis]);
        }
        long count = Arrays.stream(size).reduce(1, (a, b) -> a * b);
        assertEquals(count, Arrays.stream(toSize).reduce(1, (a, b) -> a * b));
        for (int i = 0; i < count; i++) {
          long one = index(source, low, size, i);
          assertEquals(one, index(target, to, toSize, i), source + " to " + target + " by " + cut);
          seen[(int) one] = true;
        }
      }
      for (boolean each : seen) {
        assertTrue(each);
      }
    }
    assertTrue(found > 2000, "cuts: " + found);
  }

  private static Shape randomShape(Random random, long elements, int rank) {
    long[] extents = new long[rank];
    long left = elements;
    for (int axis = 0; axis < rank - 1; axis++) {
      long all = left;
      List<Long> divisors = new ArrayList<>();
      for (long d = 1; d <= all; d++) {
        if (all % d == 0) {
          divisors.add(d);
        }
      }
      extents[axis] = divisors.get(random.nextInt(divisors.size()));
      left /= extents[axis];
    }
    extents[rank - 1] = left;
    return Shape.of(extents);
  }

  private static List<long[]> places(Shape extents, Shape block) {
    List<long[]> places = new ArrayList<>();
    long[] count = extents.toArray();
    Arrays.setAll(
        count, axis -> (extents.extent(axis) + block.extent(axis) - 1) / block.extent(axis));
    long all = Arrays.stream(count).reduce(1, (a, b) -> a * b);
    for (int i = 0; i < all; i++) {
      long[] at = DenseArray.unravel(i, count);
      Arrays.setAll(at, axis -> at[axis] * block.extent(axis));
      places.add(at);
    }
    return places;
  }

  /** In the whole array, of element {@code i} of a block. */
  private static long index(Shape extents, long[] low, long[] size, int i) {
    long[] at = DenseArray.unravel(i, size);
    Arrays.setAll(at, axis -> at[axis] + low[axis]);
    return DenseArray.ravel(at, extents.toArray());
  }

  @ParameterizedTest
  @EnumSource
  void everyTypeRealAndComplex(ElementType type) {
    TestArray matrix = TestArray.matrix(type, 12, 7, 5, 3);
    assertReshaped(plain(matrix), matrix, 3, 4, 7);
    TestArray volume = TestArray.volume(type, 4, 6, 5, 3, 4, 2).withImag();
    assertReshaped(plain(volume), volume, 24, 5);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void randomTilingsAndShapes(long seed) {
    Random random = new Random(seed);
    ElementType type = ElementType.values()[(int) (seed % ElementType.values().length)];
    long elements = List.of(360L, 210L, 97L, 64L).get((int) (seed % 4));
    long[] from = randomShape(random, elements, 2 + (int) (seed % 2)).toArray();
    TestArray array =
        from.length == 2
            ? TestArray.matrix(type, from[0], from[1], 1, 1)
            : TestArray.volume(type, from[0], from[1], from[2], 1, 1, 1);
    List<Map<String, String>> modes = executionModes();
    with(
        modes.get(random.nextInt(modes.size())),
        () -> {
          Dataset<Row> df = array.toDataFrame(spark, 3, array.randomTiling(random));
          for (int rank : new int[] {2, 3}) {
            assertReshaped(df, array, randomShape(random, elements, rank).toArray());
          }
        });
  }

  @Test
  void everyModeOfExecution() {
    TestArray array = TestArray.volume(ElementType.FLOAT32, 6, 8, 5, 4, 3, 5);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            assertReshaped(plain(array), array, 48, 5);
            assertReshaped(plain(array), array, 6, 40);
            assertReshaped(plain(array), array, 1, 240);
            assertReshaped(plain(array), array, 240, 1);
          });
    }
  }

  @Test
  void noExchangeWhereBlocksFit() {
    TestArray array = TestArray.volume(ElementType.FLOAT32, 6, 8, 10, 2, 8, 5);
    Dataset<Row> df = VolumeBlocks.reblock(plain(array), 2, 8, 5).cache();
    df.count();
    Dataset<Row> stated = VolumeBlocks.withExtents(df, 6, 8, 10);
    Dataset<Row> matrix = VolumeBlocks.reshape(stated, "-1,10");
    assertEquals(List.of(), PlanNodes.cutting(plan(matrix).executedPlan()), explained(matrix));
    dense(array).assertSame(reshaped(matrix, 48, 10, 6, 8, 10), "volume to matrix");
    Dataset<Row> back = MatrixBlocks.reshape(matrix, "6,8,10");
    assertEquals(List.of(), PlanNodes.cutting(plan(back).executedPlan()), explained(back));
    assertEquals(6, back.count());
    dense(array).assertSame(DenseArray.of(back, 6, 8, 10), "and back");
    Dataset<Row> cut = VolumeBlocks.reshape(localRows(stated), "80,6");
    assertEquals(1, PlanNodes.cutting(plan(cut).executedPlan()).size(), explained(cut));
    df.unpersist();
  }

  /** The result can be computed with: its metadata says what it is. */
  @Test
  void whatIsKnownOfTheResult() {
    TestArray array = TestArray.volume(ElementType.FLOAT64, 4, 6, 5, 2, 6, 5);
    Dataset<Row> spectrum = VolumeBlocks.fft(plain(array), FftOptions.defaults());
    Dataset<Row> matrix = VolumeBlocks.reshape(spectrum, "24,-1");
    ArrayMetadata known = ArrayMetadata.of(matrix.schema().apply("values").metadata());
    assertEquals("24,5", known.extents(2).orElseThrow().text());
    assertEquals(Optional.empty(), known.spectrum());
    assertEquals(Optional.empty(), known.axes());
    assertEquals(0, MatrixBlocks.validate(matrix).count());
    Dataset<Row> product = MatrixBlocks.gram(VolumeBlocks.reshape(plain(array), "24,5"));
    assertEquals(1, product.count());
    assertEquals(
        List.of("row", "col", "rows", "cols", "values", "imag"), List.of(matrix.columns()));
  }

  @Test
  void furtherColumnsTellArraysApart() {
    TestArray array = TestArray.matrix(ElementType.INT32, 12, 7, 5, 4);
    Dataset<Row> both =
        plain(array)
            .withColumn("sample", lit("a"))
            .union(plain(array).withColumn("sample", lit(null).cast("string")));
    Dataset<Row> volume = MatrixBlocks.reshape(both, "2,6,7");
    for (String which : List.of("sample = 'a'", "sample IS NULL")) {
      dense(array).assertSame(reshaped(volume.where(which).drop("sample"), 2, 6, 7, 12, 7), which);
    }
    assertFails(
        () -> MatrixBlocks.reshape(both.withColumnRenamed("sample", "NX"), "2,6,7"),
        "MatrixBlocks.reshape: further column NX has the name of a column of volume blocks");
  }

  @Test
  void badInput() {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 20, 30, 4, 6);
    Dataset<Row> df = MatrixBlocks.withExtents(plain(array), 20, 30);
    assertFails(
        () -> MatrixBlocks.reshape(df, "600"),
        "shape is '600'; expected the extents of a matrix or of a volume");
    for (String bad :
        List.of("20,31", "-1,-1", "-1,7", "-2,-300", "0,-1", "4294967296,4294967296")) {
      assertFails(
          () -> MatrixBlocks.reshape(df, bad),
          "for an array of extents (20, 30); expected extents of 600 elements, one of which may be"
              + " -1");
    }
    assertFails(
        () -> MatrixBlocks.reshape(df.where("row <> 8"), "2,10,30").collectAsList(), "8, col 0");
    assertFails(
        () -> MatrixBlocks.reshape(df.union(df.where("row = 8")), "2,10,30").collectAsList(),
        "two blocks of the input hold the element there");
    Dataset<Row> primes =
        MatrixBlocks.withExtents(plain(array).where("row < 0"), 2_000_000_011L, 1_000_000_007L);
    assertFails(
        () -> MatrixBlocks.reshape(primes, "1000000007,2000000011"),
        "no blocks of a useful size, below 256 MiB, are blocks in both shapes");
  }

  private static void assertReshaped(Dataset<Row> df, TestArray array, long... shape) {
    String text = Arrays.stream(shape).mapToObj(Long::toString).collect(Collectors.joining(","));
    Dataset<Row> other =
        array.kind() == BlockKind.MATRIX
            ? MatrixBlocks.reshape(df, text)
            : VolumeBlocks.reshape(df, text);
    DenseArray found = DenseArray.of(other, shape);
    dense(array)
        .assertSame(
            new DenseArray(array.extents().toArray(), found.values(), found.imag()),
            array + " as " + text);
  }

  /** The elements of a frame, as an array whose extents precede its own two or three. */
  private static DenseArray reshaped(Dataset<Row> df, long... own) {
    int rank = List.of(df.columns()).contains("x") ? 3 : 2;
    DenseArray found = DenseArray.of(df, Arrays.copyOf(own, rank));
    return new DenseArray(Arrays.copyOfRange(own, rank, own.length), found.values(), found.imag());
  }

  private static DenseArray dense(TestArray array) {
    TestArray whole =
        new TestArray(
            array.kind(), array.type(), array.extents(), array.extents(), array.complex());
    return DenseArray.of(plain(whole), array.extents().toArray());
  }

  private static Dataset<Row> plain(TestArray array) {
    return array.toDataFrame(spark, 3).drop("tag");
  }
}
