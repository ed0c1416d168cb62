package org.tilespark.arrow.panels;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;

/**
 * The panels on one device that the tasks of an executor share; {@link SharedPanels} states the
 * rules. Safe for several threads.
 */
public final class DevicePanels implements AutoCloseable {
  /** A stage's panels are freed when no task of it ran for this long. */
  private static final long IDLE_MILLIS = 1000;

  private final CudaDevice device;
  private final SharedPanels<Panel> panels;
  private CudaStream keeper; // the stream for allocations; null until first used; guarded by this

  /**
   * Panels on a device, initially none; borrows both arguments, and the device must stay open
   * longer.
   */
  public DevicePanels(CudaDevice device, MemoryGovernor governor) {
    this.device = device;
    this.panels =
        new SharedPanels<>(
            governor,
            bytes -> new Panel(device, keeper(), bytes),
            CompletableFuture.delayedExecutor(IDLE_MILLIS, TimeUnit.MILLISECONDS));
  }

  /** One task's use of a stage's panels; it is closed when the task ends. */
  public static final class Stage implements AutoCloseable {
    private final SharedPanels<Panel>.Member member;

    private Stage(SharedPanels<Panel>.Member member) {
      this.member = member;
    }

    SharedPanels<Panel>.Member member() {
      return member;
    }

    /** Leaves the stage; may be called twice. */
    @Override
    public void close() {
      member.close();
    }
  }

  /**
   * Lets a task share panels with others.
   *
   * @param identity equal only for tasks of the same operator in the same attempt of a stage; these
   *     must fill panels of equal id with equal bytes
   */
  public Stage join(Object identity) {
    return new Stage(panels.join(identity));
  }

  private synchronized CudaStream keeper() {
    if (keeper == null) {
      keeper = device.newStream();
    }
    return keeper;
  }

  /** Frees all panels; no task may use them any more. */
  @Override
  public void close() {
    panels.close();
    synchronized (this) {
      if (keeper != null) {
        keeper.close();
      }
    }
  }

  /** A panel in its own device memory, which is filled once and then only copied. */
  static final class Panel implements AutoCloseable {
    private final CudaStream keeper;
    private final DeviceBuffer buffer;
    private CudaEvent filled; // event after the copy that fills it; null before
    private final List<CudaEvent> copied = new ArrayList<>(); // events; guarded by this list

    private Panel(CudaDevice device, CudaStream keeper, long bytes) {
      this.keeper = keeper;
      this.buffer = device.allocate(bytes, keeper);
    }

    /** Queues a copy from the beginning of {@code from} that fills this panel. */
    void fill(DeviceBuffer from, CudaStream stream) {
      try (CudaEvent allocated = keeper.record()) {
        stream.waitFor(allocated);
      }
      filled = copy(from, buffer, stream);
    }

    /** Queues a copy of this whole panel to the beginning of {@code to}. */
    void copyTo(DeviceBuffer to, CudaStream stream) {
      stream.waitFor(filled);
      CudaEvent mark = copy(buffer, to, stream);
      synchronized (copied) {
        copied.add(mark);
        for (Iterator<CudaEvent> marks = copied.iterator(); marks.hasNext(); ) {
          CudaEvent earlier = marks.next();
          if (earlier != mark && earlier.isDone()) {
            marks.remove();
            earlier.close();
          }
        }
      }
    }

    private CudaEvent copy(DeviceBuffer from, DeviceBuffer to, CudaStream stream) {
      stream.copy(from, 0, to, 0, buffer.bytes());
      try {
        return stream.record();
      } catch (RuntimeException e) {
        stream.synchronize(); // nothing else would tell when the memory may be freed
        throw e;
      }
    }

    /** Frees the memory after all queued copies, without waiting for them. */
    @Override
    public void close() {
      List<CudaEvent> marks;
      synchronized (copied) {
        marks = new ArrayList<>(copied);
        copied.clear();
      }
      if (filled != null) {
        marks.add(filled);
      }
      List<AutoCloseable> steps = new ArrayList<>();
      marks.forEach(mark -> steps.add(() -> keeper.waitFor(mark)));
      steps.add(buffer);
      steps.addAll(marks);
      Closing.all(steps);
    }
  }
}
