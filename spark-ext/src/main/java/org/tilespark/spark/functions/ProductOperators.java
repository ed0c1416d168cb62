package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.functions.Parameter.blocks;
import static org.tilespark.spark.functions.Parameter.extents;
import static org.tilespark.spark.functions.Parameter.optional;

import java.util.List;
import org.tilespark.spark.multiply.MultiplyPlans;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;

/** Products of matrices. Their options are those of {@link MultiplyOptions}. */
final class ProductOperators {
  private static final String MOVES = "as the planner chose; EXPLAIN shows it, and why";
  private static final String NEVER_MADE = "'s transpose, which is never made";

  private static final Parameter<String> PRECISION =
      optional(
          "precision",
          Type.TEXT,
          "'full'",
          "'full'; of FLOAT also 'tf32', 'bfloat16' or 'float16', which round the inputs and sum in"
              + " float32");
  private static final Parameter<String> STRATEGY =
      optional(
          "strategy",
          Type.TEXT,
          "'auto'",
          "'auto' (by cost), 'broadcast' (the smaller matrix goes to every executor) or"
              + " 'cuboid(P,Q,R)' (rows of the result in P parts, its columns in Q, the inner"
              + " extent in R)");
  private static final Parameter<String> BLOCK_SHAPE =
      optional(
          "blockShape",
          Type.LIST,
          "rows as in the blocks of op(A), columns as in those of op(B)",
          "rows and columns of a block of the result, '1024,1024' or array(1024, 1024)");
  private static final Parameter<Missing> MISSING =
      Parameter.missing(", also where they meet NaN or infinity");

  static final Operator MULTIPLY =
      new Operator(
          "(a, b[, options])",
          "The product of two matrices of FLOAT or DOUBLE in any tiling." + Operator.APART,
          MOVES,
          List.of(
              blocks("a", MATRIX),
              blocks("b", MATRIX),
              optional("transposeA", Type.FLAG, "false", "true to multiply with a" + NEVER_MADE),
              optional("transposeB", Type.FLAG, "false", "true to multiply with b" + NEVER_MADE),
              PRECISION,
              STRATEGY,
              BLOCK_SHAPE,
              MISSING,
              extents("extentsA", MATRIX, "all of a"),
              extents("extentsB", MATRIX, "all of b")),
          call ->
              MultiplyPlans.multiply(
                  call.blocks(MATRIX, "a", "extentsA", ", matrix A"),
                  call.blocks(MATRIX, "b", "extentsB", ", matrix B"),
                  call.options(MultiplyOptions.NAMES, MultiplyOptions::of),
                  call::asDataset,
                  call.operator()));

  static final Operator GRAM =
      new Operator(
          "(a[, options])",
          "The product of a matrix's transpose with the matrix, of which half is computed."
              + Operator.APART,
          MOVES,
          List.of(blocks("a", MATRIX), PRECISION, STRATEGY, BLOCK_SHAPE, MISSING, extents(MATRIX)),
          call ->
              MultiplyPlans.gram(
                  call.blocks(MATRIX),
                  call.options(MultiplyOptions.NAMES, MultiplyOptions::of),
                  call::asDataset,
                  call.operator()));

  private ProductOperators() {}
}
