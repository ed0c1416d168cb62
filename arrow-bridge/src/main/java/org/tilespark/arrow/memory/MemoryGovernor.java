package org.tilespark.arrow.memory;

import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.ResourceException;

/**
 * Shares a bounded amount of device memory among the tasks of an executor, and decides what happens
 * when it runs out. A request that does not fit is retried in these steps: wait for the task's own
 * earlier work and free its memory; wait a short time for other tasks to give some back; halve the
 * request, down to the least useful size; and if even that does not fit while others hold memory,
 * wait for them longer. Only then the request fails; its message states the figures.
 *
 * <p>Before all of that, optional memory is given up: panels for sharing between tasks ({@link
 * org.tilespark.arrow.panels.SharedPanels SharedPanels}) are granted only while no request waits,
 * and are freed for any other request.
 *
 * <p>Safe for several threads. Its lock protects only counters: it is never held while memory is
 * allocated or freed, or while {@link Reclaimer} is called.
 */
public final class MemoryGovernor {
  private static final long SHORT_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
  private static final long LONG_WAIT_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** Most bytes left to tasks that take memory only for a short time: a few of their batches. */
  private static final long MOST_SPARE_BYTES = 256L << 20;

  private static final Logger LOG = LoggerFactory.getLogger(MemoryGovernor.class);

  /**
   * Attempts at the least size while nobody else holds memory, before the request fails: a failure
   * may be temporary.
   */
  private static final int LAST_ATTEMPTS = 3;

  private final long limitBytes;
  private final AllocationFaults faults;
  private final String advice;
  // Guarded by this.
  private long usedBytes;
  private long peakBytes;
  private long releases;
  private int waiting; // count of tasks that wait for memory
  private volatile Reclaimer reclaimer = missing -> false;

  /**
   * A governor of {@code limitBytes} bytes of device memory.
   *
   * @param faults attempts that fail on purpose, for tests
   * @param advice advice for the error message when memory runs out, which names the configuration
   */
  public MemoryGovernor(long limitBytes, AllocationFaults faults, String advice) {
    if (limitBytes <= 0) {
      throw new IllegalArgumentException(
          "Device memory limited to " + limitBytes + " bytes; " + advice);
    }
    this.limitBytes = limitBytes;
    this.faults = faults;
    this.advice = advice;
  }

  /** Granted memory; closing it frees the resource, then gives the bytes back. */
  public final class Grant<T extends AutoCloseable> implements AutoCloseable {
    private final long bytes;
    private final T resource;
    private boolean closed;

    private Grant(long bytes, T resource) {
      this.bytes = bytes;
      this.resource = resource;
    }

    /** Number of granted bytes: the wanted number, or fewer. */
    public long bytes() {
      return bytes;
    }

    /** The resource that holds the memory; the grant closes it. */
    public T resource() {
      return resource;
    }

    /** Frees the resource and lets others have its bytes; may be called twice. */
    @Override
    public void close() {
      if (closed) {
        return;
      }
      closed = true;
      try {
        resource.close();
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException("Freeing device memory failed", e);
      } finally {
        giveBack(bytes);
      }
    }
  }

  /**
   * Grants memory of {@code wanted} bytes, or less but at least {@code least} bytes; waits if
   * necessary.
   *
   * @param allocate allocates the resource for a number of bytes; throws a {@link
   *     ResourceException} if it does not fit
   * @param settleOwn waits for the task's own earlier work and frees its memory
   * @throws ResourceException if not even {@code least} bytes are available; the message states the
   *     request, the limit, the bytes that others hold, and what helps
   */
  public <T extends AutoCloseable> Grant<T> acquire(
      long wanted,
      long least,
      LongFunction<T> allocate,
      Runnable settleOwn,
      PipelineListener listener) {
    long size = Math.max(least, Math.min(wanted, limitBytes));
    boolean settled = false;
    int lastAttempts = 0;
    long waitedLong = 0;
    boolean reclaimed = false;
    while (true) {
      ResourceException refusal = null;
      if (reserve(size, 0)) {
        try {
          return granted(size, allocate);
        } catch (ResourceException e) {
          // The driver has less than we thought.
          if (reclaimer.giveUp(Long.MAX_VALUE) && !reclaimed) {
            // Others may keep optional memory again, so from now on this request waits as well.
            reclaimed = true;
            continue;
          }
          refusal = e;
        }
      }
      listener.retried();
      if (!settled) {
        settled = true;
        settleOwn.run();
      } else if (othersGiveBack(SHORT_WAIT_NANOS)) {
        continue;
      } else if (size > least) {
        size = Math.max(least, size / 2);
        listener.split();
      } else if (usedBytes() > 0 && waitedLong < LONG_WAIT_NANOS) {
        waitedLong += LONG_WAIT_NANOS / 60;
        othersGiveBack(LONG_WAIT_NANOS / 60);
      } else if (++lastAttempts >= LAST_ATTEMPTS) {
        throw exhausted(size, refusal);
      }
    }
  }

  /**
   * Grants memory of exactly {@code bytes} bytes, to be held for long. The request leaves some
   * memory to tasks that need it only briefly, unless no memory is held at all. It waits as long as
   * others hold memory, since these need no further memory to give theirs back.
   *
   * @param allocate as in {@link #acquire}
   * @param settleOwn as in {@link #acquire}
   * @param stillWanted called repeatedly while waiting; throws if the memory is no longer wanted
   * @throws ResourceException if these bytes are not available although nobody else holds memory,
   *     or the thread is interrupted
   */
  public <T extends AutoCloseable> Grant<T> acquireForLong(
      long bytes,
      LongFunction<T> allocate,
      Runnable settleOwn,
      Runnable stillWanted,
      PipelineListener listener) {
    boolean settled = false;
    int lastAttempts = 0;
    long lastTold = System.nanoTime();
    boolean reclaimed = false;
    while (true) {
      ResourceException refusal = null;
      if (reserve(bytes, spareBytes())) {
        try {
          return granted(bytes, allocate);
        } catch (ResourceException e) {
          if (reclaimer.giveUp(Long.MAX_VALUE) && !reclaimed) {
            reclaimed = true;
            continue;
          }
          refusal = e;
        }
      }
      listener.retried();
      if (!settled) {
        settled = true;
        settleOwn.run();
      } else if (usedBytes() > 0) {
        othersGiveBack(SHORT_WAIT_NANOS);
        stillWanted.run();
        if (System.nanoTime() - lastTold >= LONG_WAIT_NANOS) {
          lastTold = System.nanoTime();
          LOG.info(
              "Waiting for {} bytes of device memory; the limit is {}, other tasks hold {}",
              bytes,
              limitBytes,
              usedBytes());
        }
      } else if (++lastAttempts >= LAST_ATTEMPTS) {
        throw exhausted(bytes, refusal);
      }
    }
  }

  /**
   * Grants memory that the caller can do without: the request never waits, and nobody else waits
   * because of it.
   *
   * @param spare bytes that must be left to others
   * @param allocate as in {@link #acquire}
   * @return the grant; empty if there is not enough memory, or others wait for memory
   */
  public <T extends AutoCloseable> Optional<Grant<T>> tryAcquire(
      long bytes, long spare, LongFunction<T> allocate) {
    synchronized (this) {
      if (faults.strikes() || waiting > 0 || bytes > limitBytes - usedBytes - spare) {
        return Optional.empty();
      }
      take(bytes);
    }
    try {
      return Optional.of(granted(bytes, allocate));
    } catch (ResourceException e) {
      return Optional.empty();
    }
  }

  /**
   * Allocates the resource for bytes that are reserved; if that fails, the bytes are given back.
   */
  private <T extends AutoCloseable> Grant<T> granted(long bytes, LongFunction<T> allocate) {
    return TaskScope.opening(
        scope -> {
          scope.own(() -> giveBack(bytes));
          return new Grant<>(bytes, allocate.apply(bytes));
        });
  }

  /** Frees memory that {@link #tryAcquire} granted, when others need it. */
  public interface Reclaimer {
    /**
     * Closes grants of at least {@code missing} bytes together, or all grants if these have fewer.
     *
     * @return false if there was no grant
     */
    boolean giveUp(long missing);
  }

  /**
   * Sets the owner of the memory that {@link #tryAcquire} grants; it is called without this
   * governor's lock.
   */
  public void reclaimsWith(Reclaimer newReclaimer) {
    reclaimer = newReclaimer;
  }

  /** Bytes that {@link #acquireForLong} leaves to others. */
  public long spareBytes() {
    return Math.min(limitBytes / 8, MOST_SPARE_BYTES);
  }

  /** Bytes granted and not given back. */
  public synchronized long usedBytes() {
    return usedBytes;
  }

  /** Most bytes that were ever granted together. */
  public synchronized long peakBytes() {
    return peakBytes;
  }

  /** Most bytes that may be granted together. */
  public long limitBytes() {
    return limitBytes;
  }

  /** Reserves bytes, unless that would leave less than {@code spare} while others hold memory. */
  private boolean reserve(long bytes, long spare) {
    long missing;
    synchronized (this) {
      if (faults.strikes()) {
        return false;
      }
      missing = missing(bytes, spare);
      if (missing <= 0) {
        take(bytes);
        return true;
      }
      waiting++; // so that no panel takes the memory that is given up for this request
    }
    boolean asked = false;
    boolean fits;
    try {
      reclaimer.giveUp(missing);
      asked = true;
    } finally {
      synchronized (this) {
        waiting--;
        fits = asked && missing(bytes, spare) <= 0;
        if (fits) {
          take(bytes);
        }
      }
    }
    return fits;
  }

  private long missing(long bytes, long spare) {
    return bytes - (limitBytes - usedBytes - (usedBytes == 0 ? 0 : spare));
  }

  private void take(long bytes) {
    usedBytes += bytes;
    peakBytes = Math.max(peakBytes, usedBytes);
  }

  private synchronized void giveBack(long bytes) {
    usedBytes -= bytes;
    releases++;
    notifyAll();
  }

  /**
   * Waits until another task gives memory back; false if none did in {@code nanos} nanoseconds, or
   * no memory is held.
   */
  private synchronized boolean othersGiveBack(long nanos) {
    long before = releases;
    long deadline = System.nanoTime() + nanos;
    waiting++;
    try {
      while (usedBytes > 0 && releases == before) {
        long left = deadline - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ResourceException("Interrupted while waiting for device memory", e);
    } finally {
      waiting--;
    }
    return releases != before;
  }

  private ResourceException exhausted(long bytes, ResourceException refusal) {
    return new ResourceException(
        ("Device memory: %s bytes requested, the least that will do; the limit is %s"
                + " bytes, other tasks of this executor hold %s%s. %s")
            .formatted(
                bytes,
                limitBytes,
                usedBytes(),
                refusal == null ? "" : "; the driver said: " + refusal.getMessage(),
                advice),
        refusal);
  }
}
