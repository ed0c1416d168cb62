package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.HostMemorySource;
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

  /** Memory that is given back, and then fails. */
  private static final class FailingFrees implements HostMemorySource {
    final List<RuntimeException> failures = new ArrayList<>();
    private final HostMemorySource source = new NativeMemorySource(0);

    @Override
    public Allocation allocate(long bytes) {
      Allocation allocation = source.allocate(bytes);
      return new Allocation() {
        @Override
        public long address() {
          return allocation.address();
        }

        @Override
        public void free() {
          allocation.free();
          failures.add(new IllegalStateException("on purpose"));
          throw failures.get(failures.size() - 1);
        }
      };
    }

    @Override
    public boolean isPinned() {
      return false;
    }
  }

  @Test
  void buffersThatCannotBeClosedDoNotKeepTheOthers() {
    FailingFrees source = new FailingFrees();
    try (ArrowMemory memory = new ArrowMemory(source);
        BufferAllocator allocator = memory.newChild("test")) {
      PermutePipeline pipeline = open(allocator, PipelineListener.NONE);
      pipeline.begin(2, 64);
      pipeline.submit();
      pipeline.begin(2, 64);
      Throwable thrown = assertThrows(IllegalStateException.class, pipeline::close);
      assertEquals(4, source.failures.size());
      assertSame(source.failures.get(0), thrown);
      assertEquals(source.failures.subList(1, 4), List.of(thrown.getSuppressed()));
      assertEquals(0, memory.allocatedBytes());
      pipeline.close();
      assertEquals(4, source.failures.size(), "closed twice");
    }
  }
}
