package org.tilespark.spark.source;

import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.net.URI;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.rows.BlockCursor;

/**
 * The target of one array, in any format. {@link BlockWrite} runs it: the driver begins, tasks
 * write blocks at their places, the driver checks that they tile the array and commits. Until then
 * readers see nothing of it.
 */
public interface BlockSink {
  /** The format, with the user's options. */
  BlockFormat format();

  /** The location of the array. */
  URI location();

  /** True if something is there already. */
  boolean exists();

  /** The extents that the user stated; empty if he left them open. */
  Optional<Shape> statedExtents(int rank);

  /**
   * Checks that the format can hold the blocks; runs before any of them is computed.
   *
   * @param metadata metadata of the column {@code values}
   * @throws IllegalArgumentException if not
   */
  void check(BlockSchema blocks, ArrayMetadata metadata);

  /**
   * The shape of the parts that one task must write as a whole: blocks then begin at multiples of
   * it, and end there or at the array's end. Empty if blocks may be any.
   *
   * @param extents extents of the array
   */
  default Optional<Shape> wholeParts(BlockSchema blocks, ArrayMetadata metadata, Shape extents) {
    return Optional.empty();
  }

  /**
   * True if {@link #begin} removes an array that is to be replaced: what is wrong with the blocks
   * is then looked for before, as far as their places tell.
   */
  default boolean removesFirst() {
    return false;
  }

  /**
   * Prepares a place for the array that nobody sees.
   *
   * @param array extents and their source
   * @param replace true if the array may take the place of what is there
   * @return the pending array, to be closed whatever happens
   */
  Pending begin(BlockSchema blocks, ArrayMetadata metadata, Extents array, boolean replace)
      throws IOException;

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
     * @param replace true to put it in place of what is there
     * @throws java.nio.file.FileAlreadyExistsException if not, and something is there by now
     */
    void commit(boolean replace) throws IOException;

    /** True if what was there before is removed already, so that a failure leaves nothing. */
    default boolean hasRemoved() {
      return false;
    }
  }

  /** The facts that tasks need to write blocks. Immutable. */
  interface Target extends Serializable {
    /** The place that they write to, for messages. */
    String place();

    /** Axes of the array. */
    int rank();

    /**
     * Opens the target for the blocks of one task. Runs on an executor.
     *
     * @param allocator borrowed for buffers
     */
    Writer open(BufferAllocator allocator) throws IOException;
  }

  /** Writes the blocks of one task. Used by one thread. */
  interface Writer extends Closeable {
    /**
     * Writes the block that a walk has come to.
     *
     * @param box receives the block's offset, then its size
     * @param at index in {@code box}
     * @throws IllegalArgumentException if that is no block of the target's array; names the block
     */
    void write(BlockCursor blocks, long[] box, int at) throws IOException;

    /** Hands all that was written to storage; the driver may commit after that. */
    void finish() throws IOException;
  }
}
