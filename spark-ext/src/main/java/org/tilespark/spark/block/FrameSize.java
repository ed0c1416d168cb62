package org.tilespark.spark.block;

import java.math.BigInteger;
import java.util.Optional;
import org.tilespark.layout.Shape;

/**
 * The estimated size of a frame of blocks before it is computed. Numbers have no bound, since
 * extents that a user states may have any product.
 *
 * @param bytes bytes of all rows of the frame in memory, at least 1
 * @param rows number of rows; empty if the blocks' shape is unknown
 */
public record FrameSize(BigInteger bytes, Optional<BigInteger> rows) {
  /** Raises the bytes to at least 1, since Spark multiplies and divides by them. */
  public FrameSize {
    bytes = bytes.max(BigInteger.ONE);
  }

  /**
   * The size of arrays of one shape, each in blocks of one shape.
   *
   * @param blockShape shape of a full block; empty if it is unknown; then each array counts as one
   *     block
   */
  public static FrameSize ofArrays(
      BigInteger arrays, Shape extents, Optional<Shape> blockShape, RowBytes row) {
    BigInteger blocks = BigInteger.ONE;
    for (int axis = 0; axis < extents.rank(); axis++) {
      long extent = extents.extent(axis);
      long block = blockShape.isPresent() ? blockShape.get().extent(axis) : extent;
      long parts =
          block <= 0 ? Math.min(extent, 1) : extent / block + (extent % block == 0 ? 0 : 1);
      blocks = blocks.multiply(BigInteger.valueOf(parts));
    }
    BigInteger rows = arrays.multiply(blocks);
    return new FrameSize(
        rows.multiply(BigInteger.valueOf(row.withoutValues()))
            .add(arrays.multiply(valueBytes(extents, row))),
        blockShape.map(shape -> rows));
  }

  /** Bytes of the values of one array, real and imaginary parts together. */
  public static BigInteger valueBytes(Shape extents, RowBytes row) {
    BigInteger bytes =
        BigInteger.valueOf(row.planes()).multiply(BigInteger.valueOf(row.elementBytes()));
    for (long extent : extents.toArray()) {
      bytes = bytes.multiply(BigInteger.valueOf(extent));
    }
    return bytes;
  }

  /** The number of arrays of one shape in a frame of {@code bytes} bytes, at least 1. */
  public static BigInteger arrays(BigInteger bytes, Shape extents, RowBytes row) {
    return bytes.divide(valueBytes(extents, row).max(BigInteger.ONE)).max(BigInteger.ONE);
  }

  /**
   * This size with its bytes multiplied by {@code bytesThen} and divided by {@code ofBytes}; rows
   * are unchanged.
   */
  public FrameSize scaled(long bytesThen, long ofBytes) {
    return new FrameSize(
        bytes.multiply(BigInteger.valueOf(bytesThen)).divide(BigInteger.valueOf(ofBytes)), rows);
  }

  /**
   * Bytes of one array of values (real or imaginary parts) in a row, on average; 2^63 - 1 at most.
   *
   * @return empty if the number of rows is not known, or 0
   */
  public Optional<Long> arrayBytes(RowBytes row) {
    return rows.filter(count -> count.signum() > 0 && row.planes() > 0)
        .map(
            count ->
                bytes
                    .divide(count)
                    .subtract(BigInteger.valueOf(row.withoutValues()))
                    .max(BigInteger.ZERO)
                    .divide(BigInteger.valueOf(row.planes()))
                    .min(BigInteger.valueOf(Long.MAX_VALUE))
                    .longValueExact());
  }
}
