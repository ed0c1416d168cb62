package org.tilespark.arrow.arrays;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.arrays.ArrayStep.Crop;
import org.tilespark.arrow.arrays.ArrayStep.Fourier;
import org.tilespark.arrow.arrays.ArrayStep.KeepUpTo;
import org.tilespark.arrow.arrays.ArrayStep.Pad;
import org.tilespark.arrow.arrays.ArrayStep.Permute;
import org.tilespark.arrow.arrays.ArrayStep.Power;
import org.tilespark.arrow.arrays.ArrayStep.Roll;
import org.tilespark.arrow.arrays.ArrayStep.Scale;
import org.tilespark.arrow.arrays.ArrayStep.Subtract;
import org.tilespark.arrow.arrays.FourierChain.State;
import org.tilespark.arrow.arrays.FourierMoves.Move;
import org.tilespark.arrow.blocks.PermutePipeline.Plane;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.host.fourier.HostFourier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;

/**
 * The Fourier pipeline of an executor without a GPU, on the calling thread. An array lies in one
 * buffer per plane of an Arrow allocator; steps that change its shape need a second one for a
 * while. Parts of the result are copied out when they are taken.
 */
public final class HostFourierPipeline implements FourierPipeline {
  private final HostTransposer transposer;
  private final BufferAllocator allocator;
  private final PipelineListener listener;
  private final HostFourier fourier = new HostFourier();
  private FourierChain chain; // of the array being started; null if there is none
  private Planes filling;
  private final Deque<Result> done = new ArrayDeque<>();

  /** A pipeline in memory of {@code allocator}; borrows all three. */
  public HostFourierPipeline(
      HostTransposer transposer, BufferAllocator allocator, PipelineListener listener) {
    this.transposer = transposer;
    this.allocator = allocator;
    this.listener = listener;
  }

  /** The planes of an array. */
  private record Planes(State state, List<ArrowBuf> buffers) implements AutoCloseable {
    HostMemory memory(int plane) {
      return Buffers.memory(buffers.get(plane), 0, state.planeBytes());
    }

    List<HostMemory> memories() {
      List<HostMemory> memories = new ArrayList<>();
      for (int p = 0; p < buffers.size(); p++) {
        memories.add(memory(p));
      }
      return memories;
    }

    @Override
    public void close() {
      Closing.all(buffers);
    }
  }

  /** A result, and what of it is still to be taken. */
  private static final class Result {
    final Planes planes;
    final List<Part> parts;
    final Rooms rooms;
    int next; // part to be taken

    Result(Planes planes, List<Part> parts, Rooms rooms) {
      this.planes = planes;
      this.parts = List.copyOf(parts);
      this.rooms = rooms;
    }
  }

  @Override
  public int capacity() {
    return 1;
  }

  @Override
  public int inFlight() {
    return done.size();
  }

  @Override
  public void begin(FourierChain newChain) {
    if (chain != null) {
      throw new IllegalStateException("The array before was not run");
    }
    filling = buffers(newChain.input());
    filling.memories().forEach(plane -> plane.fill((byte) 0));
    chain = newChain;
  }

  @Override
  public void put(Part part, List<Plane> planes) {
    State state = filling.state();
    part.requirePlanes(planes, state);
    Move move = FourierMoves.put(part, state.shape());
    for (int p = 0; p < planes.size(); p++) {
      copy(move, planes.get(p).values(), filling.memory(p), state.type().bytes());
    }
  }

  @Override
  public void run(List<Part> outputs, Rooms rooms) {
    State result = chain.output();
    outputs.forEach(part -> part.requireInside(result.shape()));
    long start = System.nanoTime();
    List<State> states = chain.states();
    for (int i = 0; i < chain.steps().size(); i++) {
      step(chain.steps().get(i), states.get(i + 1));
    }
    listener.computed(System.nanoTime() - start);
    chain = null;
    if (outputs.isEmpty()) {
      filling.close();
    } else {
      done.add(new Result(filling, outputs, rooms));
    }
    filling = null;
  }

  /** One step, after which the array is {@code after}. */
  private void step(ArrayStep step, State after) {
    State before = filling.state();
    List<HostMemory> memories = filling.memories();
    if (step instanceof Fourier transform) {
      FourierProblem problem = transform.problem(before);
      if (before.isComplex() && after.isComplex()) {
        fourier.transform(problem, transform.scale(), memories, memories);
      } else {
        into(
            after,
            result -> fourier.transform(problem, transform.scale(), memories, result.memories()));
      }
    } else if (step instanceof Permute permute) {
      TransposeProblem problem =
          new TransposeProblem(before.shape(), permute.permutation(), before.type().bytes());
      into(
          after,
          result -> {
            for (int p = 0; p < memories.size(); p++) {
              transposer.transpose(problem, memories.get(p), result.memory(p));
            }
          });
    } else if (step instanceof Pad pad) {
      into(
          after,
          result -> {
            result.memories().forEach(plane -> plane.fill((byte) 0));
            move(List.of(FourierMoves.pad(before.shape(), pad)), result);
          });
    } else if (step instanceof Crop crop) {
      into(after, result -> move(List.of(FourierMoves.crop(before.shape(), crop)), result));
    } else if (step instanceof Roll roll) {
      if (!FourierMoves.isIdentity(before.shape(), roll)) {
        into(after, result -> move(FourierMoves.roll(before.shape(), roll), result));
      }
    } else if (step instanceof Subtract subtract) {
      HostPointwise.subtract(before, memories.get(0), subtract.real());
      if (before.isComplex()) {
        HostPointwise.subtract(before, memories.get(1), subtract.imag());
      }
    } else if (step instanceof Scale scale) {
      memories.forEach(plane -> HostPointwise.scale(before, plane, scale.factors()));
    } else if (step instanceof KeepUpTo keep) {
      memories.forEach(plane -> HostPointwise.keepUpTo(before, plane, keep.terms(), keep.limit()));
    } else if (step instanceof Power power) {
      HostPointwise.power(before, memories.get(0), memories.get(1), power.scale());
      filling.buffers().get(1).close();
      filling = new Planes(after, filling.buffers().subList(0, 1));
    } else {
      throw new IllegalArgumentException(step + ": it is not bound to a part");
    }
  }

  /** Makes the array that {@code fill} fills the one that is worked on. */
  private void into(State after, Consumer<Planes> fill) {
    Planes result = buffers(after);
    try {
      fill.accept(result);
    } catch (Throwable t) {
      result.close();
      throw t;
    }
    filling.close();
    filling = result;
  }

  private void move(List<Move> moves, Planes result) {
    for (Move move : moves) {
      for (int p = 0; p < filling.buffers().size(); p++) {
        copy(move, filling.memory(p), result.memory(p), result.state().type().bytes());
      }
    }
  }

  private void copy(Move move, HostMemory from, HostMemory to, int width) {
    TransposeProblem problem = move.problem(width);
    transposer.transpose(
        problem,
        from.slice(move.fromElement() * width, problem.inBytes()),
        to.slice(move.toElement() * width, problem.outBytes()));
  }

  private Planes buffers(State state) {
    return new Planes(state, Buffers.allocate(allocator, state.planes(), state.planeBytes()));
  }

  @Override
  public List<ArrowBuf> take() {
    Result result = done.element();
    Planes planes = result.planes;
    Part part = result.parts.get(result.next);
    List<HostMemory> room = part.requireRoom(result.rooms.of(result.next), planes.state());
    boolean isLast = ++result.next == result.parts.size();
    List<ArrowBuf> taken = List.of();
    if (!room.isEmpty()) {
      copyOut(planes, part, room);
    } else if (result.parts.size() == 1 && part.equals(Part.whole(planes.state().shape()))) {
      taken = planes.buffers(); // as it is
    } else {
      taken = copied(planes, part);
    }
    if (isLast) {
      done.remove();
      if (taken != planes.buffers()) {
        planes.close();
      }
    }
    return taken;
  }

  private List<ArrowBuf> copied(Planes planes, Part part) {
    long bytes = part.elements() * planes.state().type().bytes();
    List<ArrowBuf> copies = Buffers.allocate(allocator, planes.state().planes(), bytes);
    try {
      copyOut(planes, part, copies.stream().map(to -> Buffers.memory(to, 0, bytes)).toList());
      return copies;
    } catch (Throwable t) {
      Closing.all(copies);
      throw t;
    }
  }

  private void copyOut(Planes planes, Part part, List<HostMemory> to) {
    Move move = FourierMoves.take(part, planes.state().shape());
    for (int p = 0; p < to.size(); p++) {
      copy(move, planes.memory(p), to.get(p), planes.state().type().bytes());
    }
  }

  @Override
  public void close() {
    List<Planes> all = new ArrayList<>();
    if (filling != null) {
      all.add(filling);
    }
    done.forEach(result -> all.add(result.planes));
    done.clear();
    filling = null;
    chain = null;
    Closing.all(all);
  }
}
