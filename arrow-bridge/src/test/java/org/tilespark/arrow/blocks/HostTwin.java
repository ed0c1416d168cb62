package org.tilespark.arrow.blocks;

import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.host.HostTransposer;

/** The CPU. */
final class HostTwin implements Twin {
  private final NativeMemorySource source = new NativeMemorySource(1 << 20);
  private final ArrowMemory memory = new ArrowMemory(source);
  private final HostTransposer transposer = new HostTransposer();

  @Override
  public ArrowMemory memory() {
    return memory;
  }

  @Override
  public BlockPipeline open(BufferAllocator allocator, PipelineListener listener) {
    return new HostBlockPipeline(transposer, allocator, listener);
  }

  @Override
  public void close() {
    transposer.close();
    memory.close();
    source.close();
  }
}
