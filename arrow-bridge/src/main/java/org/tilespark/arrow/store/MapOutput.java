package org.tilespark.arrow.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.kernels.memory.HostMemory;

/**
 * The rows that one attempt of a map task wrote, by partition, as {@link RowImage}s outside the
 * heap. One thread writes; once it is committed ({@link StoredOutputs}), several may read. It is
 * freed when its owner and all readers have released it.
 *
 * <p>In a file and on the wire a partition is {@code [its bytes, these 8 included][images ...]}; a
 * partition without rows has no bytes at all.
 *
 * <p>What finds no room in memory goes to a file of the writer's, run by run; such an output is
 * written to its final file when it is committed, and never lies in memory as a whole.
 */
public final class MapOutput {
  private static final int TOTAL_BYTES = 8;
  private static final int FIRST_ROWS = 8;

  /** The output of attempt {@code map} in the shuffle {@code shuffle}. */
  public record Id(int shuffle, long map) {}

  /** Opens the file for rows that find no room; called at most once. Closing it deletes it. */
  public interface Overflow {
    FileChannel open() throws IOException;
  }

  private final Id id;
  private final Arena arena;
  private final Overflow overflow;
  private final long[][] images; // of each partition: the addresses of its images, in memory
  private final int[] counts; // of each partition: used elements of images[p]
  private final long[] wireBytes; // of each partition
  private final AtomicInteger users = new AtomicInteger(1);
  private OverflowRuns runs; // null while all rows lie in memory
  private long rows;
  private final Set<Long> rooms = new HashSet<>(); // of rows that are being made: their addresses

  /**
   * An output without rows.
   *
   * @param source of its memory; borrowed
   * @param budget that its memory counts against; borrowed
   */
  public MapOutput(
      Id id, int partitions, HostMemorySource source, StoreBudget budget, Overflow overflow) {
    this.id = id;
    this.arena = new Arena(source, budget);
    this.overflow = overflow;
    this.images = new long[partitions][];
    this.counts = new int[partitions];
    this.wireBytes = new long[partitions];
  }

  /** Whose output it is. */
  public Id id() {
    return id;
  }

  /**
   * Room in memory for a row, which the caller fills and {@link #place}s; several rows may be made
   * at a time. Room that is not placed stays empty.
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
   * Takes the row in a room.
   *
   * @return false if {@code address} is not that of a room whose row has not been taken
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
    counted(partition, RowImage.bytes(RowImage.headerAt(image)));
    return true;
  }

  /**
   * Copies a row: into memory, or to the file, with everything that lies in memory, unless rows are
   * being made there.
   *
   * @throws IOException if there is neither memory nor disk for it
   */
  public void append(int partition, HostMemory row, int fields) throws IOException {
    long address = room(row.bytes(), fields);
    if (address == 0 && rooms.isEmpty()) {
      toRun();
      address = room(row.bytes(), fields);
    }
    if (address == 0) {
      runs().append(partition, row, fields);
      counted(partition, row.bytes());
    } else {
      row.copyTo(HostMemory.ofAddress(address, row.bytes()));
      place(partition, address);
    }
  }

  private void counted(int partition, long rowBytes) {
    wireBytes[partition] +=
        RowImage.HEADER_BYTES + rowBytes + (wireBytes[partition] == 0 ? TOTAL_BYTES : 0);
    rows++;
  }

  private OverflowRuns runs() throws IOException {
    if (runs == null) {
      runs = new OverflowRuns(overflow.open(), images.length);
    }
    return runs;
  }

  /** Writes what lies in memory to the file, and frees it. */
  private void toRun() throws IOException {
    if (arena.heldBytes() == 0) {
      return;
    }
    OverflowRuns file = runs();
    for (int p = 0; p < images.length; p++) {
      file.begin(p);
      writeImages(p, file.channel());
      file.end();
    }
    Arrays.fill(images, null);
    Arrays.fill(counts, 0);
    arena.close();
  }

  /** True if all rows lie in memory. */
  public boolean isInMemory() {
    return runs == null;
  }

  /** Bytes of memory that it holds. */
  public long heldBytes() {
    return arena.heldBytes();
  }

  /** Count of rows. */
  public long rows() {
    return rows;
  }

  /** Bytes of a partition on the wire and in a file; 0 if it has no rows. */
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

  /** The address of an image in memory: of its header. */
  public long image(int partition, int i) {
    return images[partition][i];
  }

  /** Takes ranges of memory. */
  public interface RangeSink<E extends Exception> {
    /** {@code bytes} bytes at {@code address}, which are valid while the output is. */
    void accept(long address, int bytes) throws E;
  }

  /**
   * The memory of a partition's images in their order; images that lie one behind the other come
   * together, up to 2 GiB.
   */
  public <E extends Exception> void ranges(int partition, RangeSink<E> sink) throws E {
    long start = 0;
    long end = 0;
    for (int i = 0; i < counts[partition]; i++) {
      long address = images[partition][i];
      long imageEnd = RowImage.endOf(address);
      if (address != end || imageEnd - start > Integer.MAX_VALUE) {
        if (end > start) {
          sink.accept(start, (int) (end - start));
        }
        start = address;
      }
      end = imageEnd;
    }
    if (end > start) {
      sink.accept(start, (int) (end - start));
    }
  }

  /** Writes all partitions, one behind the other, as files have them. */
  public void writeTo(WritableByteChannel channel) throws IOException {
    ByteBuffer total = ByteBuffer.allocate(TOTAL_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int p = 0; p < images.length; p++) {
      if (wireBytes[p] > 0) {
        writeAll(total.clear().putLong(wireBytes[p]).flip(), channel);
        if (runs != null) {
          runs.copyTo(p, channel);
        }
        writeImages(p, channel);
      }
    }
  }

  private void writeImages(int partition, WritableByteChannel channel) throws IOException {
    this.<IOException>ranges(
        partition, (address, bytes) -> writeAll(RowImage.view(address, bytes), channel));
  }

  static void writeAll(ByteBuffer buffer, WritableByteChannel channel) throws IOException {
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
  }

  /** Becomes a user of it, who {@link #release}s it; false if it has been freed. */
  public boolean retain() {
    return users.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
  }

  /** A use of it that the result ends. Its maker has not released it. */
  public Runnable held() {
    if (!retain()) {
      throw new IllegalStateException("Output " + id + " has been freed");
    }
    return this::release;
  }

  /** Ends one use; the last one frees it. */
  public void release() {
    int left = users.decrementAndGet();
    if (left < 0) {
      throw new IllegalStateException("Output " + id + " was released more often than retained");
    }
    if (left == 0) {
      arena.close();
      if (runs != null) {
        runs.close();
      }
    }
  }
}
