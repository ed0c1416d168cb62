package org.tilespark.spark.shuffle;

import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.util.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.conf.ExchangeMode;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.UnsupportedRequestException;

/**
 * Keeps the shuffles of blocks in memory outside the heap; every other shuffle is Spark's own. The
 * plugin sets {@code spark.shuffle.manager} to it unless the user has set another.
 *
 * <p>It extends Spark's manager instead of delegating to one: Spark copies each row of every
 * shuffle if the manager is no {@link SortShuffleManager}, and casts the resolver.
 */
public final class TileShuffleManager extends SortShuffleManager {
  private static final Logger LOG = LoggerFactory.getLogger(TileShuffleManager.class);

  private final SparkConf conf;
  private final TileShuffleResolver resolver; // null while Spark's constructor runs
  // On the driver: finds ended shuffles.
  private final EndedShuffles ended = new EndedShuffles(this::release, this::letGo);
  // On the driver: the context in which our shuffles were made; null before the first.
  private final AtomicReference<SparkContext> driver = new AtomicReference<>();
  private final BitSet ours = new BitSet(); // ids of all shuffles served here; guarded by ours
  private final Releases releases = new Releases();
  private final ServedShuffles served = new ServedShuffles();

  /** A constructor for Spark, which calls it once in each process. */
  public TileShuffleManager(SparkConf conf) {
    super(conf);
    this.conf = conf;
    this.resolver = new TileShuffleResolver(conf, super.shuffleBlockResolver());
  }

  /** A shuffle that this manager serves itself. */
  static final class Handle extends BaseShuffleHandle<Object, Object, Object> {
    private static final long serialVersionUID = 1;

    @SuppressWarnings("unchecked") // a handle of Spark's carries the dependency as it is
    private Handle(int shuffleId, ShuffleDependency<?, ?, ?> dependency) {
      super(shuffleId, (ShuffleDependency<Object, Object, Object>) dependency);
    }
  }

  @Override
  public IndexShuffleBlockResolver shuffleBlockResolver() {
    return resolver == null ? super.shuffleBlockResolver() : resolver;
  }

  /** The outputs that this process holds. */
  TileShuffleResolver outputs() {
    return resolver;
  }

  /**
   * Decides on the driver whether Spark or tilespark serves a shuffle.
   *
   * @throws UnsupportedRequestException if the user requires the exchange in memory and it is
   *     impossible
   */
  @Override
  public <K, V, C> ShuffleHandle registerShuffle(
      int shuffleId, ShuffleDependency<K, V, C> dependency) {
    if (!ShuffleFit.isOfBlocks(dependency)) {
      return super.registerShuffle(shuffleId, dependency);
    }
    ExchangeChoice choice = ExchangeChoice.of(conf, TileSparkConf.session());
    Optional<String> whyNot =
        choice.whyNotInMemory().or(() -> ShuffleFit.whyNotInMemory(dependency, conf));
    served.add(shuffleId, whyNot);
    if (whyNot.isEmpty()) {
      SparkContext context = dependency.rdd().context();
      if (driver.compareAndSet(null, context)) {
        context.addSparkListener(ended);
      }
      synchronized (ours) {
        ours.set(shuffleId);
      }
      ended.made(shuffleId, dependency);
      return new Handle(shuffleId, dependency);
    }
    if (choice.mode() == ExchangeMode.MEMORY) {
      throw new UnsupportedRequestException(
          TileSparkConf.EXCHANGE_MODE.name()
              + "=memory, but blocks go through Spark's own shuffle, since "
              + whyNot.get()
              + ". Set it to auto to allow that");
    }
    LOG.info("Shuffle {} of blocks is Spark's own, since {}", shuffleId, whyNot.get());
    return super.registerShuffle(shuffleId, dependency);
  }

  @Override
  @SuppressWarnings("unchecked") // our shuffles have partition ids as keys and rows as values
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    return handle instanceof Handle ours
        ? (ShuffleWriter<K, V>) new TileShuffleWriter(ours, mapId, resolver, context, metrics)
        : super.getWriter(handle, mapId, context, metrics);
  }

  @Override
  @SuppressWarnings("unchecked") // our shuffles have partition ids as keys and rows as values
  public <K, C> ShuffleReader<K, C> getReader(
      ShuffleHandle handle,
      int startMap,
      int endMap,
      int startPartition,
      int endPartition,
      TaskContext context,
      ShuffleReadMetricsReporter metrics) {
    return handle instanceof Handle
        ? (ShuffleReader<K, C>)
            new TileShuffleReader(
                new TileShuffleReader.Range(
                    handle.shuffleId(), startMap, endMap, startPartition, endPartition),
                resolver,
                context,
                metrics)
        : super.getReader(handle, startMap, endMap, startPartition, endPartition, context, metrics);
  }

  // ---- shuffles that have ended

  /**
   * Releases the outputs of a shuffle. Spark still knows the shuffle, without outputs: if a plan
   * runs again, its map tasks run again.
   */
  private void release(int shuffle, long lastMap) {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    if (tracker.containsShuffle(shuffle)) {
      tracker.unregisterAllMapAndMergeOutput(shuffle);
    }
    letGo(shuffle, lastMap);
  }

  private void letGo(int shuffle, long lastMap) {
    Releases.Release release = new Releases.Release(shuffle, lastMap);
    if (Utils.isLocalMaster(conf)) {
      resolver.release(release);
    } else {
      releases.add(release);
    }
  }

  /** This process's manager; empty if Spark uses another one, or has none yet. */
  private static Optional<TileShuffleManager> current() {
    return SparkEnv.get() != null
            && SparkEnv.get().shuffleManager() instanceof TileShuffleManager ours
        ? Optional.of(ours)
        : Optional.empty();
  }

  /** The last shuffles of blocks, the newest first; on the driver. */
  public static List<ServedShuffle> served() {
    return current().map(manager -> manager.served.last()).orElse(List.of());
  }

  /** Sends a request from an executor to the driver, and returns its answer. */
  public interface Asks {
    /** The driver's {@link #answer}. */
    Object ask(Object question) throws Exception;
  }

  /** Asks the driver for the outputs that it has released, and frees those of this executor. */
  public static void letGo(Asks driver) throws Exception {
    Optional<TileShuffleManager> manager = current();
    if (manager.isPresent()) {
      manager.get().resolver.news().hear(driver);
    }
  }

  /** The driver's answer to an executor's question; empty if another component asked. */
  public static Optional<Object> answer(Object question) {
    return question instanceof Releases.Question asked
        ? current().map(manager -> manager.releases.answer(asked).encoded())
        : Optional.empty();
  }

  /**
   * Spark informs only executors that its driver knows. A live executor from which a fetch failed
   * is unknown until its next heartbeat, so {@link Releases} informs all executors. Outputs of
   * later map tasks stay, since a plan may run again with the same shuffle id.
   */
  @Override
  public boolean unregisterShuffle(int shuffleId) {
    ended.forget(shuffleId);
    resolver.forget(shuffleId);
    boolean isOurs;
    synchronized (ours) {
      isOurs = ours.get(shuffleId);
    }
    if (isOurs) {
      driver.get().listenerBus().post(new EndedShuffles.Removed(shuffleId));
    }
    return super.unregisterShuffle(shuffleId);
  }

  @Override
  public void stop() {
    resolver.close();
    super.stop();
  }
}
