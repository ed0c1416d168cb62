package org.tilespark.kernels.launch;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The best choice that trials found for each class of problems. Immutable.
 *
 * <p>As text it has one class on each line, {@code CLASS = CHOICE}; empty lines and lines that
 * begin with {@code #} are ignored.
 *
 * @param entries the choice for each class
 * @param <K> classes of problems
 * @param <V> choices
 */
public record TuningTable<K, V>(Map<K, V> entries) {
  private static final String SEPARATOR = " = ";

  /**
   * The way to read the entries of one kind of table. Entries are written by their {@code
   * toString}.
   *
   * @param name name of the kind, one word
   * @param key reads a class; throws {@link IllegalArgumentException} if the text is no class
   * @param value reads a choice; throws likewise if the text is no choice
   */
  public record Format<K, V>(String name, Function<String, K> key, Function<String, V> value) {
    /**
     * The table written as {@code text}.
     *
     * @throws IllegalArgumentException if a line has another form; the message quotes it
     */
    public TuningTable<K, V> parse(String text) {
      Map<K, V> entries = new HashMap<>();
      for (String line : text.lines().map(String::strip).toList()) {
        if (line.isEmpty() || line.startsWith("#")) {
          continue;
        }
        int at = line.indexOf(SEPARATOR);
        if (at < 0) {
          throw new IllegalArgumentException(
              "Line '" + line + "' of tuned " + name + "; expected CLASS = CHOICE");
        }
        entries.put(
            key.apply(line.substring(0, at)), value.apply(line.substring(at + SEPARATOR.length())));
      }
      return new TuningTable<>(entries);
    }
  }

  /** Copies the map. */
  public TuningTable {
    entries = Map.copyOf(entries);
  }

  /** A table without entries. */
  public static <K, V> TuningTable<K, V> empty() {
    return new TuningTable<>(Map.of());
  }

  /** The choice for a class; empty if the table has none. */
  public Optional<V> find(K key) {
    return Optional.ofNullable(entries.get(key));
  }

  /** This table and one more entry, which replaces an older one of its class. */
  public TuningTable<K, V> with(K key, V value) {
    return with(new TuningTable<>(Map.of(key, value)));
  }

  /** This table and all entries of {@code newer}, which replace older ones of their class. */
  public TuningTable<K, V> with(TuningTable<K, V> newer) {
    Map<K, V> all = new HashMap<>(entries);
    all.putAll(newer.entries);
    return new TuningTable<>(all);
  }

  /** The table as text, sorted by class. */
  public String toText() {
    return entries.entrySet().stream()
        .map(entry -> Map.entry(entry.getKey().toString(), entry.getValue()))
        .sorted(Map.Entry.comparingByKey())
        .map(entry -> entry.getKey() + SEPARATOR + entry.getValue() + "\n")
        .collect(Collectors.joining());
  }
}
