package org.tilespark.spark.functions;

import static org.tilespark.spark.block.BlockKind.MATRIX;
import static org.tilespark.spark.block.BlockKind.VOLUME;
import static org.tilespark.spark.functions.Tables.blocks;
import static org.tilespark.spark.functions.Tables.extents;
import static org.tilespark.spark.options.Parameter.MISSING;
import static org.tilespark.spark.options.Parameter.found;
import static org.tilespark.spark.options.Parameter.required;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.Parameter;
import org.tilespark.spark.options.Type;
import org.tilespark.spark.permute.PermutePlans;
import org.tilespark.spark.reblock.ReblockPlans;

/** Declarations of operators that reorder axes, or cut arrays into other blocks. */
final class MoveOperators {
  private static final String MOVES = "each element once; none where they have this form already";

  private static final Parameter<Permutation> AXES =
      required(
          "axes",
          Type.axes(VOLUME::permutation),
          "the input axis that each output axis is: 'yzx', '1,2,0' or array(1, 2, 0)");
  private static final Parameter<Integer> AXIS =
      required(
          "axis",
          Type.of("STRING or INT", "a constant axis, as 'y' or 1", false, VOLUME::axis),
          "'x', 'y' or 'z', or 0, 1 or 2; -1 is the last axis");
  private static final Parameter<Long> THICKNESS =
      found(
          "thickness",
          Type.WHOLE,
          "a slab for each task that can run at once, below 256 MiB",
          "elements of a slab along the axis");
  private static final Parameter<Long> FIRST =
      found(
          "first",
          Type.WHOLE,
          "a pencil for each task that can run at once, below 256 MiB",
          "elements of a pencil along the first of the other axes");
  private static final Parameter<Long> SECOND =
      found(
          "second",
          Type.WHOLE,
          "as first",
          "elements along the second of the other axes; both or none are given");

  static final Operator TRANSPOSE =
      new Operator(
          "(m)",
          "The transposed matrix." + Operator.CARRIED,
          "none",
          List.of(blocks("input", MATRIX), extents(MATRIX)),
          call ->
              PermutePlans.permute(
                  call.blocks(MATRIX), MATRIX, Permutation.of(1, 0), call.operator()));

  static final Operator PERMUTE =
      new Operator(
          "(v, axes)",
          "The volume with its axes reordered: with axes 'yzx' the result is Y(j,k,i) = X(i,j,k)."
              + Operator.CARRIED,
          "none",
          List.of(blocks("input", VOLUME), AXES, extents(VOLUME)),
          call ->
              PermutePlans.permute(call.blocks(VOLUME), VOLUME, call.get(AXES), call.operator()));

  static final Operator SLABS =
      new Operator(
          "(v, axis[, thickness[, missing]])",
          "The volume cut along one axis and whole along the others." + Operator.APART,
          MOVES,
          List.of(blocks("input", VOLUME), AXIS, THICKNESS, MISSING, extents(VOLUME)),
          call ->
              ReblockPlans.slabs(
                  call.blocks(VOLUME),
                  call.get(AXIS),
                  call.find(THICKNESS).map(OptionalLong::of).orElse(OptionalLong.empty()),
                  call.get(MISSING),
                  call.tasks(),
                  call::asDataset,
                  call.operator()));

  static final Operator PENCILS =
      new Operator(
          "(v, axis[, first, second[, missing]])",
          "The volume whole along one axis and cut along the others." + Operator.APART,
          MOVES,
          List.of(blocks("input", VOLUME), AXIS, FIRST, SECOND, MISSING, extents(VOLUME)),
          call ->
              ReblockPlans.pencils(
                  call.blocks(VOLUME),
                  call.get(AXIS),
                  call.find(FIRST)
                      .or(() -> call.find(SECOND))
                      .map(any -> new long[] {call.get(FIRST), call.get(SECOND)}),
                  call.get(MISSING),
                  call.tasks(),
                  call::asDataset,
                  call.operator()));

  private MoveOperators() {}

  static Operator reblock(BlockKind kind) {
    List<String> names = kind.sizeColumns();
    List<Parameter<Long>> sizes = new ArrayList<>();
    for (String name : names) {
      String doc = "elements of a full block along axis " + sizes.size() + ", 1 or more";
      sizes.add(required(name, Type.WHOLE, doc));
    }
    List<Parameter<?>> parameters = new ArrayList<>(sizes);
    parameters.add(0, blocks("input", kind));
    parameters.addAll(List.of(MISSING, extents(kind)));
    return new Operator(
        "(%s, %s[, missing])".formatted(kind.label().charAt(0), String.join(", ", names)),
        "The %s in blocks of %s, smaller at the far edges."
                .formatted(kind.label(), String.join(" x ", names))
            + Operator.APART,
        MOVES,
        List.copyOf(parameters),
        call ->
            ReblockPlans.reblock(
                call.blocks(kind),
                kind,
                sizes.stream().mapToLong(call::get).toArray(),
                call.get(MISSING),
                call.operator()));
  }
}
