package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.host.HostReducer;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.ElementwiseCases;
import org.tilespark.kernels.reduce.Reduction;
import org.tilespark.kernels.reduce.ReductionCases;
import org.tilespark.kernels.reduce.ReductionProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/** Reductions on a device: the host's bits. */
@RequiresGpu
class DeviceReducerIT {
  /** Bytes before and after each array, which must stay as they are. */
  private static final int GUARD = 256;

  private static final byte UNTOUCHED = 0x5a;

  private static CudaDevice device;
  private static DeviceReducer reducer;

  @BeforeAll
  static void openDevice() {
    device = CudaDevice.open(0);
    reducer = new DeviceReducer(device);
  }

  @AfterAll
  static void closeDevice() {
    if (device != null) {
      device.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, device.liveDeviceBytes());
    assertEquals(0, device.livePinnedBytes());
  }

  @Test
  void everyTypeReductionAndRank() {
    Random random = new Random(1);
    for (ElementType type : ElementType.values()) {
      for (Reduction reduction : Reduction.values()) {
        for (int i = 0; i < 60; i++) {
          assertReduces(problem(type, reduction, random), random);
        }
      }
    }
  }

  private static ReductionProblem problem(ElementType type, Reduction reduction, Random random) {
    int rank = 1 + random.nextInt(4);
    long[] extents = new long[rank];
    long elements = 1;
    for (int axis = 0; axis < rank; axis++) {
      long most = Math.max(1, Math.min(20_000 / elements, random.nextInt(3) == 0 ? 20_000 : 40));
      extents[axis] = 1L + random.nextInt((int) most);
      elements *= extents[axis];
    }
    return new ReductionProblem(
        Shape.of(extents), ReductionCases.axes(rank, random), type, reduction);
  }

  /** Extents about those of warps, tiles and trees, along rows and across them. */
  @Test
  void edges() {
    Random random = new Random(2);
    for (int extent :
        new int[] {1, 2, 3, 31, 32, 33, 63, 64, 65, 991, 992, 993, 1023, 1024, 1025, 2048, 5000}) {
      for (Shape shape :
          new Shape[] {
            Shape.of(extent, 33),
            Shape.of(33, extent),
            Shape.of(3, extent, 5),
            Shape.of(extent, 2, 3)
          }) {
        for (int axis = 0; axis < shape.rank(); axis++) {
          for (Reduction reduction : Reduction.values()) {
            assertReduces(
                new ReductionProblem(shape, Set.of(axis), ElementType.FLOAT64, reduction), random);
          }
        }
      }
    }
  }

  /** Places across several levels of trees, along rows and across them. */
  @Test
  void placesOfLongSequences() {
    Random random = new Random(3);
    for (Shape shape :
        new Shape[] {
          Shape.of(9_000, 5),
          Shape.of(70_000, 3),
          Shape.of(3, 70_001),
          Shape.of(2, 9_000, 3),
          Shape.of(1_100_000)
        }) {
      int axis = shape.rank() == 3 || shape.extent(0) == 3 ? 1 : 0;
      for (ElementType type : ElementType.values()) {
        for (Reduction reduction : new Reduction[] {Reduction.ARGMIN, Reduction.ARGMAX}) {
          assertReduces(new ReductionProblem(shape, Set.of(axis), type, reduction), random);
        }
      }
    }
  }

  /** Lengths about those at which lanes, loads, vectors and branches of the kernels change. */
  private static final int[] LENGTHS = {
    1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 32, 33, 47, 48, 63, 64, 65, 96, 100, 127,
    128, 129, 160, 255, 256, 257, 300, 384, 500, 511, 512, 513, 640, 768, 1000, 1008, 1023, 1024,
    1025, 1040, 1100
  };

  /** Sequences of at most little more than a tree: consecutive and interleaved. */
  @Test
  void shortSequences() {
    Random random = new Random(4);
    ElementType[] types = ElementType.values();
    for (int length : LENGTHS) {
      for (ElementType type : types) {
        assertShort(length, type, Reduction.SUM, random);
      }
      for (Reduction reduction : Reduction.values()) {
        assertShort(length, types[random.nextInt(types.length)], reduction, random);
        assertShort(length, types[random.nextInt(types.length)], reduction, random);
      }
    }
  }

  private static void assertShort(
      int length, ElementType type, Reduction reduction, Random random) {
    int results = 1 + random.nextInt(Math.max(150, Math.min(1500, 30_000 / length)));
    for (boolean alongRows : new boolean[] {true, false}) {
      Shape shape = alongRows ? Shape.of(results, length) : Shape.of(length, results);
      assertReduces(
          new ReductionProblem(shape, Set.of(alongRows ? 1 : 0), type, reduction), random);
    }
    int inner = 1 + random.nextInt(40);
    Shape between = Shape.of(1 + results / inner, length, inner);
    assertReduces(new ReductionProblem(between, Set.of(1), type, reduction), random);
  }

  /** Short sequences along two axes with another between: offsets of two strides. */
  @Test
  void shortSequencesAlongTwoAxes() {
    Random random = new Random(5);
    for (int inner : new int[] {2, 3, 7, 8, 16, 31, 32, 33, 100, 512}) {
      for (ElementType type : ElementType.values()) {
        Reduction reduction = Reduction.values()[random.nextInt(Reduction.values().length)];
        int outer = 2 + random.nextInt(Math.max(1, 1100 / inner));
        Shape rows = Shape.of(outer, 37, inner);
        assertReduces(new ReductionProblem(rows, Set.of(0, 2), type, reduction), random);
        assertReduces(new ReductionProblem(rows, Set.of(0, 2), type, Reduction.SUM), random);
        Shape columns = Shape.of(outer, 3, inner, 19);
        assertReduces(new ReductionProblem(columns, Set.of(0, 2), type, reduction), random);
        assertReduces(new ReductionProblem(columns, Set.of(0, 2), type, Reduction.SUM), random);
      }
    }
  }

  @Test
  void treesOfTrees() {
    Random random = new Random(3);
    for (ElementType type :
        new ElementType[] {ElementType.FLOAT32, ElementType.FLOAT64, ElementType.INT16}) {
      for (Reduction reduction : Reduction.values()) {
        assertReduces(
            new ReductionProblem(Shape.of(1100 * 1024 + 5), Set.of(0), type, reduction), random);
        assertReduces(
            new ReductionProblem(Shape.of(1_049_000, 3), Set.of(0), type, reduction), random);
        assertReduces(
            new ReductionProblem(Shape.of(700, 40, 90), Set.of(0, 2), type, reduction), random);
        assertReduces(
            new ReductionProblem(Shape.of(40, 2100, 7, 3), Set.of(1, 3), type, reduction), random);
        assertReduces(
            new ReductionProblem(Shape.of(3000, 1000), Set.of(0), type, reduction), random);
      }
    }
    for (long length : new long[] {2048, 5008, 5012, 5001}) { // narrow elements, by their vectors
      for (ElementType type : new ElementType[] {ElementType.INT8, ElementType.INT16}) {
        for (Reduction reduction : Reduction.values()) {
          assertReduces(
              new ReductionProblem(Shape.of(77, length), Set.of(1), type, reduction), random);
        }
      }
    }
  }

  /** More thread blocks' worth of work than of bytes that a 32-bit offset reaches. */
  @Test
  void offsetsBeyondTwoGiB() {
    long rows = 70_000;
    long cols = 33_000;
    ReductionProblem problem =
        new ReductionProblem(Shape.of(rows, cols), Set.of(0), ElementType.INT8, Reduction.SUM);
    try (CudaStream stream = device.newStream();
        DeviceBuffer in = device.allocate(rows * cols, stream);
        DeviceBuffer out = device.allocate(cols * Long.BYTES, stream);
        DeviceBuffer workspace = device.allocate(reducer.workspaceBytes(problem), stream);
        PinnedBuffer results = device.allocatePinned(cols * Long.BYTES);
        PinnedBuffer row = device.allocatePinned(cols)) {
      row.memory().fill((byte) 3);
      for (long at = 0; at < rows; at++) {
        stream.upload(row.memory(), in, at * cols);
      }
      reducer.reduce(problem, new At(in, 0), new At(out, 0), new At(workspace, 0), stream);
      stream.download(out, 0, results.memory());
      stream.synchronize();
      long[] sums = new long[(int) cols];
      results.memory().copyTo(HostMemory.ofArray(sums));
      long[] expected = new long[(int) cols];
      Arrays.fill(expected, 3 * rows);
      assertArrayEquals(expected, sums);
    }
  }

  @Test
  void mistakes() {
    ReductionProblem problem =
        new ReductionProblem(Shape.of(4), Set.of(0), ElementType.FLOAT64, Reduction.SUM);
    try (CudaStream stream = device.newStream();
        DeviceBuffer buffer = device.allocate(64, stream)) {
      At start = new At(buffer, 0);
      assertThrows(
          IllegalArgumentException.class,
          () -> reducer.reduce(problem, new At(buffer, 4), start, start, stream));
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> reducer.reduce(problem, new At(buffer, 40), start, start, stream));
    }
  }

  private static void assertReduces(ReductionProblem problem, Random random) {
    long[] numbers =
        ReductionCases.numbers(
            problem.type(), (int) problem.shape().elements(), random.nextInt(4) == 0, random);
    byte[] array = ElementwiseCases.packed(problem.type(), numbers);
    byte[] expected =
        new byte[(int) problem.outputShape().elements() * problem.outputType().bytes()];
    new HostReducer().reduce(problem, HostMemory.ofArray(array), HostMemory.ofArray(expected));
    int shift = 16 * random.nextInt(3);
    // Vectors are loaded from multiples of their size alone; elsewhere another kernel runs.
    int inShift = random.nextBoolean() ? 0 : problem.type().bytes() * random.nextInt(16);
    byte[] found = run(problem, array, expected.length, shift, inShift);
    assertArrayEquals(
        comparable(problem, expected),
        comparable(problem, found),
        () -> problem + " at " + inShift);
  }

  private static byte[] run(
      ReductionProblem problem, byte[] array, int resultBytes, int shift, int inShift) {
    int before = GUARD + shift;
    int inBefore = before + inShift;
    int outBytes = before + resultBytes + GUARD;
    long workspaceBytes = Math.max(1, reducer.workspaceBytes(problem));
    try (CudaStream stream = device.newStream();
        PinnedBuffer host = device.allocatePinned(Math.max(array.length, outBytes));
        DeviceBuffer in = device.allocate(inBefore + array.length, stream);
        DeviceBuffer out = device.allocate(outBytes, stream);
        DeviceBuffer workspace = device.allocate(workspaceBytes, stream)) {
      HostMemory part = host.memory().slice(0, outBytes);
      part.fill(UNTOUCHED);
      stream.upload(part, out, 0);
      stream.synchronize();
      HostMemory.ofArray(array).copyTo(host.memory().slice(0, array.length));
      stream.upload(host.memory().slice(0, array.length), in, inBefore);
      reducer.reduce(
          problem, new At(in, inBefore), new At(out, before), new At(workspace, 0), stream);
      stream.synchronize();
      stream.download(out, 0, part);
      stream.synchronize();
      byte[] all = new byte[outBytes];
      part.copyTo(HostMemory.ofArray(all));
      for (int i = 0; i < outBytes; i++) {
        if (i < before || i >= before + resultBytes) {
          assertEquals(UNTOUCHED, all[i], () -> "a guard byte of " + problem);
        }
      }
      return Arrays.copyOfRange(all, before, before + resultBytes);
    }
  }

  private static long[] comparable(ReductionProblem problem, byte[] bytes) {
    return LongStream.of(ElementwiseCases.unpacked(problem.outputType(), bytes))
        .map(each -> ElementwiseCases.comparable(problem.outputType(), each))
        .toArray();
  }
}
