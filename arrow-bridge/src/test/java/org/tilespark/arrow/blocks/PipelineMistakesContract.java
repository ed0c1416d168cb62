package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Wrong requests of callers, and the state after them. */
abstract class PipelineMistakesContract extends PipelineFixture {
  @Test
  void partsThatDoNotFit() {
    Shape shape = Shape.of(4, 5, 6);
    pipeline.begin(new BlockProgram(shape, ElementType.FLOAT32, true, List.of()));
    Plane ten = new Plane(HostMemory.ofArray(new float[10]));
    Part outside = new Part(List.of(3L, 0L, 0L), List.of(2L, 5L, 1L));
    assertThrows(IllegalArgumentException.class, () -> pipeline.put(outside, List.of(ten, ten)));
    Part inside = new Part(List.of(0L, 0L, 0L), List.of(2L, 5L, 1L));
    IllegalArgumentException onePlane =
        assertThrows(IllegalArgumentException.class, () -> pipeline.put(inside, List.of(ten)));
    assertTrue(
        onePlane.getMessage().contains("[40] bytes; expected 2 of 40"), onePlane.getMessage());
    Plane nine = new Plane(HostMemory.ofArray(new float[9]));
    assertThrows(IllegalArgumentException.class, () -> pipeline.put(inside, List.of(ten, nine)));
    assertThrows(IllegalArgumentException.class, () -> pipeline.run(List.of(outside)));
    pipeline.put(inside, List.of(ten, ten)); // all of it has changed nothing
    pipeline.run(List.of(inside));
    taken(inside.size(), ElementType.FLOAT32, true);
  }

  @Test
  void anArrayThatNobodyTakes() {
    Shape shape = Shape.of(8, 8, 8);
    OracleArray array = OracleArray.random(shape, true, ElementType.FLOAT32, 30);
    Fourier transform = new Fourier(List.of(0), Form.COMPLEX, Direction.FORWARD, 0, 1);
    for (List<Part> outputs : List.of(List.<Part>of(), ArrayParts.grid(shape, 4, 8, 8))) {
      pipeline.begin(new BlockProgram(shape, ElementType.FLOAT32, true, List.of(transform)));
      put(Part.whole(shape), shape, ElementType.FLOAT32, bytes(array, ElementType.FLOAT32), true);
      pipeline.run(outputs);
      assertEquals(outputs.isEmpty() ? 0 : 1, pipeline.inFlight());
    }
    taken(List.of(4L, 8L, 8L), ElementType.FLOAT32, true);
    pipeline.begin(new BlockProgram(shape, ElementType.FLOAT32, true, List.of(transform)));
    put(Part.whole(shape), shape, ElementType.FLOAT32, bytes(array, ElementType.FLOAT32), true);
    // and closed with one array half put and one half taken
  }

  @Test
  void roomsOfAnotherSizeAreRefused() {
    Shape shape = Shape.of(4, 5);
    pipeline.begin(new BlockProgram(shape, ElementType.FLOAT32, false, List.of()));
    try (ArrowBuf room = allocator.buffer(100)) {
      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class,
              () -> {
                pipeline.run(
                    List.of(Part.whole(shape)),
                    output -> List.of(HostMemory.ofAddress(room.memoryAddress(), 76)));
                pipeline.take();
              });
      assertTrue(refused.getMessage().contains("[76]"), refused::getMessage);
      pipeline.close();
    }
  }
}
