package org.tilespark.spark.slice;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.tilespark.arrow.blocks.Slice;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Widths;

/**
 * The text of a slice, with numpy's meaning: {@code "100:200, ::2"}, {@code "..., -1"}. A single
 * number keeps its axis, with extent 1.
 *
 * @param text text as it was written, without blanks
 * @param entries slices along the axes, one for each, outermost first
 */
public record SliceText(String text, List<Entry> entries) {
  private static final String NUMBER = "([+-]?\\d+)";
  private static final Pattern RANGE = Pattern.compile("%1$s?:%1$s?(?::%1$s?)?".formatted(NUMBER));
  private static final Pattern INDEX = Pattern.compile(NUMBER);

  /** Copies the list. */
  public SliceText {
    entries = List.copyOf(entries);
  }

  /**
   * The slice along one axis. Bounds below 0 count from the end.
   *
   * @param text text as it was written
   * @param start first element; empty if it is left out
   * @param stop end, exclusive; empty if it is left out
   * @param isIndex true if the text is a single number, {@code start}
   */
  public record Entry(
      String text, OptionalLong start, OptionalLong stop, long step, boolean isIndex) {
    private static final Entry ALL =
        new Entry(":", OptionalLong.empty(), OptionalLong.empty(), 1, false);

    /** The elements that the entry selects along an axis; empty if there are none. */
    private Optional<AxisRange> of(long extent) {
      if (isIndex) {
        long index = start.getAsLong() < 0 ? start.getAsLong() + extent : start.getAsLong();
        return index >= 0 && index < extent
            ? Optional.of(new AxisRange(index, 1, 1))
            : Optional.empty();
      }
      long lowest = step > 0 ? 0 : -1; // bounds are clipped to lowest and highest
      long highest = step > 0 ? extent : extent - 1;
      long from = bound(start, extent, lowest, highest, step > 0 ? lowest : highest);
      long to = bound(stop, extent, lowest, highest, step > 0 ? highest : lowest);
      long distance = step > 0 ? to - from : from - to;
      if (distance <= 0) {
        return Optional.empty();
      }
      // A step of -2^63 has no absolute value; it selects one element.
      long count = step == Long.MIN_VALUE ? 1 : (distance - 1) / Math.abs(step) + 1;
      return Optional.of(new AxisRange(from, step, count));
    }

    private static long bound(
        OptionalLong given, long extent, long lowest, long highest, long otherwise) {
      if (given.isEmpty()) {
        return otherwise;
      }
      long bound = given.getAsLong() < 0 ? given.getAsLong() + extent : given.getAsLong();
      return Math.max(lowest, Math.min(highest, bound));
    }
  }

  /**
   * Reads a slice.
   *
   * @param what the parameter, for messages: {@code "matrix_slice: slices"}
   * @throws IllegalArgumentException if the text is not valid, or has more entries than there are
   *     axes
   */
  public static SliceText parse(String what, String text, BlockKind kind) {
    String plain = text.replaceAll("\\s*([,:])\\s*", "$1").strip();
    List<Entry> entries = new ArrayList<>();
    int rest = -1; // number of the entry with the dots
    for (String each : plain.split(",", -1)) {
      if (each.equals("...") && rest < 0) {
        rest = entries.size();
      } else {
        entries.add(
            entry(each)
                .orElseThrow(
                    () ->
                        bad(
                            what,
                            text,
                            each.equals("...") ? "two of '...'" : "'" + each + "'",
                            kind)));
      }
    }
    if (entries.size() > kind.rank()) {
      throw bad(what, text, entries.size() + " entries", kind);
    }
    entries.addAll(
        rest < 0 ? entries.size() : rest,
        Collections.nCopies(kind.rank() - entries.size(), Entry.ALL));
    return new SliceText(plain, entries);
  }

  private static IllegalArgumentException bad(
      String what, String text, String found, BlockKind kind) {
    return new IllegalArgumentException(
        ("%s is '%s', with %s; expected at most one entry for each of %s, start:stop:step with a"
                + " step but 0 or a number, with commas between, and '...' for the others, as"
                + " '100:200, ::2'")
            .formatted(what, text, found, String.join(", ", kind.offsetColumns())));
  }

  private static Optional<Entry> entry(String text) {
    try {
      Matcher range = RANGE.matcher(text);
      if (range.matches()) {
        long step = number(range.group(3)).orElse(1);
        return step == 0
            ? Optional.empty()
            : Optional.of(
                new Entry(text, number(range.group(1)), number(range.group(2)), step, false));
      }
      return INDEX.matcher(text).matches()
          ? Optional.of(new Entry(text, number(text), OptionalLong.empty(), 1, true))
          : Optional.empty();
    } catch (NumberFormatException e) { // a number beyond the range of long
      return Optional.empty();
    }
  }

  private static OptionalLong number(String text) {
    return text == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(text));
  }

  /** A slice that reverses some axes and keeps the others. */
  static SliceText flip(BlockKind kind, List<Integer> axes) {
    List<String> entries = new ArrayList<>(Collections.nCopies(kind.rank(), ":"));
    axes.forEach(axis -> entries.set(axis, "::-1"));
    String text = String.join(",", entries);
    return parse("flip", text, kind);
  }

  /** The slice without some elements at the start and the end of each axis. */
  public static SliceText crop(BlockKind kind, Widths widths) {
    List<String> entries = new ArrayList<>();
    for (int axis = 0; axis < kind.rank(); axis++) {
      long after = widths.after().get(axis);
      entries.add(widths.before().get(axis) + ":" + (after == 0 ? "" : -after));
    }
    return parse("crop", String.join(",", entries), kind);
  }

  /**
   * The elements that this text selects of an array with these extents.
   *
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if no element is left along an axis; the message states the
   *     extents
   */
  Slice of(Shape extents, BlockKind kind, String operator) {
    List<AxisRange> ranges = new ArrayList<>();
    for (int axis = 0; axis < entries.size(); axis++) {
      Entry entry = entries.get(axis);
      String letter = kind.offsetColumns().get(axis);
      long extent = extents.extent(axis);
      ranges.add(
          entry
              .of(extent)
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          entry.isIndex
                              ? "%s: index %s along %s is outside the %s, whose extents are %s"
                                  .formatted(operator, entry.text, letter, kind.label(), extents)
                              : ("%s: '%s' along %s holds none of %s elements; the extents are %s,"
                                      + " and blocks hold at least one element")
                                  .formatted(operator, entry.text, letter, extent, extents))));
    }
    return new Slice(ranges);
  }
}
