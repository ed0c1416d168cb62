package org.tilespark.arrow.arrays;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.device.CudaEvent;

/** Parts that come down together, in one buffer; or one large part, in a buffer per plane. */
final class FetchedParts implements AutoCloseable {
  final Deque<List<ArrowBuf>> parts = new ArrayDeque<>();
  final long bytes;
  final CudaEvent[] arrived =
      new CudaEvent[FourierMemory.LANES]; // last copies, of an array's clocks

  FetchedParts(long bytes) {
    this.bytes = bytes;
  }

  void await() {
    for (CudaEvent last : arrived) {
      if (last != null) {
        last.synchronize();
      }
    }
    Arrays.fill(arrived, null);
  }

  @Override
  public void close() {
    List<ArrowBuf> all = new ArrayList<>();
    parts.forEach(all::addAll);
    parts.clear();
    Closing.all(all);
  }
}
