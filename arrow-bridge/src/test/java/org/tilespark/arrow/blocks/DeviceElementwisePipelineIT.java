package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

@RequiresGpu
class DeviceElementwisePipelineIT extends ElementwisePipelineContract {
  @Override
  Twin openTwin() {
    return DeviceTwin.plentiful();
  }

  /** Bytes that go up and down, and how often. */
  private static final class Moved implements PipelineListener {
    long times;
    long up;
    long down;

    @Override
    public void moved(long bytesUp, long bytesDown) {
      times++;
      up += bytesUp;
      down += bytesDown;
    }
  }

  @Test
  void eachInputGoesUpOnceAndTheResultComesDownOnce() {
    BlockProgram program = chain(Shape.of(64, 80, 96));
    Moved moved = new Moved();
    try (BlockPipeline heard = twin().open(allocator, moved)) {
      heard.begin(program);
      long bytes = 0;
      for (int i = 0; i < 2; i++) {
        State input = program.inputs().get(i);
        bytes += input.bytes();
        try (ArrowBuf buffer = allocator.buffer(input.bytes())) {
          buffer.setZero(0, input.bytes());
          HostMemory values = HostMemory.ofAddress(buffer.memoryAddress(), input.bytes());
          heard.putWhole(i, List.of(new Plane(values, Optional.of(buffer))));
        }
      }
      heard.run(List.of(Part.whole(program.output().shape())));
      heard.take().forEach(ArrowBuf::close);
      assertEquals(bytes, moved.up);
      assertEquals(program.output().bytes(), moved.down);
      assertEquals(1, moved.times);
    }
  }

  /** They share uploads, launches and downloads. */
  @Test
  void smallArraysThatAreComputedShareTrips() {
    int count = 2000;
    Shape shape = Shape.of(8, 8);
    BlockProgram program =
        new BlockProgram(
            shape,
            ElementType.FLOAT32,
            false,
            List.of(
                ElementwiseBlock.of(
                    FilterPrograms.factor(new Taken(2, ElementType.FLOAT32, false), 3),
                    List.of())));
    Moved moved = new Moved();
    Part whole = Part.whole(shape);
    try (BlockPipeline heard = twin().open(allocator, moved)) {
      int taken = 0;
      for (int i = 0; i < count; i++) {
        while (heard.isFull()) {
          assertTripled(heard, taken++);
        }
        float[] values = new float[64];
        for (int at = 0; at < 64; at++) {
          values[at] = i + at;
        }
        heard.begin(program);
        heard.putWhole(List.of(new Plane(HostMemory.ofArray(values))));
        heard.run(List.of(whole));
      }
      while (taken < count) {
        assertTripled(heard, taken++);
      }
    }
    assertEquals(256L * count, moved.up);
    assertEquals(256L * count, moved.down);
    assertTrue(moved.times <= 12, "trips " + moved.times);
  }

  private static void assertTripled(BlockPipeline pipeline, int array) {
    List<ArrowBuf> taken = pipeline.take();
    for (int at = 0; at < 64; at++) {
      assertEquals(3f * (array + at), taken.get(0).getFloat(4L * at), "array " + array);
    }
    taken.forEach(ArrowBuf::close);
  }
}
