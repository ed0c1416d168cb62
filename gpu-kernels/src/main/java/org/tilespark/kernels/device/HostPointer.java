package org.tilespark.kernels.device;

import jcuda.Pointer;

/** A host address in JCuda's terms; JCuda itself makes pointers from arrays and buffers only. */
final class HostPointer extends Pointer {
  HostPointer(long address) {
    super(address);
  }
}
