package org.tilespark.spark;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.SparkEnv;
import org.tilespark.arrow.ArrowMemory;
import org.tilespark.arrow.NativeMemorySource;

/** What one executor owns. (First form: host memory only.) */
public final class ExecutorRuntime implements AutoCloseable {
  private static final Object LOCK = new Object();
  private static ExecutorRuntime current;

  private final SparkEnv env;
  private final ArrowMemory memory = new ArrowMemory(new NativeMemorySource());

  private ExecutorRuntime(SparkEnv env) {
    this.env = env;
  }

  /** The runtime of the executor this thread runs in; made at first use. */
  public static ExecutorRuntime current() {
    synchronized (LOCK) {
      SparkEnv env = SparkEnv.get();
      if (current == null || current.env != env) {
        current = new ExecutorRuntime(env);
      }
      return current;
    }
  }

  /** The executor's Arrow memory; take a child per task. */
  public ArrowMemory memory() {
    return memory;
  }

  /** The root of the executor's Arrow memory. */
  public BufferAllocator allocator() {
    return memory.root();
  }

  /** A pipeline for one task. */
  public org.tilespark.arrow.PermutePipeline openPermutePipeline(
      org.tilespark.spark.planner.Backend backend,
      org.apache.spark.TaskContext task,
      BufferAllocator taskAllocator,
      org.tilespark.arrow.PipelineListener onHost,
      org.tilespark.arrow.PipelineListener onDevice) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {
    memory.close();
  }
}
