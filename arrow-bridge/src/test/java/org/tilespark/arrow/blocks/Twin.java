package org.tilespark.arrow.blocks;

import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.pipeline.PipelineListener;

/** What the pipelines of a test class run on. */
interface Twin extends AutoCloseable {
  /** Where buffers come from. */
  ArrowMemory memory();

  /** A pipeline; the test closes it. */
  BlockPipeline open(BufferAllocator allocator, PipelineListener listener);

  /** Fails if memory is held between tests. */
  default void requireNothingHeld() {}

  @Override
  void close();
}
