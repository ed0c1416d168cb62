package org.tilespark.kernels.device;

import org.tilespark.kernels.device.driver.HostPointer;
import org.tilespark.kernels.device.driver.LibCudaLaunch;
import org.tilespark.kernels.device.driver.LibCudaTensor;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Native memory for the arguments of one launch: room for the configuration of {@link
 * LibCudaLaunch}, the address of the struct, then the struct, aligned as tensor maps require.
 * Outside the heap, so that no launch delays garbage collection. One launch at a time may use it;
 * the driver copies the struct before {@code cuLaunchKernel} returns.
 */
final class LaunchArea {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /**
   * Bytes of the area, with a gap before the struct for its alignment. The driver copies whole
   * multiples of that alignment.
   */
  private static final int BYTES =
      LibCudaLaunch.CONFIG_BYTES
          + Long.BYTES
          + KernelLaunch.MOST_STRUCT_BYTES
          + 2 * LibCudaTensor.ALIGNMENT;

  private final long memory;
  private final long argumentsAddress;
  private final long struct;
  private final HostPointer arguments;

  /** Allocates the area, which the caller frees. */
  LaunchArea() {
    memory = UNSAFE.allocateMemory(BYTES);
    argumentsAddress = memory + LibCudaLaunch.CONFIG_BYTES;
    long after = argumentsAddress + Long.BYTES;
    struct = after + (-after & (LibCudaTensor.ALIGNMENT - 1));
    UNSAFE.putAddress(argumentsAddress, struct);
    arguments = new HostPointer(argumentsAddress);
  }

  /** The address of the {@link LibCudaLaunch#CONFIG_BYTES} bytes for the configuration. */
  long config() {
    return memory;
  }

  /** The address where a launch's struct is written. */
  long struct() {
    return struct;
  }

  /** The kernel arguments for {@code cuLaunchKernel}: an array with the struct's address. */
  HostPointer arguments() {
    return arguments;
  }

  /** The address of the array that {@link #arguments} gives. */
  long argumentsAddress() {
    return argumentsAddress;
  }

  void free() {
    UNSAFE.freeMemory(memory);
  }
}
