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

/**
 * The pipeline of an executor without a GPU, on the calling thread, see {@link HostArray}. An array
 * that comes as one part is read where it lies, and a result that is one part goes into its room
 * with the last step; other parts are copied out when they are taken.
 */
public final class HostBlockPipeline implements BlockPipeline {
  /** Bytes of results that may wait until they are taken. */
  private static final long AHEAD_BYTES = 4 << 20;

  private final HostArray.Machine machine;
  private final PipelineListener listener;
  private BlockProgram program; // of the array being started; null if there is none
  private HostArray filling;
  private final Deque<Result> done = new ArrayDeque<>();
  private long doneBytes; // of these

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
    final boolean isPlaced; // it is one part, and where it goes
    final Rooms rooms;
    int next; // part to be taken

    Result(HostArray array, List<Part> parts, Rooms rooms, boolean isPlaced) {
      this.array = array;
      this.parts = List.copyOf(parts);
      this.isPlaced = isPlaced;
      this.rooms = rooms;
    }
  }

  @Override
  public boolean isFull() {
    return doneBytes >= AHEAD_BYTES;
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
    program = newProgram;
  }

  @Override
  public void put(Part part, List<Plane> planes) {
    State state = program.input();
    part.requirePlanes(planes, state);
    if (filling == null) {
      filling = HostArray.zero(machine, state);
    }
    Move move = BoxMoves.put(part, state.shape());
    for (int p = 0; p < planes.size(); p++) {
      filling.copy(move, planes.get(p).values(), filling.planes().get(p));
    }
  }

  @Override
  public void putWhole(List<Plane> planes) {
    State state = program.input();
    Part.whole(state.shape()).requirePlanes(planes, state);
    filling = HostArray.reading(machine, state, planes);
  }

  @Override
  public void run(List<Part> outputs, Rooms rooms) {
    State output = program.output();
    outputs.forEach(part -> part.requireInside(output.shape()));
    if (filling == null) { // nothing was put
      filling = HostArray.zero(machine, program.input());
    }
    // Rooms are asked for in the order of results: not before those of earlier ones.
    boolean isPlaced =
        outputs.equals(List.of(Part.whole(output.shape())))
            && done.stream().allMatch(result -> result.isPlaced);
    List<HostMemory> room = isPlaced ? outputs.get(0).requireRoom(rooms.of(0), output) : List.of();
    long start = System.nanoTime();
    int last = program.steps().size() - 1;
    for (int i = 0; i <= last; i++) {
      filling.lastInto(i == last ? room : List.of());
      program.steps().get(i).onHost(filling);
    }
    filling.lastInto(room);
    filling.settle();
    listener.computed(System.nanoTime() - start);
    program = null;
    if (outputs.isEmpty()) {
      filling.close();
    } else {
      done.add(new Result(filling, outputs, rooms, isPlaced));
      doneBytes += output.bytes();
    }
    filling = null;
  }

  @Override
  public List<ArrowBuf> take() {
    Result result = done.element();
    HostArray array = result.array;
    Part part = result.parts.get(result.next);
    if (result.isPlaced) {
      remove(array);
      return array.buffers();
    }
    List<HostMemory> room = part.requireRoom(result.rooms.of(result.next), array.state());
    List<ArrowBuf> taken = room.isEmpty() ? copied(array, part) : List.of();
    copyOut(array, part, room);
    if (++result.next == result.parts.size()) {
      remove(array);
      array.close();
    }
    return taken;
  }

  private void remove(HostArray array) {
    done.remove();
    doneBytes -= array.state().bytes();
  }

  private List<ArrowBuf> copied(HostArray array, Part part) {
    long bytes = part.elements() * array.state().type().bytes();
    List<ArrowBuf> copies = Buffers.allocate(machine.allocator(), array.state().planes(), bytes);
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
      array.copy(move, array.planes().get(p), to.get(p));
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
