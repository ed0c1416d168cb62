package org.tilespark.spark.options;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.tilespark.spark.error.Require;

/**
 * Options as texts by name; absent options have their defaults. Immutable.
 *
 * @param <O> class of the options
 */
public abstract class TextOptions<O extends TextOptions<O>> implements Serializable {
  private final Map<String, String> texts; // in the order in which they were first set

  TextOptions(Map<String, String> texts) {
    this.texts = new LinkedHashMap<>(texts);
  }

  /** All options that have a value as texts, by name; {@code of} makes equal options from them. */
  public Map<String, String> toMap() {
    Map<String, String> all = new LinkedHashMap<>();
    for (Parameter<?> option : declared()) {
      stated(option.name())
          .or(() -> option.fallback().map(Object::toString))
          .ifPresent(text -> all.put(option.name(), text));
    }
    return all;
  }

  /** The parameters of all options of the class. */
  abstract List<Parameter<?>> declared();

  /** Makes the options from these texts, which are in their normal form. */
  abstract O made(Map<String, String> all);

  /** Options from defaults and other texts; {@code maker} is the method that a user called. */
  static <O extends TextOptions<O>> O from(O defaults, Map<String, String> texts, String maker) {
    O options = defaults;
    for (var entry : Require.given(texts, maker, "texts").entrySet()) {
      options = options.set(entry.getKey(), entry.getValue());
    }
    return options;
  }

  /** These options with another text for one, which is checked and converted to its normal form. */
  final O set(String name, String text) {
    String known = Require.option(name, names(declared()));
    Optional<Object> given = Optional.of(Require.text(text, known));
    Map<String, String> all = texts();
    all.put(known, option(known).read(known, given, "'" + text + "'").toString());
    return made(all);
  }

  static List<String> names(List<Parameter<?>> options) {
    return options.stream().<String>map(Parameter::name).toList();
  }

  private Parameter<?> option(String name) {
    return declared().stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow();
  }

  /** A copy of the texts that were set, by option name. */
  final Map<String, String> texts() {
    return new LinkedHashMap<>(texts);
  }

  /** The normal text of an option, if it was set. */
  final Optional<String> stated(String option) {
    return Optional.ofNullable(texts.get(option));
  }

  /** The normal text of an option, or its default. */
  final String text(String option) {
    return stated(option).orElseGet(() -> option(option).fallback().orElseThrow().toString());
  }

  @Override
  public final boolean equals(Object o) {
    return o != null && o.getClass() == getClass() && toMap().equals(((TextOptions<?>) o).toMap());
  }

  @Override
  public final int hashCode() {
    return toMap().hashCode();
  }

  @Override
  public final String toString() {
    return toMap().toString();
  }
}
