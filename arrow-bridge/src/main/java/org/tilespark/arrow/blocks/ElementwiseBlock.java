package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.Shape;

/**
 * {@link Elementwise} on a block.
 *
 * @param program has the block as its first input, {@code otherBlocks} as the further inputs, and
 *     one output
 * @param vectors the program's vectors, each as long as the block along its axis
 * @param origin index of the block's first element in the whole array, one number per axis
 * @param otherBlocks programs that run on the other blocks before this step
 */
public record ElementwiseBlock(
    ElementwiseProgram program,
    List<double[]> vectors,
    List<Long> origin,
    List<BlockProgram> otherBlocks)
    implements BlockStep {
  /** Copies the lists, not the vectors. */
  public ElementwiseBlock {
    vectors = List.copyOf(vectors);
    origin = List.copyOf(origin);
    otherBlocks = List.copyOf(otherBlocks);
  }

  /** The step of a program that takes only the block and vectors, and reads no places. */
  public static ElementwiseBlock of(ElementwiseProgram program, List<double[]> vectors) {
    return new ElementwiseBlock(
        program, vectors, Collections.nCopies(program.rank(), 0L), List.of());
  }

  @Override
  public State after(State before) {
    StepChecks.requireVectors(program.vectors(), vectors, before.shape());
    List<State> others = otherBlocks.stream().map(BlockProgram::output).toList();
    return StepChecks.computed(program, before, others);
  }

  /** The index of the block's first element in the whole array. */
  long[] place() {
    return origin.stream().mapToLong(Long::longValue).toArray();
  }

  @Override
  public Optional<ElementwiseBlock> asElementwise() {
    return Optional.of(this);
  }

  @Override
  public Optional<BlockStep> then(BlockStep next, Compositions compositions) {
    return next.asElementwise()
        .flatMap(step -> step.behind(0, this, otherBlocks, step.otherBlocks, compositions));
  }

  @Override
  public BlockStep withOthersTakenIn(Compositions compositions) {
    for (int i = 0; i < otherBlocks.size(); i++) {
      BlockProgram other = otherBlocks.get(i);
      Optional<ElementwiseBlock> last = other.last().flatMap(BlockStep::asElementwise);
      if (last.isPresent()) {
        List<BlockProgram> others = new ArrayList<>(otherBlocks.subList(0, i));
        others.add(other.withoutLast());
        others.addAll(last.get().otherBlocks);
        List<BlockProgram> behind = otherBlocks.subList(i + 1, otherBlocks.size());
        Optional<BlockStep> both = behind(i + 1, last.get(), others, behind, compositions);
        if (both.isPresent()) {
          return both.get().withOthersTakenIn(compositions);
        }
      }
    }
    return this;
  }

  /**
   * This step joined with the step that gives one of its inputs.
   *
   * @param before programs of the joined step's first other blocks, up to the last one of {@code
   *     first}
   * @param behind programs of the joined step's remaining other blocks
   */
  private Optional<BlockStep> behind(
      int input,
      ElementwiseBlock first,
      List<BlockProgram> before,
      List<BlockProgram> behind,
      Compositions compositions) {
    boolean readsPlaces = first.program.readsPlaces();
    if (readsPlaces && program.readsPlaces() && !origin.equals(first.origin)) {
      return Optional.empty();
    }
    List<double[]> allVectors = new ArrayList<>(first.vectors);
    allVectors.addAll(vectors);
    List<BlockProgram> others = new ArrayList<>(before);
    others.addAll(behind);
    return compositions
        .of(first.program, program, input)
        .map(
            both ->
                new ElementwiseBlock(
                    both, allVectors, readsPlaces ? first.origin : origin, others));
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    List<BlockProgram> others =
        otherBlocks.stream().flatMap(other -> other.repeated(count).stream()).toList();
    return vectors.isEmpty() && others.size() == otherBlocks.size()
        ? Optional.of(
            new ElementwiseBlock(
                program.repeated(), vectors, StepChecks.behindZero(origin), others))
        : Optional.empty();
  }

  @Override
  public boolean isPlanewise() {
    boolean dependsOnPlace = program.readsPlaces() || !vectors.isEmpty();
    boolean isComplex = program.inputs().get(0).isComplex() || program.outputs().get(0).isComplex();
    return !dependsOnPlace && !isComplex && otherBlocks.isEmpty();
  }

  /** Computes a block from this block and the other blocks, whose programs have run. */
  void run(
      HostElementwise host,
      Shape shape,
      long[] place,
      List<List<HostMemory>> inputs,
      List<HostMemory> output) {
    host.run(program, shape, place, vectors, inputs, List.of(output));
  }

  @Override
  public HostStep onHost(State before) {
    State after = after(before);
    List<List<HostStep>> firsts = otherBlocks.stream().map(HostProgram::steps).toList();
    long[] place = place();
    return array -> array.elementwise(this, place, firsts, after);
  }

  @Override
  public void lower(DeviceSteps device) {
    device.elementwise(this);
  }
}
