package org.tilespark.arrow.blocks;

/**
 * A part of one plane of a batch: {@code rows} pieces of {@code rowBytes} bytes, whose starts are
 * {@code pitchBytes} apart.
 *
 * @param startBytes bytes from the plane's beginning to the first piece
 * @param rowBytes length of each piece
 * @param pitchBytes bytes from the start of one piece to the next one's; {@code rowBytes} or more
 * @param rows number of pieces; 1 for a contiguous region
 */
record Region(long startBytes, long rowBytes, long pitchBytes, long rows) {
  /** A region without gaps. */
  static Region of(long startBytes, long bytes) {
    return new Region(startBytes, bytes, bytes, 1);
  }

  /** Bytes of the pieces. */
  long bytes() {
    return rows * rowBytes;
  }

  /** Bytes from the first piece's first byte to the last piece's last byte. */
  long spanBytes() {
    return (rows - 1) * pitchBytes + rowBytes;
  }

  /** This region, {@code bytes} bytes further from the beginning of the plane. */
  Region shifted(long bytes) {
    return new Region(startBytes + bytes, rowBytes, pitchBytes, rows);
  }
}
