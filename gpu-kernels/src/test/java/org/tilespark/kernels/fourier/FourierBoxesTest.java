package org.tilespark.kernels.fourier;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.kernels.fourier.FourierBoxes.Transfer;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;

class FourierBoxesTest {
  private static final DeviceLimits H200 =
      new DeviceLimits(9, 0, 132, 1024, Integer.MAX_VALUE, 48 << 10, 140L << 30);
  private static final KernelIndex INDEX =
      KernelIndex.parse(
          """
          kernel fourier_boxes fourier_put_complex_w4_256 sm_90a
          kernel fourier_boxes fourier_put_complex_w8_256 sm_90a
          kernel fourier_boxes fourier_put_real_w4_256 sm_90a
          kernel fourier_boxes fourier_put_real_w8_256 sm_90a
          kernel fourier_boxes fourier_take_complex_w4_256 sm_90a
          """);

  private static final int HEAD = 4;
  private static final int WORDS = 11;

  /** The places that a kernel reads out of the words, by the same arithmetic. */
  private static long[] places(long[] words, int piece) {
    int at = HEAD + WORDS * piece;
    long[] places = new long[(int) words[at + 2]];
    for (int e = 0; e < places.length; e++) {
      long i = words[at + 1] + e;
      long r = i % words[at + 4];
      long row = i / words[at + 4] % words[at + 5];
      long slice = i / words[at + 4] / words[at + 5];
      places[e] = words[at + 8] + slice * words[at + 7] + row * words[at + 6] + r;
    }
    return places;
  }

  @Test
  void everyElementHasItsPlace() {
    Random random = new Random(1);
    for (int round = 0; round < 2000; round++) {
      int rank = 1 + random.nextInt(3);
      long[] array = new long[rank];
      List<Long> low = new ArrayList<>();
      long[] size = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        array[axis] = 1L + random.nextInt(9);
        size[axis] = random.nextBoolean() ? array[axis] : 1L + random.nextInt((int) array[axis]);
        low.add((long) random.nextInt((int) (array[axis] - size[axis]) + 1));
      }
      Shape box = Shape.of(size);
      long start = random.nextInt((int) box.elements());
      long count = 1L + random.nextInt((int) (box.elements() - start));
      Piece piece = new Piece(Shape.of(array), low, box, start, count, 0, 4096);
      for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
        for (boolean isComplex : new boolean[] {false, true}) {
          long[] words = launch(Direction.PUT, type, isComplex, List.of(piece)).words();
          long[] expected = expected(piece);
          assertArrayEquals(expected, places(words, 0), piece.toString());
          if (words[HEAD + 3] == 1) { // units of 16 bytes
            int vector = 16 / type.bytes() / (isComplex ? 2 : 1);
            for (int e = 0; e < count; e += vector) {
              assertEquals(0, expected[e] % vector, "begins at 16 bytes: " + piece);
              for (int n = 1; n < Math.min(vector, count - e); n++) {
                assertEquals(expected[e] + n, expected[e + n], "lies together: " + piece);
              }
            }
          }
        }
      }
    }
  }

  private static long[] expected(Piece piece) {
    long[] all = new long[(int) piece.size().elements()];
    Strides strides = Strides.rowMajor(piece.array());
    long[] index = new long[piece.size().rank()];
    for (int i = 0; i < all.length; i++) {
      for (int axis = 0; axis < index.length; axis++) {
        all[i] += (piece.low().get(axis) + index[axis]) * strides.stride(axis);
      }
      for (int axis = index.length - 1;
          axis >= 0 && ++index[axis] == piece.size().extent(axis);
          axis--) {
        index[axis] = 0;
      }
    }
    return Arrays.copyOfRange(all, (int) piece.start(), (int) (piece.start() + piece.count()));
  }

  @Test
  void wideWhereEverythingSuits() {
    Shape array = Shape.of(8, 8, 8);
    Shape slab = Shape.of(2, 8, 8);
    assertEquals(1, mode(ElementType.FLOAT32, true, array, slab, List.of(3L, 0L, 0L), 0));
    assertEquals(1, mode(ElementType.FLOAT32, false, array, slab, List.of(3L, 0L, 0L), 0));
    assertEquals(
        1, mode(ElementType.FLOAT32, true, array, Shape.of(2, 3, 6), List.of(3L, 1L, 2L), 0));
    assertEquals(
        0, mode(ElementType.FLOAT32, true, array, Shape.of(2, 3, 5), List.of(3L, 1L, 2L), 0));
    assertEquals(
        0, mode(ElementType.FLOAT32, true, array, Shape.of(2, 3, 6), List.of(3L, 1L, 1L), 0));
    assertEquals(
        0, mode(ElementType.FLOAT32, true, array, Shape.of(2, 3, 6), List.of(3L, 1L, 2L), 4));
    assertEquals(
        0, mode(ElementType.FLOAT32, false, array, Shape.of(2, 3, 6), List.of(3L, 1L, 2L), 0));
    // Whole rows of a ragged array are one run, whatever its length.
    assertEquals(
        1,
        mode(
            ElementType.FLOAT64,
            false,
            Shape.of(8, 3, 5),
            Shape.of(3, 3, 5),
            List.of(2L, 0L, 0L),
            0));
    // A complex DOUBLE fills 16 bytes alone.
    assertEquals(0, mode(ElementType.FLOAT64, true, array, slab, List.of(3L, 0L, 0L), 0));
  }

  private static long mode(
      ElementType type, boolean isComplex, Shape array, Shape box, List<Long> low, long re) {
    Piece piece = new Piece(array, low, box, 0, box.elements(), re, 4096);
    return launch(Direction.PUT, type, isComplex, List.of(piece)).words()[HEAD + 3];
  }

  @Test
  void unitsOfAllPieces() {
    Shape array = Shape.of(64, 64);
    List<Piece> pieces = new ArrayList<>();
    for (long i = 0; i < 300; i++) {
      long low = i % 60;
      pieces.add(new Piece(array, List.of(low, low), Shape.of(3, 4), 0, 12, i * 96, i * 96 + 48));
    }
    List<KernelLaunch> launches =
        FourierBoxes.launches(
            new Transfer(Direction.TAKE, ElementType.FLOAT32, true, 0.5),
            pieces,
            new DeviceKernels(H200, INDEX));
    assertEquals(3, launches.size());
    int seen = 0;
    for (KernelLaunch launch : launches) {
      long[] words = launch.words();
      long units = 0;
      for (int p = 0; p < words[1]; p++) {
        int at = HEAD + WORDS * p;
        assertEquals(units, words[at]);
        assertEquals(pieces.get(seen).re(), words[at + 9]);
        assertEquals(pieces.get(seen).im(), words[at + 10]);
        units += words[at + 3] == 1 ? 6 : 12;
        seen++;
      }
      assertEquals(units, words[0]);
      assertEquals(HEAD + WORDS * words[1], words.length);
      assertTrue(
          Long.BYTES * (words.length + 3L) <= KernelLaunch.MOST_STRUCT_BYTES, "the struct's bytes");
      assertEquals(1, words[2]);
      assertEquals(0.5, Double.longBitsToDouble(words[3]));
      assertEquals("fourier_take_complex_w4_256", launch.kernel());
      assertEquals((units + 1023) / 1024, launch.config().blocks());
    }
    assertEquals(300, seen);
  }

  @Test
  void mistakes() {
    Shape array = Shape.of(4, 4);
    Shape box = Shape.of(2, 2);
    assertThrows(
        IllegalArgumentException.class, () -> new Piece(array, List.of(3L, 0L), box, 0, 4, 0, 0));
    assertThrows(
        IllegalArgumentException.class, () -> new Piece(array, List.of(0L, 0L), box, 1, 4, 0, 0));
    assertThrows(
        IllegalArgumentException.class, () -> new Piece(array, List.of(0L), box, 0, 4, 0, 0));
    Piece piece = new Piece(array, List.of(0L, 0L), box, 0, 4, 0, 0);
    assertThrows(
        UnsupportedOperationException.class,
        () ->
            FourierBoxes.launches(
                new Transfer(Direction.PUT, ElementType.FLOAT32, true, 1),
                List.of(piece),
                new DeviceKernels(H200, KernelIndex.EMPTY)));
  }

  private static KernelLaunch launch(
      Direction direction, ElementType type, boolean isComplex, List<Piece> pieces) {
    return FourierBoxes.launches(
            new Transfer(direction, type, isComplex, 1), pieces, new DeviceKernels(H200, INDEX))
        .get(0);
  }
}
