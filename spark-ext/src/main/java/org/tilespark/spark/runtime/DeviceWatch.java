package org.tilespark.spark.runtime;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.tilespark.kernels.device.CudaFailure;

/**
 * The results of a task, watched for a lost device, which is reported to the executor.
 *
 * @param results results of the task
 * @param handedOut called with each result before it is given out
 */
record DeviceWatch<T>(Iterator<T> results, ExecutorRuntime runtime, Consumer<T> handedOut)
    implements Iterator<T> {
  @Override
  public boolean hasNext() {
    return during(results::hasNext, runtime);
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return during(
        () -> {
          T result = results.next();
          handedOut.accept(result);
          return result;
        },
        runtime);
  }

  /** The result of {@code work}, which is watched for a lost device in the same way. */
  static <R> R during(Supplier<R> work, ExecutorRuntime runtime) {
    try {
      return work.get();
    } catch (CudaFailure e) {
      if (e.isSticky()) {
        runtime.deviceLost(e);
      }
      throw e;
    }
  }
}
