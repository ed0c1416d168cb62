package org.tilespark.spark.shuffle;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.Checksum;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.TempShuffleBlockId;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.arrow.store.StoredOutputs;
import org.tilespark.spark.runtime.ExecutorRuntime;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/**
 * Finds the outputs of map tasks of this process: in memory, or in Spark's own files, which have
 * the same bytes. So an output may be moved to files at any time, and is then handled by Spark.
 * Thread-safe.
 */
final class TileShuffleResolver extends IndexShuffleBlockResolver implements StoredOutputs.Files {
  // True if executors may end at any time, so that outputs must be in files
  private final boolean filesOnly;
  private final IndexShuffleBlockResolver ofSpark;
  private final CorruptionDiagnosis.Settings checksums; // checksums in Spark's files
  // Ids of map attempts whose outputs have files, by shuffle
  private final Map<Integer, Set<Long>> mapsWithFiles = new ConcurrentHashMap<>();
  private final ReleasedOutputs released = new ReleasedOutputs();
  private final ReleaseNews news = new ReleaseNews(this::release);
  private volatile int maxBufferBytes = OutputBuffer.MAX_BUFFER_BYTES; // smaller in tests
  // Guarded by this; null until used.
  private ExecutorRuntime runtime;
  private StoredOutputs store;

  /** A resolver that works together with Spark's own one, which keeps track of Spark's files. */
  TileShuffleResolver(SparkConf conf, IndexShuffleBlockResolver ofSpark) {
    super(conf);
    this.ofSpark = ofSpark;
    this.checksums = CorruptionDiagnosis.Settings.of(conf);
    this.filesOnly = ShuffleFit.filesOnly(conf);
  }

  // ---- outputs

  private synchronized ExecutorRuntime runtime() {
    if (runtime == null) {
      runtime = ExecutorRuntime.current();
    }
    return runtime;
  }

  /**
   * The store of outputs. The executor's runtime closes it, before it frees the memory of outputs.
   */
  synchronized StoredOutputs store() {
    if (store == null) {
      store = runtime().kept(this, running -> new StoredOutputs(running.storeBudget(), this));
      StoredOutputs made = store;
      budget().evictsWith(missing -> news.hearAgain() || made.evict(missing));
    }
    return store;
  }

  /** The budget of memory for outputs. */
  StoreBudget budget() {
    return runtime().storeBudget();
  }

  /** The source of memory for outputs. */
  HostMemorySource memory() {
    return runtime().storeMemory();
  }

  /** An output without rows, which the caller commits or releases. */
  MapOutput newOutput(MapOutput.Id id, int partitions) {
    StoredOutputs ignored = store(); // opens the store, which evicts when memory is short
    return new MapOutput(id, partitions, memory(), budget(), this::newOverflow);
  }

  private FileChannel newOverflow() throws IOException {
    Tuple2<TempShuffleBlockId, File> file =
        SparkEnv.get().blockManager().diskBlockManager().createTempShuffleBlock();
    return FileChannel.open(
        file._2().toPath(),
        StandardOpenOption.CREATE,
        StandardOpenOption.READ,
        StandardOpenOption.WRITE,
        StandardOpenOption.DELETE_ON_CLOSE);
  }

  /**
   * An output that tasks can read.
   *
   * @param by server of the output: this executor, or the external shuffle service if the output is
   *     in files
   */
  record Committed(BlockManagerId by, boolean isInMemory) {}

  /**
   * Takes a complete output.
   *
   * @throws IOException if it could be kept neither in memory nor in files; the output is released
   */
  Committed commit(MapOutput output) throws IOException {
    MapOutput.Id id = output.id();
    BlockManager manager = SparkEnv.get().blockManager();
    Committed gone = new Committed(manager.blockManagerId(), false);
    if (released.has(id)) {
      output.release(); // output of an attempt that was too late: its shuffle has ended
      return gone;
    }
    boolean inMemory = filesOnly ? store().commitToFiles(output) : store().commit(output);
    if (released.has(id)) { // the shuffle ended meanwhile, before this output could be found
      withStore(each -> each.remove(id::equals));
      delete(id);
      return gone;
    }
    return new Committed(inMemory ? manager.blockManagerId() : manager.shuffleServerId(), inMemory);
  }

  /** An output that is in memory, which the caller releases; empty if it is not there. */
  Optional<MapOutput> find(MapOutput.Id id) {
    return store().find(id);
  }

  /**
   * Frees the outputs of a shuffle, and deletes their files. Outputs named by {@link #release} are
   * still refused, since attempts of map tasks may end later.
   */
  void forget(int shuffleId) {
    letGo(shuffleId, Long.MAX_VALUE);
    mapsWithFiles.remove(shuffleId);
  }

  /**
   * Frees the outputs of a shuffle that the driver has named as ended, and deletes their files. If
   * one fails, the others are still freed, as {@link Closing#all}.
   */
  void release(Releases.Release release) {
    released.add(release);
    letGo(release.shuffle(), release.lastMap());
  }

  private void letGo(int shuffle, long lastMap) {
    List<AutoCloseable> gone = new ArrayList<>();
    gone.add(
        () -> withStore(each -> each.remove(id -> id.shuffle() == shuffle && id.map() <= lastMap)));
    for (long map : mapsWithFiles.getOrDefault(shuffle, Set.of())) {
      if (map <= lastMap) {
        gone.add(() -> removeDataByMap(shuffle, map));
      }
    }
    Closing.all(gone);
  }

  /** The connection to the driver, which tells of outputs that can be released. */
  ReleaseNews news() {
    return news;
  }

  /** Frees all outputs in memory. */
  void close() {
    withStore(StoredOutputs::close);
  }

  /** Count of outputs in memory. */
  int inMemory() {
    return store().size();
  }

  /** Count of outputs that were committed to memory so far. */
  long committed() {
    return store().committed();
  }

  private void withStore(java.util.function.Consumer<StoredOutputs> action) {
    StoredOutputs found;
    synchronized (this) {
      found = store;
    }
    if (found != null) {
      action.accept(found);
    }
  }

  // ---- files

  @Override
  public void write(MapOutput output) throws IOException {
    int shuffleId = output.id().shuffle();
    long mapId = output.id().map();
    File temporary = createTempFile(getDataFile(shuffleId, mapId));
    try {
      long[] lengths = output.wireBytes();
      long[] sums;
      try (FileChannel file =
          FileChannel.open(
              temporary.toPath(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        sums = write(output, lengths.length, file);
      }
      writeMetadataFileAndCommit(shuffleId, mapId, lengths, sums, temporary);
      hasFiles(shuffleId, mapId);
      runtime().exchangeTotals().wroteFiles(Arrays.stream(lengths).sum());
    } finally {
      Files.deleteIfExists(temporary.toPath());
    }
  }

  /** Records that files of an output are here, so that they are deleted with its shuffle. */
  void hasFiles(int shuffle, long map) {
    mapsWithFiles.computeIfAbsent(shuffle, first -> ConcurrentHashMap.newKeySet()).add(map);
  }

  /** Writes all partitions, and returns their checksums as Spark's file of checksums wants them. */
  private long[] write(MapOutput output, int partitions, FileChannel file) throws IOException {
    long[] sums = new long[checksums.enabled() ? partitions : 0];
    // Frames have checksums of this algorithm
    boolean isKnown = checksums.algorithm().equals("CRC32C");
    for (int p = 0; p < partitions; p++) {
      if (!checksums.enabled()) {
        output.writeTo(p, file);
      } else if (isKnown) {
        output.writeTo(p, file);
        sums[p] = Integer.toUnsignedLong(output.checksum(p));
      } else {
        Checksum sum = checksums.newChecksum();
        output.writeTo(p, new ChecksumChannel(file, sum));
        sums[p] = sum.getValue();
      }
    }
    return sums;
  }

  /** Writes bytes to a file, and adds them to a checksum. */
  private record ChecksumChannel(FileChannel file, Checksum sum) implements WritableByteChannel {
    @Override
    public int write(ByteBuffer bytes) throws IOException {
      ByteBuffer written = bytes.duplicate();
      int count = file.write(bytes);
      sum.update(written.limit(written.position() + count));
      return count;
    }

    @Override
    public boolean isOpen() {
      return file.isOpen();
    }

    @Override
    public void close() {}
  }

  @Override
  public void delete(MapOutput.Id id) {
    removeDataByMap(id.shuffle(), id.map());
  }

  // ---- what Spark asks

  /** Receives files of a decommissioned executor; Spark's own resolver records them. */
  @Override
  public StreamCallbackWithID putShuffleBlockAsStream(
      BlockId blockId, SerializerManager serializer) {
    if (blockId instanceof ShuffleDataBlockId data) {
      hasFiles(data.shuffleId(), data.mapId());
    }
    return ofSpark.putShuffleBlockAsStream(blockId, serializer);
  }

  @Override
  public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> directories) {
    Optional<ManagedBuffer> inMemory = Optional.empty();
    if (blockId instanceof ShuffleBlockId id) {
      MapOutput.Id output = new MapOutput.Id(id.shuffleId(), id.mapId());
      inMemory = buffer(output, id.reduceId(), id.reduceId() + 1, () -> inFiles(id, directories));
    } else if (blockId instanceof ShuffleBlockBatchId id) {
      MapOutput.Id output = new MapOutput.Id(id.shuffleId(), id.mapId());
      inMemory =
          buffer(output, id.startReduceId(), id.endReduceId(), () -> inFiles(id, directories));
    }
    return inMemory.orElseGet(() -> super.getBlockData(blockId, directories));
  }

  private ManagedBuffer inFiles(BlockId blockId, Option<String[]> directories) {
    return super.getBlockData(blockId, directories);
  }

  private Optional<ManagedBuffer> buffer(
      MapOutput.Id id, int from, int to, OutputBuffer.Files files) {
    Optional<MapOutput> found = find(id);
    if (found.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          new OutputBuffer(found.get(), from, to, () -> find(id), files, maxBufferBytes));
    } finally {
      found.get().release();
    }
  }

  /** Sends partitions in Netty buffers of at most {@code bytes}: for tests with small blocks. */
  void limitBuffers(int bytes) {
    maxBufferBytes = bytes;
  }

  /**
   * The files of outputs; Spark asks when the executor is decommissioned, and moves them elsewhere.
   */
  @Override
  public Seq<ShuffleBlockInfo> getStoredShuffles() {
    try {
      store().spillAll();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return super.getStoredShuffles();
  }
}
