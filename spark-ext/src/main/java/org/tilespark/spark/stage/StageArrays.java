package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.layout.Box;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.Coverage;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.exchange.RowKeys;

/**
 * The arrays of a partition's rows, one of each input of a stage at a time: those with equal keys,
 * by which all inputs are sorted. Used by one thread.
 */
final class StageArrays implements AutoCloseable {
  private static final String HINT = "; " + StaleMetadata.HELP;
  private static final List<String> COUNT = List.of("first", "second", "third", "fourth");

  private final StageSpec spec;
  private final List<ArrayProgram> programs;
  private final List<Input> inputs;

  /** The state of one input. */
  private static final class Input {
    final ArraySource source;
    final RowKeys keys;
    final Permutation axes; // for each axis of the first input, the corresponding one of this
    final Set<Integer> whole; // axes of the first input along which blocks are whole
    boolean isThere;
    UnsafeRow key;

    Input(ArraySource source, RowKeys keys, Permutation axes, Set<Integer> whole) {
      this.source = source;
      this.keys = keys;
      this.axes = axes;
      this.whole = whole;
    }
  }

  /**
   * The arrays that sources give.
   *
   * @param sources one for each input of {@code spec}; owned
   * @param rows schema of the rows of each
   * @param keys ordinals in these rows of the columns that are equal in corresponding rows
   */
  StageArrays(
      StageSpec spec,
      List<? extends ArraySource> sources,
      List<StructType> rows,
      List<List<Integer>> keys) {
    this.spec = spec;
    this.programs = spec.program().inputs();
    this.inputs = new ArrayList<>();
    List<Permutation> meetings = spec.program().meetings();
    for (int i = 0; i < sources.size(); i++) {
      int number = spec.number(i);
      Permutation axes = meetings.get(number);
      Set<Integer> whole = new TreeSet<>();
      programs.get(number).cutAxes().whole().forEach(axis -> whole.add(axes.inverse().axis(axis)));
      inputs.add(new Input(sources.get(i), RowKeys.at(rows.get(i), keys.get(i)), axes, whole));
    }
  }

  /**
   * Moves to the next arrays; false if there are none.
   *
   * @throws IllegalArgumentException as {@link ArraySource#next}; if one input has an array twice,
   *     or another input has no corresponding array, or one of another shape
   */
  boolean next() {
    Input first = inputs.get(0);
    if (inputs.size() == 1) {
      return first.source.next();
    }
    inputs.forEach(this::advance);
    for (int i = 1; i < inputs.size(); i++) {
      requirePartner(i);
    }
    return first.isThere;
  }

  /** The boxes of all arrays, in the order of the program's inputs. */
  List<Box> boxes() {
    return inputs.stream().flatMap(input -> input.source.boxes().stream()).toList();
  }

  /** A row of the first input's array, as {@link ArraySource#row}. */
  InternalRow row() {
    return inputs.get(0).source.row();
  }

  /** Puts the parts of all arrays into the pipeline, after its {@code begin}. */
  void put(BlockPipeline pipeline) {
    for (int i = 0; i < inputs.size(); i++) {
      int number = spec.number(i);
      inputs.get(i).source.put(pipeline, number, programs.get(number).isComplex());
    }
  }

  /** Checks the parts of all arrays without putting them. */
  void check() {
    inputs.forEach(input -> input.source.check());
  }

  @Override
  public void close() {
    Closing.all(inputs.stream().map(input -> input.source).toList());
  }

  private void advance(Input input) {
    UnsafeRow before = input.key == null ? null : input.key.copy();
    input.isThere = input.source.next();
    if (input.isThere) {
      input.key = input.keys.of(input.source.row());
      if (before != null && input.keys.compare(before, input.key) == 0) {
        throw bad(
            input,
            "two blocks of one %s have this place; expected each element in one block"
                .formatted(kind().label()));
      }
    }
  }

  private void requirePartner(int other) {
    Input one = inputs.get(0);
    Input two = inputs.get(other);
    int order =
        one.isThere && two.isThere
            ? one.keys.compare(one.key, two.key)
            : Boolean.compare(two.isThere, one.isThere);
    if (order != 0) {
      Input only = order < 0 ? one : two;
      throw bad(
          only,
          "only the %s %s has a block there (%s); expected %s to have each block%s"
              .formatted(
                  ordinal(order < 0 ? 0 : other),
                  kind().label(),
                  Coverage.sizeText(only.source.box().sizes()),
                  inputs.size() == 2 ? "both" : "all",
                  HINT));
    }
    if (one.isThere) {
      requireSameSizes(one, two, other);
    }
  }

  private void requireSameSizes(Input one, Input two, int other) {
    long[] sizes = one.source.box().sizes();
    long[] found = two.source.box().sizes();
    for (int axis = 0; axis < sizes.length; axis++) {
      boolean isWhole = one.whole.contains(axis) || two.whole.contains(axis);
      if (!isWhole && sizes[axis] != found[two.axes.axis(axis)]) {
        throw bad(
            one,
            "it is %s in the first %s and %s in the %s; expected both to be cut alike%s"
                .formatted(
                    Coverage.sizeText(sizes),
                    kind().label(),
                    Coverage.sizeText(found),
                    ordinal(other),
                    HINT));
      }
    }
  }

  private static String ordinal(int input) {
    return input < COUNT.size() ? COUNT.get(input) : (input + 1) + "th";
  }

  private BlockKind kind() {
    return spec.out().kind();
  }

  private IllegalArgumentException bad(Input input, String defect) {
    return BoxList.bad(kind(), input.source.box().offset(), defect, spec.operator());
  }
}
