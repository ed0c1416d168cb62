package org.tilespark.kernels.host.fourier;

/**
 * Complex numbers of lines that are transformed together: a row has a number of each line, real
 * parts in one array and imaginary parts in another. After every {@code chunk} rows is a gap, so
 * that the rows that a butterfly takes together do not fall on the same part of the cache where
 * their distance is a power of two.
 *
 * @param re real parts
 * @param im imaginary parts
 * @param lanes lines, and so numbers in a row
 * @param chunk rows between gaps
 */
record Rows<A>(A re, A im, int lanes, int chunk) {
  /** Length of a gap. */
  static final int PAD_BYTES = 512;

  /**
   * These rows with real and imaginary parts exchanged: a forward transform of them is an inverse
   * transform of these.
   */
  Rows<A> swapped() {
    return new Rows<>(im, re, lanes, chunk);
  }

  /** These arrays with other gaps. */
  Rows<A> chunked(int rows) {
    return new Rows<>(re, im, lanes, rows);
  }

  /** The index of a row, with gaps of {@code pad} numbers. */
  int at(int row, int pad) {
    return row * lanes + row / chunk * pad;
  }
}
