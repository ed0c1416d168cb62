package org.tilespark.spark.multiply.scores;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.host.HostSelection;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.multiply.scores.Scores.Found;
import org.tilespark.spark.options.Metric;

/** Reduced tiles, against plain loops over all pairs; equal bit by bit. */
class TileSearchTest {
  private static final double NAN = Double.NaN;
  private static final double INFINITY = Double.POSITIVE_INFINITY;

  @Test
  void randomVectors() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      int m = 1 + random.nextInt(12);
      int n = 1 + random.nextInt(60);
      int extent = 1 + random.nextInt(40);
      double[] a = gaussian(random, m * extent);
      double[] b = gaussian(random, n * extent);
      check("seed " + seed, a, b, extent, 1 + random.nextInt(n + 3), random);
    }
  }

  /** Whole numbers of few values: many scores are equal, and some vectors are. */
  @Test
  void tiesGoToTheLowerPlace() {
    for (int seed = 0; seed < 60; seed++) {
      Random random = new Random(seed);
      int extent = 1 + random.nextInt(3);
      double[] a = random.doubles(7L * extent).map(x -> Math.rint(2 * x) - 1).toArray();
      double[] b = random.doubles(50L * extent).map(x -> Math.rint(2 * x) - 1).toArray();
      check("seed " + seed, a, b, extent, 1 + random.nextInt(20), random);
    }
  }

  /** Differences of scores that a tile of FLOAT cannot show. */
  @Test
  void scoresCloserThanTheTileSums() {
    Random random = new Random(5);
    int extent = 33;
    double[] a = gaussian(random, 5 * extent);
    double[] one = gaussian(random, extent);
    double[] b = new double[300 * extent];
    for (int i = 0; i < b.length; i++) {
      b[i] = (float) (one[i % extent] * (1 + 1e-7 * random.nextGaussian()));
    }
    check("close", a, b, extent, 7, random);
  }

  /** Far from the origin distances cancel in norms and products. */
  @Test
  void distancesOfVectorsFarFromTheOrigin() {
    Random random = new Random(6);
    int extent = 8;
    double[] a = random.doubles(6L * extent).map(x -> (float) (1e4 + x)).toArray();
    double[] b = random.doubles(90L * extent).map(x -> (float) (1e4 + x)).toArray();
    check("far", a, b, extent, 5, random);
  }

  @Test
  void everyKindOfNumber() {
    double[] kinds = {
      0, -0.0, 1, -1, NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f, 1e-38f, 1e20f, 5, 7
    };
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      int extent = 1 + random.nextInt(3);
      int calm = random.nextInt(4); // of some seeds most vectors are plain numbers
      double[] a = mixed(random, kinds, 6 * extent, calm);
      double[] b = mixed(random, kinds, 40 * extent, calm);
      check("seed " + seed, a, b, extent, 1 + random.nextInt(45), random);
    }
  }

  /** Elements whose squares are zero in double, or have few bits, together with large ones. */
  @Test
  void squaresThatUnderflow() {
    for (double small : new double[] {1e-170, 3e-162, 1e-155}) {
      for (double other : new double[] {1e150, 1, small}) {
        Random random = new Random(7);
        int extent = 40;
        double[] a = close(random, 6 * extent, small);
        double[] b = close(random, 200 * extent, other);
        for (Metric metric : Metric.values()) {
          if (metric != Metric.COSINE || small > 1e-165) { // else norms are zero
            String which = small + " and " + other;
            check(which, metric, ElementType.FLOAT64, a, b, extent, 5, random);
            check(which + " turned", metric, ElementType.FLOAT64, b, a, extent, 5, random);
          }
        }
      }
    }
  }

  /** Numbers that differ in their last bits. */
  private static double[] close(Random random, int count, double about) {
    return random.ints(count, 0, 5).mapToDouble(bits -> about * (1 + bits * 1e-15)).toArray();
  }

  private static double[] mixed(Random random, double[] kinds, int count, int calm) {
    double[] values = new double[count];
    for (int i = 0; i < count; i++) {
      values[i] =
          random.nextInt(4) < calm
              ? (float) random.nextGaussian()
              : kinds[random.nextInt(kinds.length)];
    }
    return values;
  }

  private static double[] gaussian(Random random, int count) {
    double[] values = new double[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }

  /** All metrics and types, by tiles of a random size. */
  private static void check(String what, double[] a, double[] b, int extent, int k, Random random) {
    for (Metric metric : Metric.values()) {
      for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
        check(what, metric, type, a, b, extent, k, random);
      }
    }
  }

  private static void check(
      String what,
      Metric metric,
      ElementType type,
      double[] a,
      double[] b,
      int extent,
      int k,
      Random random) {
    TileSides sides = new TileSides(1 + random.nextInt(9), 1 + random.nextInt(70));
    String which = what + ", " + metric + " of " + type + ", " + sides;
    assertEquals(
        Scores.nearest(a, b, extent, k, metric),
        search(new Reduction.Nearest(k, metric), sides, type, a, b, extent),
        which);
    double threshold = random.nextGaussian();
    List<Found> nearest = Scores.nearest(a, b, extent, 3, metric);
    double score = nearest.get(nearest.size() - 1).score();
    threshold = Double.isNaN(score) || random.nextBoolean() ? threshold : score;
    assertEquals(
        Scores.pairs(a, b, extent, threshold, metric),
        search(new Reduction.PairsAbove(threshold, metric), sides, type, a, b, extent),
        which + ", threshold " + threshold);
  }

  private static List<Found> search(
      Reduction reduction, TileSides sides, ElementType type, double[] a, double[] b, int extent) {
    Vectors queries = vectors(type, a, extent);
    Vectors others = vectors(type, b, extent);
    TileSearch search =
        TileSearch.of(
            reduction,
            sides,
            new VectorSquares(queries),
            new VectorSquares(others),
            place -> place);
    int m = a.length / extent;
    int n = b.length / extent;
    List<Found> found = new ArrayList<>();
    for (int row = 0; row < m; row += sides.rows()) {
      int rows = Math.min(sides.rows(), m - row);
      search.rows(row, rows);
      for (int col = 0; col < n; col += sides.cols()) {
        int cols = Math.min(sides.cols(), n - col);
        HostMemory tile = tile(type, a, row, rows, b, col, cols, extent);
        SelectedColumns selected = new HostSelection(search.columns(col, cols), tile);
        for (int i = 0; i < rows; i++) {
          search.reduce(selected, i);
          if (reduction instanceof Reduction.PairsAbove) {
            take(search, reduction.metric(), row, i, found);
          }
        }
      }
      if (reduction instanceof Reduction.Nearest) {
        for (int i = 0; i < rows; i++) {
          take(search, reduction.metric(), row, i, found);
        }
      }
    }
    if (reduction instanceof Reduction.PairsAbove) {
      found.sort(java.util.Comparator.comparingLong(Found::query).thenComparingLong(Found::place));
    }
    return found;
  }

  private static void take(
      TileSearch search, Metric metric, int firstRow, int row, List<Found> found) {
    Neighbours taken = search.take(row);
    for (int i = 0; i < taken.count(); i++) {
      double score = TileSearch.score(metric, taken.key(i));
      found.add(new Found(firstRow + row, taken.place(i), score));
    }
  }

  private static Vectors vectors(ElementType type, double[] values, int extent) {
    int width = type.bytes();
    Object array = type == ElementType.FLOAT32 ? floats(values) : values;
    return new Vectors(HostMemory.ofArray(array), type, extent, (long) extent * width, width);
  }

  private static float[] floats(double[] values) {
    float[] floats = new float[values.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) values[i];
    }
    return floats;
  }

  /** Sums in the tile's own type, the last terms first. */
  private static HostMemory tile(
      ElementType type, double[] a, int row, int rows, double[] b, int col, int cols, int extent) {
    double[] sums = new double[rows * cols];
    float[] singles = new float[rows * cols];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        for (int k = extent - 1; k >= 0; k--) {
          double x = a[(row + i) * extent + k];
          double y = b[(col + j) * extent + k];
          sums[i * cols + j] += x * y;
          singles[i * cols + j] += (float) x * (float) y;
        }
      }
    }
    return HostMemory.ofArray(type == ElementType.FLOAT32 ? singles : sums);
  }
}
