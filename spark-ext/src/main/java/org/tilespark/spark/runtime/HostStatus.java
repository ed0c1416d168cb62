package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * An executor's host memory outside the Java heap, and its work on the CPU.
 *
 * @param memory bytes of each kind, in the order of the enum
 * @param work work on the CPU
 */
public record HostStatus(Map<Memory, Long> memory, PipelineTotals.Snapshot work)
    implements Serializable {
  /** Bytes of Arrow buffers; the {@code KEPT} ones are free memory kept for reuse. */
  public enum Memory {
    /** Pinned memory, alive now. */
    PINNED_HELD("pinnedHeldBytes"),
    /** Pinned memory, most ever alive. */
    PINNED_PEAK("pinnedPeakBytes"),
    /** Pinned memory, kept for reuse. */
    PINNED_KEPT("pinnedKeptBytes"),
    /**
     * Size of the pinned pool, {@code memory.pinnedPoolSize}; memory that stores released is kept
     * in addition.
     */
    PINNED_POOL("pinnedPoolBytes"),
    /** Plain memory, alive now. */
    PLAIN_HELD("plainHeldBytes"),
    /** Plain memory, most ever alive. */
    PLAIN_PEAK("plainPeakBytes"),
    /** Plain memory, kept for reuse. */
    PLAIN_KEPT("plainKeptBytes"),
    /**
     * Size of the plain pool, {@code memory.hostPoolSize}; without a device, memory that stores
     * released is kept too.
     */
    PLAIN_POOL("plainPoolBytes");

    private final String key;

    Memory(String key) {
      this.key = key;
    }

    /** The kind's key in JSON. */
    @Override
    public String toString() {
      return key;
    }
  }

  public HostStatus {
    Map<Memory, Long> all = new EnumMap<>(Memory.class);
    for (Memory kind : Memory.values()) {
      all.put(kind, memory.getOrDefault(kind, 0L));
    }
    memory = Collections.unmodifiableMap(all);
  }

  /** Bytes of one kind; 0 if they were not given. */
  public long get(Memory kind) {
    return memory.get(kind);
  }
}
