package org.tilespark.spark.pointwise;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestField;

/** Two arrays of any cuts, with holes, overlaps and doubled blocks. */
class CombineBlocksTest extends SparkTest {
  private static final ElementType DOUBLE = ElementType.FLOAT64;

  // --- any cuts

  @Test
  void aSumOfOtherCutsIsCutAsTheFirst() {
    Dataset<Row> ones = block(0, 0, 2, 4, 1);
    Dataset<Row> sum =
        MatrixBlocks.add(ones, block(0, 2, 2, 2, 10), Missing.ZERO).orderBy("row", "col");
    List<Row> rows = sum.collectAsList();
    assertEquals(1, rows.size());
    assertEquals(List.of(1.0, 1.0, 11.0, 11.0, 1.0, 1.0, 11.0, 11.0), rows.get(0).getList(4));
    assertEquals("(2, 4)", metadata(sum).blockShape(2).orElseThrow().toString());
  }

  /** Blocks that overlap at offsets between those of the first, and corners in neither. */
  @Test
  void blocksMayReachOverEachOther() {
    Dataset<Row> sum = MatrixBlocks.add(block(0, 0, 2, 2, 1), block(1, 1, 2, 2, 2), Missing.ZERO);
    double[][] found = TestMatrix.collect(sum, 3, 3);
    assertArrayEquals(new double[] {1, 1, 0}, found[0]);
    assertArrayEquals(new double[] {1, 3, 2}, found[1]);
    assertArrayEquals(new double[] {0, 2, 2}, found[2]);
    assertFails(
        () -> MatrixBlocks.add(block(0, 0, 2, 2, 1), block(1, 1, 2, 2, 2)).collectAsList(),
        "block at row",
        "no block of the input holds");
  }

  @Test
  void anyTwoTilingsInAllForms(@TempDir Path directory) {
    Random random = new Random(1);
    for (int round = 0; round < 6; round++) {
      int rows = 1 + random.nextInt(17);
      int cols = 1 + random.nextInt(17);
      double[][] x = TestMatrix.random(rows, cols, 0, random);
      double[][] y = TestMatrix.random(rows, cols, 0, random);
      Dataset<Row> first = anyForm(x, random, directory.resolve("a" + round));
      Dataset<Row> second = anyForm(y, random, directory.resolve("b" + round));
      Missing missing = random.nextBoolean() ? Missing.ERROR : Missing.ZERO;
      double[][] found = TestMatrix.collect(MatrixBlocks.add(first, second, missing), rows, cols);
      for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
          assertEquals(x[i][j] + y[i][j], found[i][j], "round " + round + ": " + i + ", " + j);
        }
      }
    }
  }

  /** In a grid or not, with any metadata or none. */
  private static Dataset<Row> anyForm(double[][] values, Random random, Path file) {
    int blockRows = 1 + random.nextInt(values.length);
    int blockCols = 1 + random.nextInt(values[0].length);
    TestMatrix matrix =
        random.nextBoolean()
            ? TestMatrix.cut(values, blockRows, blockCols)
            : TestMatrix.cutAnywhere(values, blockRows, blockCols, random);
    Dataset<Row> df = matrix.toDataFrame(spark, DataTypes.DoubleType, 2);
    switch (random.nextInt(4)) {
      case 0:
        return MatrixBlocks.withExtents(df, values.length, values[0].length);
      case 1:
        return MatrixBlocks.reblock(df, blockCols, blockRows);
      case 2:
        df.write().format("npy").save(file.toString());
        return spark.read().format("npy").option("blockShape", "5,3").load(file.toString());
      default:
        return df;
    }
  }

  @Test
  void productsOfOtherCuts() {
    TestField a = TestField.random(2, true, 5, 4, 6);
    TestField b = TestField.random(3, true, 5, 4, 6);
    for (int[] other : new int[][] {{5, 1, 4}, {2, 3, 6}}) {
      Dataset<Row> product =
          VolumeBlocks.multiplyPointwise(
              a.blocks(spark, DOUBLE, true, 2, 3, 6),
              b.blocks(spark, DOUBLE, true, other[0], other[1], other[2]));
      TestField found = TestField.of(product, a.shape());
      for (int i = 0; i < a.re().length; i++) {
        assertEquals(a.re()[i] * b.re()[i] - a.im()[i] * b.im()[i], found.re()[i]);
        assertEquals(a.re()[i] * b.im()[i] + a.im()[i] * b.re()[i], found.im()[i]);
      }
      assertEquals("(2, 3, 6)", metadata(product).blockShape(3).orElseThrow().toString());
    }
  }

  /** Matrices of several sizes, of which a side may lack one. */
  @Test
  void arraysOfOtherExtentsAreToldApart() {
    Random random = new Random(4);
    double[][] x = TestMatrix.random(7, 5, 0, random);
    double[][] y = TestMatrix.random(3, 9, 0, random);
    Dataset<Row> a =
        samples(TestMatrix.cut(x, 4, 2), "x").union(samples(TestMatrix.cut(y, 2, 9), "y"));
    Dataset<Row> b =
        samples(TestMatrix.cut(x, 3, 5), "x").union(samples(TestMatrix.cut(y, 1, 4), "y"));
    for (Missing missing : Missing.values()) {
      Dataset<Row> sum =
          MatrixBlocks.add(a, b.select("sample", "values", "cols", "rows", "col", "row"), missing);
      assertEquals(List.of(a.columns()), List.of(sum.columns()));
      assertDoubled(x, TestMatrix.collect(sum.where("sample = 'x'"), 7, 5));
      assertDoubled(y, TestMatrix.collect(sum.where("sample = 'y'"), 3, 9));
    }
    Dataset<Row> some = MatrixBlocks.add(a, b.where("sample = 'x'"), Missing.ZERO);
    assertArrayEquals(y[2], TestMatrix.collect(some.where("sample = 'y'"), 3, 9)[2]);
    Dataset<Row> unnamed = samples(TestMatrix.cut(y, 2, 9), null);
    Dataset<Row> filled = MatrixBlocks.add(b.where("sample = 'x'"), a.union(unnamed), Missing.ZERO);
    assertArrayEquals(y[1], TestMatrix.collect(filled.where("sample IS NULL"), 3, 9)[1]);
    assertFails(
        () -> MatrixBlocks.add(a, b.where("sample = 'x'")).collectAsList(),
        "block at row 0, col 0: no block of the input",
        "second matrix");
  }

  @Test
  void anArrayThatOneLacksIsAnErrorThatNamesABlock() {
    double[][] x = TestMatrix.random(6, 4, 0, new Random(9));
    Dataset<Row> a =
        MatrixBlocks.withExtents(
            samples(TestMatrix.cut(x, 4, 4), "x").union(samples(TestMatrix.cut(x, 4, 4), "y")),
            6,
            4);
    Dataset<Row> b =
        MatrixBlocks.withExtents(
            samples(TestMatrix.cut(x, 3, 2), "x").union(samples(TestMatrix.cut(x, 3, 2), "y")),
            6,
            4);
    assertDoubled(x, TestMatrix.collect(MatrixBlocks.add(a, b).where("sample = 'y'"), 6, 4));
    assertFails(
        () -> MatrixBlocks.add(a, b.where("sample = 'x'")).collectAsList(),
        "only the first matrix has a block there");
    assertFails(
        () -> MatrixBlocks.add(a.where("sample = 'x'"), b).collectAsList(),
        "only the second matrix has a block there");
  }

  private static void assertDoubled(double[][] values, double[][] found) {
    for (int i = 0; i < values.length; i++) {
      for (int j = 0; j < values[i].length; j++) {
        assertEquals(2 * values[i][j], found[i][j]);
      }
    }
  }

  private static Dataset<Row> samples(TestMatrix matrix, String sample) {
    return matrix.toDataFrame(spark, DataTypes.DoubleType, 2, sample);
  }

  // --- equal cuts stay as they are

  @Test
  void whatIsCutAlikeIsNotCutAgain(@TempDir Path directory) {
    Random random = new Random(5);
    double[][] values = TestMatrix.random(13, 11, 0, random);
    TestMatrix uneven = TestMatrix.cutAnywhere(values, 4, 5, random);
    Dataset<Row> plain = uneven.toDataFrame(spark, DataTypes.DoubleType, 2);
    String file = directory.resolve("a.npy").toString();
    plain.write().format("npy").save(file);
    Dataset<Row> stated = spark.read().format("npy").option("blockShape", "4,5").load(file);
    Dataset<Row> withoutExtents =
        MatrixBlocks.reblock(plain, 4, 5).union(MatrixBlocks.reblock(plain, 4, 5).where("false"));
    for (Dataset<Row> each : List.of(plain, stated, withoutExtents)) {
      Dataset<Row> sum = MatrixBlocks.add(each, MatrixBlocks.scale(each, 2));
      int before = PlanNodes.cutting(plan(each).executedPlan()).size();
      with(
          Map.of("spark.sql.adaptive.enabled", "false"),
          () -> {
            Dataset<Row> again = MatrixBlocks.add(each, MatrixBlocks.scale(each, 2));
            String text = plan(again).executedPlan().toString();
            assertTrue(text.contains(": a + b"), text);
            if (before == 0) {
              assertEquals(0, PlanNodes.cutting(plan(again).executedPlan()).size(), text);
            }
          });
      assertEquals(places(each), places(sum));
    }
  }

  private static List<Row> places(Dataset<Row> df) {
    return df.select("row", "col", "rows", "cols").orderBy("row", "col").collectAsList();
  }

  // --- what is wrong

  @Test
  void doubledBlocksAreErrorsWhereverTheyAre(@TempDir Path directory) {
    double[][] values = TestMatrix.random(8, 8, 0, new Random(6));
    Dataset<Row> whole = TestMatrix.cut(values, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 2);
    Dataset<Row> corner = whole.where("row = 4 AND col = 0");
    Dataset<Row> twice = whole.union(corner);
    Dataset<Row> over = whole.union(corner.withColumn("row", functions.lit(3L)));
    for (Missing missing : Missing.values()) {
      for (Dataset<Row> wrong : List.of(twice, over)) {
        for (List<Dataset<Row>> pair :
            List.of(List.of(wrong, whole), List.of(whole, wrong), List.of(wrong, wrong))) {
          assertFails(
              () -> MatrixBlocks.add(pair.get(0), pair.get(1), missing).collectAsList(),
              "block at row ",
              "two blocks of the input hold the element there");
        }
      }
    }
    String file = directory.resolve("a.npy").toString();
    whole.write().format("npy").save(file);
    Dataset<Row> stated = spark.read().format("npy").option("blockShape", "4,4").load(file);
    Dataset<Row> doubled = stated.union(stated.where("row = 4 AND col = 0"));
    assertFails(
        () -> MatrixBlocks.add(stated, doubled).collectAsList(),
        "block at row 4, col 0: two blocks of one matrix have this place");
    assertFails(
        () -> MatrixBlocks.add(doubled, doubled).collectAsList(),
        "block at row 4, col 0",
        "overlap");
  }

  @Test
  void aHoleInBothIsAnErrorOrZeros(@TempDir Path directory) {
    double[][] values = TestMatrix.random(8, 8, 0, new Random(7));
    Dataset<Row> whole = TestMatrix.cut(values, 4, 4).toDataFrame(spark, DataTypes.DoubleType, 2);
    String file = directory.resolve("a.npy").toString();
    whole.write().format("npy").save(file);
    Dataset<Row> stated = spark.read().format("npy").option("blockShape", "4,4").load(file);
    double[] zeros = new double[4];
    for (Dataset<Row> each :
        List.of(
            whole,
            MatrixBlocks.withExtents(whole, 8, 8),
            stated,
            MatrixBlocks.reblock(whole, 4, 4))) {
      Dataset<Row> hole = each.where("NOT (row = 4 AND col = 0)");
      Dataset<Row> sum = MatrixBlocks.add(hole, hole, Missing.ZERO);
      double[] row = TestMatrix.collect(sum, 8, 8)[5];
      assertArrayEquals(zeros, java.util.Arrays.copyOf(row, 4));
      assertEquals(2 * values[5][4], row[4]);
      assertFails(() -> MatrixBlocks.add(hole, hole).collectAsList(), "at row 4, col 0");
    }
  }

  /** Sizes that no block can have do not become the shape of blocks. */
  @Test
  void sizesThatAreNoneAreErrorsThatNameTheBlock() {
    TestField a = TestField.random(10, true, 5, 4, 6);
    Dataset<Row> good = a.blocks(spark, DOUBLE, true, 2, 4, 6);
    for (int size : new int[] {Integer.MAX_VALUE, 1 << 20, 0, -1}) {
      Dataset<Row> bad = good;
      for (String column : List.of("nx", "ny", "nz")) {
        bad =
            bad.withColumn(
                column,
                functions.when(functions.col("x").equalTo(2), size).otherwise(good.col(column)));
      }
      Dataset<Row> wrong = bad;
      assertFails(
          () -> VolumeBlocks.multiplyPointwise(wrong, good).collectAsList(),
          "block at x 2, y 0, z 0");
      assertFails(
          () -> VolumeBlocks.add(good, wrong, Missing.ZERO).collectAsList(),
          "block at x 2, y 0, z 0");
    }
  }

  @Test
  void staleShapesAreErrorsThatSayWhatHelps() {
    double[][] values = TestMatrix.random(8, 8, 0, new Random(8));
    Dataset<Row> whole = TestMatrix.cut(values, 8, 8).toDataFrame(spark, DataTypes.DoubleType, 1);
    Dataset<Row> fours = MatrixBlocks.reblock(whole, 4, 4);
    Dataset<Row> mixed =
        saying(
            fours.where("row = 0").union(MatrixBlocks.reblock(whole, 4, 8).where("row = 4")),
            fours);
    assertFails(
        () -> MatrixBlocks.add(fours, mixed).collectAsList(),
        "block at row 4, col 0: it is 4 x 4 in the first matrix and 4 x 8 in the second",
        "withoutExtents");
    assertDoubled(
        values,
        TestMatrix.collect(MatrixBlocks.add(fours, MatrixBlocks.withoutExtents(mixed)), 8, 8));
  }

  // --- nothing

  @Test
  void arraysWithoutBlocks() {
    Dataset<Row> none =
        spark.createDataFrame(List.<Row>of(), TestMatrix.schema(DataTypes.DoubleType));
    Dataset<Row> stated = MatrixBlocks.withExtents(none, 2, 3);
    for (Dataset<Row> second : List.of(stated, none)) {
      double[][] zeros = TestMatrix.collect(MatrixBlocks.add(stated, second, Missing.ZERO), 2, 3);
      assertArrayEquals(new double[3], zeros[1]);
      assertFails(
          () -> MatrixBlocks.add(stated, second).collectAsList(),
          "block at row 0, col 0: no block");
    }
    assertEquals(
        0,
        MatrixBlocks.add(MatrixBlocks.withExtents(none, 0, 3), none, Missing.ZERO)
            .collectAsList()
            .size());
  }

  private static Dataset<Row> block(long row, long col, int rows, int cols, double value) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < rows * cols; i++) {
      values.add(value);
    }
    return spark.createDataFrame(
        List.of(
            org.apache.spark.sql.RowFactory.create(row, col, rows, cols, ScalaInterop.seq(values))),
        TestMatrix.schema(DataTypes.DoubleType));
  }

  private static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }
}
