package org.tilespark.kernels.device.driver;

import com.sun.jna.Native;
import com.sun.jna.Platform;

/**
 * The environment variables of this process that the CUDA driver reads when it is initialised. Java
 * cannot change the process's environment, only read a copy, so this calls the C library.
 */
final class DriverEnvironment {
  /**
   * Variable for the number of hardware queues that streams are mapped to. With the driver's 8, a
   * stream that waits for its kernels holds up copies of other tasks that share its queue: 16 tasks
   * have about 100 streams.
   */
  static final String QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS";

  /** The largest number of queues that the driver accepts. */
  private static final String MOST_QUEUES = "32";

  static {
    Native.register(DriverEnvironment.class, Platform.C_LIBRARY_NAME);
  }

  private DriverEnvironment() {}

  /**
   * Sets each variable that the user has not set. To be called before the driver is initialised.
   *
   * @throws UnsatisfiedLinkError if JNA cannot be loaded
   */
  static void complete() {
    int overwrite = 0;
    if (setenv(QUEUES, MOST_QUEUES, overwrite) != 0) {
      throw new UnsatisfiedLinkError(
          "setenv of " + QUEUES + " failed with errno " + Native.getLastError());
    }
  }

  private static native int setenv(String name, String value, int overwrite);

  /** The value of a variable that the driver will find; null if the variable is not set. */
  static native String getenv(String name);
}
