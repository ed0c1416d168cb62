package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.device.CopyBatch;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Host memory of one plane of a {@link DeviceBatch}: ranges outside the heap, in the order of the
 * plane. Each range holds one or more arrays.
 */
final class HostRanges {
  private final List<HostMemory> ranges = new ArrayList<>();
  private final List<Long> starts = new ArrayList<>(); // offset of each range in the plane
  private Object lastSource;
  private long bytes;

  /**
   * Rows of host memory that are copied in one call; they are dense on the device.
   *
   * @param memory the memory from the first row's first byte to the last row's last byte
   * @param pitchBytes bytes from one row's first byte to the next row's first byte
   * @param deviceOffset offset of the first row on the device
   */
  record Copy(HostMemory memory, long pitchBytes, long rowBytes, long rows, long deviceOffset) {
    void upload(DeviceBuffer to, CopyBatch batch) {
      batch.uploadRows(memory, pitchBytes, rowBytes, rows, to, deviceOffset, rowBytes);
    }

    void download(DeviceBuffer from, CopyBatch batch) {
      batch.downloadRows(from, deviceOffset, memory, pitchBytes, rowBytes, rows);
    }
  }

  /**
   * Adds the plane's next bytes, joined with the last range if they follow it in memory.
   *
   * @param source allocator of the memory; ranges of different allocators are never joined
   */
  void add(HostMemory memory, Object source) {
    int last = ranges.size() - 1;
    if (last >= 0
        && source == lastSource
        && ranges.get(last).offset() + ranges.get(last).bytes() == memory.offset()) {
      HostMemory joined = ranges.get(last);
      ranges.set(last, HostMemory.ofAddress(joined.offset(), joined.bytes() + memory.bytes()));
    } else {
      ranges.add(memory);
      starts.add(bytes);
    }
    lastSource = source;
    bytes += memory.bytes();
  }

  /** The ranges, in order. */
  List<HostMemory> ranges() {
    return ranges;
  }

  /**
   * The copies between a region of the plane, of whole arrays or of a slice of one, and a device.
   */
  List<Copy> copies(Region region) {
    List<Copy> copies = new ArrayList<>();
    long end = region.startBytes() + region.spanBytes();
    for (int i = firstAt(region.startBytes()); i < ranges.size() && starts.get(i) < end; i++) {
      HostMemory range = ranges.get(i);
      long from = Math.max(starts.get(i), region.startBytes());
      long to = Math.min(starts.get(i) + range.bytes(), end);
      HostMemory memory = range.slice(from - starts.get(i), to - from);
      copies.add(
          region.rows() == 1
              ? new Copy(memory, to - from, to - from, 1, from - region.startBytes())
              : new Copy(memory, region.pitchBytes(), region.rowBytes(), region.rows(), 0));
    }
    return copies;
  }

  /** The range that holds a byte of the plane. */
  private int firstAt(long at) {
    int low = 0;
    int high = ranges.size() - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (starts.get(middle) <= at) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
}
