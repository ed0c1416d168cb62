package org.tilespark.spark.runtime;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.TaskContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.arrow.memory.MemoryGovernor;
import org.tilespark.arrow.memory.MemoryGovernor.Grant;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.DeviceFactorizer;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.LargeFactorizer;
import org.tilespark.kernels.factor.RefusedException;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.spark.conf.Backend;

/**
 * The factorizers of an executor's tasks: large matrices use the task's device if it has one with
 * cuSOLVER; other matrices, and those that the device refuses, use the CPU. A device is opened for
 * the first large matrix. Thread-safe.
 */
final class TaskFactorizers {
  private static final Logger LOG = LoggerFactory.getLogger(TaskFactorizers.class);

  private final ExecutorRuntime runtime;
  private final DeviceRegistry devices;
  private final AtomicBoolean saidWhyNone = new AtomicBoolean();
  private final AtomicBoolean saidWhyRefused = new AtomicBoolean();

  /** Factorizers that use a runtime and its devices, both borrowed. */
  TaskFactorizers(ExecutorRuntime runtime, DeviceRegistry devices) {
    this.runtime = runtime;
    this.devices = devices;
  }

  /**
   * The factorizer of a task; it need not be closed.
   *
   * @param backend {@link Backend#GPU} acts like {@link Backend#AUTO} here, since small matrices
   *     use the CPU anyway
   * @param task the task; null outside one, where the CPU is used
   */
  Factorizer of(Backend backend, TaskContext task) {
    Factorizer host = runtime.hostFactorizer();
    return backend == Backend.CPU || task == null
        ? host
        : new LargeFactorizer(host, DeviceFactorizer.LEAST_SIDE, () -> onDevice(task), this::tell);
  }

  private Optional<DeviceFactorizer> onDevice(TaskContext task) {
    try {
      Optional<Gpu> gpu = runtime.gpu(Backend.AUTO, task);
      if (gpu.isEmpty()) {
        return Optional.empty(); // the device registry has logged the reason
      }
      Availability<DeviceFactorizer> found = devices.factorizer(gpu.get());
      if (!found.isPresent() && saidWhyNone.compareAndSet(false, true)) {
        LOG.info("Factorisations do without the GPU: {}", found.whyNot());
      }
      return found
          .thing()
          .map(each -> each.within((bytes, work) -> use(gpu.get(), task, bytes, work)));
    } catch (ResourceException e) {
      tell(new RefusedException(e));
      return Optional.empty();
    }
  }

  /**
   * Runs work in the task's turn on its device, with {@code bytes} of the memory that tasks share.
   */
  private void use(Gpu gpu, TaskContext task, long bytes, Runnable work) {
    MemoryGovernor governor = gpu.governor();
    if (bytes > governor.limitBytes()) {
      throw new ResourceException(
          "It needs %s bytes of device memory; tasks may hold %s together"
              .formatted(bytes, governor.limitBytes()));
    }
    GpuTurns turns = runtime.turns();
    turns.take(task);
    try (Grant<AutoCloseable> ignored =
        governor.acquire(
            bytes,
            bytes,
            size -> () -> {}, // no buffer here: the factorizer allocates several
            turns.of(task)::settle,
            runtime.pipelineTotals(Optional.of(gpu)))) {
      work.run();
    } finally {
      turns.pass(task); // the next matrix may take long to come
    }
  }

  /** Logs a refusal once, since its reason is probably the same for other matrices. */
  private void tell(RefusedException refusal) {
    if (saidWhyRefused.compareAndSet(false, true)) {
      LOG.warn(
          "The CPU factorises what the GPU cannot (said once): {}", refusal.getMessage(), refusal);
    } else {
      LOG.debug("The CPU factorises what the GPU cannot: {}", refusal.getMessage());
    }
  }
}
