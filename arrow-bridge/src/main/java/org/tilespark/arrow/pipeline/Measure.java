package org.tilespark.arrow.pipeline;

import java.util.function.LongBinaryOperator;

/**
 * A figure about the work of tasks on a device or on the CPU. Times are in nanoseconds; {@link
 * PipelineListener} says what each of them means.
 */
public enum Measure {
  /** Blocks handed to the next operator. */
  BLOCKS("blocks"),
  /** Batches in which these blocks came. */
  BATCHES("batches"),
  /** Bytes copied to the device. */
  BYTES_UP("bytesUp"),
  /** Bytes copied from the device. */
  BYTES_DOWN("bytesDown"),
  /** Bytes that the CPU copied to or from pinned memory for the device. */
  STAGED("stagedBytes"),
  /** Device time of copies to the device. */
  COPY_UP("copyUpNanos"),
  /** Device time of kernels; without a device, the time in which tasks computed on the CPU. */
  KERNEL("kernelNanos"),
  /** Device time of copies from the device. */
  COPY_DOWN("copyDownNanos"),
  /** Tasks' time waiting for their turn on the device. */
  TURN("turnNanos"),
  /** Tasks' time waiting for device memory. */
  MEMORY("memoryNanos"),
  /** Tasks' time waiting for the device's results. */
  RESULT("resultNanos"),
  /** Requests for device memory that were repeated. */
  RETRIES("retries"),
  /** Batches that were cut for want of device memory. */
  SPLITS("splits"),
  /** Most device memory held at once by all tasks; the peaks of several devices are added up. */
  PEAK_DEVICE("peakDeviceBytes"),
  /** Most pinned memory held at once by all tasks, on all devices. */
  PEAK_PINNED("peakPinnedBytes");

  private final String key;

  Measure(String key) {
    this.key = key;
  }

  /** True if several values of a device are combined by their maximum, not by their sum. */
  public boolean isPeak() {
    return this == PEAK_DEVICE || this == PEAK_PINNED;
  }

  /** Function that combines two values of the same device. */
  public LongBinaryOperator overTime() {
    return isPeak() ? Math::max : Long::sum;
  }

  /** Function that combines the values of two devices. */
  public LongBinaryOperator overDevices() {
    return this == PEAK_PINNED ? Math::max : Long::sum;
  }

  /** The measure's key in JSON. */
  @Override
  public String toString() {
    return key;
  }
}
