package org.tilespark.spark.cache;

import java.lang.ref.Cleaner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkEnv;
import org.apache.spark.memory.MemoryManager;
import org.tilespark.arrow.store.ImageMemory;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * The memory outside the heap that one executor's cached blocks lie in: at most half of what its
 * stores may hold, so that exchanges always have the other half. Thread-safe.
 */
final class CacheStore implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  /** The cache's part of the stores, and of Spark's storage memory, is one over this. */
  private static final int PART = 2;

  private static CacheStore current; // guarded by the class

  private final ExecutorRuntime runtime;
  private final StoreBudget budget;
  private final double countedPart;
  private final Set<Use> uses = ConcurrentHashMap.newKeySet();

  private CacheStore(ExecutorRuntime runtime) {
    this.runtime = runtime;
    long mostBytes = runtime.storeBudget().limitBytes() / PART;
    this.budget = runtime.storeBudget().part(mostBytes);
    this.countedPart = countedPart(storageBytes(), mostBytes);
  }

  /** The store of this process's executor; made at first use, and closed with its runtime. */
  static synchronized CacheStore current() {
    ExecutorRuntime runtime = ExecutorRuntime.current();
    if (current == null || current.runtime != runtime) {
      current = new CacheStore(runtime);
      runtime.closesFirst(current);
    }
    return current;
  }

  /** The most that Spark stores on the heap when nothing is executed. */
  private static long storageBytes() {
    SparkEnv env = SparkEnv.get();
    if (env == null) {
      return 0;
    }
    MemoryManager memory = env.memoryManager();
    return memory.maxOnHeapStorageMemory() + memory.onHeapExecutionMemoryUsed();
  }

  /**
   * How much of each byte outside the heap counts in Spark's storage memory, which is heap: all of
   * it, unless all that may be cached here would fill more than half of that memory.
   */
  static double countedPart(long storageBytes, long mostBytes) {
    return mostBytes == 0 ? 1 : Math.min(1.0, (double) storageBytes / PART / mostBytes);
  }

  /** The bytes that Spark is to count for {@code bytes} bytes outside the heap. */
  long counted(long bytes) {
    return (long) Math.ceil(bytes * countedPart);
  }

  /** Memory for a partition, whose maker {@link ImageMemory#release}s it. */
  ImageMemory newMemory() {
    return new ImageMemory(runtime.storeMemory(), budget);
  }

  /** What limits cached blocks. */
  StoreBudget budget() {
    return budget;
  }

  /**
   * Makes {@code user} a user of {@code memory}, which ends when the result is cleaned, when nobody
   * can reach {@code user} any more, or when the executor ends.
   */
  Cleaner.Cleanable use(Object user, ImageMemory memory) {
    if (!memory.retain()) {
      throw new IllegalStateException("The memory of a cached partition has been freed");
    }
    Use use = new Use(memory, uses);
    uses.add(use);
    return CLEANER.register(user, use);
  }

  /** Ends what cached batches use. Tasks that read them go on. */
  @Override
  public void close() {
    uses.forEach(Use::run);
    forget(this);
  }

  private static synchronized void forget(CacheStore closed) {
    if (current == closed) {
      current = null;
    }
  }

  /** One use of memory; it ends once. */
  private static final class Use implements Runnable {
    private final ImageMemory memory;
    private final Set<Use> uses;
    private final AtomicBoolean ended = new AtomicBoolean();

    Use(ImageMemory memory, Set<Use> uses) {
      this.memory = memory;
      this.uses = uses;
    }

    @Override
    public void run() {
      if (ended.compareAndSet(false, true)) {
        uses.remove(this);
        memory.release();
      }
    }
  }
}
