package org.tilespark.arrow.panels;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.kernels.memory.HostMemory;

/** One pair of pinned panels, and what was queued with them last. */
final class PanelSlot {
  final Half a;
  final Half b;
  boolean shared; // one panel serves as both
  DeviceClock upload; // null while nothing is queued
  DeviceClock compute;

  PanelSlot(BufferAllocator allocator) {
    this.a = new Half(allocator);
    this.b = new Half(allocator);
  }

  /** One pinned panel. */
  static final class Half {
    final GrowingBuffer host;
    HostMemory memory; // null if the panel is on the device already
    long bytes;
    PanelId id; // null if no other task has it

    private Half(BufferAllocator allocator) {
      this.host = new GrowingBuffer(allocator);
    }
  }

  /** Closes the clocks of what was queued, which is done. */
  void closeClocks() {
    List<DeviceClock> clocks = new ArrayList<>();
    if (upload != null) {
      clocks.add(upload);
    }
    if (compute != null) {
      clocks.add(compute);
    }
    upload = null;
    compute = null;
    Closing.all(clocks);
  }
}
