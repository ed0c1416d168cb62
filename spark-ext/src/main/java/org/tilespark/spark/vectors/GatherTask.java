package org.tilespark.spark.vectors;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.catalyst.RowProjections;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.BlockCursor;
import scala.runtime.AbstractFunction2;

/**
 * Gathers the rows of one partition into blocks, in order.
 *
 * @param <T> type of a partition's elements: rows or batches
 */
final class GatherTask<T>
    extends AbstractFunction2<
        Object, scala.collection.Iterator<T>, scala.collection.Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1;

  /** Bytes of ids at which a block ends, since ids may be long texts. */
  private static final long MOST_ID_BYTES = 8L * UsualShape.BYTES;

  private final GatherSpec spec;
  private final StructType inputs;
  private final List<Integer> ordinals;
  private final BlockCursor.Source<T> source;
  private final Places places;
  private final Metrics metrics;

  /** Counters of the tasks. */
  record Metrics(SQLMetric blocks, SQLMetric rows, SQLMetric skipped) implements Serializable {}

  /**
   * @param inputs the columns that are read, in the order of the spec
   * @param ordinals ordinals of these columns in the rows of the partition
   */
  GatherTask(
      GatherSpec spec,
      StructType inputs,
      List<Integer> ordinals,
      BlockCursor.Source<T> source,
      Places places,
      Metrics metrics) {
    this.spec = spec;
    this.inputs = inputs;
    this.ordinals = ordinals;
    this.source = source;
    this.places = places;
    this.metrics = metrics;
  }

  @Override
  public scala.collection.Iterator<InternalRow> apply(
      Object partition, scala.collection.Iterator<T> rows) {
    return PartitionBoundary.over(rows, own -> new Blocks((Integer) partition, source.open(own)));
  }

  private final class Blocks implements Iterator<InternalRow> {
    private final int partition;
    private final BlockCursor cursor;
    private final VectorReader reader;
    private final Order order;
    private final Ids ids;
    private final long expected; // count of the partition's rows; -1 if they were not counted
    private final Supplier<String> named = this::current; // names the current row
    private final HostMemory first; // memory for the first vector of the next block
    private StripWriter writer; // null before the first block
    private int most; // most rows of a block
    private boolean isPending; // true if first holds the next block's first vector
    private boolean isAtEnd;
    private long read; // number of rows that were read, with those that were left out
    private long taken; // number of rows in blocks that were given out

    private Blocks(int partition, BlockCursor cursor) {
      this.partition = partition;
      this.cursor = cursor;
      int columns = spec.vector().columns();
      this.reader =
          new VectorReader(
              spec,
              ordinals.subList(0, columns),
              String.join(",", Arrays.asList(inputs.fieldNames()).subList(0, columns)));
      this.ids = new Ids();
      this.order = new Order();
      this.expected = places.count(partition);
      this.first = HostMemory.ofArray(new byte[vectorBytes()]);
    }

    private int vectorBytes() {
      return Math.multiplyExact(spec.length(), spec.vector().type().bytes());
    }

    @Override
    public boolean hasNext() {
      isPending = isPending || advance(first, taken);
      return isPending;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      if (writer == null) {
        boolean isShort = expected >= 0 && expected < spec.blockRows();
        most = isShort ? (int) expected : spec.blockRows();
        writer = new StripWriter(spec.length(), spec.vector().type().bytes(), most, spec.hasIds());
      }
      first.copyTo(writer.vector(0));
      int rows = 1;
      while (rows < most
          && ids.bytes < MOST_ID_BYTES
          && advance(writer.vector(rows), taken + rows)) {
        rows++;
      }
      UnsafeRow row =
          writer.finish(Math.addExact(places.first(partition), taken), rows, ids.taken());
      isPending = false;
      taken += rows;
      metrics.blocks().add(1);
      metrics.rows().add(rows);
      return row;
    }

    /**
     * Takes the next row that is not skipped.
     *
     * @param to memory for the row's vector
     * @param before number of rows taken before it
     * @return false if there is none
     */
    private boolean advance(HostMemory to, long before) {
      while (!isAtEnd && cursor.advance()) {
        order.check(cursor.row());
        boolean isTaken = reader.read(cursor, to, named);
        read++;
        if (isTaken) {
          if (before == expected) {
            throw changed("more than " + expected);
          }
          ids.add(cursor.row());
          return true;
        }
        metrics.skipped().add(1);
      }
      if (!isAtEnd) {
        isAtEnd = true;
        checkCount(before);
      }
      return false;
    }

    private void checkCount(long found) {
      if (expected >= 0 && found != expected) {
        throw changed(Long.toString(found));
      }
      if (found == 0 && places.isAlone()) {
        throw spec.empty();
      }
    }

    private IllegalArgumentException changed(String found) {
      return new IllegalArgumentException(
          ("%s: partition %s of the table has %s rows; %s were counted before, so that the table"
                  + " does not give the same rows again; persist() it, or state orderBy")
              .formatted(spec.operator(), partition, found, expected));
    }

    /** The current row for messages, while it is read. */
    private String current() {
      return "row %s of partition %s%s"
          .formatted(read, partition, spec.hasIds() ? ids.text(cursor.row()) : "");
    }
  }

  /** Checks that no row is equal to the one before it in all columns of the order. */
  private final class Order {
    private final int begin = spec.firstOrderColumn();
    private final UnsafeProjection columns;
    private final LazilyGeneratedOrdering ordering;
    private UnsafeRow previous;

    private Order() {
      List<BoundReference> read = new ArrayList<>();
      List<BoundReference> kept = new ArrayList<>();
      for (int i = 0; i < spec.orderColumns(); i++) {
        StructField field = inputs.fields()[begin + i];
        read.add(Attributes.bound(ordinals.get(begin + i), field));
        kept.add(Attributes.bound(i, field));
      }
      this.columns = RowProjections.of(read);
      this.ordering =
          new LazilyGeneratedOrdering(
              ScalaInterop.<SortOrder>seq(ScalaInterop.list(Attributes.ascending(kept))));
    }

    private void check(InternalRow row) {
      if (spec.orderColumns() == 0) {
        return;
      }
      UnsafeRow now = columns.apply(row).copy();
      if (previous != null && ordering.compare(previous, now) == 0) {
        List<String> values = new ArrayList<>();
        for (int i = 0; i < spec.orderColumns(); i++) {
          StructField field = inputs.fields()[begin + i];
          values.add(field.name() + " " + now.get(i, field.dataType()));
        }
        throw new IllegalArgumentException(
            ("%s: two rows have %s, so that their order is not determined; expected columns in"
                    + " orderBy that tell all rows apart")
                .formatted(spec.operator(), String.join(", ", values)));
      }
      previous = now;
    }
  }

  /** The ids of the rows of a block. */
  private final class Ids {
    private final List<Object> ids = new ArrayList<>();
    private long bytes; // bytes of the ids that are not of fixed width
    private final int ordinal = spec.hasIds() ? ordinals.get(spec.idColumn()) : -1;
    private final StructField field = spec.hasIds() ? inputs.fields()[spec.idColumn()] : null;
    private final UnsafeProjection array = spec.hasIds() ? array() : null;

    private UnsafeProjection array() {
      DataType type = DataTypes.createArrayType(field.dataType(), field.nullable());
      return RowProjections.of(List.of(new BoundReference(0, type, false)));
    }

    private void add(InternalRow row) {
      if (spec.hasIds()) {
        Object id = row.isNullAt(ordinal) ? null : row.get(ordinal, field.dataType());
        bytes += bytes(id);
        ids.add(InternalRow.copyValue(id));
      }
    }

    private static long bytes(Object id) {
      if (id instanceof UTF8String text) {
        return text.numBytes();
      } else if (id instanceof byte[] binary) {
        return binary.length;
      } else if (id instanceof UnsafeArrayData array) {
        return array.getSizeInBytes();
      }
      return id instanceof UnsafeRow struct ? struct.getSizeInBytes() : 0;
    }

    /** All ids that were added since the last call; null without ids. */
    private UnsafeArrayData taken() {
      if (!spec.hasIds()) {
        return null;
      }
      Object[] cells = {new GenericArrayData(ids.toArray())};
      ids.clear();
      bytes = 0;
      return array.apply(new GenericInternalRow(cells)).getArray(0);
    }

    private String text(InternalRow row) {
      Object id = row.isNullAt(ordinal) ? null : row.get(ordinal, field.dataType());
      return " (%s %s)".formatted(field.name(), id);
    }
  }
}
