package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.memory.HostMemory;

/** The expected bits of programs without transforms, on planes of bytes. */
final class ExactPlanes {
  private ExactPlanes() {}

  /** The result of a program on the planes of its inputs, in their order. */
  static List<byte[]> result(BlockProgram program, Iterator<List<byte[]>> inputs) {
    List<byte[]> planes = inputs.next();
    State state = program.input();
    for (BlockStep step : program.steps()) {
      if (step instanceof ElementwiseBlock computed) {
        List<List<byte[]>> arrays = new ArrayList<>(List.of(planes));
        computed.otherBlocks().forEach(other -> arrays.add(result(other, inputs)));
        planes = computed(computed, state, arrays);
      } else {
        BlockProgram one =
            new BlockProgram(state.shape(), state.type(), state.isComplex(), List.of(step));
        planes = planes.stream().map(plane -> OracleArray.moved(one, plane)).toList();
      }
      state = step.after(state);
    }
    return planes;
  }

  /** An elementwise step on planes that are ready. */
  static List<byte[]> computed(ElementwiseBlock step, State before, List<List<byte[]>> arrays) {
    List<byte[]> result = new ArrayList<>();
    int width = step.program().types().get(step.program().outputs().get(0).real()).bytes();
    for (int p = 0; p < (step.program().outputs().get(0).isComplex() ? 2 : 1); p++) {
      result.add(new byte[Math.toIntExact(before.shape().elements() * width)]);
    }
    step.run(
        new HostElementwise(),
        before.shape(),
        step.place(),
        arrays.stream().map(ExactPlanes::memories).toList(),
        memories(result));
    return result;
  }

  private static List<HostMemory> memories(List<byte[]> planes) {
    return planes.stream().map(HostMemory::ofArray).toList();
  }

  /** The parts of each number side by side. */
  static byte[] interleaved(List<byte[]> planes, int width) {
    byte[] all = new byte[planes.size() * planes.get(0).length];
    for (int at = 0; at < all.length; at += width) {
      int number = at / width;
      byte[] plane = planes.get(number % planes.size());
      System.arraycopy(plane, number / planes.size() * width, all, at, width);
    }
    return all;
  }

  /** The planes of interleaved complex numbers. */
  static List<byte[]> planes(byte[] interleaved, int count, int width) {
    List<byte[]> planes = new ArrayList<>();
    for (int p = 0; p < count; p++) {
      byte[] plane = new byte[interleaved.length / count];
      for (int at = 0; at < plane.length; at += width) {
        System.arraycopy(interleaved, (at * count) + p * width, plane, at, width);
      }
      planes.add(plane);
    }
    return planes;
  }

  /** The first bytes of an array. */
  static byte[] first(byte[] array, long bytes) {
    return Arrays.copyOf(array, Math.toIntExact(bytes));
  }
}
