package org.tilespark.arrow.pipeline;

import java.util.List;
import org.tilespark.kernels.memory.HostMemory;

/** Memory of the caller's for results, in place of buffers of a pipeline's. */
@FunctionalInterface
public interface Rooms {
  /** All results go into buffers. */
  Rooms NONE = result -> List.of();

  /**
   * Room for the planes of a result, which is about to be made; called once for each result, in
   * their order, on the pipeline's thread. It must stay until the result is taken or the pipeline
   * closed. A device writes to pinned room itself.
   *
   * @param result its number, from 0
   * @return memory outside the heap of exactly the planes' bytes; empty for buffers
   */
  List<HostMemory> of(int result);
}
