package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.layout.Shape;

class UsualShapeTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        // strips of one row on both sides: single elements become blocks of 8 MiB
        "100000, 100000; 1, 1; 8; 1024, 1024",
        "100000, 100000; 1, 1; 4; 2048, 1024",
        // strips of 8 MiB on both sides: as large a block of the product
        "1000000, 1000000; 8192, 8192; 4; 1024, 2048",
        "1000000, 1000000; 131072, 131072; 4; 1024, 2048",
        // what is neither small nor large stays, ragged or not
        "10000, 10000; 512, 512; 4; 512, 512",
        "10000, 10000; 1000, 300; 8; 1000, 300",
        "10000, 10000; 1024, 1024; 8; 1024, 1024",
        // few small blocks stay
        "20, 24; 4, 4; 8; 4, 4",
        "100, 1; 2, 1; 8; 2, 1",
        // many do not, but tasks still have some each
        "1000, 1000; 1, 1; 8; 128, 128",
        "100000, 10; 1, 10; 8; 2048, 10",
        // one long axis, whatever the other is
        "1, 100000000; 1, 10; 8; 1, 655360",
        "100, 200; 1000, 1000; 8; 100, 200",
        // of a volume the shortest axis first
        "4096, 4096, 4096; 1, 16, 4096; 4; 32, 16, 4096",
        "1000, 1000, 1000; 10, 10, 10; 8; 160, 80, 80",
        "0, 5; 3, 3; 8; 1, 3",
      })
  void followsBytes(String extents, String like, long elementBytes, String expected) {
    assertEquals(
        shape(expected),
        UsualShape.of(shape(extents), shape(like), elementBytes, UsualShape.BYTES));
  }

  @Test
  void keepsBlocksThatAreAsLargeAsAllowed() {
    Shape extents = Shape.of(100_000, 100_000);
    Shape like = Shape.of(2048, 2048);
    assertEquals(like, UsualShape.of(extents, like, 8, 32 << 20));
    assertEquals(Shape.of(1024, 2048), UsualShape.of(extents, like, 8, 16 << 20));
  }

  /** No shape at all makes too many blocks, and none is too large but for that reason. */
  @Test
  void isAlwaysSane() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int round = 0; round < 10_000; round++) {
      Shape extents = Shape.of(1 + random.nextLong(1L << 22), 1 + random.nextLong(1L << 22));
      Shape like = Shape.of(1 + random.nextInt(1 << 20), 1 + random.nextInt(1 << 20));
      Shape shape = UsualShape.of(extents, like, 8, UsualShape.BYTES);
      long count = 1;
      for (int axis = 0; axis < 2; axis++) {
        count *= Ceil.div(extents.extent(axis), shape.extent(axis));
      }
      String found = "%s like %s: %s (seed %d)".formatted(extents, like, shape, seed);
      assertTrue(count <= UsualShape.MOST_BLOCKS, found);
      assertTrue(
          8 * shape.elements() <= UsualShape.BYTES || count > UsualShape.MOST_BLOCKS / 4, found);
      assertTrue(8 * shape.elements() >= UsualShape.BYTES / 16 || count <= 64, found);
    }
  }

  @Test
  void aMillionBlocksAreEnough() {
    Shape extents = Shape.of(1L << 20, 1000);
    assertDoesNotThrow(
        () -> UsualShape.requireFew("multiply", "blockShape", extents, Shape.of(1, 1000), 8));
    assertEquals(
        "multiply: blockShape: blocks of (1, 999) cut the result of (1048576, 1000) into 2097152"
            + " blocks; expected at most 1048576. Blocks of (1024, 999), for one, would be 2048",
        assertThrows(
                IllegalArgumentException.class,
                () -> UsualShape.requireFew("multiply", "blockShape", extents, Shape.of(1, 999), 8))
            .getMessage());
  }

  private static Shape shape(String text) {
    return Shape.parse("shape", text, text.split(",").length);
  }
}
