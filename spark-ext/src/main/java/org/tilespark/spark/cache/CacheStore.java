package org.tilespark.spark.cache;

import java.lang.ref.Cleaner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkEnv;
import org.apache.spark.memory.MemoryManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.store.ImageMemory;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * The memory outside the heap for one executor's cached blocks: at most half of its stores' budget,
 * so that exchanges always have the other half. Thread-safe.
 */
final class CacheStore implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CacheStore.class);

  /** The cache's part of the stores, and of Spark's storage memory, is one over this. */
  private static final int PART = 2;

  private final ExecutorRuntime runtime;
  private final StoreBudget budget;
  private final long mostCountedBytes;
  private final AtomicLong countedBytes = new AtomicLong();
  private final AtomicBoolean saidUncounted = new AtomicBoolean();
  private final Set<Use> uses = ConcurrentHashMap.newKeySet();
  private final Cleaner cleaner = Cleaner.create(); // its thread ends with what it watches
  private volatile boolean closed;

  CacheStore(ExecutorRuntime runtime) {
    this.runtime = runtime;
    this.budget = runtime.storeBudget().part(runtime.storeBudget().limitBytes() / PART);
    this.mostCountedBytes = storageBytes() / PART;
  }

  /** The store of this process's executor; made at first use, and closed with its runtime. */
  static CacheStore current() {
    return ExecutorRuntime.current().kept(CacheStore.class, CacheStore::new);
  }

  /** The most that Spark stores on the heap when nothing is executed. */
  private static long storageBytes() {
    SparkEnv env = SparkEnv.get();
    if (env == null) { // the application stops
      return 0;
    }
    MemoryManager memory = env.memoryManager();
    return memory.maxOnHeapStorageMemory() + memory.onHeapExecutionMemoryUsed();
  }

  /**
   * Counts {@code bytes} bytes in Spark's storage memory, so that Spark shows them and evicts those
   * not used for longest. That memory is heap, which they do not take: so all together count for
   * half of it at most, and further ones not at all.
   *
   * @return {@code bytes}, or 0 if they are not counted
   */
  private long count(long bytes) {
    if (countedBytes.addAndGet(bytes) <= mostCountedBytes) {
      return bytes;
    }
    countedBytes.addAndGet(-bytes);
    if (saidUncounted.compareAndSet(false, true)) {
      LOG.info(
          "Spark's storage memory shows {} MiB of cached blocks outside the heap; there are more",
          mostCountedBytes >> 20);
    }
    return 0;
  }

  /** Memory for a partition, whose maker {@link ImageMemory#release}s it. */
  ImageMemory newMemory() {
    return new ImageMemory(runtime.storeMemory(), budget);
  }

  /** The budget of cached blocks. */
  StoreBudget budget() {
    return budget;
  }

  /** The use of memory by a batch, until it is ended. */
  record Usage(long counted, Cleaner.Cleanable end) {}

  /**
   * Makes {@code user} a user of {@code bytes} bytes of {@code memory}. That ends when the result
   * says so, when nobody can reach {@code user} any more, or when the executor ends.
   */
  Usage use(Object user, ImageMemory memory, long bytes) {
    if (!memory.retain()) {
      throw new IllegalStateException("The memory of a cached partition has been freed");
    }
    Use use = new Use(this, memory, count(bytes));
    uses.add(use);
    if (closed) { // perhaps since this use could have been seen there
      use.run();
    }
    return new Usage(use.counted, cleaner.register(user, use));
  }

  /** Ends what cached batches use. Tasks that read them, and who writes them, go on. */
  @Override
  public void close() {
    closed = true;
    uses.forEach(Use::run);
  }

  /** One use of memory; it ends once. */
  private static final class Use implements Runnable {
    private final CacheStore store;
    private final ImageMemory memory;
    private final long counted;
    private final AtomicBoolean ended = new AtomicBoolean();

    Use(CacheStore store, ImageMemory memory, long counted) {
      this.store = store;
      this.memory = memory;
      this.counted = counted;
    }

    @Override
    public void run() {
      if (ended.compareAndSet(false, true)) {
        store.uses.remove(this);
        store.countedBytes.addAndGet(-counted);
        memory.release();
      }
    }
  }
}
