package org.tilespark.bench.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.Pca;
import org.tilespark.spark.Qr;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;

/** Operators that compute with matrices. */
final class MatrixQueries {
  /**
   * Error of a mean, compared with the exact one: two roundings of numbers up to {@link
   * Dense#LARGEST_ELEMENT}.
   */
  private static final double FLOAT_MEAN_ERROR = 2e-6;

  private static final double DOUBLE_MEAN_ERROR = 1e-13;

  /** Roundings of columns of factors whose norms are those of the matrix's columns. */
  private static final double FLOAT_FACTOR_ERROR = 1e-4;

  private static final double DOUBLE_FACTOR_ERROR = 1e-12;

  private MatrixQueries() {}

  static Query transpose(Draw draw) {
    return draw.exact(MatrixBlocks::transpose, Dense::transposed);
  }

  static Query pack(Draw draw) {
    return draw.exact(MatrixQueries::throughBytes, d -> d);
  }

  static Query gram(Draw draw) {
    return draw.exact(MatrixBlocks::gram, d -> d.transposed().times(d));
  }

  static Query scale(Draw draw) {
    double alpha = draw.random().nextInt(9) * 0.25;
    return draw.exact(
        x -> MatrixBlocks.scale(x, alpha),
        d -> {
          Dense scaled = Dense.zeros(draw.a().extents());
          Arrays.setAll(scaled.values(), i -> d.values()[i] * alpha);
          return scaled;
        });
  }

  static Query center(Draw draw) {
    return draw.of(
        MatrixBlocks::center,
        Dense::centered,
        d -> draw.single() ? FLOAT_MEAN_ERROR : DOUBLE_MEAN_ERROR);
  }

  /** The product of Q and R, which is the matrix but for rounding of the factors. */
  static Query qr(Draw draw) {
    return draw.of(
        x -> {
          Qr qr = MatrixBlocks.qr(x);
          return MatrixBlocks.multiply(qr.q(), qr.r());
        },
        d -> d,
        d -> draw.single() ? FLOAT_FACTOR_ERROR : DOUBLE_FACTOR_ERROR);
  }

  /** The product of all scores and components, which is the centred matrix but for rounding. */
  static Query pca(Draw draw) {
    long all = Math.min(draw.a().rows(), draw.a().cols());
    return draw.a().rows() < 2
        ? center(draw)
        : draw.of(
            x -> {
              Pca pca = MatrixBlocks.pca(x, Math.toIntExact(all));
              return MatrixBlocks.multiply(pca.scores(), pca.components());
            },
            Dense::centered,
            d -> draw.single() ? FLOAT_FACTOR_ERROR : DOUBLE_FACTOR_ERROR);
  }

  /** With a matrix of the same extents, or one that repeats its row, its column or its element. */
  static Query zip(Draw draw) {
    long[] extents = draw.a().extents().clone();
    Arrays.setAll(extents, axis -> draw.random().nextInt(3) == 0 ? 1 : extents[axis]);
    draw.tell(" with " + Arrays.toString(extents));
    return new Query(
        List.of(draw.a(), Dense.random(draw.random(), extents)),
        1,
        x -> MatrixBlocks.zip(x.get(0), x.get(1), "a * b - 3"),
        d -> {
          Dense other = d.get(1);
          Dense made = Dense.zeros(draw.a().extents());
          long[] at = new long[2];
          for (int i = 0; i < made.values().length; i++) {
            made.unravel(i, at);
            double met =
                other.at(Math.min(at[0], other.rows() - 1), Math.min(at[1], other.cols() - 1));
            made.values()[i] = d.get(0).values()[i] * met - 3;
          }
          return made;
        },
        d -> 0);
  }

  /** The places of the nearest rows by inner product, as a matrix: a row for each query. */
  static Query nearest(Draw draw) {
    Dense others = Dense.random(draw.random(), draw.extent(Draw.LARGEST_EXTENT), draw.a().cols());
    int k = 1 + draw.random().nextInt(5);
    draw.tell(" " + k + " of " + others.rows());
    return new Query(
        List.of(draw.a(), others),
        1,
        x -> {
          Dataset<Row> found = MatrixBlocks.knn(x.get(0), x.get(1), k, Metric.INNER);
          List<String> cells =
              new ArrayList<>(
                  List.of("query AS row", "rank - 1L AS col", "DOUBLE(neighbour) AS value"));
          Stream.of(found.columns()).filter("g"::equals).forEach(cells::add);
          return MatrixBlocks.fromCells(found.selectExpr(cells.toArray(String[]::new)), 16, 3);
        },
        d -> ranked(d.get(0).times(d.get(1).transposed()), k),
        d -> 0);
  }

  /**
   * The columns of the largest elements of each row, the largest first; the first of equal ones.
   */
  private static Dense ranked(Dense scores, int k) {
    Dense ranked = Dense.zeros(scores.rows(), Math.min(k, scores.cols()));
    for (long row = 0; row < ranked.rows(); row++) {
      long at = row;
      List<Integer> order =
          IntStream.range(0, Math.toIntExact(scores.cols()))
              .boxed()
              .sorted(Comparator.comparingDouble(col -> -scores.at(at, col)))
              .toList();
      for (int rank = 0; rank < ranked.cols(); rank++) {
        ranked.values()[ranked.index(row, rank)] = order.get(rank);
      }
    }
    return ranked;
  }

  /**
   * The sum of two matrices, each as it comes, with extents stated, or cut to a shape of its own.
   */
  static Query add(Draw draw, double share, Missing missing) {
    int[] forms = {draw.random().nextInt(4), draw.random().nextInt(4)};
    int[][] shapes = {
      {draw.size(draw.a().rows()), draw.size(draw.a().cols())},
      {draw.size(draw.a().rows()), draw.size(draw.a().cols())}
    };
    if (draw.random().nextInt(3) == 0) {
      shapes[1] = shapes[0];
    }
    draw.tell(" of forms " + Arrays.toString(forms) + " in " + Arrays.deepToString(shapes));
    return new Query(
        List.of(
            new Dense(draw.a().extents(), draw.a().values().clone(), Optional.empty()),
            Dense.random(draw.random(), draw.a().extents())),
        share,
        x -> {
          List<Dataset<Row>> operands = new ArrayList<>();
          for (int i = 0; i < 2; i++) {
            operands.add(
                switch (forms[i]) {
                  case 0 -> x.get(i);
                  case 1 -> RandomQuery.withExtents(x.get(i), draw.a());
                  default -> MatrixBlocks.reblock(x.get(i), shapes[i][0], shapes[i][1], missing);
                });
          }
          return MatrixBlocks.add(operands.get(0), operands.get(1), missing);
        },
        d -> {
          Dense sum = Dense.zeros(draw.a().extents());
          Arrays.setAll(sum.values(), i -> d.get(0).values()[i] + d.get(1).values()[i]);
          return sum;
        },
        d -> 0);
  }

  static Query multiply(Draw draw) {
    boolean transposeA = draw.random().nextBoolean();
    boolean transposeB = draw.random().nextBoolean();
    long rows = transposeA ? draw.a().cols() : draw.a().rows();
    long inner = transposeA ? draw.a().rows() : draw.a().cols();
    Dense right = Dense.random(draw.random(), inner, draw.extent(Draw.LARGEST_EXTENT));
    Dense asGiven = transposeB ? right.transposed() : right;
    MultiplyOptions options =
        MultiplyOptions.defaults().withTransposeA(transposeA).withTransposeB(transposeB);
    if (draw.random().nextBoolean()) {
      options =
          options.withStrategy(
              new MultiplyOptions.Strategy.Cuboid(
                  draw.parts(rows), draw.parts(right.cols()), draw.parts(inner)));
    }
    if (draw.random().nextBoolean()) {
      options = options.withBlockShape(draw.size(rows), draw.size(right.cols()));
    }
    draw.tell(" with " + Arrays.toString(asGiven.extents()) + " " + options);
    MultiplyOptions all = options;
    return new Query(
        List.of(draw.a(), asGiven),
        1,
        x -> MatrixBlocks.multiply(x.get(0), x.get(1), all),
        d ->
            (transposeA ? d.get(0).transposed() : d.get(0))
                .times(transposeB ? d.get(1).transposed() : d.get(1)),
        d -> 0);
  }

  /** The blocks, as bytes on the way. */
  private static Dataset<Row> throughBytes(Dataset<Row> blocks) {
    String view = "blocks_" + UUID.randomUUID().toString().replace('-', '_');
    blocks.createOrReplaceTempView(view);
    Dataset<Row> unpacked =
        blocks
            .sparkSession()
            .sql(
                "SELECT * FROM matrix_unpack(TABLE(SELECT * FROM matrix_pack(TABLE("
                    + view
                    + "))))");
    blocks.sparkSession().catalog().dropTempView(view);
    return unpacked;
  }
}
