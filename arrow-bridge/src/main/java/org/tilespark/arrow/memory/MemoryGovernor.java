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
 * Shares a bounded amount of device memory among the tasks of an executor, and says what happens
 * when it runs out. A request that does not fit is tried again after, in this order: the task's own
 * earlier work is done and freed; others have given some back (for a while); it is halved, down to
 * the least that makes sense; and when even that does not fit while others still hold memory, they
 * are waited for longer. Only then it fails, with the figures.
 *
 * <p>Before all of that, what is kept without need is given up: panels that tasks could share
 * ({@link org.tilespark.arrow.panels.SharedPanels SharedPanels}) are granted only where nobody
 * waits, and never stand in anybody's way.
 *
 * <p>Safe for several threads. Its lock is held for figures only: never while memory is allocated
 * or freed, or while others are asked to give some up.
 */
public final class MemoryGovernor {
  private static final long SHORT_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
  private static final long LONG_WAIT_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** A few batches of those who take and give back quickly. */
  private static final long MOST_SPARE_BYTES = 256L << 20;

  private static final Logger LOG = LoggerFactory.getLogger(MemoryGovernor.class);

  /** Attempts at the least size while nobody else holds memory: a passing failure may pass. */
  private static final int LAST_ATTEMPTS = 3;

  private final long limitBytes;
  private final AllocationFaults faults;
  private final String advice;
  // Guarded by this.
  private long usedBytes;
  private long peakBytes;
  private long releases;
  private int waiting; // tasks
  private volatile Reclaimer reclaimer = missing -> false;

  /**
   * A governor of {@code limitBytes} bytes.
   *
   * @param faults attempts that are to fail, for tests
   * @param advice advice for the error when memory runs out, in the words of whoever configures
   *     this
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

  /** Memory that was granted; closing it gives it back, once its own resource is freed. */
  public final class Grant<T extends AutoCloseable> implements AutoCloseable {
    private final long bytes;
    private final T resource;
    private boolean closed;

    private Grant(long bytes, T resource) {
      this.bytes = bytes;
      this.resource = resource;
    }

    /** The granted bytes: as wanted, or less. */
    public long bytes() {
      return bytes;
    }

    /** The memory itself; the grant closes it. */
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
   * Memory of {@code wanted} bytes, or less but at least {@code least}.
   *
   * @param allocate allocates the resource for a number of bytes; throws a {@link
   *     ResourceException} if it does not fit
   * @param settleOwn waits for the task's own earlier work and frees its memory
   * @throws ResourceException if not even {@code least} bytes can be had; says what was requested,
   *     the limit, what others hold, and what helps
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
            reclaimed = true; // others may keep something again, so from now on it waits as well
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
   * Memory of just {@code bytes} bytes, to be held for long. It leaves some to those who take and
   * give back quickly, unless nobody holds any; and since whoever holds memory needs no more to
   * give it back, it waits for others as long as they hold some.
   *
   * @param allocate as in {@link #acquire}
   * @param settleOwn as in {@link #acquire}
   * @param stillWanted called each time it has waited for a while; throws if the memory is not
   *     wanted any more
   * @throws ResourceException if that much cannot be had though nobody else holds any, or the
   *     thread is interrupted
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
   * Memory that is of use, but not needed: it is not waited for, and nobody waits because of it.
   *
   * @param spare bytes that must be left to others
   * @param allocate as in {@link #acquire}
   * @return empty if there is none, or others wait for some
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

  /** The grant of bytes that were taken; they are given back if there is no resource for them. */
  private <T extends AutoCloseable> Grant<T> granted(long bytes, LongFunction<T> allocate) {
    return TaskScope.opening(
        scope -> {
          scope.own(() -> giveBack(bytes));
          return new Grant<>(bytes, allocate.apply(bytes));
        });
  }

  /** Gives up memory of {@link #tryAcquire} when others need it. */
  public interface Reclaimer {
    /**
     * Closes grants of as many bytes as are missing, or all that there are.
     *
     * @return false if there was none
     */
    boolean giveUp(long missing);
  }

  /**
   * Sets the owner of the memory of {@link #tryAcquire}, which is asked without this governor's
   * lock.
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

  /** Most bytes ever granted at once. */
  public synchronized long peakBytes() {
    return peakBytes;
  }

  /** Bytes that may be granted at once. */
  public long limitBytes() {
    return limitBytes;
  }

  /** Takes bytes unless that leaves less than {@code spare} to others, of whom there are some. */
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
      waiting++; // so that nobody takes for a panel what is given up for us
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

  /** Waits until someone gave memory back; false if nobody did, or nobody holds any. */
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
