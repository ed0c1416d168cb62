package org.tilespark.kernels.device;

import jcuda.driver.CUfunction;

/** A kernel in JCuda's terms, readable as a number for what is bound with JNA. */
final class FunctionHandle extends CUfunction {
  private final boolean early;

  /**
   * Empty, for the driver to fill in; {@code early}: it waits itself for the launches before it.
   */
  FunctionHandle(boolean early) {
    this.early = early;
  }

  boolean early() {
    return early;
  }

  long address() {
    return getNativePointer();
  }
}
