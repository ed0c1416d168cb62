package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** Axis, thickness and places of the slices of a large plane, on both sides. */
class ProgramSlicesTest {
  @ParameterizedTest(name = "{0} {1} {2}, at most {3}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # shape       | steps       | type  | most     | axis | thick   | count | from: start, row, pitch, rows | to
          # A matrix goes up in whole rows and comes down in parts of rows, or the other way round.
          8192,8192     | 1,0         | INT32 | 33554432 | 0    | 1024    | 8     | 33554432,33554432,268435456,1 | 4096,4096,32768,8192
          2,33554432    | 1,0         | INT32 | 67108864 | 1    | 8388608 | 4     | 33554432,33554432,134217728,2 | 67108864,67108864,268435456,1
          33554432,2    | 1,0         | INT32 | 67108864 | 0    | 8388608 | 4     | 67108864,67108864,268435456,1 | 33554432,33554432,134217728,2
          # Volumes: long rows on both sides.
          512,512,512   | 0,2,1       | INT32 | 67108864 | 0    | 64      | 8     | 67108864,67108864,536870912,1 | 67108864,67108864,536870912,1
          512,512,512   | 2,1,0       | INT32 | 67108864 | 1    | 64      | 8     | 131072,131072,1048576,512     | 131072,131072,1048576,512
          512,512,512   | 1,2,0       | INT32 | 67108864 | 1    | 64      | 8     | 131072,131072,1048576,512     | 67108864,67108864,536870912,1
          512,512,512   | 2,0,1       | INT32 | 67108864 | 0    | 64      | 8     | 67108864,67108864,536870912,1 | 131072,131072,1048576,512
          512,512,512   | 1,0,2       | INT32 | 67108864 | 0    | 64      | 8     | 67108864,67108864,536870912,1 | 131072,131072,1048576,512
          # What counts is the permutation of all steps together.
          512,512,512   | 1,2,0;1,2,0 | INT32 | 67108864 | 0    | 64      | 8     | 67108864,67108864,536870912,1 | 131072,131072,1048576,512
          512,512       | 1,0;1,0     | INT64 | 524288   | 0    | 128     | 4     | 524288,524288,2097152,1       | 524288,524288,2097152,1
          # Even slices; thick ones of whole 64 elements.
          1000,10       | 1,0         | INT64 | 8000     | 0    | 64      | 16    | 5120,5120,80000,1             | 512,512,8000,10
          10,1000       | 1,0         | INT32 | 12000    | 1    | 256     | 4     | 1024,1024,4000,10             | 10240,10240,40000,1
          7,5           | 0,1         | INT8  | 15       | 0    | 3       | 3     | 15,15,35,1                    | 15,15,35,1
          """)
  void cutsAlongTheAxisWithTheLongestRows(
      String shape,
      String steps,
      ElementType type,
      long mostBytes,
      int axis,
      long thickness,
      int count,
      String from,
      String to) {
    List<BlockStep> permutes = new ArrayList<>();
    for (String order : steps.split(";", -1)) {
      permutes.add(
          new Permute(
              Permutation.of(Arrays.stream(longs(order)).mapToInt(Math::toIntExact).toArray())));
    }
    BlockProgram program = new BlockProgram(Shape.of(longs(shape)), type, false, permutes);
    ProgramSlices slices = ProgramSlices.cut(program, mostBytes).orElseThrow();
    assertEquals(axis, slices.axis(), "axis");
    assertEquals(thickness, slices.thickness(), "thickness");
    assertEquals(count, slices.count(), "count");
    BatchPiece second = slices.slice(1);
    assertEquals(region(from), second.from());
    assertEquals(region(to), second.to());
    long bytes = 0;
    for (BatchPiece slice : slices.slices()) {
      assertTrue(slice.from().bytes() <= mostBytes);
      assertEquals(slice.program().input().bytes(), slice.from().bytes());
      assertEquals(slice.program().output().bytes(), slice.to().bytes());
      assertEquals(program.steps(), slice.program().steps());
      bytes += slice.from().bytes();
    }
    assertEquals(program.input().bytes(), bytes);
  }

  /** Steps that grow, shrink or turn an axis need it whole; the largest state counts. */
  @Test
  void stepsThatNeedAnAxisWhole() {
    BlockProgram padded =
        program(
            Shape.of(100, 40, 10),
            new Permute(Permutation.parse("yxz")),
            new Pad(Shape.of(50, 100, 10), List.of(5L, 0L, 0L)));
    assertEquals(50 * 10, ProgramSlices.thinnestBytes(padded));
    assertEquals(100 * 50 * 10, ProgramSlices.planeBytes(padded));
    ProgramSlices slices = ProgramSlices.cut(padded, 10 * 50 * 10).orElseThrow();
    assertEquals(0, slices.axis());
    assertEquals(10, slices.thickness());
    BatchPiece third = slices.slice(2);
    assertEquals(new Region(2 * 10 * 400, 4000, 40000, 1), third.from());
    assertEquals(new Region(2 * 100, 100, 1000, 50), third.to());
    assertEquals(Shape.of(50, 10, 10), third.program().output().shape());
    BlockProgram cropped =
        program(Shape.of(9, 8, 7), OracleArray.crop(Shape.of(9, 3, 7), List.of(0L, 4L, 0L)));
    BatchPiece slice = ProgramSlices.cut(cropped, 2 * 56).orElseThrow().slice(1);
    assertEquals(new Region(2 * 56, 112, 504, 1), slice.from());
    assertEquals(new Region(2 * 21, 42, 189, 1), slice.to());
    assertEquals(
        List.of(OracleArray.crop(Shape.of(2, 3, 7), List.of(0L, 4L, 0L))), slice.program().steps());
    Slice backwards =
        new Slice(List.of(new AxisRange(5, -1, 6), AxisRange.all(5), new AxisRange(0, 2, 2)));
    assertEquals(
        1, ProgramSlices.cut(program(Shape.of(6, 5, 4), backwards), 30).orElseThrow().axis());
    BlockProgram rolled = program(Shape.of(6, 5, 4), new Roll(List.of(2L, 0L, 1L)));
    assertEquals(1, ProgramSlices.cut(rolled, 30).orElseThrow().axis());
  }

  @Test
  void nothingToCutAlong() {
    BlockProgram rolled = program(Shape.of(6, 5), new Roll(List.of(2L, 1L)));
    assertEquals(30, ProgramSlices.thinnestBytes(rolled));
    assertEquals(Optional.empty(), ProgramSlices.cut(rolled, 29));
    BlockProgram permuted = program(Shape.of(30, 40, 20), new Permute(Permutation.parse("zxy")));
    assertEquals(30 * 20, ProgramSlices.thinnestBytes(permuted));
    assertEquals(40, ProgramSlices.cut(permuted, 600).orElseThrow().count());
    assertEquals(Optional.empty(), ProgramSlices.cut(permuted, 599));
  }

  @Test
  void aPlaneThatFitsIsOneSlice() {
    BlockProgram program = program(Shape.of(100, 70), new Permute(Permutation.of(1, 0)));
    ProgramSlices slices = ProgramSlices.cut(program, 7000).orElseThrow();
    assertEquals(1, slices.count());
    assertEquals(Region.of(0, 7000), slices.slice(0).from());
    assertEquals(Region.of(0, 7000), slices.slice(0).to());
  }

  private static BlockProgram program(Shape shape, BlockStep... steps) {
    return new BlockProgram(shape, ElementType.INT8, false, List.of(steps));
  }

  private static Region region(String text) {
    long[] numbers = longs(text);
    return new Region(numbers[0], numbers[1], numbers[2], numbers[3]);
  }

  private static long[] longs(String text) {
    return Arrays.stream(text.split(",", -1)).mapToLong(t -> Long.parseLong(t.trim())).toArray();
  }
}
