package org.tilespark.arrow.store;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.store.MapOutput.Id;

/**
 * The committed outputs of map tasks in this process. They stay in memory as long as the {@link
 * StoreBudget} has room; then the least recently read ones are written to files. Thread-safe.
 */
public final class StoredOutputs implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StoredOutputs.class);

  /** Files of the outputs that are not in memory. */
  public interface Files {
    /**
     * Writes the files of an output and commits them: from then on it can be read from there.
     *
     * @throws IOException if the disk fails or is full; then no file is left
     */
    void write(MapOutput output) throws IOException;

    /** Deletes the files of an output that is no longer needed. */
    void delete(Id id);
  }

  private final Files files;
  private final AtomicLong spilledBytes = new AtomicLong();
  // Guarded by this. The least recently used output comes first.
  private final LinkedHashMap<Id, MapOutput> outputs = new LinkedHashMap<>(16, 0.75f, true);
  private long committed; // count of outputs that were committed to memory
  private final Map<Id, Long> spilling = new HashMap<>(); // bytes of outputs being written
  private long spills; // count of writes to files that have ended
  private boolean closed;

  /** A store without outputs; {@code budget} will ask it to evict. */
  public StoredOutputs(StoreBudget budget, Files files) {
    this.files = files;
    budget.evictsWith(this::evict);
  }

  /**
   * Takes a complete output, which readers can find from now on.
   *
   * @return true if it is in memory, false if in files
   * @throws IOException if it had to be written to files and that failed; the output is released
   * @throws IllegalStateException if this store is closed; the output is released
   */
  public boolean commit(MapOutput output) throws IOException {
    if (output.isInMemory()) {
      synchronized (this) {
        if (closed) {
          output.release();
          throw new IllegalStateException(
              "Output " + output.id() + " is complete after its executor has stopped");
        }
        MapOutput before = outputs.put(output.id(), output);
        if (before != null) {
          throw new IllegalStateException("Output " + output.id() + " was committed twice");
        }
        committed++;
      }
      return true;
    }
    return commitToFiles(output);
  }

  /**
   * As {@link #commit}, but never to memory.
   *
   * @return false
   */
  public boolean commitToFiles(MapOutput output) throws IOException {
    try {
      files.write(output);
    } finally {
      output.release();
    }
    return false;
  }

  /** An output in memory, which the caller releases; empty if it is in files or was removed. */
  public Optional<MapOutput> find(Id id) {
    MapOutput output;
    synchronized (this) {
      output = outputs.get(id);
    }
    return Optional.ofNullable(output).filter(MapOutput::retain);
  }

  /**
   * Writes all outputs to files, and frees their memory.
   *
   * @throws IOException if an output could not be written; it and the following ones stay in memory
   */
  public void spillAll() throws IOException {
    for (Optional<MapOutput> oldest = takeOldest(Victims.ANY);
        oldest.isPresent();
        oldest = takeOldest(Victims.ANY)) {
      spill(oldest.get());
    }
  }

  /**
   * Frees memory of outputs by writing them to files, the least recently read ones first. Outputs
   * that a reader holds stay in memory: writing them would not free it now. If other threads
   * already write enough outputs, it waits until one of these is written instead.
   *
   * @return false if nothing was freed
   */
  public boolean evict(long missing) {
    if (awaitsSpill(missing)) {
      return true;
    }
    long freed = 0;
    while (freed < missing) {
      Optional<MapOutput> oldest = takeOldest(Victims.UNREAD);
      if (oldest.isEmpty()) {
        return freed > 0 || awaitsSpill(1);
      }
      MapOutput victim = oldest.get();
      long bytes = victim.heldBytes();
      try {
        freed += spill(victim) ? bytes : 0;
      } catch (IOException e) {
        LOG.warn("Could not write output {} to files; it stays in memory", victim.id(), e);
        break;
      }
    }
    return freed > 0;
  }

  /** Waits until a write to files ends, if those in progress will free {@code missing} bytes. */
  private synchronized boolean awaitsSpill(long missing) {
    if (spilling.values().stream().mapToLong(Long::longValue).sum() < missing) {
      return false;
    }
    long before = spills;
    try {
      while (spills == before) {
        wait();
      }
      return true;
    } catch (InterruptedException killed) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private enum Victims {
    /** All outputs. */
    ANY,
    /** Outputs that nobody reads now. */
    UNREAD
  }

  /** The least recently read output that no thread is writing yet, retained. */
  private synchronized Optional<MapOutput> takeOldest(Victims which) {
    for (MapOutput output : outputs.values()) {
      if (!spilling.containsKey(output.id())
          && !(which == Victims.UNREAD && output.isShared())
          && output.retain()) {
        spilling.put(output.id(), output.heldBytes());
        return Optional.of(output);
      }
    }
    return Optional.empty();
  }

  /**
   * Writes the output that {@link #takeOldest} gave. It can be found in memory until its files
   * exist.
   *
   * @return true if its memory was freed
   */
  private boolean spill(MapOutput output) throws IOException {
    boolean written = false;
    boolean wanted;
    boolean freed = false;
    try {
      files.write(output);
      written = true;
    } finally {
      synchronized (this) {
        wanted = written && outputs.remove(output.id(), output);
      }
      if (wanted) {
        spilledBytes.addAndGet(output.heldBytes());
        output.release(); // the store's use
      } else if (written) {
        files.delete(output.id()); // its shuffle ended meanwhile
      }
      freed = output.release();
      synchronized (this) {
        spilling.remove(output.id());
        spills++;
        notifyAll();
      }
    }
    return freed;
  }

  /** Releases outputs in memory; readers that hold one may continue. Files are not deleted. */
  public void remove(Predicate<Id> which) {
    release(which);
  }

  /** Releases all outputs, and keeps none in memory from now on. May be called twice. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    release(id -> true);
  }

  private void release(Predicate<Id> which) {
    List<MapOutput> gone = new ArrayList<>();
    synchronized (this) {
      for (Iterator<MapOutput> all = outputs.values().iterator(); all.hasNext(); ) {
        MapOutput output = all.next();
        if (which.test(output.id())) {
          all.remove();
          gone.add(output);
        }
      }
    }
    Closing.all(gone.stream().<AutoCloseable>map(output -> output::release).toList());
  }

  /** Count of outputs in memory. */
  public synchronized int size() {
    return outputs.size();
  }

  /** Count of outputs that were committed to memory, up to now. */
  public synchronized long committed() {
    return committed;
  }

  /** Bytes that went from memory to files after they were committed. */
  public long spilledBytes() {
    return spilledBytes.get();
  }
}
