package org.tilespark.spark.multiply;

import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.spark.multiply.scores.VectorSquares;
import org.tilespark.spark.multiply.scores.Vectors;

/** The vectors of one operand that a task holds, whole along K, in the layout of a panel. */
final class VectorSide implements AutoCloseable {
  private final MultiplySpec spec;
  private final boolean right;
  private final PanelSide panel;
  private final GrowingBuffer buffer;
  private HostMemory memory; // elements of the vectors; null before the first
  private VectorSquares squares; // squares of the vectors; null before the first

  /** No vectors yet; borrows the allocator. */
  VectorSide(MultiplySpec spec, Cuboids cuboids, boolean right, BufferAllocator allocator) {
    this.spec = spec;
    this.right = right;
    this.panel = new PanelSide(spec, cuboids, right);
    this.buffer = new GrowingBuffer(allocator);
  }

  /** A panel in memory of the task. */
  private record Held(HostMemory memory) implements PanelMultiplier.Panel {
    @Override
    public void put(MemoryRows values, long start, long pitch, boolean stay) {
      values.copyTo(memory, start, pitch);
    }
  }

  /** Starts with the vectors from {@code first} on, and drops earlier ones. */
  void begin(long first, long count) {
    memory = buffer.memory(panel.bytes(count, spec.k()));
    panel.begin(first, count, 0, spec.k(), Optional.of(new Held(memory)), 0);
    squares =
        new VectorSquares(
            new Vectors(memory, spec.type(), spec.k(), panel.start(1, 0), panel.start(0, 1)));
  }

  /** The panel that takes pieces of the vectors. */
  PanelSide panel() {
    return panel;
  }

  /** Fails if an element of a vector is missing; {@code group} in words, for the message. */
  void requireFull(String group) {
    if (!panel.isFull()) {
      throw panel.hole(group);
    }
  }

  /** The vectors, with their squares computed on demand. */
  VectorSquares vectors() {
    return squares;
  }

  /** The rows, as they are stored, of the vectors from {@code first} on. */
  MemoryRows rows(long first, long count) {
    int width = spec.type().bytes();
    boolean transposed = spec.innerIsRow(right);
    return new MemoryRows(
        memory,
        panel.start(first, 0),
        panel.lead() * width,
        (transposed ? count : spec.k()) * width,
        transposed ? spec.k() : count);
  }

  /** The leading dimension of a panel of {@code count} vectors. */
  long lead(long count) {
    return panel.lead(count, spec.k());
  }

  /** Bytes of a panel of {@code count} vectors. */
  long bytes(long count) {
    return panel.bytes(count, spec.k());
  }

  @Override
  public void close() {
    buffer.close();
  }
}
