package org.tilespark.layout;

import java.io.Serializable;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Elements of one axis at even distances, in ascending or descending order: {@code start}, {@code
 * start + step}, and so on, as numpy's {@code start:stop:step} with resolved bounds.
 *
 * @param start the first element, 0 or more
 * @param step distance from one element to the next, not 0; 1 if there is only one
 * @param count number of elements, 1 or more
 */
public record AxisRange(long start, long step, long count) implements Serializable {
  /**
   * Checks the numbers.
   *
   * @throws IllegalArgumentException if the step is 0, the count is less than 1, or an element is
   *     below 0 or beyond 2^63 - 1
   */
  public AxisRange {
    boolean good = start >= 0 && step != 0 && count >= 1;
    // In 128 bits, since a step may be any number.
    long steps = count - 1;
    long high = Math.multiplyHigh(steps, step);
    good = good && (high == 0 && steps * step >= 0 || high == -1 && steps * step < 0);
    good = good && start + steps * step >= 0;
    step = count == 1 ? 1 : step;
    if (!good) {
      throw new IllegalArgumentException(
          "%s elements from %s in steps of %s; expected 1 or more, none below 0, a step but 0"
              .formatted(count, start, step));
    }
  }

  /** All elements of an axis, in order. */
  public static AxisRange all(long extent) {
    return new AxisRange(0, 1, extent);
  }

  /** True if this range is a whole axis of {@code extent} elements, in order. */
  public boolean isAll(long extent) {
    return start == 0 && count == extent && step == 1;
  }

  /** The lowest element of the range. */
  public long low() {
    return step > 0 ? start : start + (count - 1) * step;
  }

  /** The highest element of the range. */
  public long high() {
    return step > 0 ? start + (count - 1) * step : start;
  }

  /** The element at index {@code index} of the range. */
  public long at(long index) {
    return start + index * step;
  }

  /** The elements of this range whose indices are the elements of {@code next}. */
  public AxisRange then(AxisRange next) {
    return new AxisRange(at(next.start), Math.multiplyExact(step, next.step), next.count);
  }

  /**
   * The part of this range in a part of the axis; empty if the range has no element there.
   *
   * @param from first element of the part
   * @param to end of the part, exclusive, beyond {@code from}
   */
  public Optional<Piece> within(long from, long to) {
    long first = step > 0 ? ceilSteps(from - start, step) : ceilSteps(start - (to - 1), -step);
    long last = step > 0 ? floorSteps(to - 1 - start, step) : floorSteps(start - from, -step);
    long end = Math.min(count, last + 1);
    return first < end
        ? Optional.of(new Piece(first, new AxisRange(at(first) - from, step, end - first)))
        : Optional.empty();
  }

  /**
   * The elements of a range that are in a part of the axis.
   *
   * @param first index in the whole range of the first of these elements
   * @param range places of these elements within the part
   */
  public record Piece(long first, AxisRange range) {}

  /**
   * The number of elements of this range in each part of a regular cut, where the last part may
   * hold fewer; empty if the counts differ.
   *
   * @param block elements of a part; the first one begins at 0
   */
  public OptionalLong evenPieces(long block) {
    long part = start / block;
    long last = at(count - 1) / block;
    long each = Math.max(1, inPart(part, block));
    if (part == last) {
      return OptionalLong.of(count);
    }
    if (Math.abs(step) >= block || (block % step == 0 && each == block / Math.abs(step))) {
      return OptionalLong.of(each);
    }
    long direction = step > 0 ? 1 : -1;
    for (part += direction; part != last; part += direction) {
      if (inPart(part, block) != each) {
        return OptionalLong.empty();
      }
    }
    return inPart(last, block) <= each ? OptionalLong.of(each) : OptionalLong.empty();
  }

  private long inPart(long part, long block) {
    return within(part * block, (part + 1) * block).map(piece -> piece.range.count).orElse(0L);
  }

  private static long ceilSteps(long distance, long step) {
    return distance <= 0 ? 0 : (distance - 1) / step + 1;
  }

  private static long floorSteps(long distance, long step) {
    return distance < 0 ? -1 : distance / step;
  }

  /** The text as numpy writes it: {@code "2:10:2"}, {@code "7::-1"}. */
  @Override
  public String toString() {
    long end = start + (count - 1) * step + (step > 0 ? 1 : -1);
    return start + ":" + (end < 0 ? "" : end) + (step == 1 ? "" : ":" + step);
  }
}
