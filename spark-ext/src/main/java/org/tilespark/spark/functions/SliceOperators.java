package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;
import static org.tilespark.spark.options.Parameter.found;
import static org.tilespark.spark.options.Parameter.required;

import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Widths;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.slice.ConcatPlans;
import org.tilespark.spark.slice.SlicePlans;
import org.tilespark.spark.slice.SliceText;

/**
 * Declarations of operators that take a part of an array, or concatenate arrays; no block is sent.
 */
final class SliceOperators {
  private static final Parameter<LogicalPlan> SECOND =
      blocks("b", MATRIX).otherwise("a volume of one plane");

  private static final String PARTNERS =
      Operator.CARRIED + " They distinguish the same arrays on both sides.";

  static final Operator STACK =
      new Operator(
          "(a, b, ...)",
          "Matrices of equal extents as consecutive planes of a volume along x; row"
              + " becomes y, col becomes z. With one matrix, a volume of one plane."
              + PARTNERS,
          "none",
          List.of(blocks("a", MATRIX), SECOND),
          call ->
              ConcatPlans.stack(
                  Stream.concat(Stream.of(call.table("a")), call.find(SECOND).stream()).toList(),
                  call::asDataset,
                  call.operator()));

  private SliceOperators() {}

  static Operator slice(BlockKind kind) {
    Parameter<SliceText> slices =
        required(
            "slices",
            Type.text((what, text) -> SliceText.parse(what, text, kind)),
            "start:stop:step for each axis, as numpy's: '100:200, ::2', '..., -1'");
    return new Operator(
        "(%s, slices)".formatted(kind.label().charAt(0)),
        "Some elements along each axis, as numpy's basic slicing; a single number keeps its axis,"
            + " with extent 1. Only blocks that hold some of them are read. A slice of a spectrum"
            + " is no spectrum."
            + Operator.CARRIED,
        "none",
        List.of(blocks("input", kind), slices, extents(kind)),
        call ->
            SlicePlans.slice(
                call.blocks(kind), kind, call.get(slices), call::asDataset, call.operator()));
  }

  static Operator flip(BlockKind kind) {
    Parameter<List<Integer>> axes =
        found(
            "axes",
            Type.axes((what, text) -> kind.someAxes(what, text)),
            "all",
            "the axes that are reversed: '%s' or 0".formatted(kind.offsetColumns().get(0)));
    return new Operator(
        "(%s[, axes])".formatted(kind.label().charAt(0)),
        "The elements along some axes in reverse order." + Operator.CARRIED,
        "none",
        List.of(blocks("input", kind), axes, extents(kind)),
        call ->
            SlicePlans.flip(
                call.blocks(kind), kind, call.find(axes), call::asDataset, call.operator()));
  }

  static Operator crop(BlockKind kind) {
    Parameter<Widths> widths =
        required(
            "widths",
            Type.list((what, text) -> Widths.ofPad(what, text, kind.rank())),
            "elements taken off before and after each axis, as %s_pad puts them there: '%s'"
                .formatted(
                    kind.label(), String.join("; ", Collections.nCopies(kind.rank(), "2,3"))));
    return new Operator(
        "(%s, widths)".formatted(kind.label().charAt(0)),
        "The %s without the given numbers of elements at the start and end of each axis: it undoes"
                .formatted(kind.label())
            + " pad. Only blocks that hold some of the others are read."
            + Operator.CARRIED,
        "none",
        List.of(blocks("input", kind), widths, extents(kind)),
        call ->
            SlicePlans.slice(
                call.blocks(kind),
                kind,
                SliceText.crop(kind, call.get(widths)),
                call::asDataset,
                call.operator()));
  }

  static Operator withOrigin(BlockKind kind) {
    return new Operator(
        "(%s)".formatted(kind.label().charAt(0)),
        "The part of the %s that its blocks cover, as after a filter on their places: the lowest"
                .formatted(kind.label())
            + " offset along each axis becomes 0, and the extents are found in the blocks."
            + Operator.CARRIED,
        "places and sizes",
        List.of(blocks("input", kind)),
        call -> SlicePlans.withOrigin(call.table("input"), kind, call::asDataset, call.operator()));
  }

  static Operator concat(BlockKind kind) {
    Parameter<Integer> axis =
        required(
            "axis",
            Type.of(
                "STRING or INT",
                "a constant axis, as '" + kind.offsetColumns().get(0) + "' or 0",
                false,
                kind::axis),
            "along which they are concatenated: %s, or its number"
                .formatted(String.join(", ", kind.offsetColumns())));
    return new Operator(
        "(axis, a, b, ...)",
        "Two %s of one type, concatenated along an axis; along the others their extents are equal."
                .formatted(kind == MATRIX ? "matrices" : "volumes")
            + PARTNERS,
        "none",
        List.of(
            blocks("a", kind),
            blocks("b", kind),
            axis,
            extents("extentsA", kind, "all of a"),
            extents("extentsB", kind, "all of b")),
        call ->
            ConcatPlans.concat(
                List.of(
                    call.blocks(kind, "a", "extentsA", ", first " + kind.label()),
                    call.blocks(kind, "b", "extentsB", ", second " + kind.label())),
                kind,
                call.get(axis),
                call::asDataset,
                call.operator()));
  }
}
