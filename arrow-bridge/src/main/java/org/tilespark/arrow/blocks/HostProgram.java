package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram.State;

/**
 * A program made ready for the CPU: what arrays of equal programs share is computed once. For one
 * thread.
 *
 * @param inputs states of all input arrays
 * @param wholes for each input, the part that is all of it
 * @param steps the steps, first to last
 * @param output state of the result
 * @param whole the part that is all of the result
 */
record HostProgram(
    BlockProgram program,
    List<State> inputs,
    List<Part> wholes,
    List<HostStep> steps,
    State output,
    Part whole) {

  static HostProgram of(BlockProgram program) {
    List<State> inputs = program.inputs();
    State output = program.output();
    return new HostProgram(
        program,
        inputs,
        inputs.stream().map(input -> Part.whole(input.shape())).toList(),
        steps(program),
        output,
        Part.whole(output.shape()));
  }

  /** The steps of a program, each prepared for the result of the previous one. */
  static List<HostStep> steps(BlockProgram program) {
    List<State> states = program.states();
    List<HostStep> steps = new ArrayList<>();
    for (int i = 0; i < program.steps().size(); i++) {
      steps.add(program.steps().get(i).onHost(states.get(i)));
    }
    return List.copyOf(steps);
  }
}
