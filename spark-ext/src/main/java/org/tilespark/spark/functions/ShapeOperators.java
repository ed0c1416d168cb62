package org.tilespark.spark.functions;

import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.tilespark.layout.Edge;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Widths;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.reshape.HaloPlans;
import org.tilespark.spark.reshape.PadPlans;
import org.tilespark.spark.reshape.ReshapePlans;

/** Declarations of operators that change the shape of arrays. */
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
  private static final Parameter<Edge> EDGE =
      Parameter.optional(
          "edge",
          Type.text((what, text) -> Edge.parse(what, text, Edge.values())),
          Edge.CONSTANT,
          "what a halo has beyond the array: 'constant' (zeros), 'edge', 'reflect', 'symmetric' or"
              + " 'wrap', as numpy.pad has them; or 'none': blocks end where the array does");
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
                    + " shape of the input's, or larger.")
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
            Type.list(
                (what, text) ->
                    numbers(
                        what,
                        text,
                        List.of(kind.rank()),
                        "a whole number for each of " + String.join(", ", kind.offsetColumns()))),
            "places along each axis, '%s'; below 0 towards its start"
                .formatted(kind == BlockKind.MATRIX ? "1,-2" : "1,-2,0"));
    return new Operator(
        "(%s, shift)".formatted(kind.label().charAt(0)),
        ("The %s with each element moved along the axes, those at the end of an axis at its"
                    + " start, as by numpy.roll.")
                .formatted(kind.label())
            + Operator.APART,
        "each element once; none where all places are 0",
        List.of(blocks("input", kind), shift, extents(kind)),
        call ->
            PadPlans.roll(
                call.blocks(kind), kind, call.get(shift), call::asDataset, call.operator()));
  }

  static Operator reshape(BlockKind kind) {
    Parameter<List<Long>> shape =
        Parameter.required(
            "shape",
            Type.list(
                (what, text) ->
                    numbers(what, text, List.of(2, 3), "the extents of a matrix or of a volume")),
            "extents of the result, '20,6' for a matrix, '4,5,6' for a volume; -1 stands for"
                + " the remaining one");
    return new Operator(
        "(%s, shape)".formatted(kind.label().charAt(0)),
        ("The elements of the %s, in row-major order, as a matrix or a volume of another shape, as"
                    + " by numpy.reshape. A vector is a matrix of one row or column.")
                .formatted(kind.label())
            + Operator.APART,
        "each element once; none where blocks are blocks of the other shape already",
        List.of(blocks("input", kind), shape, extents(kind)),
        call ->
            ReshapePlans.reshape(
                call.blocks(kind), kind, call.get(shape), call::asDataset, call.operator()));
  }

  static Operator halo(BlockKind kind) {
    Parameter<Widths> widths =
        Parameter.required(
            "widths",
            Type.list((what, text) -> Widths.ofHalo(what, text, kind.rank())),
            "elements on both sides of each axis, '%s'; before and after each, '%s'; '2' on all sides"
                .formatted(
                    kind == BlockKind.MATRIX ? "1,2" : "1,2,0",
                    String.join("; ", Collections.nCopies(kind.rank(), "1,2"))));
    return new Operator(
        "(%s, widths[, edge])".formatted(kind.label().charAt(0)),
        ("The %1$s in blocks with elements of their neighbours around their own, for stencils."
                    + " Places and sizes count the halo, and the first places may be negative."
                    + " Elementwise operators and functions of one block take these blocks, and"
                    + " %1$s_trim takes the halo off.")
                .formatted(kind.label())
            + Operator.APART,
        "each element once, and copies of those in a halo",
        List.of(blocks("input", kind), widths, EDGE, extents(kind)),
        call ->
            HaloPlans.halo(
                call.blocks(kind),
                kind,
                call.get(widths),
                call.get(EDGE),
                call::asDataset,
                call.operator()));
  }

  static Operator trim(BlockKind kind) {
    Parameter<Widths> widths =
        Parameter.found(
            "widths",
            Type.list((what, text) -> Widths.ofHalo(what, text, kind.rank())),
            Parameter.STATED,
            "those of the halo, as %s_halo takes them, where no metadata states them"
                .formatted(kind.label()));
    return new Operator(
        "(%s[, widths])".formatted(kind.label().charAt(0)),
        "The blocks without the halo that %s_halo gave them.".formatted(kind.label())
            + Operator.CARRIED,
        "none",
        List.of(blocks("input", kind), widths),
        call -> HaloPlans.trim(call.table("input"), kind, call.find(widths), call.operator()));
  }

  /**
   * Parses whole numbers separated by commas.
   *
   * @param counts the accepted counts of numbers
   * @param expected description of the numbers, for the message
   */
  private static List<Long> numbers(
      String what, String text, List<Integer> counts, String expected) {
    try {
      List<Long> numbers =
          Arrays.stream(text.split(",", -1)).map(String::strip).map(Long::valueOf).toList();
      if (counts.contains(numbers.size())) {
        return numbers;
      }
    } catch (NumberFormatException e) {
      // The exception below reports it.
    }
    throw new IllegalArgumentException("%s is '%s'; expected %s".formatted(what, text, expected));
  }
}
