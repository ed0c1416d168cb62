package org.tilespark.layout;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Reads axes as users write them. Stateless. */
public final class Axes {
  private Axes() {}

  /**
   * The axes that a text names, in its order: {@code "yz"}, {@code "y,z"}, {@code "1,2"}. Numbers
   * below 0 count from the last axis, as in numpy: {@code "-2,-1"}.
   *
   * @param text names in any case and numbers, with commas between numbers; names of one letter
   *     need no commas
   * @param names names of all axes, in lower case, outermost first
   * @return the axes; empty if the text names an unknown axis, an axis twice, or no axis
   */
  public static Optional<List<Integer>> named(String text, List<String> names) {
    List<Integer> axes = new ArrayList<>();
    for (String word : text.replaceAll("\\s", "").toLowerCase(Locale.ROOT).split(",", -1)) {
      if (word.matches("-?\\d")) {
        int number = Integer.parseInt(word);
        axes.add(number < 0 ? number + names.size() : number);
      } else if (word.isEmpty()) {
        return Optional.empty();
      } else if (names.contains(word)) {
        axes.add(names.indexOf(word));
      } else {
        word.chars().forEach(letter -> axes.add(names.indexOf(Character.toString(letter))));
      }
    }
    boolean areAxes = axes.stream().allMatch(axis -> axis >= 0 && axis < names.size());
    return areAxes && !axes.isEmpty() && axes.stream().distinct().count() == axes.size()
        ? Optional.of(List.copyOf(axes))
        : Optional.empty();
  }
}
