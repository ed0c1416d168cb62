package org.tilespark.spark.exchange;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.AxisImages;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Images;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockRowBuilder;

/**
 * Assembles the target blocks of one partition, whose rows come sorted: all of one target block
 * together, its mark first, which says where the block ends, unless the extents are known without.
 * Holds one target block at a time.
 *
 * @param input schema of the pieces: keys, then the columns of the output
 * @param keys ordinals of the columns by which rows belong together: keys and grouping columns
 * @param output schema of the target blocks
 */
record AssembleTask(
    AssembleSpec spec,
    StructType input,
    List<Integer> keys,
    StructType output,
    SQLMetric blockCount,
    SQLMetric pieceCount)
    implements PartitionTask<InternalRow, InternalRow> {
  @Override
  public Iterator<InternalRow> open(Iterator<InternalRow> pieces) {
    return new Blocks(pieces);
  }

  private final class Blocks implements Iterator<InternalRow> {
    private final PieceGroups groups;
    private final BlockSchema in; // in rows of pieces
    private final BlockRowBuilder builder;
    private final ElementType type;
    private final int width;

    private Blocks(Iterator<InternalRow> rows) {
      int rank = spec.kind().rank();
      BlockSchema out = BlockSchema.find(output, spec.kind(), spec.operator());
      this.in = out.mapped(position -> position + rank);
      this.groups = new PieceGroups(spec, input, keys, in, rows);
      this.type = out.elementType();
      this.width = out.elementType().bytes();
      this.builder =
          new BlockRowBuilder(
              output,
              out,
              new int[0],
              position -> Attributes.bound(position + rank, input.fields()[position + rank]));
    }

    @Override
    public boolean hasNext() {
      return groups.hasNext();
    }

    @Override
    public InternalRow next() {
      if (!groups.next()) {
        throw new NoSuchElementException();
      }
      builder.carry(groups.row());
      HostMemory[] planes = builder.begin(groups.low(), groups.high());
      if (spec.images().isDefined()) {
        fill(planes, spec.images().get());
      } else if (spec.missing() == Missing.ZERO) {
        for (HostMemory plane : planes) {
          plane.fill((byte) 0);
        }
      }
      while (groups.nextPiece()) {
        for (int plane = 0; plane < planes.length; plane++) {
          BoxCopy.copy(
              new BoxCopy.Block(
                  ArrayValues.memory(
                      groups.row().getArray(in.planes().get(plane)), in.elementType()),
                  groups.pieceLow(),
                  groups.pieceSize()),
              new BoxCopy.Block(planes[plane], groups.low(), groups.size()),
              groups.pieceLow(),
              groups.pieceHigh(),
              width);
        }
      }
      blockCount.add(1);
      pieceCount.add(groups.pieces());
      return builder.row();
    }

    /** Fills what comes from no element: of complex numbers, the real part. */
    private void fill(HostMemory[] planes, Images images) {
      boolean isFilled = false;
      for (int axis = 0; axis < images.axes().size(); axis++) {
        AxisImages along = images.axes().get(axis);
        isFilled |= along.firstFrom(groups.low()[axis]) > groups.low()[axis];
        isFilled |= along.endUpTo(groups.high()[axis]) < groups.high()[axis];
      }
      if (isFilled) {
        ArrayValues.fill(planes[0], type, images.fill());
        for (int plane = 1; plane < planes.length; plane++) {
          planes[plane].fill((byte) 0);
        }
      }
    }
  }
}
