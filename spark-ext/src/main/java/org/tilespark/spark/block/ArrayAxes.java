package org.tilespark.spark.block;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * The axes of an array of any number of axes in a DataFrame of blocks. Those of a matrix or a
 * volume come last. Each axis before them, a leading axis, is a further column with an index:
 * blocks have extent 1 along it. Immutable.
 *
 * @param leading the column of each leading axis, outermost first; empty for a matrix or a volume
 * @param kind the blocks' kind
 */
public record ArrayAxes(List<String> leading, BlockKind kind) implements Serializable {
  /**
   * The key of a leading axis' extent in the metadata of its column, so that an array is written as
   * it was read, also if its last blocks are missing.
   */
  public static final String EXTENT = "tilespark.extent";

  /** Copies the list. */
  public ArrayAxes {
    leading = List.copyOf(leading);
  }

  /** The axes of a matrix or a volume. */
  public static ArrayAxes of(BlockKind kind) {
    return new ArrayAxes(List.of(), kind);
  }

  /**
   * The axes of a stored array. More than three axes are those of a volume with leading axes.
   *
   * @param names name of each axis, "" where it has none, outermost first; at least two
   */
  public static ArrayAxes ofStored(List<String> names) {
    BlockKind kind = names.size() == 2 ? BlockKind.MATRIX : BlockKind.VOLUME;
    List<String> taken = new ArrayList<>();
    Stream.of(kind.offsetColumns(), kind.sizeColumns()).forEach(taken::addAll);
    taken.addAll(List.of(BlockKind.VALUES, BlockKind.IMAG));
    List<String> leading = new ArrayList<>();
    for (int axis = 0; axis < names.size() - kind.rank(); axis++) {
      String name = names.get(axis);
      if (name.isBlank() || taken.contains(name.toLowerCase(Locale.ROOT))) {
        name = unnamed(axis);
      }
      leading.add(name);
      taken.add(name.toLowerCase(Locale.ROOT));
    }
    return new ArrayAxes(leading, kind);
  }

  /** The column of a leading axis that has no name of its own. */
  public static String unnamed(int axis) {
    return "axis" + axis;
  }

  /** Count of all axes. */
  public int rank() {
    return leading.size() + kind.rank();
  }

  /** The column with the place of a block's first element along each axis, outermost first. */
  public List<String> offsetColumns() {
    return Stream.of(leading, kind.offsetColumns()).flatMap(List::stream).toList();
  }

  /** The axis whose extent is in a column; -1 if the column is no size column. */
  public int axisOfSize(String column) {
    int own = kind.sizeColumns().indexOf(column);
    return own < 0 ? -1 : leading.size() + own;
  }

  /** The numbers of a matrix' or a volume's own axes, of one number for each axis. */
  public long[] own(long[] perAxis) {
    return Arrays.copyOfRange(perAxis, leading.size(), perAxis.length);
  }

  /** Numbers of a matrix' or a volume's own axes, with a 1 for each leading axis. */
  public long[] withLeadingOnes(long[] own) {
    long[] all = new long[leading.size() + own.length];
    Arrays.fill(all, 1);
    System.arraycopy(own, 0, all, leading.size(), own.length);
    return all;
  }

  /**
   * The name of a block in messages: {@code block at t 3, x 0, y 128, z 0}.
   *
   * @param offset place of the block's first element, {@link #rank()} numbers
   */
  public String describe(long[] offset) {
    StringBuilder text = new StringBuilder("block at ");
    List<String> columns = offsetColumns();
    for (int axis = 0; axis < offset.length; axis++) {
      text.append(axis == 0 ? "" : ", ").append(columns.get(axis)).append(' ').append(offset[axis]);
    }
    return text.toString();
  }
}
