package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Where the results of one plane of a batch go: one behind the other in a buffer, or each to a room
 * of its own.
 */
final class PlaneResults {
  private final List<HostMemory> ranges; // one behind the other in the batch's terms
  private final long[] starts; // of each, and the end of the last

  private PlaneResults(List<HostMemory> ranges) {
    this.ranges = ranges;
    this.starts = new long[ranges.size() + 1];
    for (int i = 0; i < ranges.size(); i++) {
      starts[i + 1] = starts[i] + ranges.get(i).bytes();
    }
  }

  /** All of the plane is in one place. */
  static PlaneResults in(HostMemory plane) {
    return new PlaneResults(List.of(plane));
  }

  /** Each block of plane {@code plane} has room of its own. */
  static PlaneResults in(List<List<HostMemory>> rooms, int plane) {
    List<HostMemory> ranges = new ArrayList<>();
    rooms.forEach(room -> ranges.add(room.get(plane)));
    return new PlaneResults(ranges);
  }

  /** Queues the copy of a region, dense in device memory: of whole blocks, or of one slice. */
  void download(Region region, DeviceBuffer from, CudaStream stream) {
    long end = region.startBytes() + region.spanBytes();
    for (int i = firstBefore(region.startBytes()); i < ranges.size() && starts[i] < end; i++) {
      HostMemory range = ranges.get(i);
      if (region.rows() == 1) {
        long start = Math.max(starts[i], region.startBytes());
        long bytes = Math.min(starts[i + 1], end) - start;
        stream.download(from, start - region.startBytes(), range.slice(start - starts[i], bytes));
      } else { // a slice of a block, and a block has one room
        stream.downloadRows(
            from,
            0,
            range.slice(region.startBytes() - starts[i], region.spanBytes()),
            region.pitchBytes(),
            region.rowBytes(),
            region.rows());
      }
    }
  }

  /** The range that holds a byte. */
  private int firstBefore(long at) {
    int low = 0;
    int high = ranges.size() - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (starts[middle] <= at) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
}
