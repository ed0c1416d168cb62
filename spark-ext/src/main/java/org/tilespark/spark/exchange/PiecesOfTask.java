package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.layout.Box;
import org.tilespark.layout.PieceCursor;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.PieceInPlace;
import org.tilespark.spark.rows.RetainableRows;
import org.tilespark.spark.rows.RetainedRows;
import org.tilespark.spark.rows.SharedUse;
import scala.math.Ordering;

/**
 * Finds the pieces that an exchange would send to a task, in all blocks, and gives them in order.
 * No value is copied: blocks stay in memory until the task ends, and a piece refers to its block.
 *
 * @param spec how blocks are cut
 * @param blocks ordinals of the block columns in the rows of blocks
 * @param read for each output column after the keys, its ordinal in the rows of blocks
 * @param rows schema of the rows of blocks
 * @param tasks the tasks that take rows of the output
 */
record PiecesOfTask(
    CutSpec spec,
    BlockSchema blocks,
    List<Integer> read,
    StructType rows,
    PiecesInPlaceExec.Tasks tasks)
    implements Serializable {
  /** Copies the list. */
  PiecesOfTask {
    read = List.copyOf(read);
  }

  /**
   * The rows of one task, each valid until the next is requested.
   *
   * @param all rows of all blocks; a row may be valid only until the next is requested
   * @param marks rows of all marks; likewise
   * @throws IllegalArgumentException that names the block, if a block of the task is bad, or if any
   *     block is outside the array
   */
  Iterator<InternalRow> of(int task, Iterator<InternalRow> all, Iterator<InternalRow> marks) {
    return new Search(task).rows(all, marks);
  }

  /** Finds the rows of a task. Used by one thread. */
  private final class Search {
    private final int task;
    private final ToIntFunction<InternalRow> taskOf = tasks.shares().partitionOf();
    private final RetainedRows retained = new RetainedRows();
    private final SharedUse memory = new SharedUse(retained::close);
    private final BlockCheck check =
        new BlockCheck(blocks, spec.operator(), spec.extents().getOrElse(() -> null));
    private final PieceCursor pieces = spec.pieces();
    private final List<PieceKeys.Column> keyColumns = spec.keys().columns();
    private final long[] keys = new long[keyColumns.size()];
    private final int fields = keys.length + read.size();
    // A row of the current piece's keys and further columns, from which its task is computed.
    private final GenericInternalRow looked = new GenericInternalRow(fields);
    private final List<Integer> places = read.stream().map(blocks.offsets()::indexOf).toList();
    private final List<Integer> sizes = read.stream().map(blocks.sizes()::indexOf).toList();
    private final int[] further =
        IntStream.range(0, read.size())
            .filter(i -> !blocks.blockColumns().contains(read.get(i)))
            .toArray();
    private final List<InternalRow> found = new ArrayList<>();

    Search(int task) {
      this.task = task;
    }

    Iterator<InternalRow> rows(Iterator<InternalRow> all, Iterator<InternalRow> marks) {
      TaskContext context = TaskContext.get();
      context.addTaskCompletionListener((TaskCompletionListener) ended -> memory.close());
      BlockCursor cursor = BlockCursor.overRows(all);
      while (cursor.advance()) {
        addPieces(cursor);
      }
      while (marks.hasNext()) {
        InternalRow mark = marks.next();
        if (taskOf.applyAsInt(mark) == task) {
          found.add(mark.copy());
        }
      }
      Ordering<InternalRow> ordering = RowOrder.of(tasks.order());
      found.sort(ordering);
      PieceInPlace given = new PieceInPlace(fields);
      RetainableRows.given(given, memory::begin, context);
      Iterator<InternalRow> each = found.iterator();
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return each.hasNext();
        }

        @Override
        public InternalRow next() {
          InternalRow row = each.next();
          if (row instanceof PieceInPlace piece) {
            given.show(piece.values(), piece.block());
            return given;
          }
          return row;
        }
      };
    }

    private void addPieces(BlockCursor cursor) {
      InternalRow block = cursor.row();
      check.checkBox(block);
      for (int i : further) {
        looked.update(keys.length + i, column(block, i));
      }
      InternalRow stays = null; // the block's row, once the task has taken a piece of it
      Box box = null;
      pieces.start(check.offset(), check.size());
      while (pieces.advance()) {
        int copies = spec.keys().copies(pieces.part());
        for (int copy = 0; copy < copies; copy++) {
          spec.keys().fill(copy, pieces.part(), pieces.low(), keys);
          for (int key = 0; key < keys.length; key++) {
            looked.update(key, number(keys[key], keyColumns.get(key).isLong()));
          }
          if (taskOf.applyAsInt(looked) != task) {
            continue;
          }
          if (stays == null) {
            check.check(cursor);
            stays = retained.retains(block) ? block : block.copy();
            box = Box.at(check.offset().clone(), check.size().clone());
          }
          found.add(piece(stays, box));
        }
      }
    }

    private PieceInPlace piece(InternalRow block, Box box) {
      Object[] columns = new Object[fields];
      System.arraycopy(looked.values(), 0, columns, 0, keys.length);
      for (int i = 0; i < read.size(); i++) {
        int axis = places.get(i);
        int sizeAxis = sizes.get(i);
        columns[keys.length + i] =
            axis >= 0
                ? (Object) pieces.low()[axis]
                : sizeAxis >= 0
                    ? (Object) (int) (pieces.high()[sizeAxis] - pieces.low()[sizeAxis])
                    : column(block, i);
      }
      PieceInPlace piece = new PieceInPlace(fields);
      piece.show(columns, box);
      return piece;
    }

    private Object column(InternalRow block, int i) {
      int ordinal = read.get(i);
      return block.isNullAt(ordinal) ? null : block.get(ordinal, rows.fields()[ordinal].dataType());
    }
  }

  private static Object number(long value, boolean isLong) {
    return isLong ? (Object) value : (Object) Math.toIntExact(value);
  }
}
