package org.tilespark.arrow.memory;

import org.apache.arrow.memory.AllocationManager;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ReferenceManager;
import org.apache.arrow.memory.RootAllocator;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The root of one process's Arrow memory: an allocator whose buffers come from a {@link
 * HostMemorySource}, so that an Arrow buffer can be the source or target of a device copy.
 *
 * <p>It is never Spark's root allocator: children inherit the allocation manager of their root, and
 * buffers do not move between roots. Thread-safe. Its creator closes it, after all buffers are
 * closed.
 */
public final class ArrowMemory implements AutoCloseable {
  private final HostMemorySource source;
  private final RootAllocator root;

  /** Arrow memory from {@code source}, which is borrowed; freed memory returns to it at once. */
  public ArrowMemory(HostMemorySource source) {
    this.source = source;
    this.root =
        new RootAllocator(
            RootAllocator.configBuilder()
                .allocationManagerFactory(new SourceFactory(source))
                .build());
  }

  /**
   * A new child allocator; the caller closes it after its buffers. Closing it while buffers are
   * alive throws an exception that states their bytes.
   */
  public BufferAllocator newChild(String name) {
    return root.newChildAllocator(name, 0, Long.MAX_VALUE);
  }

  /** The root allocator, for owners that live as long as the process. */
  public BufferAllocator root() {
    return root;
  }

  /** True if a device can copy from and to this memory's buffers directly. */
  public boolean isPinned() {
    return source.isPinned();
  }

  /** True if {@code buffer} was allocated from this memory, or is a slice of a buffer that was. */
  public boolean owns(ArrowBuf buffer) {
    ReferenceManager manager = buffer.getReferenceManager();
    return manager != ReferenceManager.NO_OP && manager.getAllocator().getRoot() == root;
  }

  /**
   * True if a device can copy from and to the values directly, because they are in pinned memory of
   * the source, whether or not the root allocator owns their buffer.
   */
  public boolean pins(HostMemory values) {
    return values.base() == null && source.pins(values.offset(), values.bytes());
  }

  /** Bytes of all live buffers. */
  public long allocatedBytes() {
    return root.getAllocatedMemory();
  }

  /** Most bytes that live buffers ever had together. */
  public long peakBytes() {
    return root.getPeakMemoryAllocation();
  }

  /** Closes the root allocator; throws if a buffer or a child allocator is still alive. */
  @Override
  public void close() {
    root.close();
  }

  private static final class SourceFactory implements AllocationManager.Factory {
    private final HostMemorySource source;

    private SourceFactory(HostMemorySource source) {
      this.source = source;
    }

    @Override
    public AllocationManager create(BufferAllocator accountingAllocator, long size) {
      return new SourceAllocation(accountingAllocator, source.allocate(size), size);
    }

    @Override
    public ArrowBuf empty() {
      return new ArrowBuf(ReferenceManager.NO_OP, null, 0, 0);
    }
  }

  private static final class SourceAllocation extends AllocationManager {
    private final HostMemorySource.Allocation allocation;
    private final long size;

    private SourceAllocation(
        BufferAllocator accountingAllocator, HostMemorySource.Allocation allocation, long size) {
      super(accountingAllocator);
      this.allocation = allocation;
      this.size = size;
    }

    @Override
    public long getSize() {
      return size;
    }

    @Override
    protected long memoryAddress() {
      return allocation.address();
    }

    @Override
    protected void release0() {
      allocation.free();
    }
  }
}
