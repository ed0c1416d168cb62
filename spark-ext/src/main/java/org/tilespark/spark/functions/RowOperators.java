package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.vectors.SpreadPlans;
import org.tilespark.spark.vectors.VectorPlans;

/**
 * Declarations of operators between matrices and tables with a vector, or an element, in each row.
 */
final class RowOperators {
  private static final Type<String> NAME = Type.text((what, text) -> text);
  private static final Parameter<LogicalPlan> ROWS =
      Tables.table("input", "rows with one vector each");
  private static final Parameter<String> COLUMNS =
      Parameter.required(
          "columns",
          Type.columns(),
          "the column of vectors, 'features', or columns of numbers, 'a,b' or array('a', 'b')");

  private static final Parameter<String> COLUMN =
      Parameter.required("column", NAME, "the name of the column of arrays in the result");
  private static final Parameter<Long> BLOCK_ROWS =
      Parameter.required("rows", Type.WHOLE, "rows of a full block, 1 or more");
  private static final Parameter<Long> BLOCK_COLS =
      Parameter.required("cols", Type.WHOLE, "columns of a full block, 1 or more");
  private static final Parameter<Missing> MISSING =
      Parameter.MISSING.of(
          Missing.ZERO, "'zero' takes elements that no row has for zeros, 'error' refuses them");

  static final Operator FROM_ROWS =
      new Operator(
          "(df, columns[, options])",
          "The matrix whose rows are the vectors of a table, in blocks of about 8 MiB. Vectors are"
              + " arrays of numbers, Vectors of spark.ml or spark.mllib, or numbers in several"
              + " columns.",
          "none; each row once where rows are sorted",
          List.of(ROWS, COLUMNS),
          Parameter.ofRows(),
          List.of(),
          call ->
              VectorPlans.fromRows(
                  call.table("input"),
                  List.of(call.get(COLUMNS).split(",")),
                  call.options(RowOptions::of),
                  call::asDataset,
                  call.operator()));

  static final Operator TO_ROWS =
      new Operator(
          "(m, column)",
          "One row for each row of a matrix: its place row, its id if the blocks have ids, and its"
              + " elements as an array. Further columns are carried through.",
          "none where blocks are whole along the columns; else each element once",
          List.of(blocks("input", MATRIX), COLUMN, extents(MATRIX)),
          call ->
              SpreadPlans.toRows(
                  call.blocksWithIds(MATRIX), call.get(COLUMN), call::asDataset, call.operator()));

  static final Operator ROW_IDS =
      new Operator(
          "(m)",
          "The ids of the rows of a matrix that was made with them: row, and the id under its own"
              + " name.",
          "none",
          List.of(blocks("input", MATRIX)),
          call -> SpreadPlans.rowIds(call.tableWithIds("input"), call.operator()));

  static final Operator FROM_CELLS =
      new Operator(
          "(df, rows, cols[, missing])",
          "The matrix whose elements are the rows (row, col, value) of a table, in blocks of rows x"
              + " cols."
              + Operator.APART,
          "each element once",
          List.of(
              Tables.table("input", "rows (row BIGINT, col BIGINT, value T)"),
              BLOCK_ROWS,
              BLOCK_COLS,
              MISSING,
              extents(MATRIX)),
          call ->
              SpreadPlans.fromCells(
                  call.table("input"),
                  new long[] {call.get(BLOCK_ROWS), call.get(BLOCK_COLS)},
                  call.get(MISSING),
                  call.find(extents(MATRIX)),
                  call.operator()));

  static final Operator TO_CELLS =
      new Operator(
          "(m)",
          "One row for each element of a matrix: row, col, value." + Operator.CARRIED,
          "none",
          List.of(blocks("input", MATRIX), extents(MATRIX)),
          call -> SpreadPlans.toCells(call.blocks(MATRIX), call.operator()));

  private RowOperators() {}
}
