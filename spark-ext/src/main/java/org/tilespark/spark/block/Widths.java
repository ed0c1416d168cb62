package org.tilespark.spark.block;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;

/**
 * The numbers of elements to add before and after each axis.
 *
 * @param before elements before each axis, 0 or more
 * @param after elements after each axis, 0 or more
 */
public record Widths(List<Long> before, List<Long> after) implements Serializable {
  /** Copies the lists. */
  public Widths {
    before = List.copyOf(before);
    after = List.copyOf(after);
  }

  /**
   * The widths that a text states, as numpy's {@code pad_width} does: {@code "2"} on all sides,
   * {@code "2,3"} before and after every axis, {@code "2,3; 0,1"} with two numbers for each axis.
   *
   * @param what name of the parameter, for messages: {@code "matrix_pad: widths"}
   * @throws IllegalArgumentException if the text is not valid for {@code rank} axes
   */
  public static Widths ofPad(String what, String text, int rank) {
    List<List<Long>> axes = numbers(what, text, rank);
    return of(what, text, axes.size() == 1 ? Collections.nCopies(rank, axes.get(0)) : axes, rank);
  }

  /**
   * The widths of a halo: {@code "2"} on all sides, {@code "1,2,0"} on both sides of each axis,
   * {@code "1,2; 0,0; 3,1"} before and after each axis; throws as {@link #ofPad}.
   */
  public static Widths ofHalo(String what, String text, int rank) {
    List<List<Long>> axes = numbers(what, text, rank);
    if (axes.size() == 1) {
      List<Long> all = axes.get(0);
      axes = all.size() == 1 ? Collections.nCopies(rank, all) : all.stream().map(List::of).toList();
    }
    return of(what, text, axes, rank);
  }

  /** True if all numbers are 0. */
  public boolean areZero() {
    return Stream.concat(before.stream(), after.stream()).allMatch(width -> width == 0);
  }

  private static Widths of(String what, String text, List<List<Long>> axes, int rank) {
    if (axes.size() != rank) {
      throw bad(what, text, rank);
    }
    List<Long> before = new ArrayList<>();
    List<Long> after = new ArrayList<>();
    for (List<Long> axis : axes) {
      if (axis.size() > 2) {
        throw bad(what, text, rank);
      }
      before.add(axis.get(0));
      after.add(axis.get(axis.size() - 1));
    }
    return new Widths(before, after);
  }

  /** The numbers between commas, in a list for each part between semicolons. */
  private static List<List<Long>> numbers(String what, String text, int rank) {
    List<List<Long>> axes = new ArrayList<>();
    try {
      for (String axis : text.split(";", -1)) {
        axes.add(Stream.of(axis.split(",", -1)).map(String::strip).map(Long::valueOf).toList());
      }
    } catch (NumberFormatException e) {
      throw bad(what, text, rank);
    }
    if (axes.stream().flatMap(List::stream).anyMatch(width -> width < 0 || width > 1L << 58)) {
      throw bad(what, text, rank);
    }
    return axes;
  }

  private static IllegalArgumentException bad(String what, String text, int rank) {
    return new IllegalArgumentException(
        "%s is '%s'; expected numbers of elements, 0 or more: '2' on all sides, or before and after"
                .formatted(what, text)
            + " each of %s axes, as '%s'"
                .formatted(rank, String.join("; ", Collections.nCopies(rank, "2,3"))));
  }

  /** The text of these widths that {@link #ofPad} and {@link #ofHalo} read. */
  @Override
  public String toString() {
    List<String> axes = new ArrayList<>();
    for (int axis = 0; axis < before.size(); axis++) {
      axes.add(before.get(axis) + "," + after.get(axis));
    }
    return String.join("; ", axes);
  }
}
