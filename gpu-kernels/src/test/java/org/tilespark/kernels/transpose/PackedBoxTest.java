package org.tilespark.kernels.transpose;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.BitSet;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;

/** The arguments of the packed kernel, carried out here in plain Java. */
class PackedBoxTest {
  private static final int SHARED = 40 << 10;
  private static final int AXES = 4;
  private static final int[] SECTIONS = {10, 26, 42, 58, 63, 68}; // where in the words each begins

  /** The words as the kernel reads them. */
  private record Words(long[] words) {
    long stageBytes() {
      return words[1];
    }

    long in(int field) {
      return words[2 + field];
    }

    long out(int field) {
      return words[6 + field];
    }

    long extent(int section, int axis) {
      return words[SECTIONS[section] + AXES * axis] & 0xffffffffL;
    }

    long field(int section, int axis, int field) {
      return words[SECTIONS[section] + AXES * axis + field];
    }

    long cut(int cut, int field) {
      return words[SECTIONS[3 + cut] + field];
    }

    long outer(int axis, int field) {
      return words[SECTIONS[5] + 3 * axis + field];
    }
  }

  private static Move move(int width, Permutation order, Strides in, Strides out, long... extents) {
    return Move.of(new TransposeProblem(Shape.of(extents), order, width, in, out));
  }

  private static Move dense(int width, Permutation order, long... extents) {
    return Move.of(new TransposeProblem(Shape.of(extents), order, width));
  }

  @Test
  void argumentsOfAReversedVolumeWithShortZ() {
    PackedBox box =
        PackedBoxChoice.choose(dense(4, Permutation.of(2, 1, 0), 4095, 4097, 3), 256, SHARED, 1)
            .orElseThrow();
    assertEquals("3 x 24 x 128 of 3 x 4097 x 4095", box.toString());
    assertEquals(288, box.inRunBytes());
    assertEquals(512, box.outRunBytes());
    assertEquals(9216, box.elements());
    assertEquals(171 * 32, box.boxes());
    Words words = new Words(box.words());
    assertArrayEquals(new long[] {128, 72, 1, 4}, Arrays.copyOfRange(box.words(), 2, 6));
    assertArrayEquals(new long[] {72, 128, 2, 5}, Arrays.copyOfRange(box.words(), 6, 10));
    // x distinguishes input runs; in shared memory they are 73 words apart, an odd number.
    assertEquals(128, words.extent(0, 0));
    assertEquals(4097 * 3 * 4, words.field(0, 0, 1));
    assertEquals(73 * 4, words.field(0, 0, 2));
    assertEquals(2, words.field(0, 0, 3));
    // y is cut into boxes of 24, and so is x, of 128.
    assertArrayEquals(
        new long[] {171, 4097, 24, 24 * 3 * 4, 24 * 4095 * 4},
        Arrays.copyOfRange(box.words(), SECTIONS[3], SECTIONS[3] + 5));
    assertArrayEquals(
        new long[] {32, 4095, 128, 128 * 4097 * 3 * 4, 128 * 4},
        Arrays.copyOfRange(box.words(), SECTIONS[4], SECTIONS[4] + 5));
  }

  @Test
  void nothingWhereASideHasNoContiguousAxis() {
    Move move = move(4, Permutation.of(1, 0), Strides.of(70, 2), Strides.of(20, 1), 20, 33);
    assertTrue(PackedBoxChoice.choose(move, 256, SHARED, 1).isEmpty());
  }

  @Test
  void nothingWhereNoBoxFits() {
    assertTrue(
        PackedBoxChoice.choose(dense(4, Permutation.of(2, 1, 0), 99, 98, 3), 256, 100, 1)
            .isEmpty());
  }

  @Test
  void equalByWhatTheyMove() {
    Move move = dense(4, Permutation.of(2, 1, 0), 64, 64, 5);
    PackedBox box = PackedBoxChoice.choose(move, 256, SHARED, 1).orElseThrow();
    assertEquals(box, PackedBoxChoice.choose(move, 256, SHARED, 1).orElseThrow());
    assertEquals(
        box.hashCode(), PackedBoxChoice.choose(move, 256, SHARED, 1).orElseThrow().hashCode());
    assertNotEquals(box, PackedBoxChoice.choose(move, 256, 8 << 10, 1).orElseThrow());
  }

  /** Every box of random problems, walked as the kernel walks it: all elements arrive, once. */
  @Test
  void boxesCoverRandomProblems() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    int carriedOut = 0;
    for (int n = 0; n < 400; n++) {
      int rank = random.nextInt(2, 6);
      long[] extents = random.longs(rank, 2, n % 2 == 0 ? 9 : 60).toArray();
      long left = 200_000;
      for (int axis = 0; axis < rank; axis++) {
        extents[axis] = Math.min(extents[axis], Math.max(1, left));
        left /= extents[axis];
      }
      int[] axes = Permutation.identity(rank).toArray();
      for (int i = rank - 1; i > 0; i--) {
        int j = random.nextInt(i + 1);
        int axis = axes[i];
        axes[i] = axes[j];
        axes[j] = axis;
      }
      Permutation order = Permutation.of(axes);
      Shape shape = Shape.of(extents);
      int width = 1 << random.nextInt(5);
      TransposeProblem problem =
          new TransposeProblem(
              shape,
              order,
              width,
              padded(shape, random.nextLong(3) * random.nextLong(9)),
              padded(order.apply(shape), random.nextLong(3) * random.nextLong(9)));
      Move move = Move.of(problem);
      if (move.axes().size() < 2) {
        continue;
      }
      int shared = random.nextInt(2000, SHARED);
      PackedBox box =
          PackedBoxChoice.choose(move, 256, shared, random.nextLong(1, 100)).orElse(null);
      if (box != null) {
        String what = "seed " + seed + ", " + problem + ": " + box;
        assertTrue(box.sharedBytes() <= shared, what);
        carryOut(move, new Words(box.words()), box, what);
        carriedOut++;
      }
    }
    assertTrue(carriedOut > 200, "boxes for " + carriedOut + " of 400 problems");
  }

  private static Strides padded(Shape shape, long pad) {
    long[] strides = new long[shape.rank()];
    long stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= shape.extent(axis) + (axis == shape.rank() - 1 ? pad : 0);
    }
    return Strides.of(strides);
  }

  private static void carryOut(Move move, Words words, PackedBox box, String what) {
    int width = move.elementBytes();
    int word = Math.max(4, width);
    long base = 64; // of both sides
    long inBytes = base;
    long outBytes = base;
    for (Axis axis : move.axes()) {
      inBytes += (axis.extent() - 1) * axis.inStride() * width;
      outBytes += (axis.extent() - 1) * axis.outStride() * width;
    }
    long[] target =
        new long[Math.toIntExact(outBytes + width)]; // address that each element is from
    BitSet written = new BitSet();
    long count = 1;
    for (int k = 0; k < 4; k++) {
      count *= words.outer(k, 0);
    }
    assertEquals(box.boxes(), count * words.cut(0, 0) * words.cut(1, 0), what);
    for (long number = 0; number < box.boxes(); number++) {
      long second = number % words.cut(1, 0);
      long first = number / words.cut(1, 0) % words.cut(0, 0);
      long step = number / words.cut(1, 0) / words.cut(0, 0);
      long in = base + first * words.cut(0, 3) + second * words.cut(1, 3);
      long out = base + first * words.cut(0, 4) + second * words.cut(1, 4);
      for (int k = 3; k >= 0; k--) {
        in += step % words.outer(k, 0) * words.outer(k, 1) * width;
        out += step % words.outer(k, 0) * words.outer(k, 2) * width;
        step /= words.outer(k, 0);
      }
      long[] left = {Long.MAX_VALUE, inside(words, 0, first), inside(words, 1, second)};
      long[] stage = new long[Math.toIntExact(words.stageBytes())]; // addresses, by byte
      for (long run = 0; run < words.in(0); run++) {
        long[] at = locate(words, 0, run, left);
        if (at == null) {
          continue;
        }
        long length = length(words, words.in(1), words.in(2), left) * width;
        long address = in + at[0];
        long shared = in % word + at[1] + 32;
        assertEquals(address % word, shared % word, what);
        // Whole words, so that the bytes next to a run are overwritten too.
        for (long b = -(address % word);
            b < length + (word - (address + length) % word) % word;
            b++) {
          stage[Math.toIntExact(shared + b)] = b >= 0 && b < length ? address + b : -1;
        }
      }
      for (long run = 0; run < words.out(0); run++) {
        long[] at = locate(words, 1, run, left);
        if (at == null) {
          continue;
        }
        for (long e = 0; e < length(words, words.out(1), words.out(2), left); e++) {
          long place = in % word + at[1] + 32 + locate(words, 2, e, left)[1];
          long address = out + at[0] + e * width;
          for (int b = 0; b < width; b++) {
            int to = Math.toIntExact(address + b);
            assertTrue(!written.get(to), what);
            written.set(to);
            target[to] = stage[Math.toIntExact(place + b)];
          }
        }
      }
    }
    long[] index = new long[move.axes().size()];
    long elements = 1;
    for (Axis axis : move.axes()) {
      elements *= axis.extent();
    }
    for (long n = 0; n < elements; n++) {
      long from = base;
      long to = base;
      for (int k = 0; k < index.length; k++) {
        from += index[k] * move.axes().get(k).inStride() * width;
        to += index[k] * move.axes().get(k).outStride() * width;
      }
      assertEquals(from, target[Math.toIntExact(to)], what);
      assertEquals(from + width - 1, target[Math.toIntExact(to + width - 1)], what);
      for (int k = index.length - 1; k >= 0; k--) {
        if (++index[k] < move.axes().get(k).extent()) {
          break;
        }
        index[k] = 0;
      }
    }
    assertEquals(elements * width, written.cardinality(), what);
  }

  private static long inside(Words words, int cut, long box) {
    return Math.min(words.cut(cut, 2), words.cut(cut, 1) - box * words.cut(cut, 2));
  }

  private static long length(Words words, long whole, long cut, long[] left) {
    return cut == 0 ? whole : whole / words.cut((int) cut - 1, 2) * left[(int) cut];
  }

  /** Offsets in global and in shared memory of run or element {@code index}; null if beyond. */
  private static long[] locate(Words words, int section, long index, long[] left) {
    long[] at = new long[2];
    boolean inside = true;
    for (int k = 0; k < AXES; k++) {
      long extent = words.extent(section, k);
      long reciprocal = words.field(section, k, 0) >>> 32;
      long next = index * reciprocal >>> 32;
      if (extent > 1) {
        assertEquals(index / extent, next);
      }
      long step = index - next * extent;
      index = next;
      at[0] += step * words.field(section, k, 1);
      at[1] += step * words.field(section, k, 2);
      inside &= step < left[(int) words.field(section, k, 3)];
    }
    assertEquals(0, index);
    return inside || section == 2 ? at : null;
  }
}
