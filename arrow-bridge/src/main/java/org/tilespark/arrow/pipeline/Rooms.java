package org.tilespark.arrow.pipeline;

import java.util.List;
import org.tilespark.kernels.memory.HostMemory;

/** Supplies memory of the caller for results, in place of the pipeline's own buffers. */
@FunctionalInterface
public interface Rooms {
  /** No memory of the caller: all results go into the pipeline's own buffers. */
  Rooms NONE = result -> List.of();

  /**
   * Destination memory for the planes of the next result; called once for each result, in order, on
   * the pipeline's thread. The memory must stay valid until the result is taken or the pipeline
   * closed. If it is pinned, a device writes to it directly.
   *
   * @param result number of the result, from 0
   * @return memory outside the heap of exactly the planes' bytes; empty to use the pipeline's
   *     buffers
   */
  List<HostMemory> of(int result);
}
