package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;

/**
 * The blocks of one partition of an operand that stays in place, one after the other. Properties of
 * a block are valid until the next one.
 */
final class LargeBlocks {
  /**
   * The side whose blocks stay.
   *
   * @param right true if the operand is B
   * @param blocks ordinals of a block's columns in its rows
   * @param groupOrdinals ordinals of grouping columns
   * @param depth largest extent of a panel along K
   * @param mostOuter largest extent along M or N of the part of a block that is multiplied at a
   *     time
   */
  record Side(
      boolean right, BlockSchema blocks, List<Integer> groupOrdinals, long depth, long mostOuter)
      implements Serializable {}

  private final PanelTask.Job job;
  private final MultiplySpec spec;
  private final Side side;
  private final int inner; // the block's axis along K
  private final BlockCursor cursor;
  private final BlockCheck check;
  private final UnsafeProjection groupOf;
  private HostMemory values;
  private UnsafeRow group;

  /** The blocks that a cursor gives; {@link #advance} moves to the first one. */
  LargeBlocks(PanelTask.Job job, Side side, BlockCursor cursor) {
    this.job = job;
    this.spec = job.spec();
    this.side = side;
    this.inner = spec.innerIsRow(side.right()) ? 0 : 1;
    this.cursor = cursor;
    this.check =
        new BlockCheck(
            side.blocks(),
            spec.operator() + ", matrix " + (side.right() ? "B" : "A"),
            spec.extents(side.right()));
    this.groupOf = job.groups(side.groupOrdinals());
  }

  /**
   * Moves to the next block; false if there is none.
   *
   * @throws IllegalArgumentException if the block is broken, or should hold all of K and does not
   */
  boolean advance() {
    if (!cursor.advance()) {
      return false;
    }
    check.check(cursor);
    if (!job.partial() && innerEnd() - innerStart() < spec.k()) {
      throw doesNotSpan();
    }
    group = groupOf.apply(cursor.row()).copy();
    values = cursor.values(side.blocks().values(), spec.type()).values();
    return true;
  }

  /** First element of the block along M or N. */
  long outerStart() {
    return check.offset()[1 - inner];
  }

  long outerEnd() {
    return outerStart() + check.size()[1 - inner];
  }

  /** First element of the block along K. */
  long innerStart() {
    return check.offset()[inner];
  }

  long innerEnd() {
    return innerStart() + check.size()[inner];
  }

  /** The block's grouping columns; later blocks do not overwrite them. */
  UnsafeRow group() {
    return group;
  }

  /** Copies the elements of the block that are inside a panel to their places there. */
  void addTo(PanelSide panel) {
    panel.add(
        check.offset()[0], check.offset()[1], check.size()[0], check.size()[1], values, false);
  }

  private IllegalArgumentException doesNotSpan() {
    return new IllegalArgumentException(
        OperandDefects.blockAt(spec, side.right(), check.offset()[0], check.offset()[1])
            + " holds "
            + (innerEnd() - innerStart())
            + " of the "
            + spec.k()
            + " elements of the inner dimension; the column metadata tilespark.blockShape or"
            + " tilespark.whole says that all blocks hold all of them; "
            + StaleMetadata.HELP);
  }
}
