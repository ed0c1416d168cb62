package org.tilespark.arrow.blocks;

import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.pipeline.PipelineListener;

/** The executing side of a test class's pipelines, host or device. */
interface Twin extends AutoCloseable {
  /** The memory of buffers. */
  ArrowMemory memory();

  /** A pipeline; the test closes it. */
  BlockPipeline open(BufferAllocator allocator, PipelineListener listener);

  /** Fails if memory is held between tests. */
  default void requireNothingHeld() {}

  @Override
  void close();
}
