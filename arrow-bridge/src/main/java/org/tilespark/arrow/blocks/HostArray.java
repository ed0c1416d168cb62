package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.host.fourier.HostFourier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;

/**
 * An array on the CPU that steps change: one buffer per plane. A step that moves elements needs a
 * second array for a while. For one thread.
 */
public final class HostArray implements AutoCloseable {
  /** What all arrays of a pipeline share; borrowed. */
  record Machine(HostTransposer transposer, HostFourier fourier, BufferAllocator allocator) {}

  private final Machine machine;
  private State state;
  private List<ArrowBuf> buffers;

  /** An array all zero. */
  HostArray(Machine machine, State state) {
    this.machine = machine;
    this.state = state;
    this.buffers = allocate(state);
    planes().forEach(plane -> plane.fill((byte) 0));
  }

  private List<ArrowBuf> allocate(State of) {
    return Buffers.allocate(machine.allocator(), of.planes(), of.planeBytes());
  }

  /** What the array is now. */
  State state() {
    return state;
  }

  /** The buffers of its planes, which it owns. */
  List<ArrowBuf> buffers() {
    return buffers;
  }

  /** The values of a plane: 0 for values or real parts, 1 for imaginary parts. */
  HostMemory plane(int plane) {
    return Buffers.memory(buffers.get(plane), 0, state.planeBytes());
  }

  /** The values of all planes. */
  List<HostMemory> planes() {
    return memories(buffers, state);
  }

  private static List<HostMemory> memories(List<ArrowBuf> buffers, State state) {
    List<HostMemory> memories = new ArrayList<>();
    buffers.forEach(buffer -> memories.add(Buffers.memory(buffer, 0, state.planeBytes())));
    return memories;
  }

  /** Transforms it; in place where it stays complex. */
  void transform(FourierProblem problem, double scale, State after) {
    if (state.isComplex() && after.isComplex()) {
      machine.fourier().transform(problem, scale, planes(), planes());
    } else {
      into(after, result -> machine.fourier().transform(problem, scale, planes(), result));
    }
  }

  /** Reorders its axes. */
  void permute(Permutation permutation, State after) {
    TransposeProblem problem =
        new TransposeProblem(state.shape(), permutation, state.type().bytes());
    into(
        after,
        result -> {
          for (int p = 0; p < result.size(); p++) {
            machine.transposer().transpose(problem, plane(p), result.get(p));
          }
        });
  }

  /**
   * Moves boxes into another array.
   *
   * @param leavesGaps true if they do not cover the result, which is zero elsewhere
   */
  void move(List<Move> moves, boolean leavesGaps, State after) {
    into(
        after,
        result -> {
          if (leavesGaps) {
            result.forEach(plane -> plane.fill((byte) 0));
          }
          for (Move move : moves) {
            for (int p = 0; p < result.size(); p++) {
              copy(move, plane(p), result.get(p));
            }
          }
        });
  }

  /** Copies a box of planes with its type of elements. */
  void copy(Move move, HostMemory from, HostMemory to) {
    int width = state.type().bytes();
    TransposeProblem problem = move.problem(width);
    machine
        .transposer()
        .transpose(
            problem,
            from.slice(move.fromElement() * width, problem.inBytes()),
            to.slice(move.toElement() * width, problem.outBytes()));
  }

  /** Frees the imaginary parts. */
  void dropImaginary(State after) {
    buffers.get(1).close();
    buffers = List.of(buffers.get(0));
    state = after;
  }

  private void into(State after, Consumer<List<HostMemory>> fill) {
    List<ArrowBuf> result = allocate(after);
    try {
      fill.accept(memories(result, after));
    } catch (Throwable t) {
      Closing.all(result);
      throw t;
    }
    close();
    buffers = result;
    state = after;
  }

  @Override
  public void close() {
    Closing.all(buffers);
    buffers = List.of();
  }
}
