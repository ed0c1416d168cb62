package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.layout.Shape;

/** How tests cut an array into parts, and copy them. */
final class ArrayParts {
  private ArrayParts() {}

  /** In any order. */
  static List<Part> shuffled(List<Part> parts, Random random) {
    List<Part> shuffled = new ArrayList<>(parts);
    Collections.shuffle(shuffled, random);
    return shuffled;
  }

  /** Parts that tile an array, cut at random places of each axis. */
  static List<Part> cut(Shape shape, Random random) {
    List<List<Long>> cuts = new ArrayList<>();
    for (long extent : shape.toArray()) {
      List<Long> along = new ArrayList<>(List.of(0L));
      while (along.get(along.size() - 1) < extent) {
        long last = along.get(along.size() - 1);
        long step =
            random.nextInt(3) == 0 ? extent : 1 + random.nextInt((int) Math.max(1, extent / 2));
        along.add(Math.min(extent, last + step));
      }
      cuts.add(along);
    }
    return parts(cuts);
  }

  /** Parts of equal size but at the ends. */
  static List<Part> grid(Shape shape, long... sizes) {
    List<List<Long>> cuts = new ArrayList<>();
    for (int axis = 0; axis < sizes.length; axis++) {
      List<Long> along = new ArrayList<>();
      for (long at = 0; at < shape.extent(axis); at += sizes[axis]) {
        along.add(at);
      }
      along.add(shape.extent(axis));
      cuts.add(along);
    }
    return parts(cuts);
  }

  /** Between all cuts of each axis. */
  private static List<Part> parts(List<List<Long>> cuts) {
    List<Part> parts = new ArrayList<>(List.of(new Part(List.of(), List.of())));
    for (List<Long> along : cuts) {
      List<Part> next = new ArrayList<>();
      for (Part part : parts) {
        for (int i = 1; i < along.size(); i++) {
          List<Long> low = new ArrayList<>(part.low());
          List<Long> size = new ArrayList<>(part.size());
          low.add(along.get(i - 1));
          size.add(along.get(i) - along.get(i - 1));
          next.add(new Part(low, size));
        }
      }
      parts = next;
    }
    return parts;
  }

  /** A part of an array, without gaps. */
  static byte[] dense(Part part, Shape shape, int width, byte[] array) {
    if (part.equals(Part.whole(shape))) {
      return array.clone();
    }
    byte[] dense = new byte[(int) part.elements() * width];
    copy(part, shape, width, array, dense, true);
    return dense;
  }

  /** Puts a part of {@link #dense(Part, Shape, int, byte[])} back into an array. */
  static void undense(Part part, Shape shape, int width, byte[] dense, byte[] array) {
    copy(part, shape, width, array, dense, false);
  }

  private static void copy(
      Part part, Shape shape, int width, byte[] array, byte[] dense, boolean out) {
    long[] index = new long[shape.rank()];
    for (int i = 0; i < part.elements(); i++) {
      long[] at = index.clone();
      Arrays.setAll(at, axis -> index[axis] + part.low().get(axis));
      int inArray = (int) BoxMoves.element(shape, at) * width;
      System.arraycopy(
          out ? array : dense,
          out ? inArray : i * width,
          out ? dense : array,
          out ? i * width : inArray,
          width);
      for (int axis = index.length - 1;
          axis >= 0 && ++index[axis] == part.size().get(axis);
          axis--) {
        index[axis] = 0;
      }
    }
  }
}
