package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.memory.HostMemory;

/** Parts of a result that are downloaded together, or one large part. */
final class FetchedParts implements AutoCloseable {
  /**
   * A part that is downloaded.
   *
   * @param planes buffers that the device writes; none if it writes directly to the room
   * @param room final destination of the values; empty if buffers are handed out
   */
  record Fetched(List<ArrowBuf> planes, List<HostMemory> room) {
    /**
     * Call once the device has written {@code planes}. Without a room it returns them; otherwise it
     * copies them to the room, frees them and returns none.
     */
    List<ArrowBuf> arrived(PipelineListener listener) {
      if (room.isEmpty()) {
        return planes;
      }
      for (int p = 0; p < planes.size(); p++) {
        HostMemory to = room.get(p);
        Buffers.memory(planes.get(p), 0, to.bytes()).copyTo(to);
        listener.staged(to.bytes());
      }
      Closing.all(planes);
      return List.of();
    }
  }

  final Deque<Fetched> parts = new ArrayDeque<>();
  final long bytes;
  final CudaEvent[] arrived =
      new CudaEvent[DeviceStaging.LANES]; // events after the last copies; the clocks own them

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
    parts.forEach(part -> all.addAll(part.planes()));
    parts.clear();
    Closing.all(all);
  }
}
