package org.tilespark.spark.pointwise;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.Coverage;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.exchange.RowKeys;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.BlockRowBuilder;
import scala.runtime.AbstractFunction2;

/** Multiplies the blocks of two partitions that are sorted alike. */
final class PointwiseTask
    extends AbstractFunction2<
        scala.collection.Iterator<InternalRow>,
        scala.collection.Iterator<InternalRow>,
        scala.collection.Iterator<InternalRow>>
    implements Serializable {
  /**
   * One of the two.
   *
   * @param inputs schema of the columns that are read: a block, then further columns
   * @param ordinals of these in the child's rows
   * @param blockColumns how many of them are the block's
   */
  record Side(StructType inputs, List<Integer> ordinals, int blockColumns) implements Serializable {
    BoundReference reference(int position) {
      return Attributes.bound(ordinals.get(position), inputs.fields()[position]);
    }

    /** Further columns, then the place. */
    List<Integer> keys(int rank) {
      return IntStream.concat(
              IntStream.range(blockColumns, inputs.length()), IntStream.range(0, rank))
          .boxed()
          .toList();
    }
  }

  private final PointwiseSpec spec;
  private final Side left;
  private final Side right;
  private final StructType output;
  private final SQLMetric blockCount;

  PointwiseTask(
      PointwiseSpec spec, Side left, Side right, StructType output, SQLMetric blockCount) {
    this.spec = spec;
    this.left = left;
    this.right = right;
    this.output = output;
    this.blockCount = blockCount;
  }

  @Override
  public scala.collection.Iterator<InternalRow> apply(
      scala.collection.Iterator<InternalRow> first, scala.collection.Iterator<InternalRow> second) {
    return PartitionBoundary.over(first, second, Products::new);
  }

  /** One side's blocks, in order. */
  private final class Factor {
    private final BlockSchema in; // by the child's ordinals
    private final BlockCursor blocks;
    private final BlockCheck check;
    private final RowKeys keys;
    private boolean isThere;
    private UnsafeRow key;

    private Factor(Side side, BlockSchema schema, Iterator<InternalRow> rows) {
      this.in = schema.mapped(side.ordinals()::get);
      this.blocks = BlockCursor.overRows(rows);
      this.check = new BlockCheck(in, spec.operator(), spec.extents().getOrElse(() -> null));
      this.keys =
          new RowKeys(side.keys(schema.kind().rank()).stream().map(side::reference).toList());
    }

    private void advance() {
      UnsafeRow before = key == null ? null : key.copy();
      isThere = blocks.advance();
      if (isThere) {
        check.check(blocks);
        key = keys.of(blocks.row());
        if (before != null && keys.compare(before, key) == 0) {
          throw BoxList.bad(
              in.kind(),
              check.offset(),
              "two blocks of one volume have this place; expected each element in one block",
              spec.operator());
        }
      }
    }

    private HostMemory plane(int plane) {
      return blocks.values(in.planes().get(plane), in.elementType()).values();
    }
  }

  private final class Products implements Iterator<InternalRow> {
    private final BlockKind kind = spec.out().kind();
    private final Factor first;
    private final Factor second;
    private final BlockRowBuilder builder;
    private boolean fresh = true; // both stand before the block that comes next

    private Products(Iterator<InternalRow> leftRows, Iterator<InternalRow> rightRows) {
      this.first = new Factor(left, spec.left(), leftRows);
      this.second = new Factor(right, spec.right(), rightRows);
      int own = spec.out().blockColumns().size();
      this.builder =
          new BlockRowBuilder(
              output,
              spec.out(),
              new int[0],
              position -> left.reference(position - own + left.blockColumns()));
    }

    @Override
    public boolean hasNext() {
      if (fresh) {
        first.advance();
        second.advance();
        fresh = false;
        requirePair();
      }
      return first.isThere;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      fresh = true;
      blockCount.add(1);
      builder.carry(first.blocks.row());
      long[] low = first.check.offset();
      long[] high = new long[low.length];
      Arrays.setAll(high, axis -> low[axis] + first.check.size()[axis]);
      HostMemory[] room = builder.begin(low, high);
      if (spec.out().elementType() == ElementType.FLOAT32) {
        multiplyFloats(room);
      } else {
        multiplyDoubles(room);
      }
      return builder.row();
    }

    private void requirePair() {
      int order =
          first.isThere && second.isThere
              ? first.keys.compare(first.key, second.key)
              : Boolean.compare(second.isThere, first.isThere);
      if (order != 0) {
        Factor only = order < 0 ? first : second;
        throw BoxList.bad(
            kind,
            only.check.offset(),
            ("only the %s volume has a block there (%s); expected both to be cut alike"
                    + " (see VolumeBlocks.reblock), without holes")
                .formatted(
                    only == first ? "first" : "second", Coverage.sizeText(only.check.size())),
            spec.operator());
      }
      if (first.isThere && !Arrays.equals(first.check.size(), second.check.size())) {
        throw BoxList.bad(
            kind,
            first.check.offset(),
            ("it is %s in the first volume and %s in the second; expected both to be"
                    + " cut alike, see VolumeBlocks.reblock")
                .formatted(
                    Coverage.sizeText(first.check.size()), Coverage.sizeText(second.check.size())),
            spec.operator());
      }
    }

    /** Products in double, rounded once. */
    private void multiplyFloats(HostMemory[] room) {
      long count = room[0].bytes() / Float.BYTES;
      float[][] of = new float[6][(int) Math.min(ArrayValues.CHUNK, count)];
      for (long start = 0; start < count; start += ArrayValues.CHUNK) {
        int length = (int) Math.min(ArrayValues.CHUNK, count - start);
        copyIn(first, of[0], of[1], start * Float.BYTES, (long) length * Float.BYTES);
        copyIn(second, of[2], of[3], start * Float.BYTES, (long) length * Float.BYTES);
        for (int i = 0; i < length; i++) {
          double a = of[0][i];
          double b = of[1][i];
          double c = of[2][i];
          double d = of[3][i];
          of[4][i] = (float) (a * c - b * d);
          of[5][i] = (float) (a * d + b * c);
        }
        for (int plane = 0; plane < room.length; plane++) {
          HostMemory.ofArray(of[4 + plane])
              .slice(0, (long) length * Float.BYTES)
              .copyTo(room[plane].slice(start * Float.BYTES, (long) length * Float.BYTES));
        }
      }
    }

    private void multiplyDoubles(HostMemory[] room) {
      long count = room[0].bytes() / Double.BYTES;
      double[][] of = new double[6][(int) Math.min(ArrayValues.CHUNK, count)];
      for (long start = 0; start < count; start += ArrayValues.CHUNK) {
        int length = (int) Math.min(ArrayValues.CHUNK, count - start);
        copyIn(first, of[0], of[1], start * Double.BYTES, (long) length * Double.BYTES);
        copyIn(second, of[2], of[3], start * Double.BYTES, (long) length * Double.BYTES);
        for (int i = 0; i < length; i++) {
          double a = of[0][i];
          double b = of[1][i];
          double c = of[2][i];
          double d = of[3][i];
          of[4][i] = a * c - b * d;
          of[5][i] = a * d + b * c;
        }
        for (int plane = 0; plane < room.length; plane++) {
          HostMemory.ofArray(of[4 + plane])
              .slice(0, (long) length * Double.BYTES)
              .copyTo(room[plane].slice(start * Double.BYTES, (long) length * Double.BYTES));
        }
      }
    }

    /** Copies a range of real and imaginary parts; the latter stay zero of a real factor. */
    private static void copyIn(Factor factor, Object re, Object im, long start, long bytes) {
      Object[] arrays = {re, im};
      for (int plane = 0; plane < factor.in.planes().size(); plane++) {
        factor.plane(plane).slice(start, bytes).copyTo(HostMemory.ofArray(arrays[plane]));
      }
    }
  }
}
