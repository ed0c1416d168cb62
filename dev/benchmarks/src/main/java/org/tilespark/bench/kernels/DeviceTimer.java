package org.tilespark.bench.kernels;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.device.CudaEvent;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Measures device time, by CUDA events, of work that reads one device buffer of random data and
 * writes another. Work rotates over pairs of buffers, at least 1 GiB in all, so that the L2 cache
 * serves nothing. Other work precedes the first event of a run, so that launches are queued in time
 * and the device never waits for the host. For one thread.
 */
final class DeviceTimer implements AutoCloseable {
  private static final long ROTATION_BYTES = 1L << 30;
  private static final long RANDOM_BYTES = 64L << 20;
  private static final int WARM_UPS = 3;

  private final CudaDevice device;
  private final long bytes;
  private final int runs;
  private final int warmUps;
  private final int pairs;
  private final long pitch; // buffer k of either side begins at byte k * pitch
  private final CudaStream stream;
  private final DeviceBuffer in;
  private final DeviceBuffer out;

  /** Queues work from {@code in} to {@code out}; both arrays begin at byte {@code at}. */
  interface Work {
    void queue(DeviceBuffer in, DeviceBuffer out, long at);
  }

  /** Queues piece {@code k} of a run's work. */
  interface Step {
    void queue(int k);
  }

  /**
   * Creates a timer for work that reads and writes {@code bytes} bytes, with {@code runs} measured
   * runs.
   */
  DeviceTimer(CudaDevice device, long bytes, int runs) {
    this(device, bytes, runs, WARM_UPS);
  }

  /** Creates a timer with a given number of warm-up runs. */
  DeviceTimer(CudaDevice device, long bytes, int runs, int warmUps) {
    this.device = device;
    this.bytes = bytes;
    this.runs = runs;
    this.warmUps = warmUps;
    pairs = (int) (ROTATION_BYTES / (2 * bytes) + 2);
    pitch = (bytes + 255) / 256 * 256;
    stream = device.newStream();
    in = device.allocate(pitch * pairs, stream);
    out = device.allocate(pitch * pairs, stream);
    fillRandom(in);
    stream.fill(out, (byte) 0);
  }

  /** The stream on which work must be queued. */
  CudaStream stream() {
    return stream;
  }

  /** Milliseconds of one piece of work in each run, sorted. */
  double[] time(Work work) {
    return time(work, 1);
  }

  /**
   * Milliseconds of work whose launches take the host long to queue.
   *
   * @param leads how many half milliseconds of other work precede a run
   */
  double[] time(Work work, int leads) {
    Runnable lead =
        () -> {
          for (int i = 0; i < leads; i++) {
            occupy();
          }
        };
    return time(stream, runs, warmUps, pairs, lead, k -> work.queue(in, out, k * pitch));
  }

  /** Average microseconds that the host needs to queue one piece of work. */
  double queueMicros(Work work) {
    stream.synchronize();
    long start = System.nanoTime();
    for (int k = 0; k < pairs; k++) {
      work.queue(in, out, k * pitch);
    }
    double micros = (System.nanoTime() - start) / 1e3 / pairs;
    stream.synchronize();
    return micros;
  }

  /** Milliseconds of a device-to-device copy in each run, sorted. */
  double[] timeCopy() {
    return time((from, to, at) -> stream.copy(from, at, to, at, bytes));
  }

  /**
   * Milliseconds of one step in each run, sorted.
   *
   * @param occupy queues other work before each run, which is not measured
   */
  static double[] time(CudaStream stream, int runs, int steps, Runnable occupy, Step work) {
    return time(stream, runs, WARM_UPS, steps, occupy, work);
  }

  private static double[] time(
      CudaStream stream, int runs, int warmUps, int steps, Runnable occupy, Step work) {
    double[] millis = new double[runs];
    for (int run = -warmUps; run < runs; run++) {
      occupy.run();
      try (CudaEvent before = stream.record()) {
        for (int k = 0; k < steps; k++) {
          work.queue(k);
        }
        try (CudaEvent after = stream.record()) {
          after.synchronize();
          if (run >= 0) {
            millis[run] = after.millisSince(before) / steps;
          }
        }
      }
    }
    Arrays.sort(millis);
    return millis;
  }

  /** Keeps the device busy for about half a millisecond. */
  private void occupy() {
    stream.copy(in, 0, out, 0, Math.min(pitch * pairs, ROTATION_BYTES));
  }

  /** Fills a buffer with random bytes that repeat every 64 MiB. */
  private void fillRandom(DeviceBuffer buffer) {
    try (PinnedBuffer random = device.allocatePinned(RANDOM_BYTES)) {
      SplittableRandom generator = new SplittableRandom(buffer.bytes());
      for (long at = 0; at < RANDOM_BYTES; at += Long.BYTES) {
        HostMemory.unsafe().putLong(random.memory().offset() + at, generator.nextLong());
      }
      for (long at = 0; at < buffer.bytes(); at += RANDOM_BYTES) {
        long part = Math.min(RANDOM_BYTES, buffer.bytes() - at);
        stream.upload(random.memory().slice(0, part), buffer, at);
      }
      stream.synchronize();
    }
  }

  @Override
  public void close() {
    out.close();
    in.close();
    stream.close();
  }
}
