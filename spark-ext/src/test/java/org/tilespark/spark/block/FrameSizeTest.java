package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigInteger;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.Shape;

class FrameSizeTest {
  /** Five columns, one of them an array of DOUBLE: 48 bytes and the values. */
  private static final RowBytes ROW = new RowBytes(5, 1, 8);

  @Test
  void rowsAndBytesOfArrays() {
    FrameSize size =
        FrameSize.ofArrays(number(3), Shape.of(10, 7), Optional.of(Shape.of(4, 7)), ROW);
    assertEquals(Optional.of(number(9)), size.rows());
    assertEquals(number(9 * 48 + 3 * 70 * 8), size.bytes());
    assertEquals(Optional.of(3 * 70 * 8 / 9L), size.arrayBytes(ROW));
  }

  @Test
  void blocksLargerThanTheArray() {
    FrameSize size =
        FrameSize.ofArrays(number(1), Shape.of(3, 2), Optional.of(Shape.of(1024, 1)), ROW);
    assertEquals(Optional.of(number(2)), size.rows());
  }

  @Test
  void withoutAShapeOfBlocks() {
    FrameSize size = FrameSize.ofArrays(number(2), Shape.of(10, 7), Optional.empty(), ROW);
    assertEquals(Optional.empty(), size.rows());
    assertEquals(number(2 * 48 + 2 * 70 * 8), size.bytes());
    assertEquals(Optional.empty(), size.arrayBytes(ROW));
  }

  @Test
  void ofNothing() {
    FrameSize size =
        FrameSize.ofArrays(number(1), Shape.of(0, 7), Optional.of(Shape.of(0, 7)), ROW);
    assertEquals(Optional.of(number(0)), size.rows());
    assertEquals(number(1), size.bytes());
    assertEquals(Optional.empty(), size.arrayBytes(ROW));
    assertEquals(number(500), FrameSize.arrays(number(500), Shape.of(0, 7), ROW));
    assertEquals(number(1), FrameSize.arrays(number(0), Shape.of(5, 7), ROW));
  }

  @Test
  void arraysInAFrame() {
    assertEquals(number(4), FrameSize.arrays(number(4 * 280 + 100), Shape.of(5, 7), ROW));
    RowBytes complex = new RowBytes(8, 2, 4);
    assertEquals(number(4), FrameSize.arrays(number(4 * 280 + 100), Shape.of(5, 7), complex));
  }

  @Test
  void beyondWhatALongHolds() {
    Shape large = Shape.of(1L << 31, 1L << 31); // 2^62 elements, 2^65 bytes
    FrameSize size =
        FrameSize.ofArrays(number(Long.MAX_VALUE), large, Optional.of(Shape.of(1, 1)), ROW);
    BigInteger rows = number(Long.MAX_VALUE).shiftLeft(62);
    assertEquals(Optional.of(rows), size.rows());
    assertEquals(rows.multiply(number(56)), size.bytes());
    assertEquals(Optional.of(8L), size.arrayBytes(ROW));
    FrameSize oneRow = FrameSize.ofArrays(number(1), large, Optional.of(large), ROW);
    assertEquals(Optional.of(Long.MAX_VALUE), oneRow.arrayBytes(ROW));
    assertEquals(number(1), FrameSize.arrays(number(Long.MAX_VALUE), large, ROW));
  }

  @Test
  void scaled() {
    FrameSize size = new FrameSize(number(Long.MAX_VALUE), Optional.of(number(6))).scaled(16, 4);
    assertEquals(number(Long.MAX_VALUE).shiftLeft(2), size.bytes());
    assertEquals(Optional.of(number(6)), size.rows());
    assertEquals(number(1), new FrameSize(number(3), Optional.empty()).scaled(1, 4).bytes());
  }

  private static BigInteger number(long value) {
    return BigInteger.valueOf(value);
  }
}
