package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;

import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.multiply.MultiplyPlans;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.vectors.FoundIds;

/** Declarations of products of matrices. */
final class ProductOperators {
  private static final String MOVES = "as the planner chose; EXPLAIN shows it, and why";

  static final Operator MULTIPLY =
      new Operator(
          "(a, b[, options])",
          "The product of two matrices in any tiling, of any types, real or complex. It is of FLOAT"
              + " if one is of FLOAT and the other of FLOAT, TINYINT or SMALLINT, else of DOUBLE,"
              + " which holds a BIGINT of up to 2^53 exactly."
              + Operator.APART,
          MOVES,
          List.of(blocks("a", MATRIX), blocks("b", MATRIX)),
          Parameter.ofProducts(),
          List.of(extents("extentsA", MATRIX, "all of a"), extents("extentsB", MATRIX, "all of b")),
          call ->
              MultiplyPlans.multiply(
                  call.blocks(MATRIX, "a", "extentsA", ", matrix A"),
                  call.blocks(MATRIX, "b", "extentsB", ", matrix B"),
                  call.options(MultiplyOptions::of),
                  call::asDataset,
                  call.operator()));

  static final Operator GRAM =
      new Operator(
          "(a[, options])",
          "The product of a matrix's transpose with the matrix, of which half is computed; of a"
              + " complex matrix, of its conjugate transpose. Integers become DOUBLE."
              + Operator.APART,
          MOVES,
          List.of(blocks("a", MATRIX)),
          Parameter.ofProducts().stream()
              .filter(option -> !option.name().matches("(transpose|conjugate)."))
              .toList(),
          List.of(extents(MATRIX)),
          call ->
              MultiplyPlans.gram(
                  call.blocks(MATRIX),
                  call.options(MultiplyOptions::of),
                  call::asDataset,
                  call.operator()));

  private static final String SCORES =
      " Scores are computed in double, of vectors of any type. No product is written. Where the"
          + " blocks have ids, as matrix_from_rows gives them, these come too: query_id,"
          + " neighbour_id."
          + Operator.APART;
  private static final String PARTS = "the vectors; what was found, where b is cut";
  private static final Parameter<Long> K =
      Parameter.required("k", Type.WHOLE, "how many neighbours of each row of a, 1 or more");
  private static final Parameter<Double> THRESHOLD =
      Parameter.required(
          "threshold", Type.NUMBER, "the least score, of euclidean the largest distance");
  private static final Parameter<Metric> METRIC =
      Parameter.required(
          "metric",
          Type.METRIC,
          "'inner' (the inner product), 'cosine' (over the product of the norms) or 'euclidean'"
              + " (the distance, of which the least is the nearest)");

  static final Operator KNN =
      reduction(
          "(a, b, k, metric)",
          "The k nearest rows of b of each row of a: query, neighbour, rank (from 1) and score."
              + " Equal scores are ranked by the neighbour's place, NaN last."
              + SCORES,
          List.of(K, METRIC),
          call -> {
            long k = call.get(K);
            if (k < 1 || k > Integer.MAX_VALUE) {
              throw new IllegalArgumentException(
                  "%s: k is %s; expected 1 to %s".formatted(call.operator(), k, Integer.MAX_VALUE));
            }
            return new Reduction.Nearest((int) k, call.get(METRIC));
          });

  static final Operator PAIRS_ABOVE =
      reduction(
          "(a, b, threshold, metric)",
          "The pairs of a row of a and one of b whose score is at least the threshold, of"
              + " euclidean at most: query, neighbour and score."
              + SCORES,
          List.of(THRESHOLD, METRIC),
          call -> {
            double threshold = call.get(THRESHOLD);
            if (Double.isNaN(threshold)) {
              throw new IllegalArgumentException(
                  call.operator() + ": threshold is NaN; expected a number");
            }
            return new Reduction.PairsAbove(threshold, call.get(METRIC));
          });

  static final Operator ROW_ARGMAX =
      reduction(
          "(a, b)",
          "The row of b with the largest inner product of each row of a: query, neighbour, rank"
              + " (1) and score. It is matrix_knn with a k of 1."
              + SCORES,
          List.of(),
          call -> new Reduction.Nearest(1, Metric.INNER));

  private ProductOperators() {}

  /** Makes the reduction of a product's tiles from a call. */
  private interface ReductionOf {
    Reduction of(Call call);
  }

  private static Operator reduction(
      String java, String doc, List<Parameter<?>> further, ReductionOf reduction) {
    return new Operator(
        java,
        doc,
        PARTS,
        Stream.concat(Stream.of(blocks("a", MATRIX), blocks("b", MATRIX)), further.stream())
            .toList(),
        List.of(),
        List.of(extents("extentsA", MATRIX, "all of a"), extents("extentsB", MATRIX, "all of b")),
        call -> {
          String operator = call.operator();
          LogicalPlan found =
              MultiplyPlans.reduced(
                  call.blocks(MATRIX, "a", "extentsA", ", matrix A"),
                  call.blocks(MATRIX, "b", "extentsB", ", matrix B"),
                  reduction.of(call),
                  call::asDataset,
                  operator);
          LogicalPlan named = FoundIds.beside(found, "query", call.tableWithIds("a"), operator);
          return FoundIds.beside(named, "neighbour", call.tableWithIds("b"), operator);
        });
  }
}
