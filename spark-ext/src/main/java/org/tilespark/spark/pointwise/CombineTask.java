package org.tilespark.spark.pointwise;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.IntFunction;
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
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.exchange.RowKeys;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.BlockRowBuilder;
import scala.runtime.AbstractFunction2;

/** Combines the blocks of two partitions that are sorted alike. */
final class CombineTask
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

  private static final String HINT = "; " + StaleMetadata.HELP;

  private final CombineSpec spec;
  private final Side left;
  private final Side right;
  private final StructType output;
  private final SQLMetric blockCount;

  CombineTask(CombineSpec spec, Side left, Side right, StructType output, SQLMetric blockCount) {
    this.spec = spec;
    this.left = left;
    this.right = right;
    this.output = output;
    this.blockCount = blockCount;
  }

  @Override
  public scala.collection.Iterator<InternalRow> apply(
      scala.collection.Iterator<InternalRow> first, scala.collection.Iterator<InternalRow> second) {
    return PartitionBoundary.over(first, second, Combined::new);
  }

  /** One side's blocks, in order. */
  private final class Operand {
    private final BlockSchema in; // by the child's ordinals
    private final BlockCursor blocks;
    private final BlockCheck check;
    private final RowKeys keys;
    private boolean isThere;
    private UnsafeRow key;

    private Operand(Side side, BlockSchema schema, Iterator<InternalRow> rows) {
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
              "two blocks of one %s have this place; expected each element in one block"
                  .formatted(in.kind().label()),
              spec.operator());
        }
      }
    }

    /** Copies a range of each of its planes; a plane that it does not have stays zero. */
    private void copyTo(IntFunction<HostMemory> room, long from, long bytes) {
      for (int plane = 0; plane < in.planes().size(); plane++) {
        blocks
            .values(in.planes().get(plane), in.elementType())
            .values()
            .slice(from, bytes)
            .copyTo(room.apply(plane));
      }
    }
  }

  private final class Combined implements Iterator<InternalRow> {
    private final BlockKind kind = spec.out().kind();
    private final Operand first;
    private final Operand second;
    private final BlockRowBuilder builder;
    private boolean fresh = true; // both stand before the block that comes next

    private Combined(Iterator<InternalRow> leftRows, Iterator<InternalRow> rightRows) {
      this.first = new Operand(left, spec.left(), leftRows);
      this.second = new Operand(right, spec.right(), rightRows);
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
        combineFloats(room);
      } else {
        combineDoubles(room);
      }
      return builder.row();
    }

    private void requirePair() {
      int order =
          first.isThere && second.isThere
              ? first.keys.compare(first.key, second.key)
              : Boolean.compare(second.isThere, first.isThere);
      if (order != 0) {
        Operand only = order < 0 ? first : second;
        throw BoxList.bad(
            kind,
            only.check.offset(),
            "only the %s %s has a block there (%s); expected both to have each block%s"
                .formatted(
                    only == first ? "first" : "second",
                    kind.label(),
                    Coverage.sizeText(only.check.size()),
                    HINT),
            spec.operator());
      }
      if (first.isThere && !Arrays.equals(first.check.size(), second.check.size())) {
        throw BoxList.bad(
            kind,
            first.check.offset(),
            "it is %s in the first %s and %s in the second; expected both to be cut alike%s"
                .formatted(
                    Coverage.sizeText(first.check.size()),
                    kind.label(),
                    Coverage.sizeText(second.check.size()),
                    HINT),
            spec.operator());
      }
    }

    private void combineFloats(HostMemory[] room) {
      long count = room[0].bytes() / Float.BYTES;
      int chunk = (int) Math.min(ArrayValues.CHUNK, count);
      float[][] a = new float[room.length][chunk];
      float[][] b = new float[room.length][chunk];
      float[][] result = new float[room.length][chunk];
      for (long start = 0; start < count; start += chunk) {
        int length = (int) Math.min(chunk, count - start);
        long from = start * Float.BYTES;
        long bytes = (long) length * Float.BYTES;
        first.copyTo(plane -> HostMemory.ofArray(a[plane]), from, bytes);
        second.copyTo(plane -> HostMemory.ofArray(b[plane]), from, bytes);
        spec.combination().floats(a, b, result, length);
        for (int plane = 0; plane < room.length; plane++) {
          HostMemory.ofArray(result[plane]).slice(0, bytes).copyTo(room[plane].slice(from, bytes));
        }
      }
    }

    private void combineDoubles(HostMemory[] room) {
      long count = room[0].bytes() / Double.BYTES;
      int chunk = (int) Math.min(ArrayValues.CHUNK, count);
      double[][] a = new double[room.length][chunk];
      double[][] b = new double[room.length][chunk];
      double[][] result = new double[room.length][chunk];
      for (long start = 0; start < count; start += chunk) {
        int length = (int) Math.min(chunk, count - start);
        long from = start * Double.BYTES;
        long bytes = (long) length * Double.BYTES;
        first.copyTo(plane -> HostMemory.ofArray(a[plane]), from, bytes);
        second.copyTo(plane -> HostMemory.ofArray(b[plane]), from, bytes);
        spec.combination().doubles(a, b, result, length);
        for (int plane = 0; plane < room.length; plane++) {
          HostMemory.ofArray(result[plane]).slice(0, bytes).copyTo(room[plane].slice(from, bytes));
        }
      }
    }
  }
}
