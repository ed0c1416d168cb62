package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.AxisImages;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Images;
import org.tilespark.layout.PieceCursor;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BoxCopy;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.PieceKeys;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockRowBuilder;
import scala.Option;

/**
 * The rows of a stage without steps: blocks that are assembled from pieces, or cut into pieces.
 * Each element is copied once, from its input row to its output row. Holds one row at a time, which
 * is valid until the next one is requested.
 */
final class MovedRows implements Iterator<InternalRow> {
  /**
   * Counters of moved rows.
   *
   * @param blocks blocks that were assembled or cut
   * @param whole number of cut blocks that are a single piece
   * @param pieces number of pieces of all cut blocks
   * @param bytes bytes of rows
   */
  record Counts(SQLMetric blocks, SQLMetric whole, SQLMetric pieces, SQLMetric bytes)
      implements Serializable {}

  private final ArraySource arrays;
  private final Option<AssembleSpec> assembled; // empty if blocks are cut
  private final PieceKeys keys; // null if rows have no keys
  private final Counts counts;
  private final PieceCursor pieces; // null if blocks are not cut
  private final BlockRowBuilder builder;
  private final ElementType type;
  private final long[] keyValues;
  private Box box; // box of the current array; null before the first
  private Box place; // box of the current piece, or of the whole array; null before the first
  private boolean isMade; // true if the builder's row has the current piece
  private int copy; // number of copies of the current piece that were given
  private int copies; // how often the piece is given, each time with other keys

  /**
   * The rows of a partition.
   *
   * @param arrays arrays that are moved, made of the rows of {@code from}; borrowed
   */
  MovedRows(
      StageSpec spec,
      StageTask.Child from,
      StageResults.Output output,
      ArraySource arrays,
      Counts counts) {
    this.arrays = arrays;
    this.assembled = spec.first().assembled();
    this.keys = output.keys();
    this.counts = counts;
    this.pieces = output.pieces() == null ? null : output.pieces().cursor();
    int keyCount = output.keyCount();
    this.keyValues = new long[keyCount];
    this.type = spec.out().elementType();
    List<Integer> further = spec.furtherOut(output.columns());
    this.builder =
        new BlockRowBuilder(
            output.schema(),
            spec.out().mapped(position -> position + keyCount),
            IntStream.range(0, keyCount).toArray(),
            column -> {
              int ordinal = from.columns().further().get(further.indexOf(column - keyCount));
              return Attributes.bound(ordinal, from.rows().fields()[ordinal]);
            });
  }

  @Override
  public boolean hasNext() {
    while (copy == copies) {
      if (box != null && nextPiece()) {
        isMade = false;
        copy = 0;
        copies = keys == null ? 1 : keys.copies(pieces.part());
      } else {
        box = arrays.next() ? arrays.box() : null;
        if (box == null) {
          return false;
        }
        place = null;
        if (pieces != null) {
          pieces.start(box.offset(), box.sizes());
        }
        builder.carry(arrays.row());
        counts.blocks().add(1);
      }
    }
    return true;
  }

  private boolean nextPiece() {
    if (pieces == null ? place != null : !pieces.advance()) {
      return false;
    }
    place = pieces == null ? box : Box.between(pieces.low(), pieces.high());
    return true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    if (!isMade) {
      make();
    }
    if (keys != null) {
      keys.fill(copy, pieces.part(), pieces.low(), keyValues);
      for (int key = 0; key < keyValues.length; key++) {
        builder.set(key, keyValues[key], keys.columns().get(key).isLong());
      }
    }
    copy++;
    if (assembled.isEmpty()) {
      counts.pieces().add(1);
    }
    counts.bytes().add(builder.row().getSizeInBytes());
    return builder.row();
  }

  private void make() {
    builder.rowsAreFinal(copies == 1);
    HostMemory[] room = builder.begin(place.offset(), high(place));
    if (assembled.isDefined()) {
      fill(room, assembled.get());
    }
    if (pieces != null && pieces.isWholeBox()) {
      counts.whole().add(1);
    }
    arrays.walk(
        (part, held, planes) -> {
          if (assembled.isDefined()) {
            counts.pieces().add(1);
          }
          for (int plane = 0; plane < room.length; plane++) {
            HostMemory values = planes.get(plane).values();
            if (pieces == null) {
              put(values, part, held, room[plane]);
            } else {
              cut(values, room[plane]);
            }
          }
        });
    isMade = true;
  }

  private static long[] high(Box box) {
    return IntStream.range(0, box.rank()).mapToLong(box::high).toArray();
  }

  /** Copies a part of {@code values} into the block. */
  private void put(HostMemory values, Box part, Box held, HostMemory room) {
    BoxCopy.copy(
        new BoxCopy.Block(values, held.offset(), held.sizes()),
        new BoxCopy.Block(room, new long[part.rank()], box.sizes()),
        part.offset(),
        high(part),
        type.bytes());
  }

  /** Takes the current piece out of the block. */
  private void cut(HostMemory values, HostMemory room) {
    BoxCopy.copy(
        new BoxCopy.Block(values, box.offset(), box.sizes()),
        new BoxCopy.Origin(pieces.source(), pieces.step()),
        new BoxCopy.Block(room, place.offset(), place.sizes()),
        pieces.low(),
        pieces.high(),
        type.bytes());
  }

  /** Fills the elements that may come from no piece. */
  private void fill(HostMemory[] room, AssembleSpec spec) {
    if (spec.missing() == Missing.ZERO) {
      for (HostMemory plane : room) {
        plane.fill((byte) 0);
      }
    } else if (spec.images().isDefined() && hasEdges(spec.images().get())) {
      ArrayValues.fill(room[0], type, spec.images().get().fill());
      for (int plane = 1; plane < room.length; plane++) { // imaginary parts
        room[plane].fill((byte) 0);
      }
    }
  }

  /** True if some elements of the block have no source element. */
  private boolean hasEdges(Images images) {
    for (int axis = 0; axis < images.axes().size(); axis++) {
      AxisImages along = images.axes().get(axis);
      if (along.firstFrom(box.low(axis)) > box.low(axis)
          || along.endUpTo(box.high(axis)) < box.high(axis)) {
        return true;
      }
    }
    return false;
  }
}
