package org.tilespark.kernels.device.driver;

import jcuda.driver.CUstream;

/** A stream in JCuda's terms, whose address JNA bindings can read. */
public final class StreamHandle extends CUstream {
  public long address() {
    return getNativePointer();
  }
}
