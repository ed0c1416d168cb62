package org.tilespark.arrow;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.Transposer;
import org.tilespark.kernels.plan.TransposeProblem;

/**
 * The pipeline of an executor without a GPU: every block is reordered straight from where it lies
 * into the batch's buffer, on the calling thread, when it is added.
 */
public final class HostPermutePipeline implements PermutePipeline {
  private final Transposer transposer;
  private final BufferAllocator allocator;
  private final PipelineListener listener;
  private final Deque<List<ArrowBuf>> done = new ArrayDeque<>();
  private List<ArrowBuf> filling = List.of();
  private long used;

  /** A pipeline into buffers of {@code allocator}; borrows all three. */
  public HostPermutePipeline(
      Transposer transposer, BufferAllocator allocator, PipelineListener listener) {
    this.transposer = transposer;
    this.allocator = allocator;
    this.listener = listener;
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
  public void begin(int planes, long planeBytes) {
    filling = Buffers.allocate(allocator, planes, planeBytes);
    used = 0;
  }

  @Override
  public boolean fits(long bytes) {
    return !filling.isEmpty() && bytes <= filling.get(0).capacity() - used;
  }

  @Override
  public void add(TransposeProblem problem, List<Plane> planes) {
    long start = System.nanoTime();
    for (int p = 0; p < planes.size(); p++) {
      HostMemory target =
          HostMemory.ofAddress(filling.get(p).memoryAddress() + used, problem.bytes());
      transposer.transpose(problem, planes.get(p).values(), target);
    }
    used += problem.bytes();
    listener.worked(System.nanoTime() - start);
  }

  @Override
  public void submit() {
    done.add(filling);
    filling = List.of();
  }

  @Override
  public List<ArrowBuf> take() {
    return done.remove();
  }

  @Override
  public void close() {
    Buffers.close(filling);
    filling = List.of();
    done.forEach(Buffers::close);
    done.clear();
  }
}
