package org.tilespark.arrow.blocks;

import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.Box;

/**
 * One step of a {@link BlockProgram}, with both its twins. Vectors, one per axis, come outermost
 * axis first, each as long as that axis of the block; what depends on the place of a block in the
 * whole array is in these vectors.
 */
public interface BlockStep extends ArrayStep {
  /** Programs of further blocks that this step takes, in their order. */
  default List<BlockProgram> otherBlocks() {
    return List.of();
  }

  /**
   * This step on the CPU.
   *
   * @param before the arrays that it is made ready for
   */
  HostStep onHost(State before);

  /**
   * This step on {@code count} consecutive arrays, as one step on one array with a leading axis of
   * that extent; empty if it takes vectors, which hardly two arrays share.
   */
  Optional<BlockStep> repeated(long count);

  /**
   * True if it treats each plane of complex numbers separately, or takes and gives real numbers,
   * and takes any slice of an array.
   */
  default boolean isPlanewise() {
    return false;
  }

  /**
   * This step and the next one as one step, if one can do both and gives the same bits.
   *
   * @param compositions composes two elementwise programs
   */
  default Optional<BlockStep> then(BlockStep next, Compositions compositions) {
    return Optional.empty();
  }

  /** This step with what becomes of its other blocks last, as far as it can do that itself. */
  default BlockStep withOthersTakenIn(Compositions compositions) {
    return this;
  }

  /** The elementwise step that this is, if it is one. */
  default Optional<ElementwiseBlock> asElementwise() {
    return Optional.empty();
  }

  /** Adds a device's operations for this step. */
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
