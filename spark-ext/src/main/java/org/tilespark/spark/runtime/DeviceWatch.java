package org.tilespark.spark.runtime;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Consumer;
import org.tilespark.kernels.device.CudaFailure;

/**
 * What a task hands out, watched: tells the executor when the device is lost.
 *
 * @param results of the task
 * @param handedOut is called with each result before it leaves
 */
record DeviceWatch<T>(Iterator<T> results, ExecutorRuntime runtime, Consumer<T> handedOut)
    implements Iterator<T> {
  @Override
  public boolean hasNext() {
    try {
      return results.hasNext();
    } catch (CudaFailure e) {
      throw noticed(e);
    }
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    try {
      T result = results.next();
      handedOut.accept(result);
      return result;
    } catch (CudaFailure e) {
      throw noticed(e);
    }
  }

  private CudaFailure noticed(CudaFailure failure) {
    if (failure.isSticky()) {
      runtime.deviceLost(failure);
    }
    return failure;
  }
}
