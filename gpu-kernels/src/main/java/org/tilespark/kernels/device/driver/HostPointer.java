package org.tilespark.kernels.device.driver;

import jcuda.Pointer;

/** A host address in JCuda's terms; JCuda itself makes pointers from arrays and buffers only. */
public final class HostPointer extends Pointer {
  public HostPointer(long address) {
    super(address);
  }
}
