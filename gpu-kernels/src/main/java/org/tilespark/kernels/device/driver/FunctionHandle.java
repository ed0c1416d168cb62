package org.tilespark.kernels.device.driver;

import jcuda.driver.CUfunction;

/** A kernel in JCuda's terms, whose address JNA bindings can read. */
public final class FunctionHandle extends CUfunction {
  private final boolean early;

  /**
   * An empty handle that the driver fills in; {@code early} is true if the kernel waits itself for
   * earlier launches.
   */
  public FunctionHandle(boolean early) {
    this.early = early;
  }

  public boolean early() {
    return early;
  }

  public long address() {
    return getNativePointer();
  }
}
