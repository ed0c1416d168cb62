package org.tilespark.spark.functions;

import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.tilespark.layout.Edge;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.reshape.PadPlans;
import org.tilespark.spark.reshape.Widths;

/** Operators that change the shape of arrays. */
final class ShapeOperators {
  private static final Parameter<Edge> MODE =
      Parameter.optional(
          "mode",
          Type.text(
              (what, text) ->
                  Edge.parse(
                      what,
                      text,
                      Edge.CONSTANT,
                      Edge.EDGE,
                      Edge.REFLECT,
                      Edge.SYMMETRIC,
                      Edge.WRAP)),
          Edge.CONSTANT,
          "'constant', 'edge', 'reflect', 'symmetric' or 'wrap', as numpy.pad has them");
  private static final Parameter<Double> VALUE =
      new Parameter<>(
          "value",
          Type.NUMBER,
          Optional.of(0.0),
          "0",
          "of the elements put around the array, with mode 'constant'; the real part, if it is"
              + " complex");

  private ShapeOperators() {}

  static Operator pad(BlockKind kind) {
    Parameter<Widths> widths =
        Parameter.required(
            "widths",
            Type.list((what, text) -> Widths.ofPad(what, text, kind.rank())),
            "elements before and after each axis, '%s'; '2,3' for all axes; '2' on all sides"
                .formatted(String.join("; ", Collections.nCopies(kind.rank(), "2,3"))));
    return new Operator(
        "(%s, widths[, mode[, value]])".formatted(kind.label().charAt(0)),
        ("The %s with elements put before and after each axis, as by numpy.pad, in blocks of the"
                    + " shape of the input's.")
                .formatted(kind.label())
            + Operator.APART,
        "each element once, and copies of those at the edges",
        List.of(blocks("input", kind), widths, MODE, VALUE, extents(kind)),
        call ->
            PadPlans.pad(
                call.blocks(kind),
                kind,
                new PadPlans.Padding(call.get(widths), call.get(MODE), call.get(VALUE)),
                call::asDataset,
                call.operator()));
  }

  static Operator roll(BlockKind kind) {
    Parameter<List<Long>> shift =
        Parameter.required(
            "shift",
            Type.list((what, text) -> shifts(what, text, kind)),
            "places along each axis, '%s'; below 0 towards its start"
                .formatted(kind == BlockKind.MATRIX ? "1,-2" : "1,-2,0"));
    return new Operator(
        "(%s, shift)".formatted(kind.label().charAt(0)),
        ("The %s with each element so many places further on, those at the end of an axis at its"
                    + " start, as by numpy.roll.")
                .formatted(kind.label())
            + Operator.APART,
        "each element once; none where all places are 0",
        List.of(blocks("input", kind), shift, extents(kind)),
        call ->
            PadPlans.roll(
                call.blocks(kind), kind, call.get(shift), call::asDataset, call.operator()));
  }

  private static List<Long> shifts(String what, String text, BlockKind kind) {
    try {
      List<Long> shifts =
          Arrays.stream(text.split(",", -1)).map(String::strip).map(Long::valueOf).toList();
      if (shifts.size() == kind.rank()) {
        return shifts;
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw new IllegalArgumentException(
        "%s is '%s'; expected a whole number for each of %s"
            .formatted(what, text, String.join(", ", kind.offsetColumns())));
  }
}
