package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.function.BiConsumer;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.host.HostReducer;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.host.fourier.HostFourier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;

/**
 * An array on the CPU that steps change. Its values are in its own buffers, one per plane, or
 * temporarily in borrowed memory that it only reads. A step works in place if it can and the array
 * owns the memory; otherwise it writes to new memory. For one thread.
 */
public final class HostArray implements AutoCloseable {
  /** Resources that all arrays of a pipeline share; borrowed. */
  record Machine(
      HostTransposer transposer,
      HostFourier fourier,
      HostElementwise elementwise,
      HostReducer reducer,
      BufferAllocator allocator) {}

  private final Machine machine;
  private State state;
  private List<HostMemory> planes;
  // Buffers of the planes; empty if the array does not own their memory
  private List<ArrowBuf> buffers;
  private List<ArrowBuf> read; // owners of memory that is only read
  private List<HostMemory> target = List.of(); // for the next step's result; empty if none
  private Queue<HostArray> waiting = new ArrayDeque<>(); // further arrays that the next steps take

  private HostArray(
      Machine machine,
      State state,
      List<HostMemory> planes,
      List<ArrowBuf> buffers,
      List<ArrowBuf> read) {
    this.machine = machine;
    this.state = state;
    this.planes = planes;
    this.buffers = buffers;
    this.read = read;
  }

  /** An array of zeros. */
  static HostArray zero(Machine machine, State state) {
    List<ArrowBuf> buffers = allocate(machine, state);
    List<HostMemory> planes = memories(buffers, state);
    planes.forEach(plane -> plane.fill((byte) 0));
    return new HostArray(machine, state, planes, buffers, List.of());
  }

  /**
   * An array that reads planes without writing them; their memory must stay valid until {@link
   * #settle}, unless it has an owner, which is retained.
   */
  static HostArray reading(Machine machine, State state, List<Plane> planes) {
    List<ArrowBuf> owners = new ArrayList<>();
    List<HostMemory> values = new ArrayList<>();
    for (Plane plane : planes) {
      plane.owner().ifPresent(owners::add);
      values.add(plane.values());
    }
    owners.forEach(owner -> owner.getReferenceManager().retain());
    return new HostArray(machine, state, values, List.of(), owners);
  }

  private static List<ArrowBuf> allocate(Machine machine, State state) {
    return Buffers.allocate(machine.allocator(), state.planes(), state.planeBytes());
  }

  private static List<HostMemory> memories(List<ArrowBuf> buffers, State state) {
    List<HostMemory> memories = new ArrayList<>();
    buffers.forEach(buffer -> memories.add(Buffers.memory(buffer, 0, state.planeBytes())));
    return memories;
  }

  /** The array's present state. */
  State state() {
    return state;
  }

  /** The buffers of the planes, which this array owns; empty if it does not own their memory. */
  List<ArrowBuf> buffers() {
    return buffers;
  }

  /** The array's planes: its values, or its real parts and then its imaginary parts. */
  List<HostMemory> planes() {
    return planes;
  }

  /**
   * Runs steps; afterwards this array borrows no memory.
   *
   * @param others further arrays that steps take, in this order
   * @param room destination of the result, one range per plane; if empty, the result goes to this
   *     array's own buffers
   */
  void run(List<HostStep> steps, Queue<HostArray> others, List<HostMemory> room) {
    waiting = others;
    int last = steps.size() - 1;
    for (int i = 0; i <= last; i++) {
      target = i == last ? room : List.of();
      steps.get(i).on(this);
    }
    target = room;
    if (target.isEmpty() ? buffers.isEmpty() : planes != target) {
      into(state, HostArray::copyAll);
    }
  }

  /**
   * Computes each element from this array and from the waiting further arrays.
   *
   * @param place index of the first element in the whole array
   * @param firsts for each of these arrays, the steps that run on it before this one
   */
  void elementwise(ElementwiseBlock step, long[] place, List<List<HostStep>> firsts, State after) {
    List<HostArray> others = new ArrayList<>();
    try {
      for (List<HostStep> first : firsts) {
        HostArray other = waiting.remove();
        others.add(other);
        other.waiting = waiting;
        first.forEach(each -> each.on(other));
      }
      BiConsumer<List<HostMemory>, List<HostMemory>> work =
          (from, to) -> {
            List<List<HostMemory>> inputs = new ArrayList<>(List.of(from));
            others.forEach(other -> inputs.add(other.planes));
            step.run(machine.elementwise(), after.shape(), place, inputs, to);
          };
      if (after.planes() <= state.planes() && after.planeBytes() == state.planeBytes()) {
        update(after, work);
      } else {
        into(after, work);
      }
    } finally {
      Closing.all(others);
    }
  }

  /** The resources that the arrays of this array's pipeline share. */
  Machine machine() {
    return machine;
  }

  private static void copyAll(List<HostMemory> from, List<HostMemory> to) {
    for (int plane = 0; plane < to.size(); plane++) {
      from.get(plane).copyTo(to.get(plane));
    }
  }

  /**
   * Runs a step that can work in place.
   *
   * @param after the array's state after the step, with planes of the same length as before, and
   *     not more of them
   * @param work computes the planes of the result from the array's planes; both may be the same
   *     memory
   */
  void update(State after, BiConsumer<List<HostMemory>, List<HostMemory>> work) {
    if (buffers.isEmpty() || !target.isEmpty()) {
      into(after, work);
      return;
    }
    work.accept(planes, planes.subList(0, after.planes()));
    Closing.all(buffers.subList(after.planes(), buffers.size()));
    buffers = List.copyOf(buffers.subList(0, after.planes()));
    planes = List.copyOf(planes.subList(0, after.planes()));
    state = after;
  }

  /**
   * Runs a step from one memory to another.
   *
   * @param work computes the planes of the result, which are not initialised, from the array's
   *     planes
   */
  void into(State after, BiConsumer<List<HostMemory>, List<HostMemory>> work) {
    List<ArrowBuf> owned = target.isEmpty() ? allocate(machine, after) : List.of();
    List<HostMemory> result = target.isEmpty() ? memories(owned, after) : target;
    try {
      work.accept(planes, result);
    } catch (Throwable t) {
      Closing.all(owned);
      throw t;
    }
    close();
    buffers = owned;
    planes = result;
    state = after;
  }

  /** Transforms this array; in place if it stays complex. */
  void transform(FourierProblem problem, double scale, State after) {
    BiConsumer<List<HostMemory>, List<HostMemory>> work =
        (from, to) -> machine.fourier().transform(problem, scale, from, to);
    if (state.isComplex() && after.isComplex()) {
      update(after, work);
    } else {
      if (state.isComplex() && buffers.isEmpty()) {
        copy(); // the transform writes to its input
      }
      into(after, work);
    }
  }

  /** Copies this array into buffers of its own. */
  private void copy() {
    List<HostMemory> last = target;
    target = List.of();
    into(state, HostArray::copyAll);
    target = last;
  }

  /** Permutes the axes of this array. */
  void permute(HostTransposer.Ready transpose, State after) {
    into(
        after,
        (from, to) -> {
          for (int p = 0; p < to.size(); p++) {
            machine.transposer().transpose(transpose, from.get(p), to.get(p));
          }
        });
  }

  /**
   * Moves boxes of this array into a new one, which takes its place.
   *
   * @param leavesGaps true if the boxes do not cover the result, whose other elements are zero
   */
  void move(List<Move> moves, boolean leavesGaps, State after) {
    into(
        after,
        (from, to) -> {
          if (leavesGaps) {
            to.forEach(plane -> plane.fill((byte) 0));
          }
          for (Move move : moves) {
            for (int p = 0; p < to.size(); p++) {
              copy(move, from.get(p), to.get(p));
            }
          }
        });
  }

  /** Copies a box from one plane to another; the elements have this array's type. */
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

  @Override
  public void close() {
    List<ArrowBuf> held = new ArrayList<>(buffers);
    held.addAll(read);
    buffers = List.of();
    read = List.of();
    Closing.all(held);
  }
}
