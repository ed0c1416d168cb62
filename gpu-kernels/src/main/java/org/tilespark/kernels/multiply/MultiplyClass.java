package org.tilespark.kernels.multiply;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.layout.ElementType;

/**
 * A class of products for which the same {@link MultiplyWay} is the fastest: they have the same
 * element type, precision and storage of operands, and about the same extents and alignment.
 * Written as {@code float32 NT 1024 x 512- x 16384}: M x K x N; a minus after the first, second or
 * third extent says that the rows of A, B or C begin unevenly. For float32 elements, a precision
 * other than FULL replaces the type: {@code tf32}, {@code bfloat16} or {@code float16}.
 *
 * @param type element type
 * @param precision precision of the computation
 * @param transposeA true if A is stored transposed
 * @param transposeB true if B is stored transposed
 * @param extents M, K and N, each rounded up to a power of two, at most {@value #MOST_EXTENT}
 * @param uneven bit 0 if rows of A, bit 1 if those of B, bit 2 if those of C do not all begin at
 *     multiples of 16 bytes from the first, which rules out the widest accesses
 */
public record MultiplyClass(
    ElementType type,
    Precision precision,
    boolean transposeA,
    boolean transposeB,
    Extents extents,
    int uneven) {
  /** The way to read tables of ways to multiply. */
  public static final TuningTable.Format<MultiplyClass, MultiplyWay> FORMAT =
      new TuningTable.Format<>("products", MultiplyClass::parse, MultiplyWay::new);

  private static final int MOST_EXTENT = 1 << 16;
  private static final int ALIGNMENT_BYTES = 16;
  private static final Pattern TEXT =
      Pattern.compile(
          "(float32|float64|tf32|bfloat16|float16)"
              + " ([NT])([NT]) (\\d{1,5})(-?) x (\\d{1,5})(-?) x (\\d{1,5})(-?)");

  /**
   * The class of a problem. Batches have no class: the rule decides for them.
   *
   * @throws IllegalArgumentException if the problem is of several products
   */
  public static MultiplyClass of(MultiplyProblem problem) {
    if (problem.batch().count() != 1) {
      throw new IllegalArgumentException(
          "Class of " + problem.batch().count() + " products; expected one, batches go by rule");
    }
    int width = problem.type().bytes();
    return new MultiplyClass(
        problem.type(),
        problem.precision(),
        problem.a().transposed(),
        problem.b().transposed(),
        new Extents(rounded(problem.m()), rounded(problem.k()), rounded(problem.n())),
        (isUneven(problem.a().lead() * width) ? 1 : 0)
            | (isUneven(problem.b().lead() * width) ? 2 : 0)
            | (isUneven(problem.leadC() * width) ? 4 : 0));
  }

  private static long rounded(long extent) {
    return extent <= 1
        ? 1
        : extent > MOST_EXTENT / 2
            ? MOST_EXTENT
            : 1L << (Long.SIZE - Long.numberOfLeadingZeros(extent - 1));
  }

  private static boolean isUneven(long rowBytes) {
    return rowBytes % ALIGNMENT_BYTES != 0;
  }

  /**
   * The class written as {@code text}.
   *
   * @throws IllegalArgumentException if the text has another form; the message quotes it
   */
  static MultiplyClass parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "Class of products '" + text + "'; expected one like 'float32 NT 1024 x 512- x 16384'");
    }
    String kind = matcher.group(1).toUpperCase(Locale.ROOT);
    boolean isType = kind.equals("FLOAT32") || kind.equals("FLOAT64");
    return new MultiplyClass(
        isType ? ElementType.valueOf(kind) : ElementType.FLOAT32,
        isType ? Precision.FULL : Precision.valueOf(kind),
        matcher.group(2).equals("T"),
        matcher.group(3).equals("T"),
        new Extents(
            Long.parseLong(matcher.group(4)),
            Long.parseLong(matcher.group(6)),
            Long.parseLong(matcher.group(8))),
        matcher.group(5).length() + 2 * matcher.group(7).length() + 4 * matcher.group(9).length());
  }

  @Override
  public String toString() {
    return "%s %s%s %s%s x %s%s x %s%s"
        .formatted(
            (precision == Precision.FULL ? type.name() : precision.name()).toLowerCase(Locale.ROOT),
            transposeA ? "T" : "N",
            transposeB ? "T" : "N",
            extents.m(),
            (uneven & 1) == 0 ? "" : "-",
            extents.k(),
            (uneven & 2) == 0 ? "" : "-",
            extents.n(),
            (uneven & 4) == 0 ? "" : "-");
  }
}
