package org.tilespark.arrow.pipeline;

import java.util.List;
import org.tilespark.kernels.memory.HostMemory;

/** Supplies memory of the caller for results, in place of the pipeline's own buffers. */
@FunctionalInterface
public interface Rooms {
  /** All results go into buffers. */
  Rooms NONE = result -> List.of();

  /**
   * Destination memory for the planes of the next result; called once for each result, in order, on
   * the pipeline's thread. The memory must stay valid until the result is taken or the pipeline
   * closed. A device writes directly to pinned memory.
   *
   * @param result number of the result, from 0
   * @return memory outside the heap of exactly the planes' bytes; empty to use the pipeline's
   *     buffers
   */
  List<HostMemory> of(int result);
}
