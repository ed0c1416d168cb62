package org.tilespark.spark.source;

import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.net.URI;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.layout.Shape;
import org.tilespark.spark.rows.BlockCursor;

/**
 * The target of one array, in any format. {@link BlockWrite} runs it: the driver begins, tasks
 * write blocks at their places, the driver checks that they tile the array and commits. The array
 * is invisible to readers until then.
 */
public interface BlockSink {
  /** The format, with the user's options. */
  BlockFormat format();

  /** The location of the array. */
  URI location();

  /** True if something is stored at the location already. */
  boolean exists();

  /** The extents that the user stated; empty if they are not stated. */
  Optional<Shape> statedExtents(int rank);

  /**
   * Checks that the format can hold the blocks; runs before any of them is computed.
   *
   * @throws IllegalArgumentException if not
   */
  void check(WrittenBlocks blocks);

  /**
   * The shape of the parts that one task must write as a whole: blocks then begin at multiples of
   * it, and end there or at the array's end. Empty if any blocks are accepted.
   *
   * @param extents extents of the array
   * @return elements along each axis of a part
   */
  default Optional<Shape> wholeParts(WrittenBlocks blocks, Shape extents) {
    return Optional.empty();
  }

  /**
   * True if {@link #begin} removes an array that is to be replaced: then defects of the blocks'
   * places are checked before.
   */
  default boolean removesFirst() {
    return false;
  }

  /**
   * Prepares a hidden place for the array, to which tasks write.
   *
   * @param array extents of the array and their source
   * @param replace true if the array may replace an existing one
   * @return the pending array, which the caller must close in any case
   */
  Pending begin(WrittenBlocks blocks, Extents array, boolean replace) throws IOException;

  /**
   * The extents of the array that is written.
   *
   * @param source source of the extents, for messages
   */
  record Extents(Shape shape, String source) {}

  /** An array that is being written; removes what was written when it is closed uncommitted. */
  interface Pending extends Closeable {
    /** The facts that tasks need to write. */
    Target target();

    /**
     * Gives the array its name in one step.
     *
     * @param replace true to replace an existing array
     * @throws java.nio.file.FileAlreadyExistsException if {@code replace} is false and something
     *     exists there now
     */
    void commit(boolean replace) throws IOException;

    /** True if the previous array was removed already, so that a failure leaves no array. */
    default boolean hasRemoved() {
      return false;
    }
  }

  /** The facts that tasks need to write blocks. Immutable. */
  interface Target extends Serializable {
    /** The place to which tasks write, for messages. */
    String place();

    /** Count of axes of the array. */
    int rank();

    /**
     * Opens the target for the blocks of one task. Runs on an executor.
     *
     * @param allocator allocator of buffers; borrowed
     */
    Writer open(BufferAllocator allocator) throws IOException;
  }

  /** Writes the blocks of one task. Used by one thread. */
  interface Writer extends Closeable {
    /**
     * Writes the cursor's current block.
     *
     * @param box receives the block's offset, then its size
     * @param at index in {@code box} of the first of these numbers
     * @throws IllegalArgumentException if it is no block of the target's array; the message names
     *     the block
     */
    void write(BlockCursor blocks, long[] box, int at) throws IOException;

    /** Flushes all written data to storage; after that the driver may commit. */
    void finish() throws IOException;
  }
}
