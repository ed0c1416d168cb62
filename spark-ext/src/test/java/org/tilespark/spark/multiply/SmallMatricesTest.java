package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.FormattedMode$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.SpreadRows;
import org.tilespark.spark.testing.TestProduct;

/**
 * Many small matrices of two grouping columns, of which tasks multiply several at once, compared
 * with plain loops. Elements are small whole numbers, so that sums are exact in any order and
 * precision, some of them NaN.
 */
class SmallMatricesTest extends SparkTest {
  private static final int COUNT = 23;
  private static final String PARTITIONS = "spark.sql.shuffle.partitions";

  /** Few matrices fit a batch, so that tasks have several batches. */
  private static final String SMALL_BATCH = "8k";

  /** One 12 x 31 x 17 product of either type, whose panels hold all of K. */
  private static final String ONE_BATCH = "8k";

  /** Consecutive matrices of one shape. */
  private record Stack(ElementType type, int rows, int cols, double[][] values) {
    static Stack random(ElementType type, int rows, int cols, Random random) {
      double[][] values = new double[COUNT][rows * cols];
      for (double[] matrix : values) {
        Arrays.setAll(matrix, i -> random.nextInt(-8, 9));
        if (random.nextInt(6) == 0) {
          matrix[random.nextInt(matrix.length)] = Double.NaN;
        }
      }
      return new Stack(type, rows, cols, values);
    }

    /** Makes all of them the first. */
    void repeatFirst() {
      Arrays.setAll(values, i -> values[0]);
    }

    double at(int matrix, int row, int col, boolean transposed) {
      return transposed ? values[matrix][col * cols + row] : values[matrix][row * cols + col];
    }

    /** Every {@code cutEach}-th matrix is cut into blocks of two rows, of other columns. */
    List<Row> blocks(int cutEach) {
      List<Row> blocks = new ArrayList<>();
      for (int matrix = 0; matrix < COUNT; matrix++) {
        int height = matrix % cutEach == 1 ? 2 : rows;
        for (int row = 0; row < rows; row += height) {
          blocks.add(block(matrix, row, Math.min(height, rows - row)));
        }
      }
      return blocks;
    }

    private Row block(int matrix, int row, int height) {
      double[] part = Arrays.copyOfRange(values[matrix], row * cols, (row + height) * cols);
      Object[] elements = new Object[part.length];
      Arrays.setAll(
          elements, i -> type == ElementType.FLOAT32 ? (Object) (float) part[i] : part[i]);
      return RowFactory.create(
          sample(matrix), (long) run(matrix), (long) row, 0L, height, cols, elements);
    }

    Dataset<Row> frame(List<Row> blocks) {
      List<Row> shuffled = new ArrayList<>(blocks);
      Collections.shuffle(shuffled, new Random(blocks.size()));
      StructType schema =
          new StructType()
              .add("sample", DataTypes.StringType)
              .add("run", DataTypes.LongType)
              .add("row", DataTypes.LongType)
              .add("col", DataTypes.LongType)
              .add("rows", DataTypes.IntegerType)
              .add("cols", DataTypes.IntegerType)
              .add(
                  "values",
                  DataTypes.createArrayType(
                      type == ElementType.FLOAT32 ? DataTypes.FloatType : DataTypes.DoubleType,
                      false));
      return MatrixBlocks.withExtents(SpreadRows.of(spark, shuffled, schema, 3), rows, cols);
    }
  }

  private static String sample(int matrix) {
    return matrix % 5 == 0 ? null : "s" + matrix % 5;
  }

  private static int run(int matrix) {
    return matrix / 5;
  }

  private static double[] product(
      Stack a, boolean turnA, Stack b, boolean turnB, int matrix, int m, int k, int n) {
    double[] c = new double[m * n];
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        for (int p = 0; p < k; p++) {
          c[i * n + j] += a.at(matrix, i, p, turnA) * b.at(matrix, p, j, turnB);
        }
      }
    }
    return c;
  }

  /** The matrices of a result, by their number. */
  private static Map<Integer, double[]> collected(Dataset<Row> c, ElementType type, int m, int n) {
    Map<Integer, List<Row>> blocks = new TreeMap<>();
    for (Row row :
        c.select("row", "col", "rows", "cols", "values", "sample", "run").collectAsList()) {
      int sample = row.isNullAt(5) ? 0 : Integer.parseInt(row.getString(5).substring(1));
      int matrix = Math.toIntExact(row.getLong(6)) * 5 + sample;
      blocks.computeIfAbsent(matrix, each -> new ArrayList<>()).add(row);
    }
    Map<Integer, double[]> matrices = new TreeMap<>();
    blocks.forEach(
        (matrix, rows) -> matrices.put(matrix, TestProduct.collect(rows, type, m, n).values()));
    return matrices;
  }

  private static void assertMatrix(double[] expected, double[] found, String what) {
    for (int i = 0; i < expected.length; i++) {
      assertEquals(expected[i], found[i], what + ", element " + i);
    }
  }

  @Test
  void productsOfAllTransposesShapesAndTypes() {
    int[][] shapes = {{8, 8, 8}, {1, 9, 5}, {7, 1, 6}, {6, 11, 1}, {1, 1, 1}, {16, 33, 19}};
    Random random = new Random(7);
    int round = 0;
    for (int[] shape : shapes) {
      for (boolean turnA : List.of(false, true)) {
        for (boolean turnB : List.of(false, true)) {
          round++;
          ElementType type = round % 2 == 0 ? ElementType.FLOAT32 : ElementType.FLOAT64;
          int m = shape[0];
          int k = shape[1];
          int n = shape[2];
          Stack a = Stack.random(type, turnA ? k : m, turnA ? m : k, random);
          Stack b = Stack.random(type, turnB ? n : k, turnB ? k : n, random);
          MultiplyOptions options =
              MultiplyOptions.defaults()
                  .withTransposeA(turnA)
                  .withTransposeB(turnB)
                  .withPrecision(
                      type == ElementType.FLOAT32 && round % 4 == 0 ? "bfloat16" : "full");
          Strategy strategy = round % 3 == 0 ? Strategy.BROADCAST : Strategy.AUTO;
          String what = "shape %s, %s, %s".formatted(Arrays.toString(shape), options, strategy);
          with(
              Map.of(
                  TileSparkConf.BATCH_SIZE.name(),
                  SMALL_BATCH,
                  "spark.sql.adaptive.enabled",
                  round % 4 < 2 ? "true" : "false"),
              () -> {
                Map<Integer, double[]> found =
                    collected(
                        MatrixBlocks.multiply(
                            a.frame(a.blocks(4)),
                            b.frame(b.blocks(3)),
                            options.withStrategy(strategy)),
                        type,
                        m,
                        n);
                assertEquals(COUNT, found.size(), what);
                found.forEach(
                    (matrix, c) ->
                        assertMatrix(
                            product(a, turnA, b, turnB, matrix, m, k, n),
                            c,
                            what + ", matrix " + matrix));
              });
        }
      }
    }
  }

  /** One matrix without grouping columns is multiplied with all of the other side's. */
  @Test
  void oneMatrixForAll() {
    int m = 6;
    int k = 9;
    int n = 5;
    Random random = new Random(17);
    int round = 0;
    for (ElementType type : MultiplyBlocksTest.TYPES) {
      for (boolean turnA : List.of(false, true)) {
        for (boolean turnB : List.of(false, true)) {
          for (boolean right : List.of(true, false)) {
            // In blocks of two rows there are parts of sums where K is along the rows.
            for (int cutEach : new int[] {1000, 4}) {
              Stack a = Stack.random(type, turnA ? k : m, turnA ? m : k, random);
              Stack b = Stack.random(type, turnB ? n : k, turnB ? k : n, random);
              (right ? b : a).repeatFirst();
              Dataset<Row> left = a.frame(a.blocks(cutEach));
              Dataset<Row> other = b.frame(b.blocks(cutEach));
              String first = "sample IS NULL AND run = 0";
              Missing missing = round++ % 3 == 0 ? Missing.ZERO : Missing.ERROR;
              MultiplyOptions options =
                  MultiplyOptions.defaults()
                      .withTransposeA(turnA)
                      .withTransposeB(turnB)
                      .withMissing(missing);
              String what = "%s, %s, %s, %s".formatted(type, options, right, cutEach);
              with(
                  Map.of(TileSparkConf.BATCH_SIZE.name(), SMALL_BATCH),
                  () -> {
                    Dataset<Row> c =
                        MatrixBlocks.multiply(
                            right ? left : left.where(first).drop("sample", "run"),
                            right ? other.where(first).drop("sample", "run") : other,
                            options);
                    Map<Integer, double[]> found = collected(c, type, m, n);
                    assertEquals(COUNT, found.size(), what);
                    found.forEach(
                        (matrix, values) ->
                            assertMatrix(
                                product(a, turnA, b, turnB, matrix, m, k, n),
                                values,
                                what + ", matrix " + matrix));
                  });
            }
          }
        }
      }
    }
  }

  @Test
  void oneMatrixForAllNamesWhatIsMissing() {
    Stack a = Stack.random(ElementType.FLOAT64, 6, 4, new Random(1));
    Stack b = Stack.random(ElementType.FLOAT64, 4, 3, new Random(2));
    Dataset<Row> one = b.frame(b.blocks(1000)).where("sample = 's1' AND run = 1");
    Dataset<Row> right = one.drop("sample", "run");
    List<Row> blocks = a.blocks(2);
    blocks.removeIf(row -> isOf(row, 6 + 5) && row.getLong(2) == 2);
    Dataset<Row> left = a.frame(blocks);
    assertFails(
        () -> MatrixBlocks.multiply(left, right).collect(),
        "matrix A of sample s1, run 2",
        "no block holds");
    Dataset<Row> whole = a.frame(a.blocks(1000));
    assertFails(
        () -> MatrixBlocks.multiply(whole, right.where("row < 0")).collect(),
        "matrix B: no block holds");
    assertFails(
        () -> MatrixBlocks.multiply(whole, right, TestProduct.cuboid(1, 1, 2)).collect(),
        "B has no grouping columns");
    assertTrue(
        explained(MatrixBlocks.multiply(whole, right)).contains("one B for all"),
        () -> explained(MatrixBlocks.multiply(whole, right)));
  }

  @Test
  void gramsOfAllMatrices() {
    for (ElementType type : MultiplyBlocksTest.TYPES) {
      Stack a = Stack.random(type, 9, 7, new Random(3));
      with(
          Map.of(TileSparkConf.BATCH_SIZE.name(), SMALL_BATCH),
          () -> {
            Map<Integer, double[]> found =
                collected(MatrixBlocks.gram(a.frame(a.blocks(4))), type, 7, 7);
            assertEquals(COUNT, found.size());
            found.forEach(
                (matrix, c) ->
                    assertMatrix(product(a, true, a, false, matrix, 7, 9, 7), c, "gram " + matrix));
          });
    }
  }

  @Test
  void aMapIsComputedOfEachMatrix() {
    Stack a = Stack.random(ElementType.FLOAT64, 5, 6, new Random(4));
    Stack b = Stack.random(ElementType.FLOAT64, 6, 4, new Random(5));
    Dataset<Row> c = MatrixBlocks.multiply(a.frame(a.blocks(5)), b.frame(b.blocks(9)));
    Map<Integer, double[]> found =
        collected(MatrixBlocks.map(c, "v * 2 + 1"), ElementType.FLOAT64, 5, 4);
    assertEquals(COUNT, found.size());
    found.forEach(
        (matrix, values) -> {
          double[] expected = product(a, false, b, false, matrix, 5, 6, 4);
          Arrays.setAll(expected, i -> expected[i] * 2 + 1);
          assertMatrix(expected, values, "matrix " + matrix);
        });
  }

  /** A missing block is an error that names it, or zeros that leave all others as they are. */
  @Test
  void missingBlocksAndMatrices() {
    ElementType type = ElementType.FLOAT32;
    Stack a = Stack.random(type, 6, 10, new Random(11));
    Stack b = Stack.random(type, 10, 4, new Random(12));
    List<Row> blocksA = a.blocks(2);
    List<Row> blocksB = b.blocks(1000);
    // The second pair of rows of matrix 3 of A, all of matrix 7 of A, all of matrix 8 of B.
    blocksA.removeIf(row -> isOf(row, 3) && row.getLong(2) == 2 || isOf(row, 7));
    blocksB.removeIf(row -> isOf(row, 8));
    for (Strategy strategy : List.of(Strategy.AUTO, Strategy.BROADCAST)) {
      Dataset<Row> left = a.frame(blocksA);
      Dataset<Row> right = b.frame(blocksB);
      MultiplyOptions options = MultiplyOptions.defaults().withStrategy(strategy);
      assertFails(() -> MatrixBlocks.multiply(left, right, options).collect(), "no block holds");
      Map<Integer, double[]> found =
          collected(
              MatrixBlocks.multiply(left, right, options.withMissing(Missing.ZERO)), type, 6, 4);
      for (int matrix = 0; matrix < COUNT; matrix++) {
        double[] expected = product(a, false, b, false, matrix, 6, 10, 4);
        if (matrix == 3) {
          Arrays.fill(expected, 2 * 4, 4 * 4, 0);
        } else if (matrix == 7 || matrix == 8) {
          Arrays.fill(expected, 0);
          if (!found.containsKey(matrix)) {
            continue; // of this matrix there may be blocks of zeros, or none
          }
        }
        assertMatrix(expected, found.get(matrix), strategy + ", matrix " + matrix);
      }
    }
  }

  private static boolean isOf(Row block, int matrix) {
    return Objects.equals(block.getString(0), sample(matrix)) && block.getLong(1) == run(matrix);
  }

  /** On the CPU, whose kernels sum in one order: bits do not depend on what is in a batch. */
  @Test
  void batchesHaveTheBitsOfEachMatrixAlone() {
    for (ElementType type : MultiplyBlocksTest.TYPES) {
      Random random = new Random(21);
      Stack a = Stack.random(type, 12, 31, random);
      Stack b = Stack.random(type, 31, 17, random);
      for (Stack stack : List.of(a, b)) {
        for (double[] matrix : stack.values()) {
          Arrays.setAll(matrix, i -> random.nextGaussian());
        }
      }
      List<String> bits = new ArrayList<>();
      for (String batch : List.of(ONE_BATCH, "64k", "64m")) {
        with(
            Map.of(TileSparkConf.BATCH_SIZE.name(), batch, TileSparkConf.BACKEND.name(), "cpu"),
            () -> {
              Map<Integer, double[]> found =
                  collected(
                      MatrixBlocks.multiply(a.frame(a.blocks(1000)), b.frame(b.blocks(1000))),
                      type,
                      12,
                      17);
              StringBuilder text = new StringBuilder();
              found.forEach((matrix, c) -> text.append(matrix).append(Arrays.toString(c)));
              bits.add(text.toString());
            });
      }
      assertTrue(bits.get(0).equals(bits.get(1)) && bits.get(0).equals(bits.get(2)));
    }
  }

  @Test
  void plansSayHowManyMatricesGoTogether() {
    Stack a = Stack.random(ElementType.FLOAT64, 8, 8, new Random(1));
    Dataset<Row> frame = a.frame(a.blocks(1000));
    with(
        Map.of(TileSparkConf.BATCH_SIZE.name(), SMALL_BATCH),
        () ->
            assertTrue( // 8 KiB of 3 x 512 bytes each
                formatted(MatrixBlocks.multiply(frame, frame.selectExpr("*")))
                    .contains("Batches: up to 5 matrices at once")));
    Dataset<Row> one = frame.where("sample = 's1' AND run = 1").drop("sample", "run");
    assertFalse(formatted(MatrixBlocks.multiply(one, one)).contains("Batches:"));
  }

  private static String formatted(Dataset<Row> df) {
    return plan(df).explainString(FormattedMode$.MODULE$);
  }

  /** Tasks follow the bytes where a filled cache says how many there are. */
  @Test
  void cachedMatricesGoToFewTasks() {
    Stack a = Stack.random(ElementType.FLOAT64, 8, 8, new Random(2));
    Stack b = Stack.random(ElementType.FLOAT64, 8, 8, new Random(3));
    Dataset<Row> left = a.frame(a.blocks(1000)).persist();
    Dataset<Row> right = b.frame(b.blocks(1000)).persist();
    String asked = spark.conf().get(PARTITIONS);
    spark.conf().unset(PARTITIONS); // else there are as many as it says
    try {
      left.count();
      right.count();
      Dataset<Row> c = MatrixBlocks.multiply(left, right);
      assertEquals(COUNT, collected(c, ElementType.FLOAT64, 8, 8).size());
      assertTrue(c.rdd().getNumPartitions() < 5, () -> "partitions " + c.rdd().getNumPartitions());
    } finally {
      spark.conf().set(PARTITIONS, asked);
      left.unpersist(true);
      right.unpersist(true);
    }
  }
}
