package org.tilespark.spark.nearest;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction2;

/** Gathers the rows of one partition into strips. */
final class StripTask
    extends AbstractFunction2<
        Object, scala.collection.Iterator<InternalRow>, scala.collection.Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1;

  /** Rows of one partition have numbers below 2^ROW_BITS. */
  private static final int ROW_BITS = 40;

  private final StripSpec spec;
  private final int vector; // ordinal of the vectors in the rows
  private final Seq<BoundReference> kept;
  private final int[] keys;

  /**
   * @param vector ordinal of the vectors in the rows
   * @param kept columns that the rows of strips have
   * @param keys for each partition a key that sends a strip to it
   */
  StripTask(StripSpec spec, int vector, Seq<BoundReference> kept, int[] keys) {
    this.spec = spec;
    this.vector = vector;
    this.kept = kept;
    this.keys = keys;
  }

  @Override
  public scala.collection.Iterator<InternalRow> apply(
      Object partition, scala.collection.Iterator<InternalRow> rows) {
    return PartitionBoundary.over(rows, own -> new Strips((Integer) partition, own));
  }

  private final class Strips implements Iterator<InternalRow> {
    private final int partition;
    private final Iterator<InternalRow> rows;
    private final UnsafeProjection projection =
        UnsafeProjection.create(ScalaInterop.seq(ScalaInterop.list(kept)));
    private final Strip unmatched = new Strip(Strip.UNMATCHED);
    // Lengths of vectors with nulls, which are in no strip: an empty strip has to tell the length
    private final TreeSet<Integer> untold = new TreeSet<>();
    private final TreeSet<Integer> told = new TreeSet<>(); // lengths of the written strips
    private final ArrayDeque<InternalRow> ready = new ArrayDeque<>();
    private Strip matched = new Strip(0);
    private long strips;
    private long numbered; // number of rows numbered so far

    private Strips(int partition, Iterator<InternalRow> rows) {
      this.partition = partition;
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      while (ready.isEmpty() && rows.hasNext()) {
        add(rows.next());
      }
      if (ready.isEmpty()) {
        give(matched);
        give(unmatched);
        untold.removeAll(told);
        untold.forEach(length -> ready.add(write(new Strip(length))));
        untold.clear();
      }
      return !ready.isEmpty();
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return ready.remove();
    }

    private void add(InternalRow row) {
      ArrayData array = row.isNullAt(vector) ? null : row.getArray(vector);
      if (array != null && ArrayValues.firstNull(array) < 0) {
        if (matched.length() != array.numElements()) {
          give(matched);
          matched = new Strip(array.numElements());
        }
        matched.add(projection.apply(row), ArrayValues.memory(array, ElementType.FLOAT32));
        giveIfFull(matched);
        return;
      }
      if (array != null) {
        untold.add(array.numElements());
      }
      if (spec.keepsUnmatched()) {
        unmatched.add(projection.apply(row));
        giveIfFull(unmatched);
      }
    }

    private void giveIfFull(Strip strip) {
      if (strip.isFull()) {
        give(strip);
      }
    }

    private void give(Strip strip) {
      if (strip.count() > 0) {
        ready.add(write(strip));
      }
    }

    private UnsafeRow write(Strip strip) {
      told.add(strip.length());
      long first = ((long) partition << ROW_BITS) + numbered;
      numbered += strip.count();
      int key = keys[(int) Math.floorMod(partition + strips++, (long) keys.length)];
      return strip.write(key, first);
    }
  }
}
