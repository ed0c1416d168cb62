package org.tilespark.arrow.panels;

import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.host.HostSelection;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import sun.misc.Unsafe;

/** Multiplies panels on the CPU, on the calling thread, in memory of an Arrow allocator. */
public final class HostPanelMultiplier implements PanelMultiplier {
  /**
   * Half of a second-level cache, so that gathered panels are still cached when they are
   * multiplied.
   */
  private static final long BATCH_BYTES = 512 << 10;

  private final Multiplier multiplier;
  private final PipelineListener listener;
  private final HostElementwise elementwise = new HostElementwise();
  private final GrowingBuffer partials;
  private final GrowingBuffer totals;
  private final GrowingBuffer bufferA;
  private final GrowingBuffer bufferB;
  private HostMemory partial;
  private HostMemory total; // null if the sums need one tile only
  private TileSums sums;
  private boolean shared;
  private ElementType type;
  private Shape shape;
  private HostMemory panelA;
  private HostMemory panelB;

  /** A multiplier with memory of {@code allocator}; borrows all three arguments. */
  public HostPanelMultiplier(
      Multiplier multiplier, BufferAllocator allocator, PipelineListener listener) {
    this.multiplier = multiplier;
    this.listener = listener;
    this.partials = new GrowingBuffer(allocator);
    this.totals = new GrowingBuffer(allocator);
    this.bufferA = new GrowingBuffer(allocator);
    this.bufferB = new GrowingBuffer(allocator);
  }

  @Override
  public long batchBytes() {
    return BATCH_BYTES;
  }

  @Override
  public void begin(Tile tile) {
    type = tile.panel().type();
    shape = tile.shape();
    shared = tile.shared();
    sums = new TileSums(tile);
    partial = partials.memory(tile.bytes());
    if (!tile.isOverwritten()) {
      partial.fill((byte) 0);
    }
    total = null;
    if (sums.hasTotals()) {
      total = totals.memory(tile.bytes());
      total.fill((byte) 0);
    }
  }

  @Override
  public void shorten(Tile tile) {
    shape = tile.shape();
    partial = partial.slice(0, tile.bytes());
    total = total == null ? null : total.slice(0, tile.bytes());
  }

  /** A panel whose values are gathered. */
  private record Filled(HostMemory memory) implements Panel {
    @Override
    public void put(MemoryRows values, long start, long pitch, boolean stay) {
      values.copyTo(memory, start, pitch);
    }
  }

  @Override
  public Panels panels(Wanted a, Optional<Wanted> b) {
    panelA = bufferA.memory(a.bytes());
    panelB = b.map(wanted -> bufferB.memory(wanted.bytes())).orElse(panelA);
    Optional<Panel> filledA = Optional.of(new Filled(panelA));
    return new Panels(filledA, b.isEmpty() ? filledA : Optional.of(new Filled(panelB)));
  }

  @Override
  public void multiply(List<PanelProduct> products) {
    long start = System.nanoTime();
    if (sums.isFullFor(products)) {
      addPartials();
    }
    for (PanelProduct product : products) {
      MultiplyProblem problem = product.problem();
      HostMemory a = panelA.slice(product.startA(), problem.bytesA());
      HostMemory c = partial.slice(product.startC(), problem.bytesC());
      if (shared && product.startA() == product.startB() && problem.isGram()) {
        multiplier.multiplyHalf(problem, a, c);
      } else {
        multiplier.multiply(problem, a, panelB.slice(product.startB(), problem.bytesB()), c);
      }
    }
    listener.computed(System.nanoTime() - start);
  }

  @Override
  public HostMemory finish(List<ElementwiseProgram> epilogue) {
    if (total == null && epilogue.isEmpty()) {
      return partial;
    }
    long start = System.nanoTime();
    HostMemory tile = partial;
    if (total != null) {
      addPartials();
      tile = total;
    }
    elementwise.run(epilogue, shape, tile);
    listener.computed(System.nanoTime() - start);
    return tile;
  }

  @Override
  public SelectedColumns select(ColumnSelection selection) {
    return new HostSelection(selection, finish());
  }

  /** Adds the partial sums to the totals, and clears the partial sums. */
  private void addPartials() {
    Unsafe unsafe = HostMemory.unsafe();
    assert partial.isOffHeap() && total.isOffHeap() && partial.bytes() >= total.bytes();
    long from = partial.offset();
    long to = total.offset();
    if (type == ElementType.FLOAT32) {
      for (long at = 0; at < total.bytes(); at += Float.BYTES) {
        unsafe.putFloat(to + at, unsafe.getFloat(to + at) + unsafe.getFloat(from + at));
      }
    } else {
      for (long at = 0; at < total.bytes(); at += Double.BYTES) {
        unsafe.putDouble(to + at, unsafe.getDouble(to + at) + unsafe.getDouble(from + at));
      }
    }
    partial.fill((byte) 0);
  }

  @Override
  public void close() {
    Closing.all(List.of(partials, totals, bufferA, bufferB));
  }
}
