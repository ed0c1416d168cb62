package org.tilespark.spark.options;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;
import org.tilespark.spark.error.Require;

/**
 * Options as texts, by name; what is absent is the default. Immutable.
 *
 * @param <O> the options themselves
 */
public abstract class TextOptions<O extends TextOptions<O>> implements Serializable {
  private final Map<String, String> texts; // in the order in which they were first set

  TextOptions(Map<String, String> texts) {
    this.texts = new LinkedHashMap<>(texts);
  }

  /** The options as texts, by name. */
  public abstract Map<String, String> toMap();

  /** The options of these texts, which are in their normal form. */
  abstract O made(Map<String, String> all);

  /** These options with another text for one, which is checked and brought into its normal form. */
  abstract O set(String name, String text);

  /** Options from defaults and other texts; {@code maker} is the method that a user called. */
  static <O extends TextOptions<O>> O from(O defaults, Map<String, String> texts, String maker) {
    O options = defaults;
    for (var entry : Require.given(texts, maker, "texts").entrySet()) {
      options = options.set(entry.getKey(), entry.getValue());
    }
    return options;
  }

  /** These options with another normal text for one. */
  final O replaced(String option, String normal) {
    Map<String, String> all = texts();
    all.put(option, normal);
    return made(all);
  }

  /** A copy of what was set. */
  final Map<String, String> texts() {
    return new LinkedHashMap<>(texts);
  }

  /** The normal text of an option; null if it was not set. */
  final String text(String option) {
    return texts.get(option);
  }

  @Override
  public final boolean equals(Object o) {
    return o != null && o.getClass() == getClass() && texts.equals(((TextOptions<?>) o).texts);
  }

  @Override
  public final int hashCode() {
    return texts.hashCode();
  }
}
