package org.tilespark.spark.options;

import java.io.Serializable;
import java.util.LinkedHashMap;
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
 * How a multiply is to be done; immutable. Every option has a name and a text, the same in Java, in
 * a map and in SQL:
 *
 * <ul>
 *   <li>{@code transposeA}, {@code transposeB}: {@code true} to multiply with the transposed
 *       matrix, which is never made; default {@code false}
 *   <li>{@code precision}: {@code full} (default; {@code float32} says the same for FLOAT), {@code
 *       tf32}, {@code bfloat16} or {@code float16}, which round FLOAT inputs and sum in float32.
 *       {@code full} sums FLOAT in float32 on a GPU and in double on the CPU: a product or partial
 *       sum beyond 3.4e38 may make an element infinite or NaN on a GPU alone. The last bits depend
 *       on the backend, on the GPU's architecture, on the engine, and for a small C with a long
 *       inner extent on the GPU's count of multiprocessors; runs on one machine agree
 *   <li>{@code strategy}: {@code auto} (default), {@code broadcast} (the smaller matrix goes to
 *       every executor, the larger stays where it is), or {@code cuboid(P,Q,R)}: M is cut into P
 *       parts, N into Q, K into R
 *   <li>{@code blockShape}: rows and columns of a block of C, {@code 1024,1024}; default as many
 *       rows as blocks of op(A) have and as many columns as those of op(B)
 *   <li>{@code missing}: {@code error} (default) or {@code zero}: blocks that are not there count
 *       as zeros, and NaN and infinity times one of these zeros are 0
 * </ul>
 */
public final class MultiplyOptions extends TextOptions<MultiplyOptions> {
  /** The names of all options. */
  public static final List<String> NAMES =
      List.of("transposeA", "transposeB", "precision", "strategy", "blockShape", "missing");

  /** Where work and data go. */
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
     * M is cut into {@code p} parts, N into {@code q}, K into {@code r}; each of the p q r cuboids
     * is a task.
     */
    record Cuboid(int p, int q, int r) implements Strategy {
      /** Checks that there is at least one part of each. */
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
  private static final List<String> PRECISIONS =
      List.of("full", "float32", "tf32", "bfloat16", "float16");

  private static final MultiplyOptions DEFAULTS =
      new MultiplyOptions(
          Map.of(
              "transposeA", "false",
              "transposeB", "false",
              "precision", "full",
              "strategy", "auto",
              "missing", "error"));

  private MultiplyOptions(Map<String, String> texts) {
    super(texts);
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
   * @param texts by option name; names and words in any case, what is absent is the default
   * @throws IllegalArgumentException if there is no such option, or its text says nothing that it
   *     can be
   */
  public static MultiplyOptions of(Map<String, String> texts) {
    return from(DEFAULTS, texts, "MultiplyOptions.of");
  }

  /** All options as texts; {@link #of} makes the same options of them. */
  @Override
  public Map<String, String> toMap() {
    Map<String, String> all = texts();
    Map<String, String> inOrder = new LinkedHashMap<>();
    NAMES.stream().filter(all::containsKey).forEach(name -> inOrder.put(name, all.get(name)));
    return inOrder;
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

  /** How exactly, in the words of the class comment. */
  public String precision() {
    return text("precision");
  }

  /** These options with another precision. */
  public MultiplyOptions withPrecision(String word) {
    Require.given(word, "MultiplyOptions.withPrecision", "word");
    return set("precision", word);
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

  /** Where work and data go. */
  public Strategy strategy() {
    return parseStrategy(text("strategy"));
  }

  /** These options with another strategy. */
  public MultiplyOptions withStrategy(Strategy other) {
    Require.given(other, "MultiplyOptions.withStrategy", "other");
    return set("strategy", other.toString());
  }

  /** Rows and columns of a block of C, if they are asked for. */
  public Optional<Shape> blockShape() {
    return Optional.ofNullable(text("blockShape")).map(text -> Shape.parse("blockShape", text, 2));
  }

  /** These options with blocks of C of so many rows and columns. */
  public MultiplyOptions withBlockShape(int rows, int cols) {
    return set("blockShape", rows + "," + cols);
  }

  /** What happens where a block is not there. */
  public Missing missing() {
    return Missing.parse("missing", text("missing"));
  }

  /** These options with other consequences of a block that is not there. */
  public MultiplyOptions withMissing(Missing other) {
    Require.given(other, "MultiplyOptions.withMissing", "other");
    return set("missing", other.toString());
  }

  @Override
  MultiplyOptions set(String name, String text) {
    String option = Require.option(name, NAMES);
    Require.text(text, option);
    return replaced(
        option,
        switch (option) {
          case "transposeA", "transposeB" -> word(option, text, List.of("true", "false"));
          case "precision" -> word(option, text, PRECISIONS);
          case "strategy" -> parseStrategy(text).toString();
          case "blockShape" -> requireBlockShape(text);
          case "missing" -> word(option, text, List.of("error", "zero"));
          default -> throw new IllegalStateException(option);
        });
  }

  private static Strategy parseStrategy(String text) {
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
      default ->
          throw new IllegalArgumentException(
              "strategy is '" + text + "'; expected auto, broadcast or cuboid(P,Q,R)");
    };
  }

  private static String requireBlockShape(String text) {
    Shape shape = Shape.parse("blockShape", text, 2);
    long rows = shape.extent(0);
    long cols = shape.extent(1);
    if (rows < 1 || cols < 1 || rows > Integer.MAX_VALUE / cols) {
      throw new IllegalArgumentException(
          ("blockShape is '%s'; expected rows and columns of 1 or more, and less than"
                  + " 2^31 elements")
              .formatted(text));
    }
    return rows + "," + cols;
  }

  private static String word(String option, String text, List<String> words) {
    String word = text.trim().toLowerCase(Locale.ROOT);
    if (!words.contains(word)) {
      throw new IllegalArgumentException(
          option + " is '" + text + "'; expected " + String.join(", ", words));
    }
    return word;
  }

  @Override
  public String toString() {
    return toMap().toString();
  }
}
