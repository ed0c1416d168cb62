package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.arrow.store.StoredOutputs;
import org.tilespark.kernels.memory.HostMemory;

/** Outputs that move to files, or go, between a request for them and its answer. */
class OutputBufferTest {
  private static final TransportConf CONF = new TransportConf("shuffle", MapConfigProvider.EMPTY);

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
        output.writeTo(to);
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
    return new OutputBuffer(output, 0, 2, () -> store.find(id), () -> inFiles(id));
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

  /** What a client gets for one chunk. */
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
    RpcHandler chunks = new Chunks(List.of(inMemory, gone, inFile));
    try (TransportContext context = new TransportContext(CONF, chunks);
        TransportServer server = context.createServer("127.0.0.1", 0, List.of());
        TransportClientFactory clients = context.createClientFactory();
        TransportClient client = clients.createClient("127.0.0.1", server.getPort())) {
      long stream = client.sendRpcSync(ByteBuffer.allocate(1), 60_000).getLong();
      Chunk[] got = new Chunk[3];
      for (int i = 0; i < got.length; i++) {
        got[i] = new Chunk();
        client.stream(OneForOneStreamManager.genStreamChunkId(stream, i), got[i]);
      }
      assertArrayEquals(rightInMemory, got[0].get());
      Throwable failure = assertThrows(ExecutionException.class, got[1]::get).getCause();
      assertEquals(
          "Output of map task 2 of shuffle 1 is neither in memory nor in files; its shuffle may"
              + " have ended",
          failure.getMessage());
      assertArrayEquals(rightInFile, got[2].get());
      assertTrue(client.isActive());
    }
  }
}
