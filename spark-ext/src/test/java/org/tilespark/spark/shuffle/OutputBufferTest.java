package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.FileRegion;
import io.netty.handler.stream.ChunkedStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.StreamCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.server.OneForOneStreamManager;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.StreamManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.store.CheckedHeader;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.RowImage;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.arrow.store.StoredOutputs;
import org.tilespark.kernels.memory.HostMemory;

/** Outputs that move to files, or go, between a request for them and its answer. */
class OutputBufferTest {
  private static final TransportConf CONF = new TransportConf("shuffle", MapConfigProvider.EMPTY);
  private static final int BUFFER_BYTES = 2 * (16 + 16) + 5 * 8 + 8 * 500 * (1 + 2 + 3 + 4 + 5);

  @TempDir Path directory;

  private final StoreBudget budget = new StoreBudget(1 << 20);
  private final Map<MapOutput.Id, Path> written = new HashMap<>();
  private final StoredOutputs store = new StoredOutputs(budget, new Written());

  private final class Written implements StoredOutputs.Files {
    @Override
    public void write(MapOutput output) throws IOException {
      Path file = directory.resolve("output-" + output.id().map());
      try (FileChannel to =
          FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
        output.writeTo(0, to);
        output.writeTo(1, to);
      }
      written.put(output.id(), file);
    }

    @Override
    public void delete(MapOutput.Id id) {
      throw new AssertionError("no shuffle ends here while its output is written");
    }
  }

  /** All rows of a map task's output, which goes to memory now. */
  private OutputBuffer buffer(long map) throws IOException {
    return buffer(map, OutputBuffer.MAX_BUFFER_BYTES);
  }

  /** A buffer with Netty buffers of at most {@code maxBufferBytes}. */
  private OutputBuffer buffer(long map, int maxBufferBytes) throws IOException {
    MapOutput.Id id = new MapOutput.Id(1, map);
    MapOutput output =
        new MapOutput(
            id,
            2,
            new NativeMemorySource(0),
            budget,
            () -> {
              throw new IOException("all rows have room");
            });
    for (int row = 1; row <= 5; row++) {
      long[] values = new long[500 * row];
      Arrays.fill(values, map + row);
      output.append(row % 2, HostMemory.ofArray(values), 2);
    }
    assertTrue(store.commit(output));
    return new OutputBuffer(output, 0, 2, () -> store.find(id), () -> inFiles(id), maxBufferBytes);
  }

  private ManagedBuffer inFiles(MapOutput.Id id) throws IOException {
    Path file = written.get(id);
    if (file == null) {
      throw new IOException("no file");
    }
    return new FileSegmentManagedBuffer(CONF, file.toFile(), 0, Files.size(file));
  }

  /** The bytes of an output that is in memory now, or in files. */
  private static byte[] right(OutputBuffer buffer) throws IOException {
    byte[] bytes = bytes(buffer.createInputStream());
    assertEquals(buffer.size(), bytes.length);
    return bytes;
  }

  private static byte[] bytes(InputStream in) throws IOException {
    try (in) {
      return in.readAllBytes();
    }
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  @AfterEach
  void nothingIsHeld() throws InterruptedException {
    store.close();
    for (int i = 0; i < 6000 && budget.usedBytes() > 0; i++) {
      Thread.sleep(10); // a network thread frees what it has sent
    }
    assertEquals(0, budget.usedBytes());
  }

  /** As Spark drops what it made for a request of which another block is missing. */
  @Test
  void whatIsNotSentHoldsNothing() throws IOException {
    assertTrue(buffer(2).size() > 0);
    store.close();
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void whatIsSentHoldsTheOutputUntilItIsReleased() throws IOException {
    OutputBuffer buffer = buffer(2);
    byte[] right = right(buffer);
    ByteBuf sent = (ByteBuf) buffer.convertToNetty();
    buffer.retain();
    store.close();
    buffer.release();
    byte[] bytes = new byte[sent.readableBytes()];
    sent.readBytes(bytes);
    assertArrayEquals(right, bytes);
    assertTrue(budget.usedBytes() > 0);
    buffer.release();
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void streamsHoldTheOutputUntilTheyAreClosed() throws IOException {
    OutputBuffer buffer = buffer(2);
    byte[] right = right(buffer);
    InputStream in = buffer.createInputStream();
    store.close();
    assertTrue(budget.usedBytes() > 0);
    assertArrayEquals(right, bytes(in));
    in.close();
    assertEquals(0, budget.usedBytes());
  }

  @Test
  void outputsThatMoveToFilesAreReadThere() throws IOException {
    OutputBuffer buffer = buffer(2);
    byte[] right = right(buffer);
    assertArrayEquals(right, bytes(buffer.nioByteBuffer()));
    store.spillAll();
    assertEquals(0, budget.usedBytes());
    assertArrayEquals(right, right(buffer));
    assertArrayEquals(right, bytes(buffer.nioByteBuffer()));
  }

  /**
   * In one Netty buffer or in many; rows of a partition have gaps between them, in memory and in
   * buffers.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 8, 4016, 20_000, BUFFER_BYTES - 1, BUFFER_BYTES, Integer.MAX_VALUE})
  void theBytesAreTheSameInParts(int maxBufferBytes) throws Exception {
    byte[] right = right(buffer(1));
    store.remove(id -> id.map() == 1);
    assertEquals(BUFFER_BYTES, right.length);
    OutputBuffer buffer = buffer(1, maxBufferBytes);
    assertEquals(maxBufferBytes >= BUFFER_BYTES, buffer.convertToNetty() instanceof ByteBuf);
    assertArrayEquals(right, right(buffer));
    assertArrayEquals(right, bytes(buffer.nioByteBuffer()));
    try (InputStream in = buffer.createInputStream()) {
      for (byte each : right) {
        assertEquals(each & 0xff, in.read());
      }
      assertEquals(-1, in.read());
    }
    ChunkedStream overTls = (ChunkedStream) buffer.convertToNettyForSsl();
    ByteBuf all = Unpooled.buffer();
    while (!overTls.isEndOfInput()) {
      ByteBuf chunk = overTls.readChunk(ByteBufAllocator.DEFAULT);
      all.writeBytes(chunk);
      chunk.release();
    }
    overTls.close();
    assertArrayEquals(right, ByteBufUtil.getBytes(all));
    buffer.release();
  }

  /** A channel that takes a few bytes at a time, and at times none. */
  private static final class SlowChannel implements WritableByteChannel {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final int mostBytes;
    private int calls;

    SlowChannel(int mostBytes) {
      this.mostBytes = mostBytes;
    }

    @Override
    public int write(ByteBuffer from) {
      calls++;
      byte[] taken = new byte[calls % 3 == 0 ? 0 : Math.min(mostBytes, from.remaining())];
      from.get(taken);
      bytes.writeBytes(taken);
      return taken.length;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 4000, 1 << 20})
  void partsGoOnWhereTheChannelWasFull(int channelBytes) throws IOException {
    OutputBuffer buffer = buffer(1, 5000);
    byte[] right = right(buffer);
    FileRegion region = (FileRegion) buffer.convertToNetty();
    assertEquals(right.length, region.count());
    SlowChannel slow = new SlowChannel(channelBytes);
    while (region.transferred() < region.count()) {
      long before = region.transferred();
      long sent = region.transferTo(slow, before);
      assertEquals(before + sent, region.transferred());
    }
    assertEquals(0, region.transferTo(slow, region.count()));
    assertArrayEquals(right, slow.bytes.toByteArray());
    assertThrows(IllegalArgumentException.class, () -> region.transferTo(slow, 0));
    assertTrue(region.release());
    buffer.release();
  }

  /** The connection ends in the middle. */
  @Test
  void partsThatAreGivenUpHoldNothing() throws IOException {
    OutputBuffer buffer = buffer(1, 5000);
    FileRegion region = (FileRegion) buffer.convertToNetty();
    assertTrue(region.transferTo(new SlowChannel(7000), 0) > 0);
    store.close();
    assertTrue(budget.usedBytes() > 0);
    assertTrue(region.release());
    buffer.release();
    assertEquals(0, budget.usedBytes());
  }

  /** The connection goes on after it. */
  @Test
  void partsComeOverTheNetworkAsOneStream() throws Exception {
    OutputBuffer inParts = buffer(1, 5000);
    byte[] rightInParts = right(inParts);
    OutputBuffer gone = buffer(2, 5000);
    store.remove(id -> id.map() == 2);
    OutputBuffer whole = buffer(3);
    byte[] rightWhole = right(whole);
    Chunk[] got = fetched(List.of(inParts, gone, whole));
    assertArrayEquals(rightInParts, got[0].get());
    assertThrows(ExecutionException.class, got[1]::get);
    assertArrayEquals(rightWhole, got[2].get());
  }

  /** Counts bytes, and keeps the first 8 of them. */
  private static final class Counter implements WritableByteChannel {
    private final ByteBuffer head = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    private long bytes;

    @Override
    public int write(ByteBuffer from) {
      int length = from.remaining();
      for (int i = 0; i < length && head.hasRemaining(); i++) {
        head.put(from.get(i));
      }
      bytes += length;
      from.position(from.limit());
      return length;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }

  /** Nobody touches the memory of the rows, so that the machine need not have it. */
  @ParameterizedTest
  @ValueSource(longs = {-8, 0, 1L << 31})
  void oneBufferHoldsLessThanTwoGibibytes(long beyond) throws IOException {
    StoreBudget virtual = new StoreBudget(1L << 33);
    MapOutput output =
        new MapOutput(
            new MapOutput.Id(1, 9),
            1,
            new NativeMemorySource(0),
            virtual,
            () -> {
              throw new IOException("all rows have room");
            });
    long wireBytes = (1L << 31) + beyond;
    long left = wireBytes - CheckedHeader.BYTES;
    while (left > 0) {
      left -= CheckedHeader.BYTES; // of the frame
      long image = Math.min(left, 1 << 28);
      assertTrue(output.place(0, output.room(image - RowImage.HEADER_BYTES, 2)));
      left -= image;
    }
    assertEquals(wireBytes, output.wireBytes(0));
    OutputBuffer buffer =
        new OutputBuffer(
            output,
            0,
            1,
            () -> Optional.of(output).filter(MapOutput::retain),
            () -> {
              throw new IOException("nothing is in files here");
            },
            OutputBuffer.MAX_BUFFER_BYTES);
    assertEquals(wireBytes, buffer.size());
    if (beyond < 0) {
      assertEquals(wireBytes, ((ByteBuf) buffer.convertToNetty()).readableBytes());
    } else {
      FileRegion region = (FileRegion) buffer.convertToNetty();
      assertEquals(wireBytes, region.count());
      Counter sent = new Counter();
      while (region.transferred() < region.count()) {
        assertTrue(region.transferTo(sent, region.transferred()) > 0);
      }
      assertEquals(wireBytes, sent.bytes);
      assertEquals(wireBytes, sent.head.getLong(0));
      assertThrows(ArithmeticException.class, buffer::nioByteBuffer);
    }
    buffer.release();
    output.release();
    assertEquals(0, virtual.usedBytes());
  }

  /** The client's bytes of one chunk. */
  private static final class Chunk implements StreamCallback {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final CompletableFuture<byte[]> all = new CompletableFuture<>();

    @Override
    public void onData(String id, ByteBuffer data) {
      bytes.writeBytes(OutputBufferTest.bytes(data));
    }

    @Override
    public void onComplete(String id) {
      all.complete(bytes.toByteArray());
    }

    @Override
    public void onFailure(String id, Throwable cause) {
      all.completeExceptionally(cause);
    }

    byte[] get() throws Exception {
      return all.get(60, TimeUnit.SECONDS);
    }

    /** Until it has come, or failed. */
    void await() throws Exception {
      all.handle((bytes, failure) -> true).get(60, TimeUnit.SECONDS);
    }
  }

  /** Any request opens the same stream of chunks. */
  private static final class Chunks extends RpcHandler {
    private final OneForOneStreamManager streams = new OneForOneStreamManager();
    private final List<ManagedBuffer> chunks;

    Chunks(List<ManagedBuffer> chunks) {
      this.chunks = chunks;
    }

    @Override
    public void receive(TransportClient client, ByteBuffer message, RpcResponseCallback callback) {
      long id = streams.registerStream("test", chunks.iterator(), client.getChannel());
      callback.onSuccess(ByteBuffer.allocate(Long.BYTES).putLong(0, id));
    }

    @Override
    public StreamManager getStreamManager() {
      return streams;
    }
  }

  @Test
  void anOutputThatIsGoneFailsItsFetchAndNotTheConnection() throws Exception {
    OutputBuffer inFile = buffer(3);
    byte[] rightInFile = right(inFile);
    store.spillAll();
    OutputBuffer inMemory = buffer(1);
    byte[] rightInMemory = right(inMemory);
    OutputBuffer gone = buffer(2);
    store.remove(id -> id.map() == 2);
    Chunk[] got = fetched(List.of(inMemory, gone, inFile));
    assertArrayEquals(rightInMemory, got[0].get());
    Throwable failure = assertThrows(ExecutionException.class, got[1]::get).getCause();
    assertEquals(
        "Output of map task 2 of shuffle 1 is neither in memory nor in files; its shuffle may"
            + " have ended",
        failure.getMessage());
    assertArrayEquals(rightInFile, got[2].get());
  }

  /** Fetches them over one connection, which must be alive then. */
  private static Chunk[] fetched(List<ManagedBuffer> buffers) throws Exception {
    RpcHandler chunks = new Chunks(buffers);
    try (TransportContext context = new TransportContext(CONF, chunks);
        TransportServer server = context.createServer("127.0.0.1", 0, List.of());
        TransportClientFactory clients = context.createClientFactory();
        TransportClient client = clients.createClient("127.0.0.1", server.getPort())) {
      long stream = client.sendRpcSync(ByteBuffer.allocate(1), 60_000).getLong();
      Chunk[] got = new Chunk[buffers.size()];
      for (int i = 0; i < got.length; i++) {
        got[i] = new Chunk();
        client.stream(OneForOneStreamManager.genStreamChunkId(stream, i), got[i]);
      }
      for (Chunk each : got) {
        each.await();
      }
      assertTrue(client.isActive());
      return got;
    }
  }
}
