package org.tilespark.spark.shuffle;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.zip.Checksum;
import org.apache.arrow.memory.util.MemoryUtil;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileWritableChannel;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.store.CheckedHeader;
import org.tilespark.arrow.store.CorruptDataException;
import org.tilespark.kernels.memory.HostMemory;

/**
 * A partition that comes from another executor: Spark's network writes its bytes directly to their
 * final memory. The {@link CheckedHeader} states the length; memory is allocated after the header
 * is verified. A network thread writes, then the task reads; either may free it.
 *
 * <p>It accepts all bytes, even after it failed or was freed: an exception would close the
 * connection, which other tasks use too.
 */
final class ReceivedBlock extends ManagedBuffer
    implements DownloadFile, DownloadFileWritableChannel {
  private static final long MOST_BYTES = 1 << 30; // of one buffer

  private final HostMemorySource source;
  // Guarded by this.
  private final ByteBuffer head = ByteBuffer.allocate(CheckedHeader.BYTES);
  private HostMemorySource.Allocation memory; // null before its length is known, and once freed
  private int place; // checksum that identifies the partition, as the header states it
  private long total; // bytes of all frames, without the header
  private long filled; // received bytes of frames, without the header
  private boolean freed;
  private Exception failure; // reason why the block cannot be read; null if there is none

  /** A block without bytes yet. */
  ReceivedBlock(HostMemorySource source) {
    this.source = source;
  }

  @Override
  public synchronized int write(ByteBuffer from) {
    int bytes = from.remaining();
    try {
      if (!freed && failure == null) {
        take(from);
      }
    } catch (IOException | RuntimeException e) {
      free();
      failure = e;
    }
    from.position(from.limit());
    return bytes;
  }

  private void take(ByteBuffer from) throws IOException {
    while (head.hasRemaining() && from.hasRemaining()) {
      head.put(from.get());
      if (!head.hasRemaining()) {
        CheckedHeader header = CheckedHeader.of(head.array(), Long.MAX_VALUE);
        total = header.bytes() - CheckedHeader.BYTES;
        if (total < 0) {
          throw new CorruptDataException("A partition states " + header.bytes() + " bytes");
        }
        place = header.checksum();
        memory = source.allocate(total);
      }
    }
    int rest = from.remaining();
    if (rest > 0) {
      if (rest > total - filled) {
        throw new CorruptDataException(
            "A partition is longer than the " + total + " bytes that it states");
      }
      HostMemory bytesHere =
          from.isDirect()
              ? HostMemory.ofAddress(MemoryUtil.getByteBufferAddress(from) + from.position(), rest)
              : HostMemory.ofArray(from.array()).slice(from.arrayOffset() + from.position(), rest);
      bytesHere.copyTo(HostMemory.ofAddress(memory.address() + filled, rest));
      filled += rest;
    }
  }

  /**
   * Ends the block after all of its bytes arrived; {@link #failure} says whether it can be read.
   */
  @Override
  public synchronized ManagedBuffer closeAndRead() {
    if (failure == null && !freed && (memory == null || filled != total)) {
      failure = new CorruptDataException("A partition has " + filled + " of " + total + " bytes");
    }
    return this;
  }

  /** The reason why the block cannot be read; empty if it can. */
  synchronized Optional<Exception> failure() {
    return Optional.ofNullable(failure);
  }

  /** The address of the block's first frame. */
  synchronized long address() {
    return memory.address();
  }

  /** The checksum that identifies the partition, as the header states it. */
  synchronized int place() {
    return place;
  }

  /** Adds all received bytes, including the header, to a checksum, for a diagnosis. */
  synchronized void addTo(Checksum checksum) {
    checksum.update(head.array(), 0, head.position());
    for (long at = 0; memory != null && at < filled; at += MOST_BYTES) {
      int count = (int) Math.min(MOST_BYTES, filled - at);
      checksum.update(MemoryUtil.directBuffer(memory.address() + at, count));
    }
  }

  /** Bytes of all frames. */
  @Override
  public synchronized long size() {
    return total;
  }

  /** Frees the block's memory, once. */
  synchronized void free() {
    freed = true;
    if (memory != null) {
      memory.free();
      memory = null;
    }
  }

  /** Called by Spark when it gives up a failed download. */
  @Override
  public boolean delete() {
    free();
    return true;
  }

  @Override
  public DownloadFileWritableChannel openForWriting() {
    return this;
  }

  @Override
  public String path() {
    return "memory";
  }

  @Override
  public boolean isOpen() {
    return true;
  }

  @Override
  public void close() {}

  @Override
  public ByteBuffer nioByteBuffer() {
    throw new UnsupportedOperationException("read in place");
  }

  @Override
  public InputStream createInputStream() {
    throw new UnsupportedOperationException("read in place");
  }

  @Override
  public ManagedBuffer retain() {
    return this;
  }

  @Override
  public ManagedBuffer release() {
    return this;
  }

  @Override
  public Object convertToNetty() {
    throw new UnsupportedOperationException("read in place");
  }

  @Override
  public Object convertToNettyForSsl() {
    throw new UnsupportedOperationException("read in place");
  }
}
