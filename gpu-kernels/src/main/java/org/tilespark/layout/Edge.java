package org.tilespark.layout;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** How an axis is continued beyond its two ends: the modes of numpy's {@code pad}, and none. */
public enum Edge {
  /** No continuation: there are no elements beyond the ends. */
  NONE,
  /** A constant: {@code 0 0 | a b c d | 0 0}. */
  CONSTANT,
  /** The element at the end: {@code a a | a b c d | d d}. */
  EDGE,
  /** Mirrored at the element at the end: {@code c b | a b c d | c b}. */
  REFLECT,
  /** Mirrored after the element at the end: {@code b a | a b c d | d c}. */
  SYMMETRIC,
  /** The elements of the other end: {@code c d | a b c d | a b}. */
  WRAP;

  /**
   * The mode with a name; upper or lower case does not matter.
   *
   * @param what name of the parameter, for messages: {@code "matrix_pad: mode"}
   * @param allowed the modes that may be asked for
   * @throws IllegalArgumentException if no allowed mode has this name
   */
  public static Edge parse(String what, String name, Edge... allowed) {
    return Arrays.stream(allowed)
        .filter(mode -> mode.toString().equals(name.strip().toLowerCase(Locale.ROOT)))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "%s is '%s'; expected %s"
                        .formatted(
                            what,
                            name,
                            Arrays.stream(allowed)
                                .map(Edge::toString)
                                .collect(Collectors.joining(", ")))));
  }

  /** The name of the mode, in lower case. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
