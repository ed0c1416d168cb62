package org.tilespark.spark.rows;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.StaleMetadata;

/**
 * Checks one row of a block: nulls, sizes, the array's length, and that the block without its halo
 * is inside the stated extents. Holds the current block's place and sizes.
 *
 * <p>Every failure is an {@link IllegalArgumentException} that begins with the block: {@code block
 * at row 4096, col 0: ...}.
 */
public final class BlockCheck implements Serializable {
  private final BlockSchema blocks;
  private final String operator;
  private final long[] extents; // extents of the whole array; null if they are not known
  private final long[] offset;
  private final long[] size;

  /**
   * @param extents extents of the whole array, or null if they are not known
   */
  public BlockCheck(BlockSchema blocks, String operator, Shape extents) {
    this.blocks = blocks;
    this.operator = operator;
    this.extents = extents == null ? null : extents.toArray();
    this.offset = new long[blocks.kind().rank()];
    this.size = new long[blocks.kind().rank()];
  }

  /** Place of the last checked block, per axis; overwritten by the next check. */
  public long[] offset() {
    return offset;
  }

  /** Extents of the last checked block, per axis; overwritten by the next check. */
  public long[] size() {
    return size;
  }

  /** Reads and checks the cursor's current block. */
  public void check(BlockCursor cursor) {
    InternalRow row = cursor.row();
    BlockKind kind = blocks.kind();
    long expected = checkBox(row);
    for (int plane : blocks.planes()) {
      String name = blocks.isImag(plane) ? BlockKind.IMAG : BlockKind.VALUES;
      if (row.isNullAt(plane)) {
        throw bad(name + " is null; expected " + expected + " elements");
      }
      int found = cursor.length(plane);
      if (found != expected) {
        throw bad(name + " has " + found + " elements; expected " + product(kind, expected));
      }
      long nullAt = cursor.firstNull(plane);
      if (nullAt >= 0) {
        throw bad(name + " has a null at element " + nullAt + "; blocks hold numbers only");
      }
    }
  }

  /**
   * Reads and checks a row's place and sizes alone; returns the count of elements that they
   * require.
   */
  public long checkBox(InternalRow row) {
    BlockKind kind = blocks.kind();
    for (int axis = 0; axis < kind.rank(); axis++) {
      offset[axis] = notNull(row, blocks.offsets().get(axis), kind.offsetColumns().get(axis));
    }
    for (int axis = 0; axis < kind.rank(); axis++) {
      int ordinal = blocks.sizes().get(axis);
      String name = kind.sizeColumns().get(axis);
      if (row.isNullAt(ordinal)) {
        throw bad(name + " is null; expected a count of elements");
      }
      size[axis] = row.getInt(ordinal);
      if (size[axis] < 1) {
        throw bad(name + " is " + size[axis] + "; expected 1 or more");
      }
    }
    checkPlace(kind);
    long expected = 1;
    for (long extent : size) {
      if (expected > Long.MAX_VALUE / extent) {
        throw bad("it would have " + extents(kind) + " elements, more than 2^63 - 1");
      }
      expected *= extent;
    }
    return expected;
  }

  private void checkPlace(BlockKind kind) {
    for (int axis = 0; axis < kind.rank(); axis++) {
      String name = kind.offsetColumns().get(axis);
      long before = blocks.halo().isEmpty() ? 0 : blocks.halo().get().widths().before().get(axis);
      long after = blocks.halo().isEmpty() ? 0 : blocks.halo().get().widths().after().get(axis);
      if (offset[axis] < -before) {
        throw bad(name + " is " + offset[axis] + "; expected " + -before + " or more");
      }
      if (offset[axis] > Long.MAX_VALUE - size[axis]) {
        throw bad(name + " is " + offset[axis] + "; the block would end beyond 2^63 - 1");
      }
      if (extents != null && offset[axis] + size[axis] - after > extents[axis]) {
        throw bad(
            "it ends at %s %s, the column metadata %s says %s; %s"
                .formatted(
                    name,
                    offset[axis] + size[axis],
                    ArrayMetadata.EXTENTS,
                    Arrays.toString(extents),
                    StaleMetadata.HELP));
      }
    }
  }

  private long notNull(InternalRow row, int ordinal, String name) {
    if (row.isNullAt(ordinal)) {
      throw new IllegalArgumentException(
          "%s: a %s block has a null %s; expected the place of its first element. %s"
              .formatted(operator, blocks.kind().label(), name, siblings(row)));
    }
    return row.getLong(ordinal);
  }

  /** The row's offsets in words, for a message about a block whose place is not valid. */
  private String siblings(InternalRow row) {
    StringBuilder text = new StringBuilder("Found");
    for (int axis = 0; axis < blocks.kind().rank(); axis++) {
      int ordinal = blocks.offsets().get(axis);
      text.append(' ')
          .append(blocks.kind().offsetColumns().get(axis))
          .append(' ')
          .append(row.isNullAt(ordinal) ? "null" : row.getLong(ordinal));
    }
    return text.toString();
  }

  private String product(BlockKind kind, long expected) {
    StringBuilder text = new StringBuilder();
    for (int axis = 0; axis < kind.rank(); axis++) {
      text.append(axis == 0 ? "" : " x ").append(kind.sizeColumns().get(axis));
    }
    return text + " = " + extents(kind) + " = " + expected;
  }

  /** The block's own extents, {@code 4 x 6}. */
  private String extents(BlockKind kind) {
    StringBuilder text = new StringBuilder();
    for (int axis = 0; axis < kind.rank(); axis++) {
      text.append(axis == 0 ? "" : " x ").append(size[axis]);
    }
    return text.toString();
  }

  private IllegalArgumentException bad(String defect) {
    return new IllegalArgumentException(
        blocks.kind().describe(offset) + ": " + defect + " (in " + operator + ")");
  }
}
