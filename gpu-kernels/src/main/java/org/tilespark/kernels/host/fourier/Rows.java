package org.tilespark.kernels.host.fourier;

/**
 * Complex numbers of lines that are transformed together: a row has one number of each line, with
 * real parts in one array and imaginary parts in another. After every {@code chunk} rows is a gap,
 * so that the rows that a butterfly takes together do not fall on the same part of the cache where
 * their distance is a power of two.
 *
 * @param re real parts
 * @param im imaginary parts
 * @param lanes how many lines, and so how many numbers a row has
 * @param chunk how many rows are between two gaps
 */
record Rows<A>(A re, A im, int lanes, int chunk) {
  /** Bytes of a gap. */
  static final int PAD_BYTES = 512;

  /**
   * These rows with real and imaginary parts exchanged: a forward transform of the exchanged rows
   * is an inverse transform of these rows.
   */
  Rows<A> swapped() {
    return new Rows<>(im, re, lanes, chunk);
  }

  /** These arrays with a gap after every {@code rows} rows. */
  Rows<A> chunked(int rows) {
    return new Rows<>(re, im, lanes, rows);
  }

  /** The index of a row's first number, if gaps are {@code pad} numbers long. */
  int at(int row, int pad) {
    return row * lanes + row / chunk * pad;
  }
}
