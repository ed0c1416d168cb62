package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.host.fourier.HostFourier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;

/**
 * The Fourier pipeline of an executor without a GPU, on the calling thread. An array lies in one
 * buffer per plane of an Arrow allocator; steps that change its shape need a second one for a
 * while. Parts of the result are copied out when they are taken.
 */
public final class HostBlockPipeline implements BlockPipeline {
  private final HostArray.Machine machine;
  private final PipelineListener listener;
  private BlockProgram program; // of the array being started; null if there is none
  private HostArray filling;
  private final Deque<Result> done = new ArrayDeque<>();

  /** A pipeline in memory of {@code allocator}; borrows all three. */
  public HostBlockPipeline(
      HostTransposer transposer, BufferAllocator allocator, PipelineListener listener) {
    this.machine = new HostArray.Machine(transposer, new HostFourier(), allocator);
    this.listener = listener;
  }

  /** A result, and what of it is still to be taken. */
  private static final class Result {
    final HostArray array;
    final List<Part> parts;
    final Rooms rooms;
    int next; // part to be taken

    Result(HostArray array, List<Part> parts, Rooms rooms) {
      this.array = array;
      this.parts = List.copyOf(parts);
      this.rooms = rooms;
    }
  }

  @Override
  public boolean isFull() {
    return !done.isEmpty();
  }

  @Override
  public int inFlight() {
    return done.size();
  }

  @Override
  public void begin(BlockProgram newProgram) {
    if (program != null) {
      throw new IllegalStateException("The array before was not run");
    }
    filling = new HostArray(machine, newProgram.input());
    program = newProgram;
  }

  @Override
  public void put(Part part, List<Plane> planes) {
    State state = filling.state();
    part.requirePlanes(planes, state);
    Move move = BoxMoves.put(part, state.shape());
    for (int p = 0; p < planes.size(); p++) {
      filling.copy(move, planes.get(p).values(), filling.plane(p));
    }
  }

  @Override
  public void run(List<Part> outputs, Rooms rooms) {
    Shape result = program.output().shape();
    outputs.forEach(part -> part.requireInside(result));
    long start = System.nanoTime();
    program.steps().forEach(step -> step.onHost(filling));
    listener.computed(System.nanoTime() - start);
    program = null;
    if (outputs.isEmpty()) {
      filling.close();
    } else {
      done.add(new Result(filling, outputs, rooms));
    }
    filling = null;
  }

  @Override
  public List<ArrowBuf> take() {
    Result result = done.element();
    HostArray array = result.array;
    Part part = result.parts.get(result.next);
    List<HostMemory> room = part.requireRoom(result.rooms.of(result.next), array.state());
    boolean isLast = ++result.next == result.parts.size();
    List<ArrowBuf> taken = List.of();
    if (!room.isEmpty()) {
      copyOut(array, part, room);
    } else if (result.parts.size() == 1 && part.equals(Part.whole(array.state().shape()))) {
      taken = array.buffers(); // as it is
    } else {
      taken = copied(array, part);
    }
    if (isLast) {
      done.remove();
      if (taken != array.buffers()) {
        array.close();
      }
    }
    return taken;
  }

  private List<ArrowBuf> copied(HostArray array, Part part) {
    long bytes = part.elements() * array.state().type().bytes();
    List<ArrowBuf> copies =
        Buffers.allocate(machine.allocator(), array.state().planes(), bytes);
    try {
      copyOut(array, part, copies.stream().map(to -> Buffers.memory(to, 0, bytes)).toList());
      return copies;
    } catch (Throwable t) {
      Closing.all(copies);
      throw t;
    }
  }

  private static void copyOut(HostArray array, Part part, List<HostMemory> to) {
    Move move = BoxMoves.take(part, array.state().shape());
    for (int p = 0; p < to.size(); p++) {
      array.copy(move, array.plane(p), to.get(p));
    }
  }

  @Override
  public void close() {
    List<HostArray> all = new ArrayList<>();
    if (filling != null) {
      all.add(filling);
    }
    done.forEach(result -> all.add(result.array));
    done.clear();
    filling = null;
    program = null;
    Closing.all(all);
  }
}
