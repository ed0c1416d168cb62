package org.tilespark.kernels.device;

import org.tilespark.kernels.ResourceException;

/** This process cannot use a CUDA device; the message says why and what helps. */
public final class CudaUnavailableException extends ResourceException {
  CudaUnavailableException(String reason) {
    super(reason);
  }
}
