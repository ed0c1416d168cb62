package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.apache.spark.network.protocol.EncryptedMessageWithHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.FaultyMemorySource;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.OutOfHostMemoryException;
import org.tilespark.arrow.store.CheckedHeader;
import org.tilespark.arrow.store.CorruptDataException;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.PartitionFrames;
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
    assertEquals(bytes.length - CheckedHeader.BYTES, block.size());
    assertEquals(output.id().place(0), block.place());
    HostMemory all = HostMemory.ofAddress(block.address(), block.size());
    PartitionFrames images = new PartitionFrames(PartitionFrames.Source.of(all), all.bytes());
    for (int row = 1; row <= 3; row++) {
      assertTrue(images.next());
      HostMemory bytesOfRow = images.row();
      assertEquals(40L * row, bytesOfRow.bytes());
      long last = bytesOfRow.offset() + bytesOfRow.bytes() - Long.BYTES;
      assertEquals(row, HostMemory.unsafe().getLong(last), "last value");
    }
    assertFalse(images.next());
    CRC32C expected = new CRC32C();
    expected.update(bytes);
    CRC32C found = new CRC32C();
    block.addTo(found);
    assertEquals(expected.getValue(), found.getValue());
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
        failure(shorter).contains(bytes.length - 17 + " of " + (bytes.length - 16)),
        () -> failure(shorter));
    shorter.delete();

    ReceivedBlock longer = new ReceivedBlock(source);
    longer.write(ByteBuffer.wrap(bytes));
    assertEquals("", failure(longer));
    assertEquals(1, longer.write(ByteBuffer.wrap(new byte[1])));
    assertTrue(failure(longer).contains("longer than"), () -> failure(longer));

    ReceivedBlock shortest = new ReceivedBlock(source);
    shortest.write(ByteBuffer.wrap(new CheckedHeader(8, 0).encoded()));
    assertTrue(failure(shortest).contains("states 8 bytes"), () -> failure(shortest));
    ReceivedBlock negative = new ReceivedBlock(source);
    negative.write(ByteBuffer.wrap(new CheckedHeader(-8, 0).encoded()));
    assertTrue(failure(negative).contains("states -8 bytes"), () -> failure(negative));
    ReceivedBlock empty = new ReceivedBlock(source);
    empty.closeAndRead();
    assertTrue(failure(empty).contains("0 of 0"), () -> failure(empty));
  }

  /** Bytes that were changed are no length: no memory is asked for, which would be refused. */
  @Test
  void aChangedLengthAllocatesNothing() throws IOException {
    for (int bit = 0; bit < 8 * CheckedHeader.BYTES; bit++) {
      byte[] bytes = sent(0, 1);
      bytes[bit / 8] ^= (byte) (1 << bit % 8);
      ReceivedBlock block =
          new ReceivedBlock(FaultyMemorySource.of(source, new AllocationFaults(1, 0)));
      assertEquals(bytes.length, block.write(ByteBuffer.wrap(bytes)));
      block.closeAndRead();
      assertInstanceOf(CorruptDataException.class, block.failure().orElseThrow());
    }
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
