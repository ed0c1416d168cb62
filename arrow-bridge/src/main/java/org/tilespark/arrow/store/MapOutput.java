package org.tilespark.arrow.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.memory.Uses;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The rows that one attempt of a map task wrote, by partition, as {@link RowImage}s outside the
 * heap. One thread writes; once it is committed ({@link StoredOutputs}), several may read. It is
 * freed when its owner and all readers have released it.
 *
 * <p>In a file and on the network a partition begins with a {@link CheckedHeader}, which states its
 * length and identifies the partition ({@link Id#place}). Frames of about 1 MiB follow: each is a
 * {@link CheckedHeader} with the length and the CRC32C of its images, then the images. A partition
 * without rows has no bytes at all. Readers in the same process read images in memory without
 * checksums; {@link PartitionFrames} reads the bytes of a file or the network.
 *
 * <p>Rows for which memory has no room are written to a temporary file, run by run; this output is
 * written to its final file when it is committed, and is never completely in memory.
 */
public final class MapOutput {
  private static final int FIRST_ROWS = 8;

  /** The output of attempt {@code map} in the shuffle {@code shuffle}. */
  public record Id(int shuffle, long map) {
    /** A checksum that identifies {@code partition} of this output to readers. */
    public int place(int partition) {
      return Crc32c.of(
          ByteBuffer.allocate(Integer.BYTES + Long.BYTES + Integer.BYTES)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putInt(shuffle)
              .putLong(map)
              .putInt(partition)
              .array(),
          0,
          Integer.BYTES + Long.BYTES + Integer.BYTES);
    }
  }

  /**
   * Opens the file for rows for which memory has no room; called at most once. Closing the channel
   * deletes the file.
   */
  public interface Overflow {
    FileChannel open() throws IOException;
  }

  private final Id id;
  private final Arena arena;
  private final Overflow overflow;
  private final long[][] images; // of each partition: the addresses of its images, in memory
  private final int[] counts; // of each partition: used elements of images[p]
  private final long[] wireBytes; // of each partition: bytes on the network and in a file
  private final long[] frameBytes; // of each partition: bytes of the last frame in memory, so far
  private final AtomicReferenceArray<Frames> frames; // of each partition; null until needed
  private final Uses uses;
  private OverflowRuns runs; // null while all rows are in memory
  private long rows;
  private final Set<Long> rooms = new HashSet<>(); // addresses of rows that are being written

  /**
   * An output without rows.
   *
   * @param source source of its memory; borrowed
   * @param budget budget that its memory counts against; borrowed
   */
  public MapOutput(
      Id id, int partitions, HostMemorySource source, StoreBudget budget, Overflow overflow) {
    this.id = id;
    this.arena = new Arena(source, budget);
    this.uses = new Uses("Output " + id, this::free);
    this.overflow = overflow;
    this.images = new long[partitions][];
    this.counts = new int[partitions];
    this.wireBytes = new long[partitions];
    this.frameBytes = new long[partitions];
    this.frames = new AtomicReferenceArray<>(partitions);
  }

  /** The identity of this output. */
  public Id id() {
    return id;
  }

  /**
   * Room in memory for a row, which the caller fills and then {@link #place}s; several rooms may be
   * open at a time. A room that is not placed stays unused.
   *
   * @return the address of the row's first byte, or 0 if there is no room: then {@link #append}
   *     writes it to a file
   */
  public long room(long bytes, int fields) {
    long header = RowImage.header(bytes, fields);
    long address = arena.allocate(RowImage.HEADER_BYTES + bytes);
    if (address == 0) {
      return 0;
    }
    HostMemory.unsafe().putLong(address, header);
    rooms.add(address + RowImage.HEADER_BYTES);
    return address + RowImage.HEADER_BYTES;
  }

  /**
   * Takes the row that was written to a room.
   *
   * @return false if {@code address} is not that of an open room
   */
  public boolean place(int partition, long address) {
    if (!rooms.remove(address)) {
      return false;
    }
    long image = address - RowImage.HEADER_BYTES;
    long[] known = images[partition];
    if (known == null) {
      known = new long[FIRST_ROWS];
    } else if (counts[partition] == known.length) {
      known = Arrays.copyOf(known, 2 * known.length);
    }
    known[counts[partition]++] = image;
    images[partition] = known;
    long bytes = RowImage.endOf(image) - image;
    counted(partition, bytes, frameBytes[partition] == 0);
    frameBytes[partition] += bytes;
    if (frameBytes[partition] >= Frames.FRAME_BYTES) {
      frameBytes[partition] = 0;
    }
    return true;
  }

  /**
   * Copies a row into memory, or, if there is no room, to the file. All rows in memory then go to
   * the file too, unless a room is open.
   *
   * @throws IOException if there is neither memory nor disk space for the row
   */
  public void append(int partition, HostMemory row, int fields) throws IOException {
    long address = room(row.bytes(), fields);
    if (address == 0 && rooms.isEmpty()) {
      toRun();
      address = room(row.bytes(), fields);
    }
    if (address == 0) {
      runs().append(partition, row, fields);
      counted(partition, RowImage.HEADER_BYTES + row.bytes(), true);
    } else {
      row.copyTo(HostMemory.ofAddress(address, row.bytes()));
      place(partition, address);
    }
  }

  private void counted(int partition, long imageBytes, boolean beginsFrame) {
    wireBytes[partition] +=
        imageBytes
            + (beginsFrame ? CheckedHeader.BYTES : 0)
            + (wireBytes[partition] == 0 ? CheckedHeader.BYTES : 0);
    rows++;
  }

  private OverflowRuns runs() throws IOException {
    if (runs == null) {
      runs = new OverflowRuns(overflow.open(), images.length);
    }
    return runs;
  }

  /** Writes the rows in memory to the file as a run, and frees them. */
  private void toRun() throws IOException {
    if (arena.heldBytes() == 0) {
      return;
    }
    OverflowRuns file = runs();
    for (int p = 0; p < images.length; p++) {
      file.append(p, new Frames(images[p], counts[p]));
    }
    Arrays.fill(images, null);
    Arrays.fill(counts, 0);
    Arrays.fill(frameBytes, 0);
    arena.close();
  }

  /** True if all rows are in memory. */
  public boolean isInMemory() {
    return runs == null;
  }

  /** Bytes of memory that this output holds. */
  public long heldBytes() {
    return arena.heldBytes();
  }

  /** Count of rows in all partitions. */
  public long rows() {
    return rows;
  }

  /** Bytes of a partition on the network and in a file; 0 if it has no rows. */
  public long wireBytes(int partition) {
    return wireBytes[partition];
  }

  /** As {@link #wireBytes(int)}, of all partitions. */
  public long[] wireBytes() {
    return wireBytes.clone();
  }

  /** Count of a partition's images in memory. */
  public int imageCount(int partition) {
    return counts[partition];
  }

  /** The address of the header of an image in memory. */
  public long image(int partition, int i) {
    return images[partition][i];
  }

  /** Takes ranges of memory. */
  public interface RangeSink<E extends Exception> {
    /** Takes {@code bytes} bytes at {@code address}, which stay valid as long as the output. */
    void accept(long address, int bytes) throws E;
  }

  /** Takes the bytes of a partition. */
  public interface PartitionSink<E extends Exception> extends RangeSink<E> {
    /** Takes bytes in an array on the heap. */
    void accept(byte[] bytes) throws E;
  }

  /**
   * Gives the bytes of a partition in the form for the network, in order; consecutive images are
   * given together, up to 1 GiB. Checksums are computed the first time.
   *
   * @throws IllegalStateException if some rows are not in memory
   */
  public <E extends Exception> void giveTo(int partition, PartitionSink<E> sink) throws E {
    if (!isInMemory()) {
      throw new IllegalStateException("Output " + id + " does not lie in memory as a whole");
    }
    if (wireBytes[partition] > 0) {
      sink.accept(header(partition));
      framesOf(partition).giveTo(sink);
    }
  }

  private byte[] header(int partition) {
    return new CheckedHeader(wireBytes[partition], id.place(partition)).encoded();
  }

  private Frames framesOf(int partition) {
    Frames known = frames.get(partition);
    if (known == null) { // two threads may make equal ones
      known = new Frames(images[partition], counts[partition]);
      frames.set(partition, known);
    }
    return known;
  }

  /** Writes a partition's bytes in the form that files have. */
  public void writeTo(int partition, WritableByteChannel channel) throws IOException {
    if (wireBytes[partition] > 0) {
      writeAll(ByteBuffer.wrap(header(partition)), channel);
      if (runs != null) {
        runs.copyTo(partition, channel);
      }
      framesOf(partition).giveTo(new ChannelSink(channel));
    }
  }

  /**
   * CRC32C of a partition in its file form; 0 if it has no rows. The checksum of a frame is
   * computed only once.
   */
  public int checksum(int partition) {
    if (wireBytes[partition] == 0) {
      return 0;
    }
    byte[] header = header(partition);
    int sum = Crc32c.of(header, 0, header.length);
    if (runs != null) {
      sum = Crc32c.combine(sum, runs.checksum(partition), runs.bytes(partition));
    }
    long inMemory =
        wireBytes[partition] - CheckedHeader.BYTES - (runs == null ? 0 : runs.bytes(partition));
    return Crc32c.combine(sum, framesOf(partition).checksum(), inMemory);
  }

  /** A sink that writes to a channel. */
  record ChannelSink(WritableByteChannel channel) implements PartitionSink<IOException> {
    @Override
    public void accept(byte[] bytes) throws IOException {
      writeAll(ByteBuffer.wrap(bytes), channel);
    }

    @Override
    public void accept(long address, int bytes) throws IOException {
      writeAll(RowImage.view(address, bytes), channel);
    }
  }

  static void writeAll(ByteBuffer buffer, WritableByteChannel channel) throws IOException {
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
  }

  /** Adds a user of the output, who must {@link #release} it; false if it has been freed. */
  public boolean retain() {
    return uses.retain();
  }

  /**
   * Adds a use of the output; running the result ends that use. The creator must not have released
   * it.
   */
  public Runnable held() {
    if (!retain()) {
      throw new IllegalStateException("Output " + id + " has been freed");
    }
    return this::release;
  }

  /** True if the output has more than one user now. */
  boolean isShared() {
    return uses.areShared();
  }

  /**
   * Ends one use; the end of the last one frees the output.
   *
   * @return true if it was the last use
   */
  public boolean release() {
    return uses.release();
  }

  private void free() {
    arena.close();
    if (runs != null) {
      runs.close();
    }
  }
}
