package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;

/**
 * The columns that a stage reads from one child.
 *
 * @param input the input, by positions in {@code columns}
 * @param columns columns of the child that are read
 */
public record StageBranch(StageInput input, List<Attribute> columns, LogicalPlan child) {
  /** The branch of an input by positions in any columns; only the columns of the input are kept. */
  static StageBranch of(StageInput input, List<Attribute> columns, LogicalPlan child) {
    List<Integer> read = input.positions();
    return new StageBranch(
        input.mapped(read::indexOf), read.stream().map(columns::get).toList(), child);
  }

  /**
   * Blocks with some of their further columns.
   *
   * @param further further columns; with several branches, the same ones in the same order
   */
  public static StageBranch of(
      BlockFrame frame, List<Attribute> further, Missing missing, String operator) {
    StageInput input =
        new StageInput(
            frame.blocks(),
            positions(frame.columns(), further),
            List.of(),
            -1,
            ScalaInterop.none(),
            List.of(),
            missing,
            operator);
    return new StageBranch(input, frame.columns(), frame.plan());
  }

  /**
   * This branch with a further array in its rows.
   *
   * @param planes columns of its values, or of real and imaginary parts
   * @param repeated repeated axes, as {@link StageInput.Beside#repeated}
   */
  public StageBranch with(List<Attribute> planes, Set<Integer> repeated) {
    List<StageInput.Beside> beside = new ArrayList<>(input.beside());
    beside.add(new StageInput.Beside(positions(columns, planes), repeated));
    return new StageBranch(input.with(beside), columns, child);
  }

  /** True if the stage cannot include the operator below. */
  boolean isBottom() {
    return input.trend() >= 0 || input.assembled().isDefined() || !input.beside().isEmpty();
  }

  /** True if blocks are put together from pieces. */
  boolean isOfPieces() {
    return input.assembled().isDefined();
  }

  /** The columns of the blocks. */
  List<Attribute> block() {
    return at(input.blocks().blockColumns());
  }

  /** The further columns, which go with the blocks. */
  List<Attribute> further() {
    return at(input.further());
  }

  private List<Attribute> at(List<Integer> positions) {
    return positions.stream().map(columns::get).toList();
  }

  /** The positions of some columns among others. */
  static List<Integer> positions(List<Attribute> columns, List<Attribute> of) {
    return of.stream().map(column -> Attributes.indexOf(columns, column)).toList();
  }

  /** The columns of all branches. */
  static List<Attribute> columns(List<StageBranch> branches) {
    return branches.stream().flatMap(branch -> branch.columns.stream()).toList();
  }

  /** The inputs of all branches, by positions in {@link #columns(List)}. */
  static List<StageInput> inputs(List<StageBranch> branches) {
    List<StageInput> inputs = new ArrayList<>();
    int start = 0;
    for (StageBranch branch : branches) {
      int from = start;
      inputs.add(branch.input.mapped(position -> position + from));
      start += branch.columns.size();
    }
    return inputs;
  }
}
