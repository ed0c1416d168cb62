package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.host.HostReducer;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.host.fourier.HostFourier;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The pipeline of an executor without a GPU, on the calling thread, see {@link HostArray}. An array
 * that is put as one part is read in place, and the last step writes a result of one part directly
 * to its room; other parts are copied out when they are taken.
 */
public final class HostBlockPipeline implements BlockPipeline {
  /** Most bytes of results that may wait to be taken. */
  private static final long AHEAD_BYTES = 4 << 20;

  private final HostArray.Machine machine;
  private final PipelineListener listener;
  private HostProgram program; // program of the last array that began; null before the first
  private boolean isFilling; // between begin and run
  private final List<HostArray> filling = new ArrayList<>(); // inputs; null before they are put
  private final Deque<Result> done = new ArrayDeque<>();
  private long doneBytes; // bytes of the results in done
  private int unplaced; // count of results in done that are not placed

  /** A pipeline in memory of {@code allocator}; borrows all three arguments. */
  public HostBlockPipeline(
      HostTransposer transposer, BufferAllocator allocator, PipelineListener listener) {
    this.machine =
        new HostArray.Machine(
            transposer, new HostFourier(), new HostElementwise(), new HostReducer(), allocator);
    this.listener = listener;
  }

  /** A result, and its parts that are still to be taken. */
  private static final class Result {
    final HostArray array;
    final List<Part> parts;
    final boolean isPlaced; // it is one part, in its room or in buffers to hand out
    final Rooms rooms;
    int next; // number of the part to be taken next

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
    if (isFilling) {
      throw new IllegalStateException("The array before was not run");
    }
    if (program == null || !program.program().equals(newProgram)) {
      program = HostProgram.of(newProgram);
    }
    isFilling = true;
    filling.addAll(Collections.nCopies(program.inputs().size(), null));
  }

  @Override
  public void put(int input, Part part, List<Plane> planes) {
    State state = program.inputs().get(input);
    part.requirePlanes(planes, state);
    HostArray array = filled(input);
    Move move = BoxMoves.put(part, state.shape());
    for (int p = 0; p < planes.size(); p++) {
      array.copy(move, planes.get(p).values(), array.planes().get(p));
    }
  }

  /** An input that is put in parts; elements that were not put are zero. */
  private HostArray filled(int input) {
    if (filling.get(input) == null) {
      filling.set(input, HostArray.zero(machine, program.inputs().get(input)));
    }
    return filling.get(input);
  }

  @Override
  public void putWhole(int input, List<Plane> planes) {
    State state = program.inputs().get(input);
    program.wholes().get(input).requirePlanes(planes, state);
    filling.set(input, HostArray.reading(machine, state, planes));
  }

  @Override
  public void run(List<Part> outputs, Rooms rooms) {
    State output = program.output();
    boolean isWhole = outputs.size() == 1 && outputs.get(0).equals(program.whole());
    if (!isWhole) {
      outputs.forEach(part -> part.requireInside(output.shape()));
    }
    Deque<HostArray> waiting = new ArrayDeque<>();
    for (int input = 0; input < program.inputs().size(); input++) {
      waiting.add(filled(input));
    }
    HostArray array = waiting.remove();
    // Rooms must be asked for in the order of results, so not before those of earlier results.
    boolean isPlaced = isWhole && unplaced == 0;
    List<HostMemory> room = isPlaced ? outputs.get(0).requireRoom(rooms.of(0), output) : List.of();
    long start = System.nanoTime();
    array.run(program.steps(), waiting, room);
    listener.computed(System.nanoTime() - start);
    isFilling = false;
    filling.clear();
    if (outputs.isEmpty()) {
      array.close();
    } else {
      done.add(new Result(array, outputs, rooms, isPlaced));
      doneBytes += output.bytes();
      unplaced += isPlaced ? 0 : 1;
    }
  }

  @Override
  public List<ArrowBuf> take() {
    if (isFilling) {
      throw new IllegalStateException("The array being started was not run");
    }
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
    unplaced -= done.remove().isPlaced ? 0 : 1;
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
    filling.stream().filter(Objects::nonNull).forEach(all::add);
    done.forEach(result -> all.add(result.array));
    done.clear();
    filling.clear();
    isFilling = false;
    Closing.all(all);
  }
}
