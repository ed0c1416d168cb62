package org.tilespark.arrow.panels;

import java.util.Optional;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.memory.HostMemory;

/** One pair of pinned panels, and what was queued with them last; closing it closes the clocks. */
final class PanelSlot implements AutoCloseable {
  final PinnedPanel a;
  final PinnedPanel b;
  final TaskScope clocks = new TaskScope(); // owns the two:
  boolean shared; // one panel serves as both
  DeviceClock upload; // null while nothing is queued
  DeviceClock compute;
  private final DevicePlace place;

  /** Panels in memory of a place, which is borrowed; {@code scope} owns that memory. */
  PanelSlot(TaskScope scope, DevicePlace place) {
    this.place = place;
    this.a = new PinnedPanel(scope.own(new GrowingBuffer(place.allocator())));
    this.b = new PinnedPanel(scope.own(new GrowingBuffer(place.allocator())));
  }

  /** One pinned panel. */
  static final class PinnedPanel {
    final GrowingBuffer host;
    Optional<HostMemory> memory = Optional.empty(); // so if the panel is on the device already
    long bytes;
    Optional<PanelId> id = Optional.empty(); // so if no other task has it

    private PinnedPanel(GrowingBuffer host) {
      this.host = host;
    }
  }

  /** Waits until the device is done with what was queued, and reports its times. */
  void settle() {
    if (compute == null) {
      return;
    }
    place.awaitResults(compute::synchronize); // behind the upload
    place.listener().copiedUp(upload.times().copyUp());
    place.listener().computed(compute.times().kernels());
    close();
  }

  @Override
  public void close() {
    upload = null;
    compute = null;
    clocks.close();
  }
}
