package org.tilespark.spark.shuffle;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.stream.ChunkedStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.tilespark.arrow.store.MapOutput;

/**
 * Some partitions of an output as Spark's network sends them: the rows themselves, without a copy.
 * It holds one use of the output, which {@link #release} ends.
 */
final class OutputBuffer extends ManagedBuffer {
  private static final int TOTAL_BYTES = 8;
  private static final int TLS_CHUNK_BYTES = 64 << 10; // as Spark sends its files

  private final MapOutput output;
  private final int from;
  private final int to;

  /** Partitions {@code from} to {@code to}, exclusive; takes over a use of the output. */
  OutputBuffer(MapOutput output, int from, int to) {
    this.output = output;
    this.from = from;
    this.to = to;
  }

  @Override
  public long size() {
    long bytes = 0;
    for (int partition = from; partition < to; partition++) {
      bytes += output.wireBytes(partition);
    }
    return bytes;
  }

  /** Valid while the output is. */
  private ByteBuf bytes() {
    CompositeByteBuf all = Unpooled.compositeBuffer(Integer.MAX_VALUE);
    for (int partition = from; partition < to; partition++) {
      long total = output.wireBytes(partition);
      if (total > 0) {
        all.addComponent(true, Unpooled.buffer(TOTAL_BYTES).writeLongLE(total));
        output.ranges(
            partition,
            (address, bytes) ->
                all.addComponent(true, Unpooled.wrappedBuffer(address, bytes, false)));
      }
    }
    return all;
  }

  @Override
  public ByteBuffer nioByteBuffer() {
    return bytes().nioBuffer();
  }

  @Override
  public InputStream createInputStream() {
    return new ByteBufInputStream(bytes(), true);
  }

  @Override
  public ManagedBuffer retain() {
    if (!output.retain()) {
      throw new IllegalStateException("Output " + output.id() + " has been freed");
    }
    return this;
  }

  @Override
  public ManagedBuffer release() {
    output.release();
    return this;
  }

  /** Spark releases this buffer when the bytes are sent. */
  @Override
  public Object convertToNetty() {
    return bytes();
  }

  /** Of a {@link ByteBuf} Spark would not release this buffer when it is sent. */
  @Override
  public Object convertToNettyForSsl() {
    return new ChunkedStream(createInputStream(), TLS_CHUNK_BYTES);
  }
}
