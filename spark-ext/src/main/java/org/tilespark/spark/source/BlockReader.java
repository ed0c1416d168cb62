package org.tilespark.spark.source;

import java.io.Closeable;
import java.io.IOException;
import org.apache.arrow.memory.ArrowBuf;

/** Brings blocks of one stored array into memory outside the heap. Used by one thread. */
public interface BlockReader extends Closeable {
  /**
   * Checks that the array is still the planned one, since data of another array would be read
   * wrongly. Called once, before the first block.
   *
   * @throws IOException if it is a different array now
   */
  void requireUnchanged() throws IOException;

  /**
   * Reads one block: row-major, in the columns' type.
   *
   * @param offset place of the block's first element
   * @param size the block's extents
   * @param values receives the values, or their real parts; null if not needed
   * @param valuesAt index of the first byte in {@code values}
   * @param imag receives the imaginary parts; null if not needed
   * @param imagAt index of the first byte in {@code imag}
   * @throws IOException if it cannot be read; the message names the file
   */
  void read(long[] offset, long[] size, ArrowBuf values, long valuesAt, ArrowBuf imag, long imagAt)
      throws IOException;
}
