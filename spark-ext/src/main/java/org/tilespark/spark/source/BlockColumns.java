package org.tilespark.spark.source;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.numpy.NpyEncoder;
import org.tilespark.spark.rows.BlockCursor;

/**
 * The block columns of the rows that a sink's tasks get, and the array to which the blocks must
 * belong. Immutable.
 */
public final class BlockColumns implements Serializable {
  private final NpyEncoder encoder;
  private final long[] extents;
  private final String extentsSource;
  private final ArrayAxes axes;
  private final List<WrittenBlocks.Place> leading;
  private final int[] ordinals; // of the columns: offsets, sizes, values[, imag]

  /**
   * The columns of a schema.
   *
   * @param encoder encoder of the columns' numbers as elements of the array
   * @param extents extents of the array
   * @param extentsSource source of the extents, for messages
   */
  public BlockColumns(
      WrittenBlocks blocks, NpyEncoder encoder, Shape extents, String extentsSource) {
    this.encoder = encoder;
    this.extents = extents.toArray();
    this.extentsSource = extentsSource;
    this.axes = blocks.axes();
    this.leading = blocks.leading();
    this.ordinals = blocks.schema().blockColumns().stream().mapToInt(Integer::intValue).toArray();
  }

  /**
   * A valid block: it is inside the array, and has as many values as its size says, none of them
   * null.
   *
   * @param values the columns {@code values} and, of complex blocks, {@code imag}; valid until the
   *     cursor advances
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record Block(long[] offset, long[] size, HostMemory[] values) {
    /** Writes offset and size into {@code box}, as {@link BlockSink.Writer#write} does. */
    public void putPlace(long[] box, int at) {
      System.arraycopy(offset, 0, box, at, offset.length);
      System.arraycopy(size, 0, box, at + offset.length, size.length);
    }
  }

  /** The encoder of the columns' numbers as the array's elements. */
  public NpyEncoder encoder() {
    return encoder;
  }

  /** The axes of the array. */
  public ArrayAxes axes() {
    return axes;
  }

  /** Extents of the array; not to be changed. */
  public long[] extents() {
    return extents;
  }

  /**
   * The block in the cursor's current row.
   *
   * @throws IllegalArgumentException if it is no block of the array; the message names the block
   */
  public Block block(BlockCursor blocks) {
    InternalRow row = blocks.row();
    int own = axes.kind().rank();
    int before = leading.size();
    long[] offset = new long[before + own];
    long[] size = new long[before + own];
    for (int axis = 0; axis < before; axis++) {
      requireValue(row, leading.get(axis).ordinal(), axes.leading().get(axis));
      offset[axis] = leading.get(axis).in(row);
      size[axis] = 1;
    }
    for (int axis = 0; axis < own; axis++) {
      requireValue(row, ordinals[axis], axes.kind().offsetColumns().get(axis));
      requireValue(row, ordinals[own + axis], axes.kind().sizeColumns().get(axis));
      offset[before + axis] = row.getLong(ordinals[axis]);
      size[before + axis] = row.getInt(ordinals[own + axis]);
    }
    requireInside(axes, offset, size, extents, extentsSource);
    long length = 1;
    for (long extent : size) {
      length = Math.multiplyExact(length, extent);
    }
    HostMemory[] values = new HostMemory[encoder.to().parts()];
    for (int part = 0; part < values.length; part++) {
      values[part] = values(blocks, part, offset, size, length);
    }
    return new Block(offset, size, values);
  }

  /**
   * Checks that a block is inside an array.
   *
   * @param extentsSource source of the extents, for messages
   * @throws IllegalArgumentException if not; the message names the block
   */
  static void requireInside(
      ArrayAxes axes, long[] offset, long[] size, long[] extents, String extentsSource) {
    for (int axis = 0; axis < offset.length; axis++) {
      int own = axis - axes.leading().size();
      String sizeColumn = own < 0 ? "" : axes.kind().sizeColumns().get(own);
      if (size[axis] < 1) {
        throw defect(axes, offset, sizeColumn + " is " + size[axis] + "; expected 1 or more");
      }
      long extent = extents[axis];
      if (offset[axis] < 0 || size[axis] > extent || offset[axis] > extent - size[axis]) {
        throw defect(
            axes,
            offset,
            ("%s %s%s lies outside the stated extents %s (from %s); the option %s"
                    + " overrides them")
                .formatted(
                    axes.offsetColumns().get(axis),
                    offset[axis],
                    own < 0 ? "" : " with " + sizeColumn + " " + size[axis],
                    Arrays.toString(extents),
                    extentsSource,
                    BlockFormat.EXTENTS));
      }
    }
  }

  private void requireValue(InternalRow row, int ordinal, String column) {
    if (row.isNullAt(ordinal)) {
      StringBuilder text = new StringBuilder("block at ");
      for (int axis = 0; axis < axes.kind().rank(); axis++) {
        int place = ordinals[axis];
        text.append(axis == 0 ? "" : ", ")
            .append(axes.kind().offsetColumns().get(axis))
            .append(' ')
            .append(row.isNullAt(place) ? "null" : Long.toString(row.getLong(place)));
      }
      throw new IllegalArgumentException(
          text.append(": column ").append(column).append(" is null; expected a value").toString());
    }
  }

  private HostMemory values(BlockCursor blocks, int part, long[] offset, long[] size, long length) {
    String column = part == 0 ? BlockKind.VALUES : BlockKind.IMAG;
    int ordinal = ordinals[2 * axes.kind().rank() + part];
    requireValue(blocks.row(), ordinal, column);
    int found = blocks.length(ordinal);
    if (found != length) {
      throw defect(
          offset,
          "%s has %s elements; expected %s = %s".formatted(column, found, sizeText(size), length));
    }
    long missing = blocks.firstNull(ordinal);
    if (missing >= 0) {
      throw defect(
          offset, column + " has a null at element " + missing + "; expected numbers only");
    }
    return blocks.values(ordinal, encoder.from()).values();
  }

  private String sizeText(long[] size) {
    StringBuilder text = new StringBuilder();
    long[] own = axes.own(size);
    for (int axis = 0; axis < own.length; axis++) {
      text.append(axis == 0 ? "" : " * ")
          .append(axes.kind().sizeColumns().get(axis))
          .append(' ')
          .append(own[axis]);
    }
    return text.toString();
  }

  /**
   * The error about a value that the array's type cannot hold.
   *
   * @param part 0 for the column {@code values}, 1 for {@code imag}
   * @param index index of the value in its block
   * @param option name of the option that chooses another type
   */
  public IllegalArgumentException misfit(Block block, int part, long index, String option) {
    return defect(
        block.offset,
        encoder.misfit(
            block.values[part],
            part,
            index,
            block.offset,
            block.size,
            "the option " + option + " with another type"));
  }

  /** The error about a block, given by its place. */
  public IllegalArgumentException defect(long[] offset, String what) {
    return defect(axes, offset, what);
  }

  private static IllegalArgumentException defect(ArrayAxes axes, long[] offset, String what) {
    return new IllegalArgumentException(axes.describe(offset) + ": " + what);
  }
}
