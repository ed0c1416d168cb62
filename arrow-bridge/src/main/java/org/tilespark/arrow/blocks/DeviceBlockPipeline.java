package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.device.DeviceFourier;
import org.tilespark.kernels.device.DevicePasses;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.layout.Shape;

/**
 * The pipeline of an executor with a GPU. Parts go up through two small buffers
 * of the device in turn, from which a kernel puts them into the array; what a {@link
 * DeviceProgram} says happens to the array; and parts come down the same way. Copies are
 * contiguous and have streams of their own, so a copy up, a copy down and the work between overlap:
 * the parts of an array go up while the one before comes down.
 *
 * <pre>
 *   two streams up:    copy | put | copy | put ...        (of the next array)
 *   one to compute:                            steps
 *   two streams down:                                take | copy | take | copy ...
 * </pre>
 *
 * <p>Planes in pinned memory are read where they lie, and rooms there are written where they lie;
 * others, and small ones, go through pinned buffers. Small parts share a launch, and the buffers
 * that they come down in.
 *
 * <p>The turn and the device's memory are taken when the first copy goes up, that is when about 16
 * MiB were put or the array is run, and the memory is given back when the last part has come down.
 * As many parts come down before they are asked for as pinned memory is allowed for them.
 */
public final class DeviceBlockPipeline implements BlockPipeline, DeviceTask.Pipeline {
  private static final int ARRAYS = 2;

  private final DeviceMachine machine;
  private final DeviceLanes lanes;
  private final long aheadBytes;
  private final Deque<DeviceRun> underWay = new ArrayDeque<>();
  private DeviceRun filling; // null between run and begin
  private volatile Thread user; // the one that began the last array

  /**
   * A pipeline on one device; borrows everything.
   *
   * @param place where it works
   * @param transforms what transforms; empty if there is no cuFFT, then programs need none
   * @param aheadBytes pinned memory for parts that come down before they are asked for; a larger
   *     part comes down alone
   */
  public DeviceBlockPipeline(
      DevicePlace place,
      DevicePasses passes,
      DeviceTransposer transposer,
      Optional<DeviceFourier> transforms,
      long aheadBytes) {
    this.machine = new DeviceMachine(place, passes, transposer, transforms);
    this.lanes = new DeviceLanes(place);
    this.aheadBytes = aheadBytes;
    place.task().joins(this);
  }

  @Override
  public boolean isFull() {
    return underWay.size() == ARRAYS;
  }

  @Override
  public int inFlight() {
    return underWay.size();
  }

  @Override
  public void begin(BlockProgram program) {
    if (filling != null) {
      throw new IllegalStateException("The array before was not run");
    }
    user = Thread.currentThread();
    filling = new DeviceRun(program, machine, lanes);
  }

  @Override
  public void put(Part part, List<Plane> planes) {
    filling.put(part, planes);
  }

  @Override
  public void run(List<Part> outputs, Rooms rooms) {
    DeviceRun array = filling;
    Shape shape = array.outputShape();
    outputs.forEach(part -> part.requireInside(shape));
    filling = null;
    boolean queued = false;
    try {
      array.run(outputs, rooms);
      queued = true;
    } finally {
      underWay.add(array); // also after a failure: close() waits for what was queued
    }
    if (queued && outputs.isEmpty()) {
      array.settle();
      underWay.remove(array);
      array.close();
    }
    fetchAhead();
  }

  @Override
  public List<ArrowBuf> take() {
    DeviceRun array = underWay.element();
    List<ArrowBuf> taken = array.take();
    if (array.download().isTaken()) {
      underWay.remove();
      array.close();
    }
    fetchAhead();
    return taken;
  }

  /** Queues the way down of what there is pinned memory for, the oldest array first. */
  private void fetchAhead() {
    long bytes = 0;
    for (DeviceRun array : underWay) {
      bytes += array.download().fetchedBytes();
    }
    for (DeviceRun array : underWay) {
      while (array.download().hasMore()
          && (bytes == 0 || bytes + array.download().nextBytes() <= aheadBytes)) {
        bytes += array.download().fetch();
      }
      if (array.download().hasMore()) {
        return;
      }
    }
  }

  @Override
  public void settleUnderWay() {
    underWay.forEach(DeviceRun::settle);
  }

  @Override
  public Thread user() {
    return user;
  }

  @Override
  public void close() {
    machine.place().task().leaves(this);
    List<DeviceRun> arrays = new ArrayList<>();
    if (filling != null) {
      arrays.add(filling);
    }
    arrays.addAll(underWay);
    filling = null;
    underWay.clear();
    lanes.close(arrays);
  }
}
