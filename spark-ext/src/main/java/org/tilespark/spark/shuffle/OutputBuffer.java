package org.tilespark.spark.shuffle;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.stream.ChunkedStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.tilespark.arrow.store.MapOutput;

/**
 * Some partitions of an output as Spark's network sends them: the rows themselves, without a copy.
 * It looks up the output when the bytes are requested, and holds no resource before: Spark first
 * creates the buffers of all blocks of a request, and drops them without release if one block is
 * missing. Sent bytes hold a use of the output until {@link #release}; a stream holds one until it
 * is closed.
 *
 * <p>A Netty buffer holds less than 2 GiB. Longer partitions are sent as several consecutive
 * buffers ({@link OutputRegion}); the receiver sees one stream of bytes. Thread-safe.
 */
final class OutputBuffer extends ManagedBuffer {
  /** The most bytes of one Netty buffer, which counts them by an int. */
  static final int MAX_BUFFER_BYTES = Integer.MAX_VALUE;

  private static final int TLS_CHUNK_BYTES = 64 << 10; // as Spark sends its files

  /** Finds these partitions in Spark's files. */
  interface Files {
    /**
     * The buffer of these partitions in files.
     *
     * @throws IOException if there are none
     */
    ManagedBuffer find() throws IOException;
  }

  private final MapOutput.Id id;
  private final int from;
  private final int to;
  private final long bytes;
  private final Supplier<Optional<MapOutput>> memory;
  private final Files files;
  private final int maxBufferBytes;
  // Guarded by this.
  private int uses = 1;
  private MapOutput sent; // retained output; null before it is sent, and if files are sent

  /**
   * Partitions {@code from} to {@code to}, exclusive.
   *
   * @param output output in memory; borrowed. It may be moved to files, or removed, from now on
   * @param memory looks up the output again and retains it; empty if it is not in memory
   * @param files finds the partitions in files
   * @param maxBufferBytes bytes of one Netty buffer: {@link #MAX_BUFFER_BYTES}, or less in tests.
   *     Consecutive rows in one range of memory are not divided, so a buffer may exceed it
   */
  OutputBuffer(
      MapOutput output,
      int from,
      int to,
      Supplier<Optional<MapOutput>> memory,
      Files files,
      int maxBufferBytes) {
    this.id = output.id();
    this.from = from;
    this.to = to;
    this.memory = memory;
    this.files = files;
    this.maxBufferBytes = maxBufferBytes;
    long sum = 0;
    for (int partition = from; partition < to; partition++) {
      sum += output.wireBytes(partition);
    }
    this.bytes = sum;
  }

  @Override
  public long size() {
    return bytes;
  }

  /** All bytes, in one buffer or more; valid as long as the output. */
  private List<CompositeByteBuf> bytes(MapOutput output) {
    List<CompositeByteBuf> all = new ArrayList<>(List.of(newBuffer()));
    for (int partition = from; partition < to; partition++) {
      output.giveTo(
          partition,
          new MapOutput.PartitionSink<RuntimeException>() {
            @Override
            public void accept(byte[] header) {
              add(Unpooled.wrappedBuffer(header), all);
            }

            @Override
            public void accept(long address, int length) {
              add(Unpooled.wrappedBuffer(address, length, false), all);
            }
          });
    }
    return all;
  }

  private static CompositeByteBuf newBuffer() {
    return Unpooled.compositeBuffer(Integer.MAX_VALUE);
  }

  private void add(ByteBuf bytes, List<CompositeByteBuf> all) {
    CompositeByteBuf last = all.get(all.size() - 1);
    if ((long) last.readableBytes() + bytes.readableBytes() > maxBufferBytes) {
      last = newBuffer();
      all.add(last);
    }
    last.addComponent(true, bytes);
  }

  private ManagedBuffer inFiles() throws IOException {
    try {
      return files.find();
    } catch (IOException | RuntimeException e) {
      throw new IOException(
          "Output of map task "
              + id.map()
              + " of shuffle "
              + id.shuffle()
              + " is neither in memory nor in files; its shuffle may have ended",
          e);
    }
  }

  /**
   * A copy of the partitions' bytes.
   *
   * @throws ArithmeticException if the partitions have 2 GiB or more, which no array holds
   */
  @Override
  public ByteBuffer nioByteBuffer() throws IOException {
    Optional<MapOutput> output = memory.get();
    if (output.isEmpty()) {
      return inFiles().nioByteBuffer();
    }
    try {
      ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(bytes));
      for (ByteBuf part : bytes(output.get())) {
        part.readBytes(copy.limit(copy.position() + part.readableBytes()));
      }
      return copy.flip();
    } finally {
      output.get().release();
    }
  }

  @Override
  public InputStream createInputStream() throws IOException {
    Optional<MapOutput> output = memory.get();
    if (output.isEmpty()) {
      return inFiles().createInputStream();
    }
    MapOutput read = output.get();
    try {
      AtomicBoolean isClosed = new AtomicBoolean();
      List<InputStream> parts = new ArrayList<>();
      bytes(read).forEach(part -> parts.add(new ByteBufInputStream(part)));
      return new SequenceInputStream(Collections.enumeration(parts)) {
        @Override
        public void close() {
          if (!isClosed.getAndSet(true)) {
            read.release();
          }
        }
      };
    } catch (RuntimeException | Error e) {
      read.release();
      throw e;
    }
  }

  @Override
  public synchronized ManagedBuffer retain() {
    uses++;
    return this;
  }

  @Override
  public synchronized ManagedBuffer release() {
    uses--;
    if (uses == 0) {
      endSending();
    }
    return this;
  }

  private void endSending() {
    if (sent != null) {
      sent.release();
      sent = null;
    }
  }

  /**
   * Spark releases this buffer when the bytes are sent.
   *
   * @throws IOException if they are neither in memory nor in files: Spark's encoder answers this
   *     fetch with the failure, and the connection stays open
   */
  @Override
  public synchronized Object convertToNetty() throws IOException {
    if (sent == null) {
      sent = memory.get().orElse(null);
    }
    if (sent == null) {
      return inFiles().convertToNetty();
    }
    try {
      List<CompositeByteBuf> parts = bytes(sent);
      return parts.size() == 1 ? parts.get(0) : new OutputRegion(parts);
    } catch (RuntimeException | Error e) { // after an error, Spark's encoder does not release this
      endSending();
      throw e;
    }
  }

  /** Gives no {@link ByteBuf}, since for it Spark would not release this buffer after sending. */
  @Override
  public Object convertToNettyForSsl() throws IOException {
    return new ChunkedStream(createInputStream(), TLS_CHUNK_BYTES);
  }
}
