package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.block.BlockKind.VOLUME;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;
import static org.tilespark.spark.options.Parameter.MISSING;
import static org.tilespark.spark.options.Parameter.SCALARS;

import java.util.List;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.pointwise.ExpressionPlans;
import org.tilespark.spark.pointwise.PointwisePlans;

/** Declarations of operators whose elements are computed from elements at equal places. */
final class ElementwiseOperators {
  private static final Parameter<Double> ALPHA =
      Parameter.required("alpha", Type.NUMBER, "the factor");

  private static final Parameter<String> EXPRESSION =
      Parameter.required(
          "expression",
          Type.text((what, text) -> text),
          "an elementwise expression, see docs/elementwise.md");

  static final Operator CENTER =
      new Operator(
          "(a)",
          "The matrix with the mean of each of its columns subtracted. Values of FLOAT or DOUBLE."
              + Operator.APART,
          "the means",
          List.of(blocks("a", MATRIX), extents(MATRIX)),
          call -> PointwisePlans.center(call.blocks(MATRIX), call.operator()));

  static final Operator MULTIPLY_POINTWISE =
      new Operator(
          "(a, b)",
          "The products of the elements of two volumes or spectra at equal places, in any tilings.",
          "none between transforms",
          List.of(blocks("a", VOLUME), blocks("b", VOLUME)),
          call ->
              PointwisePlans.multiply(
                  call.table("a"), call.table("b"), call::asDataset, call.operator()));

  private ElementwiseOperators() {}

  static Operator scale(BlockKind kind, String table) {
    return new Operator(
        "(" + kind.label().charAt(0) + ", alpha)",
        "Each value times a number. Values of FLOAT or DOUBLE."
            + (kind == VOLUME ? " A spectrum stays one." : "")
            + Operator.CARRIED,
        "none",
        List.of(blocks(table, kind), ALPHA, extents(kind)),
        call -> PointwisePlans.scale(call.blocks(kind), kind, call.get(ALPHA), call.operator()));
  }

  static Operator add(BlockKind kind) {
    return new Operator(
        "(a, b[, missing])",
        "The sum of two %s of FLOAT or DOUBLE in any tilings, cut as the first."
                .formatted(kind == MATRIX ? "matrices" : "volumes, or fitting spectra,")
            + Operator.APART,
        "each side once; none where both are partitioned alike",
        List.of(
            blocks("a", kind),
            blocks("b", kind),
            MISSING,
            extents("extentsA", kind, "all of a"),
            extents("extentsB", kind, "all of b")),
        call ->
            PointwisePlans.add(
                call.blocks(kind, "a", "extentsA", ", first " + kind.label()),
                call.blocks(kind, "b", "extentsB", ", second " + kind.label()),
                kind,
                call.get(MISSING),
                call::asDataset,
                call.operator()));
  }

  static Operator map(BlockKind kind, String table) {
    return new Operator(
        "(" + kind.label().charAt(0) + ", expression[, scalars])",
        "Each element computed from itself, `v` in the expression." + Operator.CARRIED,
        "none",
        List.of(blocks(table, kind), EXPRESSION, SCALARS, extents(kind)),
        call -> ExpressionPlans.map(call.blocks(kind), kind, asked(call), call.operator()));
  }

  private static ExpressionPlans.Asked asked(Call call) {
    return new ExpressionPlans.Asked(call.get(EXPRESSION), call.get(SCALARS));
  }

  static Operator zip(BlockKind kind) {
    return new Operator(
        "(a, b, expression[, missing[, scalars]])",
        "Each element computed from those of two %s at the same place, `a` and `b`."
                .formatted(kind == MATRIX ? "matrices" : "volumes")
            + " Along an axis, one may have extent 1."
            + Operator.APART,
        "each side once; none where both are partitioned alike",
        List.of(
            blocks("a", kind),
            blocks("b", kind),
            EXPRESSION,
            MISSING,
            SCALARS,
            extents("extentsA", kind, "all of a"),
            extents("extentsB", kind, "all of b")),
        call ->
            ExpressionPlans.zip(
                call.blocks(kind, "a", "extentsA", ", first " + kind.label()),
                call.blocks(kind, "b", "extentsB", ", second " + kind.label()),
                kind,
                asked(call),
                call.get(MISSING),
                call::asDataset,
                call.operator()));
  }
}
