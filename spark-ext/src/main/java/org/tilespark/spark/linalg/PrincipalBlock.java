package org.tilespark.spark.linalg;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.BackendChoice;
import scala.collection.immutable.Seq;

/**
 * The principal components of a matrix, from a block that was computed from the matrix, see {@link
 * PrincipalSpec.Of}: an array of structs as {@link FactorBlock} gives it. The children are the
 * block's columns, then the number by which the elements of the matrix were divided, a DOUBLE.
 *
 * <p>In each component, the element of the largest absolute value is positive.
 */
public final class PrincipalBlock extends FactorExpression {
  private static final double UNIT = Math.ulp(1.0) / 2;
  private final PrincipalSpec spec;

  /** A constructor for Catalyst and {@link PrincipalPlans}. */
  public PrincipalBlock(
      PrincipalSpec spec,
      BlockArguments arguments,
      BackendChoice backend,
      Seq<Expression> children) {
    super(
        arguments,
        DataTypes.createArrayType(FactorBlock.struct(spec.result()), false),
        backend,
        children);
    this.spec = spec;
  }

  @Override
  Object of(Block block, Dense matrix, InternalRow input) {
    double divisor = (Double) further(input);
    return FactorBlock.rows(
        factorized(block, lapack -> factors(lapack, matrix, divisor)), spec.result());
  }

  private List<Factor> factors(Factorizer lapack, Dense matrix, double divisor) {
    return switch (spec.of()) {
      case TRIANGLE -> ofTriangle(lapack, matrix);
      case COLUMNS, ROWS -> ofProducts(lapack, matrix, divisor);
      case COMPONENTS_ONLY -> {
        for (int i = 0; i < matrix.rows(); i++) {
          setLength(matrix, i);
        }
        yield List.of(new Factor(PrincipalSpec.COMPONENTS, signed(matrix)));
      }
    };
  }

  /** The factors, from a block that has the same R as [1 | A]. */
  private List<Factor> ofTriangle(Factorizer lapack, Dense stack) {
    int small = Math.min(stack.rows(), stack.cols());
    Dense r = Dense.zeros(small, stack.cols());
    lapack.qrR(stack.rows(), stack.cols(), stack.memory(), r.memory());
    Dense centered = r.columns(1, r.cols()); // its first row has the means, scaled
    Dense mean = Dense.zeros(1, centered.cols());
    for (int j = 0; j < centered.cols(); j++) {
      mean.values()[j] = centered.at(0, j) / r.at(0, 0);
      double rounding = UNIT * (8 + Math.sqrt((double) spec.rows())) * Math.abs(centered.at(0, j));
      centered.values()[j] = 0;
      clearUpTo(rounding, centered, j);
    }
    int all = Math.min(small, centered.cols());
    Dense u = Dense.zeros(small, all);
    Dense s = Dense.zeros(all, 1);
    Dense vt = Dense.zeros(all, centered.cols());
    lapack.svd(small, centered.cols(), centered.memory(), u.memory(), s.memory(), vt.memory());
    double total = 0; // sum of squares relative to the largest, whose square may be out of range
    double largest = s.at(0, 0);
    for (int i = 0; i < all && largest > 0; i++) {
      total += Math.pow(s.at(i, 0) / largest, 2);
    }
    Dense values = Dense.zeros(spec.k(), 1);
    Dense ratio = Dense.zeros(spec.k(), 1);
    for (int i = 0; i < spec.k(); i++) {
      values.values()[i] = s.at(i, 0);
      ratio.values()[i] = largest > 0 ? Math.pow(s.at(i, 0) / largest, 2) / total : 0;
    }
    List<Factor> factors = common(signed(vt.top(spec.k())), values, ratio);
    factors.add(new Factor(PrincipalSpec.MEAN, mean));
    return factors;
  }

  /**
   * Computes the factors from the matrix of the products of all rows or columns with each other,
   * whose eigenvalues are the squares of the singular values.
   */
  private List<Factor> ofProducts(Factorizer lapack, Dense products, double divisor) {
    int n = products.rows();
    double total = 0;
    for (int i = 0; i < n; i++) {
      total += products.at(i, i);
    }
    Dense squares = Dense.zeros(spec.k(), 1);
    Dense vectors = Dense.zeros(n, spec.k());
    lapack.eigh(n, spec.k(), products.memory(), squares.memory(), vectors.memory());
    Dense values = Dense.zeros(spec.k(), 1);
    Dense ratio = Dense.zeros(spec.k(), 1);
    Dense largestFirst = Dense.zeros(spec.k(), n);
    for (int i = 0; i < spec.k(); i++) {
      int from = spec.k() - 1 - i;
      // Rounding may make an eigenvalue less than 0.
      double square = Math.max(0, squares.at(from, 0));
      values.values()[i] = Math.sqrt(square) * divisor;
      ratio.values()[i] = total > 0 ? square / total : 0;
      for (int j = 0; j < n; j++) {
        largestFirst.values()[i * n + j] = vectors.at(j, from);
      }
    }
    boolean areComponents = spec.of() == PrincipalSpec.Of.COLUMNS;
    return common(areComponents ? signed(largestFirst) : largestFirst.transposed(), values, ratio);
  }

  private List<Factor> common(Dense vectors, Dense values, Dense ratio) {
    Dense variance = Dense.zeros(spec.k(), 1);
    for (int i = 0; i < spec.k(); i++) {
      double deviation = values.at(i, 0) / Math.sqrt(spec.rows() - 1.0);
      variance.values()[i] = deviation * deviation;
    }
    List<Factor> factors = new ArrayList<>();
    factors.add(new Factor(spec.of().factors().get(0), vectors));
    factors.add(new Factor(PrincipalSpec.SINGULAR_VALUES, values));
    factors.add(new Factor(PrincipalSpec.VARIANCE, variance));
    factors.add(new Factor(PrincipalSpec.RATIO, ratio));
    return factors;
  }

  /**
   * Sets a column to zero if its norm is at most {@code rounding}, the rounding error of its mean:
   * the values from which the mean was subtracted are then all equal, up to rounding.
   */
  private static void clearUpTo(double rounding, Dense matrix, int column) {
    double length = 0;
    for (int i = 0; i < matrix.rows(); i++) {
      length = Math.hypot(length, matrix.at(i, column));
    }
    for (int i = 0; i < matrix.rows() && length <= rounding; i++) {
      matrix.values()[i * matrix.cols() + column] = 0;
    }
  }

  private static void setLength(Dense matrix, int row) {
    double length = 0;
    for (int j = 0; j < matrix.cols(); j++) {
      length = Math.hypot(length, matrix.at(row, j));
    }
    for (int j = 0; j < matrix.cols() && length > 0; j++) {
      matrix.values()[row * matrix.cols() + j] /= length;
    }
  }

  /**
   * The rows, some of them negated, so that in each the element with the largest absolute value is
   * positive.
   */
  private static Dense signed(Dense rows) {
    int n = rows.cols();
    for (int i = 0; i < rows.rows(); i++) {
      double peak = 0;
      for (int j = 0; j < n; j++) {
        peak = Math.abs(rows.at(i, j)) > Math.abs(peak) ? rows.at(i, j) : peak;
      }
      for (int j = 0; j < n && peak < 0; j++) {
        rows.values()[i * n + j] = -rows.at(i, j);
      }
    }
    return rows;
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, arguments(), backend());
  }
}
