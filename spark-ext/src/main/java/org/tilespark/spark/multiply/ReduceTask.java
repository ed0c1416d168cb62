package org.tilespark.spark.multiply;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.spark.multiply.TileBlocks.Tile;
import org.tilespark.spark.multiply.scores.TileSides;
import org.tilespark.spark.multiply.scores.Vectors;

/**
 * The reductions of one partition: gathers the vectors of both sides, whole along K, multiplies
 * them in small tiles, and hands on what the reduction keeps of each. It holds the vectors of both
 * sides and one tile, whatever the count of pairs.
 */
final class ReduceTask extends CuboidTask implements AutoCloseable {
  private final Side sideA;
  private final Side sideB;
  private final TileProducts products;
  private final TileSides sides;
  private Iterator<InternalRow> results = Collections.emptyIterator();

  /** The vectors of one operand that a task holds, whole along K, as a panel lies. */
  static final class Side implements AutoCloseable {
    private final MultiplySpec spec;
    private final boolean right;
    private final PanelSide panel;
    private final GrowingBuffer buffer;
    private HostMemory memory; // null before the first cuboid

    /** No vectors yet; borrows the allocator. */
    private Side(MultiplySpec spec, Cuboids cuboids, boolean right, BufferAllocator allocator) {
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

    /** Begins with the vectors from {@code first} on; those before are given up. */
    void begin(long first, long count) {
      memory = buffer.memory(panel.bytes(count, spec.k()));
      panel.begin(first, count, 0, spec.k(), Optional.of(new Held(memory)));
    }

    /** Where pieces of the vectors are put. */
    PanelSide panel() {
      return panel;
    }

    Vectors vectors() {
      return new Vectors(memory, spec.type(), spec.k(), panel.start(1, 0), panel.start(0, 1));
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

    /** The leading dimension of a panel of so many vectors. */
    long lead(long count) {
      return panel.lead(count, spec.k());
    }

    /** Bytes of it. */
    long bytes(long count) {
      return panel.bytes(count, spec.k());
    }

    @Override
    public void close() {
      buffer.close();
    }
  }

  /**
   * The reductions of one partition. Closing it frees the vectors.
   *
   * @param sides of tiles
   * @param allocator for the vectors; borrowed, as is the multiplier
   */
  ReduceTask(
      PanelTask.Job job,
      Cuboids cuboids,
      int partition,
      Pieces pieces,
      PanelMultiplier multiplier,
      TileSides sides,
      BufferAllocator allocator,
      PanelTask.Listener listener) {
    super(job, cuboids, partition, pieces);
    this.sides = sides;
    this.sideA = new Side(spec, cuboids, false, allocator);
    this.sideB = new Side(spec, cuboids, true, allocator);
    this.products = new TileProducts(spec, sideA, sideB, multiplier, listener);
  }

  @Override
  Iterator<InternalRow> results() {
    return results;
  }

  @Override
  void compute(int cuboid, UnsafeRow group) {
    int[] place = cuboids.place(cuboid);
    Tile tile = cuboids.tile(place[0], place[1]);
    if (tile.rows() == 0 || tile.cols() == 0) {
      return; // and no pieces are sent here
    }
    requireInPlace();
    int key = cuboids.key(cuboid);
    sideA.begin(tile.row(), tile.rows());
    sideB.begin(tile.col(), tile.cols());
    fill(key, group, 0, sideA.panel(), sideB.panel());
    requireNoneLeft(key, group);
    for (PanelSide panel : List.of(sideA.panel(), sideB.panel())) {
      if (!panel.isFull()) {
        throw panel.hole(job.groupText(group));
      }
    }
    UnsafeRow head = job.heads(0).apply(group).copy();
    results = new ReducedRows(spec, cuboids, tile, head, sides, products);
  }

  @Override
  public void close() {
    Closing.all(List.of(sideA, sideB));
  }
}
