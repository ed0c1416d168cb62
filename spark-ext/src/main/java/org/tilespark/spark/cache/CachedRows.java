package org.tilespark.spark.cache;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.columnar.CachedBatchSerializer;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.ColumnAccessor;
import org.apache.spark.sql.execution.columnar.ColumnAccessor$;
import org.apache.spark.sql.execution.columnar.DefaultCachedBatch;
import org.apache.spark.sql.execution.columnar.DefaultCachedBatchSerializer;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.DataType;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.RenamedBlocksExec;

/**
 * The rows of a table in Spark's own cache, in place: arrays, structs and strings are views of the
 * cache's memory. Spark itself would copy them into a row first.
 *
 * @param batches batches of the cache
 * @param source opens their rows, with the columns of the requested plan; the rows' arrays are
 *     valid while the table is cached
 */
public record CachedRows(RDD<CachedBatch> batches, BlockCursor.Source<CachedBatch> source) {
  /**
   * The rows that a plan reads from Spark's cache.
   *
   * @param plan a scan of rows, perhaps with renamed columns or below a stage of adaptive execution
   * @return empty for all other plans, and if Spark would skip batches by a filter
   */
  public static Optional<CachedRows> of(SparkPlan plan) {
    if (plan instanceof QueryStageExec stage) {
      return of(stage.plan());
    }
    if (plan instanceof RenamedBlocksExec renamed) {
      return of(renamed.children().head());
    }
    return plan instanceof InMemoryTableScanExec scan
            && scan.predicates().isEmpty()
            && !scan.supportsColumnar()
            && isOfSpark(scan.relation().cacheBuilder().serializer())
        ? Optional.of(of(scan))
        : Optional.empty();
  }

  private static boolean isOfSpark(CachedBatchSerializer serializer) {
    return serializer instanceof BlockCacheSerializer
        || serializer.getClass().equals(DefaultCachedBatchSerializer.class);
  }

  private static CachedRows of(InMemoryTableScanExec scan) {
    List<Attribute> cached = ScalaInterop.list(scan.relation().output());
    List<Attribute> read = ScalaInterop.list(scan.attributes());
    return new CachedRows(
        scan.relation().cacheBuilder().cachedColumnBuffers(),
        new Source(
            read.stream().mapToInt(column -> Attributes.indexOf(cached, column)).toArray(),
            read.stream().map(Attribute::dataType).toArray(DataType[]::new),
            scan.metrics().apply("numOutputRows")));
  }

  /**
   * Reads the batches of a partition.
   *
   * @param columns positions of the read columns among the cached ones
   * @param types types of the read columns
   * @param rows metric of the rows that the scan gives
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Source(int[] columns, DataType[] types, SQLMetric rows)
      implements BlockCursor.Source<CachedBatch> {
    @Override
    public BlockCursor open(Iterator<CachedBatch> partition) {
      return BlockCursor.overRows(new Rows(partition));
    }

    private final class Rows implements Iterator<InternalRow> {
      private final Iterator<CachedBatch> batches;
      private final GenericInternalRow row = new GenericInternalRow(columns.length);
      private ColumnAccessor[] accessors;
      private int left; // rows of the batch that are still to be read

      private Rows(Iterator<CachedBatch> batches) {
        this.batches = batches;
      }

      @Override
      public boolean hasNext() {
        while (left == 0 && batches.hasNext()) {
          DefaultCachedBatch batch = (DefaultCachedBatch) batches.next();
          accessors =
              IntStream.range(0, columns.length)
                  .mapToObj(i -> accessor(types[i], batch.buffers()[columns[i]]))
                  .toArray(ColumnAccessor[]::new);
          left = batch.numRows();
          rows.add(left);
        }
        return left > 0;
      }

      private static ColumnAccessor accessor(DataType type, byte[] column) {
        return ColumnAccessor$.MODULE$.apply(
            type, ByteBuffer.wrap(column).order(ByteOrder.nativeOrder()));
      }

      @Override
      public InternalRow next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        left--;
        for (int i = 0; i < accessors.length; i++) {
          accessors[i].extractTo(row, i);
        }
        return row;
      }
    }
  }
}
