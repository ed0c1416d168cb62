package org.tilespark.arrow.blocks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/** Along which axis a large block is cut, how thick, and where the slices lie on both sides. */
class BlockSlicesTest {
  @ParameterizedTest(name = "{0} {1} width {2}, at most {3}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # shape       | steps       | width | most     | axis | thick   | count | from: start, row, pitch, rows | to
          # A matrix goes up in whole rows and comes down in parts of rows, or the other way round.
          8192,8192     | 1,0         | 4     | 33554432 | 0    | 1024    | 8     | 33554432,33554432,268435456,1 | 4096,4096,32768,8192
          2,33554432    | 1,0         | 4     | 67108864 | 1    | 8388608 | 4     | 33554432,33554432,134217728,2 | 67108864,67108864,268435456,1
          33554432,2    | 1,0         | 4     | 67108864 | 0    | 8388608 | 4     | 67108864,67108864,268435456,1 | 33554432,33554432,134217728,2
          # Volumes: long rows on both sides.
          512,512,512   | 0,2,1       | 4     | 67108864 | 0    | 64      | 8     | 67108864,67108864,536870912,1 | 67108864,67108864,536870912,1
          512,512,512   | 2,1,0       | 4     | 67108864 | 1    | 64      | 8     | 131072,131072,1048576,512     | 131072,131072,1048576,512
          512,512,512   | 1,2,0       | 4     | 67108864 | 1    | 64      | 8     | 131072,131072,1048576,512     | 67108864,67108864,536870912,1
          512,512,512   | 2,0,1       | 4     | 67108864 | 0    | 64      | 8     | 67108864,67108864,536870912,1 | 131072,131072,1048576,512
          512,512,512   | 1,0,2       | 4     | 67108864 | 0    | 64      | 8     | 67108864,67108864,536870912,1 | 131072,131072,1048576,512
          # What counts is the permutation of all steps together.
          512,512,512   | 1,2,0;1,2,0 | 4     | 67108864 | 0    | 64      | 8     | 67108864,67108864,536870912,1 | 131072,131072,1048576,512
          512,512       | 1,0;1,0     | 8     | 524288   | 0    | 128     | 4     | 524288,524288,2097152,1       | 524288,524288,2097152,1
          # Even slices; thick ones of whole 64 elements.
          1000,10       | 1,0         | 8     | 8000     | 0    | 64      | 16    | 5120,5120,80000,1             | 512,512,8000,10
          10,1000       | 1,0         | 4     | 12000    | 1    | 256     | 4     | 1024,1024,4000,10             | 10240,10240,40000,1
          7,5           | 0,1         | 1     | 15       | 0    | 3       | 3     | 15,15,35,1                    | 15,15,35,1
          """)
  void cutsAlongTheAxisWithTheLongestRows(
      String shape,
      String steps,
      int width,
      long mostBytes,
      int axis,
      long thickness,
      int count,
      String from,
      String to) {
    TransposeChain chain = chain(shape, steps, width);
    BlockSlices slices = BlockSlices.cut(chain, mostBytes);
    assertEquals(axis, slices.axis(), "axis");
    assertEquals(thickness, slices.thickness(), "thickness");
    assertEquals(count, slices.count(), "count");
    BlockSlices.Slice second = slices.slice(1);
    assertEquals(region(from), second.from());
    assertEquals(region(to), second.to());
    long bytes = 0;
    for (int i = 0; i < count; i++) {
      BlockSlices.Slice slice = slices.slice(i);
      assertTrue(slice.chain().bytes() <= mostBytes);
      assertEquals(slice.chain().bytes(), slice.from().bytes());
      assertEquals(slice.chain().bytes(), slice.to().bytes());
      assertEquals(chain.permutations(), slice.chain().permutations());
      bytes += slice.chain().bytes();
    }
    assertEquals(chain.bytes(), bytes);
  }

  @Test
  void aBlockThatFitsIsOneSlice() {
    BlockSlices slices = BlockSlices.cut(chain("100,70", "1,0", 2), 14000);
    assertEquals(1, slices.count());
    assertEquals(Region.of(0, 14000), slices.slice(0).from());
    assertEquals(Region.of(0, 14000), slices.slice(0).to());
  }

  @Test
  void thinnerThanOneElementIsRefused() {
    TransposeChain chain = chain("30,40,20", "2,0,1", 4);
    assertEquals(30 * 20 * 4, BlockSlices.thinnestBytes(chain));
    assertEquals(40, BlockSlices.cut(chain, 30 * 20 * 4).count());
    Exception e =
        assertThrows(IllegalArgumentException.class, () -> BlockSlices.cut(chain, 30 * 20 * 4 - 1));
    assertEquals(
        "A block of shape (30, 40, 20) of 4-byte elements has no slices of at most 2399 bytes; the"
            + " thinnest have 2400",
        e.getMessage());
  }

  private static TransposeChain chain(String shape, String steps, int width) {
    List<Permutation> permutations =
        Arrays.stream(steps.split(";", -1))
            .map(s -> Permutation.of(Arrays.stream(longs(s)).mapToInt(Math::toIntExact).toArray()))
            .toList();
    return TransposeChain.of(Shape.of(longs(shape)), permutations, width);
  }

  private static Region region(String text) {
    long[] numbers = longs(text);
    return new Region(numbers[0], numbers[1], numbers[2], numbers[3]);
  }

  private static long[] longs(String text) {
    return Arrays.stream(text.split(",", -1)).mapToLong(t -> Long.parseLong(t.trim())).toArray();
  }
}
