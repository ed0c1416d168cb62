package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.memory.GrowingBuffer;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The streams of a {@link DeviceBlockPipeline}, which its arrays use in turn: two for uploads, one
 * to compute, two for downloads, one to allocate and free device memory, and two for whole batches.
 * Opened when first needed.
 */
final class DeviceLanes {
  private final DevicePlace place;
  private final UpLane[] up =
      new UpLane[DeviceStaging.LANES]; // null, as the streams, until first used
  private final CudaStream[] down = new CudaStream[DeviceStaging.LANES];
  private final CudaStream[] through = new CudaStream[DeviceStaging.LANES];
  private CudaStream compute;
  private CudaStream allocations; // never waits for other streams
  private int nextUp;
  private int nextDown;
  private int nextThrough;

  /** Lanes at a place, which is borrowed. */
  DeviceLanes(DevicePlace place) {
    this.place = place;
  }

  /** A stream for uploads, with the pinned memory in which parts are gathered for it. */
  final class UpLane {
    private final CudaStream stream;
    private final GrowingBuffer gathered = new GrowingBuffer(place.allocator());
    // Event after the last copy from that memory; it belongs to a clock of readFor.
    private CudaEvent read;
    private DeviceRun readFor;

    private UpLane(CudaStream stream) {
      this.stream = stream;
    }

    CudaStream stream() {
      return stream;
    }

    /**
     * The pinned memory, of at least {@code bytes} bytes, after the device has finished reading it.
     */
    HostMemory gathered(long bytes) {
      if (read != null) {
        place.awaitResults(read::synchronize);
        read = null;
      }
      return gathered.memory(bytes);
    }

    /**
     * Notes that the device reads the pinned memory until {@code copied}, an event of the array.
     */
    void reads(DeviceRun array, CudaEvent copied) {
      read = copied;
      readFor = array;
    }
  }

  /** Opens the streams that are not open yet, except those for whole batches. */
  void open() {
    if (allocations == null) {
      allocations = place.device().newStream();
    }
    if (compute == null) {
      compute = place.device().newStream();
    }
    for (int lane = 0; lane < DeviceStaging.LANES; lane++) {
      if (up[lane] == null) {
        up[lane] = new UpLane(place.device().newStream());
      }
      if (down[lane] == null) {
        down[lane] = place.device().newStream();
      }
    }
  }

  /** The lane of the next upload. */
  UpLane up() {
    return up[nextUp];
  }

  /** The number of the lane of the next upload. */
  int upIndex() {
    return nextUp;
  }

  /** Makes the other lane that of the next upload. */
  void turnUp() {
    nextUp = (nextUp + 1) % DeviceStaging.LANES;
  }

  List<UpLane> allUp() {
    return List.of(up);
  }

  /** The stream of the next download. */
  CudaStream down() {
    return down[nextDown];
  }

  /** The number of the lane of the next download. */
  int downIndex() {
    return nextDown;
  }

  /** Makes the other lane that of the next download. */
  void turnDown() {
    nextDown = (nextDown + 1) % DeviceStaging.LANES;
  }

  List<CudaStream> allDown() {
    return List.of(down);
  }

  CudaStream compute() {
    return compute;
  }

  /** The stream in whose order device memory is allocated and freed. */
  CudaStream allocations() {
    return allocations;
  }

  /** The stream of lane {@code lane} of the next batch. */
  CudaStream through(int lane) {
    int which = (nextThrough + lane) % DeviceStaging.LANES;
    if (through[which] == null) {
      through[which] = place.device().newStream();
    }
    return through[which];
  }

  /**
   * Advances the lanes by the pieces of the last batch: the next batch begins with the following
   * stream.
   */
  void turnThrough(int pieces) {
    nextThrough = (nextThrough + pieces) % DeviceStaging.LANES;
  }

  /** Forgets an array whose events are closed, since its copies are done. */
  void forget(DeviceRun array) {
    for (UpLane lane : up) {
      if (lane != null && lane.readFor == array) {
        lane.read = null;
        lane.readFor = null;
      }
    }
  }

  /**
   * Closes the streams, which waits for their work, then the arrays of that work, then the stream
   * to which their memory is returned.
   */
  void close(Collection<? extends AutoCloseable> arrays) {
    List<AutoCloseable> owned = new ArrayList<>();
    List<AutoCloseable> memories = new ArrayList<>();
    for (UpLane lane : up) {
      if (lane != null) {
        owned.add(lane.stream);
        memories.add(lane.gathered);
      }
    }
    for (CudaStream stream : down) {
      if (stream != null) {
        owned.add(stream);
      }
    }
    for (CudaStream stream : through) {
      if (stream != null) {
        owned.add(stream);
      }
    }
    if (compute != null) {
      owned.add(compute);
    }
    owned.addAll(arrays);
    if (allocations != null) { // memory is freed in its order
      owned.add(allocations);
    }
    owned.addAll(memories);
    Arrays.fill(up, null);
    Arrays.fill(down, null);
    Arrays.fill(through, null);
    compute = null;
    allocations = null;
    Closing.all(owned);
  }
}
