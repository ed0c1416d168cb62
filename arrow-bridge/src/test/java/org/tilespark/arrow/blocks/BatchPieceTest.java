package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.arrow.blocks.BatchPiece.Layout;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.DeviceOperation.Moves;
import org.tilespark.arrow.blocks.DeviceOperation.Reorder;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** How batches become pieces, and what the device does with each, played through on the host. */
class BatchPieceTest {
  @ParameterizedTest(name = "plane {0}, thinnest {1}, granted {2}")
  @CsvSource({
    // What fits goes in one piece, however much more was granted.
    "1000, 10, 2000, 1, 1000",
    "1000, 10, 9000, 1, 1000",
    // Two lanes, each with two buffers.
    "1000, 10, 1999, 2, 499",
    "1000, 10, 40, 2, 10",
    // No room for two.
    "1000, 10, 39, 1, 19",
    "1000, 10, 20, 1, 10",
  })
  void laysOutWhatWasGranted(
      long planeBytes, long thinnestBytes, long grantedBytes, int lanes, long pieceBytes) {
    assertEquals(new Layout(lanes, pieceBytes), Layout.of(planeBytes, thinnestBytes, grantedBytes));
  }

  @Test
  void arraysStayTogether() {
    BlockProgram small = program(Shape.of(5, 4), ElementType.INT8, new Permute(swap()));
    assertEquals(
        List.of(new BatchPiece(small, 7, Region.of(0, 140), Region.of(0, 140))),
        BatchPiece.cut(small, 7, 140));
    assertEquals(
        List.of(
            new BatchPiece(small, 5, Region.of(0, 100), Region.of(0, 100)),
            new BatchPiece(small, 2, Region.of(100, 40), Region.of(100, 40))),
        BatchPiece.cut(small, 7, 119));
    BlockProgram grows = program(Shape.of(5, 4), ElementType.INT8, new Pad(Shape.of(5, 8)));
    assertEquals(
        List.of(
            new BatchPiece(grows, 2, Region.of(0, 40), Region.of(0, 80)),
            new BatchPiece(grows, 1, Region.of(40, 20), Region.of(80, 40))),
        BatchPiece.cut(grows, 3, 80));
  }

  @Test
  void largeArraysAreCutEachForItself() {
    BlockProgram large = program(Shape.of(10, 30), ElementType.INT8, new Permute(swap()));
    List<BatchPiece> pieces = BatchPiece.cut(large, 2, 100);
    assertEquals(6, pieces.size());
    BlockProgram slice = program(Shape.of(10, 10), ElementType.INT8, new Permute(swap()));
    for (int i = 0; i < 6; i++) {
      int array = i / 3;
      int part = i % 3;
      assertEquals(
          new BatchPiece(
              slice,
              1,
              new Region(300 * array + 10 * part, 10, 30, 10),
              new Region(300 * array + 100 * part, 100, 300, 1)),
          pieces.get(i));
    }
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> BatchPiece.cut(large, 1, 9));
    assertTrue(refused.getMessage().contains("the thinnest have 10"), refused.getMessage());
  }

  @Test
  void allArraysOfABatchAreOneOperationAStep() {
    BlockProgram program =
        program(
            Shape.of(8, 6),
            ElementType.INT16,
            new Pad(Shape.of(10, 6), List.of(1L, 0L)),
            new Permute(swap()),
            new Roll(List.of(0L, 3L)));
    BatchPiece piece = BatchPiece.cut(program, 1000, 1 << 20).get(0);
    DeviceProgram plan = piece.plan();
    assertEquals(
        List.of(Moves.class, Reorder.class, Moves.class),
        plan.steps().stream().map(step -> (Object) step.operation().getClass()).toList());
    assertEquals(Shape.of(1000, 6, 10), plan.steps().get(2).operation().after().shape());
    assertEquals(1, ((Moves) plan.steps().get(0).operation()).moves().size());
    assertEquals(2, ((Moves) plan.steps().get(2).operation()).moves().size());
    assertEquals(List.of(120_000L, 120_000L), plan.buffers());
    assertEquals(0, plan.vectorBytes());
  }

  @Test
  void piecesTogetherDoWhatTheArraysDo() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      BlockProgram program = randomProgram(random);
      int count = 1 + random.nextInt(5);
      long thinnest = ProgramSlices.thinnestBytes(program);
      long all = count * ProgramSlices.planeBytes(program);
      long mostBytes = thinnest + random.nextInt(Math.toIntExact(all));
      int inBytes = (int) program.input().bytes();
      int outBytes = (int) program.output().bytes();
      byte[] in = new byte[count * inBytes];
      random.nextBytes(in);
      byte[] expected = new byte[count * outBytes];
      for (int i = 0; i < count; i++) {
        byte[] array = Arrays.copyOfRange(in, i * inBytes, (i + 1) * inBytes);
        List<byte[]> result = ExactPlanes.result(program, List.of(List.of(array)).iterator());
        System.arraycopy(result.get(0), 0, expected, i * outBytes, outBytes);
      }
      byte[] found = new byte[expected.length];
      List<BatchPiece> pieces = BatchPiece.cut(program, count, mostBytes);
      List<Long> buffers = BatchLanes.largest(pieces);
      for (BatchPiece piece : pieces) {
        assertTrue(piece.from().bytes() <= mostBytes, "seed " + seed);
        byte[] dense = gather(piece.from(), in);
        scatter(PlayedProgram.result(piece.plan(), buffers, List.of(dense)), piece.to(), found);
      }
      assertTrue(buffers.size() <= 2, "seed " + seed + ": buffers " + buffers);
      assertTrue(buffers.stream().allMatch(each -> each <= mostBytes), "seed " + seed);
      assertArrayEquals(expected, found, "seed " + seed + ", round " + round + ": " + program);
    }
  }

  private static byte[] gather(Region region, byte[] plane) {
    byte[] dense = new byte[Math.toIntExact(region.bytes())];
    for (int row = 0; row < region.rows(); row++) {
      HostMemory.ofArray(plane)
          .slice(region.startBytes() + row * region.pitchBytes(), region.rowBytes())
          .copyTo(HostMemory.ofArray(dense).slice(row * region.rowBytes(), region.rowBytes()));
    }
    return dense;
  }

  private static void scatter(byte[] dense, Region region, byte[] plane) {
    for (int row = 0; row < region.rows(); row++) {
      HostMemory.ofArray(dense)
          .slice(row * region.rowBytes(), region.rowBytes())
          .copyTo(
              HostMemory.ofArray(plane)
                  .slice(region.startBytes() + row * region.pitchBytes(), region.rowBytes()));
    }
  }

  private static BlockProgram randomProgram(Random random) {
    int rank = 1 + random.nextInt(3);
    long[] extents = new long[rank];
    Arrays.setAll(extents, axis -> 1 + random.nextInt(rank == 1 ? 300 : rank == 2 ? 40 : 12));
    Shape shape = Shape.of(extents);
    ElementType type = ElementType.values()[random.nextInt(ElementType.values().length)];
    State state = new State(shape, type, false);
    List<BlockStep> steps = new ArrayList<>();
    for (int i = random.nextInt(5); i > 0; i--) {
      BlockStep step = randomStep(state, random);
      steps.add(step);
      state = step.after(state);
    }
    return new BlockProgram(shape, type, false, steps);
  }

  private static BlockStep randomStep(State state, Random random) {
    Shape shape = state.shape();
    int rank = shape.rank();
    List<Long> numbers = new ArrayList<>();
    long[] other = shape.toArray();
    switch (random.nextInt(6)) {
      case 4 -> { // to another type and width
        ElementType to = ElementType.values()[random.nextInt(ElementType.values().length)];
        return ElementwiseBlock.of(
            new ElementwiseProgram(
                rank,
                List.of(ElementwiseProgram.Input.of(state.type(), false)),
                List.of(),
                List.of(
                    new Instruction.Load(0, 0),
                    new Instruction.Binary(BinaryFunction.ADD, 0, 0),
                    new Instruction.Cast(to, 1)),
                List.of(ElementwiseProgram.Output.real(2))),
            List.of());
      }
      case 0 -> {
        List<Integer> axes = new ArrayList<>();
        for (int axis = 0; axis < rank; axis++) {
          axes.add(random.nextInt(axes.size() + 1), axis);
        }
        return new Permute(Permutation.of(axes.stream().mapToInt(Integer::intValue).toArray()));
      }
      case 1 -> {
        for (int axis = 0; axis < rank; axis++) {
          long more = random.nextBoolean() ? 0 : random.nextInt(4);
          other[axis] += more;
          numbers.add((long) random.nextInt((int) more + 1));
        }
        return new Pad(Shape.of(other), numbers);
      }
      case 2 -> {
        for (int axis = 0; axis < rank; axis++) {
          long less = random.nextBoolean() ? 0 : random.nextInt((int) other[axis]);
          other[axis] -= less;
          numbers.add((long) random.nextInt((int) less + 1));
        }
        return OracleArray.crop(Shape.of(other), numbers);
      }
      case 3 -> {
        List<AxisRange> ranges = new ArrayList<>();
        for (long extent : other) {
          long count = 1L + random.nextInt((int) (extent + 1) / 2);
          ranges.add(
              switch (random.nextInt(3)) {
                case 0 -> AxisRange.all(extent);
                case 1 -> new AxisRange(extent - 1, -1, count);
                default -> new AxisRange((extent - 1) % 2, 2, (extent + 1) / 2);
              });
        }
        return new Slice(ranges);
      }
      default -> {
        for (int axis = 0; axis < rank; axis++) {
          numbers.add(random.nextBoolean() ? 0L : random.nextInt(9) - 4L);
        }
        return new Roll(numbers);
      }
    }
  }

  private static BlockProgram program(Shape shape, ElementType type, BlockStep... steps) {
    return new BlockProgram(shape, type, false, List.of(steps));
  }

  private static Permutation swap() {
    return Permutation.of(1, 0);
  }
}
