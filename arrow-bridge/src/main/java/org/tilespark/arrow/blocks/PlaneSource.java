package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ReferenceManager;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Pinned memory that holds one plane of the arrays of a batch: the arrays themselves if they are
 * pinned, else copies. Ranges that are small even when joined with their neighbours are copied too:
 * that is faster than a separate upload.
 */
final class PlaneSource implements AutoCloseable {
  private static final long FIRST_COPIES_BYTES = 64 << 10;

  private final DevicePlace place;
  private final long mostBytes;
  private final List<ArrowBuf> held = new ArrayList<>();
  private HostRanges ranges = new HostRanges();
  private ReferenceManager last; // of the plane that was added last
  private ArrowBuf copies; // buffer for the next copy; null before the first
  private long usedBytes; // used bytes of the buffer

  /**
   * A source without arrays.
   *
   * @param place the task's resources; borrowed
   * @param mostBytes upper bound of this plane's bytes, summed over all arrays
   */
  PlaneSource(DevicePlace place, long mostBytes) {
    this.place = place;
    this.mostBytes = mostBytes;
  }

  /** Adds the plane of an array, which has been read when this returns unless it is pinned. */
  void add(Plane plane) {
    HostMemory values = plane.values();
    Optional<ArrowBuf> owner = plane.owner().filter(place.memory()::owns);
    if (owner.isPresent()) {
      ReferenceManager source = owner.get().getReferenceManager();
      if (source != last) {
        // Retained by our allocator, so that the buffer outlives the allocator that it came from.
        held.add(source.retain(owner.get(), place.allocator()));
      }
      add(values, source);
    } else {
      HostMemory copy = newCopy(values.bytes());
      values.copyTo(copy);
      place.listener().staged(values.bytes());
      add(copy, copies.getReferenceManager());
    }
  }

  private void add(HostMemory values, ReferenceManager source) {
    ranges.add(values, source);
    last = source;
  }

  /**
   * Memory for a copy: after the last copy, or in a new buffer, which is twice as large as the
   * previous one.
   */
  private HostMemory newCopy(long bytes) {
    if (copies == null || bytes > copies.capacity() - usedBytes) {
      long next = copies == null ? FIRST_COPIES_BYTES : 2 * copies.capacity();
      copies = place.allocator().buffer(Math.max(bytes, Math.min(next, mostBytes)));
      held.add(copies);
      usedBytes = 0;
    }
    HostMemory copy = Buffers.memory(copies, usedBytes, bytes);
    usedBytes += bytes;
    return copy;
  }

  /** The ranges of all added planes; no plane may be added after this. */
  HostRanges end() {
    List<HostMemory> all = ranges.ranges();
    long smallBytes = all.stream().filter(PlaneSource::isSmall).mapToLong(HostMemory::bytes).sum();
    if (all.size() == 1 || smallBytes == 0) {
      return ranges;
    }
    ArrowBuf gathered = place.allocator().buffer(smallBytes);
    held.add(gathered);
    HostRanges joined = new HostRanges();
    long used = 0;
    for (HostMemory range : all) {
      if (isSmall(range)) {
        HostMemory copy = Buffers.memory(gathered, used, range.bytes());
        range.copyTo(copy);
        joined.add(copy, gathered);
        used += range.bytes();
      } else {
        joined.add(range, range);
      }
    }
    place.listener().staged(smallBytes);
    ranges = joined;
    return ranges;
  }

  private static boolean isSmall(HostMemory range) {
    return range.bytes() < DeviceRun.LEAST_COPY_BYTES;
  }

  /** Releases the pinned memory; the device must have read it. */
  @Override
  public void close() {
    Closing.emptied(held);
  }
}
