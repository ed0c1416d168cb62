package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/**
 * Products of matrices with missing blocks, NaN and infinity: a term of which a factor is in no
 * block is left out of the sum, whatever the tiling and the strategy.
 */
class MissingZeroTest extends SparkTest {
  private static final int M = 39;
  private static final int K = 70;
  private static final int N = 33;
  private static final double[] SPECIAL = {
    Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY
  };

  /** A matrix of which some elements are in no block. */
  private record Holey(TestProduct values, boolean[][] isThere, List<Row> blocks) {
    static Holey random(ElementType type, int rows, int cols, int tiling, Random random) {
      TestProduct values = TestProduct.random(type, rows, cols, random.nextLong());
      for (double special : SPECIAL) {
        values = values.with(random.nextInt(rows), random.nextInt(cols), special);
      }
      List<Row> blocks =
          switch (tiling) {
            case 0 -> values.blocks(rows, 1 + random.nextInt(4));
            case 1 -> values.blocks(1 + random.nextInt(4), cols);
            case 2 -> values.blocks(1 + random.nextInt(4), 1 + random.nextInt(4));
            default -> values.raggedBlocks(1 + random.nextInt(5), random.nextLong());
          };
      List<Row> kept = new ArrayList<>();
      boolean[][] isThere = new boolean[rows][cols];
      for (Row block : blocks) {
        if (random.nextInt(4) == 0 && kept.size() + 2 < blocks.size()) {
          continue;
        }
        kept.add(block);
        for (int i = 0; i < block.getInt(2); i++) {
          for (int j = 0; j < block.getInt(3); j++) {
            isThere[(int) block.getLong(0) + i][(int) block.getLong(1) + j] = true;
          }
        }
      }
      return new Holey(values, isThere, kept);
    }

    Dataset<Row> frame() {
      return MatrixBlocks.withExtents(values.frame(spark, blocks, 2), values.rows(), values.cols());
    }

    boolean isThere(int i, int j, boolean transposed) {
      return transposed ? isThere[j][i] : isThere[i][j];
    }

    double at(int i, int j, boolean transposed) {
      return transposed ? values.at(j, i) : values.at(i, j);
    }
  }

  @Test
  void aMissingFactorLeavesItsTermOut() {
    List<Strategy> strategies =
        List.of(
            Strategy.AUTO,
            Strategy.BROADCAST,
            new Strategy.Cuboid(2, 2, 1),
            new Strategy.Cuboid(1, 1, 3),
            new Strategy.Cuboid(3, 1, 2));
    for (int round = 0; round < 12; round++) {
      Random random = new Random(round);
      ElementType type = random.nextBoolean() ? ElementType.FLOAT32 : ElementType.FLOAT64;
      boolean turnA = random.nextBoolean();
      boolean turnB = random.nextBoolean();
      Holey a = Holey.random(type, turnA ? K : M, turnA ? M : K, round % 4, random);
      Holey b = Holey.random(type, turnB ? N : K, turnB ? K : N, random.nextInt(4), random);
      MultiplyOptions options =
          MultiplyOptions.defaults()
              .withMissing(Missing.ZERO)
              .withTransposeA(turnA)
              .withTransposeB(turnB);
      for (Strategy strategy : strategies) {
        String what = "round " + round + ", " + strategy;
        if (Sampling.skips(round + strategies.indexOf(strategy), 2)) {
          continue;
        }
        Dataset<Row> c =
            MatrixBlocks.multiply(a.frame(), b.frame(), options.withStrategy(strategy));
        assertTerms(
            a, turnA, b, turnB, K, TestProduct.collect(c.collectAsList(), type, M, N), what);
      }
      Dataset<Row> gram =
          MatrixBlocks.gram(b.frame(), MultiplyOptions.defaults().withMissing(Missing.ZERO));
      int k = b.values().rows();
      int n = b.values().cols();
      assertTerms(
          b,
          true,
          b,
          false,
          k,
          TestProduct.collect(gram.collectAsList(), type, n, n),
          "gram " + round);
    }
  }

  /** Products where the blocks of one side, or of both, stay in their partitions. */
  @Test
  void alsoInPlace() {
    Random random = new Random(77);
    MultiplyOptions zero = MultiplyOptions.defaults().withMissing(Missing.ZERO);
    for (int round = 0; round < 4; round++) {
      ElementType type = round % 2 == 0 ? ElementType.FLOAT32 : ElementType.FLOAT64;
      Holey a = Holey.random(type, M, K, round < 2 ? 1 : 0, random);
      Holey b = Holey.random(type, K, N, 1, random);
      Row largestA = a.blocks().get(0);
      Row largestB = b.blocks().get(0);
      Dataset<Row> left =
          a.values()
              .stated(
                  a.values().frame(spark, a.blocks(), 2), largestA.getInt(2), largestA.getInt(3))
              .repartition(4, new Column(round < 2 ? "row" : "col"));
      Dataset<Row> right =
          b.values()
              .stated(
                  b.values().frame(spark, b.blocks(), 2), largestB.getInt(2), largestB.getInt(3))
              .repartition(4, new Column("row"));
      Strategy strategy = round < 2 ? new Strategy.Cuboid(4, 1, 1) : new Strategy.Cuboid(1, 1, 4);
      for (Dataset<Row> second : List.of(right, b.frame())) {
        Dataset<Row> c = MatrixBlocks.multiply(left, second, zero.withStrategy(strategy));
        assertTrue(explained(c).contains("in place"), () -> explained(c));
        assertTerms(
            a,
            false,
            b,
            false,
            K,
            TestProduct.collect(c.collectAsList(), type, M, N),
            "round " + round);
      }
    }
  }

  private static void assertTerms(
      Holey a, boolean turnA, Holey b, boolean turnB, int inner, TestProduct found, String what) {
    for (int i = 0; i < found.rows(); i++) {
      for (int j = 0; j < found.cols(); j++) {
        double sum = 0;
        for (int k = 0; k < inner; k++) {
          if (a.isThere(i, k, turnA) && b.isThere(k, j, turnB)) {
            sum += a.at(i, k, turnA) * b.at(k, j, turnB);
          }
        }
        double tolerance = found.type() == ElementType.FLOAT32 ? 1e-4 : 1e-12;
        assertEquals(
            sum, found.at(i, j), Double.isFinite(sum) ? tolerance : 0, what + ": " + i + ", " + j);
      }
    }
  }
}
