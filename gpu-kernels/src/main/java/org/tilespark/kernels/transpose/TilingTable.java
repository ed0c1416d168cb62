package org.tilespark.kernels.transpose;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What tilings were found best, by class of problem. Immutable.
 *
 * <p>As text it is one class a line, {@code CLASS = KERNEL ORDER}; empty lines and lines that begin
 * with {@code #} say nothing.
 */
public final class TilingTable {
  /** Nothing is known. */
  public static final TilingTable EMPTY = new TilingTable(Map.of());

  private final Map<ProblemClass, Tiling> tilings;

  private TilingTable(Map<ProblemClass, Tiling> tilings) {
    this.tilings = tilings;
  }

  /** The architecture that {@link #bundled} was measured on. */
  public static final String BUNDLED_ARCHITECTURE = "sm_90";

  /**
   * The table that comes with this jar, measured on {@link #BUNDLED_ARCHITECTURE}; on others it is
   * a guess.
   *
   * @throws IllegalStateException if the resource cannot be read
   */
  public static TilingTable bundled() {
    String resource = BUNDLED_ARCHITECTURE + ".tilings";
    try (InputStream in = TilingTable.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("This jar lacks " + resource);
      }
      return parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new IllegalStateException("Cannot read the resource " + resource, e);
    }
  }

  /**
   * The table written as {@code text}.
   *
   * @throws IllegalArgumentException if a line is of another form; the message quotes it
   */
  public static TilingTable parse(String text) {
    Map<ProblemClass, Tiling> tilings = new HashMap<>();
    for (String line : text.lines().map(String::strip).toList()) {
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      int equals = line.indexOf(" = ");
      String[] words = equals < 0 ? new String[0] : line.substring(equals + 3).split(" ", -1);
      TileOrder order = words.length == 2 ? TileOrder.parse(words[1]) : null;
      if (order == null || words[0].isEmpty()) {
        throw new IllegalArgumentException(
            "Tiling '" + line + "'; expected CLASS = KERNEL rows-first or cols-first");
      }
      tilings.put(ProblemClass.parse(line.substring(0, equals)), new Tiling(words[0], order));
    }
    return new TilingTable(tilings);
  }

  /** The tiling known for a class. */
  public Optional<Tiling> find(ProblemClass problems) {
    return Optional.ofNullable(tilings.get(problems));
  }

  /** This table and one entry more, which replaces an older one of its class. */
  public TilingTable with(ProblemClass problems, Tiling tiling) {
    return with(new TilingTable(Map.of(problems, tiling)));
  }

  /** This table and all of {@code newer}, which replace older ones of their class. */
  public TilingTable with(TilingTable newer) {
    Map<ProblemClass, Tiling> all = new HashMap<>(tilings);
    all.putAll(newer.tilings);
    return new TilingTable(all);
  }

  /** Count of classes. */
  public int size() {
    return tilings.size();
  }

  /** All entries. */
  public Map<ProblemClass, Tiling> entries() {
    return Map.copyOf(tilings);
  }

  /** The table as text, in a fixed order. */
  public String toText() {
    Map<String, Tiling> sorted = new TreeMap<>();
    tilings.forEach((problems, tiling) -> sorted.put(problems.toString(), tiling));
    StringBuilder text = new StringBuilder();
    sorted.forEach(
        (problems, tiling) -> text.append(problems).append(" = ").append(tiling).append('\n'));
    return text.toString();
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof TilingTable other && tilings.equals(other.tilings);
  }

  @Override
  public int hashCode() {
    return tilings.hashCode();
  }

  @Override
  public String toString() {
    return tilings.size() + " tilings";
  }
}
