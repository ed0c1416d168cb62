package org.tilespark.arrow.memory;

import org.tilespark.kernels.ResourceException;

/** Host memory ran out: a lack of resources, so the same work may succeed elsewhere or later. */
public final class OutOfHostMemoryException extends ResourceException {
  OutOfHostMemoryException(String message) {
    super(message);
  }
}
