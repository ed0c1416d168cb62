package org.tilespark.arrow.blocks;

import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.Box;

/**
 * One step of a {@link BlockProgram}, with its implementations on the CPU and on a device. Vectors,
 * one per axis, are ordered from the outermost axis on, each as long as that axis of the block;
 * they carry all numbers that depend on the block's place in the whole array.
 */
public interface BlockStep extends ArrayStep {
  /** Programs of the further blocks that this step takes, in order. */
  default List<BlockProgram> otherBlocks() {
    return List.of();
  }

  /**
   * This step on the CPU.
   *
   * @param before shape and type of the arrays that the step will run on
   */
  HostStep onHost(State before);

  /**
   * This step on {@code count} consecutive arrays, as one step on one array with a leading axis of
   * that extent; empty if it takes vectors, since two arrays rarely have equal ones.
   */
  Optional<BlockStep> repeated(long count);

  /**
   * True if this step works on any slice of an array, and either treats each plane of complex
   * numbers separately or takes and gives real numbers.
   */
  default boolean isPlanewise() {
    return false;
  }

  /**
   * This step and the next one as one step, if a single step can give the same bits.
   *
   * @param compositions composes two elementwise programs
   */
  default Optional<BlockStep> then(BlockStep next, Compositions compositions) {
    return Optional.empty();
  }

  /**
   * This step joined with the last steps of its other blocks' programs, as far as it can run those
   * itself.
   */
  default BlockStep withOthersTakenIn(Compositions compositions) {
    return this;
  }

  /** This step as an elementwise step, if it is one. */
  default Optional<ElementwiseBlock> asElementwise() {
    return Optional.empty();
  }

  /** Adds the operations for this step to a device's plan. */
  void lower(DeviceSteps device);

  @Override
  default boolean isBatched() {
    return repeated(1).isPresent();
  }

  @Override
  default boolean dependsOnPlace() {
    return false;
  }

  @Override
  default BlockStep onPart(State before, Box part, Given given) {
    return this;
  }
}
