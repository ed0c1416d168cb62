package org.tilespark.spark.conf;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.spark.network.util.JavaUtils;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;

/**
 * One configuration key: its name, type, default, reach and meaning, declared once in {@link
 * TileSparkConf} and printed from there into docs/configuration.md.
 *
 * @param <T> type of the key's value
 */
public final class ConfigKey<T> {
  /** The time at which a key is read, and thereby how it can be set. */
  public enum Reach {
    /** Read when a query is planned: {@code SET} or {@code spark.conf.set} changes it. */
    SESSION,
    /** Read once per executor, from the application's configuration. */
    EXECUTOR,
    /** Read once by the driver, when the application starts. */
    DRIVER
  }

  private final String name;
  private final String type;
  private final String defaultText;
  private final Reach reach;
  private final String doc;
  private final Function<String, T> parser;

  private ConfigKey(
      String name,
      String type,
      String defaultText,
      Reach reach,
      String doc,
      Function<String, T> parser) {
    this.name = name;
    this.type = type;
    this.defaultText = defaultText;
    this.reach = reach;
    this.doc = doc;
    this.parser = parser;
  }

  static <E extends Enum<E>> ConfigKey<E> ofEnum(
      String name, Class<E> type, E defaultValue, Reach reach, String doc) {
    StringBuilder names = new StringBuilder();
    for (E constant : type.getEnumConstants()) {
      names.append(names.isEmpty() ? "" : "|").append(constant.name().toLowerCase(Locale.ROOT));
    }
    return new ConfigKey<>(
        name,
        names.toString(),
        defaultValue.name().toLowerCase(Locale.ROOT),
        reach,
        doc,
        text -> Enum.valueOf(type, text.trim().toUpperCase(Locale.ROOT)));
  }

  static ConfigKey<Optional<Long>> ofBytesOrAuto(String name, Reach reach, String doc) {
    return new ConfigKey<>(
        name,
        "auto, or size in bytes, with unit (b, k, m, g)",
        "auto",
        reach,
        doc,
        text ->
            text.trim().equalsIgnoreCase("auto")
                ? Optional.empty()
                : Optional.of(atLeast(0, bytes(text.trim()))));
  }

  static ConfigKey<Long> ofBytes(
      String name, String defaultText, long least, Reach reach, String doc) {
    return new ConfigKey<>(
        name,
        "size in bytes, with unit (b, k, m, g)",
        defaultText,
        reach,
        doc,
        text -> atLeast(least, bytes(text)));
  }

  static ConfigKey<Duration> ofTime(String name, String defaultText, Reach reach, String doc) {
    return new ConfigKey<>(
        name,
        "time, with unit (ms, s)",
        defaultText,
        reach,
        doc,
        text -> Duration.ofMillis(atLeast(0, JavaUtils.timeStringAsMs(withUnit(text, "ms", "s")))));
  }

  static ConfigKey<String> ofPath(String name, String defaultText, Reach reach, String doc) {
    return new ConfigKey<>(name, "path", defaultText, reach, doc, String::trim);
  }

  static ConfigKey<List<Path>> ofDirectories(
      String name, String defaultText, Reach reach, String doc) {
    return new ConfigKey<>(
        name,
        "directories, separated by :",
        defaultText,
        reach,
        doc,
        text ->
            Arrays.stream(text.split(":", -1))
                .map(String::strip)
                .filter(directory -> !directory.isEmpty())
                .map(Path::of)
                .toList());
  }

  static ConfigKey<Integer> ofInt(
      String name, int defaultValue, int least, Reach reach, String doc) {
    return new ConfigKey<>(
        name,
        "whole number, " + least + " or more",
        Integer.toString(defaultValue),
        reach,
        doc,
        text -> Math.toIntExact(atLeast(least, Long.parseLong(text.trim()))));
  }

  static ConfigKey<Boolean> ofBoolean(String name, boolean defaultValue, Reach reach, String doc) {
    return new ConfigKey<>(
        name,
        "true|false",
        Boolean.toString(defaultValue),
        reach,
        doc,
        text ->
            switch (text.trim().toLowerCase(Locale.ROOT)) {
              case "true" -> true;
              case "false" -> false;
              default -> throw new IllegalArgumentException(text + " is neither true nor false");
            });
  }

  static ConfigKey<Double> ofFraction(String name, double defaultValue, Reach reach, String doc) {
    return new ConfigKey<>(
        name,
        "fraction, above 0 and at most 1",
        Double.toString(defaultValue),
        reach,
        doc,
        text -> {
          double value = Double.parseDouble(text.trim());
          if (!(value > 0 && value <= 1)) {
            throw new IllegalArgumentException(value + " is no fraction");
          }
          return value;
        });
  }

  /**
   * The value under this key, or the default.
   *
   * @param lookup gives the text that is set for a name, or null if none is set
   * @throws IllegalArgumentException if the text is not of this key's type
   */
  public T read(UnaryOperator<String> lookup) {
    String text = lookup.apply(name);
    try {
      return parser.apply(text == null ? defaultText : text);
    } catch (MissingUnitException e) {
      throw invalid(text, e.getMessage() + "; ");
    } catch (ArithmeticException e) {
      throw invalid(text, "that is too large; ");
    } catch (RuntimeException e) {
      throw invalid(text, "");
    }
  }

  /** The key's full name, with the prefix. */
  public String name() {
    return name;
  }

  /** The accepted form of the key's values, in words. */
  public String type() {
    return type;
  }

  /** The default value as a user would write it. */
  public String defaultText() {
    return defaultText;
  }

  /** The key's reach. */
  public Reach reach() {
    return reach;
  }

  /** The documentation of the key. */
  public String doc() {
    return doc;
  }

  private InvalidInputException invalid(String text, String found) {
    return new InvalidInputException(
        ErrorCondition.INVALID_ARGUMENT,
        "%s is '%s'; %sexpected %s (default %s)".formatted(name, text, found, type, defaultText));
  }

  /**
   * The number of bytes that a text states.
   *
   * @throws ArithmeticException if the text is valid but too large for a long
   */
  private static long bytes(String text) {
    String size = withUnit(text, "m", "b");
    try {
      return JavaUtils.byteStringAsBytes(size);
    } catch (NumberFormatException e) {
      throw e; // the text is no size
    } catch (IllegalArgumentException e) {
      throw new ArithmeticException("2^63 bytes or more");
    }
  }

  /**
   * The text without space around it; throws if that is a number other than 0 without a unit.
   *
   * @param usual the unit that the user probably meant
   * @param other another unit that a message suggests
   */
  private static String withUnit(String text, String usual, String other) {
    String number = text.strip();
    if (!number.matches("0*[1-9][0-9]*")) {
      return number;
    }
    throw new MissingUnitException(
        "a unit is missing, as in %s or %s".formatted(number + usual, number + other));
  }

  private static long atLeast(long least, long value) {
    if (value < least) {
      throw new IllegalArgumentException(value + " is less than " + least);
    }
    return value;
  }

  /** The failure of a number without a unit where one is needed. */
  private static final class MissingUnitException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    MissingUnitException(String message) {
      super(message);
    }
  }
}
