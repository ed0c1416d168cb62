package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.arrow.blocks.DeviceOperation.Compute;
import org.tilespark.arrow.blocks.DeviceOperation.Moves;
import org.tilespark.arrow.blocks.DeviceOperation.Reorder;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;

/**
 * A device's plan, played through on the host: what each operation does, in buffers of the bytes
 * that the plan has for them. What is not written holds other bits.
 */
final class PlayedProgram {
  private final List<byte[]> buffers = new ArrayList<>();

  private PlayedProgram(List<Long> bytes) {
    for (long each : bytes) {
      byte[] buffer = new byte[Math.toIntExact(each)];
      Arrays.fill(buffer, (byte) -1);
      buffers.add(buffer);
    }
  }

  /**
   * The result, with complex numbers interleaved; the factor is not applied.
   *
   * @param bytes bytes of the buffers
   * @param inputs inputs in the layout of a device
   */
  static byte[] result(DeviceProgram plan, List<Long> bytes, List<byte[]> inputs) {
    PlayedProgram played = new PlayedProgram(bytes);
    for (int i = 0; i < inputs.size(); i++) {
      byte[] input = inputs.get(i);
      System.arraycopy(input, 0, played.buffers.get(i), 0, input.length);
    }
    State last = plan.program().input();
    try (HostTransposer transposer = new HostTransposer()) {
      for (DeviceProgram.Step step : plan.steps()) {
        played.play(step, transposer);
        last = step.operation().after();
      }
    }
    byte[] result = played.buffers.get(plan.result());
    return plan.steps().isEmpty()
        ? ExactPlanes.first(result, inputs.get(0).length)
        : ExactPlanes.first(result, last.bytes());
  }

  private void play(DeviceProgram.Step step, HostTransposer transposer) {
    byte[] from = buffers.get(step.from().get(0));
    byte[] to = buffers.get(step.to());
    if (step.area() != step.to()) {
      Arrays.fill(buffers.get(step.area()), (byte) -1);
    }
    DeviceOperation operation = step.operation();
    if (operation instanceof Reorder reorder) {
      TransposeProblem problem =
          new TransposeProblem(
              reorder.before().shape(), reorder.permutation(), width(reorder.before()));
      move(transposer, problem, from, 0, to, 0);
    } else if (operation instanceof Moves moves) {
      if (moves.leavesGaps()) {
        Arrays.fill(to, (byte) 0);
      }
      int width = width(moves.before());
      for (Move move : moves.moves()) {
        long fromByte = move.fromElement() * width;
        move(transposer, move.problem(width), from, fromByte, to, move.toElement() * width);
      }
    } else if (operation instanceof Compute compute) {
      List<List<byte[]>> arrays = new ArrayList<>();
      for (int i = 0; i < step.from().size(); i++) {
        arrays.add(planes(buffers.get(step.from().get(i)), compute.operands().get(i)));
      }
      List<byte[]> result = ExactPlanes.computed(compute.step(), compute.operands().get(0), arrays);
      store(ExactPlanes.interleaved(result, compute.after().type().bytes()), to);
    } else {
      transform((Transform) operation, from, to);
    }
  }

  private static void transform(Transform transform, byte[] from, byte[] to) {
    FourierProblem problem = transform.problem();
    boolean isReal = problem.kind() == Kind.REAL_TO_HALF || problem.kind() == Kind.HALF_TO_REAL;
    Fourier step =
        new Fourier(
            problem.axes(),
            isReal ? Form.REAL : Form.COMPLEX,
            problem.kind().isInverse() ? Direction.INVERSE : Direction.FORWARD,
            problem.realExtent(),
            1);
    List<byte[]> planes = planes(from, transform.before());
    OracleArray result =
        OracleArray.ofBytes(transform.before().shape(), transform.before().type(), planes)
            .after(step);
    List<byte[]> bytes = PipelineFixture.bytes(result, transform.after().type());
    store(ExactPlanes.interleaved(bytes, transform.after().type().bytes()), to);
  }

  private static void move(
      HostTransposer transposer,
      TransposeProblem problem,
      byte[] from,
      long fromByte,
      byte[] to,
      long toByte) {
    transposer.transpose(
        problem,
        HostMemory.ofArray(from).slice(fromByte, problem.inBytes()),
        HostMemory.ofArray(to).slice(toByte, problem.outBytes()));
  }

  private static List<byte[]> planes(byte[] buffer, State state) {
    return ExactPlanes.planes(
        ExactPlanes.first(buffer, state.bytes()), state.planes(), state.type().bytes());
  }

  private static void store(byte[] result, byte[] to) {
    System.arraycopy(result, 0, to, 0, result.length);
  }

  private static int width(State state) {
    return state.type().bytes() * state.planes();
  }
}
