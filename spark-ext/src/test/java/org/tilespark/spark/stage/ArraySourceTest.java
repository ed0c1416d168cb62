package org.tilespark.spark.stage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.arrow.blocks.BlockProgram;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.memory.NativeMemorySource;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Box;

class ArraySourceTest {
  /** Real parts of some lengths. */
  private static final class Parts extends ArraySource {
    private final int[] lengths;

    Parts(BufferAllocator allocator, int... lengths) {
      super(allocator);
      this.lengths = lengths;
    }

    @Override
    boolean next() {
      throw new UnsupportedOperationException();
    }

    @Override
    Box box() {
      throw new UnsupportedOperationException();
    }

    @Override
    InternalRow row() {
      throw new UnsupportedOperationException();
    }

    @Override
    void walk(Taker parts) {
      for (int length : lengths) {
        Box all = Box.at(new long[] {0}, new long[] {length});
        parts.take(all, all, List.of(new Plane(HostMemory.ofArray(new float[length]))));
      }
    }
  }

  /** Keeps a copy of the imaginary parts that are put. */
  private static final class Imaginary implements BlockPipeline {
    private final List<float[]> put = new ArrayList<>();

    @Override
    public boolean isFull() {
      return false;
    }

    @Override
    public int inFlight() {
      return 0;
    }

    @Override
    public void begin(BlockProgram chain) {}

    @Override
    public void put(int input, Part part, List<Plane> planes) {
      assertEquals(2, planes.size());
      float[] values = new float[Math.toIntExact(planes.get(1).values().bytes() / Float.BYTES)];
      planes.get(1).values().copyTo(HostMemory.ofArray(values));
      put.add(values);
    }

    @Override
    public void putWhole(int input, List<Plane> planes) {
      put(null, planes);
    }

    @Override
    public void run(List<Part> outputs, Rooms rooms) {}

    @Override
    public List<ArrowBuf> take() {
      return List.of();
    }

    @Override
    public void close() {}
  }

  /** Memory as others leave it. */
  private record Dirty(HostMemorySource source) implements HostMemorySource {
    @Override
    public Allocation allocate(long bytes) {
      Allocation allocation = source.allocate(bytes);
      HostMemory.ofAddress(allocation.address(), bytes).fill((byte) 0xff);
      return allocation;
    }

    @Override
    public boolean isPinned() {
      return false;
    }
  }

  /** Buffers are larger than asked for: 8 elements fit in the one that 5 were put from. */
  @Test
  void realValuesHaveImaginaryPartsOfZero() {
    try (NativeMemorySource source = new NativeMemorySource(0);
        ArrowMemory memory = new ArrowMemory(new Dirty(source));
        var allocator = memory.newChild("test");
        Parts parts = new Parts(allocator, 5, 8, 3, 9, 1000, 1024, 1025)) {
      Imaginary pipeline = new Imaginary();
      parts.put(pipeline, 0, true);
      assertEquals(7, pipeline.put.size());
      for (float[] values : pipeline.put) {
        assertArrayEquals(new float[values.length], values, values.length + " elements");
      }
    }
  }
}
