package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.memory.HostMemory;

/**
 * One upload to a staging buffer of the device: ranges of pinned memory, one copy each, and the
 * pieces of arrays that are then in the buffer. Pinned planes are read in place; others are
 * gathered in pinned memory first. Parts that are contiguous in an array of one plane need no
 * staging buffer: they are copied directly to their place.
 */
final class DeviceLoad {
  /** Alignment of planes in staging buffers, sufficient for every access. */
  static final long ALIGNMENT = 16;

  private final long capacity;
  private final Supplier<HostMemory> newGathered;
  private final List<Upload> uploads = new ArrayList<>();
  private final Map<Integer, List<Upload>> straight = new TreeMap<>(); // of each array
  private final Map<Integer, List<Piece>> pieces = new TreeMap<>(); // of each array
  private HostMemory gathered; // null until a plane needs it
  private long usedBytes;
  private long straightBytes;

  /** A copy of contiguous bytes from pinned memory to a staging buffer. */
  static final class Upload {
    private final long address;
    private final long toBytes;
    private long bytes;

    private Upload(long address, long toBytes, long bytes) {
      this.address = address;
      this.toBytes = toBytes;
      this.bytes = bytes;
    }

    /** The source of the copy. */
    HostMemory from() {
      return HostMemory.ofAddress(address, bytes);
    }

    /** The target's offset in the staging buffer or in the array. */
    long toBytes() {
      return toBytes;
    }

    private long toEnd() {
      return toBytes + bytes;
    }
  }

  /**
   * A load without values.
   *
   * @param capacity bytes of the staging buffer
   * @param newGathered supplies pinned memory for gathering, which may be overwritten; called at
   *     most once
   */
  DeviceLoad(long capacity, Supplier<HostMemory> newGathered) {
    this.capacity = capacity;
    this.newGathered = newGathered;
  }

  /** The next multiple of {@link #ALIGNMENT}. */
  static long aligned(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /**
   * The number of elements of each of {@code planes} planes that still fit into this load; 0 if
   * this load should be sent first.
   */
  long fitting(long elements, int planes, int width) {
    long room = (capacity - usedBytes) / planes;
    long most = room / ALIGNMENT * ALIGNMENT / width;
    if (elements <= most) {
      return elements;
    }
    return usedBytes > capacity / 2 ? 0 : most;
  }

  /** Adds pinned values, to be read in place; returns their offset in the staging buffer. */
  long upload(HostMemory values) {
    long to = reserve(values.bytes());
    Upload last = last();
    if (last != null && last.address + last.bytes == values.offset() && last.toEnd() == to) {
      last.bytes += values.bytes();
    } else {
      uploads.add(new Upload(values.offset(), to, values.bytes()));
    }
    return to;
  }

  /** Adds a copy of the values; returns their offset in the staging buffer. */
  long gather(HostMemory values) {
    long to = reserve(values.bytes());
    if (gathered == null) {
      gathered = newGathered.get();
    }
    HostMemory target = gathered.slice(to, values.bytes());
    values.copyTo(target);
    // The copy includes the gap before these values, so that all gathered values are one copy.
    Upload last = last();
    if (last != null
        && last.address + last.bytes == gathered.offset() + last.toEnd()
        && aligned(last.toEnd()) == to) {
      last.bytes = to + values.bytes() - last.toBytes;
    } else {
      uploads.add(new Upload(target.offset(), to, values.bytes()));
    }
    return to;
  }

  /** Adds pinned values that are copied directly to their place in the array. */
  void straight(int array, HostMemory values, long toBytes) {
    straight
        .computeIfAbsent(array, any -> new ArrayList<>())
        .add(new Upload(values.offset(), toBytes, values.bytes()));
    straightBytes += values.bytes();
  }

  /** Bytes that are copied directly to their places in arrays. */
  long straightBytes() {
    return straightBytes;
  }

  /** Bytes of all copies, and of gaps between them. */
  long bytes() {
    return usedBytes + straightBytes;
  }

  private long reserve(long bytes) {
    long from = usedBytes;
    usedBytes = aligned(usedBytes + bytes);
    return from;
  }

  private Upload last() {
    return uploads.isEmpty() ? null : uploads.get(uploads.size() - 1);
  }

  /** Adds a piece of an array, whose planes were added before. */
  void add(int array, Piece piece) {
    pieces.computeIfAbsent(array, any -> new ArrayList<>()).add(piece);
  }

  /** True if there is nothing to send. */
  boolean isEmpty() {
    return pieces.isEmpty() && straight.isEmpty();
  }

  /** True if this load reads gathered values. */
  boolean isGathered() {
    return gathered != null;
  }

  /** The copies directly into each array, by the array's number. */
  Map<Integer, List<Upload>> straight() {
    return Collections.unmodifiableMap(straight);
  }

  List<Upload> uploads() {
    return Collections.unmodifiableList(uploads);
  }

  /** The pieces of each array, by the array's number. */
  Map<Integer, List<Piece>> pieces() {
    return Collections.unmodifiableMap(pieces);
  }
}
