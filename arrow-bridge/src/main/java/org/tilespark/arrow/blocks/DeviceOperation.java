package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.pointwise.PointwiseProgram;
import org.tilespark.kernels.pointwise.PointwiseProgram.End;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;

/** One thing a device does, on an array that is {@code before} it and {@code after} it. */
interface DeviceOperation {
  /**
   * What an operation has to work with.
   *
   * @param from holds the array before
   * @param to holds the array after; the same buffer if the operation is in place
   * @param area for work
   * @param vectors those of all operations
   * @param vectorsOffset bytes in front of this operation's
   */
  record Work(
      DeviceMachine machine,
      DeviceBuffer from,
      DeviceBuffer to,
      DeviceBuffer area,
      DeviceBuffer vectors,
      long vectorsOffset,
      CudaStream stream) {}

  /** What the array is before it. */
  State before();

  /** What the array is after it. */
  State after();

  /** True if the array stays in its buffer. */
  default boolean isInPlace() {
    return false;
  }

  /**
   * Bytes of the work area.
   *
   * @param ofTransform those that a transform really needs
   */
  default long workBytes(ToLongFunction<Transform> ofTransform) {
    return 0;
  }

  /** Vectors that it reads, back to back. */
  default List<double[]> vectors() {
    return List.of();
  }

  /** Queues it. */
  void enqueue(Work work);

  /** Bytes of an element, complex or real. */
  private static int width(State state) {
    return state.type().bytes() * state.planes();
  }

  /**
   * A transform by cuFFT; no factor.
   *
   * @param workLimit the bytes its work area should not exceed
   */
  record Transform(FourierProblem problem, State before, State after, long workLimit)
      implements DeviceOperation {
    @Override
    public boolean isInPlace() {
      return before.isComplex() && after.isComplex();
    }

    @Override
    public long workBytes(ToLongFunction<Transform> ofTransform) {
      return ofTransform.applyAsLong(this);
    }

    @Override
    public void enqueue(Work work) {
      work.machine()
          .fourier()
          .transform(
              work.machine().fourier().plan(problem, workLimit),
              work.from(),
              work.to(),
              work.area(),
              work.stream());
    }
  }

  /** Axes in another order. */
  record Reorder(Permutation permutation, State before, State after) implements DeviceOperation {
    @Override
    public void enqueue(Work work) {
      TransposeProblem problem = new TransposeProblem(before.shape(), permutation, width(before));
      work.machine().transposer().enqueue(problem, work.from(), 0, work.to(), 0, work.stream());
    }
  }

  /**
   * Copies of boxes.
   *
   * @param leavesGaps true if they do not cover the result, which is zero elsewhere
   */
  record Moves(List<Move> moves, boolean leavesGaps, State before, State after)
      implements DeviceOperation {
    @Override
    public void enqueue(Work work) {
      int width = width(before);
      if (leavesGaps) {
        work.stream().fill(work.to(), (byte) 0);
      }
      List<DeviceTransposer.Part> boxes = new ArrayList<>();
      for (Move move : moves) {
        boxes.add(
            new DeviceTransposer.Part(
                move.problem(width), move.fromElement() * width, move.toElement() * width));
      }
      work.machine().transposer().enqueueAll(boxes, work.from(), work.to(), work.stream());
    }
  }

  /** Steps that treat each element by itself. */
  record Pointwise(PointwiseProgram program, State before, State after) implements DeviceOperation {
    @Override
    public boolean isInPlace() {
      return program.end() == End.SAME;
    }

    @Override
    public List<double[]> vectors() {
      return program.vectors();
    }

    @Override
    public void enqueue(Work work) {
      work.machine()
          .passes()
          .pointwise(
              program, work.vectors(), work.vectorsOffset(), work.from(), work.to(), work.stream());
    }
  }
}
