package org.tilespark.spark.options;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.tilespark.layout.Axes;
import org.tilespark.spark.error.Require;

/**
 * How a Fourier transform is to be done; immutable. Every option has a name and a text, the same in
 * Java, in a map and in SQL. Where an option has one word or number per axis, these are separated
 * by commas, in the order of {@code axes}; a single one holds for all of them.
 *
 * <p>Of both directions:
 *
 * <ul>
 *   <li>{@code axes}: the axes to transform, as the input's columns name them, {@code xyz} by
 *       default; or by number, {@code 1,2} for {@code yz}. Of a real transform the last one is
 *       halved. An inverse takes what the metadata says by default
 *   <li>{@code norm}: {@code backward} (default; the inverse divides by the count of elements),
 *       {@code ortho} (both by its root) or {@code forward}, as in numpy
 *   <li>{@code real}: {@code true} for real values on one side and half a spectrum on the other
 *   <li>{@code output}: {@code permuted} (default) or {@code natural}. A transform of all three
 *       axes that needs an exchange leaves its result with axes {@code yzx}, cut along y; {@code
 *       natural} brings back the input's order and slabs by a second exchange. An inverse gives the
 *       order that the volume had either way
 *   <li>{@code shift}: {@code none} (default), {@code spectrum} (frequency 0 is in the middle;
 *       {@code true} says the same), {@code volume} (the volume's origin is in its middle) or
 *       {@code both}
 *   <li>{@code decomposition}: {@code auto} (default), {@code task} (one task for each whole
 *       volume), {@code slabs} or {@code pencils}
 *   <li>{@code missing}: {@code error} (default) or {@code zero}: blocks that are not there count
 *       as zeros
 * </ul>
 *
 * <p>Of the forward one, in the order in which they are applied:
 *
 * <ul>
 *   <li>{@code detrend}: {@code none} (default), {@code mean} or {@code linear}: the mean of each
 *       volume, or the plane that fits it best, is taken off; costs a pass over the values
 *   <li>{@code window}: {@code none} (default), {@code hann}, {@code hamming} or {@code blackman},
 *       per axis: numpy's symmetric ones
 *   <li>{@code padTo}: extents to which zeros are added behind the last elements, per axis; {@code
 *       none} (default) for an axis' own, {@code fast} for the next that transforms fast
 *   <li>{@code spacing}: distance between samples, 1 by default, per axis; frequencies are told in
 *       cycles per its unit
 * </ul>
 *
 * <p>Of the inverse: {@code realExtent}, the extent of the halved axis before the transform, where
 * no metadata tells it.
 */
public final class FftOptions extends TextOptions<FftOptions> {
  /** The names of all options. */
  public static final List<String> NAMES =
      List.of(
          "axes",
          "norm",
          "real",
          "output",
          "shift",
          "decomposition",
          "missing",
          "detrend",
          "window",
          "padTo",
          "spacing",
          "realExtent");

  /** What is taken off before a transform. */
  public enum Detrend {
    /** Nothing. */
    NONE,
    /** The mean of each volume. */
    MEAN,
    /** The plane that fits each volume best. */
    LINEAR
  }

  /** How the work is spread over tasks. */
  public enum Decomposition {
    /** As it costs least. */
    AUTO,
    /** One task for each volume. */
    TASK,
    /** Two axes at once, one exchange, the third. */
    SLABS,
    /** One axis after the other, an exchange between each two. */
    PENCILS
  }

  private static final List<String> LETTERS = List.of("x", "y", "z");

  private static final FftOptions DEFAULTS = new FftOptions(Map.of());

  private FftOptions(Map<String, String> texts) {
    super(texts);
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
   * @param texts by option name; names and words in any case, what is absent is the default
   * @throws IllegalArgumentException if there is no such option, or its text says nothing that it
   *     can be
   */
  public static FftOptions of(Map<String, String> texts) {
    return from(DEFAULTS, texts, "FftOptions.of");
  }

  /** Those options as texts that were set; {@link #of} makes the same options of them. */
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

  @Override
  FftOptions set(String name, String text) {
    String option = Require.option(name, NAMES);
    String normal = Require.text(text, option).replaceAll("\\s", "").toLowerCase(Locale.ROOT);
    switch (option) {
      case "axes" -> normal = letters(text);
      case "norm" -> word(option, normal, Norm.values());
      case "real" -> normal = flag(option, normal);
      case "output" -> {
        if (!List.of("permuted", "natural").contains(normal)) {
          throw bad(option, normal, "permuted or natural");
        }
      }
      case "shift" -> {
        normal = normal.equals("true") ? "spectrum" : normal.equals("false") ? "none" : normal;
        word(option, normal, Shift.values());
      }
      case "decomposition" -> word(option, normal, Decomposition.values());
      case "missing" -> Missing.parse(option, normal);
      case "detrend" -> word(option, normal, Detrend.values());
      case "window" -> Arrays.stream(normal.split(",", -1)).forEach(Window::parse);
      case "padTo" -> Arrays.stream(normal.split(",", -1)).forEach(FftOptions::requirePad);
      case "spacing" -> Arrays.stream(normal.split(",", -1)).forEach(FftOptions::requireSpacing);
      case "realExtent" -> requireExtent(option, normal);
      default -> throw new IllegalStateException(option);
    }
    return replaced(option, normal);
  }

  /** The letters of the axes to transform, if they are stated. */
  public Optional<String> axes() {
    return Optional.ofNullable(text("axes"));
  }

  /** These options with other axes. */
  public FftOptions withAxes(String letters) {
    Require.given(letters, "FftOptions.withAxes", "letters");
    return with("axes", letters);
  }

  /** The norm, if it is stated. */
  public Optional<Norm> norm() {
    return Optional.ofNullable(text("norm"))
        .map(text -> Norm.valueOf(text.toUpperCase(Locale.ROOT)));
  }

  /** These options with another norm. */
  public FftOptions withNorm(String word) {
    Require.given(word, "FftOptions.withNorm", "word");
    return with("norm", word);
  }

  /** True for real values on one side and half a spectrum on the other; if it is stated. */
  public Optional<Boolean> real() {
    return Optional.ofNullable(text("real")).map(Boolean::valueOf);
  }

  /** These options with another {@code real}. */
  public FftOptions withReal(boolean isReal) {
    return with("real", Boolean.toString(isReal));
  }

  /** True if axes and slabs are to be those of the input. */
  public boolean natural() {
    return text("output", "permuted").equals("natural");
  }

  /** These options with another output. */
  public FftOptions withOutput(String word) {
    Require.given(word, "FftOptions.withOutput", "word");
    return with("output", word);
  }

  /** What has its origin in the middle, if it is stated. */
  public Optional<Shift> shift() {
    return Optional.ofNullable(text("shift"))
        .map(text -> Shift.valueOf(text.toUpperCase(Locale.ROOT)));
  }

  /** These options with another shift. */
  public FftOptions withShift(String word) {
    Require.given(word, "FftOptions.withShift", "word");
    return with("shift", word);
  }

  /** How the work is spread. */
  public Decomposition decomposition() {
    return Decomposition.valueOf(text("decomposition", "auto").toUpperCase(Locale.ROOT));
  }

  /** These options with another decomposition. */
  public FftOptions withDecomposition(String word) {
    Require.given(word, "FftOptions.withDecomposition", "word");
    return with("decomposition", word);
  }

  /** What happens where a block is not there. */
  public Missing missing() {
    return Missing.parse("missing", text("missing", "error"));
  }

  /** These options with other consequences of a block that is not there. */
  public FftOptions withMissing(Missing missing) {
    Require.given(missing, "FftOptions.withMissing", "missing");
    return with("missing", missing.toString());
  }

  /** What is taken off first. */
  public Detrend detrend() {
    return Detrend.valueOf(text("detrend", "none").toUpperCase(Locale.ROOT));
  }

  /** These options with something else taken off first. */
  public FftOptions withDetrend(String word) {
    Require.given(word, "FftOptions.withDetrend", "word");
    return with("detrend", word);
  }

  /**
   * The windows.
   *
   * @param count of transformed axes
   * @throws IllegalArgumentException if there are neither one nor {@code count}
   */
  public List<Window> windows(int count) {
    return perAxis("window", "none", count).stream().map(Window::parse).toList();
  }

  /** These options with other windows. */
  public FftOptions withWindow(String words) {
    Require.given(words, "FftOptions.withWindow", "words");
    return with("window", words);
  }

  /**
   * The extents after padding.
   *
   * @param extents of the transformed axes
   * @throws IllegalArgumentException if there are neither one nor as many, or one is less than the
   *     axis has
   */
  public List<Long> padTo(List<Long> extents) {
    Require.given(extents, "FftOptions.padTo", "extents");
    List<String> words = perAxis("padTo", "none", extents.size());
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
    Require.given(extents, "FftOptions.withPadTo", "extents");
    return with("padTo", extents);
  }

  /**
   * The distances between samples, if they are stated.
   *
   * @param count of transformed axes
   * @throws IllegalArgumentException if there are neither one nor {@code count}
   */
  public Optional<List<Double>> spacing(int count) {
    return text("spacing") != null
        ? Optional.of(perAxis("spacing", "1", count).stream().map(Double::valueOf).toList())
        : Optional.empty();
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
    return text("realExtent") != null
        ? OptionalLong.of(Long.parseLong(text("realExtent")))
        : OptionalLong.empty();
  }

  /** These options with an extent of the halved axis. */
  public FftOptions withRealExtent(long extent) {
    return with("realExtent", Long.toString(extent));
  }

  private List<String> perAxis(String option, String otherwise, int count) {
    List<String> words = List.of(text(option, otherwise).split(",", -1));
    if (words.size() == 1) {
      return java.util.Collections.nCopies(count, words.get(0));
    }
    if (words.size() != count) {
      throw bad(option, text(option), "one word, or one for each of " + count + " axes");
    }
    return words;
  }

  private String text(String option, String otherwise) {
    return Objects.requireNonNullElse(text(option), otherwise);
  }

  private static String letters(String text) {
    List<Integer> axes =
        Axes.named(text, LETTERS)
            .orElseThrow(
                () ->
                    bad(
                        "axes",
                        text,
                        "some of x, y and z, each once, by letter or number, as 'yz' or '1,2'"));
    return axes.stream().map(LETTERS::get).collect(Collectors.joining());
  }

  private static void requirePad(String word) {
    if (!word.equals("none") && !word.equals("fast")) {
      requireExtent("padTo", word);
    }
  }

  private static void requireExtent(String option, String word) {
    try {
      if (Long.parseLong(word) > 0) {
        return;
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(bad(option, word, "whole numbers").getMessage(), e);
    }
    throw bad(option, word, "1 or more");
  }

  private static void requireSpacing(String word) {
    try {
      double spacing = Double.parseDouble(word);
      if (Double.isFinite(spacing) && spacing > 0) {
        return;
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(bad("spacing", word, "numbers").getMessage(), e);
    }
    throw bad("spacing", word, "numbers above 0");
  }

  private static String flag(String option, String text) {
    if (!text.equals("true") && !text.equals("false")) {
      throw bad(option, text, "true or false");
    }
    return text;
  }

  private static void word(String option, String text, Enum<?>[] words) {
    if (Arrays.stream(words).noneMatch(word -> word.name().equalsIgnoreCase(text))) {
      throw bad(
          option,
          text,
          Arrays.stream(words)
              .map(word -> word.name().toLowerCase(Locale.ROOT))
              .collect(Collectors.joining(", ")));
    }
  }

  private static IllegalArgumentException bad(String option, String text, String expected) {
    return new IllegalArgumentException(option + " is '" + text + "'; expected " + expected);
  }

  @Override
  public String toString() {
    return toMap().toString();
  }
}
