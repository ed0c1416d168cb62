package org.tilespark.arrow.store;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.arrow.store.MapOutput.PartitionSink;
import org.tilespark.arrow.store.MapOutput.RangeSink;

/**
 * The row images of one partition in memory, divided into the frames in which they are written. A
 * frame's checksum is computed at its first request, right before the frame's bytes are written, so
 * that they are read from memory once. Thread-safe; valid as long as the images' memory.
 */
final class Frames {
  /** Usual bytes of a frame: the frame ends with the image with which it has at least these. */
  static final long FRAME_BYTES = 1 << 20;

  private static final int MOST_RANGE_BYTES = 1 << 30;

  private final class Frame {
    final int first;
    final int end; // exclusive
    final long bytes;
    // Null until it is requested; two threads may compute the same checksum
    private CheckedHeader header;

    Frame(int first, int end, long bytes) {
      this.first = first;
      this.end = end;
      this.bytes = bytes;
    }

    CheckedHeader header() {
      CheckedHeader known = header;
      if (known == null) {
        Crc32c sum = new Crc32c();
        ranges(first, end, sum);
        known = new CheckedHeader(bytes, sum.value());
        header = known;
      }
      return known;
    }
  }

  private final long[] images; // addresses of the images; further elements are unused
  private final List<Frame> frames = new ArrayList<>();

  /** Frames of the first {@code count} images; borrows the array of addresses. */
  Frames(long[] images, int count) {
    this.images = images;
    for (int first = 0; first < count; ) {
      int end = first;
      long bytes = 0;
      while (end < count && bytes < FRAME_BYTES) {
        bytes += imageBytes(images[end++]);
      }
      frames.add(new Frame(first, end, bytes));
      first = end;
    }
  }

  private static long imageBytes(long image) {
    return RowImage.endOf(image) - image;
  }

  /** Gives the bytes of all frames to a sink, in order. */
  <E extends Exception> void giveTo(PartitionSink<E> sink) throws E {
    for (Frame frame : frames) {
      sink.accept(frame.header().encoded());
      ranges(frame.first, frame.end, sink);
    }
  }

  /** CRC32C of the bytes of all frames, headers included. */
  int checksum() {
    int sum = 0;
    for (Frame frame : frames) {
      sum = checksum(sum, frame.header());
    }
    return sum;
  }

  /** CRC32C of bytes with the checksum {@code before} followed by a frame. */
  static int checksum(int before, CheckedHeader frame) {
    byte[] header = frame.encoded();
    int withHeader = Crc32c.combine(before, Crc32c.of(header, 0, header.length), header.length);
    return Crc32c.combine(withHeader, frame.checksum(), frame.bytes());
  }

  /**
   * Gives images {@code first} to {@code end - 1} to a sink; images that follow each other in
   * memory are given together, as ranges of up to 1 GiB.
   */
  private <E extends Exception> void ranges(int first, int end, RangeSink<E> sink) throws E {
    long start = 0;
    long stop = 0;
    for (int i = first; i < end; i++) {
      if (images[i] != stop) {
        give(start, stop, sink);
        start = images[i];
      }
      stop = RowImage.endOf(images[i]);
    }
    give(start, stop, sink);
  }

  private static <E extends Exception> void give(long start, long stop, RangeSink<E> sink)
      throws E {
    for (long at = start; at < stop; at += MOST_RANGE_BYTES) {
      sink.accept(at, (int) Math.min(MOST_RANGE_BYTES, stop - at));
    }
  }
}
