package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.SpreadRows;
import org.tilespark.spark.testing.TestProduct;

/**
 * Products of complex matrices, each part against a real sum of twice the length: {@code Re C = [Re
 * A, -Im A] [Re B; Im B]}, {@code Im C = [Re A, Im A] [Im B; Re B]}.
 */
class ComplexProductsTest extends SparkTest {
  private static final MultiplyOptions OPTIONS = MultiplyOptions.defaults();
  private static final Map<String, String> SMALL_PANELS =
      Map.of(TileSparkConf.BATCH_SIZE.name(), "1k");

  /** A matrix, whose imaginary part is empty if it is real. */
  private record Numbers(TestProduct re, Optional<TestProduct> im) {
    static Numbers random(ElementType type, int rows, int cols, boolean isComplex, long seed) {
      return new Numbers(
          TestProduct.random(type, rows, cols, seed),
          isComplex
              ? Optional.of(TestProduct.random(type, rows, cols, seed + 1000))
              : Optional.empty());
    }

    static Numbers complex(ElementType type, int rows, int cols, long seed) {
      return random(type, rows, cols, true, seed);
    }

    private Numbers each(BiFunction<TestProduct, Boolean, TestProduct> change) {
      return new Numbers(change.apply(re, false), im.map(part -> change.apply(part, true)));
    }

    Numbers transposed() {
      return each((part, isImag) -> part.transposed());
    }

    Numbers conjugated() {
      return each((part, isImag) -> isImag ? negated(part) : part);
    }

    Numbers without(int row, int col, int height, int width) {
      return each((part, isImag) -> part.without(row, col, height, width));
    }

    TestProduct imag() {
      return im.orElseGet(
          () ->
              new TestProduct(re.type(), re.rows(), re.cols(), new double[re.rows() * re.cols()]));
    }

    List<Row> blocks(int height, int width) {
      return joined(re.blocks(height, width), im.map(part -> part.blocks(height, width)));
    }

    List<Row> ragged(int most, long seed) {
      return joined(re.raggedBlocks(most, seed), im.map(part -> part.raggedBlocks(most, seed)));
    }

    private static List<Row> joined(List<Row> real, Optional<List<Row>> imag) {
      List<Row> all = new ArrayList<>();
      for (int i = 0; i < real.size(); i++) {
        List<Object> cells = new ArrayList<>();
        for (int column = 0; column < 5; column++) {
          cells.add(real.get(i).get(column));
        }
        if (imag.isPresent()) {
          cells.add(imag.get().get(i).get(4));
        }
        all.add(RowFactory.create(cells.toArray()));
      }
      return all;
    }

    Dataset<Row> frame(List<Row> blocks, int partitions) {
      var values = DataTypes.createArrayType(BlockSchema.sparkType(re.type()));
      StructType schema =
          new StructType()
              .add("row", DataTypes.LongType)
              .add("col", DataTypes.LongType)
              .add("rows", DataTypes.IntegerType)
              .add("cols", DataTypes.IntegerType)
              .add("values", values);
      StructType all = im.isPresent() ? schema.add("imag", values) : schema;
      return SpreadRows.of(spark, blocks, all, partitions);
    }

    Dataset<Row> frame(int height, int width) {
      return frame(blocks(height, width), 3);
    }

    /** The frame with extents and block shape stated, as sources do. */
    Dataset<Row> stated(int height, int width) {
      return re.stated(frame(height, width), height, width);
    }
  }

  private static TestProduct negated(TestProduct a) {
    return new TestProduct(
        a.type(), a.rows(), a.cols(), Arrays.stream(a.values()).map(value -> -value).toArray());
  }

  private static TestProduct beside(TestProduct a, TestProduct b) {
    double[] values = new double[2 * a.values().length];
    for (int row = 0; row < a.rows(); row++) {
      for (int col = 0; col < a.cols(); col++) {
        values[row * 2 * a.cols() + col] = a.at(row, col);
        values[row * 2 * a.cols() + a.cols() + col] = b.at(row, col);
      }
    }
    return new TestProduct(a.type(), a.rows(), 2 * a.cols(), values);
  }

  private static TestProduct below(TestProduct a, TestProduct b) {
    return beside(a.transposed(), b.transposed()).transposed();
  }

  private static Dataset<Row> imagOf(Dataset<Row> c) {
    return c.selectExpr("row", "col", "rows", "cols", "imag AS values");
  }

  private static void assertProduct(Numbers a, Numbers b, Dataset<Row> c) {
    Dataset<Row> once = spark.createDataFrame(c.collectAsList(), c.schema());
    TestProduct.assertProduct(beside(a.re, negated(a.imag())), below(b.re, b.imag()), once);
    TestProduct.assertProduct(beside(a.re, a.imag()), below(b.imag(), b.re), imagOf(once));
  }

  @Test
  void allTransposesAndConjugates() {
    allTransposesAndConjugates(23);
  }

  @Test
  @Tag("full")
  void allTransposesAndConjugatesInAllTilings() {
    allTransposesAndConjugates(1);
  }

  /** Every {@code step}-th product. */
  private void allTransposesAndConjugates(int step) {
    List<Strategy> strategies =
        List.of(
            Strategy.AUTO,
            new Strategy.Cuboid(3, 2, 1),
            new Strategy.Cuboid(2, 1, 3),
            Strategy.BROADCAST);
    int round = 0;
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      for (int kinds = 1; kinds < 4; kinds++) {
        for (int which = 0; which < 16; which++) {
          Numbers a = Numbers.random(type, 13, 21, (kinds & 1) != 0, 1);
          Numbers b = Numbers.random(type, 21, 17, (kinds & 2) != 0, 2);
          for (Strategy strategy : strategies) {
            for (boolean isRagged : List.of(false, true)) {
              if (round++ % step == 0) {
                multiply(a, b, which, strategy, isRagged);
              }
            }
          }
        }
      }
    }
  }

  private static void multiply(
      Numbers a, Numbers b, int which, Strategy strategy, boolean isRagged) {
    boolean ta = (which & 1) != 0;
    boolean tb = (which & 2) != 0;
    boolean ca = (which & 4) != 0;
    boolean cb = (which & 8) != 0;
    MultiplyOptions options =
        OPTIONS
            .withTransposeA(ta)
            .withTransposeB(tb)
            .withConjugateA(ca)
            .withConjugateB(cb)
            .withStrategy(strategy);
    Numbers left = ta ? a.transposed() : a;
    Numbers right = tb ? b.transposed() : b;
    Dataset<Row> frameA = isRagged ? left.frame(left.ragged(9, 3), 4) : left.stated(5, 4);
    Dataset<Row> frameB = isRagged ? right.frame(right.ragged(8, 4), 2) : right.stated(6, 7);
    with(
        SMALL_PANELS,
        () ->
            assertProduct(
                ca ? a.conjugated() : a,
                cb ? b.conjugated() : b,
                MatrixBlocks.multiply(frameA, frameB, options)));
  }

  @Test
  void conjugatesOfRealMatricesAreThemselves() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 7, 5, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 5, 6, 2);
    Dataset<Row> c =
        MatrixBlocks.multiply(
            a.frame(spark, 3, 3),
            b.frame(spark, 2, 4),
            OPTIONS.withConjugateA(true).withConjugateB(true));
    assertFalse(List.of(c.columns()).contains("imag"));
    TestProduct.assertProduct(a, b, c);
  }

  @Test
  void thinExtents() {
    for (int[] extents :
        new int[][] {{1, 1, 1}, {1, 31, 17}, {17, 31, 1}, {13, 1, 11}, {1, 64, 1}, {101, 3, 2}}) {
      Numbers a = Numbers.complex(ElementType.FLOAT32, extents[0], extents[1], 5);
      Numbers b = Numbers.complex(ElementType.FLOAT32, extents[1], extents[2], 6);
      assertProduct(a, b, MatrixBlocks.multiply(a.frame(4, 3), b.frame(5, 2)));
    }
  }

  @Test
  void blocksAndMetadataOfTheResult() {
    Numbers a = Numbers.complex(ElementType.FLOAT64, 10, 8, 7);
    Numbers b = Numbers.complex(ElementType.FLOAT64, 8, 9, 8);
    Dataset<Row> c =
        MatrixBlocks.multiply(a.stated(3, 4), b.stated(4, 4), OPTIONS.withBlockShape(7, 5));
    assertEquals(List.of("row", "col", "rows", "cols", "values", "imag"), List.of(c.columns()));
    ArrayMetadata metadata = ArrayMetadata.of(c.schema().apply("values").metadata());
    assertEquals(Optional.of(Shape.of(10, 9)), metadata.extents(2));
    assertEquals(Optional.of(Shape.of(7, 5)), metadata.blockShape(2));
    assertEquals(
        List.of("[0,0,7,5]", "[0,5,7,4]", "[7,0,3,5]", "[7,5,3,4]"),
        c.select("row", "col", "rows", "cols").collectAsList().stream()
            .map(Row::toString)
            .sorted()
            .toList());
    assertProduct(a, b, c);
    assertTrue(explained(c).contains("real and imaginary parts of A and B"), () -> explained(c));
  }

  /** A rule finds that it is a gram: half is computed, and the result is exactly Hermitian. */
  @Test
  void gramsAreExactlyHermitian() {
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      Numbers a = Numbers.complex(type, 41, 23, 60);
      Dataset<Row> stored = a.frame(a.ragged(9, 5), 3);
      for (Strategy strategy : List.of(Strategy.AUTO, new Strategy.Cuboid(2, 2, 3))) {
        MultiplyOptions options = OPTIONS.withStrategy(strategy);
        with(
            SMALL_PANELS,
            () -> {
              assertHermitian(a.conjugated().transposed(), a, MatrixBlocks.gram(stored, options));
              assertHermitian(
                  a,
                  a.conjugated().transposed(),
                  MatrixBlocks.multiply(
                      stored, stored, options.withTransposeB(true).withConjugateB(true)));
            });
      }
    }
  }

  private static void assertHermitian(Numbers a, Numbers b, Dataset<Row> c) {
    assertTrue(explained(c).contains("A^T A") || explained(c).contains("A A^T"));
    assertProduct(a, b, c);
    int extent = a.re.rows();
    TestProduct re = TestProduct.collect(c.collectAsList(), a.re.type(), extent, extent);
    TestProduct im = TestProduct.collect(imagOf(c).collectAsList(), a.re.type(), extent, extent);
    assertArrayEquals(re.values(), re.transposed().values());
    assertArrayEquals(
        IntStream.range(0, extent * extent).mapToDouble(i -> 0 - im.values()[i]).toArray(),
        im.transposed().values());
  }

  @Test
  void groupsAndOneMatrixForAll() {
    Numbers b = Numbers.complex(ElementType.FLOAT32, 14, 6, 30);
    List<Numbers> as = new ArrayList<>();
    Dataset<Row> left = null;
    Dataset<Row> right = null;
    for (int g = 0; g < 5; g++) {
      Numbers a = Numbers.complex(ElementType.FLOAT32, 9, 14, 20 + g);
      as.add(a);
      Dataset<Row> ga = a.frame(4, 5).selectExpr("*", g + " AS sample");
      Dataset<Row> gb =
          b.frame(g + 3, 4)
              .selectExpr(g + " AS sample", "imag", "values", "cols", "rows", "col", "row");
      left = left == null ? ga : left.union(ga);
      right = right == null ? gb : right.union(gb);
    }
    for (Dataset<Row> factor : List.of(right, b.frame(3, 4))) {
      Dataset<Row> c = MatrixBlocks.multiply(left, factor);
      assertEquals(
          List.of("row", "col", "rows", "cols", "values", "imag", "sample"), List.of(c.columns()));
      for (int g = 0; g < 5; g++) {
        assertProduct(as.get(g), b, c.where("sample = " + g));
      }
    }
  }

  /** Tasks multiply many of them at once. */
  @Test
  void manySmallMatrices() {
    int count = 100;
    Numbers a = Numbers.complex(ElementType.FLOAT64, 3 * count, 4, 40);
    Numbers b = Numbers.complex(ElementType.FLOAT64, 4, 5, 41);
    Dataset<Row> left =
        a.frame(3, 4).selectExpr("0L AS row", "col", "rows", "cols", "values", "imag", "row AS m");
    Dataset<Row> c = MatrixBlocks.multiply(left, b.frame(4, 5));
    assertProduct(a, b, c.selectExpr("row + m AS row", "col", "rows", "cols", "values", "imag"));
    Dataset<Row> grams = MatrixBlocks.gram(left);
    assertEquals(count, grams.count());
  }

  @Test
  void missingBlocksAreNamedOrZero() {
    Numbers a = Numbers.complex(ElementType.FLOAT64, 12, 20, 11);
    Numbers b = Numbers.complex(ElementType.FLOAT64, 20, 8, 12);
    List<Row> blocksA = a.blocks(4, 5);
    blocksA.remove(6); // row 4, col 10
    Dataset<Row> left = a.frame(blocksA, 2);
    Dataset<Row> right = b.frame(4, 4);
    assertFails(
        () -> MatrixBlocks.multiply(left, right).collect(),
        "MatrixBlocks.multiply: matrix A: no block holds the element at row 4, col 10",
        "cover all of 12 x 20 elements");
    List<Row> blocksB = b.blocks(4, 4);
    blocksB.remove(3); // row 4, col 4
    assertFails(
        () -> MatrixBlocks.multiply(a.frame(4, 5), b.frame(blocksB, 2)).collect(),
        "matrix B: no block holds the element at row 4, col 4",
        "cover all of 20 x 8 elements");
    List<Row> doubled = b.blocks(4, 4);
    doubled.add(doubled.get(3));
    assertFails(
        () -> MatrixBlocks.multiply(a.frame(4, 5), b.frame(doubled, 2)).collect(),
        "matrix B: block at row 4, col 4",
        "overlaps another one at row 4, col 4");
    Numbers zeroA = a.without(4, 10, 4, 5);
    for (Strategy strategy : List.of(Strategy.AUTO, new Strategy.Cuboid(3, 2, 4))) {
      MultiplyOptions zero = OPTIONS.withMissing(Missing.ZERO).withStrategy(strategy);
      assertProduct(zeroA, b, MatrixBlocks.multiply(left, right, zero));
    }
  }

  /** Blocks that are partitioned already: pairs of rows stay together. */
  @Test
  void operandsInPlace() {
    Numbers a = Numbers.complex(ElementType.FLOAT32, 60, 32, 62);
    Numbers b = Numbers.complex(ElementType.FLOAT32, 32, 20, 63);
    Dataset<Row> bands =
        MatrixBlocks.reblock(MatrixBlocks.withExtents(a.frame(5, 16), 60, 32), 5, 16)
            .repartition(5, new Column("row"));
    for (MultiplyOptions options : List.of(OPTIONS, TestProduct.cuboid(5, 1, 1))) {
      assertProduct(a, b, MatrixBlocks.multiply(bands, b.frame(8, 8), options));
    }
    Dataset<Row> c = MatrixBlocks.multiply(bands, b.frame(8, 8), TestProduct.cuboid(60, 1, 1));
    assertProduct(a, b, c);
  }

  /** A broadcast finds holes by places, so that no part of C goes through an exchange. */
  @Test
  void broadcastsLookAtPlaces() {
    Numbers a = Numbers.complex(ElementType.FLOAT64, 40, 6, 64);
    Numbers b = Numbers.complex(ElementType.FLOAT64, 6, 3, 65);
    MultiplyOptions options = OPTIONS.withStrategy(Strategy.BROADCAST);
    Dataset<Row> left = a.stated(8, 6).cache();
    Dataset<Row> c = MatrixBlocks.multiply(left, b.frame(6, 3), options);
    assertTrue(explained(c).contains("CheckPlaces"), () -> explained(c));
    assertProduct(a, b, c);
    Dataset<Row> turned = a.transposed().stated(6, 8).cache();
    Dataset<Row> ofTurned =
        MatrixBlocks.multiply(turned, b.frame(6, 3), options.withTransposeA(true));
    assertTrue(explained(ofTurned).contains("CheckPlaces"), () -> explained(ofTurned));
    assertProduct(a, b, ofTurned);
    List<Row> holes = a.blocks(8, 6);
    holes.remove(2);
    Dataset<Row> holed = a.re.stated(a.frame(holes, 2), 8, 6).cache();
    assertFails(
        () -> MatrixBlocks.multiply(holed, b.frame(6, 3), options).collect(),
        "matrix A: no block holds the element at row 16, col 0",
        "cover all of 40 x 6 elements");
    List.of(left, turned, holed).forEach(frame -> frame.unpersist(true));
  }

  /** Slices of a product read what they need; what is made of it follows. */
  @Test
  void operatorsAroundAProduct() {
    Numbers a = Numbers.complex(ElementType.FLOAT64, 12, 10, 70);
    Numbers b = Numbers.complex(ElementType.FLOAT64, 10, 9, 71);
    Dataset<Row> c = MatrixBlocks.multiply(a.stated(4, 5), b.stated(5, 4));
    Numbers rows = a.each((part, isImag) -> part(part, 3, 7));
    assertProduct(rows, b, MatrixBlocks.slice(c, "3:10, :"));
    assertProduct(b.transposed(), a.transposed(), MatrixBlocks.transpose(c));
    assertProduct(
        a,
        b.conjugated(),
        MatrixBlocks.multiply(a.stated(4, 5), MatrixBlocks.map(b.stated(5, 4), "conj(v)")));
    assertProduct(
        a.transposed().transposed(),
        b,
        MatrixBlocks.multiply(MatrixBlocks.transpose(a.transposed().stated(5, 4)), b.stated(5, 4)));
    Dataset<Row> kept = c.cache();
    assertProduct(a, b, kept);
    assertProduct(a, b, kept);
    kept.unpersist(true);
    TestProduct.assertProduct(
        beside(a.re, negated(a.imag())),
        below(b.re, b.imag()),
        c.select("row", "col", "rows", "cols", "values"));
    assertEquals(c.count(), c.select("row").collectAsList().size());
  }

  private static TestProduct part(TestProduct of, int from, int rows) {
    return new TestProduct(
        of.type(),
        rows,
        of.cols(),
        Arrays.copyOfRange(of.values(), from * of.cols(), (from + rows) * of.cols()));
  }

  @Test
  void runsInEveryMode() {
    Numbers a = Numbers.complex(ElementType.FLOAT32, 20, 24, 7);
    Numbers b = Numbers.complex(ElementType.FLOAT32, 24, 18, 8);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () ->
              assertProduct(
                  a,
                  b,
                  MatrixBlocks.multiply(
                      a.frame(6, 6), b.frame(6, 6), TestProduct.cuboid(2, 2, 2))));
    }
  }

  @Test
  void emptyInputs() {
    Dataset<Row> none = Numbers.complex(ElementType.FLOAT32, 6, 4, 13).frame(2, 2).where("row < 0");
    assertEquals(0, MatrixBlocks.multiply(none, none).count());
    Dataset<Row> c =
        MatrixBlocks.multiply(
            MatrixBlocks.withExtents(none, 5, 0), MatrixBlocks.withExtents(none, 0, 7));
    for (Dataset<Row> part : List.of(c, imagOf(c))) {
      TestProduct found = TestProduct.collect(part.collectAsList(), ElementType.FLOAT32, 5, 7);
      assertArrayEquals(new double[35], found.values());
    }
  }

  @Test
  void scoresAreReal() {
    Dataset<Row> a = Numbers.complex(ElementType.FLOAT32, 6, 4, 13).frame(2, 2);
    assertFails(
        () -> MatrixBlocks.knn(a, a, 1, org.tilespark.spark.options.Metric.INNER),
        "matrix A: the blocks are complex (column imag)",
        "scores are compared");
    assertFails(
        () -> MatrixBlocks.gram(a, OPTIONS.withConjugateA(true)), "conjugateA", "no meaning here");
    assertFails(
        () ->
            MatrixBlocks.multiply(
                a, a, OPTIONS.withTransposeB(true).withBlockShape(20_000, 60_000)),
        "blockShape is (20000, 60000)",
        "in a block of a complex product");
  }
}
