package org.tilespark.spark.shuffle;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayDeque;
import java.util.Collection;
import org.apache.spark.network.util.AbstractFileRegion;

/**
 * Netty buffers that are sent one after the other, as Spark's network sends a range of a file: a
 * buffer holds less than 2 GiB, a region may be longer. For one thread at a time.
 */
final class OutputRegion extends AbstractFileRegion {
  /**
   * The most bytes of one call, as Spark's {@code MessageWithHeader} has it for buffers: so that
   * other connections of the network thread get their turn.
   */
  private static final int STEP_BYTES = 256 << 10;

  private final ArrayDeque<ByteBuf> buffers; // owned; the first one is being sent
  private final long count;
  private long transferred;

  /** The readable bytes of all buffers, which this region owns from now on. */
  OutputRegion(Collection<? extends ByteBuf> buffers) {
    this.buffers = new ArrayDeque<>(buffers);
    this.count = buffers.stream().mapToLong(ByteBuf::readableBytes).sum();
  }

  @Override
  public long position() {
    return 0;
  }

  @Override
  public long count() {
    return count;
  }

  @Override
  public long transferred() {
    return transferred;
  }

  /**
   * Sends the next bytes, at most {@link #STEP_BYTES}.
   *
   * @param position result of {@link #transferred}
   * @return number of bytes that the channel took; 0 if it is full, and at the end
   * @throws IllegalArgumentException if {@code position} is different
   */
  @Override
  public long transferTo(WritableByteChannel target, long position) throws IOException {
    if (position != transferred) {
      throw new IllegalArgumentException(
          "Position " + position + "; expected " + transferred + ", where the last call ended");
    }
    while (!buffers.isEmpty() && !buffers.peek().isReadable()) {
      buffers.poll().release();
    }
    if (buffers.isEmpty()) {
      return 0;
    }
    ByteBuf buffer = buffers.peek();
    int length = Math.min(buffer.readableBytes(), STEP_BYTES);
    int sent = 0;
    for (ByteBuffer piece : buffer.nioBuffers(buffer.readerIndex(), length)) {
      sent += target.write(piece);
      if (piece.hasRemaining()) { // the channel is full
        break;
      }
    }
    buffer.skipBytes(sent);
    transferred += sent;
    return sent;
  }

  @Override
  protected void deallocate() {
    buffers.forEach(ByteBuf::release);
    buffers.clear();
  }
}
