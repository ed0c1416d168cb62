package org.tilespark.spark.runtime;

import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import org.tilespark.arrow.pipeline.PipelineListener;

/**
 * What all tasks of an executor did on one device, or on the CPU, since the executor started;
 * {@link ExecutorRuntime#pipelineTotals} gives the one that they report to. Safe for several
 * threads.
 */
public final class PipelineTotals implements PipelineListener {
  private final LongAdder blocks = new LongAdder();
  private final LongAdder batches = new LongAdder();
  private final LongAdder bytesUp = new LongAdder();
  private final LongAdder bytesDown = new LongAdder();
  private final LongAdder copyUpNanos = new LongAdder();
  private final LongAdder kernelNanos = new LongAdder();
  private final LongAdder copyDownNanos = new LongAdder();
  private final LongAdder turnNanos = new LongAdder();
  private final LongAdder memoryNanos = new LongAdder();
  private final LongAdder resultNanos = new LongAdder();
  private final LongAdder retries = new LongAdder();
  private final LongAdder splits = new LongAdder();
  private final LongAccumulator peakDeviceBytes = new LongAccumulator(Math::max, 0);
  private final LongAccumulator peakPinnedBytes = new LongAccumulator(Math::max, 0);

  /**
   * The totals at one time; see {@link PipelineListener} for what the times mean.
   *
   * @param blocks blocks handed to the next operator
   * @param batches batches they came in
   * @param bytesUp copied to the device
   * @param bytesDown copied from the device
   * @param copyUpNanos device time of copies up
   * @param kernelNanos device time of kernels; on the CPU, the time tasks computed
   * @param copyDownNanos device time of copies down
   * @param turnNanos tasks' time waiting for a turn
   * @param memoryNanos tasks' time waiting for device memory
   * @param resultNanos tasks' time waiting for results
   * @param retries requests for device memory that were repeated
   * @param splits batches that were cut for want of device memory
   * @param peakDeviceBytes most memory of the device held at once by all tasks
   * @param peakPinnedBytes most pinned memory held at once by all tasks
   */
  public record Snapshot(
      long blocks,
      long batches,
      long bytesUp,
      long bytesDown,
      long copyUpNanos,
      long kernelNanos,
      long copyDownNanos,
      long turnNanos,
      long memoryNanos,
      long resultNanos,
      long retries,
      long splits,
      long peakDeviceBytes,
      long peakPinnedBytes)
      implements java.io.Serializable {
    /** Of nothing. */
    public static final Snapshot ZERO = new PipelineTotals().snapshot();

    /** Of this and another device together; a peak of pinned memory is the larger of the two. */
    public Snapshot plus(Snapshot other) {
      return new Snapshot(
          blocks + other.blocks,
          batches + other.batches,
          bytesUp + other.bytesUp,
          bytesDown + other.bytesDown,
          copyUpNanos + other.copyUpNanos,
          kernelNanos + other.kernelNanos,
          copyDownNanos + other.copyDownNanos,
          turnNanos + other.turnNanos,
          memoryNanos + other.memoryNanos,
          resultNanos + other.resultNanos,
          retries + other.retries,
          splits + other.splits,
          peakDeviceBytes + other.peakDeviceBytes,
          Math.max(peakPinnedBytes, other.peakPinnedBytes));
    }
  }

  /** The totals now. */
  public Snapshot snapshot() {
    return new Snapshot(
        blocks.sum(),
        batches.sum(),
        bytesUp.sum(),
        bytesDown.sum(),
        copyUpNanos.sum(),
        kernelNanos.sum(),
        copyDownNanos.sum(),
        turnNanos.sum(),
        memoryNanos.sum(),
        resultNanos.sum(),
        retries.sum(),
        splits.sum(),
        peakDeviceBytes.get(),
        peakPinnedBytes.get());
  }

  /** A batch of so many blocks went to the next operator. */
  public void handedOut(int blockCount) {
    batches.increment();
    blocks.add(blockCount);
  }

  @Override
  public void moved(long up, long down) {
    bytesUp.add(up);
    bytesDown.add(down);
  }

  @Override
  public void copiedUp(long nanos) {
    copyUpNanos.add(nanos);
  }

  @Override
  public void computed(long nanos) {
    kernelNanos.add(nanos);
  }

  @Override
  public void copiedDown(long nanos) {
    copyDownNanos.add(nanos);
  }

  @Override
  public void waitedForTurn(long nanos) {
    turnNanos.add(nanos);
  }

  @Override
  public void waitedForMemory(long nanos) {
    memoryNanos.add(nanos);
  }

  @Override
  public void waitedForResults(long nanos) {
    resultNanos.add(nanos);
  }

  @Override
  public void held(long deviceBytes, long pinnedBytes) {
    peakDeviceBytes.accumulate(deviceBytes);
    peakPinnedBytes.accumulate(pinnedBytes);
  }

  @Override
  public void retried() {
    retries.increment();
  }

  @Override
  public void split() {
    splits.increment();
  }
}
