package org.tilespark.arrow.panels;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CopyBatch;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.MemoryRows;

/**
 * One pair of pinned panels, and the events of the last work on them; closing it closes its clocks.
 */
final class PanelSlot implements AutoCloseable {
  private static final long LEAST_COPY_BYTES = 32 << 10;
  private static final long LEAST_ROW_BYTES = 1 << 10;

  final PinnedPanel a;
  final PinnedPanel b;
  final TaskScope clocks = new TaskScope(); // owns upload and compute
  boolean shared; // one panel serves as panel of A and of B
  DeviceClock upload; // null while nothing is queued
  DeviceClock compute;
  private final DevicePlace place;

  /** Panels in pinned memory of {@code place}, which is borrowed; {@code scope} owns the memory. */
  PanelSlot(TaskScope scope, DevicePlace place) {
    this.place = place;
    this.a = new PinnedPanel(scope.own(new GrowingBuffer(place.allocator())));
    this.b = new PinnedPanel(scope.own(new GrowingBuffer(place.allocator())));
  }

  /**
   * One panel that is uploaded: rows that a device can read in place are copied from there, and
   * other rows are gathered in pinned memory first.
   */
  final class PinnedPanel implements PanelMultiplier.Panel {
    private final GrowingBuffer host;
    private final List<Upload> uploads = new ArrayList<>();
    private HostMemory memory; // for gathered rows; null if there are none
    boolean isFilled; // true if the caller fills it; false if the panel is on the device already
    long bytes;
    Optional<PanelId> id = Optional.empty(); // empty if no other task uses the panel

    private PinnedPanel(GrowingBuffer host) {
      this.host = host;
    }

    /** Begins a new panel in this memory. */
    void begin(long newBytes, Optional<PanelId> newId) {
      bytes = newBytes;
      id = newId;
      uploads.clear();
      memory = null;
    }

    /** The panel, if the caller is to fill it. */
    Optional<PanelMultiplier.Panel> toFill() {
      return isFilled ? Optional.of(this) : Optional.empty();
    }

    /** Shortens the panel by bytes at its end that were not filled. */
    void shorten(long fewerBytes) {
      bytes = fewerBytes;
      memory = memory == null ? null : memory.slice(0, bytes);
    }

    /** The panel's pinned memory, of at least {@code least} bytes. */
    HostMemory gathered(long least) {
      return host.memory(least);
    }

    @Override
    public HostMemory memory() {
      memory = host.memory(bytes);
      place.listener().staged(bytes);
      return memory;
    }

    @Override
    public void put(MemoryRows values, long start, long pitch, boolean stay) {
      if (values.bytes() == 0) {
        return;
      }
      MemoryRows from = values;
      boolean isGathered = false;
      if (!stay || !isDirect(values)) {
        if (memory == null) {
          memory = host.memory(bytes);
        }
        values.copyTo(memory, start, pitch);
        place.listener().staged(values.bytes());
        from = new MemoryRows(memory, start, pitch, values.rowBytes(), values.rows());
        isGathered = true;
      }
      uploads.add(new Upload(from, start, pitch, isGathered));
    }

    /** True if a separate upload of these rows is faster than gathering them by the CPU. */
    private boolean isDirect(MemoryRows values) {
      return values.bytes() >= LEAST_COPY_BYTES
          && (values.isDense() || values.rowBytes() >= LEAST_ROW_BYTES)
          && place.memory().pins(values.span());
    }

    /** Queues the panel's copies to the device; one copy if all rows were gathered. */
    void upload(CudaStream stream, DeviceBuffer to) {
      if (uploads.stream().allMatch(Upload::isGathered) && memory != null) {
        stream.upload(memory, to, 0);
        return;
      }
      CopyBatch batch = new CopyBatch(stream);
      for (Upload each : uploads) {
        MemoryRows from = each.from;
        batch.uploadRows(
            from.span(), from.pitch(), from.rowBytes(), from.rows(), to, each.start, each.pitch);
      }
      batch.queue();
    }
  }

  /** Rows to be uploaded into a panel; gathered rows have the panel's layout. */
  private record Upload(MemoryRows from, long start, long pitch, boolean isGathered) {}

  /** Waits until the device has finished the queued work, and reports its times. */
  void settle() {
    if (compute == null) {
      return;
    }
    place.awaitResults(compute::synchronize); // after the upload
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
