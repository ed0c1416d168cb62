package org.tilespark.arrow.blocks;

import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.host.HostTransposer;

class HostBlockPipelineTest extends BlockPipelineContract {
  private static NativeMemorySource source;
  private static ArrowMemory memory;
  private static HostTransposer transposer;

  @BeforeAll
  static void openMemory() {
    source = new NativeMemorySource(1 << 20);
    memory = new ArrowMemory(source);
    transposer = new HostTransposer();
  }

  @AfterAll
  static void closeMemory() {
    transposer.close();
    memory.close();
    source.close();
  }

  @Override
  ArrowMemory memory() {
    return memory;
  }

  @Override
  BlockPipeline open(BufferAllocator allocator, PipelineListener listener) {
    return new HostBlockPipeline(transposer, allocator, listener);
  }
}
