package org.tilespark.kernels.device;

import org.tilespark.kernels.HostMemory;
import org.tilespark.kernels.plan.KernelLaunch;
import sun.misc.Unsafe;

/**
 * Native memory for the arguments of one launch: the address of the struct, then the struct, which
 * begins as tensor maps must. Off the heap, so that no launch holds up garbage collection. One
 * launch at a time may use it; the driver copies the struct before {@code cuLaunchKernel} returns.
 */
final class LaunchArea {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /** With a gap before the struct, of which the driver copies whole multiples of its alignment. */
  private static final int BYTES =
      Long.BYTES + KernelLaunch.MOST_STRUCT_BYTES + 2 * LibCudaTensor.ALIGNMENT;

  private final long memory;
  private final long struct;
  private final HostPointer arguments;

  /** The caller frees it. */
  LaunchArea() {
    memory = UNSAFE.allocateMemory(BYTES);
    long after = memory + Long.BYTES;
    struct = after + (-after & (LibCudaTensor.ALIGNMENT - 1));
    UNSAFE.putAddress(memory, struct);
    arguments = new HostPointer(memory);
  }

  /** Where a launch's struct goes. */
  long struct() {
    return struct;
  }

  /** What {@code cuLaunchKernel} is given. */
  HostPointer arguments() {
    return arguments;
  }

  void free() {
    UNSAFE.freeMemory(memory);
  }
}
