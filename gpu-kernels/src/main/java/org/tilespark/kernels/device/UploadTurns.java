package org.tilespark.kernels.device;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The turns in which threads queue large copies to one device, first come first served. Without
 * turns all threads upload at the same time, and then all download, so that the bus works in one
 * direction at a time. With turns the first results are downloaded while other threads upload.
 *
 * <p>The copies of two turns may be under way, so that the bus has work while a thread wakes up. A
 * third turn begins when the copies of the first of them are done. A thread that has a turn waits
 * for the device only, never for memory, input or another thread. So every turn ends.
 */
public final class UploadTurns implements AutoCloseable {
  private static final int UNDER_WAY = 2;

  private final ReentrantLock lock = new ReentrantLock(true); // its holder has the turn
  private final Deque<List<Mark>> underWay = new ArrayDeque<>(); // guarded by the lock

  UploadTurns() {}

  /** A mark in a stream's queue, after copies. */
  interface Mark extends AutoCloseable {
    /** Waits until the copies before the mark are done. */
    void synchronize();

    @Override
    void close();
  }

  /** One thread's turn, until it is closed by that thread. */
  public final class Turn implements AutoCloseable {
    private final List<Mark> marks = new ArrayList<>();
    private final long waitedNanos;

    private Turn(long waitedNanos) {
      this.waitedNanos = waitedNanos;
    }

    /** Nanoseconds that the thread waited for this turn. */
    public long waitedNanos() {
      return waitedNanos;
    }

    /** Says that the copies of this turn include what is queued on {@code stream} now. */
    public void copiesOn(CudaStream stream) {
      add(stream.record());
    }

    void add(Mark mark) {
      marks.add(mark);
    }

    /** Ends the turn, also after a failure: copies that were queued count as under way. */
    @Override
    public void close() {
      if (!marks.isEmpty()) {
        underWay.add(marks);
      }
      lock.unlock();
    }
  }

  /**
   * Waits until it is this thread's turn; the thread must hold no other turn.
   *
   * @throws CudaFailure if the device fails before copies of earlier turns are done
   */
  public Turn begin() {
    long start = System.nanoTime();
    lock.lock();
    try {
      if (underWay.size() == UNDER_WAY) {
        List<Mark> first = underWay.remove();
        try {
          first.forEach(Mark::synchronize);
        } finally {
          first.forEach(Mark::close);
        }
      }
      return new Turn(System.nanoTime() - start);
    } catch (RuntimeException | Error e) {
      lock.unlock();
      throw e;
    }
  }

  /** Forgets the copies of the last turns; nobody may take a turn any more. */
  @Override
  public void close() {
    lock.lock();
    try {
      underWay.forEach(marks -> marks.forEach(Mark::close));
      underWay.clear();
    } finally {
      lock.unlock();
    }
  }
}
