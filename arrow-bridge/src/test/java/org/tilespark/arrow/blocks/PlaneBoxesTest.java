package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.PlaneBoxes.Inner;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Of which boxes a range of elements consists, and the copies between planes, done on the host. */
class PlaneBoxesTest {
  private static Inner inner(List<Long> low, List<Long> size) {
    return new Inner(low, size);
  }

  @Test
  void aRangeIsEndsAndAMiddle() {
    Shape box = Shape.of(4, 5, 6);
    assertEquals(
        List.of(inner(List.of(0L, 0L, 0L), List.of(4L, 5L, 6L))), PlaneBoxes.range(box, 0, 120));
    assertEquals(
        List.of(
            inner(List.of(0L, 2L, 3L), List.of(1L, 1L, 3L)),
            inner(List.of(0L, 3L, 0L), List.of(1L, 2L, 6L)),
            inner(List.of(1L, 0L, 0L), List.of(2L, 5L, 6L)),
            inner(List.of(3L, 0L, 0L), List.of(1L, 1L, 6L)),
            inner(List.of(3L, 1L, 0L), List.of(1L, 1L, 2L))),
        PlaneBoxes.range(box, 15, 83));
    assertEquals(
        List.of(inner(List.of(2L, 1L, 2L), List.of(1L, 1L, 3L))), PlaneBoxes.range(box, 68, 3));
    assertEquals(List.of(inner(List.of(7L), List.of(4L))), PlaneBoxes.range(Shape.of(20), 7, 4));
  }

  /** Parts of an array go there and back, cut at any element. */
  @Test
  void piecesGoThereAndBack() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 100; round++) {
      Shape shape = randomShape(random);
      ElementType type = random.nextBoolean() ? ElementType.INT8 : ElementType.INT16;
      State state = new State(shape, type, random.nextBoolean());
      int plane = (int) state.planeBytes();
      int width = type.bytes();
      List<byte[]> planes = new ArrayList<>();
      byte[] staging = new byte[(int) state.bytes()];
      for (int p = 0; p < state.planes(); p++) {
        planes.add(new byte[plane]);
        random.nextBytes(planes.get(p));
      }
      // Each part's planes are dense, those of all parts consecutive in the staging.
      List<Piece> pieces = new ArrayList<>();
      int used = 0;
      for (Part part : ArrayParts.cut(shape, random)) {
        int bytes = (int) part.elements() * type.bytes();
        for (int p = 0; p < state.planes(); p++) {
          byte[] dense = ArrayParts.dense(part, shape, type.bytes(), planes.get(p));
          System.arraycopy(dense, 0, staging, used + p * bytes, bytes);
        }
        pieces.addAll(cut(part, state, used, used + bytes, random));
        used += bytes * state.planes();
      }
      byte[] array = new byte[(int) state.bytes()];
      move(PlaneBoxes.of(Direction.PUT, state, pieces), staging, array);
      byte[] expected = new byte[array.length];
      for (int at = 0; at < expected.length; at += width) { // parts side by side
        int number = at / width;
        byte[] from = planes.get(number % state.planes());
        System.arraycopy(from, number / state.planes() * width, expected, at, width);
      }
      assertArrayEquals(expected, array, "seed " + seed + ", round " + round);
      byte[] back = new byte[staging.length];
      move(PlaneBoxes.of(Direction.TAKE, state, pieces), array, back);
      assertArrayEquals(staging, back, "seed " + seed + ", round " + round);
    }
  }

  /** One part as pieces of random lengths. */
  private static List<Piece> cut(Part part, State state, long re, long im, Random random) {
    Shape size = Shape.of(part.size().stream().mapToLong(Long::longValue).toArray());
    int width = state.type().bytes();
    List<Piece> pieces = new ArrayList<>();
    long done = 0;
    while (done < part.elements()) {
      long count = 1L + random.nextInt((int) (part.elements() - done));
      pieces.add(
          new Piece(
              state.shape(), part.low(), size, done, count, re + done * width, im + done * width));
      done += count;
    }
    return pieces;
  }

  private static void move(List<DeviceTransposer.Part> parts, byte[] from, byte[] to) {
    try (HostTransposer transposer = new HostTransposer()) {
      for (DeviceTransposer.Part part : parts) {
        transposer.transpose(
            part.problem(),
            HostMemory.ofArray(from).slice(part.inOffset(), part.problem().inBytes()),
            HostMemory.ofArray(to).slice(part.outOffset(), part.problem().outBytes()));
      }
    }
  }

  private static Shape randomShape(Random random) {
    long[] extents = new long[1 + random.nextInt(3)];
    for (int axis = 0; axis < extents.length; axis++) {
      extents[axis] = 1L + random.nextInt(9);
    }
    return Shape.of(extents);
  }
}
