package org.tilespark.spark.source.zarr;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.tilespark.layout.Shape;

/**
 * The part of an array that is read: one index along some axes, and the others completely.
 * Immutable.
 *
 * @param array extents of the array
 * @param selected for each axis its one index, or -1 for all indices
 */
record ArrayView(Shape array, List<Long> selected) implements Serializable {
  /** The option that selects indices. */
  static final String SELECT = "select";

  /** Copies the list. */
  ArrayView {
    selected = List.copyOf(selected);
  }

  /** The view of all elements. */
  static ArrayView whole(Shape array) {
    return new ArrayView(array, Collections.nCopies(array.rank(), -1L));
  }

  /**
   * The view that the option asks for.
   *
   * @param text {@code "t:0,c:1"}: an axis by its name or number, and an index of it, below 0 from
   *     its end; "" for the whole array
   * @throws IllegalArgumentException if the text does not fit the array, or no axis is left
   */
  static ArrayView of(ZarrArray array, String text) {
    Shape shape = array.shape();
    if (shape.rank() == 0) {
      throw new IllegalArgumentException(
          "the array is a single value without axes; expected one axis or more");
    }
    Long[] selected = new Long[shape.rank()];
    Arrays.fill(selected, -1L);
    for (String part : text.isBlank() ? new String[0] : text.split(",", -1)) {
      int colon = part.lastIndexOf(':');
      int axis = colon < 0 ? -1 : axis(array, part.substring(0, colon).trim());
      if (axis < 0 || selected[axis] >= 0) {
        throw new IllegalArgumentException(
            "Option %s is '%s', where '%s' names no axis, or one again; expected %s with an index each, such as '%s:0'"
                .formatted(SELECT, text, part.trim(), axes(array), name(array, 0)));
      }
      selected[axis] = index(text, part.substring(colon + 1).trim(), shape.extent(axis));
    }
    ArrayView view = new ArrayView(shape, List.of(selected));
    int rank = view.kept().length;
    if (rank < 1) {
      throw new IllegalArgumentException(
          "Option %s is '%s', which leaves no axis of %s of %s; expected one or more"
              .formatted(SELECT, text, axes(array), shape));
    }
    return view;
  }

  private static String name(ZarrArray array, int axis) {
    String name = axis < array.names().size() ? array.names().get(axis) : "";
    return name.isEmpty() ? Integer.toString(axis) : name;
  }

  private static String axes(ZarrArray array) {
    return String.join(
        ", ",
        IntStream.range(0, array.shape().rank()).mapToObj(axis -> name(array, axis)).toList());
  }

  /** The number of the axis with a name or number; -1 if there is none. */
  private static int axis(ZarrArray array, String text) {
    int named = text.isEmpty() ? -1 : array.names().indexOf(text);
    if (named >= 0 || !text.matches("\\d{1,2}")) {
      return named;
    }
    int number = Integer.parseInt(text);
    return number < array.shape().rank() ? number : -1;
  }

  private static long index(String option, String text, long extent) {
    long index;
    try {
      index = Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "Option %s is '%s', where '%s' is no index".formatted(SELECT, option, text), e);
    }
    if (index < -extent || index >= extent) {
      throw new IllegalArgumentException(
          "Option %s is '%s', where %s is outside an axis of %s elements"
              .formatted(SELECT, option, index, extent));
    }
    return index < 0 ? index + extent : index;
  }

  /** The numbers of the axes without a selected index. */
  int[] kept() {
    return IntStream.range(0, array.rank()).filter(axis -> selected.get(axis) < 0).toArray();
  }

  /** Extents of the part; one axis becomes one row. */
  Shape extents() {
    return blockAxes(array);
  }

  /** A shape of the array, for example of a chunk, reduced to the axes of blocks. */
  Shape blockAxes(Shape shape) {
    int[] kept = kept();
    long[] extents = new long[Math.max(2, kept.length)];
    Arrays.fill(extents, 1);
    for (int i = 0; i < kept.length; i++) {
      extents[extents.length - kept.length + i] = shape.extent(kept[i]);
    }
    return Shape.of(extents);
  }

  /** A place of the part as a place of the array. */
  long[] offset(long[] offset) {
    int[] kept = kept();
    long[] place = new long[array.rank()];
    for (int axis = 0; axis < place.length; axis++) {
      place[axis] = Math.max(0, selected.get(axis));
    }
    for (int i = 0; i < kept.length; i++) {
      place[kept[i]] = offset[offset.length - kept.length + i];
    }
    return place;
  }

  /** The extents of a box of the part in the array. */
  long[] size(long[] size) {
    int[] kept = kept();
    long[] extents = new long[array.rank()];
    Arrays.fill(extents, 1);
    for (int i = 0; i < kept.length; i++) {
      extents[kept[i]] = size[size.length - kept.length + i];
    }
    return extents;
  }

  /**
   * Values for each axis, for example names or distances, reduced to the kept axes; none if there
   * are none.
   */
  <T> List<T> ofKept(List<T> perAxis) {
    return perAxis.isEmpty() ? perAxis : Arrays.stream(kept()).mapToObj(perAxis::get).toList();
  }
}
