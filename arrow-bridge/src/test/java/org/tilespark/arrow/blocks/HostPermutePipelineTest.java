package org.tilespark.arrow.blocks;

import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.host.HostTransposer;

@Tag("versions")
class HostPermutePipelineTest extends PermutePipelineContract {
  private static final ArrowMemory MEMORY = new ArrowMemory(new NativeMemorySource(1 << 20));

  @AfterAll
  static void close() {
    MEMORY.close();
  }

  @Override
  ArrowMemory memory() {
    return MEMORY;
  }

  @Override
  PermutePipeline open(BufferAllocator allocator, PipelineListener listener) {
    return new HostPermutePipeline(new HostTransposer(), allocator, listener);
  }
}
