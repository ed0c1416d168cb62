package org.tilespark.kernels.device;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.PlanCache;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.MixedLaunch;
import org.tilespark.kernels.transpose.OffsetPlan;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposePlanner;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.kernels.tune.Autotuner;

/**
 * The device twin of {@link org.tilespark.kernels.host.HostTransposer}: runs plans on a {@link
 * CudaDevice}, which it borrows. Safe for several threads.
 */
public final class DeviceTransposer implements Transposer {
  private static final int PLANS = 1024;

  /**
   * Bytes of each of the two pinned buffers through which heap arrays are copied: one is filled
   * while the other is copied.
   */
  private static final long STAGING_BYTES = 8L << 20;

  private record Key(TransposeProblem problem, int alignmentBytes) {}

  /** Bytes of unused staging buffers that are kept between calls. */
  private static final long KEPT_STAGING_BYTES = 8 * STAGING_BYTES;

  private final CudaDevice device;
  private final Autotuner tuner;
  private final PinnedPool staging;
  private final PlanCache<Key, Availability<TransposePlan>> plans = new PlanCache<>(PLANS);

  /**
   * A transposer on {@code device}, which is borrowed and must stay open longer than this object;
   * tunes nothing.
   */
  public DeviceTransposer(CudaDevice device) {
    this(device, Autotuner.off(device.ownKernels()));
  }

  /**
   * A transposer on {@code device}, which is borrowed and must stay open longer than this object.
   *
   * @param tuner tuner of this device: at the first problem of a class, it times several tilings
   */
  public DeviceTransposer(CudaDevice device, Autotuner tuner) {
    this.device = device;
    this.tuner = tuner;
    this.staging = device.newPinnedPool(KEPT_STAGING_BYTES);
  }

  /**
   * How a problem would run, or why it cannot run, for buffers at offset 0.
   *
   * @param problem the transpose
   */
  public Availability<TransposePlan> plan(TransposeProblem problem) {
    return plan(problem, alignment(problem.inStartBytes(), 0));
  }

  private Availability<TransposePlan> plan(TransposeProblem problem, int alignmentBytes) {
    return plans.get(
        new Key(problem, alignmentBytes),
        key ->
            TransposePlanner.plan(
                key.problem(), key.alignmentBytes(), device.ownKernels(), tuner.table()));
  }

  /**
   * Queues the transpose of memory on the device; returns before the transpose is done, except for
   * the first problem of a class that is tuned.
   *
   * @param problem the transpose
   * @param in buffer of the input, borrowed until the work is done
   * @param inOffset first byte of the input, a multiple of the element's width
   * @param out buffer of the output, borrowed until the work is done; input and output must not
   *     overlap
   * @param outOffset first byte of the output, a multiple of the element's width
   * @param stream stream on which the transpose is queued
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
      int alignment = alignment(inOffset + problem.inStartBytes(), outOffset);
      TransposePlan plan = plan(problem, alignment).orElseThrow(UnsupportedOperationException::new);
      if (tuner.isOpen(plan)) {
        plan = tuned(plan, alignment, in, inOffset, out, outOffset, stream);
      }
      run(plan, in, inOffset, out, outOffset, stream);
    }
  }

  /**
   * The plan after its class was tuned with these buffers. Every trial computes the correct result,
   * so trials do no harm.
   */
  private TransposePlan tuned(
      TransposePlan plan,
      int alignmentBytes,
      DeviceBuffer in,
      long inOffset,
      DeviceBuffer out,
      long outOffset,
      CudaStream stream) {
    boolean known =
        tuner.tune(
            plan,
            trial -> {
              try (CudaEvent before = stream.record()) {
                run(trial, in, inOffset, out, outOffset, stream);
                try (CudaEvent after = stream.record()) {
                  after.synchronize();
                  return after.millisSince(before);
                }
              }
            });
    if (!known) {
      return plan;
    }
    plans.clear();
    return plan(plan.problem(), alignmentBytes).orElseThrow(UnsupportedOperationException::new);
  }

  /**
   * Queues a plan that was made elsewhere; returns before the transpose is done. Does what {@link
   * #enqueue(TransposeProblem, DeviceBuffer, long, DeviceBuffer, long, CudaStream)} does, but does
   * not check the plan: the plan's launch must solve its problem at the alignment of the offsets.
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

  /**
   * One of several transposes between two buffers.
   *
   * @param problem the transpose
   * @param inOffset first byte of its input in the input buffer, a multiple of the element's width
   * @param outOffset first byte of its output in the output buffer, a multiple of the element's
   *     width
   */
  public record Part(TransposeProblem problem, long inOffset, long outOffset) {}

  /**
   * Queues several transposes, of any sizes, in as few launches as possible; returns before the
   * transposes are done.
   *
   * @param parts the transposes; no output may overlap an input or another output
   * @param in buffer of all inputs, borrowed until the work is done
   * @param out buffer of all outputs, borrowed until the work is done
   * @param stream stream on which the transposes are queued
   * @throws IllegalArgumentException if an offset is no multiple of the width, or an input overlaps
   *     its output
   * @throws IndexOutOfBoundsException if a range does not fit its buffer
   * @throws UnsupportedOperationException if the planner has no kernel for a problem
   */
  public void enqueueAll(List<Part> parts, DeviceBuffer in, DeviceBuffer out, CudaStream stream) {
    if (parts.size() == 1) {
      Part part = parts.get(0);
      enqueue(part.problem(), in, part.inOffset(), out, part.outOffset(), stream);
      return;
    }
    List<OffsetPlan> offsetPlans = new ArrayList<>();
    for (Part part : parts) {
      check(part.problem(), in, part.inOffset(), out, part.outOffset());
      if (part.problem().bytes() > 0) {
        long inStart = part.inOffset() + part.problem().inStartBytes();
        offsetPlans.add(
            new OffsetPlan(
                plan(part.problem(), alignment(inStart, part.outOffset()))
                    .orElseThrow(UnsupportedOperationException::new),
                inStart,
                part.outOffset()));
      }
    }
    device.enter();
    KernelModule kernels = device.kernels();
    for (MixedLaunch.OffsetLaunch each : MixedLaunch.of(offsetPlans, device.ownKernels())) {
      if (each.launch().isPresent()) {
        kernels.launch(
            each.launch().get(),
            in.address(device, each.inOffset(), 0),
            out.address(device, each.outOffset(), 0),
            stream);
      } else {
        stream.copy(in, each.inOffset(), out, each.outOffset(), each.bytes());
      }
    }
  }

  /**
   * The alignment of input and output in bytes. Buffers begin at multiples of 256, so only the
   * offsets limit it.
   */
  private static int alignment(long inOffset, long outOffset) {
    return (int) Long.lowestOneBit(inOffset | outOffset | TransposePlanner.MAX_ALIGNMENT);
  }

  private void check(
      TransposeProblem problem, DeviceBuffer in, long inOffset, DeviceBuffer out, long outOffset) {
    long inBytes = problem.inBytes();
    long outBytes = problem.outBytes();
    long source = in.address(device, inOffset, inBytes);
    long target = out.address(device, outOffset, outBytes);
    if ((inOffset | outOffset) % problem.elementBytes() != 0) {
      throw new IllegalArgumentException(
          "Offsets %s and %s; expected multiples of the width %s"
              .formatted(inOffset, outOffset, problem.elementBytes()));
    }
    if (source < target + outBytes && target < source + inBytes) {
      throw new IllegalArgumentException(
          "Input and output overlap: %s%s bytes at offsets %s and %s of one buffer"
              .formatted(
                  inBytes == outBytes ? "" : inBytes + " and ", outBytes, inOffset, outOffset));
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
      device
          .kernels()
          .launch(plan.launch().get(), source + plan.problem().inStartBytes(), target, stream);
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
   * @throws DeviceOutOfMemoryException if that memory is not free
   */
  @Override
  public void transpose(TransposeProblem problem, HostMemory in, HostMemory out) {
    problem.requireBytes(in.bytes(), out.bytes());
    if (problem.bytes() == 0) {
      return;
    }
    boolean staged = !in.isOffHeap() || !out.isOffHeap();
    long stagingBytes = staged ? Math.min(STAGING_BYTES, Math.max(in.bytes(), out.bytes())) : 0;
    // The stream is closed, which waits for its work, before the host memory that it copies from is
    // freed.
    try (PinnedBuffer first = staging.take(stagingBytes);
        PinnedBuffer second = staging.take(stagingBytes);
        CudaStream stream = device.newStream();
        DeviceBuffer source = device.allocate(in.bytes(), stream);
        DeviceBuffer target = device.allocate(out.bytes(), stream)) {
      PinnedBuffer[] buffers = {first, second};
      RowTransfer.whole(in.bytes()).upload(in, source, stream, buffers);
      if (out.bytes() > problem.bytes()) { // so that the output's gaps come back unchanged
        RowTransfer.whole(out.bytes()).upload(out, target, stream, buffers);
      }
      enqueue(problem, source, 0, target, 0, stream);
      RowTransfer.whole(out.bytes()).download(target, out, stream, buffers);
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
