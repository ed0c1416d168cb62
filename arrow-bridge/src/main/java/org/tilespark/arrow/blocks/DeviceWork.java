package org.tilespark.arrow.blocks;

import java.util.List;
import org.apache.arrow.memory.ArrowBuf;

/** One array on its way through a {@link DeviceBlockPipeline}, or several that go together. */
interface DeviceWork extends AutoCloseable {
  /** Arrays that are not taken whole. */
  int arrays();

  /** True if there are parts whose way down is not queued. */
  boolean hasMore();

  /** Bytes that the next {@link #fetch} brings. */
  long nextBytes();

  /** Queues the way down of the next parts; their bytes. */
  long fetch();

  /** Bytes that have come down, or are on their way, and are not taken. */
  long fetchedBytes();

  /** As {@link BlockPipeline#take}. */
  List<ArrowBuf> take();

  /** Waits until the device is done, all parts fetched, and frees its memory. */
  void settle();

  /** Frees everything; the device must be done with it. */
  @Override
  void close();
}
