package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.pipeline.DeviceClock;
import org.tilespark.arrow.pipeline.DeviceClock.Phase;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CopyBatch;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The device memory of one batch: several lanes, each with its own stream, allocated and freed
 * together.
 */
final class BatchLanes implements AutoCloseable {
  private final TaskScope scope;
  private final DeviceMachine machine;
  private final List<BatchPiece> pieces;
  private final List<Lane> lanes = new ArrayList<>();

  private BatchLanes(
      TaskScope scope, List<BatchPiece> pieces, List<CudaStream> streams, DeviceMachine machine) {
    this.scope = scope;
    this.machine = machine;
    this.pieces = pieces;
    List<Long> buffers = largest(pieces);
    for (CudaStream stream : streams) {
      lanes.add(new Lane(stream, scope.own(DeviceArrays.allocate(buffers, machine, stream))));
    }
    for (Lane lane : lanes) {
      lane.clock = scope.own(new DeviceClock(lane.stream)); // starts when all lanes have memory
    }
  }

  /**
   * Allocates all lanes.
   *
   * @param pieces pieces that use the lanes in turn
   * @param streams streams of the lanes, one for each; borrowed
   */
  static BatchLanes allocate(
      List<BatchPiece> pieces, List<CudaStream> streams, DeviceMachine machine) {
    return TaskScope.opening(scope -> new BatchLanes(scope, pieces, streams, machine));
  }

  /** Bytes of each buffer of a lane, enough for every piece. */
  static List<Long> largest(List<BatchPiece> pieces) {
    List<Long> most = new ArrayList<>();
    for (BatchPiece piece : pieces) {
      List<Long> buffers = piece.plan().buffers();
      for (int i = 0; i < buffers.size(); i++) {
        if (i == most.size()) {
          most.add(0L);
        }
        most.set(i, Math.max(most.get(i), buffers.get(i)));
      }
    }
    return most;
  }

  List<BatchPiece> pieces() {
    return pieces;
  }

  int count() {
    return lanes.size();
  }

  /** The lane that a piece uses, by the piece's number. */
  Lane lane(int piece) {
    return lanes.get(piece % lanes.size());
  }

  /** Waits until the device has finished the batch; returns the times that it took. */
  DeviceClock.Times await() {
    return DeviceClock.await(lanes.stream().map(lane -> lane.clock).toList());
  }

  /** Frees the memory of all lanes; the device must have finished the batch. */
  @Override
  public void close() {
    scope.close();
  }

  /** Device memory for one piece at a time. */
  final class Lane {
    private final CudaStream stream;
    private final DeviceArrays arrays;
    private DeviceClock clock; // null until the batch has all of its memory
    private ArrowBuf staging; // null until a piece needs it
    private CudaEvent staged; // event after the last copy from staging

    private Lane(CudaStream stream, DeviceArrays arrays) {
      this.stream = stream;
      this.arrays = arrays;
    }

    /** Queues the copies of a piece from pinned memory. */
    void upload(List<HostRanges.Copy> copies) {
      CopyBatch batch = new CopyBatch(stream);
      copies.forEach(copy -> copy.upload(arrays.buffers.get(0), batch));
      batch.queue();
    }

    /** Queues the copy of a region of {@code values}, which have been read when this returns. */
    void stage(HostMemory values, Region region) {
      if (staging == null) {
        staging = scope.own(machine.place().allocator().buffer(arrays.buffers.get(0).bytes()));
      } else {
        machine.place().awaitResults(staged::synchronize);
      }
      HostMemory target = Buffers.memory(staging, 0, region.bytes());
      for (long row = 0; row < region.rows(); row++) {
        values
            .slice(region.startBytes() + row * region.pitchBytes(), region.rowBytes())
            .copyTo(target.slice(row * region.rowBytes(), region.rowBytes()));
      }
      stream.upload(target, arrays.buffers.get(0), 0);
    }

    /**
     * Queues the steps of an uploaded piece, and the copies of its results to their destinations.
     */
    void finish(BatchPiece piece, List<HostRanges.Copy> results) {
      staged = clock.ended(Phase.COPY_UP);
      DeviceProgram plan = piece.plan();
      arrays.run(plan, machine, stream);
      clock.ended(Phase.KERNELS);
      CopyBatch batch = new CopyBatch(stream);
      results.forEach(copy -> copy.download(arrays.buffers.get(plan.result()), batch));
      batch.queue();
      clock.ended(Phase.COPY_DOWN);
    }
  }
}
