package org.tilespark.kernels.device;

import org.tilespark.kernels.memory.HostMemory;

/**
 * A range of page-locked host memory, the source and target of copies at full speed. Closing frees
 * it at once, or returns it to the pool it was taken from; no copy may be under way.
 */
public final class PinnedBuffer extends Owned {
  private final PinnedPool pool; // null if close frees the memory
  private final long address;
  private final long bytes;

  PinnedBuffer(CudaDevice device, PinnedPool pool, long address, long bytes) {
    super(device);
    this.pool = pool;
    this.address = address;
    this.bytes = bytes;
    device.register(this);
  }

  /** Address of the first byte; a multiple of 4096, or 0 for an empty buffer. */
  public long address() {
    requireOpen();
    return address;
  }

  /** Length of the buffer as asked for, in bytes. */
  public long bytes() {
    return bytes;
  }

  /** The buffer's memory, to be used only until {@link #close}. */
  public HostMemory memory() {
    requireOpen();
    return HostMemory.ofAddress(address, bytes);
  }

  @Override
  void release() {
    if (pool == null) {
      device.memory().unpin(address, bytes);
    } else {
      pool.giveBack(address, bytes);
    }
  }

  @Override
  int closingOrder() {
    return 3;
  }

  @Override
  public String toString() {
    return "pinned buffer of " + bytes + " bytes on " + device.where();
  }
}
