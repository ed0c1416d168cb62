package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;

/** An operation on a device, which computes one array from one or more operands. */
interface DeviceOperation {
  /**
   * Operands, result and memory of an operation.
   *
   * @param from buffers of the operands
   * @param to buffer of the result; the buffer of an operand if {@link #inPlace} says so
   * @param area buffer of the work area
   * @param vectors buffer with the vectors of all operations
   * @param vectorsOffset offset of this operation's vectors in that buffer, in bytes
   */
  record Work(
      DeviceMachine machine,
      List<DeviceBuffer> from,
      DeviceBuffer to,
      DeviceBuffer area,
      DeviceBuffer vectors,
      long vectorsOffset,
      CudaStream stream) {
    /** The buffer of the first operand. */
    DeviceBuffer first() {
      return from.get(0);
    }
  }

  /** The state of the result. */
  State after();

  /**
   * The number of the operand whose buffer is overwritten with the result; empty if the result
   * needs another buffer.
   */
  default OptionalInt inPlace() {
    return OptionalInt.empty();
  }

  /**
   * Bytes of the work area that this operation needs.
   *
   * @param ofTransform bytes that cuFFT needs for a transform
   */
  default long workBytes(ToLongFunction<Transform> ofTransform) {
    return 0;
  }

  /** Vectors that this operation reads; on the device they follow each other without gaps. */
  default List<double[]> vectors() {
    return List.of();
  }

  /** Queues this operation on the device. */
  void enqueue(Work work);

  /** Bytes of an element, complex or real. */
  private static int width(State state) {
    return state.type().bytes() * state.planes();
  }

  /**
   * A transform by cuFFT, without a factor.
   *
   * @param workLimit most bytes that its work area should have
   */
  record Transform(FourierProblem problem, State before, State after, long workLimit)
      implements DeviceOperation {
    @Override
    public OptionalInt inPlace() {
      return before.isComplex() && after.isComplex() ? OptionalInt.of(0) : OptionalInt.empty();
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
              work.first(),
              work.to(),
              work.area(),
              work.stream());
    }
  }

  /** Permutes the axes of its operand. */
  record Reorder(Permutation permutation, State before, State after) implements DeviceOperation {
    @Override
    public void enqueue(Work work) {
      TransposeProblem problem = new TransposeProblem(before.shape(), permutation, width(before));
      work.machine().transposer().enqueue(problem, work.first(), 0, work.to(), 0, work.stream());
    }
  }

  /**
   * Copies boxes of its operand into the result.
   *
   * @param leavesGaps true if the copies do not cover the result, whose other elements are zero
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
      work.machine().transposer().enqueueAll(boxes, work.first(), work.to(), work.stream());
    }
  }

  /**
   * Computes each element from the elements at the same place.
   *
   * @param step the step to compute; the programs of its other blocks have run before
   * @param operands states of the step's block and of its other blocks
   */
  record Compute(ElementwiseBlock step, List<State> operands, State after)
      implements DeviceOperation {
    /** Copies the list. */
    public Compute {
      operands = List.copyOf(operands);
    }

    ElementwiseProgram program() {
      return step.program();
    }

    @Override
    public OptionalInt inPlace() {
      return IntStream.range(0, operands.size())
          .filter(operand -> program().inputs().get(operand).broadcast().isEmpty())
          .filter(operand -> width(operands.get(operand)) == width(after))
          .findFirst();
    }

    @Override
    public List<double[]> vectors() {
      return step.vectors();
    }

    @Override
    public void enqueue(Work work) {
      List<At> vectors = new ArrayList<>();
      long offset = work.vectorsOffset();
      for (double[] vector : step.vectors()) {
        vectors.add(new At(work.vectors(), offset));
        offset += (long) vector.length * Double.BYTES;
      }
      work.machine()
          .elementwise()
          .run(
              program(),
              after.shape(),
              step.place(),
              vectors,
              work.from().stream().map(buffer -> new At(buffer, 0)).toList(),
              List.of(new At(work.to(), 0)),
              work.stream());
    }
  }

  /** Runs a step of several passes. */
  record Calculate(Calculation calculation, State after) implements DeviceOperation {
    @Override
    public long workBytes(ToLongFunction<Transform> ofTransform) {
      return new DeviceCalculation(calculation).workBytes();
    }

    @Override
    public void enqueue(Work work) {
      new DeviceCalculation(calculation).enqueue(work);
    }
  }
}
