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

  /**
   * The cache gets at most one part in this number of the stores' budget, and of Spark's storage
   * memory.
   */
  private static final int PART = 2;

  private final ExecutorRuntime runtime;
  private final StoreBudget budget;
  private final long mostCountedBytes;
  private final AtomicLong countedBytes = new AtomicLong();
  private final AtomicBoolean saidUncounted = new AtomicBoolean();
  private final Set<Use> uses = ConcurrentHashMap.newKeySet();
  // Its thread ends with the objects that it watches.
  private final Cleaner cleaner = Cleaner.create();
  private volatile boolean closed;

  CacheStore(ExecutorRuntime runtime) {
    this.runtime = runtime;
    this.budget = runtime.storeBudget().part(runtime.storeBudget().limitBytes() / PART);
    this.mostCountedBytes = storageBytes() / PART;
  }

  /**
   * The store of this process's executor; made at first use, and closed with the executor's
   * runtime.
   */
  static CacheStore current() {
    return ExecutorRuntime.current().kept(CacheStore.class, CacheStore::new);
  }

  /** The most bytes that Spark stores on the heap when no task uses execution memory. */
  private static long storageBytes() {
    SparkEnv env = SparkEnv.get();
    if (env == null) { // the application is stopping
      return 0;
    }
    MemoryManager memory = env.memoryManager();
    return memory.maxOnHeapStorageMemory() + memory.onHeapExecutionMemoryUsed();
  }

  /**
   * Counts {@code bytes} bytes in Spark's storage memory, so that Spark shows them and evicts the
   * least recently used. Storage memory is heap, which these bytes do not use: so all together
   * count for at most half of it, and further bytes are not counted.
   *
   * @return {@code bytes}, or 0 if these bytes are not counted
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

  /** New memory for one partition; the caller ends its use by {@link ImageMemory#release}. */
  ImageMemory newMemory() {
    return new ImageMemory(runtime.storeMemory(), budget);
  }

  /** The budget for the memory of cached blocks. */
  StoreBudget budget() {
    return budget;
  }

  /**
   * A use of memory by a batch.
   *
   * @param counted bytes of the use that count in Spark's storage memory
   * @param end ends the use
   */
  record Usage(long counted, Cleaner.Cleanable end) {}

  /**
   * Makes {@code user} a user of {@code bytes} bytes of {@code memory}. The use ends when {@link
   * Usage#end()} of the result is cleaned, when {@code user} becomes unreachable, or when the
   * executor ends.
   */
  Usage use(Object user, ImageMemory memory, long bytes) {
    if (!memory.retain()) {
      throw new IllegalStateException("The memory of a cached partition has been freed");
    }
    Use use = new Use(this, memory, count(bytes));
    uses.add(use);
    if (closed) { // perhaps since before this use was in the set
      use.run();
    }
    return new Usage(use.counted, cleaner.register(user, use));
  }

  /** Ends the uses of all cached batches. Tasks that read or write them continue. */
  @Override
  public void close() {
    closed = true;
    uses.forEach(Use::run);
  }

  /** One use of memory; only the first call of {@link #run} ends it. */
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
