package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;

import java.util.List;
import org.tilespark.spark.multiply.MultiplyPlans;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.Parameter;

/** Products of matrices. */
final class ProductOperators {
  private static final String MOVES = "as the planner chose; EXPLAIN shows it, and why";

  static final Operator MULTIPLY =
      new Operator(
          "(a, b[, options])",
          "The product of two matrices of FLOAT or DOUBLE in any tiling." + Operator.APART,
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
          "The product of a matrix's transpose with the matrix, of which half is computed."
              + Operator.APART,
          MOVES,
          List.of(blocks("a", MATRIX)),
          Parameter.ofProducts().stream()
              .filter(option -> !option.name().startsWith("transpose"))
              .toList(),
          List.of(extents(MATRIX)),
          call ->
              MultiplyPlans.gram(
                  call.blocks(MATRIX),
                  call.options(MultiplyOptions::of),
                  call::asDataset,
                  call.operator()));

  private ProductOperators() {}
}
