package org.tilespark.spark.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntBinaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.testing.DenseArray;

/**
 * Strips of rows whose partitions end anywhere, through chains of random operators, compared with
 * plain loops. Elements are whole numbers that DOUBLE holds, so results are the same to the bit.
 */
class RaggedStripsTest extends VectorTestBase {
  private static final int CHAINS = Sampling.FULL ? 200 : 10;
  private static final int MOST_OPERATORS = 4;
  private static final int MOST_EXTENT = 24;
  private static final double MOST = 1e5; // of an element that is multiplied further

  static List<Map<String, String>> modes() {
    return sampledModes();
  }

  /** A matrix, and what its elements should be. */
  private record Pair(Dataset<Row> blocks, double[][] expected, String history) {
    int rows() {
      return expected.length;
    }

    int cols() {
      return expected[0].length;
    }

    Pair then(String name, Dataset<Row> result, double[][] elements) {
      return new Pair(result, elements, history + " | " + name);
    }

    void check() {
      Object[] found = DenseArray.of(blocks, rows(), cols()).values();
      for (int i = 0; i < found.length; i++) {
        assertEquals(expected[i / cols()][i % cols()], (double) found[i], history);
      }
    }
  }

  private interface Element {
    double at(int row, int col);
  }

  private static double[][] matrix(int rows, int cols, Element element) {
    double[][] all = new double[rows][cols];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        all[i][j] = element.at(i, j);
      }
    }
    return all;
  }

  /** Rows in partitions of random lengths, some of them empty, in blocks of random heights. */
  private static Pair strips(Random random, int rows, int cols) {
    int seed = random.nextInt(1000);
    String element = "CAST((id * 31 + j * 17 + %s) %% 13 - 6 AS DOUBLE)".formatted(seed);
    String vector = "transform(sequence(0L, %sL), j -> %s)".formatted(cols - 1, element);
    Dataset<Row> ids = null;
    for (int start = 0, end; start < rows; start = end) {
      end = Math.min(rows, start + 1 + random.nextInt(9));
      Dataset<Row> some = spark.range(start, end, 1, 1 + random.nextInt(3)).toDF();
      ids = ids == null ? some : ids.union(some);
    }
    RowOptions options = RowOptions.defaults().withBlockRows(1 + random.nextInt(7));
    return new Pair(
        MatrixBlocks.fromRows(
            ids.selectExpr(vector + " AS v", "id"),
            "v",
            random.nextBoolean() ? options.withId("id") : options),
        matrix(rows, cols, (i, j) -> (i * 31 + j * 17 + seed) % 13 - 6),
        rows + " x " + cols);
  }

  private static Pair operated(Random random, Pair a) {
    int rows = a.rows();
    int cols = a.cols();
    double[][] x = a.expected();
    IntBinaryOperator between = (low, high) -> low + random.nextInt(high - low);
    switch (random.nextInt(14)) {
      case 0:
        return a.then(
            "transpose", MatrixBlocks.transpose(a.blocks()), matrix(cols, rows, (i, j) -> x[j][i]));
      case 1:
        return a.then(
            "map",
            MatrixBlocks.map(a.blocks(), "3 - v + row"),
            matrix(rows, cols, (i, j) -> 3 - x[i][j] + i));
      case 2:
        Dataset<Row> other =
            MatrixBlocks.reblock(
                a.blocks(), between.applyAsInt(1, rows + 1), between.applyAsInt(1, cols + 1));
        return a.then(
            "zip",
            MatrixBlocks.zip(a.blocks(), other, "2 * a - b + 1"),
            matrix(rows, cols, (i, j) -> x[i][j] + 1));
      case 3:
        int fromRow = random.nextInt(rows);
        int toRow = between.applyAsInt(fromRow + 1, rows + 1);
        int fromCol = random.nextInt(cols);
        int toCol = between.applyAsInt(fromCol + 1, cols + 1);
        return a.then(
            "slice",
            MatrixBlocks.slice(
                a.blocks(), "%s:%s, %s:%s".formatted(fromRow, toRow, fromCol, toCol)),
            matrix(toRow - fromRow, toCol - fromCol, (i, j) -> x[fromRow + i][fromCol + j]));
      case 4:
        return a.then(
            "every other row from the end",
            MatrixBlocks.slice(a.blocks(), "::-2, :"),
            matrix((rows + 1) / 2, cols, (i, j) -> x[rows - 1 - 2 * i][j]));
      case 5:
        int down = random.nextInt(rows);
        return a.then(
            "roll",
            MatrixBlocks.roll(a.blocks(), down + ",-1"),
            matrix(rows, cols, (i, j) -> x[Math.floorMod(i - down, rows)][(j + 1) % cols]));
      case 6:
        return a.then(
            "pad",
            MatrixBlocks.pad(a.blocks(), "1,0; 0,2", "edge"),
            matrix(rows + 1, cols + 2, (i, j) -> x[Math.max(0, i - 1)][Math.min(j, cols - 1)]));
      case 7:
        return a.then(
            "sum of columns",
            MatrixBlocks.sum(a.blocks(), "0"),
            matrix(1, cols, (i, j) -> sum(rows, k -> x[k][j])));
      case 8:
        return a.then(
            "greatest of rows",
            MatrixBlocks.max(a.blocks(), "1"),
            matrix(rows, 1, (i, j) -> greatest(x[i])));
      case 9:
        return a.then(
            "gram",
            MatrixBlocks.gram(a.blocks()),
            matrix(cols, cols, (i, j) -> sum(rows, k -> x[k][i] * x[k][j])));
      case 10:
        return a.then(
            "times its transpose",
            MatrixBlocks.multiply(
                a.blocks(), a.blocks(), MultiplyOptions.defaults().withTransposeB(true)),
            matrix(rows, rows, (i, j) -> sum(cols, k -> x[i][k] * x[j][k])));
      case 11:
        Pair below = strips(random, 1 + random.nextInt(9), cols);
        double[][] y = below.expected();
        return a.then(
            "concat",
            MatrixBlocks.concat("0", a.blocks(), below.blocks()),
            matrix(rows + y.length, cols, (i, j) -> i < rows ? x[i][j] : y[i - rows][j]));
      case 12:
        return a.then(
            "rows and back",
            MatrixBlocks.fromRows(
                MatrixBlocks.toRows(a.blocks(), "v"),
                "v",
                RowOptions.defaults().withOrderBy("row").withCols(cols).withBlockRows(5)),
            x);
      default:
        return a.then(
            "reshape",
            MatrixBlocks.reshape(a.blocks(), "-1," + rows),
            matrix(cols, rows, (i, j) -> x[(i * rows + j) / cols][(i * rows + j) % cols]));
    }
  }

  private static double sum(int count, java.util.function.IntToDoubleFunction of) {
    double sum = 0;
    for (int k = 0; k < count; k++) {
      sum += of.applyAsDouble(k);
    }
    return sum;
  }

  private static double greatest(double[] of) {
    double greatest = of[0];
    for (double each : of) {
      greatest = Math.max(greatest, each);
    }
    return greatest;
  }

  private static boolean mayGoOn(Pair pair) {
    for (double[] row : pair.expected()) {
      for (double each : row) {
        if (Math.abs(each) > MOST) {
          return false;
        }
      }
    }
    return pair.rows() <= 2 * MOST_EXTENT && pair.cols() <= 2 * MOST_EXTENT;
  }

  @ParameterizedTest
  @MethodSource("modes")
  void chainsOfOperators(Map<String, String> mode) {
    long seed = Sampling.FULL ? System.nanoTime() : 20261128 + mode.hashCode();
    Random random = new Random(seed);
    with(
        mode,
        () -> {
          for (int chain = 0; chain < CHAINS; chain++) {
            Pair pair =
                strips(random, 1 + random.nextInt(MOST_EXTENT), 1 + random.nextInt(MOST_EXTENT));
            pair = new Pair(pair.blocks(), pair.expected(), "seed " + seed + ": " + pair.history());
            pair.check();
            for (int i = 0; i < MOST_OPERATORS && mayGoOn(pair); i++) {
              pair = operated(random, pair);
            }
            pair.check();
          }
        });
  }

  @ParameterizedTest
  @MethodSource("modes")
  void transformsOfVolumesOfStrips(Map<String, String> mode) {
    Random random = new Random(20261128);
    with(
        mode,
        () -> {
          for (int extent : new int[] {1, 2, 5, 6}) {
            Pair pair = strips(random, 12, extent);
            Dataset<Row> volume = MatrixBlocks.reshape(pair.blocks(), "3,4," + extent);
            DenseArray found =
                DenseArray.of(
                    VolumeBlocks.fft(volume, FftOptions.defaults().withAxes("z")), 3, 4, extent);
            List<Double> errors = new ArrayList<>();
            for (int i = 0; i < found.values().length; i++) {
              double[] line = pair.expected()[i / extent];
              double turn = -2 * Math.PI * (i % extent) / extent;
              double real = sum(extent, k -> line[k] * Math.cos(turn * k));
              double imag = sum(extent, k -> line[k] * Math.sin(turn * k));
              errors.add(Math.abs(real - (double) found.values()[i]));
              errors.add(Math.abs(imag - (double) found.imag()[i]));
            }
            assertEquals(0, errors.stream().max(Double::compare).orElseThrow(), 1e-12);
          }
        });
  }

  @ParameterizedTest
  @MethodSource("modes")
  void productsOfBlocksOfOneRow(Map<String, String> mode) {
    with(
        mode,
        () -> {
          Pair pair = strips(new Random(1), 23, 7);
          Dataset<Row> each = MatrixBlocks.reblock(pair.blocks(), 1, 7);
          MultiplyOptions options = MultiplyOptions.defaults().withTransposeB(true);
          double[][] x = pair.expected();
          double[][] product = matrix(23, 23, (i, j) -> sum(7, k -> x[i][k] * x[j][k]));
          for (Dataset<Row> blocks :
              List.of(each, MatrixBlocks.withoutExtents(each), pair.blocks())) {
            pair.then("product", MatrixBlocks.multiply(blocks, blocks, options), product).check();
          }
        });
  }
}
