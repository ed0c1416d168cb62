package org.tilespark.spark.runtime;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.memory.AllocationFaults;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.FaultyMemorySource;
import org.tilespark.arrow.memory.GuardedMemorySource;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.memory.PinnedMemorySource;
import org.tilespark.arrow.memory.Uses;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.PinnedPool;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.StoppedException;

/**
 * The host memory of one executor: plain, and pinned once a device is used. Freed memory is kept
 * for reuse within the {@link HostBudget}. Each allocation is a use of the executor's runtime until
 * it is freed. Thread-safe.
 */
final class HostMemoryPools {
  private static final Logger LOG = LoggerFactory.getLogger(HostMemoryPools.class);

  private final UnaryOperator<String> conf;
  private final HostBudget budget;
  private final Uses uses;
  private final StoreBudget storeBudget;
  private final Supplier<Optional<CudaDevice>> device;
  private final AtomicBoolean triedDevice = new AtomicBoolean();
  private final NativeMemorySource plainSource;
  private final HostMemorySource plainMemory;
  private final ArrowMemory plain;
  // Guarded by this.
  private PinnedPool pinnedPool; // null until a device is used
  private HostMemorySource pinnedMemory; // null until a device is used
  private ArrowMemory pinned;
  private volatile boolean shut; // written under the lock of this
  // True if stores take pinned memory; read under locks of pools
  private volatile boolean isPinning;

  /**
   * Pools that keep memory within {@code budget}.
   *
   * @param uses counts the users of the runtime that owns this memory
   * @param device opens the executor's device, if it has one, since stores should use pinned memory
   *     even if they are used first
   */
  HostMemoryPools(
      UnaryOperator<String> conf,
      HostBudget budget,
      Uses uses,
      Supplier<Optional<CudaDevice>> device) {
    this.device = device;
    this.conf = conf;
    this.budget = budget;
    this.uses = uses;
    this.storeBudget = new StoreBudget(budget.storeBytes());
    this.plainSource = new NativeMemorySource(budget.plainPoolBytes());
    // Freed memory may also be kept up to the bytes that stores may still take.
    this.plainSource.keepsMore(() -> isPinning ? 0 : storeBudget.spareBytes(), budget.storeBytes());
    this.plainMemory =
        FaultyMemorySource.of(
            new Counted(GuardedMemorySource.isWanted() ? new GuardedMemorySource() : plainSource),
            faults());
    this.plain = new ArrowMemory(plainMemory);
  }

  /** Bytes that stores may hold together. */
  StoreBudget storeBudget() {
    return storeBudget;
  }

  /** Plain memory. */
  ArrowMemory plain() {
    return plain;
  }

  /** Pinned memory, which every device of this process can use. */
  synchronized ArrowMemory pinned(CudaDevice device) {
    if (shut) {
      throw ExecutorRuntime.hasStopped();
    }
    if (pinned == null) {
      pinnedPool = device.newPinnedPool(budget.pinnedPoolBytes());
      pinnedPool.keepsMore(storeBudget::spareBytes, budget.storeBytes());
      isPinning = true;
      pinnedMemory =
          FaultyMemorySource.of(new Counted(new PinnedMemorySource(pinnedPool)), faults());
      pinned = new ArrowMemory(pinnedMemory);
    }
    return pinned;
  }

  /**
   * Pins a part of the memory that is kept for tasks on {@code device}, before tasks need it: they
   * would wait for that, a second or more.
   *
   * @return true if more is left to pin
   */
  boolean pinAhead(CudaDevice device) {
    PinnedPool pool;
    synchronized (this) {
      var ignored = pinned(device);
      pool = pinnedPool;
    }
    return pool.pinAhead(budget.pinnedPoolBytes());
  }

  /** Pinned memory; empty until a device is used. */
  synchronized Optional<ArrowMemory> pinned() {
    return Optional.ofNullable(pinned);
  }

  /** Memory whose every allocation is a use of the runtime. */
  private final class Counted implements HostMemorySource {
    private final HostMemorySource source;

    Counted(HostMemorySource source) {
      this.source = source;
    }

    @Override
    public Allocation allocate(long bytes) {
      if (shut || !uses.retain()) {
        throw ExecutorRuntime.hasStopped();
      }
      try {
        return new Use(source.allocate(bytes));
      } catch (Throwable e) {
        uses.release();
        throw e;
      }
    }

    @Override
    public boolean isPinned() {
      return source.isPinned();
    }

    @Override
    public boolean pins(long address, long bytes) {
      return source.pins(address, bytes);
    }
  }

  /** An allocation that is a use of the runtime until it is freed. */
  private final class Use implements HostMemorySource.Allocation {
    private final HostMemorySource.Allocation allocation;

    Use(HostMemorySource.Allocation allocation) {
      this.allocation = allocation;
    }

    @Override
    public long address() {
      return allocation.address();
    }

    @Override
    public void free() {
      try {
        allocation.free();
      } finally {
        uses.release();
      }
    }

    @Override
    public boolean isPinned() {
      return allocation.isPinned();
    }
  }

  /**
   * Memory that outlives tasks: pinned if a device is used and there is enough, otherwise plain.
   */
  HostMemorySource stores() {
    return new HostMemorySource() {
      @Override
      public Allocation allocate(long bytes) {
        HostMemorySource first;
        synchronized (HostMemoryPools.this) {
          first = pinnedMemory;
        }
        if (first == null && triedDevice.compareAndSet(false, true)) {
          first = openPinned();
        }
        if (first != null) {
          try {
            return first.allocate(bytes);
          } catch (StoppedException e) {
            throw e;
          } catch (RuntimeException e) { // too little memory, or a lost device
            LOG.debug("Plain memory instead of pinned", e);
          }
        }
        return plainMemory.allocate(bytes);
      }

      @Override
      public boolean isPinned() {
        return false; // an allocation may be plain
      }
    };
  }

  /** Pinned memory of the executor's device; null if there is none. */
  private HostMemorySource openPinned() {
    try {
      device.get().ifPresent(this::pinned);
    } catch (RuntimeException e) {
      LOG.warn("Blocks are kept in plain memory, since no device could be opened", e);
    }
    synchronized (this) {
      return pinnedMemory;
    }
  }

  /** Each task's share of the pinned memory pool, if the maximum number of tasks use a device. */
  long pinnedShareBytes() {
    return budget.pinnedPoolBytes() / TileSparkConf.CONCURRENT_TASKS.read(conf);
  }

  /** The state of host memory now; {@code work} is the work on the CPU. */
  synchronized HostStatus status(PipelineTotals.Snapshot work) {
    Map<HostStatus.Memory, Long> memory = new EnumMap<>(HostStatus.Memory.class);
    if (pinned != null) {
      memory.put(HostStatus.Memory.PINNED_HELD, pinned.allocatedBytes());
      memory.put(HostStatus.Memory.PINNED_PEAK, pinned.peakBytes());
      memory.put(HostStatus.Memory.PINNED_KEPT, pinnedPool.cachedBytes());
    }
    memory.put(HostStatus.Memory.PINNED_POOL, budget.pinnedPoolBytes());
    memory.put(HostStatus.Memory.PLAIN_HELD, plain.allocatedBytes());
    memory.put(HostStatus.Memory.PLAIN_PEAK, plain.peakBytes());
    memory.put(HostStatus.Memory.PLAIN_KEPT, plainSource.keptBytes());
    memory.put(HostStatus.Memory.PLAIN_POOL, budget.plainPoolBytes());
    return new HostStatus(memory, work);
  }

  /** Bytes of Arrow buffers alive, pinned and plain. */
  synchronized long liveBytes() {
    return plain.allocatedBytes() + (pinned == null ? 0 : pinned.allocatedBytes());
  }

  /** Bytes kept for reuse, pinned and plain. */
  synchronized long keptBytes() {
    return plainSource.keptBytes() + (pinnedPool == null ? 0 : pinnedPool.cachedBytes());
  }

  /**
   * Frees memory kept for reuse, and provides none from now on; memory in use is freed when it is
   * returned. May be called twice.
   *
   * @param lostDevice true if the device, and so its pinned memory, is lost
   */
  void shut(boolean lostDevice) {
    List<AutoCloseable> owned = new ArrayList<>(List.of(plainSource));
    synchronized (this) {
      shut = true;
      if (pinnedPool != null && !lostDevice) {
        owned.add(pinnedPool);
      }
    }
    Closing.all(owned);
  }

  private AllocationFaults faults() {
    return new AllocationFaults(
        TileSparkConf.FAIL_EVERY_NTH_HOST_ALLOCATION.read(conf), ExecutorRuntime.FAULT_SEED);
  }
}
