package org.tilespark.arrow.blocks;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ReferenceManager;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.memory.HostMemory;

/** Pinned bytes that go to one place of a plane. */
final class PinnedUpload implements AutoCloseable {
  private final ReferenceManager source;
  private final ArrowBuf held;
  private final long address;
  private final long toBytes;
  private long bytes;

  /**
   * Shares {@code owner} with {@code allocator}, so that it outlives the allocator it came from: an
   * upstream operator may be closed before this batch is done.
   */
  PinnedUpload(ArrowBuf owner, BufferAllocator allocator, long address, long toBytes, long bytes) {
    this.source = owner.getReferenceManager();
    this.held = source.retain(owner, allocator);
    this.address = address;
    this.toBytes = toBytes;
    this.bytes = bytes;
  }

  /** True if {@code more} bytes at {@code at} in {@code owner} lie right behind these. */
  boolean extend(ArrowBuf owner, long at, long more) {
    boolean follows = source == owner.getReferenceManager() && address + bytes == at;
    bytes += follows ? more : 0;
    return follows;
  }

  /** Queues the copy of what a region of the plane has of these bytes. */
  void copy(Region region, CudaStream stream, DeviceBuffer to) {
    if (region.rows() == 1) {
      long start = Math.max(toBytes, region.startBytes());
      long end = Math.min(toBytes + bytes, region.startBytes() + region.rowBytes());
      if (start < end) {
        stream.upload(
            HostMemory.ofAddress(address + (start - toBytes), end - start),
            to,
            start - region.startBytes());
      }
    } else if (toBytes <= region.startBytes()
        && region.startBytes() + region.spanBytes() <= toBytes + bytes) {
      // A slice of a block, and a block lies in one place.
      stream.uploadRows(
          HostMemory.ofAddress(address + (region.startBytes() - toBytes), region.spanBytes()),
          region.pitchBytes(),
          region.rowBytes(),
          region.rows(),
          to,
          0);
    }
  }

  @Override
  public void close() {
    held.close();
  }
}
