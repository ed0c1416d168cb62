package org.tilespark.arrow.blocks;

import java.util.List;
import org.apache.arrow.memory.ArrowBuf;

/** One array in a {@link DeviceBlockPipeline}, or several that are processed together. */
interface DeviceWork extends AutoCloseable {
  /** Number of arrays whose results are not taken as a whole. */
  int arrays();

  /** True if there are parts whose download is not queued. */
  boolean hasMore();

  /** Bytes that the next {@link #fetch} brings. */
  long nextBytes();

  /** Queues the download of the next parts; returns their bytes. */
  long fetch();

  /** Bytes that were downloaded, or are being downloaded, and are not taken. */
  long fetchedBytes();

  /** As {@link BlockPipeline#take}. */
  List<ArrowBuf> take();

  /** Waits until the device has computed and downloaded everything, and frees the device memory. */
  void settle();

  /** Frees all memory of this work; the device must have finished it. */
  @Override
  void close();
}
