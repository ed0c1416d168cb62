package org.tilespark.spark.source;

import java.io.Closeable;
import java.io.IOException;
import org.apache.arrow.memory.ArrowBuf;

/** Brings blocks of one stored array into memory outside the heap. Used by one thread. */
public interface BlockReader extends Closeable {
  /**
   * Checks that the array still is the one that was planned for; what is read of another would be
   * noise. Called once, before the first block.
   *
   * @throws IOException if it is another one now
   */
  void requireUnchanged() throws IOException;

  /**
   * Reads one block: row-major, in the columns' type.
   *
   * @param offset place of its first element
   * @param size its extents
   * @param values receives the values, or their real parts; null if they are not wanted
   * @param valuesAt first byte in {@code values}
   * @param imag receives the imaginary parts; null if they are not wanted
   * @param imagAt first byte in {@code imag}
   * @throws IOException if it cannot be read; names the file
   */
  void read(long[] offset, long[] size, ArrowBuf values, long valuesAt, ArrowBuf imag, long imagAt)
      throws IOException;
}
