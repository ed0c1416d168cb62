package org.tilespark.kernels.multiply;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * By what way products are multiplied, by class. Immutable. As text it is one class a line, {@code
 * CLASS = WAY}; empty lines and lines that begin with {@code #} say nothing.
 */
public final class ProductTable {
  /** Nothing is known. */
  public static final ProductTable EMPTY = new ProductTable(Map.of());

  private final Map<ProductClass, MultiplyWay> ways;

  private ProductTable(Map<ProductClass, MultiplyWay> ways) {
    this.ways = ways;
  }

  /**
   * The table written as {@code text}.
   *
   * @throws IllegalArgumentException if a line is of another form; the message quotes it
   */
  public static ProductTable parse(String text) {
    Map<ProductClass, MultiplyWay> ways = new HashMap<>();
    for (String line : text.lines().map(String::strip).toList()) {
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      int equals = line.indexOf(" = ");
      if (equals < 0) {
        throw new IllegalArgumentException("Choice '" + line + "'; expected CLASS = WAY");
      }
      ways.put(
          ProductClass.parse(line.substring(0, equals)),
          new MultiplyWay(line.substring(equals + 3)));
    }
    return new ProductTable(ways);
  }

  /** The way known for a class. */
  public Optional<MultiplyWay> find(ProductClass products) {
    return Optional.ofNullable(ways.get(products));
  }

  /** This table and one entry more, which replaces an older one of its class. */
  public ProductTable with(ProductClass products, MultiplyWay way) {
    Map<ProductClass, MultiplyWay> all = new HashMap<>(ways);
    all.put(products, way);
    return new ProductTable(all);
  }

  /** Count of classes. */
  public int size() {
    return ways.size();
  }

  /** The table as text, in a fixed order. */
  public String toText() {
    Map<String, MultiplyWay> sorted = new TreeMap<>();
    ways.forEach((products, way) -> sorted.put(products.toString(), way));
    StringBuilder text = new StringBuilder();
    sorted.forEach((products, way) -> text.append(products).append(" = ").append(way).append('\n'));
    return text.toString();
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof ProductTable other && ways.equals(other.ways);
  }

  @Override
  public int hashCode() {
    return ways.hashCode();
  }

  @Override
  public String toString() {
    return ways.size() + " classes of products";
  }
}
