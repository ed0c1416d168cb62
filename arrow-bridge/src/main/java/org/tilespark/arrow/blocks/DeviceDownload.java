package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.device.CopyBatch;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;

/**
 * Downloads the parts of one array's result, in order: directly into their rooms if the device can
 * write there, otherwise into pinned buffers. Small parts share a launch and a buffer; a large part
 * that is contiguous in an array of one plane is read in place.
 */
final class DeviceDownload implements AutoCloseable {
  private final DevicePlace place;
  private final State output;
  private final long stagingBytes;
  private final Device device;
  private final Deque<Part> unfetched = new ArrayDeque<>();
  private final Deque<FetchedParts> fetched = new ArrayDeque<>();
  private Rooms rooms = Rooms.NONE;
  private int nextRoom; // number of the room of the part that is fetched next
  private long fetchedBytes; // of parts that are not taken
  private long movedBytes;

  /** The source of parts on the device. */
  interface Device {
    /** Queues the move of pieces into the staging buffer of the next download lane. */
    DeviceBuffer stage(List<Piece> pieces);

    /** True if the planes are stored in the array one after the other, as the host wants them. */
    boolean isReadStraight();

    /** The array's buffer, for copies in the next download lane. */
    DeviceBuffer array();

    /** The stream of the next download lane. */
    CudaStream stream();

    /** Called after a download was queued; the other lane is next. */
    void copied(FetchedParts group);
  }

  /** A download of parts of a result of state {@code output}; borrows place and device. */
  DeviceDownload(DevicePlace place, State output, long stagingBytes, Device device) {
    this.place = place;
    this.output = output;
    this.stagingBytes = stagingBytes;
    this.device = device;
  }

  /** Sets the parts, as in {@link BlockPipeline#run}; starts no download yet. */
  void begin(List<Part> outputs, Rooms outputRooms) {
    rooms = outputRooms;
    unfetched.addAll(outputs);
  }

  /** True if there are parts whose download is not queued. */
  boolean hasMore() {
    return !unfetched.isEmpty();
  }

  private long planeBytes(Part part) {
    return part.elements() * output.type().bytes();
  }

  /** Bytes that a part occupies in a buffer that it shares with others. */
  private long roomOf(Part part) {
    return output.planes() * DeviceLoad.aligned(planeBytes(part));
  }

  /** Bytes that were downloaded, or are being downloaded, and are not taken. */
  long fetchedBytes() {
    return fetchedBytes;
  }

  /** Bytes that were downloaded, or are being downloaded. */
  long movedBytes() {
    return movedBytes;
  }

  /** Bytes that the next {@link #fetch} brings. */
  long nextBytes() {
    long bytes = 0;
    for (Part part : unfetched) {
      if (bytes + roomOf(part) > stagingBytes) {
        break;
      }
      bytes += roomOf(part);
    }
    return bytes == 0 ? output.planes() * planeBytes(unfetched.element()) : bytes;
  }

  /** Queues the download of the next parts; returns their bytes. */
  long fetch() {
    long bytes = nextBytes();
    FetchedParts group = new FetchedParts(bytes);
    fetched.add(group);
    fetchedBytes += bytes;
    if (roomOf(unfetched.element()) > stagingBytes) {
      fetchLarge(unfetched.remove(), group);
    } else {
      fetchSmall(group);
    }
    movedBytes += bytes;
    return bytes;
  }

  private void fetchSmall(FetchedParts group) {
    List<Piece> pieces = new ArrayList<>();
    List<Down> copies = new ArrayList<>();
    ArrowBuf buffer = null; // for parts to whose rooms the device cannot write
    long used = 0;
    try {
      while (used < group.bytes) {
        Part part = unfetched.remove();
        List<HostMemory> room = room(part);
        boolean isDirect = isDirect(room);
        if (!isDirect && buffer == null) {
          buffer = place.allocator().buffer(group.bytes);
        }
        long[] to = new long[2];
        List<ArrowBuf> planes = new ArrayList<>();
        for (int p = 0; p < output.planes(); p++) {
          to[p] = used;
          used += DeviceLoad.aligned(planeBytes(part));
          if (isDirect) {
            copies.add(new Down(to[p], room.get(p)));
          } else {
            ArrowBuf slice = buffer.slice(to[p], planeBytes(part));
            slice.getReferenceManager().retain();
            planes.add(slice);
            addBuffered(copies, to[p], Buffers.memory(buffer, to[p], used - to[p]));
          }
        }
        group.parts.add(new FetchedParts.Fetched(planes, room));
        pieces.add(
            new Piece(output.shape(), part.low(), shape(part), 0, part.elements(), to[0], to[1]));
      }
      DeviceBuffer staging = device.stage(pieces);
      CopyBatch batch = new CopyBatch(device.stream());
      copies.forEach(copy -> batch.download(staging, copy.from(), copy.to()));
      batch.queue();
      device.copied(group);
    } finally {
      if (buffer != null) {
        buffer.close(); // its slices keep its memory
      }
    }
  }

  /** The copy of a range of a staging buffer to the host. */
  private record Down(long from, HostMemory to) {}

  /** Adds a copy; joins it with the last copy if both its ranges follow those of the last copy. */
  private static void addBuffered(List<Down> copies, long from, HostMemory to) {
    Down last = copies.isEmpty() ? null : copies.get(copies.size() - 1);
    if (last != null
        && last.from() + last.to().bytes() == from
        && last.to().offset() + last.to().bytes() == to.offset()) {
      copies.set(
          copies.size() - 1,
          new Down(
              last.from(),
              HostMemory.ofAddress(last.to().offset(), last.to().bytes() + to.bytes())));
    } else {
      copies.add(new Down(from, to));
    }
  }

  /** The room of the part that is fetched next; empty if there is none. */
  private List<HostMemory> room(Part part) {
    return part.requireRoom(rooms.of(nextRoom++), output);
  }

  /** True if the device should write directly to a part's room. */
  private boolean isDirect(List<HostMemory> room) {
    return !room.isEmpty()
        && room.stream()
            .allMatch(
                plane -> plane.bytes() >= DeviceRun.LEAST_COPY_BYTES && place.memory().pins(plane));
  }

  private void fetchLarge(Part part, FetchedParts group) {
    List<HostMemory> room = room(part);
    List<ArrowBuf> planes =
        isDirect(room)
            ? List.of()
            : Buffers.allocate(place.allocator(), output.planes(), planeBytes(part));
    group.parts.add(new FetchedParts.Fetched(planes, room));
    long width = output.type().bytes();
    OptionalLong at = BoxMoves.contiguous(part, output.shape());
    if (at.isPresent() && device.isReadStraight()) {
      DeviceBuffer array = device.array();
      CopyBatch batch = new CopyBatch(device.stream());
      for (int p = 0; p < output.planes(); p++) {
        HostMemory to =
            planes.isEmpty() ? room.get(p) : Buffers.memory(planes.get(p), 0, planeBytes(part));
        batch.download(array, p * output.planeBytes() + at.getAsLong() * width, to);
      }
      batch.queue();
      device.copied(group);
      return;
    }
    long most =
        stagingBytes / output.planes() / DeviceLoad.ALIGNMENT * DeviceLoad.ALIGNMENT / width;
    for (long done = 0; done < part.elements(); done += most) {
      long count = Math.min(most, part.elements() - done);
      long[] from = {0, DeviceLoad.aligned(count * width)};
      DeviceBuffer staging =
          device.stage(
              List.of(
                  new Piece(
                      output.shape(), part.low(), shape(part), done, count, from[0], from[1])));
      CopyBatch batch = new CopyBatch(device.stream());
      for (int p = 0; p < output.planes(); p++) {
        HostMemory to =
            planes.isEmpty()
                ? room.get(p).slice(done * width, count * width)
                : Buffers.memory(planes.get(p), done * width, count * width);
        batch.download(staging, from[p], to);
      }
      batch.queue();
      device.copied(group);
    }
  }

  /** The parts that come next, which the device may still be writing. */
  FetchedParts next() {
    if (fetched.isEmpty()) {
      fetch();
    }
    return fetched.element();
  }

  /** True if the parts of {@link #next} are the last ones. */
  boolean isLast() {
    return unfetched.isEmpty() && fetched.size() == 1;
  }

  /** The next part, which has arrived, as {@link BlockPipeline#take} gives it. */
  List<ArrowBuf> take() {
    FetchedParts group = fetched.element();
    List<ArrowBuf> planes = group.parts.remove().arrived(place.listener());
    if (group.parts.isEmpty()) {
      fetched.remove();
      fetchedBytes -= group.bytes;
    }
    return planes;
  }

  @Override
  public void close() {
    Closing.emptied(fetched);
  }

  private static Shape shape(Part part) {
    return Shape.of(part.size().stream().mapToLong(Long::longValue).toArray());
  }
}
