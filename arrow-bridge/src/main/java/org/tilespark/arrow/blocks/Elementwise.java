package org.tilespark.arrow.blocks;

import static java.util.stream.Collectors.joining;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.Box;

/**
 * Computes each element from the elements at the same place of this array and of others. Another
 * array with extent 1 along an axis is broadcast along it.
 *
 * @param program has this array as its first input, {@code others} as the further inputs in order,
 *     and one output
 * @param vectors the program's vectors, each as long as the whole array along its axis
 * @param others programs that run on the other arrays before this step
 * @param text text of this step in EXPLAIN
 */
public record Elementwise(
    ElementwiseProgram program, List<double[]> vectors, List<ArrayProgram> others, String text)
    implements ArrayStep {
  /** Copies the lists, not the vectors. */
  public Elementwise {
    vectors = List.copyOf(vectors);
    others = List.copyOf(others);
  }

  /** A step without vectors and other arrays. */
  public Elementwise(ElementwiseProgram program, String text) {
    this(program, List.of(), List.of(), text);
  }

  @Override
  public State after(State before) {
    return StepChecks.computed(program, before, others.stream().map(ArrayProgram::output).toList());
  }

  @Override
  public Elementwise withOthers(List<ArrayProgram> newOthers) {
    return new Elementwise(program, vectors, newOthers, text);
  }

  @Override
  public boolean needsExtents() {
    return !vectors.isEmpty();
  }

  @Override
  public boolean dependsOnPlace() {
    return !vectors.isEmpty() || !others.isEmpty() || program.readsPlaces();
  }

  @Override
  public boolean isBatched() {
    return vectors.isEmpty();
  }

  @Override
  public Optional<ElementwiseProgram> ofElements() {
    return dependsOnPlace() ? Optional.empty() : Optional.of(program);
  }

  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    return new ElementwiseBlock(
        program,
        StepChecks.cut(program.vectors(), vectors, part),
        program.readsPlaces()
            ? Arrays.stream(part.offset()).boxed().toList()
            : Collections.nCopies(part.rank(), 0L), // so that equal parts have equal steps
        given.others());
  }

  @Override
  public String toString() {
    String first =
        others.stream()
            .filter(other -> !other.steps().isEmpty())
            .map(ArrayProgram::toString)
            .collect(joining("; "));
    return text + (first.isEmpty() ? "" : " (of what became: " + first + ")");
  }
}
