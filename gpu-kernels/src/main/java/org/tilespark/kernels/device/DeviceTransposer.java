package org.tilespark.kernels.device;

import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.Transposer;
import org.tilespark.kernels.plan.PlanCache;
import org.tilespark.kernels.plan.PlanDecision;
import org.tilespark.kernels.plan.TransposePlan;
import org.tilespark.kernels.plan.TransposePlanner;
import org.tilespark.kernels.plan.TransposeProblem;

/**
 * The device twin of {@link org.tilespark.kernels.HostTransposer}: runs plans on a {@link
 * CudaDevice}, which it borrows. Safe for several threads.
 */
public final class DeviceTransposer implements Transposer {
  private static final int PLANS = 1024;

  /** Heap arrays go through two pinned buffers of this size, one filling while one is copied. */
  private static final long STAGING_BYTES = 8L << 20;

  private record Key(TransposeProblem problem, int alignmentBytes) {}

  /** Unused staging buffers kept between calls. */
  private static final long KEPT_STAGING_BYTES = 8 * STAGING_BYTES;

  private final CudaDevice device;
  private final PinnedPool staging;
  private final PlanCache<Key, PlanDecision> plans = new PlanCache<>(PLANS);

  /** A transposer on {@code device}, which is borrowed and must stay open longer. */
  public DeviceTransposer(CudaDevice device) {
    this.device = device;
    this.staging = device.newPinnedPool(KEPT_STAGING_BYTES);
  }

  /**
   * How a problem would run, or why it will not, for buffers at offset 0.
   *
   * @param problem what is asked
   */
  public PlanDecision plan(TransposeProblem problem) {
    return plan(problem, TransposePlanner.MAX_ALIGNMENT);
  }

  private PlanDecision plan(TransposeProblem problem, int alignmentBytes) {
    return plans.get(
        new Key(problem, alignmentBytes),
        key ->
            TransposePlanner.plan(
                key.problem(), key.alignmentBytes(), device.limits(), device.kernels().index()));
  }

  /**
   * Queues the transpose of memory on the device; returns before it is done.
   *
   * @param problem what is asked
   * @param in borrowed until the work is done
   * @param inOffset first byte of the input, a multiple of the element's width
   * @param out borrowed until the work is done; the ranges must not overlap
   * @param outOffset first byte of the output, a multiple of the element's width
   * @param stream where to queue it
   * @throws IllegalArgumentException if an offset is no multiple of the width, or the ranges
   *     overlap
   * @throws IndexOutOfBoundsException if a range does not fit its buffer
   * @throws UnsupportedOperationException if the planner has no kernel for the problem
   */
  public void enqueue(
      TransposeProblem problem,
      DeviceBuffer in,
      long inOffset,
      DeviceBuffer out,
      long outOffset,
      CudaStream stream) {
    check(problem, in, inOffset, out, outOffset);
    if (problem.bytes() > 0) {
      // Buffers begin at multiples of 256, so only the offsets limit the width of an access.
      long common = Long.lowestOneBit(inOffset | outOffset | TransposePlanner.MAX_ALIGNMENT);
      run(plan(problem, (int) common).orElseThrow(), in, inOffset, out, outOffset, stream);
    }
  }

  /**
   * Queues a plan that was made elsewhere; returns before it is done. As {@link
   * #enqueue(TransposeProblem, DeviceBuffer, long, DeviceBuffer, long, CudaStream)}, but the caller
   * answers for the plan: its launch does what its problem says, at the alignment of the offsets.
   */
  public void enqueue(
      TransposePlan plan,
      DeviceBuffer in,
      long inOffset,
      DeviceBuffer out,
      long outOffset,
      CudaStream stream) {
    check(plan.problem(), in, inOffset, out, outOffset);
    if (plan.problem().bytes() > 0) {
      run(plan, in, inOffset, out, outOffset, stream);
    }
  }

  private void check(
      TransposeProblem problem, DeviceBuffer in, long inOffset, DeviceBuffer out, long outOffset) {
    long inBytes = problem.inBytes();
    long outBytes = problem.outBytes();
    long source = in.address(device, inOffset, inBytes);
    long target = out.address(device, outOffset, outBytes);
    if ((inOffset | outOffset) % problem.elementBytes() != 0) {
      throw new IllegalArgumentException(
          "Offsets "
              + inOffset
              + " and "
              + outOffset
              + "; expected multiples of the width "
              + problem.elementBytes());
    }
    if (source < target + outBytes && target < source + inBytes) {
      throw new IllegalArgumentException(
          "Input and output overlap: "
              + (inBytes == outBytes ? "" : inBytes + " and ")
              + outBytes
              + " bytes at offsets "
              + inOffset
              + " and "
              + outOffset
              + " of one buffer");
    }
  }

  private void run(
      TransposePlan plan,
      DeviceBuffer in,
      long inOffset,
      DeviceBuffer out,
      long outOffset,
      CudaStream stream) {
    device.enter();
    if (plan.launch().isPresent()) {
      long source = in.address(device, inOffset, plan.problem().inBytes());
      long target = out.address(device, outOffset, plan.problem().outBytes());
      device.kernels().launch(plan.launch().get(), source, target, stream);
    } else {
      stream.copy(in, inOffset, out, outOffset, plan.problem().bytes());
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>Memory outside the heap is copied as it is (pin it for full speed); heap arrays go through
   * small pinned buffers. Device memory for input and output is used for the length of the call.
   *
   * @throws DeviceOutOfMemoryException if that is not free
   */
  @Override
  public void transpose(TransposeProblem problem, HostMemory in, HostMemory out) {
    problem.requireBytes(in.bytes(), out.bytes());
    if (problem.bytes() == 0) {
      return;
    }
    boolean staged = !in.isOffHeap() || !out.isOffHeap();
    long stagingBytes = staged ? Math.min(STAGING_BYTES, Math.max(in.bytes(), out.bytes())) : 0;
    // The stream is closed, and so waited for, before the host memory it copies from is freed.
    try (PinnedBuffer first = staging.take(stagingBytes);
        PinnedBuffer second = staging.take(stagingBytes);
        CudaStream stream = device.newStream();
        DeviceBuffer source = device.allocate(in.bytes(), stream);
        DeviceBuffer target = device.allocate(out.bytes(), stream)) {
      PinnedBuffer[] buffers = {first, second};
      upload(in, source, stream, buffers);
      if (out.bytes() > problem.bytes()) { // what lies between its elements comes back as it was
        upload(out, target, stream, buffers);
      }
      enqueue(problem, source, 0, target, 0, stream);
      if (out.isOffHeap()) {
        stream.download(target, 0, out);
        stream.synchronize();
      } else {
        downloadStaged(target, out, stream, buffers);
      }
    }
  }

  private static void upload(
      HostMemory in, DeviceBuffer to, CudaStream stream, PinnedBuffer[] buffers) {
    if (in.isOffHeap()) {
      stream.upload(in, to, 0);
    } else {
      uploadStaged(in, to, stream, buffers);
    }
  }

  private static void uploadStaged(
      HostMemory in, DeviceBuffer to, CudaStream stream, PinnedBuffer[] buffers) {
    CudaEvent[] sent = new CudaEvent[buffers.length];
    try {
      long chunkBytes = buffers[0].bytes();
      int turn = 0;
      for (long start = 0; start < in.bytes(); start += chunkBytes) {
        HostMemory chunk = in.slice(start, Math.min(chunkBytes, in.bytes() - start));
        HostMemory buffer = buffers[turn].memory().slice(0, chunk.bytes());
        awaitAndClose(sent, turn);
        chunk.copyTo(buffer);
        stream.upload(buffer, to, start);
        sent[turn] = stream.record();
        turn = 1 - turn;
      }
      awaitAndClose(sent, 0);
      awaitAndClose(sent, 1);
    } finally {
      closeAll(sent);
    }
  }

  private static void downloadStaged(
      DeviceBuffer from, HostMemory out, CudaStream stream, PinnedBuffer[] buffers) {
    CudaEvent[] arrived = new CudaEvent[buffers.length];
    HostMemory[] targets = new HostMemory[buffers.length];
    try {
      long chunkBytes = buffers[0].bytes();
      int turn = 0;
      for (long start = 0; start < out.bytes(); start += chunkBytes) {
        drain(arrived, targets, buffers, turn);
        HostMemory chunk = out.slice(start, Math.min(chunkBytes, out.bytes() - start));
        stream.download(from, start, buffers[turn].memory().slice(0, chunk.bytes()));
        arrived[turn] = stream.record();
        targets[turn] = chunk;
        turn = 1 - turn;
      }
      drain(arrived, targets, buffers, turn);
      drain(arrived, targets, buffers, 1 - turn);
    } finally {
      closeAll(arrived);
    }
  }

  /** Waits for the download into buffer {@code turn}, if there is one, and copies it out. */
  private static void drain(
      CudaEvent[] arrived, HostMemory[] targets, PinnedBuffer[] buffers, int turn) {
    if (arrived[turn] != null) {
      awaitAndClose(arrived, turn);
      buffers[turn].memory().slice(0, targets[turn].bytes()).copyTo(targets[turn]);
    }
  }

  private static void awaitAndClose(CudaEvent[] events, int which) {
    if (events[which] != null) {
      events[which].synchronize();
      events[which].close();
      events[which] = null;
    }
  }

  private static void closeAll(CudaEvent[] events) {
    for (CudaEvent event : events) {
      if (event != null) {
        event.close();
      }
    }
  }

  /** Frees the staging buffers; the device belongs to whoever opened it. */
  @Override
  public void close() {
    staging.close();
  }

  @Override
  public String toString() {
    return "device transposer on " + device.description();
  }
}
