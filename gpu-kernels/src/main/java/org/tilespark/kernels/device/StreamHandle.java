package org.tilespark.kernels.device;

import jcuda.driver.CUstream;

/** A stream in JCuda's terms, readable as a number for what is bound with JNA. */
final class StreamHandle extends CUstream {
  long address() {
    return getNativePointer();
  }
}
