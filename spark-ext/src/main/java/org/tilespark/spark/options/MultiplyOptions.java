package org.tilespark.spark.options;

import java.io.Serializable;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.error.Require;

/**
 * Options of a multiply, C = op(A) op(B), where op may transpose and conjugate; immutable. Every
 * option has a name and a text, the same in Java, in a map and in SQL: docs/sql.md has their table.
 *
 * <p>A {@code precision} of {@code full} ({@code float32} is a synonym for FLOAT) sums FLOAT in
 * float32 on a GPU and in double on the CPU: a product or partial sum beyond 3.4e38 may make an
 * element infinite or NaN only on a GPU. The last bits depend on the backend, on the GPU's
 * architecture, on the engine, and for a small C with a long inner extent on the GPU's count of
 * multiprocessors; runs on one machine agree.
 */
public final class MultiplyOptions extends TextOptions<MultiplyOptions> {
  private static final String NEVER_MADE = "'s transpose, which is never made";
  private static final String CONJUGATE = "'s complex conjugate; of a real matrix that is itself";

  static final List<Parameter<?>> OPTIONS =
      List.of(
          Parameter.optional(
              "transposeA", Type.FLAG, "false", "true to multiply with a" + NEVER_MADE),
          Parameter.optional(
              "transposeB", Type.FLAG, "false", "true to multiply with b" + NEVER_MADE),
          Parameter.optional(
              "conjugateA", Type.FLAG, "false", "true to multiply with a" + CONJUGATE),
          Parameter.optional(
              "conjugateB", Type.FLAG, "false", "true to multiply with b" + CONJUGATE),
          Parameter.optional(
              "precision",
              Type.word("full", "float32", "tf32", "bfloat16", "float16"),
              "full",
              "'full'; of FLOAT also 'tf32', 'bfloat16' or 'float16', which round the inputs and"
                  + " sum in float32"),
          Parameter.optional(
              "strategy",
              Type.text(MultiplyOptions::parseStrategy),
              Strategy.AUTO,
              "'auto' (by cost), 'broadcast' (the smaller matrix goes to every executor) or"
                  + " 'cuboid(P,Q,R)' (rows of the result in P parts, its columns in Q, the inner"
                  + " extent in R)"),
          Parameter.found(
              "blockShape",
              Type.list(MultiplyOptions::parseBlockShape),
              "rows as in the blocks of op(A), columns as in those of op(B), if that makes blocks"
                  + " of a usual size: about 8 MiB, or as large as those",
              "rows and columns of a block of the result, '1024,1024' or array(1024, 1024)"),
          Parameter.optional(
              "missing",
              Type.MISSING,
              Missing.ERROR,
              Parameter.MISSING.doc() + ", also where they meet NaN or infinity"));

  /** The names of all options. */
  public static final List<String> NAMES = names(OPTIONS);

  /** The distribution of work and data. */
  public sealed interface Strategy extends Serializable {
    /** The planner's choice, by cost. */
    Strategy AUTO = new Auto();

    /** The smaller matrix goes to every executor. */
    Strategy BROADCAST = new Broadcast();

    /** See {@link #AUTO}. */
    record Auto() implements Strategy {
      @Override
      public String toString() {
        return "auto";
      }
    }

    /** See {@link #BROADCAST}. */
    record Broadcast() implements Strategy {
      @Override
      public String toString() {
        return "broadcast";
      }
    }

    /**
     * Cuts the rows of C into {@code p} parts, its columns into {@code q}, and the inner extent,
     * over which products are summed, into {@code r}; each of the p q r cuboids is a task.
     */
    record Cuboid(int p, int q, int r) implements Strategy {
      /** Checks that each axis has at least one part. */
      public Cuboid {
        if (p < 1 || q < 1 || r < 1) {
          throw new IllegalArgumentException(
              "strategy is cuboid(" + p + "," + q + "," + r + "); expected parts of 1 or more");
        }
        if ((long) p * q > Integer.MAX_VALUE / r) {
          throw new IllegalArgumentException(
              "strategy is cuboid(" + p + "," + q + "," + r + "); expected less than 2^31 tasks");
        }
      }

      @Override
      public String toString() {
        return "cuboid(" + p + "," + q + "," + r + ")";
      }
    }
  }

  private static final Pattern CUBOID =
      Pattern.compile("cuboid\\s*\\(\\s*(\\d{1,9})\\s*,\\s*(\\d{1,9})\\s*,\\s*(\\d{1,9})\\s*\\)");
  private static final MultiplyOptions DEFAULTS = new MultiplyOptions(Map.of());

  private MultiplyOptions(Map<String, String> texts) {
    super(texts);
  }

  @Override
  List<Parameter<?>> declared() {
    return OPTIONS;
  }

  @Override
  MultiplyOptions made(Map<String, String> all) {
    return new MultiplyOptions(all);
  }

  /** All defaults. */
  public static MultiplyOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Options from texts.
   *
   * @param texts texts by option name; case is ignored; absent options have their defaults
   * @throws IllegalArgumentException if there is no option of a name, or its text is not valid
   */
  public static MultiplyOptions of(Map<String, String> texts) {
    return from(DEFAULTS, texts, "MultiplyOptions.of");
  }

  /** True if A's transpose is multiplied. */
  public boolean transposeA() {
    return text("transposeA").equals("true");
  }

  /** These options with another {@code transposeA}. */
  public MultiplyOptions withTransposeA(boolean transposed) {
    return set("transposeA", Boolean.toString(transposed));
  }

  /** True if B's transpose is multiplied. */
  public boolean transposeB() {
    return text("transposeB").equals("true");
  }

  /** These options with another {@code transposeB}. */
  public MultiplyOptions withTransposeB(boolean transposed) {
    return set("transposeB", Boolean.toString(transposed));
  }

  /** True if A's complex conjugate is multiplied. */
  public boolean conjugateA() {
    return text("conjugateA").equals("true");
  }

  /** These options with another {@code conjugateA}. */
  public MultiplyOptions withConjugateA(boolean conjugated) {
    return set("conjugateA", Boolean.toString(conjugated));
  }

  /** True if B's complex conjugate is multiplied. */
  public boolean conjugateB() {
    return text("conjugateB").equals("true");
  }

  /** These options with another {@code conjugateB}. */
  public MultiplyOptions withConjugateB(boolean conjugated) {
    return set("conjugateB", Boolean.toString(conjugated));
  }

  /** The option's text: how exactly to compute, in the words of the class comment. */
  public String precision() {
    return text("precision");
  }

  /** These options with another precision. */
  public MultiplyOptions withPrecision(String word) {
    return set("precision", Require.given(word, "MultiplyOptions.withPrecision", "word"));
  }

  /**
   * The precision for elements of a type.
   *
   * @throws IllegalArgumentException if the type cannot be multiplied that way
   */
  public Precision precision(ElementType type) {
    Require.given(type, "MultiplyOptions.precision", "type");
    String precision = precision();
    if (type == ElementType.FLOAT64 && !precision.equals("full")) {
      throw new IllegalArgumentException(
          ("precision is '%s', the values are ARRAY<DOUBLE>; expected full, or CAST"
                  + " the values to ARRAY<FLOAT>")
              .formatted(precision));
    }
    return precision.equals("full") || precision.equals("float32")
        ? Precision.FULL
        : Precision.valueOf(precision.toUpperCase(Locale.ROOT));
  }

  /** The distribution of work and data. */
  public Strategy strategy() {
    return parseStrategy("strategy", text("strategy"));
  }

  /** These options with another strategy. */
  public MultiplyOptions withStrategy(Strategy other) {
    return set(
        "strategy", Require.given(other, "MultiplyOptions.withStrategy", "other").toString());
  }

  /** Rows and columns of a block of C, if they are stated. */
  public Optional<Shape> blockShape() {
    return stated("blockShape").map(text -> Shape.parse("blockShape", text, 2));
  }

  /** These options with blocks of C of {@code rows} rows and {@code cols} columns. */
  public MultiplyOptions withBlockShape(int rows, int cols) {
    return set("blockShape", rows + "," + cols);
  }

  /** The treatment of missing blocks. */
  public Missing missing() {
    return Missing.parse("missing", text("missing"));
  }

  /** These options with another treatment of missing blocks. */
  public MultiplyOptions withMissing(Missing other) {
    return set("missing", Require.given(other, "MultiplyOptions.withMissing", "other").toString());
  }

  private static Strategy parseStrategy(String what, String text) {
    String strategy = text.trim().toLowerCase(Locale.ROOT);
    Matcher cuboid = CUBOID.matcher(strategy);
    if (cuboid.matches()) {
      return new Strategy.Cuboid(
          Integer.parseInt(cuboid.group(1)),
          Integer.parseInt(cuboid.group(2)),
          Integer.parseInt(cuboid.group(3)));
    }
    return switch (strategy) {
      case "auto" -> Strategy.AUTO;
      case "broadcast" -> Strategy.BROADCAST;
      default -> throw Type.bad(what, text, "auto, broadcast or cuboid(P,Q,R)");
    };
  }

  private static String parseBlockShape(String what, String text) {
    Shape shape = Shape.parse(what, text, 2);
    long rows = shape.extent(0);
    long cols = shape.extent(1);
    if (rows < 1 || cols < 1 || rows > Integer.MAX_VALUE / cols) {
      throw Type.bad(what, text, "rows and columns of 1 or more, and less than 2^31 elements");
    }
    return shape.text();
  }
}
