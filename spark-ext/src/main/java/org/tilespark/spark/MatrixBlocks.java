package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.error.Require;
import org.tilespark.spark.functions.TableFunctions;
import org.tilespark.spark.options.Assume;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.validate.BlockValidator;

/**
 * Operators on matrices held as DataFrames of blocks: {@code row BIGINT, col BIGINT, rows INT, cols
 * INT, values ARRAY<T> [, imag ARRAY<T>]}, one block per row, values row-major.
 *
 * <p>{@code row} and {@code col} are the place of the block's first element in the whole matrix, so
 * any tiling is legal. All other columns are called <em>further columns</em>. Operators that work
 * block by block carry them through; for other operators they distinguish several matrices in one
 * DataFrame, unless a method says otherwise. All operators are lazy. A defect of a block is
 * reported when the query runs, as an {@link IllegalArgumentException} that names the block.
 *
 * <p>Every operator throws an {@link IllegalArgumentException} if a DataFrame has no blocks of the
 * types that it takes or an argument is null or empty, and an {@link IllegalStateException} if the
 * session lacks {@code spark.sql.extensions=org.tilespark.spark.TileSparkExtensions}.
 *
 * <p>On a DataFrame of a Spark Connect session each operator calls its SQL function on the server,
 * whose session must have the extension; errors are reported when the server plans or runs the
 * query.
 */
public final class MatrixBlocks {
  private MatrixBlocks() {}

  /**
   * The transposed matrix: block {@code (row, col)} of shape rows x cols becomes block {@code (col,
   * row)} of shape cols x rows. No shuffle; further columns are carried through.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex
   * @throws IllegalArgumentException if {@code df} has no matrix blocks
   */
  public static Dataset<Row> transpose(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_TRANSPOSE, df);
  }

  /**
   * Selects elements along each axis, as numpy's basic slicing: {@code start:stop:step} for each
   * axis, separated by commas. Negative bounds count from the end, parts may be left out, steps may
   * be negative, and {@code ...} stands for the axes that are not named. Unlike in numpy, a single
   * number keeps its axis, with extent 1.
   *
   * <p>Block by block, no shuffle; blocks without elements of the slice are dropped, and our
   * sources do not even read them. Extents are taken from the column metadata; if it states none, a
   * small aggregate over the coordinate columns runs now. A slice of a spectrum is no longer a
   * spectrum. Further columns are carried through, and distinguish arrays of one size.
   *
   * @param df blocks of any type, real or complex
   * @param slices slice of each axis, as {@code "100:200, ::2"}
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, the text is no slice, or
   *     no element is left along an axis
   */
  public static Dataset<Row> slice(Dataset<Row> df, String slices) {
    return OperatorCall.of(TableFunctions.MATRIX_SLICE, df, slices);
  }

  /**
   * Reverses the order of elements along all axes; as {@link #slice} with {@code ::-1} for each.
   */
  public static Dataset<Row> flip(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_FLIP, df);
  }

  /**
   * Reverses the order of elements along some axes; as {@link #slice} with {@code ::-1} for those.
   *
   * @param axes letters or numbers of the axes, as {@code "row"} or {@code "0"}
   */
  public static Dataset<Row> flip(Dataset<Row> df, String axes) {
    return OperatorCall.of(TableFunctions.MATRIX_FLIP, df, axes);
  }

  /**
   * The part of the matrix that the blocks cover, as after a filter on their places: the lowest
   * offset along each axis becomes 0. The extents become those of the part, which a small aggregate
   * over the coordinate columns finds now. If you know the bounds, {@link #slice} gives the same
   * without that aggregate.
   *
   * @param df blocks of any type, real or complex
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, if there are no blocks, or
   *     if the blocks of several arrays cover different parts
   */
  public static Dataset<Row> withOrigin(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_WITH_ORIGIN, df);
  }

  /**
   * Concatenates matrices of one type along an axis; along the other their extents must be equal.
   * The result is a union of their blocks without a shuffle. If the metadata does not state the
   * extents, a small aggregate over the coordinate columns runs now. The result is not a spectrum,
   * even if an input is.
   *
   * @param axis name of the axis, as {@code "row"}, or its number
   * @param a blocks of any type, real or complex
   * @param b blocks of the same type, with the same further columns
   * @param more further matrices, as {@code b}
   * @throws IllegalArgumentException if the matrices do not fit each other; the message says why
   */
  @SafeVarargs
  public static Dataset<Row> concat(
      String axis, Dataset<Row> a, Dataset<Row> b, Dataset<Row>... more) {
    Require.given(more, "MatrixBlocks.concat", "more");
    Dataset<Row> all = OperatorCall.of(TableFunctions.MATRIX_CONCAT, a, b, axis);
    for (Dataset<Row> next : more) {
      all = OperatorCall.of(TableFunctions.MATRIX_CONCAT, all, next, axis);
    }
    return all;
  }

  /**
   * Stacks matrices of one type and of equal extents as the planes of a volume along x; row becomes
   * y, col becomes z. Otherwise as {@link VolumeBlocks#concat}.
   *
   * @return volume blocks of extent 1 along x
   */
  @SafeVarargs
  public static Dataset<Row> stack(Dataset<Row> a, Dataset<Row> b, Dataset<Row>... more) {
    Require.given(more, "MatrixBlocks.stack", "more");
    Dataset<Row> all = OperatorCall.of(TableFunctions.MATRIX_STACK, a, b);
    for (Dataset<Row> next : more) {
      Dataset<Row> plane = OperatorCall.of(TableFunctions.MATRIX_STACK, next);
      all = VolumeBlocks.concat("x", all, plane);
    }
    return all;
  }

  /** {@link #multiply(Dataset, Dataset, MultiplyOptions)} with all defaults. */
  public static Dataset<Row> multiply(Dataset<Row> a, Dataset<Row> b) {
    return multiply(a, b, MultiplyOptions.defaults());
  }

  /**
   * The product {@code C = op(A) op(B)}, where {@code op} is a transpose, a complex conjugate or
   * both if the options say so. Any tiling of either side is legal. Further columns distinguish
   * several matrices: both sides have the same further columns, and the products are computed
   * matrix by matrix. All matrices of a side have one size. A side without further columns is one
   * matrix, which is broadcast and multiplied with each of the other side.
   *
   * <p>Extents are taken from the column metadata; if it states none, a small aggregate over the
   * coordinate columns runs now. All else is lazy. Sums are computed in an order that depends on
   * the plan alone, so the same query gives the same bits every time on one backend.
   *
   * <p>If the options ask for {@code missing=zero}, missing blocks count as zeros, and infinity
   * times a zero of a missing block is 0. With several matrices, blocks of the result to which no
   * block of either side contributes are then left out.
   *
   * <p>C is FLOAT if one operand is FLOAT and the other FLOAT, TINYINT or SMALLINT; otherwise it is
   * DOUBLE, which holds a BIGINT of up to 2^53 exactly. C is complex if an operand is: its parts
   * are sums of four real products, and are infinite or NaN where these are. Each of its parts has
   * the error bound of a real sum of 2 K terms. The operands' metadata of spectra is dropped.
   *
   * @param a M x K blocks, real or complex
   * @param b K x N blocks, real or complex
   * @return {@code row, col, rows, cols, values}, {@code imag} if C is complex, and the further
   *     columns of {@code a}, or of {@code b} if {@code a} has none; M x N
   * @throws IllegalArgumentException if the two do not fit each other; the message says what was
   *     found
   */
  public static Dataset<Row> multiply(Dataset<Row> a, Dataset<Row> b, MultiplyOptions options) {
    return OperatorCall.of(TableFunctions.MATRIX_MULTIPLY, a, b, options);
  }

  /** {@link #gram(Dataset, MultiplyOptions)} with all defaults. */
  public static Dataset<Row> gram(Dataset<Row> df) {
    return gram(df, MultiplyOptions.defaults());
  }

  /**
   * {@code A^T A}, or {@code A^H A} of a complex A: half of it is computed and the whole is
   * returned, which is exactly symmetric or Hermitian. Otherwise as {@link #multiply(Dataset,
   * Dataset, MultiplyOptions)} of A with itself.
   *
   * @param df A, M x N blocks, real or complex
   * @param options without transposes and conjugates
   * @return N x N blocks
   */
  public static Dataset<Row> gram(Dataset<Row> df, MultiplyOptions options) {
    return OperatorCall.of(TableFunctions.MATRIX_GRAM, df, options);
  }

  /**
   * Finds the {@code k} nearest rows of B for each row of A. The scores come from the product
   * {@code A B^T}, which is never written: tasks reduce its tiles as they compute them. Memory does
   * not grow with the count of pairs.
   *
   * <p>Scores are computed in double, in the order of a vector's elements, even if the values are
   * FLOAT: neighbours and scores depend on neither backend nor tiling. Equal scores are ranked by
   * the neighbour's place. A score of NaN is ranked last; with {@link Metric#COSINE} the score of a
   * zero vector is NaN.
   *
   * <p>If A and B are the same frame, the nearest row of a row is usually itself.
   *
   * @param a M x K blocks of any real type and tiling; each row is a query
   * @param b N x K blocks of any real type and the same further columns, which distinguish several
   *     matrices; if one has numbers that FLOAT cannot represent, both are read as DOUBLE
   * @param k neighbours of each query, 1 or more; there are fewer if B has fewer rows
   * @return {@code query BIGINT, neighbour BIGINT, rank INT, score DOUBLE} and the further columns
   *     of {@code a}: rows of A and B by their places, ranks from 1. If A has ids (see {@link
   *     #fromRows}), {@code query_id} follows {@code query}; likewise {@code neighbour_id} if B has
   *     ids
   * @throws IllegalArgumentException if the two do not fit each other, or k is less than 1; the
   *     message says what was found
   */
  public static Dataset<Row> knn(Dataset<Row> a, Dataset<Row> b, int k, Metric metric) {
    return OperatorCall.of(TableFunctions.MATRIX_KNN, a, b, k, metric);
  }

  /**
   * Finds the pairs of a row of A and a row of B whose score is at least {@code threshold}; with
   * {@link Metric#EUCLIDEAN}, whose distance is at most {@code threshold}. As in {@link #knn},
   * tiles are reduced as they are computed, and scores are computed in double. Pairs with a score
   * of NaN are left out. If A and B are the same frame, each pair occurs twice, and each row is
   * paired with itself.
   *
   * @return {@code query BIGINT, neighbour BIGINT, score DOUBLE} and the further columns of {@code
   *     a}, with ids as in {@link #knn}
   * @throws IllegalArgumentException if the two do not fit each other, or the threshold is NaN; the
   *     message says what was found
   */
  public static Dataset<Row> pairsAbove(
      Dataset<Row> a, Dataset<Row> b, double threshold, Metric metric) {
    return OperatorCall.of(TableFunctions.MATRIX_PAIRS_ABOVE, a, b, threshold, metric);
  }

  /**
   * Finds for each row of A the row of B with the largest inner product: {@link #knn} with a k of
   * 1. Among equal products the first row wins. Unlike in numpy, a NaN wins only if all products
   * are NaN.
   */
  public static Dataset<Row> rowArgmax(Dataset<Row> a, Dataset<Row> b) {
    return OperatorCall.of(TableFunctions.MATRIX_ROW_ARGMAX, a, b);
  }

  /**
   * Each value times a number, computed in double and rounded once. Block by block, no shuffle;
   * further columns are carried through.
   *
   * @param df blocks of FLOAT or DOUBLE, real or complex
   */
  public static Dataset<Row> scale(Dataset<Row> df, double alpha) {
    return OperatorCall.of(TableFunctions.MATRIX_SCALE, df, alpha);
  }

  /**
   * The sum of two matrices of the same extents in any tilings. Each side is shuffled once, or not
   * at all if both are already partitioned in the same way. The result has the first one's columns
   * and metadata.
   *
   * <p>The result has the tiling of the first matrix if both have the same or the metadata states
   * the first one's; otherwise that of the second, if its metadata states it; otherwise blocks of
   * the shape of the first one's largest block. If neither states its tiling, one query over the
   * places of the blocks runs now.
   *
   * <p>An element that is in no block of a matrix, or in two, fails the query with an error that
   * names the block (for missing ones see {@link #add(Dataset, Dataset, Missing)}).
   *
   * @param a blocks of FLOAT or DOUBLE, real or complex
   * @param b blocks of the same type, with the same further columns
   * @throws IllegalArgumentException if the columns or the stated extents do not fit
   */
  public static Dataset<Row> add(Dataset<Row> a, Dataset<Row> b) {
    return add(a, b, Missing.ERROR);
  }

  /**
   * As {@link #add(Dataset, Dataset)}, with a choice for elements that are in no block of one
   * matrix or both: with {@link Missing#ZERO} they are zero, and the result has no holes.
   */
  public static Dataset<Row> add(Dataset<Row> a, Dataset<Row> b, Missing missing) {
    return OperatorCall.of(TableFunctions.MATRIX_ADD, a, b, missing);
  }

  /**
   * Computes each element from itself by an expression: {@code map(df, "sqrt(v) * 2 + 1")}. The
   * expression has the syntax of Spark SQL and the types and values of numpy; docs/elementwise.md
   * has the rules. In addition to {@code v} it may name the element's place in the matrix, row and
   * col. Block by block, no shuffle; further columns are carried through.
   *
   * @param df blocks of any type, real or complex
   * @return blocks of the expression's type. Truth values are TINYINT 0 and 1. A spectrum stays a
   *     spectrum if the result is floating-point
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, or the expression is not
   *     valid for their type; the message names the part that is wrong, and what helps
   */
  public static Dataset<Row> map(Dataset<Row> df, String expression) {
    return OperatorCall.of(TableFunctions.MATRIX_MAP, df, expression);
  }

  /**
   * As {@link #map(Dataset, String)}, with named numbers: {@code map(df, "v * scale",
   * Map.of("scale", 2.5))}. They act exactly like literals.
   *
   * @param scalars numbers by name; the expression must use each, and no name may be that of an
   *     element or a place
   */
  public static Dataset<Row> map(
      Dataset<Row> df, String expression, Map<String, ? extends Number> scalars) {
    return OperatorCall.of(TableFunctions.MATRIX_MAP, df, expression, scalars);
  }

  /** {@link #zip(Dataset, Dataset, String, Missing)} of matrices without missing blocks. */
  public static Dataset<Row> zip(Dataset<Row> a, Dataset<Row> b, String expression) {
    return zip(a, b, expression, Missing.ERROR);
  }

  /**
   * Computes each element from the elements {@code a} and {@code b} of two matrices at the same
   * place: {@code zip(a, b, "a * b - 0.5")}. Expressions are as in {@link #map}; the two matrices
   * may have different types. Tilings, missing and doubled blocks are treated as by {@link
   * #add(Dataset, Dataset, Missing) add}.
   *
   * <p>A matrix with extent 1 along an axis is broadcast along it, as in numpy: a row of 1 x N is
   * combined with each row of the other. If the metadata does not state the extents, one query over
   * the places of the blocks finds them now. A join brings each block the part that it needs.
   *
   * @param a blocks of any type, real or complex
   * @param b blocks of any type, with the same further columns
   * @param missing treatment of elements that are in no block of a matrix
   * @return blocks of the expression's type, with the columns of {@code a}; if one matrix is
   *     broadcast, with the columns of the other
   * @throws IllegalArgumentException if the columns, the extents or the expression do not fit
   */
  public static Dataset<Row> zip(
      Dataset<Row> a, Dataset<Row> b, String expression, Missing missing) {
    return OperatorCall.of(TableFunctions.MATRIX_ZIP, a, b, expression, missing);
  }

  /**
   * As {@link #zip(Dataset, Dataset, String, Missing)}, with numbers as {@link #map} takes them.
   */
  public static Dataset<Row> zip(
      Dataset<Row> a,
      Dataset<Row> b,
      String expression,
      Missing missing,
      Map<String, ? extends Number> scalars) {
    return OperatorCall.of(TableFunctions.MATRIX_ZIP, a, b, expression, missing, scalars);
  }

  /**
   * Subtracts from each column its mean. The blocks are read twice (cache them if they are
   * expensive to compute) and not shuffled: a first pass computes the means, which are broadcast,
   * 16 bytes for each column. Sums and means are computed in double with compensation, so a large
   * offset of the data costs no accuracy. NaN and infinity spread over their column, as in numpy.
   *
   * <p>Any tiling is accepted. A hole or an overlap fails the query. Further columns distinguish
   * matrices, each of which has its own means.
   *
   * @param df blocks of FLOAT or DOUBLE, real or complex
   */
  public static Dataset<Row> center(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_CENTER, df);
  }

  /**
   * The matrix in blocks of {@code rows} x {@code cols}, smaller at the far edges: every block is
   * cut along the target tiling, the pieces are shuffled once, and each target block is assembled.
   * Missing blocks are an error; see {@link #reblock(Dataset, int, int, Missing)}.
   *
   * @param df blocks of any tiling; further columns distinguish several matrices
   * @param rows rows of a full target block, 1 or more
   * @param cols columns of a full target block, 1 or more
   * @return blocks that begin at multiples of {@code rows} and {@code cols}. If the column metadata
   *     says that {@code df} has this tiling already, no values are shuffled; only each block's
   *     place is checked, and all places together if they can be read without computing {@code df}
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, a target block would have
   *     2 GiB or more, or a further column has no order (a MAP, a VARIANT, an INTERVAL)
   */
  public static Dataset<Row> reblock(Dataset<Row> df, int rows, int cols) {
    return reblock(df, rows, cols, Missing.ERROR);
  }

  /**
   * As {@link #reblock(Dataset, int, int)}, with a choice for missing blocks. Two blocks that hold
   * the same element are an error either way. Without stated extents the matrix ends with its last
   * blocks, which a small aggregate over the coordinate columns finds when the query runs.
   */
  public static Dataset<Row> reblock(Dataset<Row> df, int rows, int cols, Missing missing) {
    return OperatorCall.of(TableFunctions.MATRIX_REBLOCK, df, rows, cols, missing);
  }

  /** {@link #pad(Dataset, String, String, double)} with zeros. */
  public static Dataset<Row> pad(Dataset<Row> df, String widths) {
    return pad(df, widths, "constant");
  }

  /** {@link #pad(Dataset, String, String, double)} with the value 0, if the mode is constant. */
  public static Dataset<Row> pad(Dataset<Row> df, String widths, String mode) {
    return pad(df, widths, mode, 0);
  }

  /**
   * Adds elements before and after each axis, as numpy.pad, with one shuffle. The result has blocks
   * of the shape of the input's blocks, or of multiples of it if there are many small ones; an axis
   * along which blocks are whole stays whole, as long as blocks stay below 256 MiB. The result is
   * no longer a spectrum.
   *
   * <p>Extents are taken from the column metadata; if it states none, a small aggregate over the
   * coordinate columns runs now. Further columns distinguish several matrices of the same extents.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex, in any
   *     tiling
   * @param widths elements before and after each axis, {@code "2,3; 0,1"}; {@code "2,3"} before and
   *     after all axes; {@code "2"} on all sides
   * @param mode constant, edge, reflect, symmetric or wrap
   * @param value value of the added elements, if the mode is constant; for complex elements the
   *     real part
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, the widths or the mode are
   *     not valid, or the elements' type cannot represent the value
   */
  public static Dataset<Row> pad(Dataset<Row> df, String widths, String mode, double value) {
    return OperatorCall.of(TableFunctions.MATRIX_PAD, df, widths, mode, value);
  }

  /**
   * Removes the given numbers of elements at the start and end of each axis; as {@link #slice} with
   * {@code before:-after} for each.
   *
   * @param widths numbers of removed elements, in the syntax of {@link #pad}: {@code "2,3; 0,1"}
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, the widths are not valid,
   *     or no element is left along an axis
   */
  public static Dataset<Row> crop(Dataset<Row> df, String widths) {
    return OperatorCall.of(TableFunctions.MATRIX_CROP, df, widths);
  }

  /**
   * Moves each element cyclically along the axes, as numpy.roll, with one shuffle; none if nothing
   * moves. Otherwise as {@link #pad(Dataset, String, String, double)}.
   *
   * @param shift places along each axis, {@code "1,-2"}; below 0 towards its start
   */
  public static Dataset<Row> roll(Dataset<Row> df, String shift) {
    return OperatorCall.of(TableFunctions.MATRIX_ROLL, df, shift);
  }

  /** {@link #fromRows(Dataset, String, RowOptions)} with all defaults. */
  public static Dataset<Row> fromRows(Dataset<Row> df, String columns) {
    return fromRows(df, columns, RowOptions.defaults());
  }

  /**
   * {@link #fromRows(Dataset, List, RowOptions)} of one column, or of several separated by commas.
   */
  public static Dataset<Row> fromRows(Dataset<Row> df, String columns, RowOptions options) {
    return OperatorCall.of(TableFunctions.MATRIX_FROM_ROWS, df, columns, options);
  }

  /** {@link #fromRows(Dataset, List, RowOptions)} with all defaults. */
  public static Dataset<Row> fromRows(Dataset<Row> df, List<String> columns) {
    return fromRows(df, columns, RowOptions.defaults());
  }

  /**
   * The matrix whose rows are the vectors of a table. Rows of a partition become strips of about 8
   * MiB, each whole along the columns of the matrix, by one copy of each vector; nothing is
   * shuffled.
   *
   * <p>Row {@code i} of the matrix is row {@code i} of the table, in the order in which Spark reads
   * it. A first pass counts the rows of each partition. Files, cached tables and local tables have
   * a fixed order, which operators that work row by row keep. Any other table, such as the result
   * of a join, is refused unless {@code orderBy} or {@code id} names columns that order it. It is
   * then sorted by these columns, which shuffles it, and no two rows may be equal in them. A table
   * whose rows may change from run to run, as after a limit or a filter by a random function, is
   * refused until it is persisted.
   *
   * <p>With {@code id} the blocks have a further column {@code ids}, an array of the ids of the
   * block's rows. Operators on blocks drop it.
   *
   * @param columns one column of ARRAY of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, or of
   *     Vectors of spark.ml or spark.mllib, which become DOUBLE; or columns of numbers, which get
   *     numpy's common type
   * @return blocks without further columns other than {@code ids}. Their extents are stated if the
   *     table is cheap to count
   * @throws IllegalArgumentException if a column is missing or of another type, the table has no
   *     rows or no order; also when the query runs, if the options reject a row
   */
  public static Dataset<Row> fromRows(Dataset<Row> df, List<String> columns, RowOptions options) {
    return OperatorCall.of(TableFunctions.MATRIX_FROM_ROWS, df, columns, options);
  }

  /**
   * One row for each row of a matrix: {@code row BIGINT}, further columns, the id if the blocks
   * have ids, and the row's elements as an array. Nothing is shuffled if each block has whole rows;
   * otherwise the blocks are re-blocked first.
   *
   * <p>If the column metadata states the extents but not the tiling, and the places cannot be read
   * without computing the blocks, the blocks are assumed to have whole rows. A block that has not
   * fails the query, with the advice to re-block first.
   *
   * @param df blocks of one real number type, in any tiling
   * @param column name of the column of arrays
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, or already has a column of
   *     that name
   */
  public static Dataset<Row> toRows(Dataset<Row> df, String column) {
    return OperatorCall.of(TableFunctions.MATRIX_TO_ROWS, df, column);
  }

  /**
   * The ids of the rows of a matrix: {@code row BIGINT}, and the id under the name of its column.
   * Other operators drop the ids; a join on {@code row} brings them back: {@code toRows(result,
   * "features").join(rowIds(m), "row")}.
   *
   * @param df a result of {@link #fromRows} with an id
   * @throws IllegalArgumentException if {@code df} has no ids
   */
  public static Dataset<Row> rowIds(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_ROW_IDS, df);
  }

  /** {@link #fromCells(Dataset, int, int, Missing)} with zeros for elements that no row has. */
  public static Dataset<Row> fromCells(Dataset<Row> df, int rows, int cols) {
    return fromCells(df, rows, cols, Missing.ZERO);
  }

  /**
   * The matrix whose elements are the rows of a table, in blocks of {@code rows} x {@code cols}.
   * Each element is shuffled once, as a separate block; two elements for one place are an error.
   * The matrix ends with its last elements.
   *
   * @param df {@code row BIGINT, col BIGINT, value T}, where T is a number type that blocks can
   *     hold; further columns distinguish several matrices
   * @param missing treatment of elements that no row has
   * @throws IllegalArgumentException if a column is missing or of another type, a block would have
   *     2 GiB or more, or a further column has no order
   */
  public static Dataset<Row> fromCells(Dataset<Row> df, int rows, int cols, Missing missing) {
    return OperatorCall.of(TableFunctions.MATRIX_FROM_CELLS, df, rows, cols, missing);
  }

  /**
   * One row for each element of a matrix: {@code row BIGINT, col BIGINT}, further columns, {@code
   * value T}. No shuffle.
   *
   * @param df blocks of one real number type, in any tiling
   */
  public static Dataset<Row> toCells(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_TO_CELLS, df);
  }

  /**
   * Arranges the elements of the matrix, in row-major order, in another shape, as numpy.reshape:
   * two extents give a matrix, three a volume. A vector is a matrix of one row or column.
   *
   * <p>The matrix is cut so that each block is also a block of the other shape, with one shuffle,
   * or none if its blocks are so already: for example, blocks of a volume that are whole along y,
   * or have extent 1 along x, are blocks of the matrix {@code (nx * ny, nz)}. If no blocks of a
   * useful size fit both shapes, the matrix becomes a vector in between, with one further shuffle.
   * Extents are found as by {@link #pad(Dataset, String, String, double)}. The result is no longer
   * a spectrum.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex, in any
   *     tiling; further columns distinguish several matrices of the same extents
   * @param shape two or three extents, {@code "20,6"}; one may be -1, which is then computed from
   *     the others
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, the shape has another
   *     count of elements, or a further column has the name of one of the result's block columns
   */
  public static Dataset<Row> reshape(Dataset<Row> df, String shape) {
    return OperatorCall.of(TableFunctions.MATRIX_RESHAPE, df, shape);
  }

  /** {@link #halo(Dataset, String, String)} with zeros beyond the matrix. */
  public static Dataset<Row> halo(Dataset<Row> df, String widths) {
    return halo(df, widths, "constant");
  }

  /**
   * Adds to each block a halo of its neighbours' elements, as stencils and deconvolution need, with
   * one shuffle. Places and sizes include the halo: {@code row}, {@code col} is the place of the
   * first element of the halo, and may be negative. Beyond the matrix, {@code edge} determines the
   * halo's elements; with {@code "none"} blocks end at the matrix's end. A halo may be wider than a
   * block, except with the edge {@code "none"}.
   *
   * <p>{@link #map}, {@link #scale}, the caller's own functions of a block, and caches and tables
   * of Spark accept these blocks. All other operators refuse them, since blocks that overlap are no
   * matrix. {@link #trim(Dataset)} removes the halo; column metadata of places and values states
   * its width.
   *
   * <p>Without their halos, blocks have the tiling of {@code df}. Extents are found as by {@link
   * #pad(Dataset, String, String, double)}.
   *
   * @param df blocks of TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, real or complex, in any
   *     tiling
   * @param widths elements on both sides of each axis, {@code "1,2"}; before and after each, {@code
   *     "1,2; 0,1"}; {@code "2"} on all sides
   * @param edge constant (zeros), edge, reflect, symmetric, wrap or none
   * @throws IllegalArgumentException if {@code df} has no matrix blocks, or the widths or the edge
   *     are not valid
   */
  public static Dataset<Row> halo(Dataset<Row> df, String widths, String edge) {
    return OperatorCall.of(TableFunctions.MATRIX_HALO, df, widths, edge);
  }

  /**
   * Removes the halo that {@link #halo(Dataset, String, String)} added. No shuffle; further columns
   * are carried through. The matrix has the extents that it had before the halo.
   *
   * @param df blocks of any element type; {@code values} may have changed since {@code halo}, but
   *     not their number
   * @throws IllegalArgumentException if no column metadata says that the blocks have a halo; it is
   *     lost if places are computed again, see {@link #trim(Dataset, String)}
   */
  public static Dataset<Row> trim(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_TRIM, df);
  }

  /**
   * As {@link #trim(Dataset)}, for blocks whose column metadata was lost, as by {@code map} of a
   * typed Dataset.
   *
   * @param widths the widths that {@code halo} was given; its edge must not have been {@code
   *     "none"}
   */
  public static Dataset<Row> trim(Dataset<Row> df, String widths) {
    return OperatorCall.of(TableFunctions.MATRIX_TRIM, df, widths);
  }

  /**
   * The sum of the elements, in BIGINT for integers and truth values. Floating-point numbers are
   * summed in double, pairwise. One row for each matrix: its further columns, then {@code value}.
   *
   * <p>Each block is reduced in its task; the blocks' results are merged in the order of their
   * places, so that results have equal bits however the blocks are partitioned. A hole or an
   * overlap fails the query. Further columns distinguish several matrices, which must have one
   * size.
   *
   * @param df blocks of any type, real or complex
   */
  public static Dataset<Row> sum(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_SUM, df);
  }

  /**
   * As {@link #sum(Dataset)}, along some axes: the result is blocks of extent 1 along them, as
   * numpy's with {@code keepdims}.
   *
   * @param axis row or col, 0 or 1, or both: {@code "row,col"}; -1 is the last axis
   */
  public static Dataset<Row> sum(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_SUM, df, axis);
  }

  /**
   * The mean of the elements, in DOUBLE for integers and truth values. One row for each matrix: its
   * further columns, then {@code value}.
   *
   * @param df blocks of any type, real or complex
   */
  public static Dataset<Row> mean(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_MEAN, df);
  }

  /** {@link #mean(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> mean(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_MEAN, df, axis);
  }

  /**
   * The least element; NaN if any element is NaN. One row for each matrix: its further columns,
   * then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> min(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_MIN, df);
  }

  /** {@link #min(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> min(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_MIN, df, axis);
  }

  /**
   * The greatest element; NaN if any element is NaN. One row for each matrix: its further columns,
   * then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> max(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_MAX, df);
  }

  /** {@link #max(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> max(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_MAX, df, axis);
  }

  /**
   * The greatest element minus the least; NaN if any element is NaN. One row for each matrix: its
   * further columns, then {@code value}.
   *
   * @param df blocks of any type, real; differences of integers wrap
   */
  public static Dataset<Row> ptp(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_PTP, df);
  }

  /** {@link #ptp(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> ptp(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_PTP, df, axis);
  }

  /**
   * The place of the first least element, or of the first NaN: a BIGINT, which counts in row-major
   * order along several axes. One row for each matrix: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> argmin(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_ARGMIN, df);
  }

  /** {@link #argmin(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> argmin(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_ARGMIN, df, axis);
  }

  /**
   * The place of the first greatest element, or of the first NaN: a BIGINT, which counts in
   * row-major order along several axes. One row for each matrix: its further columns, then {@code
   * value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> argmax(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_ARGMAX, df);
  }

  /** {@link #argmax(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> argmax(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_ARGMAX, df, axis);
  }

  /**
   * The variance of the elements, in DOUBLE for integers and truth values: one pass, and accurate
   * if the mean is large. One row for each matrix: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> var(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_VAR, df);
  }

  /** {@link #var(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> var(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_VAR, df, axis);
  }

  /**
   * As {@link #var(Dataset, String)}, with another divisor.
   *
   * @param ddof number that is subtracted from the count of elements before the division by it; 0
   *     in the other methods
   */
  public static Dataset<Row> var(Dataset<Row> df, String axis, double ddof) {
    return OperatorCall.of(TableFunctions.MATRIX_VAR, df, axis, ddof);
  }

  /**
   * The standard deviation of the elements, in DOUBLE for integers and truth values. One row for
   * each matrix: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> std(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_STD, df);
  }

  /** {@link #std(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> std(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_STD, df, axis);
  }

  /**
   * {@link #std(Dataset, String)} with another divisor, as {@link #var(Dataset, String, double)}.
   */
  public static Dataset<Row> std(Dataset<Row> df, String axis, double ddof) {
    return OperatorCall.of(TableFunctions.MATRIX_STD, df, axis, ddof);
  }

  /**
   * The norm of the elements: the root of the sum of the squares of their absolute values. One row
   * for each matrix: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real or complex
   */
  public static Dataset<Row> norm(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_NORM, df);
  }

  /** {@link #norm(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> norm(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_NORM, df, axis);
  }

  /**
   * As {@link #norm(Dataset, String)}, with one of numpy's other norms.
   *
   * @param ord along one axis 1 (sum of absolute values), 2 or inf (greatest absolute value); along
   *     two axes fro, 1 (greatest sum along the first of them), inf (along the second), 2 (largest
   *     singular value) or nuc (sum of these), the last two as {@link #svdvals}
   */
  public static Dataset<Row> norm(Dataset<Row> df, String axis, String ord) {
    return OperatorCall.of(TableFunctions.MATRIX_NORM, df, axis, ord);
  }

  /**
   * The number of elements that are not zero, a BIGINT; NaN is not zero. One row for each matrix:
   * its further columns, then {@code value}.
   *
   * @param df blocks of any type, real or complex
   */
  public static Dataset<Row> countNonzero(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_COUNT_NONZERO, df);
  }

  /** {@link #countNonzero(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> countNonzero(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_COUNT_NONZERO, df, axis);
  }

  /**
   * Whether an element is not zero: TINYINT 0 or 1, a truth value. NaN is not zero. One row for
   * each matrix: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> any(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_ANY, df);
  }

  /** {@link #any(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> any(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_ANY, df, axis);
  }

  /**
   * Whether no element is zero: TINYINT 0 or 1, a truth value. NaN is not zero. One row for each
   * matrix: its further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> all(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_ALL, df);
  }

  /** {@link #all(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> all(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_ALL, df, axis);
  }

  /**
   * The sum of the elements that are not NaN; 0 if all are NaN. One row for each matrix: its
   * further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> nansum(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_NANSUM, df);
  }

  /** {@link #nansum(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> nansum(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_NANSUM, df, axis);
  }

  /**
   * The mean of the elements that are not NaN; NaN if all are NaN. One row for each matrix: its
   * further columns, then {@code value}.
   *
   * @param df blocks of any type, real
   */
  public static Dataset<Row> nanmean(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_NANMEAN, df);
  }

  /** {@link #nanmean(Dataset)} along some axes, as {@link #sum(Dataset, String)}. */
  public static Dataset<Row> nanmean(Dataset<Row> df, String axis) {
    return OperatorCall.of(TableFunctions.MATRIX_NANMEAN, df, axis);
  }

  /**
   * The sum of the elements whose row number equals their column number: one row for each matrix,
   * its further columns, then {@code value}.
   *
   * @param df blocks of any type, real or complex
   */
  public static Dataset<Row> trace(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_TRACE, df);
  }

  /**
   * The elements whose row number equals their column number, as a matrix of one column.
   *
   * @param df blocks of any type, real or complex
   */
  public static Dataset<Row> diag(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_DIAG, df);
  }

  /**
   * Subtracts from each column its mean, and divides it by its standard deviation (that of {@link
   * #std(Dataset, String)}). A constant column becomes 0, as with scikit-learn.
   *
   * @param df blocks of FLOAT or DOUBLE, real
   */
  public static Dataset<Row> standardize(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_STANDARDIZE, df);
  }

  /**
   * The covariances of the columns, with the divisor rows - 1. For covariances of the rows,
   * transpose the matrix. Values are read once if each block is known to have all columns, as those
   * of {@link #fromRows}, and there are at most 512 columns.
   *
   * @param df blocks of FLOAT or DOUBLE, real; M x N
   * @return N x N blocks
   */
  public static Dataset<Row> cov(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_COV, df);
  }

  /**
   * As {@link #cov(Dataset)}, with another divisor.
   *
   * @param ddof number that is subtracted from the count of rows before the division by it; 1 in
   *     {@link #cov(Dataset)}
   */
  public static Dataset<Row> cov(Dataset<Row> df, double ddof) {
    return OperatorCall.of(TableFunctions.MATRIX_COV, df, ddof);
  }

  /**
   * The correlations of the columns; NaN for constant ones. For correlations of the rows, transpose
   * the matrix.
   *
   * @param df blocks of FLOAT or DOUBLE, real; M x N
   * @return N x N blocks
   */
  public static Dataset<Row> corrcoef(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_CORRCOEF, df);
  }

  /**
   * The blocks of one factor, from the table of an operator that gives several factors, as {@code
   * matrix_svd}. They are the rows with its name in the column {@code factor}, without that column
   * and with the factor's extents stated. {@link #svd} and similar methods call it.
   *
   * @param df a table with a column {@code factor}
   * @param factor the factor's name, as {@code "u"}
   * @throws IllegalArgumentException if there is no factor of this name
   */
  public static Dataset<Row> factor(Dataset<Row> df, String factor) {
    return OperatorCall.of(TableFunctions.MATRIX_FACTOR, df, factor);
  }

  /**
   * The lower triangle L of the Cholesky factorisation {@code L L^T} of a symmetric, positive
   * definite matrix. Only the elements on and below the matrix's diagonal are read.
   *
   * <p>This and the other factorisations compute in double, and give FLOAT if the values are FLOAT,
   * otherwise DOUBLE. Each matrix becomes one block of at most 2 GiB, unless said otherwise. NaN
   * and infinity are errors that name the element. Further columns distinguish several matrices of
   * one size.
   *
   * @param df N x N blocks of any type, real
   * @return N x N blocks, each matrix in one block
   * @throws IllegalArgumentException if the matrix is not square or too large; when the query runs,
   *     if it is not positive definite
   * @throws UnsupportedOperationException if the blocks are complex
   */
  public static Dataset<Row> cholesky(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_CHOLESKY, df);
  }

  /**
   * The eigenvalues and eigenvectors of a symmetric matrix, of which only the elements on and below
   * the diagonal are read. Otherwise as {@link #cholesky}.
   *
   * @param df N x N blocks of any type, real
   */
  public static Eigh eigh(Dataset<Row> df) {
    return Eigh.of(OperatorCall.of(TableFunctions.MATRIX_EIGH, df));
  }

  /**
   * As {@link #eigh(Dataset)}, only the largest eigenvalues.
   *
   * @param k number of eigenvalues, 1 to N
   */
  public static Eigh eigh(Dataset<Row> df, long k) {
    return Eigh.of(OperatorCall.of(TableFunctions.MATRIX_EIGH, df, k));
  }

  /** The eigenvalues of {@link #eigh(Dataset)}, ascending: N x 1. */
  public static Dataset<Row> eigvalsh(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_EIGVALSH, df);
  }

  /**
   * The factors Q, with orthonormal columns, and R, upper triangular, whose product is the matrix.
   * Otherwise as {@link #cholesky}.
   *
   * @param df M x N blocks of any type, real
   */
  public static Qr qr(Dataset<Row> df) {
    return Qr.of(OperatorCall.of(TableFunctions.MATRIX_QR, df));
  }

  /**
   * The thin singular value decomposition. Otherwise as {@link #cholesky}.
   *
   * @param df M x N blocks of any type, real
   */
  public static Svd svd(Dataset<Row> df) {
    return Svd.of(OperatorCall.of(TableFunctions.MATRIX_SVD, df));
  }

  /**
   * The {@code k} largest singular values and their vectors. If the shorter side is above 512 and
   * {@code k + 10} is at most a quarter of it, a randomized method finds them; its error is small
   * if the singular values after the k-th are small relative to it. SQL's {@code matrix_svd} has
   * options for this method. Otherwise as {@link #cholesky}.
   *
   * @param df M x N blocks of any type, real
   * @param k number of singular values, 1 up to the shorter side
   */
  public static Svd svd(Dataset<Row> df, long k) {
    return Svd.of(OperatorCall.of(TableFunctions.MATRIX_SVD, df, k));
  }

  /**
   * Principal components of a matrix whose columns are variables. {@link #pca(Dataset, long,
   * boolean)} without whitening.
   */
  public static Pca pca(Dataset<Row> df, long k) {
    return pca(df, k, false);
  }

  /**
   * Principal components of a matrix whose columns are variables. {@link #pca(Dataset, long,
   * boolean, String)} of a matrix without NaN.
   */
  public static Pca pca(Dataset<Row> df, long k, boolean whiten) {
    return pca(df, k, whiten, "error");
  }

  /**
   * Principal components of a matrix whose columns are variables. As {@link #cholesky} otherwise.
   *
   * @param df M x N blocks of any type, real, two rows or more
   * @param k number of components, 1 up to the shorter side
   * @param whiten true for scores whose variances are 1
   * @param nan {@code "mean"} if NaN stands for the mean of its column, {@code "error"} if it is an
   *     error
   */
  public static Pca pca(Dataset<Row> df, long k, boolean whiten, String nan) {
    return Pca.of(OperatorCall.of(TableFunctions.MATRIX_PCA, df, k, Boolean.toString(whiten), nan));
  }

  /**
   * The singular values, descending. Otherwise as {@link #cholesky}.
   *
   * @param df M x N blocks of any type, real
   * @return min(M, N) x 1 blocks
   */
  public static Dataset<Row> svdvals(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_SVDVALS, df);
  }

  /** {@link #solve(Dataset, Dataset, Assume)} without assumptions about the matrix. */
  public static Dataset<Row> solve(Dataset<Row> a, Dataset<Row> b) {
    return solve(a, b, Assume.GENERAL);
  }

  /**
   * The solution X of A X = B. A becomes one block, of at most 2 GiB; a large B is cut into strips
   * of columns, to which A's factor is broadcast. One of A and B may have no further columns: it is
   * then combined with each matrix of the other. Otherwise as {@link #cholesky}.
   *
   * @param a N x N blocks of any type, real
   * @param b N x P blocks of any type, real
   * @return N x P blocks
   * @throws IllegalArgumentException if the two do not fit each other; when the query runs, if A is
   *     singular, or not positive definite if that is assumed
   */
  public static Dataset<Row> solve(Dataset<Row> a, Dataset<Row> b, Assume assume) {
    return OperatorCall.of(TableFunctions.MATRIX_SOLVE, a, b, assume);
  }

  /**
   * The least-squares solution of A X = B: the X of least norm among those that minimise the norm
   * of B - A X. A singular value counts as zero if its ratio to the largest one is at most the
   * larger extent of A times the epsilon of its type. Otherwise as {@link #cholesky}.
   *
   * @param a M x N blocks of any type, real
   * @param b M x P blocks of any type, real, with the same further columns
   */
  public static Lstsq lstsq(Dataset<Row> a, Dataset<Row> b) {
    return Lstsq.of(OperatorCall.of(TableFunctions.MATRIX_LSTSQ, a, b));
  }

  /**
   * As {@link #lstsq(Dataset, Dataset)}, with another limit for singular values that count as zero.
   *
   * @param rcond ratio to the largest singular value up to which a singular value counts as zero
   */
  public static Lstsq lstsq(Dataset<Row> a, Dataset<Row> b, double rcond) {
    return Lstsq.of(OperatorCall.of(TableFunctions.MATRIX_LSTSQ, a, b, rcond));
  }

  /**
   * The Moore-Penrose inverse. A singular value counts as zero as in {@link #lstsq}. Otherwise as
   * {@link #cholesky}.
   *
   * @param df M x N blocks of any type, real
   * @return N x M blocks
   */
  public static Dataset<Row> pinv(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_PINV, df);
  }

  /**
   * As {@link #pinv(Dataset)}, with a limit {@code rcond} as in {@link #lstsq(Dataset, Dataset,
   * double)}.
   */
  public static Dataset<Row> pinv(Dataset<Row> df, double rcond) {
    return OperatorCall.of(TableFunctions.MATRIX_PINV, df, rcond);
  }

  /**
   * The sign of the determinant, and the natural logarithm of its absolute value: 0 and -infinity
   * for a singular matrix. Otherwise as {@link #cholesky}.
   *
   * @param df N x N blocks of any type, real
   * @return one row for each matrix: its further columns, then {@code sign DOUBLE, logabsdet
   *     DOUBLE}
   */
  public static Dataset<Row> slogdet(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_SLOGDET, df);
  }

  /**
   * The count of singular values that do not count as zero, as in {@link #lstsq}: one row for each
   * matrix, its further columns, then {@code value BIGINT}. Otherwise as {@link #cholesky}.
   *
   * @param df M x N blocks of any type, real
   */
  public static Dataset<Row> rank(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_RANK, df);
  }

  /**
   * As {@link #rank(Dataset)}, with another limit for singular values that count as zero.
   *
   * @param tol limit up to which a singular value counts as zero
   */
  public static Dataset<Row> rank(Dataset<Row> df, double tol) {
    return OperatorCall.of(TableFunctions.MATRIX_RANK, df, tol);
  }

  /**
   * Lists all defects of the blocks, as a check before a long job: wrong lengths, nulls, places
   * outside the stated extents, overlaps and holes. Values are not moved between executors.
   *
   * @param df blocks; further columns distinguish several arrays
   * @return {@code code, block, found, expected}, all STRING; lazy; no rows if the data is good.
   *     The codes are listed at {@link BlockValidator}
   */
  public static Dataset<Row> validate(Dataset<Row> df) {
    return OperatorCall.of(TableFunctions.MATRIX_VALIDATE, df);
  }

  /**
   * These blocks with the extents of the whole matrix stated as column metadata, in place of those
   * stated before.
   *
   * @param rows rows of the whole matrix
   * @param cols columns of the whole matrix
   */
  public static Dataset<Row> withExtents(Dataset<Row> df, long rows, long cols) {
    return OperatorCall.of(TableFunctions.MATRIX_WITH_EXTENTS, df, List.of(rows, cols));
  }

  /**
   * These blocks without stated extents, for frames whose stated extents are wrong after a union or
   * filter.
   */
  public static Dataset<Row> withoutExtents(Dataset<Row> df) {
    Require.given(df, "MatrixBlocks.withoutExtents", "df");
    return OperatorCall.of(TableFunctions.MATRIX_WITH_EXTENTS, df, ArrayMetadata.UNKNOWN);
  }
}
