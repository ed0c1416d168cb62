package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;

/**
 * The pipeline of an executor without a GPU: every block goes straight from where it lies into the
 * batch's buffer, on the calling thread, when it is added. Between the steps of a chain it lies in
 * the batch's buffer and in scratch memory of a block's size, in turn.
 */
public final class HostPermutePipeline implements PermutePipeline {
  private final Transposer transposer;
  private final BufferAllocator allocator;
  private final PipelineListener listener;
  private final Deque<List<ArrowBuf>> done = new ArrayDeque<>();
  private List<ArrowBuf> filling = List.of(); // none if results go into rooms
  private Rooms rooms = Rooms.NONE;
  private int blocks; // in the batch being filled
  private long capacity; // of each of its planes; 0 if there is none
  private final GrowingBuffer scratch; // as large as a block, once a chain needs it
  private long used;

  /** A pipeline into buffers of {@code allocator}; borrows all three. */
  public HostPermutePipeline(
      Transposer transposer, BufferAllocator allocator, PipelineListener listener) {
    this.transposer = transposer;
    this.allocator = allocator;
    this.listener = listener;
    this.scratch = new GrowingBuffer(allocator);
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
  public void begin(int planes, long planeBytes, Rooms newRooms) {
    rooms = newRooms;
    filling = rooms == Rooms.NONE ? Buffers.allocate(allocator, planes, planeBytes) : List.of();
    capacity = planeBytes;
    blocks = 0;
    used = 0;
  }

  @Override
  public boolean fits(long bytes) {
    return bytes <= capacity - used;
  }

  @Override
  public void add(TransposeChain chain, List<Plane> planes) {
    long start = System.nanoTime();
    List<HostMemory> room = rooms.of(blocks++);
    for (int p = 0; p < planes.size(); p++) {
      HostMemory target =
          room.isEmpty() ? Buffers.memory(filling.get(p), used, chain.bytes()) : room.get(p);
      transpose(chain, planes.get(p).values(), target);
    }
    used += chain.bytes();
    listener.computed(System.nanoTime() - start);
  }

  /** All steps, in turn into {@code target} and into scratch memory, the last into the former. */
  private void transpose(TransposeChain chain, HostMemory values, HostMemory target) {
    List<TransposeProblem> steps = chain.steps();
    HostMemory from = values;
    for (int i = 0; i < steps.size(); i++) {
      boolean intoTarget = (steps.size() - 1 - i) % 2 == 0;
      HostMemory to = intoTarget ? target : scratch.memory(chain.bytes());
      transposer.transpose(steps.get(i), from, to);
      from = to;
    }
  }

  @Override
  public void submit() {
    done.add(filling);
    filling = List.of();
    capacity = 0;
  }

  @Override
  public List<ArrowBuf> take() {
    return done.remove();
  }

  @Override
  public void close() {
    List<AutoCloseable> all = new ArrayList<>(filling);
    done.forEach(all::addAll);
    all.add(scratch);
    filling = List.of();
    done.clear();
    Closing.all(all);
  }
}
