package org.tilespark.arrow.panels;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.function.Consumer;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.memory.HostMemory;

class HostPanelMultiplierTest extends PanelMultiplierContract {
  @Override
  void withMultiplier(Consumer<PanelMultiplier> body) {
    try (NativeMemorySource source = new NativeMemorySource(1 << 20);
        ArrowMemory memory = new ArrowMemory(source);
        HostMultiplier host = new HostMultiplier();
        BufferAllocator allocator = memory.newChild("test")) {
      try (PanelMultiplier multiplier =
          new HostPanelMultiplier(host, allocator, PipelineListener.NONE)) {
        body.accept(multiplier);
      }
      assertEquals(0, allocator.getAllocatedMemory());
    }
  }

  @Override
  PinnedOrNot room(long bytes, boolean pinned) {
    return new PinnedOrNot(HostMemory.ofArray(new byte[(int) bytes]), () -> {});
  }
}
