package org.tilespark.spark.shuffle;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.tilespark.spark.shuffle.TileShuffleReader.Block;

/**
 * Partitions that a task fetches from other executors: requested in groups, in random order so that
 * not all tasks start with the same executor, with a limit of bytes in flight. One thread uses it;
 * network threads fill it; another thread may close it.
 */
final class RemoteBlocks implements AutoCloseable {
  private static final String UNDER_WAY = "spark.reducer.maxSizeInFlight";
  private static final String UNDER_WAY_DEFAULT = "64m"; // Spark's own is 48m
  private static final int REQUESTS_UNDER_WAY = 4;
  private static final long POLL_MILLIS = 500;

  /** A block that arrived, or the failure to fetch it. */
  record Result(Block block, ReceivedBlock received, Throwable failure) {}

  private final TileShuffleResolver resolver;
  private final TaskContext context;
  private final long underWayLimitBytes;
  private final ArrayDeque<List<Block>> requests;
  private final LinkedBlockingQueue<Result> results = new LinkedBlockingQueue<>();
  private long underWayBytes;
  private int outstanding; // count of blocks that were requested and have not arrived
  // Guarded by this.
  private final Map<Block, Long> budgeted = new HashMap<>(); // bytes taken from the store's budget
  private boolean kept; // true if received blocks stay until this is closed
  private long keptBytes; // bytes reserved for blocks not requested yet
  // Guarded by alive, a lock that is only held briefly, since network threads take it.
  private final Set<ReceivedBlock> alive = new HashSet<>();
  private boolean closed;

  /** The blocks that a task will fetch; holds no resource before {@link #start}. */
  RemoteBlocks(List<Block> blocks, TileShuffleResolver resolver, TaskContext context) {
    this.resolver = resolver;
    this.context = context;
    this.underWayLimitBytes = SparkEnv.get().conf().getSizeAsBytes(UNDER_WAY, UNDER_WAY_DEFAULT);
    this.requests = new ArrayDeque<>(requests(blocks, underWayLimitBytes / REQUESTS_UNDER_WAY));
  }

  /** Requests the first blocks. */
  void start() {
    ask();
  }

  private static List<List<Block>> requests(List<Block> blocks, long mostBytes) {
    Map<BlockManagerId, List<Block>> byPlace = new HashMap<>();
    blocks.forEach(
        block -> byPlace.computeIfAbsent(block.at(), at -> new ArrayList<>()).add(block));
    List<List<Block>> all = new ArrayList<>();
    for (List<Block> ofPlace : byPlace.values()) {
      List<Block> request = new ArrayList<>();
      long bytes = 0;
      for (Block block : ofPlace) {
        if (bytes > 0 && bytes + block.bytes() > mostBytes) {
          all.add(request);
          request = new ArrayList<>();
          bytes = 0;
        }
        request.add(block);
        bytes += block.bytes();
      }
      all.add(request);
    }
    Collections.shuffle(all);
    return all;
  }

  /** True if {@link #next} will give another block. */
  boolean hasNext() {
    return outstanding > 0 || !requests.isEmpty();
  }

  /**
   * Waits for the next block that arrives, and returns it. The caller frees it by {@link #free}.
   *
   * @throws IllegalStateException if this is closed
   */
  Result next() throws InterruptedException {
    ask();
    Result result = null;
    while (result == null) {
      context.killTaskIfInterrupted();
      if (isClosed()) {
        throw new IllegalStateException("Blocks are fetched after their task has ended");
      }
      result = results.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
    }
    outstanding--;
    underWayBytes -= result.block.bytes();
    settle(result);
    ask();
    return result;
  }

  /** Replaces a block's estimated bytes by its actual bytes, here and in the store's budget. */
  private synchronized void settle(Result result) {
    Long estimate = budgeted.get(result.block);
    if (result.failure == null && estimate != null && (estimate > 0 || kept)) {
      long more = result.received.size() - result.block.bytes();
      budgeted.put(result.block, estimate + more);
      resolver.budget().settle(more);
    }
  }

  /**
   * Keeps all blocks from now on until this is closed.
   *
   * @return false if the store's budget has no room for all of them; then no state has changed
   */
  synchronized boolean keep() {
    long bytes = requests.stream().flatMap(List::stream).mapToLong(Block::bytes).sum();
    if (isClosed() || !resolver.budget().take(bytes)) {
      return false;
    }
    keptBytes = bytes;
    kept = true;
    return true;
  }

  /** Frees a block that was read, unless {@link #keep} keeps all blocks. */
  synchronized void free(Result result) {
    if (kept) {
      return;
    }
    synchronized (alive) {
      alive.remove(result.received);
    }
    result.received.free();
    giveBack(result.block);
  }

  /** Requests blocks within the limit, but always at least one, so that the task makes progress. */
  private synchronized void ask() {
    while (!requests.isEmpty() && !isClosed()) {
      long bytes = requests.peek().stream().mapToLong(Block::bytes).sum();
      boolean idle = outstanding == 0;
      if (!idle && underWayBytes + bytes > underWayLimitBytes) {
        return;
      }
      boolean taken = !kept && resolver.budget().take(bytes);
      if (!taken && !kept && !idle) {
        return;
      }
      List<Block> request = requests.poll();
      request.forEach(block -> budgeted.put(block, taken ? block.bytes() : 0));
      underWayBytes += bytes;
      outstanding += request.size();
      send(request);
    }
  }

  private boolean isClosed() {
    synchronized (alive) {
      return closed;
    }
  }

  private void giveBack(Block block) {
    Long bytes = budgeted.remove(block);
    if (bytes != null) {
      resolver.budget().giveBack(bytes);
    }
  }

  /**
   * The client to fetch with. The client for an external shuffle service retries a dead executor
   * for long; the other one asks the driver whether the executor lives.
   */
  static BlockStoreClient client(BlockManager manager, BlockManagerId at) {
    boolean service =
        manager.externalShuffleServiceEnabled()
            && at.port() == manager.externalShuffleServicePort();
    return service ? manager.blockStoreClient() : manager.blockTransferService();
  }

  private void send(List<Block> request) {
    Map<String, Block> byName = new HashMap<>();
    request.forEach(block -> byName.put(block.id().name(), block));
    BlockManagerId at = request.get(0).at();
    client(SparkEnv.get().blockManager(), at)
        .fetchBlocks(
            at.host(),
            at.port(),
            at.executorId(),
            request.stream().map(block -> block.id().name()).toArray(String[]::new),
            new BlockFetchingListener() {
              @Override
              public void onBlockFetchSuccess(String name, ManagedBuffer data) {
                ReceivedBlock block = (ReceivedBlock) data;
                results.add(new Result(byName.get(name), block, block.failure().orElse(null)));
              }

              @Override
              public void onBlockFetchFailure(String name, Throwable failure) {
                results.add(new Result(byName.get(name), null, failure));
              }
            },
            new DownloadFileManager() {
              @Override
              public DownloadFile createTempFile(TransportConf conf) {
                return newBlock();
              }

              @Override
              public boolean registerTempFileToClean(DownloadFile file) {
                return true; // alive has the block since it was made
              }
            });
  }

  private ReceivedBlock newBlock() {
    ReceivedBlock block = new ReceivedBlock(resolver.memory());
    boolean late;
    synchronized (alive) {
      late = closed;
      if (!late) {
        alive.add(block);
      }
    }
    if (late) {
      block.free(); // a block accepts its bytes even if it is freed
    }
    return block;
  }

  /**
   * Ends fetching: blocks that arrive later are not kept. Received blocks stay until {@link
   * #close}.
   */
  void end() {
    synchronized (alive) {
      closed = true;
    }
  }

  /** Frees all received blocks; blocks that arrive later are not kept. */
  @Override
  public synchronized void close() {
    end();
    List<ReceivedBlock> left;
    synchronized (alive) {
      left = List.copyOf(alive);
      alive.clear();
    }
    left.forEach(ReceivedBlock::free);
    List.copyOf(budgeted.keySet()).forEach(this::giveBack);
    resolver.budget().giveBack(keptBytes);
    keptBytes = 0;
  }
}
