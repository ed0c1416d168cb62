package org.tilespark.kernels.device.driver;

import jcuda.driver.CUstream;

/** A stream in JCuda's terms, readable as a number for what is bound with JNA. */
public final class StreamHandle extends CUstream {
  public long address() {
    return getNativePointer();
  }
}
