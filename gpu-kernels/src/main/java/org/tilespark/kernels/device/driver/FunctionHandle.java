package org.tilespark.kernels.device.driver;

import jcuda.driver.CUfunction;

/** A kernel in JCuda's terms, readable as a number for what is bound with JNA. */
public final class FunctionHandle extends CUfunction {
  private final boolean early;

  /**
   * Empty, for the driver to fill in; {@code early}: it waits itself for the launches before it.
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
