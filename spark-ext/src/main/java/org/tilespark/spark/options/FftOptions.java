package org.tilespark.spark.options;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.tilespark.layout.Axes;
import org.tilespark.spark.error.Require;

/**
 * Options of a Fourier transform; immutable. Every option has a name and a text, the same in Java,
 * in a map and in SQL: docs/sql.md has their table. If an option has one word or number per axis,
 * these are separated by commas, in the order of {@code axes}; a single one applies to all axes.
 *
 * <p>A transform of all three axes that needs an exchange leaves its result with axes {@code yzx},
 * cut along y; {@code output=natural} brings back the input's order and slabs by a second exchange.
 * In both cases an inverse restores the volume's original order. Before a transform {@code
 * detrend}, {@code window} and {@code padTo} are applied, in this order; {@code detrend} costs a
 * pass over the values.
 *
 * <p>An inverse takes the defaults of {@code axes}, {@code norm}, {@code real}, {@code shift} and
 * {@code realExtent} (an option of the inverse only) from the metadata.
 */
public final class FftOptions extends TextOptions<FftOptions> {
  static final List<Parameter<?>> OPTIONS =
      List.of(
          Parameter.found(
              "axes",
              Type.axes(FftOptions::letters),
              "'xyz'",
              "the axes to transform, 'yz', '1,2' or array(1, 2); of a real transform the last one"
                  + " named is halved"),
          Parameter.optional(
              "norm",
              Type.word((Object[]) Norm.values()),
              "backward",
              "'backward', 'ortho' or 'forward', as in numpy"),
          Parameter.optional(
              "real",
              Type.FLAG,
              "false",
              "true for half a spectrum of real values, as numpy's rfftn"),
          Parameter.optional(
              "output",
              Type.word("permuted", "natural"),
              "permuted",
              "'permuted' leaves the axes of a transform of all three as yzx, 'natural' as they"
                  + " were, by a second exchange"),
          Parameter.optional(
              "shift",
              Type.text(FftOptions::shift),
              "none",
              "what has its origin in the middle: 'none', 'spectrum', 'volume' or 'both'"),
          Parameter.optional(
              "decomposition",
              Type.word((Object[]) Decomposition.values()),
              "auto",
              "how tasks share the work: 'auto' (by cost), 'task' (one task a volume), 'slabs' or"
                  + " 'pencils'"),
          Parameter.MISSING,
          Parameter.optional(
              "detrend",
              Type.word((Object[]) Detrend.values()),
              "none",
              "what is subtracted first: 'none', 'mean', or 'linear' for the plane that fits best"),
          Parameter.optional(
              "window",
              Type.perAxis(Type.words((Object[]) Window.values())),
              "none",
              "'none', 'hann', 'hamming' or 'blackman'; one, or one per axis: 'hann,none,hann'"),
          Parameter.optional(
              "padTo",
              Type.perAxis(FftOptions::requirePad),
              "none",
              "extents to pad with zeros to, 'fast' for the next fast length, or 'none'; one, or"
                  + " one per axis"),
          Parameter.optional(
              "spacing",
              Type.perAxis(FftOptions::requireSpacing),
              "1",
              "distance between samples, for frequencies; one, or one per axis: array(0.5, 1, 1)"),
          Parameter.found(
              "realExtent",
              Type.of("BIGINT", Type.WHOLE.expected(), false, FftOptions::requireExtent),
              Parameter.STATED,
              "extent of the halved axis before the transform"));

  /** The names of all options. */
  public static final List<String> NAMES = names(OPTIONS);

  /** Trends that are removed before a transform. */
  public enum Detrend {
    /** No trend. */
    NONE,
    /** The mean of each volume. */
    MEAN,
    /** The plane that fits each volume best. */
    LINEAR
  }

  /** The ways in which the work is spread over tasks. */
  public enum Decomposition {
    /** The planner's choice, the cheapest order. */
    AUTO,
    /** One task for each volume. */
    TASK,
    /** Two axes at once, an exchange, then the third axis. */
    SLABS,
    /** One axis after the other, with an exchange between two axes. */
    PENCILS
  }

  private static final List<String> LETTERS = List.of("x", "y", "z");

  private static final FftOptions DEFAULTS = new FftOptions(Map.of());

  private FftOptions(Map<String, String> texts) {
    super(texts);
  }

  @Override
  List<Parameter<?>> declared() {
    return OPTIONS;
  }

  @Override
  FftOptions made(Map<String, String> all) {
    return new FftOptions(all);
  }

  /** All defaults. */
  public static FftOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Options from texts.
   *
   * @param texts texts by option name; case is ignored; absent options have their defaults
   * @throws IllegalArgumentException if there is no option of a name, or its text is not valid
   */
  public static FftOptions of(Map<String, String> texts) {
    return from(DEFAULTS, texts, "FftOptions.of");
  }

  /** The options that were set, as texts; {@link #of} makes equal options from them. */
  @Override
  public Map<String, String> toMap() {
    return texts();
  }

  /**
   * These options with another text for one of them.
   *
   * @throws IllegalArgumentException as {@link #of}
   */
  public FftOptions with(String name, String text) {
    Require.given(name, "FftOptions.with", "name");
    Require.given(text, "FftOptions.with", "text");
    return set(name, text);
  }

  /** The letters of the axes to transform, if they are stated. */
  public Optional<String> axes() {
    return stated("axes");
  }

  /** These options with other axes. */
  public FftOptions withAxes(String letters) {
    return set("axes", Require.given(letters, "FftOptions.withAxes", "letters"));
  }

  /** The norm, if it is stated. */
  public Optional<Norm> norm() {
    return stated("norm").map(text -> Norm.valueOf(text.toUpperCase(Locale.ROOT)));
  }

  /** These options with another norm. */
  public FftOptions withNorm(String word) {
    return set("norm", Require.given(word, "FftOptions.withNorm", "word"));
  }

  /** True for real values on one side and half a spectrum on the other; empty if not stated. */
  public Optional<Boolean> real() {
    return stated("real").map(Boolean::valueOf);
  }

  /** These options with another {@code real}. */
  public FftOptions withReal(boolean isReal) {
    return with("real", Boolean.toString(isReal));
  }

  /** True if the result keeps the input's order of axes and slabs. */
  public boolean natural() {
    return text("output").equals("natural");
  }

  /** These options with another output. */
  public FftOptions withOutput(String word) {
    return set("output", Require.given(word, "FftOptions.withOutput", "word"));
  }

  /** The sides whose origin is in the middle, if they are stated. */
  public Optional<Shift> shift() {
    return stated("shift").map(text -> Shift.valueOf(text.toUpperCase(Locale.ROOT)));
  }

  /** These options with another shift. */
  public FftOptions withShift(String word) {
    return set("shift", Require.given(word, "FftOptions.withShift", "word"));
  }

  /** The way in which the work is spread over tasks. */
  public Decomposition decomposition() {
    return Decomposition.valueOf(text("decomposition").toUpperCase(Locale.ROOT));
  }

  /** These options with another decomposition. */
  public FftOptions withDecomposition(String word) {
    return set("decomposition", Require.given(word, "FftOptions.withDecomposition", "word"));
  }

  /** The treatment of missing blocks. */
  public Missing missing() {
    return Missing.parse("missing", text("missing"));
  }

  /** These options with another treatment of missing blocks. */
  public FftOptions withMissing(Missing missing) {
    return set("missing", Require.given(missing, "FftOptions.withMissing", "missing").toString());
  }

  /** The trend that is removed first. */
  public Detrend detrend() {
    return Detrend.valueOf(text("detrend").toUpperCase(Locale.ROOT));
  }

  /** These options with another trend to remove first. */
  public FftOptions withDetrend(String word) {
    return set("detrend", Require.given(word, "FftOptions.withDetrend", "word"));
  }

  /**
   * The windows.
   *
   * @param count number of transformed axes
   * @throws IllegalArgumentException if there is neither one window nor {@code count}
   */
  public List<Window> windows(int count) {
    return perAxis("window", count).stream().map(Window::parse).toList();
  }

  /** These options with other windows. */
  public FftOptions withWindow(String words) {
    return set("window", Require.given(words, "FftOptions.withWindow", "words"));
  }

  /**
   * The extents after padding.
   *
   * @param extents extents of the transformed axes
   * @throws IllegalArgumentException if there is neither one extent nor one per axis, or one is
   *     less than the axis's
   */
  public List<Long> padTo(List<Long> extents) {
    Require.given(extents, "FftOptions.padTo", "extents");
    List<String> words = perAxis("padTo", extents.size());
    List<Long> padded = new ArrayList<>();
    for (int i = 0; i < words.size(); i++) {
      long extent = extents.get(i);
      long wanted =
          switch (words.get(i)) {
            case "none" -> extent;
            case "fast" -> FastLength.next(extent);
            default -> Long.parseLong(words.get(i));
          };
      if (wanted < extent) {
        throw new IllegalArgumentException(
            "padTo asks for %s along an axis of %s elements; expected as many or more"
                .formatted(wanted, extent));
      }
      padded.add(wanted);
    }
    return padded;
  }

  /** These options with other extents to pad to. */
  public FftOptions withPadTo(String extents) {
    return set("padTo", Require.given(extents, "FftOptions.withPadTo", "extents"));
  }

  /**
   * The distances between samples, if they are stated.
   *
   * @param count number of transformed axes
   * @throws IllegalArgumentException if there is neither one distance nor {@code count}
   */
  public Optional<List<Double>> spacing(int count) {
    return stated("spacing")
        .map(text -> perAxis("spacing", count).stream().map(Double::valueOf).toList());
  }

  /** These options with other distances between samples. */
  public FftOptions withSpacing(double... perAxis) {
    Require.given(perAxis, "FftOptions.withSpacing", "perAxis");
    return with(
        "spacing",
        Arrays.stream(perAxis).mapToObj(Double::toString).collect(Collectors.joining(",")));
  }

  /** The extent of the halved axis before the transform, if it is stated. */
  public OptionalLong realExtent() {
    return stated("realExtent").stream().mapToLong(Long::parseLong).findFirst();
  }

  /** These options with an extent of the halved axis. */
  public FftOptions withRealExtent(long extent) {
    return with("realExtent", Long.toString(extent));
  }

  private List<String> perAxis(String option, int count) {
    List<String> words = List.of(text(option).split(",", -1));
    if (words.size() == 1) {
      return java.util.Collections.nCopies(count, words.get(0));
    }
    if (words.size() != count) {
      throw Type.bad(option, text(option), "one word, or one for each of " + count + " axes");
    }
    return words;
  }

  private static String letters(String option, String text) {
    List<Integer> axes =
        Axes.named(text, LETTERS)
            .orElseThrow(
                () ->
                    Type.bad(
                        option,
                        text,
                        "some of x, y and z, each once, by letter or number, as 'yz' or '1,2'"));
    return axes.stream().map(LETTERS::get).collect(Collectors.joining());
  }

  private static String shift(String what, String text) {
    String word = Type.plain(text);
    return Type.words((Object[]) Shift.values())
        .parse(what, word.equals("true") ? "spectrum" : word.equals("false") ? "none" : word);
  }

  private static String requirePad(String what, String word) {
    return word.equals("none") || word.equals("fast") ? word : requireExtent(what, word);
  }

  private static String requireExtent(String what, String word) {
    try {
      if (Long.parseLong(word.trim()) > 0) {
        return word.trim();
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(Type.bad(what, word, "whole numbers").getMessage(), e);
    }
    throw Type.bad(what, word, "1 or more");
  }

  private static String requireSpacing(String what, String word) {
    try {
      double spacing = Double.parseDouble(word);
      if (Double.isFinite(spacing) && spacing > 0) {
        return word;
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(Type.bad(what, word, "numbers").getMessage(), e);
    }
    throw Type.bad(what, word, "numbers above 0");
  }
}
