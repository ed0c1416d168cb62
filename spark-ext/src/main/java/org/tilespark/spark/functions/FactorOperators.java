package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;
import static org.tilespark.spark.options.Parameter.found;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.linalg.FactorPlans;
import org.tilespark.spark.linalg.FactorTable;
import org.tilespark.spark.linalg.PrincipalPlans;
import org.tilespark.spark.linalg.RangeOptions;
import org.tilespark.spark.options.Assume;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;

/** Declarations of factorisations of matrices, and of operators that are computed by them. */
final class FactorOperators {
  private static final String ONE_BLOCK =
      "each element once, to one task for each matrix; none where a matrix is one block already";
  private static final String STRIPS =
      "of a tall or wide matrix its blocks to strips, and a triangle from each; else each element"
          + " once, to one task";
  private static final String KINDS =
      " Computed in double, of real values of any type; the result is FLOAT where they are, else"
          + " DOUBLE.";

  private static final Parameter<String> NAME =
      Parameter.required(
          "factor", Type.text((what, text) -> text.strip()), "name of the factor, as 'q'");

  private static final Parameter<Long> COUNT =
      found("k", Type.WHOLE, "all", "how many eigenvalues, the largest ones");
  private static final Parameter<Long> VALUES =
      found("k", Type.WHOLE, "all", "how many singular values, the largest ones");
  private static final Parameter<Long> STEPS =
      Parameter.optional(
          "powerSteps",
          Type.WHOLE,
          (long) RangeOptions.STEPS,
          "power steps of the randomized method, each of which reads a twice: more are more exact");
  private static final Parameter<Long> OVERSAMPLING =
      Parameter.optional(
          "oversampling",
          Type.WHOLE,
          (long) RangeOptions.OVERSAMPLING,
          "random vectors of the randomized method beyond k");
  private static final Parameter<Long> SEED =
      Parameter.optional("seed", Type.WHOLE, 0L, "seed of these vectors");
  private static final Parameter<Long> COMPONENTS =
      Parameter.required("k", Type.WHOLE, "how many components");
  private static final Parameter<String> WHITEN =
      Parameter.optional("whiten", Type.FLAG, "false", "true for scores of variance 1");
  private static final Parameter<String> NANS =
      Parameter.optional(
          "nan", Type.word("error", "mean"), "error", "'mean' takes NaN for its column's mean");
  private static final Parameter<String> MODE =
      Parameter.optional(
          "mode",
          Type.text(FactorOperators::mode),
          "reduced",
          "'reduced' gives both factors; 'r' gives R alone, without the column factor");
  private static final Parameter<Assume> ASSUME =
      Parameter.optional(
          "assume",
          Type.text(Assume::parse),
          Assume.GENERAL,
          "'general' solves by LU; 'positive definite' by Cholesky, of a symmetric a that is read"
              + " up to its diagonal");
  private static final Parameter<Double> RCOND =
      found(
          "rcond",
          Type.NUMBER,
          "the larger extent of a times the epsilon of its type",
          "ratio to the largest singular value up to which a singular value counts as zero");
  private static final Parameter<Double> TOL =
      found("tol", Type.NUMBER, "as rtol says", "singular values up to it count as zero");
  private static final Parameter<Double> RTOL =
      found(
          "rtol",
          Type.NUMBER,
          "the larger extent times the epsilon of the type",
          "as tol, as a ratio to the largest singular value");

  static final Operator FACTOR =
      new Operator(
          "(m, factor)",
          "The blocks of one factor, from the table of an operator that gives several: those of its"
              + " name in the column factor, with the factor's extents stated.",
          "none",
          List.of(blocks("input", MATRIX), NAME),
          call -> FactorTable.factor(call.table("input"), call.get(NAME), call.operator()));

  static final Operator CHOLESKY =
      new Operator(
          "(m)",
          "The lower triangle L of the Cholesky factorisation L L^T of a symmetric, positive"
              + " definite matrix, as numpy.linalg.cholesky. The matrix is read up to its diagonal."
              + KINDS
              + Operator.APART,
          ONE_BLOCK,
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call -> plans(call).cholesky());

  static final Operator EIGH =
      new Operator(
          "(m[, k])",
          "The eigenvalues and eigenvectors of a symmetric matrix, as numpy.linalg.eigh: factor"
              + " 'values', ascending, is a column, factor 'vectors' has an eigenvector in each"
              + " column. The matrix is read up to its diagonal."
              + KINDS
              + Operator.APART,
          ONE_BLOCK,
          List.of(blocks("a", MATRIX), COUNT, extents(MATRIX)),
          call -> plans(call).eigh(call.find(COUNT)));

  static final Operator EIGVALSH =
      new Operator(
          "(m)",
          "The eigenvalues of a symmetric matrix, ascending, as a column, as numpy.linalg.eigvalsh."
              + " The matrix is read up to its diagonal."
              + KINDS
              + Operator.APART,
          ONE_BLOCK,
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call -> plans(call).eigvalsh());

  static final Operator QR =
      new Operator(
          "(m)",
          "The factors Q, with orthonormal columns, and R, upper triangular, whose product the"
              + " matrix is: factors 'q' and 'r', as numpy.linalg.qr."
              + KINDS
              + Operator.APART,
          ONE_BLOCK,
          List.of(blocks("a", MATRIX), MODE, extents(MATRIX)),
          call -> call.get(MODE).equals("r") ? plans(call).r() : plans(call).qr());

  static final Operator SVD =
      new Operator(
          "(m[, k])",
          "The singular value decomposition, as numpy.linalg.svd without full matrices: factors"
              + " 'u', with orthonormal columns, 's', the singular values, descending, as a column,"
              + " and 'vt', with orthonormal rows. The matrix is u times diag(s) times vt. With k"
              + " the k largest singular values and their vectors; where the shorter side is above "
              + FactorPlans.MOST_EXACT
              + " and k + 10 at most a quarter of it, by a randomized method."
              + KINDS
              + Operator.APART,
          STRIPS,
          List.of(blocks("a", MATRIX), VALUES, STEPS, OVERSAMPLING, SEED, extents(MATRIX)),
          call ->
              svd(call)); // a lambda and no method reference, which would load classes that clients
  // of Spark Connect lack

  static final Operator SVDVALS =
      new Operator(
          "(m)",
          "The singular values, descending, as a column, as numpy.linalg.svdvals."
              + KINDS
              + Operator.APART,
          ONE_BLOCK,
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call -> plans(call).svdvals());

  static final Operator SOLVE =
      new Operator(
          "(a, b[, assume])",
          "The matrix X of a X = b, as scipy.linalg.solve. Without further columns b is solved with"
              + " each of several a, and a with each of several b."
              + KINDS
              + Operator.APART,
          "a to one task, its factor to the strips of columns that b is cut into",
          List.of(
              blocks("a", MATRIX),
              blocks("b", MATRIX),
              ASSUME,
              extents("extentsA", MATRIX, "all of a"),
              extents("extentsB", MATRIX, "all of b")),
          call -> a(call).solve(b(call), call.get(ASSUME)));

  static final Operator LSTSQ =
      new Operator(
          "(a, b[, rcond])",
          "The least-squares solutions of a X = b, of least norm where there are several, as"
              + " numpy.linalg.lstsq: factor 'x'; 'residuals', the sums of the squares of b - a x,"
              + " a row for each column of b, whatever the rank; 'rank', one element; 's', the"
              + " singular values of a as a column."
              + KINDS
              + Operator.APART,
          ONE_BLOCK,
          List.of(
              blocks("a", MATRIX),
              blocks("b", MATRIX),
              RCOND,
              extents("extentsA", MATRIX, "all of a"),
              extents("extentsB", MATRIX, "all of b")),
          call -> a(call).lstsq(b(call), call.find(RCOND)));

  static final Operator PINV =
      new Operator(
          "(m[, rcond])",
          "The Moore-Penrose inverse, as scipy.linalg.pinv." + KINDS + Operator.APART,
          ONE_BLOCK,
          List.of(blocks("a", MATRIX), RCOND, extents(MATRIX)),
          call -> plans(call).pinv(call.find(RCOND)));

  static final Operator SLOGDET =
      new Operator(
          "(m)",
          "The sign of the determinant (0 of a singular matrix) and the natural logarithm of its"
              + " absolute value, as numpy.linalg.slogdet: a row for each matrix with the columns"
              + " sign and logabsdet, both DOUBLE."
              + Operator.APART,
          ONE_BLOCK,
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call -> plans(call).slogdet());

  static final Operator RANK =
      new Operator(
          "(m[, tol])",
          "The count of singular values above a tolerance, as numpy.linalg.matrix_rank: a row for"
              + " each matrix, with the column value, a BIGINT."
              + Operator.APART,
          ONE_BLOCK,
          List.of(blocks("a", MATRIX), TOL, RTOL, extents(MATRIX)),
          call -> plans(call).rank(call.find(TOL), call.find(RTOL)));

  static final Operator PCA =
      new Operator(
          "(m, k[, whiten[, nan]])",
          "Principal components of a matrix whose columns are variables, as scikit-learn's PCA:"
              + " factors 'components', k x columns, of which the largest element of each row is"
              + " positive; 'singular_values' of the centred matrix; 'explained_variance', with the"
              + " divisor rows - 1; 'explained_variance_ratio', of the variance of all columns;"
              + " 'mean', 1 x columns; and 'scores', rows x k, the centred matrix times the"
              + " components."
              + KINDS
              + Operator.APART,
          "of up to 512 columns its blocks to strips, and a triangle from each; of more what"
              + " matrix_gram moves",
          List.of(blocks("a", MATRIX), COMPONENTS, WHITEN, NANS, extents(MATRIX)),
          call ->
              PrincipalPlans.components(
                  call.blocks(MATRIX),
                  new PrincipalPlans.Request(
                      call.get(COMPONENTS),
                      Boolean.parseBoolean(call.get(WHITEN)),
                      call.get(NANS).equals("mean"),
                      call.tasks()),
                  call::asDataset,
                  call.operator()));

  private FactorOperators() {}

  private static LogicalPlan svd(Call call) {
    RangeOptions random =
        new RangeOptions(
            Math.toIntExact(call.get(STEPS)),
            Math.toIntExact(call.get(OVERSAMPLING)),
            call.get(SEED));
    FactorPlans plans = plans(call);
    Optional<Long> k = call.find(VALUES);
    return k.isPresent() ? plans.svd(k.get(), random) : plans.svd();
  }

  private static String mode(String what, String text) {
    String plain = text.strip().toLowerCase(Locale.ROOT);
    if (!plain.equals("reduced") && !plain.equals("r")) {
      throw new IllegalArgumentException(
          "%s is '%s'; expected one of reduced, r".formatted(what, text));
    }
    return plain;
  }

  private static FactorPlans a(Call call) {
    String which = ", matrix A";
    return new FactorPlans(
        call.blocks(MATRIX, "a", "extentsA", which), call::asDataset, call.operator());
  }

  private static LogicalPlan b(Call call) {
    return call.blocks(MATRIX, "b", "extentsB", ", matrix B");
  }

  private static FactorPlans plans(Call call) {
    return new FactorPlans(call.blocks(MATRIX), call::asDataset, call.operator());
  }
}
