package org.tilespark.arrow.blocks;

import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.Shape;

/**
 * {@link Elementwise} on a block.
 *
 * @param program whose first input is the block, whose others are {@code otherBlocks}, and which has
 *     one output
 * @param vectors one for each of the program's, as long as the block along its axis
 * @param origin of the block's first element in the whole array, one number per axis
 * @param otherBlocks what becomes of the other blocks first
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

  @Override
  public State after(State before) {
    StepChecks.requireVectors(program.vectors(), vectors, before.shape());
    List<State> others = otherBlocks.stream().map(BlockProgram::output).toList();
    return StepChecks.computed(program, before, others);
  }

  /** The first element in the whole array. */
  long[] place() {
    return origin.stream().mapToLong(Long::longValue).toArray();
  }

  /** Computes a block from blocks that are ready. */
  void run(
      HostElementwise host, Shape shape, List<List<HostMemory>> inputs, List<HostMemory> output) {
    host.run(program, shape, place(), vectors, inputs, List.of(output));
  }

  @Override
  public void onHost(HostArray array) {
    array.elementwise(this, after(array.state()));
  }

  @Override
  public void lower(DeviceSteps device) {
    device.elementwise(this);
  }
}
