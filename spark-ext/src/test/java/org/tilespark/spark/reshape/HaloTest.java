package org.tilespark.spark.reshape;

import static org.apache.spark.sql.functions.callUDF;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.Edge;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.DenseArray;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.transfer.Transfers;
import scala.collection.immutable.ArraySeq;
import scala.jdk.javaapi.CollectionConverters;

/** Blocks that overlap their neighbours, and those from which the halo is taken off again. */
class HaloTest extends SparkTest {
  @ParameterizedTest
  @EnumSource
  void everyTypeRealAndComplex(ElementType type) {
    for (Edge edge : Edge.values()) {
      if (Sampling.skips(type.ordinal() + edge.ordinal(), 3)) {
        continue;
      }
      assertHaloed(TestArray.matrix(type, 11, 7, 4, 3), List.of(2L, 1L, 0L, 2L), edge);
      assertHaloed(
          TestArray.volume(type, 4, 5, 3, 2, 5, 2).withImag(),
          List.of(1L, 1L, 0L, 2L, 1L, 0L),
          edge);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void randomTilingsAndWidths(long seed) {
    Random random = new Random(seed);
    ElementType type = ElementType.values()[(int) (seed % ElementType.values().length)];
    TestArray array =
        seed % 2 == 0
            ? TestArray.matrix(type, 1 + random.nextInt(25), 1 + random.nextInt(25), 1, 1)
            : TestArray.volume(
                type, 1 + random.nextInt(7), 1 + random.nextInt(7), 1 + random.nextInt(7), 1, 1, 1);
    List<Long> widths = new ArrayList<>();
    for (int i = 0; i < 2 * array.kind().rank(); i++) {
      widths.add((long) random.nextInt(random.nextInt(3) == 0 ? 20 : 4));
    }
    List<Map<String, String>> modes = executionModes();
    with(
        modes.get(random.nextInt(modes.size())),
        () ->
            assertHaloed(
                array.toDataFrame(spark, 3, array.randomTiling(random)),
                array,
                widths,
                Edge.values()[1 + random.nextInt(Edge.values().length - 1)]));
  }

  /** Of a halo that is wider than blocks, and than the array. */
  @Test
  void widerThanBlocks() {
    TestArray array = TestArray.matrix(ElementType.INT32, 7, 9, 2, 2);
    for (Edge edge : Edge.values()) {
      if (edge != Edge.NONE) {
        assertHaloed(array, List.of(5L, 3L, 30L, 21L), edge);
      }
    }
    assertHaloed(array, List.of(1L, 8L, 1L, 30L), Edge.NONE);
    assertFails(
        () -> MatrixBlocks.halo(plain(array), "1,0; 2,0", "none"),
        "a halo of 2 elements before blocks of 2 along col, which end where the array does;"
            + " expected a halo of less than a block, or an edge that is not 'none'");
  }

  @Test
  void furtherColumnsTellArraysApart() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 9, 14, 4, 5);
    Dataset<Row> both =
        plain(array)
            .withColumn("sample", lit("a"))
            .union(plain(array).withColumn("sample", lit(null).cast("string")));
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> haloed = MatrixBlocks.halo(both, "2,1", "reflect");
            for (String which : List.of("sample = 'a'", "sample IS NULL")) {
              assertBlocks(haloed.where(which), array, List.of(2L, 2L, 1L, 1L), Edge.REFLECT);
              dense(array)
                  .assertSame(DenseArray.of(MatrixBlocks.trim(haloed).where(which), 9, 14), which);
            }
          });
    }
  }

  /** A second difference along the columns, and the sum of a 3 x 3 x 3 neighbourhood. */
  @Test
  void stencils() {
    TestArray matrix = TestArray.matrix(ElementType.FLOAT64, 13, 17, 5, 4);
    Dataset<Row> haloed = MatrixBlocks.halo(plain(matrix), "0,1", "edge");
    Dataset<Row> differences =
        MatrixBlocks.trim(
            haloed.withColumn(
                "values",
                expr(
                    "transform(values, (v, i) -> coalesce(get(values, i - 1), 0D) - 2 * v"
                        + " + coalesce(get(values, i + 1), 0D))")));
    DenseArray dense = dense(matrix);
    Object[] expected = new Object[dense.values().length];
    for (int row = 0; row < 13; row++) {
      for (int col = 0; col < 17; col++) {
        expected[17 * row + col] =
            (double) dense.values()[17 * row + Math.max(0, col - 1)]
                - 2 * (double) dense.values()[17 * row + col]
                + (double) dense.values()[17 * row + Math.min(16, col + 1)];
      }
    }
    new DenseArray(new long[] {13, 17}, expected, null)
        .assertSame(DenseArray.of(differences, 13, 17), "second differences");
    // What a function of the user's gives has no metadata, and is an array again.
    ArrayMetadata known = ArrayMetadata.of(differences.schema().apply("values").metadata());
    assertEquals("13,17", known.extents(2).orElseThrow().text());
    assertEquals(12, MatrixBlocks.reblock(differences, 4, 6).count());

    TestArray volume = TestArray.volume(ElementType.FLOAT64, 5, 6, 7, 2, 3, 4);
    UDF2<Row, ArraySeq<Double>, double[]> sums = HaloTest::sums;
    spark.udf().register("sums27", sums, DataTypes.createArrayType(DataTypes.DoubleType, false));
    Dataset<Row> summed =
        VolumeBlocks.trim(
            VolumeBlocks.halo(plain(volume), "1", "wrap")
                .withColumn(
                    "values", callUDF("sums27", expr("struct(nx, ny, nz)"), col("values"))));
    DenseArray of = dense(volume);
    Object[] all = new Object[of.values().length];
    for (int i = 0; i < all.length; i++) {
      long[] at = DenseArray.unravel(i, 5, 6, 7);
      double sum = 0;
      for (int j = 0; j < 27; j++) {
        long[] by = DenseArray.unravel(j, 3, 3, 3);
        sum +=
            (double)
                of.values()[
                    (int)
                        DenseArray.ravel(
                            new long[] {
                              Math.floorMod(at[0] + by[0] - 1, 5),
                              Math.floorMod(at[1] + by[1] - 1, 6),
                              Math.floorMod(at[2] + by[2] - 1, 7)
                            },
                            5,
                            6,
                            7)];
      }
      all[i] = sum;
    }
    new DenseArray(new long[] {5, 6, 7}, all, null)
        .assertSame(DenseArray.of(summed, 5, 6, 7), "sums of neighbourhoods");
  }

  /** At the rim of the block, which is halo, there is nothing to be summed. */
  private static double[] sums(Row size, ArraySeq<Double> values) {
    List<Double> from = CollectionConverters.asJava(values);
    long[] sizes = {size.getInt(0), size.getInt(1), size.getInt(2)};
    double[] sums = new double[from.size()];
    for (int i = 0; i < sums.length; i++) {
      long[] at = DenseArray.unravel(i, sizes);
      for (int j = 0; j < 27; j++) {
        long[] by = DenseArray.unravel(j, 3, 3, 3);
        boolean isInside = true;
        for (int axis = 0; axis < 3; axis++) {
          by[axis] += at[axis] - 1;
          isInside &= by[axis] >= 0 && by[axis] < sizes[axis];
        }
        sums[i] += isInside ? from.get((int) DenseArray.ravel(by, sizes)) : Double.NaN;
      }
    }
    return sums;
  }

  @Test
  void oneExchangeAndNoneToTakeItOff() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 20, 30, 8, 8);
    Dataset<Row> df = MatrixBlocks.withExtents(plain(array), 20, 30).cache();
    Dataset<Row> trimmed = MatrixBlocks.trim(MatrixBlocks.halo(df, "1,2", "wrap"));
    trimmed.collectAsList();
    assertEquals(
        1, PlanNodes.all(plan(trimmed), ShuffleExchangeExec.class).size(), explained(trimmed));
    assertTrue(explained(trimmed).contains("20 at 0 in 20 by 1 + 20 + 1 wrap"), explained(trimmed));
    df.unpersist();
  }

  /** A stage cuts its own results, where all pieces are in their order. */
  @Test
  void afterATransform() {
    TestArray array = TestArray.volume(ElementType.FLOAT64, 6, 5, 4, 2, 5, 4);
    Dataset<Row> spectrum = VolumeBlocks.fft(plain(array), FftOptions.defaults());
    for (Edge edge : Edge.values()) {
      Dataset<Row> haloed = VolumeBlocks.halo(spectrum, "0,2; 1,0; 1,3", edge.toString());
      boolean isCut =
          PlanNodes.computing(plan(haloed).executedPlan()).stream()
              .anyMatch(stage -> stage.toString().contains(" " + edge));
      boolean isInOrder = edge == Edge.NONE || edge == Edge.CONSTANT || edge == Edge.WRAP;
      assertEquals(isInOrder, isCut, explained(haloed));
      // The spectrum is one again without its halo.
      Dataset<Row> back =
          VolumeBlocks.ifft(VolumeBlocks.trim(haloed), FftOptions.defaults()).drop("imag");
      DenseArray found = DenseArray.of(back, 6, 5, 4);
      DenseArray expected = dense(array);
      for (int i = 0; i < expected.values().length; i++) {
        assertEquals((double) expected.values()[i], (double) found.values()[i], 1e-9);
      }
    }
  }

  @Test
  void elementwiseOperatorsTakeThem() {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 9, 8, 4, 3);
    Dataset<Row> twice =
        MatrixBlocks.trim(MatrixBlocks.scale(MatrixBlocks.halo(plain(array), "2,1"), 2));
    dense(array)
        .assertSame(DenseArray.of(MatrixBlocks.scale(twice, 0.5), 9, 8), "scaled there and back");
    // The place of an element is its own, in a halo too.
    Dataset<Row> places =
        MatrixBlocks.map(MatrixBlocks.halo(plain(array), "2,1"), "v * 0 + 100 * row + col");
    for (Row row : places.collectAsList()) {
      List<Double> values = row.getList(row.fieldIndex("values"));
      for (int i = 0; i < values.size(); i++) {
        long at = 100 * (row.getLong(0) + i / row.getInt(3)) + row.getLong(1) + i % row.getInt(3);
        assertEquals((double) at, values.get(i));
      }
    }
    assertEquals(9, MatrixBlocks.trim(places).count());
    Dataset<Row> cached = MatrixBlocks.halo(plain(array), "2,1", "reflect").cache();
    assertBlocks(cached, array, List.of(2L, 2L, 1L, 1L), Edge.REFLECT);
    assertBlocks(cached, array, List.of(2L, 2L, 1L, 1L), Edge.REFLECT);
    cached.unpersist();
  }

  @Test
  void otherOperatorsRefuseThem(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 9, 8, 4, 3);
    Dataset<Row> m = MatrixBlocks.halo(plain(array), "1,2");
    Dataset<Row> good = plain(array);
    Dataset<Row> v =
        VolumeBlocks.halo(plain(TestArray.volume(ElementType.FLOAT64, 4, 3, 2, 2, 3, 2)), "1,0,0");
    // What a function computes of them overlaps too.
    Dataset<Row> mapped = m.withColumn("values", expr("transform(values, v -> v + 1)"));
    List<Supplier<Object>> refused =
        List.of(
            () -> MatrixBlocks.reblock(m, 3, 3),
            () -> MatrixBlocks.reblock(mapped, 3, 3),
            () -> MatrixBlocks.transpose(m),
            () -> MatrixBlocks.multiply(m, good),
            () -> MatrixBlocks.multiply(good, m),
            () -> MatrixBlocks.gram(m),
            () -> MatrixBlocks.add(m, good),
            () -> MatrixBlocks.add(good, m),
            () -> MatrixBlocks.center(m),
            () -> MatrixBlocks.pad(m, "1"),
            () -> MatrixBlocks.roll(m, "1,1"),
            () -> MatrixBlocks.halo(m, "1"),
            () -> MatrixBlocks.validate(m),
            () -> MatrixBlocks.withExtents(m, 9, 8),
            () -> Transfers.pack(BlockKind.MATRIX, m),
            () -> VolumeBlocks.permute(v, "yzx"),
            () -> VolumeBlocks.slabs(v, "x"),
            () -> VolumeBlocks.fft(v),
            () -> VolumeBlocks.multiplyPointwise(v, v),
            () -> VolumeBlocks.powerSpectrum(v));
    for (Supplier<Object> each : refused) {
      assertFails(
          each::get,
          "the blocks have a halo of ",
          "(column metadata tilespark.halo), so that they overlap",
          "Blocks.trim(df)");
    }
    assertFails(
        () -> m.write().format("npy").save(dir.resolve("m.npy").toString()),
        "format npy: the blocks have a halo of 1,1; 2,2 elements",
        "matrix_trim(TABLE(t))");
    String parquet = dir.resolve("m.parquet").toString();
    m.write().parquet(parquet);
    Dataset<Row> stored = spark.read().parquet(parquet);
    assertFails(() -> MatrixBlocks.gram(stored), "the blocks have a halo of 1,1; 2,2 elements");
    dense(array).assertSame(DenseArray.of(MatrixBlocks.trim(stored), 9, 8), "stored");
  }

  @Test
  void unionsOfDifferentHalos() {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 9, 8, 4, 3);
    Dataset<Row> one = MatrixBlocks.halo(plain(array), "1,2").withColumn("sample", lit(1));
    Dataset<Row> two = MatrixBlocks.halo(plain(array), "1,2").withColumn("sample", lit(2));
    Dataset<Row> both = MatrixBlocks.trim(one.union(two));
    dense(array).assertSame(DenseArray.of(both.where("sample = 2"), 9, 8), "equal halos");
    Dataset<Row> other = MatrixBlocks.halo(plain(array), "1,1").withColumn("sample", lit(2));
    Dataset<Row> none = plain(array).withColumn("sample", lit(2));
    for (Dataset<Row> mixed : List.of(one.union(other), none.union(two), two.union(none))) {
      assertFails(() -> MatrixBlocks.trim(mixed), "frames with different halos");
      assertFails(() -> MatrixBlocks.reblock(mixed, 2, 2), "frames with different halos");
    }
  }

  @Test
  void widthsThatNoMetadataTells() {
    TestArray array = TestArray.matrix(ElementType.INT16, 9, 8, 4, 3);
    Dataset<Row> haloed = MatrixBlocks.halo(plain(array), "1,0; 2,1", "symmetric");
    Dataset<Row> bare = spark.createDataFrame(haloed.collectAsList(), array.schema());
    assertFalse(explained(bare).contains("halo"));
    assertFails(
        () -> MatrixBlocks.trim(bare),
        "MatrixBlocks.trim: the blocks have no halo by their column metadata tilespark.halo",
        "State the widths");
    dense(array).assertSame(DenseArray.of(MatrixBlocks.trim(bare, "1,0; 2,1"), 9, 8), "stated");
    dense(array).assertSame(DenseArray.of(MatrixBlocks.trim(haloed, "1,0; 2,1"), 9, 8), "as said");
    assertFails(
        () -> MatrixBlocks.trim(haloed, "1"),
        "widths are '1,1; 1,1', the column metadata tilespark.halo says '1,0; 2,1'");
    assertFails(
        () -> MatrixBlocks.trim(bare, "3").collectAsList(),
        "which is no block with a halo of 3,3; 3,3 elements (in MatrixBlocks.trim)");
  }

  @Test
  void badInput() {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 20, 30, 4, 6);
    Dataset<Row> df = MatrixBlocks.withExtents(plain(array), 20, 30);
    assertFails(() -> MatrixBlocks.halo(df, "1,2,0"), "widths is '1,2,0'", "each of 2 axes");
    assertFails(() -> MatrixBlocks.halo(df, "-1"), "widths is '-1'");
    assertFails(
        () -> MatrixBlocks.halo(df, "1", "nearest"),
        "edge is 'nearest'; expected none, constant, edge, reflect, symmetric, wrap");
    assertFails(
        () -> MatrixBlocks.halo(df.where("row <> 8"), "1").collectAsList(),
        "no block of the input holds the ");
    assertFails(
        () -> MatrixBlocks.halo(df.union(df.where("row = 8")), "1").collectAsList(),
        "two blocks of the input hold the element there");
    Dataset<Row> haloed = MatrixBlocks.halo(df, "1");
    assertFails(
        () ->
            MatrixBlocks.trim(haloed.withColumn("values", expr("slice(values, 1, 3)")))
                .collectAsList(),
        "values has 3 elements; expected rows x cols = ");
    assertFails(
        () -> MatrixBlocks.scale(haloed.withColumn("row", col("row").minus(1)), 2).collectAsList(),
        "row is -2; expected -1 or more");
  }

  private static void assertHaloed(TestArray array, List<Long> widths, Edge edge) {
    assertHaloed(plain(array), array, widths, edge);
  }

  private static void assertHaloed(Dataset<Row> df, TestArray array, List<Long> widths, Edge edge) {
    List<String> pairs = new ArrayList<>();
    for (int axis = 0; axis < array.kind().rank(); axis++) {
      pairs.add(widths.get(2 * axis) + "," + widths.get(2 * axis + 1));
    }
    String text = String.join("; ", pairs);
    boolean isMatrix = array.kind() == BlockKind.MATRIX;
    Dataset<Row> haloed =
        isMatrix
            ? MatrixBlocks.halo(df, text, edge.toString())
            : VolumeBlocks.halo(df, text, edge.toString());
    assertBlocks(haloed, array, widths, edge);
    Dataset<Row> trimmed = isMatrix ? MatrixBlocks.trim(haloed) : VolumeBlocks.trim(haloed);
    dense(array)
        .assertSame(
            DenseArray.of(trimmed, array.extents().toArray()),
            array + " with a halo of " + text + " " + edge);
    if (edge != Edge.NONE) {
      assertFalse(
          ArrayMetadata.of(trimmed.schema().apply("values").metadata())
              .toMetadata()
              .contains(ArrayMetadata.HALO));
    }
  }

  /** Each element of each block is that of the array that goes on beyond its ends. */
  private static void assertBlocks(
      Dataset<Row> haloed, TestArray array, List<Long> widths, Edge edge) {
    DenseArray dense = dense(array);
    long[] extents = dense.extents();
    int rank = extents.length;
    long[] blockShape =
        ArrayMetadata.of(haloed.schema().apply("values").metadata())
            .blockShape(rank)
            .orElseThrow()
            .toArray();
    int blocks = 0;
    for (Row row : haloed.collectAsList()) {
      long[] offset = new long[rank];
      long[] size = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        offset[axis] = row.<Long>getAs(array.kind().offsetColumns().get(axis));
        size[axis] = row.<Integer>getAs(array.kind().sizeColumns().get(axis));
        long before = widths.get(2 * axis);
        long low = edge == Edge.NONE && offset[axis] == 0 ? 0 : offset[axis] + before;
        assertEquals(0, low % blockShape[axis], () -> "place of " + row);
        long end = Math.min(low + blockShape[axis], extents[axis]) + widths.get(2 * axis + 1);
        assertEquals(
            edge == Edge.NONE ? Math.min(end, extents[axis]) : end, offset[axis] + size[axis]);
      }
      for (String plane : array.complex() ? List.of("values", "imag") : List.of("values")) {
        List<?> values = row.getList(row.fieldIndex(plane));
        Object[] all = plane.equals("imag") ? dense.imag() : dense.values();
        for (int i = 0; i < values.size(); i++) {
          long[] at = DenseArray.unravel(i, size);
          boolean isElement = true;
          for (int axis = 0; axis < rank; axis++) {
            at[axis] = source(edge, extents[axis], offset[axis] + at[axis]);
            isElement &= at[axis] >= 0;
          }
          if (isElement) {
            assertEquals(all[(int) DenseArray.ravel(at, extents)], values.get(i));
          } else {
            assertEquals(0.0, ((Number) values.get(i)).doubleValue());
          }
        }
      }
      blocks++;
    }
    long expected = 1;
    for (int axis = 0; axis < rank; axis++) {
      expected *= (extents[axis] + blockShape[axis] - 1) / blockShape[axis];
    }
    assertEquals(expected, blocks, "blocks");
  }

  /** -1 for no element. */
  private static long source(Edge edge, long extent, long place) {
    if (place >= 0 && place < extent) {
      return place;
    }
    return switch (edge) {
      case NONE, CONSTANT -> -1;
      case EDGE -> place < 0 ? 0 : extent - 1;
      case WRAP -> Math.floorMod(place, extent);
      case SYMMETRIC -> {
        long at = Math.floorMod(place, 2 * extent);
        yield Math.min(at, 2 * extent - 1 - at);
      }
      case REFLECT -> {
        long at = extent == 1 ? 0 : Math.floorMod(place, 2 * extent - 2);
        yield Math.min(at, 2 * extent - 2 - at);
      }
    };
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
