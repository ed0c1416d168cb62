package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;
import org.apache.spark.network.protocol.EncryptedMessageWithHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.FaultyMemorySource;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.OutOfHostMemoryException;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.RowImage;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.kernels.memory.HostMemory;

/** Partitions as they leave one executor and come to another. */
class ReceivedBlockTest {
  private final NativeMemorySource source = new NativeMemorySource(0);
  private final StoreBudget budget = new StoreBudget(1 << 20);
  private final MapOutput output =
      new MapOutput(
          new MapOutput.Id(1, 2),
          3,
          source,
          budget,
          () -> {
            throw new IOException("nothing goes to files here");
          });

  /** Three rows in partition 0, none in 1, one in 2. */
  ReceivedBlockTest() throws IOException {
    for (int row = 1; row <= 3; row++) {
      long[] values = new long[5 * row];
      Arrays.fill(values, row);
      output.append(0, HostMemory.ofArray(values), 2);
    }
    output.append(2, HostMemory.ofArray(new long[] {7}), 2);
  }

  @AfterEach
  void nothingIsHeld() {
    output.release();
    assertEquals(0, budget.usedBytes());
  }

  private OutputBuffer buffer(int from, int to) {
    return new OutputBuffer(
        output,
        from,
        to,
        () -> Optional.of(output).filter(MapOutput::retain),
        () -> {
          throw new IOException("nothing is in files here");
        },
        OutputBuffer.MAX_BUFFER_BYTES);
  }

  private byte[] sent(int from, int to) throws IOException {
    OutputBuffer buffer = buffer(from, to);
    ByteBuf all = (ByteBuf) buffer.convertToNetty();
    byte[] bytes = new byte[all.readableBytes()];
    all.readBytes(bytes);
    all.release();
    assertEquals(buffer.size(), bytes.length);
    buffer.release();
    return bytes;
  }

  /** However the network cuts the bytes, and whether it has them on the heap or not. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3, 8, 50, 1000})
  void framesMakeRows(int frame) throws IOException {
    byte[] bytes = sent(0, 1);
    ReceivedBlock block = new ReceivedBlock(source);
    for (int at = 0; at < bytes.length; at += frame) {
      int length = Math.min(frame, bytes.length - at);
      ByteBuffer part = ByteBuffer.wrap(bytes, at, length).slice();
      if (at / frame % 2 == 1) {
        part = ByteBuffer.allocateDirect(length).put(part).flip();
      }
      assertEquals(length, block.write(part));
    }
    block.closeAndRead();
    assertEquals(bytes.length - 8, block.size());
    long address = block.address();
    for (int row = 1; row <= 3; row++) {
      assertEquals(40 * row, RowImage.bytes(RowImage.headerAt(address)));
      assertEquals(
          row, HostMemory.unsafe().getLong(RowImage.endOf(address) - Long.BYTES), "last value");
      address = RowImage.endOf(address);
    }
    assertEquals(block.address() + block.size(), address);
    block.free();
    block.free();
  }

  /** Spark ends the use of the output when all is sent. */
  @Test
  void overTlsTheSameIsSent() throws Exception {
    OutputBuffer buffer = buffer(0, 3);
    ByteBuf header = Unpooled.copyLong(7);
    EncryptedMessageWithHeader message =
        new EncryptedMessageWithHeader(
            buffer, header, buffer.convertToNettyForSsl(), buffer.size());
    ByteBuf all = Unpooled.buffer();
    while (!message.isEndOfInput()) {
      ByteBuf chunk = message.readChunk(ByteBufAllocator.DEFAULT);
      all.writeBytes(chunk);
      chunk.release();
    }
    message.close();
    assertEquals(7, all.readLong());
    byte[] bytes = new byte[all.readableBytes()];
    all.readBytes(bytes);
    assertArrayEquals(sent(0, 3), bytes);
  }

  @Test
  void severalPartitionsAreSentOneBehindTheOther() throws IOException {
    byte[] all = sent(0, 3);
    byte[] first = sent(0, 1);
    assertEquals(0, sent(1, 2).length);
    assertTrue(Arrays.equals(first, Arrays.copyOf(all, first.length)));
    assertTrue(Arrays.equals(sent(2, 3), Arrays.copyOfRange(all, first.length, all.length)));
  }

  private static String failure(ReceivedBlock block) {
    return block.failure().map(Exception::getMessage).orElse("");
  }

  @Test
  void otherLengthsAreRefused() throws IOException {
    byte[] bytes = sent(0, 1);
    ReceivedBlock shorter = new ReceivedBlock(source);
    shorter.write(ByteBuffer.wrap(bytes, 0, bytes.length - 1));
    shorter.closeAndRead();
    assertTrue(
        failure(shorter).contains(bytes.length - 9 + " of " + (bytes.length - 8)),
        () -> failure(shorter));
    shorter.delete();

    ReceivedBlock longer = new ReceivedBlock(source);
    longer.write(ByteBuffer.wrap(bytes));
    assertEquals("", failure(longer));
    assertEquals(1, longer.write(ByteBuffer.wrap(new byte[1])));
    assertTrue(failure(longer).contains("longer than"), () -> failure(longer));

    ReceivedBlock negative = new ReceivedBlock(source);
    negative.write(ByteBuffer.wrap(new byte[8]));
    assertTrue(failure(negative).contains("-8 bytes"), () -> failure(negative));
    ReceivedBlock empty = new ReceivedBlock(source);
    empty.closeAndRead();
    assertTrue(failure(empty).contains("0 of 0"), () -> failure(empty));
  }

  /** The connection is other tasks' too, so that it goes on. */
  @Test
  void whatComesForAFreedBlockIsTakenAndNotKept() throws IOException {
    byte[] bytes = sent(0, 1);
    ReceivedBlock block = new ReceivedBlock(source);
    block.write(ByteBuffer.wrap(bytes, 0, 20));
    block.free();
    ByteBuffer rest = ByteBuffer.wrap(bytes, 20, 10);
    assertEquals(10, block.write(rest));
    assertEquals(0, rest.remaining());
    block.closeAndRead();
  }

  @Test
  void refusedMemoryFailsTheBlockAndNotTheConnection() throws IOException {
    byte[] bytes = sent(0, 1);
    ReceivedBlock block =
        new ReceivedBlock(FaultyMemorySource.of(source, new AllocationFaults(1, 0)));
    assertEquals(bytes.length, block.write(ByteBuffer.wrap(bytes)));
    block.closeAndRead();
    assertInstanceOf(OutOfHostMemoryException.class, block.failure().orElseThrow());
  }
}
