package org.tilespark.spark.block;

import java.util.function.LongUnaryOperator;

/**
 * Bytes of one row of blocks in a shuffle, as Spark's metric {@code data size} counts them: 8 bytes
 * for each column, 8 for each 64 columns, and for each array its count, one null bit for each
 * element, and the elements, rounded up to whole words. Text and other columns of variable length
 * come on top.
 *
 * @param columns number of columns of a row
 * @param planes number of arrays of values among the columns
 * @param elementBytes bytes of one element
 */
public record RowBytes(int columns, int planes, int elementBytes) implements LongUnaryOperator {
  private static final int WORD_BYTES = 8;

  /** Bytes of a row whose arrays have {@code elements} elements. */
  @Override
  public long applyAsLong(long elements) {
    return withoutValues() + planes * array(elements, elementBytes);
  }

  /** Bytes of a row without its arrays of values. */
  public long withoutValues() {
    return WORD_BYTES * ((columns + 63L) / 64 + columns);
  }

  /** Bytes of one array of {@code elements} elements. */
  public static long array(long elements, int elementBytes) {
    long bytes =
        WORD_BYTES * (1 + elements / 64 + (elements % 64 == 0 ? 0 : 1)) + elements * elementBytes;
    return (bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
  }
}
