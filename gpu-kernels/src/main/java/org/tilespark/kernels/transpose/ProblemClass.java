package org.tilespark.kernels.transpose;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A class of two-dimensional transposes for which the same {@link Tiling} is the fastest: they have
 * the same width and alignment, and about the same extents and amount of data. Written as {@code
 * vector w4 16384 x 512- of 2^28}.
 *
 * @param aligned true for {@link TransposeStrategy.Vector}, false for {@link
 *     TransposeStrategy.Shifted}
 * @param elementBytes width of an element as moved
 * @param rows number of rows, rounded up: to a multiple of 16 up to 256, beyond to a power of two,
 *     at most {@value #MOST_EXTENT}
 * @param cols number of columns, rounded likewise
 * @param ragged bit 0 if the rows are more than 256 and no multiple of 64, bit 1 likewise for
 *     columns; rows then are not aligned and edge tiles are partial. Written as a minus after the
 *     extent
 * @param logBytes logarithm to base 2 of the bytes of all matrices, rounded up, at most {@value
 *     #MOST_LOG_BYTES}
 */
public record ProblemClass(
    boolean aligned, int elementBytes, long rows, long cols, int ragged, int logBytes) {
  private static final int MOST_EXTENT = 1 << 16;
  private static final int MOST_LOG_BYTES = 28;

  private static final Pattern TEXT =
      Pattern.compile(
          "(vector|shifted) w(1|2|4|8|16) (\\d{1,5})(-?) x (\\d{1,5})(-?) of 2\\^(\\d{1,2})");

  /** The class of the matrices that {@code strategy} transposes. */
  static ProblemClass of(TransposeStrategy.Tiled strategy) {
    return of(strategy.matrices(), strategy instanceof TransposeStrategy.Vector);
  }

  /** The class of {@code matrices}. */
  static ProblemClass of(MatrixBatch matrices, boolean aligned) {
    long bytes =
        Math.multiplyExact(
            Math.multiplyExact(matrices.rows(), matrices.cols()),
            Math.multiplyExact(matrices.count(), (long) matrices.elementBytes()));
    return new ProblemClass(
        aligned,
        matrices.elementBytes(),
        rounded(matrices.rows()),
        rounded(matrices.cols()),
        (isRagged(matrices.rows()) ? 1 : 0) | (isRagged(matrices.cols()) ? 2 : 0),
        Math.min(MOST_LOG_BYTES, ceilLog2(bytes)));
  }

  private static long rounded(long extent) {
    return extent <= 256 ? (extent + 15) / 16 * 16 : Math.min(MOST_EXTENT, 1L << ceilLog2(extent));
  }

  private static boolean isRagged(long extent) {
    return extent > 256 && extent % 64 != 0;
  }

  private static int ceilLog2(long value) {
    return value <= 1 ? 0 : Long.SIZE - Long.numberOfLeadingZeros(value - 1);
  }

  /**
   * The class written as {@code text}.
   *
   * @throws IllegalArgumentException if the text has another form; the message quotes it
   */
  static ProblemClass parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "Problem class '" + text + "'; expected one like 'vector w4 16384 x 512 of 2^28'");
    }
    return new ProblemClass(
        matcher.group(1).equals("vector"),
        Integer.parseInt(matcher.group(2)),
        Long.parseLong(matcher.group(3)),
        Long.parseLong(matcher.group(5)),
        matcher.group(4).length() + 2 * matcher.group(6).length(),
        Integer.parseInt(matcher.group(7)));
  }

  @Override
  public String toString() {
    return "%s w%s %s%s x %s%s of 2^%s"
        .formatted(
            aligned ? "vector" : "shifted",
            elementBytes,
            rows,
            (ragged & 1) == 0 ? "" : "-",
            cols,
            (ragged & 2) == 0 ? "" : "-",
            logBytes);
  }
}
