package org.tilespark.arrow.blocks;

import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.memory.OutOfHostMemoryException;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.transpose.TransposeProblem;

/**
 * One task's way of putting many blocks through a chain of transposes, batch by batch: {@link
 * #begin} a batch, {@link #add} blocks while they {@link #fits fit}, {@link #submit} it, and {@link
 * #take} the oldest submitted batch. While one batch computes, the next may be filled; {@link
 * #capacity()} says how many may be under way at once.
 *
 * <p>A block has one plane (its values) or two (real and imaginary parts); each plane of a batch is
 * one Arrow buffer with the blocks back to back, in the order they were added. Used by one thread.
 * Closing waits for the device and frees everything that was not taken; it may be called twice.
 */
public interface PermutePipeline extends AutoCloseable {
  /** Batches that may be submitted and not yet taken. */
  int capacity();

  /** Batches submitted and not yet taken. */
  int inFlight();

  /** Starts a batch whose results go into buffers. */
  default void begin(int planes, long planeBytes) {
    begin(planes, planeBytes, Rooms.NONE);
  }

  /**
   * Starts a batch with room for {@code planeBytes} bytes in each of {@code planes} planes. A block
   * that is larger than usual batches is best added to a batch of exactly its own size.
   *
   * @param rooms where each block's result goes, all of them or none
   * @throws OutOfHostMemoryException if there is no such amount of memory
   */
  void begin(int planes, long planeBytes, Rooms rooms);

  /** True if the batch being filled has room for {@code bytes} more bytes in each plane. */
  boolean fits(long bytes);

  /**
   * Adds one block to the batch being filled. Planes without an owner have been read when this
   * returns; planes with one are retained until the batch is done.
   *
   * @param chain what happens to it, the same for every plane; blocks of one batch may differ in
   *     shape and permutations, not in width or number of steps
   * @param planes as many as given to {@link #begin}
   */
  void add(TransposeChain chain, List<Plane> planes);

  /** Adds one block that is transposed once. */
  default void add(TransposeProblem problem, List<Plane> planes) {
    add(TransposeChain.of(problem), planes);
  }

  /** Sends the batch being filled on its way. At most {@link #capacity()} may be under way. */
  void submit();

  /**
   * Waits for the oldest submitted batch.
   *
   * @return one buffer per plane; the caller closes them. Empty if the results have gone into their
   *     rooms
   */
  List<ArrowBuf> take();

  @Override
  void close();
}
