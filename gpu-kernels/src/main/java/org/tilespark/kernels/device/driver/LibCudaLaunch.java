package org.tilespark.kernels.device.driver;

import com.sun.jna.Native;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * The driver call that launches a kernel with attributes, bound with JNA; separate from {@link
 * LibCuda} since drivers before CUDA 11.8 lack it. There, initialising this class throws {@link
 * UnsatisfiedLinkError}; kernels that are launched early do not load there either.
 */
public final class LibCudaLaunch {
  /** Bytes of a {@code CUlaunchConfig} and of the {@code CUlaunchAttribute} that follows it. */
  public static final int CONFIG_BYTES = 56 + 72;

  private static final int STREAM = 32;
  private static final int ATTRIBUTES = 40;
  private static final int ATTRIBUTE_COUNT = 48;
  private static final int ATTRIBUTE = 56;
  private static final int ATTRIBUTE_VALUE = ATTRIBUTE + 8;

  /**
   * Attribute of a launch that need not wait for the end of the previous one: the kernel waits
   * itself.
   */
  private static final int CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6;

  private static final Unsafe UNSAFE = HostMemory.unsafe();

  static {
    Native.register(LibCudaLaunch.class, "libcuda.so.1");
  }

  private LibCudaLaunch() {}

  /**
   * Queues a launch that may begin before the previous one on the stream ends.
   *
   * @param memory {@link #CONFIG_BYTES} of host memory, at a multiple of 8, written here
   * @param function handle of a kernel that waits itself ({@code griddepcontrol.wait})
   * @param arguments address of the {@code kernelParams} of {@code cuLaunchKernel}
   * @return the driver's code
   */
  public static int launchEarly(
      long memory, long function, LaunchConfig config, long stream, long arguments) {
    UNSAFE.setMemory(memory, CONFIG_BYTES, (byte) 0);
    int[] shape = {config.blocks(), 1, 1, config.threads(), 1, 1, config.sharedBytes()};
    for (int i = 0; i < shape.length; i++) {
      UNSAFE.putInt(memory + (long) i * Integer.BYTES, shape[i]);
    }
    UNSAFE.putAddress(memory + STREAM, stream);
    UNSAFE.putAddress(memory + ATTRIBUTES, memory + ATTRIBUTE);
    UNSAFE.putInt(memory + ATTRIBUTE_COUNT, 1);
    UNSAFE.putInt(memory + ATTRIBUTE, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    UNSAFE.putInt(memory + ATTRIBUTE_VALUE, 1);
    return cuLaunchKernelEx(memory, function, arguments, 0);
  }

  private static native int cuLaunchKernelEx(
      long config, long function, long arguments, long extra);
}
