package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.blocks.Piece.Layout;
import org.tilespark.arrow.blocks.Piece.Run;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.DeviceClock.Phase;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.device.DeviceTransposer.Part;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The device's memory of one batch: lanes, each on a stream of its own, made and freed together.
 */
final class PermuteLanes implements AutoCloseable {
  private final TaskScope scope;
  private final DevicePlace place;
  private final DeviceTransposer transposer;
  private final Layout layout;
  private final List<Lane> lanes = new ArrayList<>();

  /**
   * Allocates all lanes.
   *
   * @param scope takes them; closed with this
   * @param streams one for each lane; borrowed
   */
  PermuteLanes(
      TaskScope scope,
      Layout layout,
      List<CudaStream> streams,
      DevicePlace place,
      DeviceTransposer transposer) {
    this.scope = scope;
    this.place = place;
    this.transposer = transposer;
    this.layout = layout;
    for (CudaStream stream : streams) {
      lanes.add(new Lane(stream));
    }
    for (Lane lane : lanes) {
      lane.clock = scope.own(new DeviceClock(lane.stream)); // starts when all have memory
    }
  }

  Layout layout() {
    return layout;
  }

  int count() {
    return lanes.size();
  }

  /** The lane that a piece goes through. */
  Lane lane(int piece) {
    return lanes.get(piece % lanes.size());
  }

  /** Waits until the device is done with the batch; the time it took. */
  DeviceClock.Times await() {
    return DeviceClock.await(lanes.stream().map(lane -> lane.clock).toList());
  }

  /** Frees everything; the device must be done with it. */
  @Override
  public void close() {
    scope.close();
  }

  /**
   * The device's memory of one piece at a time: blocks go from one buffer to the other and back.
   */
  final class Lane {
    private final CudaStream stream;
    private final DeviceBuffer in;
    private final DeviceBuffer out;
    private DeviceClock clock; // null until the batch has all of its memory
    private ArrowBuf staging; // null until a piece needs it
    private CudaEvent staged; // the last copy from it

    private Lane(CudaStream stream) {
      this.stream = stream;
      this.in = scope.own(place.device().allocate(layout.pieceBytes(), stream));
      this.out = scope.own(place.device().allocate(layout.pieceBytes(), stream));
    }

    /** Queues the copy of what a region of a plane has of pinned bytes. */
    void copy(PinnedUpload upload, Region region) {
      upload.copy(region, stream, in);
    }

    /** Queues the copy of a region of {@code values}, which have been read when this returns. */
    void stage(HostMemory values, Region region) {
      if (staging == null) {
        staging = scope.own(place.allocator().buffer(in.bytes()));
      } else {
        place.awaitResults(staged::synchronize);
      }
      HostMemory target = Buffers.memory(staging, 0, region.bytes());
      for (long row = 0; row < region.rows(); row++) {
        values
            .slice(region.startBytes() + row * region.pitchBytes(), region.rowBytes())
            .copyTo(target.slice(row * region.rowBytes(), region.rowBytes()));
      }
      stream.upload(target, in, 0);
    }

    /** Queues the steps of a piece that was uploaded, and its download to where results go. */
    void finish(Piece piece, PlaneResults results) {
      staged = clock.ended(Phase.COPY_UP);
      DeviceBuffer from = in;
      DeviceBuffer to = out;
      for (int step = 0; step < piece.steps(); step++) {
        enqueue(piece.runs(), step, from, to);
        DeviceBuffer swapped = from;
        from = to;
        to = swapped;
      }
      clock.ended(Phase.KERNELS);
      results.download(piece.to(), from, stream);
      clock.ended(Phase.COPY_DOWN);
    }

    /**
     * Queues one step of all blocks of a piece; the one place that launches kernels.
     *
     * @param in the blocks as the step before left them
     * @param out where the same blocks go, each to its place in {@code in}
     */
    private void enqueue(List<Run> runs, int step, DeviceBuffer in, DeviceBuffer out) {
      List<Part> parts = new ArrayList<>();
      for (Run run : runs) {
        parts.add(new Part(run.batched(step), run.startBytes(), run.startBytes()));
      }
      transposer.enqueueAll(parts, in, out, stream);
    }
  }
}
