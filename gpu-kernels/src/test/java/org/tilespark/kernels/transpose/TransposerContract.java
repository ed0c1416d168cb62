package org.tilespark.kernels.transpose;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;
import sun.misc.Unsafe;

/**
 * Cases and expectations for every {@link Transposer}, the same for both twins.
 *
 * <p>Inputs hold their own linear index, so that a misplaced element says where it came from; the
 * expectation is plain index arithmetic, independent of either twin. Memory alternates between heap
 * arrays and direct buffers, starts at odd multiples of the width, and is surrounded by guard
 * bytes.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class TransposerContract {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final int GUARD_BYTES = 64;
  private static final byte GUARD = 0x5A;

  private int cases;

  /** The transposer under test, the same for all tests of the class. */
  protected abstract Transposer transposer();

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void matricesAroundTileEdges(int width) {
    long[] extents = {1, 2, 3, 7, 8, 9, 15, 17, 31, 32, 33, 63, 64, 65, 67, 97, 131};
    for (long rows : extents) {
      for (long cols : extents) {
        check(Shape.of(rows, cols), Permutation.of(1, 0), width);
        check(Shape.of(rows, cols), Permutation.identity(2), width);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void matricesOfSeveralTiles(int width) {
    long[] extents = {127, 128, 129, 255, 259, 509, 512, 513, 1027};
    for (long rows : extents) {
      for (long cols : extents) {
        check(Shape.of(rows, cols), Permutation.of(1, 0), width);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void tallAndWideMatrices(int width) {
    for (long narrow : new long[] {1, 2, 3, 5, 8, 31, 33, 48}) {
      for (long wide : new long[] {4096, 4099, 65537}) {
        check(Shape.of(wide, narrow), Permutation.of(1, 0), width);
        check(Shape.of(narrow, wide), Permutation.of(1, 0), width);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void volumesInEveryOrder(int width) {
    long[] extents = {1, 2, 3, 31, 33, 67};
    for (Permutation order : permutations(3)) {
      for (long x : extents) {
        for (long y : extents) {
          for (long z : extents) {
            check(Shape.of(x, y, z), order, width);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void batchesOfVolumesInEveryOrder(int width) {
    long[] extents = {1, 4, 33};
    for (Permutation order : permutations(3)) {
      Permutation batched =
          Permutation.of(0, order.axis(0) + 1, order.axis(1) + 1, order.axis(2) + 1);
      for (long batch : new long[] {1, 3}) {
        for (long x : extents) {
          for (long y : extents) {
            for (long z : extents) {
              check(Shape.of(batch, x, y, z), batched, width);
            }
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void fourAxesInEveryOrder(int width) {
    for (Permutation order : permutations(4)) {
      check(Shape.of(5, 3, 7, 2), order, width);
      check(Shape.of(2, 35, 3, 34), order, width);
      check(Shape.of(9, 1, 40, 6), order, width);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void fiveAndSixAxes(int width) {
    check(Shape.of(2, 3, 4, 5, 6), Permutation.of(4, 2, 0, 3, 1), width);
    check(Shape.of(2, 3, 4, 5, 6), Permutation.of(3, 1, 2, 0, 4), width);
    check(Shape.of(2, 3, 2, 3, 2, 3), Permutation.of(5, 3, 1, 4, 2, 0), width);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void runsOfEveryLength(int width) {
    for (long run = 1; run <= 40; run++) {
      check(Shape.of(37, 11, run), Permutation.of(1, 0, 2), width);
    }
    check(Shape.of(5, 3, 4097), Permutation.of(1, 0, 2), width);
    check(Shape.of(3, 5, 7, 300), Permutation.of(2, 0, 1, 3), width);
    check(Shape.of(40, 33, 50, 3), Permutation.of(2, 1, 0, 3), width);
  }

  /** Short first and last axes, alone and together, so that boxes end at every edge. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void shortAxesOfVolumes(int width) {
    Permutation reversed = Permutation.of(2, 1, 0);
    for (long few : new long[] {2, 3, 5, 8, 17, 31}) {
      check(Shape.of(97, 83, few), reversed, width);
      check(Shape.of(few, 83, 97), reversed, width);
      check(Shape.of(few, 301, 7), reversed, width);
      check(Shape.of(3, 41, 50, few), Permutation.of(0, 3, 2, 1), width);
    }
    check(Shape.of(400, 3, 256), reversed, width);
    check(Shape.of(33, 64, 8), reversed, width);
    check(Shape.of(8, 3, 5, 7, 6, 4), Permutation.of(5, 1, 3, 4, 2, 0), width);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void shortAxesOfStridedVolumes(int width) {
    Permutation reversed = Permutation.of(2, 1, 0);
    for (long[] extents : new long[][] {{97, 43, 3}, {3, 43, 97}, {6, 99, 4}}) {
      Shape volume = Shape.of(extents);
      for (Permutation order : List.of(reversed, Permutation.of(1, 0, 2))) {
        for (long pad : new long[] {1, 2, 13}) {
          Strides in = padded(volume, 0);
          Strides out = padded(order.apply(volume), 0);
          Strides inPadded = padded(volume, pad);
          Strides outPadded = padded(order.apply(volume), pad);
          check(new TransposeProblem(volume, order, width, inPadded, out));
          check(new TransposeProblem(volume, order, width, in, outPadded));
          check(new TransposeProblem(volume, order, width, inPadded, outPadded));
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void manyTinyMatrices(int width) {
    Permutation each = Permutation.of(0, 2, 1);
    for (long rows : new long[] {2, 7, 16, 32}) {
      for (long cols : new long[] {3, 8, 9, 16}) {
        check(Shape.of(301, rows, cols), each, width);
        check(Shape.of(5, 60, rows, cols), Permutation.of(1, 0, 3, 2), width);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void manyShortRuns(int width) {
    for (long run : new long[] {2, 3, 5, 7, 21, 31, 60, 101}) {
      check(Shape.of(67, 45, run), Permutation.of(1, 0, 2), width);
      check(Shape.of(3, 35, 34, run), Permutation.of(2, 1, 0, 3), width);
    }
  }

  @Test
  void arraysThatExceedOneStagingBuffer() {
    check(Shape.of(3001, 1999), Permutation.of(1, 0), 4);
    check(Shape.of(2100, 5000), Permutation.of(1, 0), 4);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void emptyArrays(int width) {
    check(Shape.of(0, 7), Permutation.of(1, 0), width);
    check(Shape.of(7, 0), Permutation.of(1, 0), width);
    check(Shape.of(3, 0, 5), Permutation.of(2, 0, 1), width);
    check(Shape.of(0), Permutation.identity(1), width);
    check(Shape.of(), Permutation.identity(0), width);
  }

  /**
   * Blocks inside larger arrays, on either side and on both, at leading dimensions of all kinds.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void stridedSourcesAndTargets(int width) {
    long[][] matrices = {{64, 64}, {67, 45}, {3, 130}, {130, 3}, {1, 70}, {70, 1}, {32, 129}};
    for (long[] extents : matrices) {
      Shape shape = Shape.of(extents);
      for (long inPad : new long[] {0, 1, 16}) {
        for (long outPad : new long[] {0, 3, 32}) {
          for (Permutation order : permutations(2)) {
            Strides in = padded(shape, inPad);
            Strides out = padded(order.apply(shape), outPad);
            check(new TransposeProblem(shape, order, width, in, out));
          }
        }
      }
    }
    Shape volume = Shape.of(9, 35, 34);
    for (Permutation order : permutations(3)) {
      for (long pad : new long[] {2, 5, 16}) {
        Strides in = padded(volume, pad);
        Strides out = padded(order.apply(volume), 0);
        check(new TransposeProblem(volume, order, width, in, out));
        in = padded(volume, 0);
        out = padded(order.apply(volume), pad);
        check(new TransposeProblem(volume, order, width, in, out));
      }
    }
    // No side contiguous, axes in column-major order, and pairs that stay together.
    Shape shape = Shape.of(20, 33);
    Permutation order = Permutation.of(1, 0);
    check(new TransposeProblem(shape, order, width, Strides.of(70, 2), Strides.of(61, 3)));
    check(new TransposeProblem(shape, order, width, Strides.of(1, 20), Strides.of(20, 1)));
    check(
        new TransposeProblem(
            shape, Permutation.identity(2), width, Strides.of(1, 20), Strides.of(40, 1)));
    check(
        new TransposeProblem(
            Shape.of(19, 23, 2),
            Permutation.of(1, 0, 2),
            width,
            Strides.of(60, 2, 1),
            Strides.of(44, 2, 1)));
  }

  /** Parts of larger arrays, every n-th element along some axes, some of them backwards. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16})
  void stepsAndAxesReadBackwards(int width) {
    long[] steps = {1, -1, 3, -2};
    Shape[] shapes = {
      Shape.of(9, 7, 20), Shape.of(1, 35, 64), Shape.of(40, 2, 3), Shape.of(5, 1, 1)
    };
    for (Shape shape : shapes) {
      for (long x : steps) {
        for (long y : steps) {
          for (long z : steps) {
            Shape from = Shape.of(9 * 3, 35 * 3, 64 * 3);
            Strides dense = Strides.rowMajor(from);
            Strides in = Strides.of(x * dense.stride(0), y * dense.stride(1), z * dense.stride(2));
            check(
                new TransposeProblem(
                    shape, Permutation.identity(3), width, in, Strides.rowMajor(shape)));
          }
        }
      }
    }
    Shape row = Shape.of(1003);
    check(new TransposeProblem(row, Permutation.identity(1), width, Strides.of(-1), Strides.of(1)));
  }

  @Test
  void onlyAnInputIsReadBackwards() {
    Shape row = Shape.of(7);
    Permutation same = Permutation.identity(1);
    assertThrows(
        IllegalArgumentException.class,
        () -> new TransposeProblem(row, same, 4, Strides.of(1), Strides.of(-1)));
    assertThrows(
        IllegalArgumentException.class,
        () -> new TransposeProblem(row, same, 4, Strides.of(0), Strides.of(1)));
  }

  /** Row-major strides whose innermost rows are longer by {@code pad} elements. */
  private static Strides padded(Shape shape, long pad) {
    long[] strides = new long[shape.rank()];
    long stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= shape.extent(axis) + (axis == shape.rank() - 1 ? pad : 0);
    }
    return Strides.of(strides);
  }

  @Test
  void nanPayloadsKeepTheirBits() {
    int rows = 67;
    int cols = 45;
    float[] floats = new float[rows * cols];
    double[] doubles = new double[rows * cols];
    HostMemory floatsIn = HostMemory.ofArray(floats);
    HostMemory doublesIn = HostMemory.ofArray(doubles);
    for (int i = 0; i < floats.length; i++) { // signalling NaNs, written as bits
      UNSAFE.putInt(floats, floatsIn.offset() + 4L * i, 0x7f800001 + i);
      UNSAFE.putLong(doubles, doublesIn.offset() + 8L * i, 0xfff0000000000001L + i);
    }
    HostMemory floatsOut = HostMemory.ofArray(new float[rows * cols]);
    HostMemory doublesOut = HostMemory.ofArray(new double[rows * cols]);
    Shape shape = Shape.of(rows, cols);
    Permutation order = Permutation.of(1, 0);
    transposer().transpose(new TransposeProblem(shape, order, 4), floatsIn, floatsOut);
    transposer().transpose(new TransposeProblem(shape, order, 8), doublesIn, doublesOut);
    for (int j = 0; j < cols; j++) {
      for (int i = 0; i < rows; i++) {
        long at = (long) j * rows + i;
        int from = i * cols + j;
        assertEquals(
            0x7f800001 + from, UNSAFE.getInt(floatsOut.base(), floatsOut.offset() + 4 * at));
        assertEquals(
            0xfff0000000000001L + from,
            UNSAFE.getLong(doublesOut.base(), doublesOut.offset() + 8 * at));
      }
    }
  }

  @Test
  void randomCases() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int n = 0; n < 150; n++) {
      int rank = random.nextInt(1, 6);
      long[] extents = new long[rank];
      long left = 60_000;
      for (int axis = 0; axis < rank; axis++) {
        extents[axis] = 1 + random.nextLong(Math.min(300, left));
        left = Math.max(1, left / extents[axis]);
      }
      Permutation order = random(rank, random);
      int width = 1 << random.nextInt(5);
      try {
        check(Shape.of(extents), order, width);
      } catch (AssertionError e) {
        throw new AssertionError("Seed " + seed + ": " + e.getMessage(), e);
      }
    }
  }

  @Test
  void theInverseUndoesAndCompositionAgrees() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    for (int n = 0; n < 40; n++) {
      int rank = random.nextInt(2, 5);
      Shape shape = Shape.of(random.longs(rank, 1, 14).toArray());
      int width = 1 << random.nextInt(5);
      Permutation first = random(rank, random);
      Permutation second = random(rank, random);
      byte[] in = new byte[Math.toIntExact(shape.elements() * width)];
      random.nextBytes(in);
      String what = "seed " + seed + ", " + shape + " " + first + " " + second + " width " + width;
      byte[] once = run(shape, first, width, in);
      Shape between = first.apply(shape);
      assertTrue(Arrays.equals(in, run(between, first.inverse(), width, once)), what);
      assertTrue(
          Arrays.equals(
              run(shape, first.then(second), width, in), run(between, second, width, once)),
          what);
    }
  }

  @Test
  void wrongLengthsAreRefusedBeforeAnythingIsWritten() {
    TransposeProblem problem = new TransposeProblem(Shape.of(64, 65), Permutation.of(1, 0), 4);
    byte[] right = new byte[64 * 65 * 4];
    byte[] wrong = new byte[64 * 64 * 4];
    Exception e =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                transposer()
                    .transpose(problem, HostMemory.ofArray(right), HostMemory.ofArray(wrong)));
    assertEquals(
        "Output holds 16384 bytes, shape (64, 65) of 4-byte elements needs 16640", e.getMessage());
    e =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                transposer()
                    .transpose(problem, HostMemory.ofArray(wrong), HostMemory.ofArray(right)));
    assertEquals(
        "Input holds 16384 bytes, shape (64, 65) of 4-byte elements needs 16640", e.getMessage());
    assertTrue(Arrays.equals(new byte[right.length], right));
  }

  private byte[] run(Shape shape, Permutation order, int width, byte[] in) {
    byte[] out = new byte[in.length];
    transposer()
        .transpose(
            new TransposeProblem(shape, order, width),
            HostMemory.ofArray(in),
            HostMemory.ofArray(out));
    return out;
  }

  /** Transposes a dense array that holds its own index and compares every byte. */
  protected final void check(Shape shape, Permutation order, int width) {
    check(new TransposeProblem(shape, order, width));
  }

  /** Transposes an array that holds its own index and compares every byte, gaps included. */
  protected final void check(TransposeProblem problem) {
    int width = problem.elementBytes();
    cases++;
    Guarded in = Guarded.of(problem.inBytes(), width, cases % 2 == 0, cases / 2 % 3);
    Guarded out = Guarded.of(problem.outBytes(), width, cases / 2 % 2 == 0, cases % 3);
    for (long index = 0; index < problem.inBytes() / width; index++) {
      write(in.memory, index, width, index);
    }
    transposer().transpose(problem, in.memory, out.memory);
    in.requireGuards(problem, "input");
    out.requireGuards(problem, "output");
    compare(problem, out.memory);
    Reference.reachabilityFence(in);
    Reference.reachabilityFence(out);
  }

  private static void compare(TransposeProblem problem, HostMemory out) {
    int width = problem.elementBytes();
    int rank = problem.shape().rank();
    Shape shape = problem.outputShape();
    Strides inStrides = problem.inStrides().permute(problem.permutation());
    BitSet written = new BitSet();
    long[] index = new long[rank];
    for (long step = 0; step < shape.elements(); step++) {
      long expected = 0;
      long at = 0;
      for (int axis = 0; axis < rank; axis++) {
        expected += index[axis] * inStrides.stride(axis);
        at += index[axis] * problem.outStrides().stride(axis);
      }
      written.set(Math.toIntExact(at));
      expected += problem.inStartBytes() / width;
      if (!holds(out, at, width, expected)) {
        fail(
            problem
                + ": output element "
                + Arrays.toString(index)
                + " should be input element "
                + expected
                + ", found bits of "
                + Long.toHexString(read(out, at, width)));
      }
      for (int axis = rank - 1; axis >= 0 && ++index[axis] == shape.extent(axis); axis--) {
        index[axis] = 0;
      }
    }
    int elements = Math.toIntExact(problem.outBytes() / width);
    for (int at = written.nextClearBit(0); at < elements; at = written.nextClearBit(at + 1)) {
      for (int b = 0; b < width; b++) {
        if (UNSAFE.getByte(out.base(), out.offset() + (long) at * width + b) != GUARD) {
          fail(problem + ": element " + at + " of the output lies between rows and was changed");
        }
      }
    }
  }

  /** Element values: the index, its bytes folded where the width is narrow; wide ones repeat it. */
  private static void write(HostMemory memory, long at, int width, long index) {
    long where = memory.offset() + at * width;
    switch (width) {
      case 1 -> UNSAFE.putByte(memory.base(), where, (byte) fold(index, 1));
      case 2 -> UNSAFE.putShort(memory.base(), where, (short) fold(index, 2));
      case 4 -> UNSAFE.putInt(memory.base(), where, (int) index);
      case 8 -> UNSAFE.putLong(memory.base(), where, index);
      default -> {
        UNSAFE.putLong(memory.base(), where, index);
        UNSAFE.putLong(memory.base(), where + 8, ~index);
      }
    }
  }

  private static boolean holds(HostMemory memory, long at, int width, long index) {
    long where = memory.offset() + at * width;
    return switch (width) {
      case 1 -> UNSAFE.getByte(memory.base(), where) == (byte) fold(index, 1);
      case 2 -> UNSAFE.getShort(memory.base(), where) == (short) fold(index, 2);
      case 4 -> UNSAFE.getInt(memory.base(), where) == (int) index;
      case 8 -> UNSAFE.getLong(memory.base(), where) == index;
      default ->
          UNSAFE.getLong(memory.base(), where) == index
              && UNSAFE.getLong(memory.base(), where + 8) == ~index;
    };
  }

  private static long read(HostMemory memory, long at, int width) {
    long where = memory.offset() + at * width;
    return switch (width) {
      case 1 -> UNSAFE.getByte(memory.base(), where);
      case 2 -> UNSAFE.getShort(memory.base(), where);
      case 4 -> UNSAFE.getInt(memory.base(), where);
      default -> UNSAFE.getLong(memory.base(), where);
    };
  }

  private static long fold(long index, int width) {
    return width == 1
        ? index ^ (index >>> 8) * 31 ^ (index >>> 16) * 17
        : index ^ (index >>> 16) * 31;
  }

  /** All orders of {@code rank} axes. */
  protected static List<Permutation> permutations(int rank) {
    List<int[]> partial = List.of(new int[0]);
    for (int length = 0; length < rank; length++) {
      List<int[]> longer = new ArrayList<>();
      for (int[] axes : partial) {
        for (int axis = 0; axis < rank; axis++) {
          int candidate = axis;
          if (Arrays.stream(axes).noneMatch(used -> used == candidate)) {
            int[] more = Arrays.copyOf(axes, length + 1);
            more[length] = axis;
            longer.add(more);
          }
        }
      }
      partial = longer;
    }
    return partial.stream().map(Permutation::of).toList();
  }

  private static Permutation random(int rank, SplittableRandom random) {
    int[] axes = Permutation.identity(rank).toArray();
    for (int i = rank - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      int axis = axes[i];
      axes[i] = axes[j];
      axes[j] = axis;
    }
    return Permutation.of(axes);
  }

  /** A range between guard bytes; {@code keepAlive} owns the memory. */
  private record Guarded(HostMemory memory, HostMemory all, Object keepAlive) {
    static Guarded of(long bytes, int width, boolean onHeap, int shift) {
      int length = Math.toIntExact(bytes + 2L * GUARD_BYTES + 2L * width);
      Object keepAlive;
      HostMemory all;
      if (onHeap) {
        byte[] array = new byte[length];
        keepAlive = array;
        all = HostMemory.ofArray(array);
      } else {
        ByteBuffer buffer = ByteBuffer.allocateDirect(length);
        keepAlive = buffer;
        all = HostMemory.ofDirectBuffer(buffer);
      }
      all.fill(GUARD);
      return new Guarded(all.slice(GUARD_BYTES + (long) shift * width, bytes), all, keepAlive);
    }

    void requireGuards(TransposeProblem problem, String which) {
      long before = memory.offset() - all.offset();
      for (long at = 0; at < all.bytes(); at++) {
        boolean inside = at >= before && at < before + memory.bytes();
        if (!inside && UNSAFE.getByte(all.base(), all.offset() + at) != GUARD) {
          fail(problem + ": guard byte " + (at - before) + " of the " + which + " was overwritten");
        }
        if (at == before && memory.bytes() > 0) {
          at = before + memory.bytes() - 1;
        }
      }
      java.lang.ref.Reference.reachabilityFence(keepAlive);
    }
  }
}
